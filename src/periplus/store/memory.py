"""The ports of storage, in memory. First class: simulations and tests run on these.

The contract of every implementation is in `model.ports` and in `tests/conformance`. Here every change takes effect at
once, so `commit` has nothing to do.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import chain, islice
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from periplus.model import (
    AddressVisits,
    Batch,
    DomainVisits,
    FormRow,
    InvariantError,
    Lane,
    LinkChunk,
    Messages,
    Payload,
    Queued,
    RobotsFile,
    Site,
    SiteOutage,
    SiteVisits,
    Ticket,
    TreeUse,
    Url,
    UrlRecord,
)
from periplus.urls import site_of

from .crawl_state import MemoryListings, MemoryRevisitQueue, SiteState
from .sitemap_store import MemorySitemapStore
from .sketches import MemorySketches
from .url_scores import MemoryUrlScores

HIGHEST_LEVEL = 255
"""Levels are discrete, and fit in a byte of a key."""


class MemoryUrlRecords:
    """`UrlRecords` in one dict. The records of one site are found by a search through all, which is rarely needed."""

    def __init__(self) -> None:
        self._records: dict[Url, UrlRecord] = {}

    def add_new(self, records: Sequence[UrlRecord]) -> list[UrlRecord | None]:
        """Add records of unknown URLs; return for each the record that was there before."""
        known = self._records
        answers: list[UrlRecord | None] = []
        for record in records:
            before = known.get(record.url)
            if before is None:
                known[record.url] = record
            answers.append(before)
        return answers

    def get(self, urls: Sequence[Url]) -> list[UrlRecord | None]:
        """The record of each, aligned with `urls`."""
        find = self._records.get
        return [find(url) for url in urls]

    def put(self, records: Iterable[UrlRecord]) -> None:
        """Write all or none: the batch is read completely before the first is written."""
        self._records.update([(record.url, record) for record in records])

    def of_site(self, site: Site) -> Iterator[UrlRecord]:
        """Every record of a site, each once."""
        return iter([record for url, record in self._records.items() if site_of(url) == site])

    def __len__(self) -> int:
        return len(self._records)


class _Line:
    """What waits in one lane of one site: for each level in use, tickets in the order of their places.

    A ticket that was taken out leaves a gap, which goes when it comes to the front, or when most of a level is gaps.
    """

    __slots__ = ("_gaps", "_levels", "_used", "length")

    def __init__(self) -> None:
        self._levels: dict[int, deque[Ticket]] = {}
        self._used: list[int] = []
        self._gaps: dict[int, set[bytes]] = {}
        self.length = 0

    @property
    def lowest(self) -> int:
        return self._used[0]

    def add(self, ticket: Ticket) -> None:
        level = ticket.entry.level
        waiting = self._levels.get(level)
        if waiting is None:
            waiting = self._levels[level] = deque()
            insort(self._used, level)
        waiting.append(ticket)
        self.length += 1

    def first(self, limit: int) -> list[Ticket]:
        if limit <= 0 or not self._used:
            return []
        front = self._levels[self._used[0]]
        if limit == 1:
            return [front[0]]
        if limit == 2 and len(front) > 1 and not self._gaps:  # what a scheduler asks for, mostly
            return [front[0], front[1]]
        return list(islice(chain.from_iterable(map(self._of_level, self._used)), limit))

    def levels(self) -> list[int]:
        return list(self._used)

    def first_of(self, level: int, limit: int) -> list[Ticket]:
        return list(islice(self._of_level(level), limit)) if level in self._levels else []

    def _of_level(self, level: int) -> Iterable[Ticket]:
        waiting, gaps = self._levels[level], self._gaps.get(level)
        return waiting if not gaps else (ticket for ticket in waiting if ticket.place not in gaps)

    def remove(self, ticket: Ticket) -> bool:
        """Remove an entry, and return whether it was there. Places count up, so the first and last bound the search."""
        level, place = ticket.entry.level, ticket.place
        waiting, gaps = self._levels.get(level), self._gaps.get(level)
        if not waiting or not waiting[0].place <= place <= waiting[-1].place or (gaps and place in gaps):
            return False
        if waiting[0].place == place:
            waiting.popleft()
        elif gaps is None:
            gaps = self._gaps[level] = {place}
        else:
            gaps.add(place)
        self.length -= 1
        self._close(level, waiting, gaps)
        return True

    def _close(self, level: int, waiting: deque[Ticket], gaps: set[bytes] | None) -> None:
        if gaps:
            while waiting and waiting[0].place in gaps:
                gaps.remove(waiting.popleft().place)
            if len(gaps) > len(waiting) // 2 + 16:
                waiting = self._levels[level] = deque(each for each in waiting if each.place not in gaps)
                gaps.clear()
        if not waiting:
            del self._levels[level]
            self._used.remove(level)
        if not gaps:
            self._gaps.pop(level, None)


class MemoryQueues:
    """`Queues` in one deque a level, and a heap for what waits for a time."""

    def __init__(self) -> None:
        self._lines: dict[tuple[Site, Lane], _Line] = {}
        self._postponed: list[tuple[float, int, Queued]] = []
        self._sequence = 0
        self._queued = 0

    def push(self, entries: Sequence[Queued]) -> list[Ticket]:
        """Add all at the end of their levels; the place of each."""
        for entry in entries:
            _check_level(entry)
        tickets = [Ticket(self._next().to_bytes(8, "big"), entry) for entry in entries]
        for ticket in tickets:
            name = (ticket.entry.site, ticket.entry.lane)
            line = self._lines.get(name)
            if line is None:
                line = self._lines[name] = _Line()
            line.add(ticket)
        self._queued += len(entries)
        return tickets

    def heads(self, site: Site, lane: Lane, limit: int) -> list[Ticket]:
        """The first `limit` of a site's lane."""
        line = self._lines.get((site, lane))
        return [] if line is None else line.first(limit)

    def levels(self, site: Site, lane: Lane) -> list[int]:
        """The levels of a site's lane where something waits, ascending."""
        line = self._lines.get((site, lane))
        return [] if line is None else line.levels()

    def heads_of_level(self, site: Site, lane: Lane, level: int, limit: int) -> list[Ticket]:
        """The first `limit` of one level of a site's lane."""
        line = self._lines.get((site, lane))
        return [] if line is None or limit <= 0 else line.first_of(level, limit)

    def remove(self, tickets: Sequence[Ticket]) -> None:
        """Take these out; those that are not there any more do not matter."""
        for ticket in tickets:
            name = (ticket.entry.site, ticket.entry.lane)
            line = self._lines.get(name)
            if line is not None and line.remove(ticket):
                self._queued -= 1
                if not line.length:
                    del self._lines[name]

    def length(self, site: Site, lane: Lane) -> int:
        """How many URLs wait in the queue of a site and lane."""
        line = self._lines.get((site, lane))
        return 0 if line is None else line.length

    def waiting(self) -> Iterator[tuple[Site, Lane, int]]:
        """Every site and lane where something waits, with the lowest level there."""
        return iter([(site, lane, line.lowest) for (site, lane), line in self._lines.items()])

    def postpone(self, entries: Sequence[tuple[float, Queued]]) -> None:
        """Keep these out of the queues until their time."""
        for due_at, entry in entries:
            _check_time(due_at)
            _check_level(entry)
        for due_at, entry in entries:
            heappush(self._postponed, (due_at, self._next(), entry))

    def release(self, now: float, limit: int) -> list[Ticket]:
        """Push at most `limit` postponed entries that are due, earliest first; return the place of each."""
        due: list[Queued] = []
        while self._postponed and self._postponed[0][0] <= now and len(due) < limit:
            due.append(heappop(self._postponed)[2])
        return self.push(due)

    def next_release(self) -> float | None:
        """When the first postponed entry is due."""
        return self._postponed[0][0] if self._postponed else None

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence

    def __len__(self) -> int:
        return self._queued + len(self._postponed)


