"""What the engine asks of whatever schedules further visits to pages, and reports to it.

`Revisiting` itself visits every page once, and learns nothing: the simulator's crawl. `engine.revisit.revisits`
overrides all of it.
"""

# ruff: noqa: ARG002 - nothing follows from what is reported here

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from periplus.model import (
    Bid,
    BodyReading,
    Discovery,
    Event,
    FetchOutcome,
    Freshness,
    Lane,
    NextVisit,
    Queued,
    Site,
    Source,
    Url,
    UrlRecord,
    Validators,
)
from periplus.store import SiteState


class ToldPage(Struct, frozen=True):
    """A page that a source reported as changed, with its place; `is_waiting`: it waits with its site already."""

    entry: Queued
    is_waiting: bool = False


class Revisiting:
    """Schedules revisits, and learns from every visit and signal."""

    @property
    def is_watching(self) -> bool:
        """Whether pages are visited again at all."""
        return False

    @property
    def shortest(self) -> float:
        """Minimum seconds between two visits of a page for its changes."""
        return 3600.0

    @property
    def visits_per_day(self) -> float:
        """Visits a day that this shard may make; 0 without a watch."""
        return 0.0

    # inputs and commits

    def restart(self, now: float) -> bool:
        """Continue in a new process; whether the clock was set back since the last one."""
        return False

    def end_of_input(self) -> None:
        """Drop data that is only needed until the links of a visit are delivered, within the same input."""

    def flush(self) -> Iterable[Struct]:
        """What must be committed besides rows: one value of each type."""
        return ()

    # what is due

    def due(self, now: float, waiting: int) -> Sequence[Queued]:
        """The pages to be queued for another visit, while `waiting` revisits are queued already."""
        return ()

    def told(self) -> Sequence[ToldPage]:
        """The pages that this input reported as changed, to be queued for another visit."""
        return ()

    def next_due(self, waiting: int) -> float | None:
        """When the next page is due, if there is room for it."""
        return None

    def idle(self, now: float) -> None:
        """Record that nothing was granted although there was time for a request."""

    # a visit is granted

    def prefers_revisit(self, site: SiteState, again: Queued, new: Queued) -> bool:
        """Whether the best revisit that waits at a site goes before its best first visit."""
        return again.level < new.level

    def condition(self, site: SiteState, record: UrlRecord) -> Validators | None:
        """The validators that are sent with a revisit."""
        return record.validators

    def granted(self, record: UrlRecord, now: float, *, is_revisit: bool) -> None:
        """Record that a visit to a page was granted."""

    # what visits and signals teach

    def visited(
        self,
        site: SiteState,
        before: UrlRecord,
        after: UrlRecord,
        outcome: FetchOutcome,
        reading: BodyReading | None,
        now: float,
    ) -> UrlRecord:
        """Learn from a visit that has ended, with a page or finally without; the record, scheduled for the next."""
        return after

    def put_off(self, record: UrlRecord, now: float) -> UrlRecord:
        """The record of a page whose visit said nothing or was refused, scheduled for another time."""
        return record

    def back(self, site: Site, since: float, now: float) -> None:
        """Schedule the pages of a site again that was down since then."""

    def linked(self, url: Url, links: Iterable[Url], now: float) -> None:
        """Learn from the links of a page that was read."""

    def first_visited(self, site: SiteState, lane: Lane, *, is_good: bool) -> None:
        """Record whether a first visit found a unique, indexable page; the caller marks the site as changed."""

    def mentioned(self, discovery: Discovery, known: UrlRecord) -> UrlRecord:
        """The record of a known page after a source mentioned it; the same object if nothing changed."""
        return known

    def found_new(self, events: Sequence[Event]) -> None:
        """Learn which pages link to new ones."""

    def file_read(self, site: Site, source: Source, listed: int, moved: int, *, is_generated: bool = False) -> None:
        """Learn from a sitemap or feed that was read again: `moved` of its `listed` pages have a later date."""

    def file_interval(self, site: Site) -> float:
        """Seconds before which it does not pay to read a sitemap or feed of a site again."""
        return 0.0

    # what a page is compared with

    def visited_at(self, record: UrlRecord) -> float:
        """The time that the last visit counts for: earlier than it was recorded if the clock was set back since."""
        return math.inf

    def is_announced(self, site: SiteState, record: UrlRecord) -> bool:
        """Whether a signal of a kind that is mostly right on this site announced a change of the page."""
        return False

    # the watch, as others see it

    def set_budget(self, visits_per_day: float, now: float) -> None:
        """Change this shard's part of the visits."""

    def bid(self, now: float, waiting: int = 0) -> Bid | None:
        """The bid of this shard for visits, of which `waiting` are queued; `None` without a watch."""
        return None

    def freshness(self, now: float, waiting: int = 0) -> Freshness | None:
        """How fresh the collection is, of which `waiting` pages are queued to be visited again; `None` if unwatched."""
        return None

    def upcoming(self, now: float, limit: int) -> Sequence[NextVisit]:
        """The next `limit` visits and their reasons. Changes no decision."""
        return ()
