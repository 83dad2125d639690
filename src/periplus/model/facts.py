"""What people are shown of a site and a page: values that `periplus info --json` prints, filled in by parts."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from .watch import Freshness, NextVisit


class SignalCounts(NamedTuple):
    """How reliable a kind of signal was that is not about single pages, such as the dates in a sitemap index.

    `right` of the `judged` signals were; `recall` is the share of all changes that one announced.
    """

    kind: str
    right: int
    judged: int
    recall: float


class SignalFacts(Struct, frozen=True):
    """How far one kind of signal can be trusted on a site: `verdict` in a word.

    `precision` is the share of its signals that are right, with 95 % probability between `low` and `high`, from
    `judged` of them; `recall` the share of changes that it signals; `lag` how many seconds after the time that they
    state its signals arrive. `polls`: how often the source was fetched; `moved`: the share of its pages that recent
    polls reported as changed. `is_heard`: whether its signals count.
    """

    kind: str
    verdict: str
    precision: float
    low: float
    high: float
    judged: float
    recall: float
    lag: float
    polls: int
    moved: float
    is_heard: bool


class SiteFreshness(Struct, frozen=True):
    """How often the pages of a site change (`rate`, a day, signalled or not), from `pages` of them, and its signals.

    `rate` is null as long as too few were visited again. `churning` is how many parts of its pages are different at
    every visit, so that changes in them do not count, from `compared` pairs of versions.
    """

    rate: float | None
    pages: int
    signals: tuple[SignalFacts, ...]
    churning: int = 0
    compared: int = 0


class PageFreshness(Struct, frozen=True):
    """How likely the copy of a page is fresh, from how often it changes (`rate`, a day) and signals since then.

    `age` is in seconds; `visits` is how many could be compared with the one before, `changes` how many differed, and
    `signals` how many of each kind came since the last. The first two are null after a visit that failed. `next` is
    null if no visit is planned.
    """

    rate: float | None
    fresh: float | None
    age: float
    visits: int
    changes: int
    signals: dict[str, int]
    next: NextVisit | None
    is_watched: bool


class SourceCounts(Struct):
    """URLs that some source listed: how many are known, fetched with success, and unique in content."""

    known: int = 0
    fetched: int = 0
    unique: int = 0


class SourceFacts(Struct, frozen=True):
    """What links and sitemaps contributed to a site; seeds and redirects count as links, feeds as sitemaps.

    Of the URLs that both know, `first_by_links` and `first_by_sitemaps` are those that one knew before the other.
    `files` are the sitemap files that were read, `listed` the entries in them. `is_partial`: the site has more URLs
    than were counted.
    """

    links_only: SourceCounts
    sitemaps_only: SourceCounts
    both: SourceCounts
    first_by_links: int
    first_by_sitemaps: int
    files: int
    listed: int
    is_partial: bool

    @property
    def fetched(self) -> int:
        """Pages that were fetched with success, each once."""
        return self.links_only.fetched + self.sitemaps_only.fetched + self.both.fetched


class RevisitBudget(Struct, frozen=True):
    """The budget of revisits: visits a day of all shards, and what a visit must be worth (null: never watched)."""

    freshness: Freshness | None = None
    visits_a_day: float = 0.0
    price: float | None = None
    objective: str = ""
    planned: int = 0
