"""A frontier for other crawlers: queues under keys of their choice, leases, delays, blocks, limits and dates.

`engine.frontier` is the frontier of our own crawls: it looks up hosts, fetches robots.txt and allows one request to a
site at a time. Here clients do that. This frontier stores URLs, grants each to one client at a time, and lets queues
rest as clients asked for. Queues are in one schedule, by the time from which URLs of them may be granted: the latest of
when the first URL is due, when the block ends, and when the delay after the last grant ends. Of several, the queue
whose last grant is the oldest comes first; URLs of a queue are granted in the order in which they became due.

Time is an argument. Memory does not grow with URLs or queues: both are in `ClientQueues`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from periplus_urlfrontier.client_queues import ClientQueue, ClientQueues, ClientUrl, digest_of

MAX_GRANTED: Final = 10_000
"""URLs of one call of `take`: what a client can fetch before their leases end, and a bound on one step's time."""
MAX_GRANTED_BYTES: Final = 4 * 2**20
"""Size of URLs and notes from which on one call of `take` grants no more: they are in memory while a client reads."""
_MAX_QUEUES: Final = 10_000
"""Queues that one call of `take` looks at."""
_EXPIRED: Final = 20_000
"""Leases that one call of `take` or `totals` ends: more than one call grants."""
_NUMBER: Final = 4
"""Bytes of the number of a queue, with which a place begins."""


class SentUrl(Struct, frozen=True):
    """A URL that a client sent: the key of its queue, the URL as it was sent, what identifies it, and its note."""

    key: str
    url: str
    identity: str
    note: bytes = b""


class GrantedUrl(Struct, frozen=True):
    """A URL that a client may fetch now."""

    key: str
    url: str
    note: bytes


def size_of(granted: Iterable[GrantedUrl]) -> int:
    """Characters of the URLs and bytes of the notes."""
    return sum(len(each.url) + len(each.note) for each in granted)


class Totals(Struct, frozen=True):
    """Counts of a crawl, or of one queue: URLs that are not done, how many of these are out, and URLs that are done."""

    waiting: int
    out: int
    done: int
    queues: int
    active_queues: int


class KnownUrl(Struct, frozen=True):
    """A URL with all that is known of it, and its place for the next page of a list."""

    key: str
    row: ClientUrl
    place: bytes


