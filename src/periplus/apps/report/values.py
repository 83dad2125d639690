"""The data of a report: parts in chapters, each with its numbers and the query that returns them.

A part holds everything the page shows of it: the rows, a sentence on what they show, one on what to do about it, and
the SQL or command that returns the same rows again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

from msgspec import Struct

from periplus.apps.ulinks import Ulink
from periplus.model import RobotsFile
from periplus.view.values import Sheet, SheetQuery, TableRow

FEW_SITES: Final = 5
"""Sites. A collection with fewer is shown by status, depth, type, time and rate; four points are not a distribution."""
NOT_LINKED: Final = "not linked"
"""The depth of URLs that no chain of links reaches from a seed: sitemaps and feeds alone list them."""


class Question(SheetQuery, frozen=True, kw_only=True):
    """A query of the report, as `questions.toml` declares it; that file explains the fields."""

    chapter: str
    advice: str = ""
    shared: str = ""
    most: int = 50
    sites: Literal["few", "many", ""] = ""


class AnsweredQuestion(Sheet, frozen=True, kw_only=True):
    """A question with its answer, in a chapter of the report. `is_cut`: there are more rows."""

    chapter: str
    advice: str
    is_cut: bool = False


class UsefulLinks(Struct, frozen=True):
    """The useful links of a site, chosen from `pages` pages."""

    site: str
    pages: int
    ulinks: list[Ulink]
    command: str


class KnownFreshness(Struct, frozen=True):
    """The estimated share of copies that are fresh, its 95 % interval, and their mean age in seconds."""

    pages: int
    fresh: float
    low: float
    high: float
    age: float


class Budget(Struct, frozen=True):
    """How a site's next fetches are divided between sitemaps and links, after `epochs` evaluations."""

    site: str
    sitemaps: int
    links: int
    epochs: int


class Trust(Struct, frozen=True):
    """How reliable one change signal of a site has proved, as a verdict and as a sentence."""

    site: str
    signal: str
    verdict: str
    says: str


class CrawlState(Struct, frozen=True):
    """What the tables do not hold and the crawl's state does. `explain` returns the meaning of a reason.

    `robots` has the robots.txt of each site and `waiting` its number of queued URLs, where they are known; `tries` has
    when each site that is down was tried last and is tried next.
    """

    freshness: KnownFreshness | None = None
    budgets: tuple[Budget, ...] = ()
    trusts: tuple[Trust, ...] = ()
    explain: Callable[[str], str] = lambda _: ""
    robots: Mapping[str, RobotsFile] = {}
    waiting: Mapping[str, int] = {}
    tries: Mapping[str, dict[str, float]] = {}


class Report(Struct, frozen=True):
    """A whole report. `folder` is the collection's path quoted for a shell; `made_at` is POSIX time."""

    name: str
    folder: str
    made_at: float
    parts: dict[str, AnsweredQuestion]
    useful: list[UsefulLinks]
    freshness: KnownFreshness | None = None

    def rows(self, name: str) -> list[TableRow]:
        """The rows of a part; empty if the report does not have it."""
        return self.parts[name].rows if name in self.parts else []

    def row(self, name: str) -> TableRow:
        """The only row of a part."""
        return next(iter(self.rows(name)), {})
