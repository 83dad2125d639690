"""Near-duplicates: which pages have nearly the same text, and by which of their URLs to know them.

`likeness` compares sketches: which pages to compare (locality-sensitive hashing) and how much they resemble each other.
`clusters` groups them: a cluster has the sketch of its first page, its size, and the few URLs that may represent it, of
which `canonical` is the best. `hints` decides how far to trust canonical links and redirects.

A page joins a cluster only if it resembles the cluster's first page: otherwise chains of small differences would merge
half a site. The sketch is that of a page's main text (`periplus.content`), since the template that pages of a site
share makes different pages look alike (Henzinger 2006). Nothing is stored here: that is `store`.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .clusters import MAX_KEPT, Cluster, Member, canonical, founded, joined, known_as, left, listed
    from .hints import Belief, Hint, HintKind, Target, believe
    from .likeness import BANDS, are_thin, band_keys, brief_of, is_like, likenesses, rows_of
    from .settings import VALUES, DuplicateSettings
else:
    __getattr__ = lazy_exports(__name__)

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
