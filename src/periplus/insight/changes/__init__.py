"""What happened to the pages of a collection: what appeared, what changed and how, what vanished.

`changes_since` tells it from the tables, for any span of time, in memory that does not grow with the collection
(`visits` says how). `detail_of` says of each what it is about: it takes both versions out of the archive and compares
them (`texts`, `difference`). `versions` gives all versions of a page and `diff_of` what differs between any two;
`diff` compares any two texts: by sentences (`wording`), then by words, within a bounded time (`alignment`).
`usual_beginning` is the default start of the window, `run_beginnings` when each run began. `docs/changes.md` says what
counts as a change.
"""

from .details import Detail, LinkChange, compare, detail_of
from .difference import Difference, Mark, Passage, Run, diff
from .since import changes_since
from .values import Change, Kind, Version
from .versions import PageVisit, diff_of, version_at, versions
from .window import Beginning, run_beginnings, usual_beginning

__all__ = [
    "Beginning",
    "Change",
    "Detail",
    "Difference",
    "Kind",
    "LinkChange",
    "Mark",
    "PageVisit",
    "Passage",
    "Run",
    "Version",
    "changes_since",
    "compare",
    "detail_of",
    "diff",
    "diff_of",
    "run_beginnings",
    "usual_beginning",
    "version_at",
    "versions",
]