def _check_level(entry: Queued) -> None:
    if not 0 <= entry.level <= HIGHEST_LEVEL:
        raise InvariantError(f"level {entry.level} of {entry.url} is not within 0..{HIGHEST_LEVEL}")


def _check_time(due_at: float) -> None:
    if due_at != due_at:
        raise InvariantError("a time to wait for is not a number")


class MemorySites:
    """`Sites` in a dict of encoded rows: a copy shares nothing with what was put, at any depth."""

    def __init__(self) -> None:
        self._rows: dict[Site, bytes] = {}

    def get(self, sites: Sequence[Site]) -> list[SiteState | None]:
        """A copy of the state of each, aligned with `sites`."""
        rows = [self._rows.get(site) for site in sites]
        return [None if row is None else _decode_site(row) for row in rows]

    def put(self, states: Iterable[SiteState]) -> None:
        """Keep copies of these."""
        self._rows.update([(state.site, _encode(state)) for state in states])

    def __len__(self) -> int:
        return len(self._rows)


_encode = msgspec.msgpack.Encoder().encode
_decode_site = msgspec.msgpack.Decoder(SiteState).decode


class MemoryRobotsFiles:
    """`RobotsFiles` in a dict."""

    def __init__(self) -> None:
        self._files: dict[Site, RobotsFile] = {}

    def get(self, site: Site) -> RobotsFile | None:
        """The stored one, whether or not it has expired."""
        return self._files.get(site)

    def put(self, file: RobotsFile) -> None:
        """Keep this one."""
        self._files[file.site] = file


class MemoryPayloads:
    """`Payloads` in a dict."""

    def __init__(self) -> None:
        self._payloads: dict[bytes, Payload] = {}

    def get(self, digest: bytes) -> Payload | None:
        """The one of this digest, if there is one."""
        return self._payloads.get(digest)

    def add_new(self, payload: Payload) -> Payload | None:
        """Store it and return `None` if its digest is new; otherwise return the first one."""
        first = self._payloads.get(payload.digest)
        if first is None:
            self._payloads[payload.digest] = payload
        return first