class ClientFrontier:
    """Discover, take, report; and what clients set for queues. One crawl."""

    def __init__(self, queues: ClientQueues) -> None:
        self._queues = queues

    # discover and report

    def discover(self, found: Sequence[SentUrl], now: float) -> int:
        """Add URLs that are not known; how many were new. Of one that comes twice the first counts."""
        places: dict[bytes, SentUrl] = {}
        number, key = b"", None
        for each in found:
            if each.key != key:  # mostly, links of a page are of one queue
                key, number = each.key, self._queues.number(each.key)
            places.setdefault(number + digest_of(each.identity), each)
        known = self._queues.known(list(places))
        new = [(place, each.url, each.note) for place, each in places.items() if place not in known]
        self._queues.add(new, now)
        counts: dict[bytes, int] = {}
        for place, _, _ in new:
            counts[place[:_NUMBER]] = counts.get(place[:_NUMBER], 0) + 1
        for number, count in counts.items():
            queue = self._queues.queue(number)
            queue.waiting += count
            self._due_from(number, queue, now)
        return len(new)

    def report(self, found: SentUrl, date: float, now: float) -> None:
        """Record that a client is done with a URL until `date`; 0: forever. A URL that is not known is added."""
        number = self._queues.number(found.key)
        place = number + digest_of(found.identity)
        queue = self._queues.queue(number)
        row = self._queues.get(place)
        if row is None:
            row = ClientUrl(found.url, now, None, 0)
        else:
            queue.out -= self._queues.has_lease(place, row)
            queue.waiting -= row.due is not None
            queue.done -= row.due is None
        row.note = found.note
        self._queues.move(place, row, date or None, is_out=False)
        queue.waiting += row.due is not None
        queue.done += row.due is None
        self._place(number, queue)

    # take

    def take(self, max_queues: int, per_queue: int, key: str, lease: float, now: float, limit: int) -> list[GrantedUrl]:
        """Grant URLs that are due, of at most `max_queues` queues (0: any number), or of the queue `key` alone.

        At most `per_queue` of each (0: any number), `limit` in all, and about `MAX_GRANTED_BYTES`. Each is hidden
        until its lease ends.
        """
        self._end_leases(now)
        limit = min(limit, MAX_GRANTED)
        granted: list[GrantedUrl] = []
        served = size = 0
        for number in self._ready(key, now):
            some = self._grant(number, min(per_queue or limit, limit - len(granted)), lease, now, size)
            granted += some
            served += bool(some)
            size += size_of(some)
            if len(granted) >= limit or size >= MAX_GRANTED_BYTES or (max_queues and served >= max_queues):
                break
        return granted

    def _ready(self, key: str, now: float) -> Iterator[bytes]:
        """The queues from which URLs may be granted now, each once, those first that have waited longest."""
        if key:
            number = self._queues.find(key)
            at = None if number is None else self._queues.queue(number).at
            if number is not None and at is not None and at <= now:
                yield number
            return
        seen: set[bytes] = set()
        start = b"\0"
        while len(seen) < _MAX_QUEUES and (row := self._queues.next_scheduled(start)) is not None:
            place, at = row
            number = place[-_NUMBER:]
            if at > now:
                return
            if number not in seen:
                seen.add(number)
                yield number
            start = place + b"\0"

    def _grant(self, number: bytes, limit: int, lease: float, now: float, size: int) -> list[GrantedUrl]:
        """Grant at most `limit` URLs of a queue; `size` is that of what the same call has granted before."""
        queue = self._queues.queue(number)
        if queue.limit:
            limit = min(limit, queue.limit - queue.done - queue.out)
        due = self._queues.due(number, now, limit) if limit > 0 else []
        key = self._queues.name(number)
        granted = []
        for place, row in due:
            if size >= MAX_GRANTED_BYTES:
                break
            size += len(row.url) + len(row.note)
            queue.out -= self._queues.has_lease(place, row)
            self._queues.move(place, row, now + lease, is_out=True)
            granted.append(GrantedUrl(key, row.url, row.note))
        queue.out += len(granted)
        if granted:
            queue.granted_at = now
            self._queues.take_turn(number)
        self._place(number, queue)
        return granted

    def _end_leases(self, now: float) -> None:
        changed = set()
        for place in self._queues.expired(now, _EXPIRED):
            number = place[:_NUMBER]
            queue = self._queues.queue(number)
            queue.out -= 1
            self._queues.changed(number)
            if queue.limit:
                changed.add(number)
        for number in sorted(changed):
            self._place(number, self._queues.queue(number))

    # the schedule of queues

    def _due_from(self, number: bytes, queue: ClientQueue, now: float) -> None:
        """URLs that are due now were added to a queue."""
        if queue.first is None or queue.first > now:
            queue.first = now
            self._reschedule(number, queue)
        else:
            self._queues.changed(number)

    def _place(self, number: bytes, queue: ClientQueue) -> None:
        """Reschedule a queue whose URLs have changed."""
        queue.first = self._queues.first_due(number)
        self._reschedule(number, queue)

    def _reschedule(self, number: bytes, queue: ClientQueue) -> None:
        delay = self._queues.default_delay if queue.delay is None else queue.delay
        is_full = queue.limit and queue.done + queue.out >= queue.limit
        at = None
        if queue.first is not None and not is_full:
            at = max(queue.first, queue.blocked_until, queue.granted_at + delay)
        self._queues.reschedule(number, at)

    # what clients set

    def block(self, key: str, until: float) -> None:
        """Grant nothing from a queue until a time; 0: end the block."""
        number = self._queues.number(key)
        queue = self._queues.queue(number)
        queue.blocked_until = until
        self._reschedule(number, queue)

    def set_delay(self, key: str, delay: float) -> None:
        """Seconds between two grants of a queue; without a key, of every queue that has no delay of its own."""
        if key:
            number = self._queues.number(key)
            queue = self._queues.queue(number)
            queue.delay = delay
            self._reschedule(number, queue)
            return
        self._queues.set_default_delay(delay)
        for number, queue in self._queues.queues():
            if queue.delay is None:
                self._reschedule(number, self._queues.queue(number))

    def set_limit(self, key: str, limit: int) -> bool:
        """The URLs of a queue that may be done or out, 0: any number. Whether the queue exists."""
        number = self._queues.find(key)
        if number is None:
            return False
        queue = self._queues.queue(number)
        queue.limit = limit
        self._reschedule(number, queue)
        return True

    # counts and lists

    def totals(self, key: str, now: float) -> Totals:
        """The counts of one queue, or without a key of the crawl."""
        self._end_leases(now)
        if key:
            number = self._queues.find(key)
            if number is None:
                return Totals(0, 0, 0, 0, 0)
            queue = self._queues.queue(number)
            return Totals(queue.waiting, queue.out, queue.done, 1, int(_is_active(queue, now)))
        known, waiting, out, queues = self._queues.size
        active = sum(first <= now for _, _, first in self._queues.scheduled())
        return Totals(waiting, out, known - waiting, queues, active)

    def list_queues(self, start: int, size: int, now: float, *, is_any: bool) -> tuple[list[str], int]:
        """The keys of at most `size` queues from a position on, active ones or any; and how many queues there are."""
        names: list[str] = []
        position = 0
        for number, queue in self._queues.queues():
            if is_any or _is_active(queue, now):
                if position >= start:
                    names.append(self._queues.name(number))
                position += 1
            if len(names) >= size:
                break
        return names, self._queues.size[3]

    def status(self, key: str, identity: str) -> ClientUrl | None:
        """The state of a URL."""
        number = self._queues.find(key)
        return None if number is None else self._queues.get(number + digest_of(identity))

    def page(self, key: str, after: bytes, limit: int) -> list[KnownUrl]:
        """At most `limit` URLs after a place (empty: from the start), of one queue or of all."""
        number = self._queues.find(key) if key else None
        if key and number is None:
            return []
        rows = self._queues.walk(number, after + b"\0" if after else b"", limit)
        return [KnownUrl(self._queues.name(place[:_NUMBER]), row, place) for place, row in rows]

    # deleting

    def delete_some(self, key: str, limit: int) -> int:
        """Delete at most `limit` URLs of a queue, and the queue once it has none; how many were deleted."""
        number = self._queues.find(key)
        if number is None:
            return 0
        rows = self._queues.walk(number, b"", limit)
        for place, row in rows:
            self._remove(place, row)
        if len(rows) < limit:
            self._queues.remove_queue(number)
        else:
            self._place(number, self._queues.queue(number))
        return len(rows)

    def purge_some(self, key: str, before: float, after: bytes, limit: int) -> tuple[int, bytes]:
        """Of the next `limit` URLs delete those that are older; how many, and the last place (empty: the end)."""
        listed = self.page(key, after, limit)
        old = [each for each in listed if each.row.created < before]
        for each in old:
            self._remove(each.place, each.row)
        for number in sorted({each.place[:_NUMBER] for each in old}):
            self._place(number, self._queues.queue(number))
        return len(old), listed[-1].place if len(listed) >= limit else b""

    def _remove(self, place: bytes, row: ClientUrl) -> None:
        queue = self._queues.queue(place[:_NUMBER])
        queue.out -= self._queues.has_lease(place, row)
        queue.waiting -= row.due is not None
        queue.done -= row.due is None
        self._queues.changed(place[:_NUMBER])
        self._queues.remove(place, row)


def _is_active(queue: ClientQueue, now: float) -> bool:
    """Whether a URL of it is due."""
    return queue.first is not None and queue.first <= now
