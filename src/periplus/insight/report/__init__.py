"""A collection as one page to look at: its numbers, the papers' figures of this crawl, and what to do about them.

`gathered` asks a collection every question of the report (`asked`), `page` makes the HTML file of the answers, with
figures that are drawn here (`figures`) and nothing that is loaded from elsewhere. What only the state of a crawl knows
comes from outside, as `Beside`. `docs/report.md` explains every part.
"""

from .gathering import ReportSettings, gathered
from .page import page
from .values import Asked, Beside, Budget, Column, KnownFreshness, Part, Report, SiteUseful, Trust

__all__ = [
    "Asked",
    "Beside",
    "Budget",
    "Column",
    "KnownFreshness",
    "Part",
    "Report",
    "ReportSettings",
    "SiteUseful",
    "Trust",
    "gathered",
    "page",
]
