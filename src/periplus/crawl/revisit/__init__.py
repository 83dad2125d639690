"""Revisits: which pages are visited again, and when.

The frontier uses one class, `Revisits` (`revisits`). It reports what happened, `visited` and `mentioned` above all, and
asks for pages that are `due`; nothing here calls the frontier. Every decision follows from the records of pages and
sites, the calendar, the inputs, a random generator that is passed in, and the `RevisitState` that each commit holds
(`records`): after a crash the same inputs lead to the same decisions.

In the order of reading: `change_history` keeps the evidence of visits and signals about change rates, `visit_stats` the
other results of visits; `visit_value` computes from both what a visit is worth, and lists the next visits with their
reasons; `freshness` samples the collection and measures how fresh it is; `budget` has the visits a day and the price of
a visit; `revisits` decides. `comparison` measures how much a page differs from its last version. The formulas are in
`policy.refresh`.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ..settings import WatchSettings
    from .budget import RevisitQuota, Watching
    from .comparison import Compared, PageComparer
    from .freshness import Freshness, FreshnessEstimator, queued_revisits
    from .records import RevisitState, SampleRows
    from .revisits import Revisits
    from .visit_stats import count_first_visit
    from .visit_value import NextVisit, UpcomingVisits, VisitValuer
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "Compared",
    "Freshness",
    "FreshnessEstimator",
    "NextVisit",
    "PageComparer",
    "RevisitQuota",
    "RevisitState",
    "Revisits",
    "SampleRows",
    "UpcomingVisits",
    "VisitValuer",
    "WatchSettings",
    "Watching",
    "count_first_visit",
    "queued_revisits",
]
