"""What an audit says: findings with their weight and their examples, areas with their marks, and what crawling cost."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Severity(StrEnum):
    """How much a finding matters. `ERROR`: crawlers are misled; `WARNING`: they waste; `NOTICE`: could be better."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"

    @property
    def rank(self) -> int:
        """The gravest first."""
        return list(Severity).index(self)


class Area(StrEnum):
    """What an owner asks."""

    COMPLETE = "complete"
    CLEAN = "clean"
    LASTMOD = "lastmod"
    HINTS = "hints"
    LINKS = "links"
    ROBOTS = "robots"
    COST = "cost"


QUESTIONS = {
    Area.COMPLETE: "Is the sitemap complete?",
    Area.CLEAN: "Is the sitemap clean?",
    Area.LASTMOD: "Is lastmod honest?",
    Area.HINTS: "Do priority and changefreq say anything?",
    Area.LINKS: "Do the links work?",
    Area.ROBOTS: "Does robots.txt say what it should?",
    Area.COST: "What does a crawl cost?",
}


class Example(Struct, frozen=True):
    """A place where something was found. `note` says what, `at` is a page that leads there, if one does."""

    url: str
    note: str = ""
    at: str = ""


class Finding(Struct, frozen=True):
    """Something to mend: `count` of `of`, in words, with why it matters, what to do, and some examples.

    `parts` counts it by kind, where there are several.
    """

    name: str
    area: Area
    severity: Severity
    count: int
    of: int
    title: str
    why: str
    advice: str
    examples: tuple[Example, ...] = ()
    parts: dict[str, int] = {}


class Mark(Struct, frozen=True):
    """How an area is doing: `verdict` is `good`, the gravest severity found, or `unknown`; `says` is one sentence."""

    area: Area
    question: str
    verdict: str
    says: str


class Cost(Struct, frozen=True):
    """What crawling the site took, in `requests` and `bytes` of all kinds, robots.txt and sitemaps among them.

    `visits` of the requests asked for pages, and brought `pages` of their own. `needless` of the visits brought
    nothing: `wasted` says why, by kind.
    """

    requests: int
    bytes: int
    visits: int
    pages: int
    needless: int
    wasted: dict[str, int]

    @property
    def share(self) -> float:
        """Of the visits, those that brought nothing."""
        return self.needless / self.visits if self.visits else 0.0


class Dates(Struct, frozen=True):
    """How far lastmod can be trusted.

    `precision`: of what it said had changed, how much had; `recall`: of what had changed, how much it told; both null
    as long as too few pages were visited again. `told` moves of lastmod and `changed` pages were met with.
    """

    entries: int
    dated: int
    told: int
    changed: int
    precision: float | None = None
    recall: float | None = None


class Audit(Struct, frozen=True):
    """All of it. `listed` URLs stand in sitemaps, `visited` of these were asked for; `is_whole`: nothing was left over.

    `linked` URLs of the site are what links of its pages lead to, `followed` of these were asked for.
    `unjudged` are names of findings that could not be looked for, each with the reason.
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
    findings: tuple[Finding, ...]
    cost: Cost
    dates: Dates
    unjudged: dict[str, str]

    def worst(self) -> Severity | None:
        """The gravest of what was found."""
        return min((finding.severity for finding in self.findings), key=lambda found: found.rank, default=None)
