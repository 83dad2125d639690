"""Changes to the pages of a collection: which appeared, changed and vanished, and how their texts differ.

`changes_since` finds the changes of any time span in the tables, in memory that does not grow with the collection
(`visits` explains how). `detail_of` reads both versions of a change from the archive and compares them (`versions`,
`difference`). `versions` returns all versions of a page and `diff_of` the difference between any two; `diff` compares
any two texts: by sentences (`difference`), then by words, within a bounded time. `usual_beginning` is the
default start of the window, `run_beginnings` the start of each run. `docs/changes.md` defines what counts as a change.
"""

from .difference import Difference, Passage, Run, RunStatus, diff
from .since import changes_since
from .versions import Detail, LinkChange, PageVisit, compare, detail_of, diff_of, version_at, versions
from .visits import Change, ChangeKind, Version
from .window import Beginning, run_beginnings, usual_beginning

__all__ = [
    "Beginning",
    "Change",
    "ChangeKind",
    "Detail",
    "Difference",
    "LinkChange",
    "PageVisit",
    "Passage",
    "Run",
    "RunStatus",
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
