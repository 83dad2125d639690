"""The seams of the house: what a room asks of whoever plays a part.

Ports take batches, because the hardest implementation decides the shape: a seen set on disk is offered a batch and
answers for all of it in one pass. Every port of storage has an in-memory implementation, first class, and one suite in
`tests/conformance` that every implementation passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from .events import Event
from .types import Discovery, FetchOutcome, FetchTask, Fingerprint, Site, Url, UrlRecord, Verdict


class Clock(Protocol):
    """The time, for the few rooms that must ask. Rooms that decide get it as an argument."""

    def now(self) -> float:
        """POSIX seconds; never runs backwards."""


class Scheduler(Protocol):
    """The three verbs between the brain and the wire. Nothing else crosses."""

    def discover(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Learn of URLs. Known ones gain a source; refused ones are recorded with their rule."""

    def take(self, limit: int, now: float) -> list[FetchTask]:
        """Lend out at most `limit` tasks that politeness allows now. An empty list is an answer."""

    def report(self, outcome: FetchOutcome, now: float) -> None:
        """End a lease: the site rests, and what was seen is learnt."""


class Filter(Protocol):
    """Should we want this URL?"""

    def judge(self, discovery: Discovery) -> Verdict:
        """Accept, reject with a reason, or name the URL under which we know it."""


class Ordering(Protocol):
    """How much do we want this URL? Larger is sooner."""

    def score(self, discovery: Discovery) -> float:
        """A priority, comparable within one crawl."""


class SeenSet(Protocol):
    """Which URLs have we been told of before?"""

    def add_new(self, fingerprints: Sequence[Fingerprint]) -> list[bool]:
        """Add all; for each, whether it was new. A repeat inside the batch is new only the first time."""

    def __len__(self) -> int:
        """How many are known."""


class UrlRecords(Protocol):
    """What is known of each URL, by site, so that a page's links land together."""

    def get(self, urls: Sequence[Url]) -> list[UrlRecord | None]:
        """The record of each, aligned with `urls`."""

    def put(self, records: Iterable[UrlRecord]) -> None:
        """Write all or none."""

    def of_site(self, site: Site) -> Iterable[UrlRecord]:
        """Every record of a site, in key order."""


class Wire(Protocol):
    """Whoever does the fetching: tasks in, outcomes out, never an exception for what the web did."""

    @property
    def free_slots(self) -> int:
        """How many more tasks may be started now."""

    def start(self, task: FetchTask) -> None:
        """Begin. The outcome comes from `finished`."""

    def finished(self, timeout: float) -> list[FetchOutcome]:
        """Wait at most `timeout` seconds for something to end."""


class EventSink(Protocol):
    """Whoever wants to know: a table, a display, a test."""

    def record(self, events: Sequence[Event]) -> None:
        """Take note. Must not raise for what an event says."""
