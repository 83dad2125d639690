"""The result of an audit: findings with examples, a verdict for each area, the cost of the crawl, and its date."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from periplus.view.findings import FaultyUrl, Finding, FindingKind, Severity
from periplus.view.notebook import Displayed


class Area(StrEnum):
    """The part of a site that a finding is about."""

    COMPLETE = "complete"
    CLEAN = "clean"
    LASTMOD = "lastmod"
    HINTS = "hints"
    LINKS = "links"
    PAGES = "pages"
    DATA = "data"
    MEDIA = "media"
    SAFETY = "safety"
    ROBOTS = "robots"
    COST = "cost"


QUESTIONS = {
    Area.COMPLETE: "Is the sitemap complete?",
    Area.CLEAN: "Is the sitemap clean?",
    Area.LASTMOD: "Is lastmod honest?",
    Area.HINTS: "Are priority and changefreq informative?",
    Area.LINKS: "Do the links work?",
    Area.PAGES: "Do the pages describe themselves?",
    Area.DATA: "Is the structured data valid?",
    Area.MEDIA: "Are images and files described and light?",
    Area.SAFETY: "Are visitors safe?",
    Area.ROBOTS: "Is robots.txt correct?",
    Area.COST: "What does a crawl cost?",
}
"""The question that each area answers, in the order of a report."""


class SiteFindingKind(FindingKind, frozen=True):
    """A kind of finding about an area of a site (`findings.toml`). `fault` and `fix` are an example.

    `is_relative`: what most pages of a site do alike is its way, and reported once; only pages that differ are named.
    """

    area: Area
    fault: str
    fix: str
    sure: str = "certain"
    is_relative: bool = False


class SiteFinding(Finding, frozen=True, kw_only=True):
    """A fault of a site. `parts` counts the faults by kind, where there are several; `sure`: how certain it is.

    `fault` and `fix` are an example.
    """

    area: Area
    examples: tuple[FaultyUrl, ...] = ()
    parts: dict[str, int] = field(default_factory=dict)
    sure: str = "certain"
    fault: str = ""
    fix: str = ""

    @property
    def kinds(self) -> dict[str, int]:
        """How many faults there are of each kind, where there are several."""
        return self.parts

    @property
    def explained(self) -> dict[str, str]:
        """An example of the fault and of the fix, how sure the finding is, and its page in the docs."""
        if not self.fault:
            return {}
        docs = f"docs/findings.md#{self.name}"
        return {"Such a fault": self.fault, "Fixed": self.fix, "How sure": self.sure, "Documented in": docs}


class Mark(Struct, frozen=True):
    """The verdict on an area: `good`, the worst severity found there, or `unknown`; `says` is one sentence."""

    area: Area
    question: str
    verdict: str
    says: str


class Cost(Struct, frozen=True):
    """The cost of crawling the site, in `requests` and `bytes` of all kinds, robots.txt and sitemaps included.

    `visits` of the requests were for pages, and returned `pages` different ones. `needless` of the visits returned
    nothing new; `wasted` counts them by kind.
    """

    requests: int
    bytes: int
    visits: int
    pages: int
    needless: int
    wasted: dict[str, int]

    @property
    def share(self) -> float:
        """Share of the visits that returned nothing new."""
        return self.needless / self.visits if self.visits else 0.0


class Dates(Struct, frozen=True):
    """How reliable lastmod is.

    `precision` is the share of lastmod updates with a change of the page, `recall` the share of changes with an update
    of lastmod; both are null while fewer than ten were seen. `told` counts the updates, `changed` the changes.
    """

    entries: int
    dated: int
    told: int
    changed: int
    precision: float | None = None
    recall: float | None = None


class BudgetCheck(Struct, frozen=True):
    """A budget of `[audit]`: `count` of `of` URLs are over `limit`, of which `worst` is the largest value.

    Of a budget that limits how many URLs have a fault, `worst` is their number.
    """

    name: str
    limit: float
    worst: float
    count: int
    of: int
    examples: tuple[FaultyUrl, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether the site is over the budget."""
        return self.worst > self.limit


class Audit(Displayed, frozen=True):
    """The audit of one site.

    `listed` URLs are in sitemaps, and `visited` of them were fetched; `linked` URLs are targets of links within the
    site, and `followed` of them were fetched. `waiting` URLs are known and were not fetched; `is_whole`: there are
    none. `seen_from` and `seen_until` are the times of the oldest and the newest answer that was judged (seconds since
    1970; null where there is none). `unjudged` maps names of findings that could not be checked to the reason.
    `budgets` are those that are set.
    """

    site: str
    sites: tuple[str, ...]
    pages: int
    listed: int
    visited: int
    linked: int
    followed: int
    is_whole: bool
    marks: tuple[Mark, ...]
    findings: tuple[SiteFinding, ...]
    cost: Cost
    dates: Dates
    unjudged: dict[str, str]
    waiting: int = 0
    seen_from: float | None = None
    seen_until: float | None = None
    budgets: tuple[BudgetCheck, ...] = ()

    def worst(self) -> Severity | None:
        """The most severe of the findings."""
        return min((finding.severity for finding in self.findings), key=lambda found: found.rank, default=None)
