"""A crawl in numbers: what was fetched, found and refused, counted from the events that the tables are written from."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct, field

from periplus.model import (
    ChangeLevel,
    ChangeSeen,
    Discovered,
    Event,
    EventSink,
    Excluded,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    NotModified,
    Purpose,
    Redirected,
    Refused,
)


class Tally(Struct):
    """Counts since the collection began. `errors`, `excluded` and `refused` are by reason, `sources` by who told us.

    Of the pages, `new` were fetched for the first time, `changed` and `same` again, and `copies` had a text that was
    known by another URL. `robots` and `files` were answered as well: robots.txt files, sitemaps and feeds.
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

    @classmethod
    def restored(cls, kept: bytes | None) -> Tally:
        """What was kept, or a fresh start."""
        return cls() if kept is None else msgspec.msgpack.decode(kept, type=cls)

    def encoded(self) -> bytes:
        """To be kept."""
        return msgspec.msgpack.encode(self)

    def __add__(self, other: Tally) -> Tally:
        total = Tally()
        for name in self.__struct_fields__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, dict):
                mine = {key: mine.get(key, 0) + theirs.get(key, 0) for key in {**mine, **theirs}}
            else:
                mine += theirs
            setattr(total, name, mine)
        return total

    def count(self, event: Event) -> None:
        """One more of whatever this is."""
        match event:
            case Discovered(discovery=discovery):
                _add(self.sources, discovery.source.value)
            case Refused(reason=reason):
                _add(self.refused, reason)
            case FetchEnded(outcome=outcome):
                self._count_fetch(outcome)
            case ChangeSeen(level=level):
                self.changed += level >= ChangeLevel.MAJOR
                self.same += level < ChangeLevel.MAJOR
            case _:
                pass

    def _count_fetch(self, outcome: FetchOutcome) -> None:
        if isinstance(outcome, Excluded):
            _add(self.excluded, outcome.reason)
            return
        self.fetches += 1
        is_page = outcome.task.purpose is Purpose.PAGE
        if not is_page:
            self._count_file(outcome)
        match outcome:
            case Failed(reason=reason) if is_page:
                _add(self.errors, reason)
            case Fetched(status=status, body=body):
                self.downloaded += len(body)
                if is_page and status >= 400:
                    _add(self.errors, f"http-{status}")
                elif is_page:
                    self.pages += 1
                    self.new += outcome.task.visited_at is None
            case Redirected(body=body):
                self.downloaded += len(body)
                self.redirects += is_page
            case NotModified() if is_page:
                self.pages += 1
            case _:
                pass

    def _count_file(self, outcome: FetchOutcome) -> None:
        is_there = isinstance(outcome, NotModified) or (isinstance(outcome, Fetched) and outcome.status < 400)
        self.robots += is_there and outcome.task.purpose is Purpose.ROBOTS
        self.files += is_there and outcome.task.purpose is Purpose.SITEMAP


class Counting:
    """An `EventSink` that counts what passes on to another."""

    def __init__(self, tally: Tally, onward: EventSink) -> None:
        self.tally = tally
        self._onward = onward

    def record(self, events: Sequence[Event]) -> None:
        """Count and pass on."""
        for event in events:
            self.tally.count(event)
        self._onward.record(events)


def _add(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1
