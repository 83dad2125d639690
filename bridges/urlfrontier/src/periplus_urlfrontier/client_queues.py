"""Queues of other crawlers on disk: URLs under keys that clients chose, in one environment for each crawl.

    urls        queue number, digest -> `ClientUrl`                 what is known of a URL
    waiting     queue number, due time, sequence -> digest          URLs that are not done, in the order of granting
    queues      queue number -> `ClientQueue`
    schedule    time, turn, queue number -> due time of its first URL   queues in which a URL waits
    leases      end, queue number, digest -> nothing                URLs that are out

A URL that was granted is out: it waits like the others, for the end of its lease, which so needs no step of its own.
When URLs of a queue may be granted is decided in `client_frontier`. The digest is cryptographic, because clients
choose the URLs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final, Self, TypeVar

import msgspec
from msgspec import Struct

from periplus.model import CollectionDamaged, Site
from periplus.store.state.environment import Environment
from periplus.store.state.rows import damaged_row, encode
from periplus.store.state.sites import ID_LENGTH, TIME_LENGTH, SiteNames, sortable, time_of

_MAP_SIZE: Final = 1 << 38
"""Bytes of address space for a crawl: 1,000,000,000 URLs, and 256 crawls at once in what a process has."""
_DIGEST: Final = 16
"""Bytes of the digest of a URL: enough that no two URLs of a crawl share one."""
_FORMAT: Final = b"1"
"""The format of tables and rows; a change that makes old rows unreadable needs another."""
_MAX_HELD: Final = 65_536
"""Rows of queues in memory after a commit; about 30 MB."""


class ClientUrl(Struct, array_like=True):
    """What is known of a URL. `note` is the client's own: bytes that only its bridge reads.

    `due` is when it may be granted, `None` once it is done; while it is out, the end of its lease.
    """

    url: str
    created: float
    due: float | None
    sequence: int
    is_out: bool = False
    note: bytes = b""


class ClientQueue(Struct, array_like=True):
    """A queue. `first` is the due time of its first URL, `at` its time in the schedule; `None`: it has none.

    `delay` is in seconds; `None`: the crawl's. `limit` is the number of URLs that may be done or out; 0: any. `turn`
    counts up over all queues: of those with the same time, the one whose last grant is the oldest comes first.
    """

    waiting: int = 0
    done: int = 0
    out: int = 0
    delay: float | None = None
    blocked_until: float = 0.0
    limit: int = 0
    granted_at: float = 0.0
    first: float | None = None
    at: float | None = None
    turn: int = 0


R = TypeVar("R", bound=Struct)

_urls = msgspec.msgpack.Decoder(ClientUrl)
_queues = msgspec.msgpack.Decoder(ClientQueue)


def digest_of(url: str) -> bytes:
    """The digest that identifies a URL inside its queue."""
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


class ClientQueues:
    """The tables of one crawl. Changes are durable after `commit`, and lost if the process ends before."""

    def __init__(self, folder: Path) -> None:
        self._environment = Environment(folder, map_size=_MAP_SIZE)
        try:
            self._names = SiteNames(self._environment)
            self._urls = self._environment.table("urls")
            self._waiting = self._environment.table("waiting")
            self._rows = self._environment.table("queues")
            self._schedule = self._environment.table("schedule")
            self._leases = self._environment.table("leases")
            self._counters = self._environment.table("counters")
            self._check_format()
            self._environment.commit()
        except BaseException:
            self._environment.close()
            raise
        self._held: dict[bytes, ClientQueue] = {}
        self._changed: set[bytes] = set()
        self._sequence = int.from_bytes(self._counters.get(b"sequence") or b"", "big")
        self.default_delay = float(self._counters.get(b"delay") or b"0")

    def _check_format(self) -> None:
        found = self._counters.get(b"format")
        if found is None:
            self._counters.put(b"format", _FORMAT)
        elif found != _FORMAT:
            raise CollectionDamaged(
                f"the frontier has format {found.decode('ascii', 'replace')}, this version reads {_FORMAT.decode()}",
                hint="use the version of Periplus that wrote it",
            )

    # queues

    def number(self, key: str) -> bytes:
        """The number of a queue, assigned now if it has none."""
        return self._names.number(Site(key))

    def find(self, key: str) -> bytes | None:
        """The number of a queue that exists."""
        number = self._names.find(Site(key))
        return number if number is not None and self._is_there(number) else None

    def name(self, number: bytes) -> str:
        """The key of a queue."""
        return self._names.name(number)

    def queue(self, number: bytes) -> ClientQueue:
        """The row of a queue; a caller that changes it must call `changed`."""
        row = self._held.get(number)
        if row is None:
            found = self._rows.get(number)
            row = self._held[number] = ClientQueue() if found is None else _decoded(_queues, found)
        return row

    def _is_there(self, number: bytes) -> bool:
        return number in self._changed or self._rows.get(number) is not None

    def changed(self, number: bytes) -> None:
        """The row of a queue was changed."""
        self._changed.add(number)

    def queues(self, start: bytes = b"") -> Iterator[tuple[bytes, ClientQueue]]:
        """Every queue from a number on, in the order in which they were made."""
        self._flush()
        for number, row in self._rows.walk_from(start):
            yield number, _decoded(_queues, row)

    def reschedule(self, number: bytes, at: float | None) -> None:
        """Move a queue to another time in the schedule; `None`: out of it."""
        queue = self.queue(number)
        if queue.at is not None:
            self._schedule.delete(_schedule_key(number, queue))
        queue.at = at
        if at is not None:
            self._schedule.put(_schedule_key(number, queue), sortable(at if queue.first is None else queue.first))
        self._changed.add(number)

    def take_turn(self, number: bytes) -> None:
        """URLs of a queue were granted: other queues come first now."""
        queue = self.queue(number)
        self.reschedule(number, None)
        self._sequence += 1
        queue.turn = self._sequence

    def scheduled(self, start: bytes = b"\0") -> Iterator[tuple[float, bytes, float]]:
        """Time, number and first due time of the queues in the schedule, in order. It may change meanwhile."""
        for key, first in self._schedule.walk_from(start):
            yield time_of(key), key[-ID_LENGTH:], time_of(first)

    def next_scheduled(self, start: bytes) -> tuple[bytes, float] | None:
        """The first place at or after this one in the schedule, and its time."""
        row = self._schedule.at_or_after(start)
        return None if row is None else (row[0], time_of(row[0]))

    def first_due(self, number: bytes) -> float | None:
        """When the first URL of a queue is due."""
        row = self._waiting.at_or_after(number)
        return time_of(row[0][ID_LENGTH:]) if row is not None and row[0].startswith(number) else None

    # URLs

    def known(self, places: Sequence[bytes]) -> dict[bytes, bytes]:
        """The rows of those places (`number` and `digest_of`) that are known, not decoded."""
        return self._urls.get_many(places)

    def get(self, place: bytes) -> ClientUrl | None:
        """The row of a place."""
        row = self._urls.get(place)
        return None if row is None else _decoded(_urls, row)

    def add(self, urls: Sequence[tuple[bytes, str, bytes]], now: float) -> None:
        """Add unknown URLs, each with its place and note, which are due now, in this order."""
        due = sortable(now)
        rows, waiting = [], []
        sequence = self._sequence
        for place, url, note in urls:
            sequence += 1
            rows.append((place, encode(ClientUrl(url, now, now, sequence, False, note))))
            waiting.append((place[:ID_LENGTH] + due + sequence.to_bytes(8, "big"), place[ID_LENGTH:]))
        self._sequence = sequence
        rows.sort()
        waiting.sort()
        self._urls.put_many(rows)
        self._waiting.put_many(waiting)

    def due(self, number: bytes, now: float, limit: int) -> list[tuple[bytes, ClientUrl]]:
        """The place and row of at most `limit` URLs of a queue that are due, in order."""
        end = number + sortable(now) + b"\xff" * 8
        places = [number + digest for _, digest in self._waiting.between(number, end, limit)]
        rows = self._urls.get_many(places)
        return [(place, _decoded(_urls, rows[place])) for place in places]

    def move(self, place: bytes, row: ClientUrl, due: float | None, *, is_out: bool) -> None:
        """Let a URL wait until another time, be out until then, or be done (`None`), and write its row."""
        number = place[:ID_LENGTH]
        if row.due is not None:
            self._waiting.delete(_waiting_key(number, row))
            if row.is_out:
                self._leases.delete(sortable(row.due) + place)
        self._sequence += 1
        row.due, row.is_out, row.sequence = due, is_out, self._sequence
        self._urls.put(place, encode(row))
        if due is not None:
            self._waiting.put(_waiting_key(number, row), place[ID_LENGTH:])
            if is_out:
                self._leases.put(sortable(due) + place, b"")

    def expired(self, now: float, limit: int) -> list[bytes]:
        """Remove at most `limit` leases that have ended; the place of each."""
        end = sortable(now) + b"\xff" * (ID_LENGTH + _DIGEST)
        keys = [key for key, _ in self._leases.between(b"\0", end, limit)]
        for key in keys:
            self._leases.delete(key)
        return [key[TIME_LENGTH:] for key in keys]

    def has_lease(self, place: bytes, row: ClientUrl) -> bool:
        """Whether a URL that was granted is counted as out."""
        return row.is_out and row.due is not None and self._leases.get(sortable(row.due) + place) is not None

    def walk(self, number: bytes | None, start: bytes, limit: int) -> list[tuple[bytes, ClientUrl]]:
        """At most `limit` places and rows from a place on, of one queue or of all."""
        prefix = number or b""
        rows = self._urls.page(max(start, prefix or b"\0"), limit)
        return [(place, _decoded(_urls, row)) for place, row in rows if place.startswith(prefix)]

    def remove(self, place: bytes, row: ClientUrl) -> None:
        """Delete a URL. The counts of its queue are the caller's."""
        self._urls.delete(place)
        if row.due is not None:
            self._waiting.delete(_waiting_key(place[:ID_LENGTH], row))
            if row.is_out:
                self._leases.delete(sortable(row.due) + place)

    def remove_queue(self, number: bytes) -> None:
        """Delete the row of a queue whose URLs are deleted."""
        self.reschedule(number, None)
        self._held.pop(number, None)
        self._changed.discard(number)
        self._rows.delete(number)

    # all of it

    @property
    def size(self) -> tuple[int, int, int, int]:
        """How many URLs are known, wait (those that are out included), are out, and how many queues there are."""
        self._flush()
        return len(self._urls), len(self._waiting), len(self._leases), len(self._rows)

    @property
    def uncommitted(self) -> int:
        """Rows changed since the last commit."""
        return self._environment.uncommitted + len(self._changed)

    def set_default_delay(self, delay: float) -> None:
        """Keep the delay of queues that have none of their own."""
        self.default_delay = delay
        self._counters.put(b"delay", repr(delay).encode())

    def _flush(self) -> None:
        rows = [(number, encode(self._held[number])) for number in sorted(self._changed)]
        if rows:
            self._rows.put_many(rows)
        self._changed.clear()

    def commit(self) -> None:
        """Make everything since the last commit durable, all or nothing."""
        self._flush()
        self._counters.put(b"sequence", self._sequence.to_bytes(8, "big"))
        self._environment.commit()
        if len(self._held) > _MAX_HELD:
            self._held.clear()

    def close(self) -> None:
        """Close the tables, without a commit."""
        self._environment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _schedule_key(number: bytes, queue: ClientQueue) -> bytes:
    return sortable(queue.at or 0.0) + queue.turn.to_bytes(8, "big") + number


def _waiting_key(number: bytes, row: ClientUrl) -> bytes:
    return number + sortable(row.due or 0.0) + row.sequence.to_bytes(8, "big")


def _decoded(decoder: msgspec.msgpack.Decoder[R], row: bytes) -> R:
    try:
        return decoder.decode(row)
    except msgspec.MsgspecError as error:
        raise damaged_row(error) from error
