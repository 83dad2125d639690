"""The report of a collection as one HTML file: problems, numbers, figures, and what to do about them.

`gather_report` runs every question (`questions`), audits the sites (`summary`) and
returns a `Report` (`values`). `page` renders it: `summary` writes the sentences at the top, `drawing` and `bar_figures`
turn rows into charts of `view`. Nothing is loaded from elsewhere. What only the state of a crawl knows is passed in as
`CrawlState`. `docs/report.md` explains every part.
"""

from .gather import ReportSettings, gather_report
from .page import page
from .values import AnsweredQuestion, Budget, CrawlState, KnownFreshness, Question, Report, Trust, UsefulLinks

__all__ = [
    "AnsweredQuestion",
    "Budget",
    "CrawlState",
    "KnownFreshness",
    "Question",
    "Report",
    "ReportSettings",
    "Trust",
    "UsefulLinks",
    "gather_report",
    "page",
]
