"""Which pages say the same, and by which of their URLs to know them.

`likeness` compares sketches: which pages are worth comparing (locality-sensitive hashing) and how much they resemble
each other. `clusters` keeps those that do: a cluster is what its first page said, how many pages say so, and the few of
their URLs that may stand for it, of which `canonical` names the best. `hints` says how far to believe what pages and
servers say of it themselves.

A page joins a cluster if it resembles what the cluster's first page said, never because it resembles some other member:
or pages that differ a little each from the next would drag half a site into one. The sketch is that of a page's main
text (`periplus.content`), since the frame that the pages of a site share makes strangers look alike (Henzinger 2006).
Nothing here looks anything up or keeps anything: that is `store`.
"""

from .clusters import MAX_KEPT, Cluster, Member, canonical, founded, joined, known_as, left, listed
from .hints import Belief, Hint, HintKind, Target, believe
from .likeness import BANDS, VALUES, DuplicateSettings, are_thin, band_keys, brief_of, is_like, likenesses, rows_of

__all__ = [
    "BANDS",
    "MAX_KEPT",
    "VALUES",
    "Belief",
    "Cluster",
    "DuplicateSettings",
    "Hint",
    "HintKind",
    "Member",
    "Target",
    "are_thin",
    "band_keys",
    "believe",
    "brief_of",
    "canonical",
    "founded",
    "is_like",
    "joined",
    "known_as",
    "left",
    "likenesses",
    "listed",
    "rows_of",
]