R = TypeVar("R", bound=Struct)


class MemoryRows(Generic[R]):
    """`Rows` in a dict, by the field of this name."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._rows: dict[str | int, R] = {}

    def get(self, key: str | int) -> R | None:
        """The row of a key."""
        return self._rows.get(key)

    def put(self, rows: Iterable[R]) -> None:
        """Write or overwrite these."""
        self._rows.update([(getattr(row, self._key), row) for row in rows])

    def remove(self, keys: Iterable[str | int]) -> None:
        """Delete the rows of these keys."""
        for key in keys:
            self._rows.pop(key, None)

    def __iter__(self) -> Iterator[R]:
        """Every row."""
        return iter(list(self._rows.values()))


class MemoryExchange:
    """`Exchange` of one shard, in a queue for each receiver."""

    def __init__(self, shard: int = 0) -> None:
        self._shard = shard
        self._kept: dict[int, deque[Batch]] = {}
        self._offered: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self._taken: dict[int, int] = {}

    def send(self, receiver: int, messages: Messages) -> None:
        """Keep a batch for another shard."""
        number = self._numbers.get(receiver, 0) + 1
        self._numbers[receiver] = number
        self._kept.setdefault(receiver, deque()).append(Batch.of(self._shard, receiver, number, messages))

    def receivers(self) -> list[int]:
        """The shards with batches that were not offered."""
        return [receiver for receiver in self._kept if self._waiting(receiver)]

    def unsent(self, receiver: int, limit: int) -> list[Batch]:
        """The next batches for one receiver, in order; each is shown once."""
        shown = self._waiting(receiver)[:limit]
        if shown:
            self._offered[receiver] = shown[-1].number
        return shown

    def _waiting(self, receiver: int) -> list[Batch]:
        offered = self._offered.get(receiver, 0)
        return [batch for batch in self._kept.get(receiver, ()) if batch.number > offered]

    def sent(self, receiver: int) -> int:
        """The number of the last batch stored for a shard."""
        return self._numbers.get(receiver, 0)

    def reopened(self) -> None:
        """Offer batches without an acknowledgement again, as after a restart."""
        self._offered.clear()

    def acknowledged(self, receiver: int, number: int) -> None:
        """The receiver has this batch and all before it."""
        kept = self._kept.get(receiver, deque())
        while kept and kept[0].number <= number:
            kept.popleft()

    def is_new(self, batch: Batch) -> bool:
        """Whether this batch is the next one of its sender. Marks it as taken.

        One that comes before its predecessor is not taken: without an acknowledgement it is sent again.
        """
        if batch.number != self.taken(batch.sender) + 1:
            return False
        self._taken[batch.sender] = batch.number
        return True

    def taken(self, sender: int) -> int:
        """The number of the last batch taken from a shard."""
        return self._taken.get(sender, 0)

    def __len__(self) -> int:
        """How many batches are not acknowledged."""
        return sum(map(len, self._kept.values()))


S = TypeVar("S")


class MemoryState:
    """`State` in memory."""

    def __init__(self, shard: int = 0) -> None:
        self.records = MemoryUrlRecords()
        self.queues = MemoryQueues()
        self.standings = MemoryUrlScores()
        self.forest = MemorySitemapStore()
        self.listings = MemoryListings()
        self.calendar = MemoryRevisitQueue()
        self.sites = MemorySites()
        self.robots = MemoryRobotsFiles()
        self.payloads = MemoryPayloads()
        self.sketches = MemorySketches()
        self.exchange = MemoryExchange(shard)
        self.visits: MemoryRows[SiteVisits] = MemoryRows("site")
        self.addresses: MemoryRows[AddressVisits] = MemoryRows("key")
        self.domains: MemoryRows[DomainVisits] = MemoryRows("domain")
        self.forms: MemoryRows[FormRow] = MemoryRows("key")
        self.recent_links: MemoryRows[LinkChunk] = MemoryRows("number")
        self.trees: MemoryRows[TreeUse] = MemoryRows("tree")
        self.outages: MemoryRows[SiteOutage] = MemoryRows("site")
        self._meta: dict[str, bytes] = {}

    def meta(self, kind: type[S]) -> S | None:
        """The value of this type that was last put, if any."""
        row = self._meta.get(kind.__name__)
        return None if row is None else msgspec.msgpack.decode(row, type=kind)

    def put_meta(self, value: Struct) -> None:
        """Keep a value; there is one of each type."""
        self._meta[type(value).__name__] = msgspec.msgpack.encode(value)

    @property
    def uncommitted(self) -> int:
        """Always 0: memory has no commits."""
        return 0

    def commit(self) -> None:
        """Nothing to do: see the module."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
