"""A crawl in numbers: what was fetched, found and refused, counted from events."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct, field

from periplus.model import (
    ChangeLevel,
    ChangeSeen,
    Event,
    Excluded,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    Located,
    NotModified,
    Purpose,
    Redirected,
    Refused,
    UrlDiscovered,
)

DURATIONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds: the upper bounds of the classes in which durations of fetches are counted."""
_BUCKETS = (*(f"{bound:g}" for bound in DURATIONS), "more")
_MAX_TYPES = 32
"""Media types that are counted one by one; servers may invent any number."""
_TYPE = "content-type"
_TYPE_LENGTH = len(_TYPE)
_OUTCOMES = {Fetched: "fetched", NotModified: "not-modified", Redirected: "redirected", Failed: "failed"}

DRY: Final = 0.02
"""Harvest rate below which a focused crawl finds next to nothing."""
DRY_PAGES: Final = 2_000
"""Pages in a row with such a harvest rate after which the crawl says so."""


class CrawlStats(Struct):
    """Counts since the collection began. `errors`, `excluded` and `refused` are by reason, `sources` by source.

    `errors` are requests that failed: for pages with a status from 400 on, too; for robots.txt and other files, which
    a site need not have, only if the server failed (from 500 on, and 429). A cancelled request did not fail.

    Of the pages, `new` were fetched for the first time, `changed` and `same` again, and `copies` had a text that was
    known by another URL. `robots` and `files` were answered as well: robots.txt files, sitemaps and feeds.

    For metrics: of `sources`, `found_again` were known from another source; `outcomes` are by outcome and purpose
    (`fetched page`), `types` by media type of pages, `type_bytes` the same in bytes; `durations` counts fetches by the
    bound of their class in seconds (`DURATIONS`; `more`: longer ones), which took `seconds` together.

    `levels` counts visits to known pages by how much those had changed; from `minor` on they are `changed`.

    Of a crawl with a topic: `appraised` pages have a relevance, and `relevant` of them are on the topic; of the
    `recent` last ones, `recent_relevant`. `dry` counts the pages since next to none was.
    """

    fetches: int = 0
    pages: int = 0
    new: int = 0
    changed: int = 0
    same: int = 0
    copies: int = 0
    redirects: int = 0
    downloaded: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    excluded: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    robots: int = 0
    files: int = 0
    found_again: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    durations: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    type_bytes: dict[str, int] = field(default_factory=dict)
    appraised: int = 0
    relevant: int = 0
    recent: int = 0
    recent_relevant: int = 0
    dry: int = 0
    levels: dict[str, int] = field(default_factory=dict)

    @property
    def known(self) -> int:
        """URLs that were found and accepted, each once. Sitemaps and feeds themselves are not among them."""
        return sum(self.sources.values()) - sum(self.found_again.values())

    @property
    def revisits(self) -> int:
        """Pages that were fetched again: a limit of pages does not count them."""
        return self.pages - self.new

    def __add__(self, other: CrawlStats) -> CrawlStats:
        total = CrawlStats()
        for name in self.__struct_fields__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, dict):
                mine = {key: mine.get(key, 0) + theirs.get(key, 0) for key in {**mine, **theirs}}
            else:
                mine += theirs
            setattr(total, name, mine)
        return total

    def count(self, events: Iterable[Event]) -> None:
        """Count events: most are of the first two kinds, of which a page makes a dozen."""
        for event in events:
            if isinstance(event, Refused):
                _add(self.refused, event.reason)
            elif isinstance(event, UrlDiscovered):
                source = event.discovery.source._value_
                _add(self.sources, source)
                if not event.is_new:
                    _add(self.found_again, source)
            elif isinstance(event, FetchEnded):
                self._count_fetch(event.outcome)
            elif isinstance(event, ChangeSeen):
                self._count_change(event.level, 1)
                if event.was is not None:
                    self._count_change(event.was, -1)

    def _count_change(self, level: ChangeLevel, by: int) -> None:
        is_changed = level >= ChangeLevel.MINOR
        self.changed += by * is_changed
        self.same += by * (not is_changed)
        self.levels[level.word] = self.levels.get(level.word, 0) + by

    def _count_fetch(self, outcome: FetchOutcome) -> None:
        if isinstance(outcome, Excluded):
            _add(self.excluded, outcome.reason)
            return
        self.fetches += 1
        if not isinstance(outcome, Located):
            self._count_duration(outcome)
        is_page = outcome.task.purpose is Purpose.PAGE
        if not is_page:
            self._count_file(outcome)
        if isinstance(outcome, Fetched):
            status = outcome.status
            self.downloaded += outcome.size
            if status >= 500 or status == 429 or (is_page and status >= 400):
                _add(self.errors, f"http-{status}")
            elif is_page:
                self.pages += 1
                self.new += outcome.task.visited_at is None
                self._count_type(outcome)
        elif isinstance(outcome, Redirected):
            self.downloaded += len(outcome.body)
            self.redirects += is_page
        elif isinstance(outcome, NotModified):
            self.pages += is_page
        elif isinstance(outcome, Failed) and outcome.reason != "cancelled":
            _add(self.errors, outcome.reason)

    def _count_duration(self, outcome: Fetched | NotModified | Redirected | Failed) -> None:
        _add(self.outcomes, f"{_OUTCOMES[type(outcome)]} {outcome.task.purpose._value_}")
        place = bisect_left(DURATIONS, outcome.duration)
        _add(self.durations, _BUCKETS[place])
        self.seconds += outcome.duration

    def _count_type(self, outcome: Fetched) -> None:
        kinds = [value for name, value in outcome.headers if len(name) == _TYPE_LENGTH and name.lower() == _TYPE]
        kind = kinds[0].partition(";")[0].strip().lower() if kinds else ""
        kind = kind if kind in self.types or len(self.types) < _MAX_TYPES else "other"
        _add(self.types, kind)
        self.type_bytes[kind] = self.type_bytes.get(kind, 0) + outcome.size

    def _count_file(self, outcome: FetchOutcome) -> None:
        is_there = isinstance(outcome, NotModified) or (isinstance(outcome, Fetched) and outcome.status < 400)
        self.robots += is_there and outcome.task.purpose is Purpose.ROBOTS
        self.files += is_there and outcome.task.purpose is Purpose.SITEMAP


class EventCounter:
    """Collects and counts the events of an input.

    `is_counting`: not while answers that another shard archived are adopted; of these only discoveries are events here.
    """

    def __init__(self, stats: CrawlStats) -> None:
        self.stats = stats
        self.is_counting = True
        self._events: list[Event] = []

    def record(self, events: Sequence[Event]) -> None:
        """Keep and count these."""
        if not self.is_counting:
            events = [event for event in events if isinstance(event, UrlDiscovered | Refused)]
        self._events += events
        self.stats.count(events)

    def drain(self) -> list[Event]:
        """The events since the last call."""
        events, self._events = self._events, []
        return events


class IgnoredEvents(EventCounter):
    """Drops events: for simulations, which look at requests only."""

    def record(self, events: Sequence[Event]) -> None:
        """Ignore these."""


def waiting_urls(entries: int, queued_twice: int) -> int:
    """The number of URLs in queues with this many entries, of which some are of URLs that two sources named."""
    return max(entries - queued_twice, min(entries, 1))


def _add(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1
