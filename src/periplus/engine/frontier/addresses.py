"""Paces requests by IP address: when each is due, how many may be under way there, which of its sites waits longest.

Requests of a shard to one address begin at least `ip_delay` apart. Sites at one address may belong to several shards:
each of these then waits `ip_delay` times the number of shards at the address (its share), and sends nothing there
before the coordinator has sent it that number. They do not take turns: requests of two shards may begin together.

How many requests of a shard may be under way at an address, the *window*, follows from its answers, as that of TCP does
(Jacobson 1988; Brakmo & Peterson 1995): it starts at 1, grows while answers are quick and every place in it is taken,
shrinks by one after an answer that took much longer than the fastest lately, and is halved after a failure. A site
that fails again and again says nothing new about its address. The shards at an address divide the maximum.

`AddressClaims` is the shard's side of this exchange, `engine.sharding.claims` the coordinator's. `Addresses` has the
times.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.model import AddressVisits, InvariantError, Rows

from .heap import IndexedHeap

MAX_ADDRESSES_PER_MESSAGE = 2_000
"""Maximum number of addresses in one message, in either direction; the rest follows in the next message. It keeps a
report of a shard that starts at thousands of addresses at some 20 KB."""


class ClaimsReport(Struct, frozen=True):
    """The changes between two positions, with their present values.

    `requested`: addresses where the shard waits for a share; `held`: where it has a share from another coordinator;
    `released`: where it sends no more requests. `received`: the number of the last `AddressShares` of this coordinator.
    `is_complete`: whether the report reaches the shard's latest position.
    """

    coordinator: int = 0
    received: int = 0
    after: int = 0
    until: int = 0
    requested: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    released: tuple[int, ...] = ()
    is_complete: bool = True


class AddressShares(Struct, frozen=True):
    """For each address whose share has changed, the number of shards there.

    `received` is the position up to which the coordinator has the shard's reports.
    """

    coordinator: int
    number: int
    received: int
    shares: tuple[tuple[int, int], ...] = ()


class _Claim(Struct):
    """An address claimed at `position`; a share of 0: not granted yet."""

    position: int
    share: int = 0


def key_of(ip: str) -> int:
    """The hash of an address that travels in messages. Addresses with one hash count as one: fewer requests."""
    return xxh3_64_intdigest(ip.encode())


class AddressClaims:
    """The address claims of one shard. An address that is left and entered again waits for a new share.

    The shard sends `ClaimsReport` and receives `AddressShares`. Both contain the latest value of everything that the
    other side has not confirmed, so that messages may be lost or repeated. Every change gets a position; the
    coordinator confirms positions. A coordinator that replaces a dead one has another id and no state: it is sent
    everything again, and messages of its predecessor are ignored from then on.

    `shards` is the number of shards of the crawl, `words` the number of reports made.
    """

    def __init__(self, shards: int, per_message: int = MAX_ADDRESSES_PER_MESSAGE) -> None:
        self.shards = shards
        self.words = 0
        self._per_message = per_message
        self._claims: dict[int, _Claim] = {}
        self._released: dict[int, int] = {}
        self._position = 0
        self._confirmed = 0
        self._coordinator = 0
        self._received = 0
        self._news: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._claims) + len(self._released)

    def share(self, key: int) -> int:
        """The number of shards that send requests to an address; 0: not known yet, so this shard must not."""
        claim = self._claims.get(key)
        return 0 if claim is None else claim.share

    def enter(self, key: int) -> None:
        """Record that the shard has sites at this address now."""
        self._released.pop(key, None)
        self._position += 1
        self._claims[key] = _Claim(self._position)

    def leave(self, key: int) -> None:
        """Record that the shard has no sites at this address any more."""
        del self._claims[key]
        self._news.pop(key, None)
        self._position += 1
        self._released[key] = self._position

    def report(self) -> ClaimsReport:
        """The changes that the coordinator has not confirmed, oldest first, as many as one message holds."""
        self.words += 1
        unconfirmed = sorted(self._unconfirmed())
        sent = unconfirmed[: self._per_message]
        is_complete = len(sent) == len(unconfirmed)
        claims = [(key, self._claims[key]) for _, key in sent if key in self._claims]
        return ClaimsReport(
            self._coordinator,
            self._received,
            self._confirmed,
            self._position if is_complete else sent[-1][0],
            tuple(key for key, claim in claims if not claim.share),
            tuple(key for key, claim in claims if claim.share),
            tuple(key for _, key in sent if key in self._released),
            is_complete,
        )

    def _unconfirmed(self) -> Iterator[tuple[int, int]]:
        """Newest first, so that the scan ends at the first change that is confirmed."""
        for key, claim in reversed(self._claims.items()):
            if claim.position <= self._confirmed:
                break
            yield claim.position, key
        for key, position in reversed(self._released.items()):
            if position <= self._confirmed:
                break
            yield position, key

    def update(self, shares: AddressShares) -> None:
        """Apply the coordinator's message. A share for an earlier claim of the same address does not count."""
        if shares.coordinator == self._coordinator and shares.number < self._received:
            return
        self._coordinator, self._received, self._confirmed = shares.coordinator, shares.number, shares.received
        for key in [key for key, position in self._released.items() if position <= self._confirmed]:
            del self._released[key]
        for key, share in shares.shares:
            claim = self._claims.get(key)
            if claim is not None and claim.position <= shares.received:
                claim.share = share
                self._news[key] = None

    def news(self) -> list[int]:
        """The addresses whose shares have changed since the last call."""
        news = list(self._news)
        self._news.clear()
        return news


if TYPE_CHECKING:
    from .site import ActiveSite

_NO_ADDRESS = -1
"""The key of the place where sites rest whose address is not known, or does not matter."""
_MAX_UNDER_WAY = 64
"""Maximum requests under way at an address, of all shards together."""
_QUICK = 1.0
"""Seconds within which an answer is quick: the window grows by one."""
_MAX_SLOW = 4
"""As `_MAX_UNDER_WAY`, where answers take longer than that: the window grows by one in as many answers as it has."""
_SLOWER, _SLACK = 1.5, 0.25
"""An answer takes too long beyond this multiple of the fastest, and this many seconds for what differs anyway."""
_DRIFT = 1 / 8
"""By which share of the difference an answer that was alone raises what counts as the fastest: servers change."""


class Address:
    """The sites at one address: those that rest, by when each may be visited, and how many are ready.

    `pause` is the time between two requests in seconds, infinite while our share of the address is not known. Of
    `window` requests `under_way` are; `best` is how many seconds the fastest answers take lately, 0 before the first.
    """

    __slots__ = ("best", "is_idle", "key", "next_at", "pause", "ready", "resting", "share", "under_way", "window")

    def __init__(self, key: int, share: int, pause: float, next_at: float = 0.0) -> None:
        self.key = key
        self.share = share
        self.is_idle = False
        self.pause = pause
        self.next_at = next_at if pause < math.inf else math.inf
        self.ready = self.under_way = 0
        self.window, self.best = 1.0, 0.0
        self.resting: IndexedHeap[float, ActiveSite] = IndexedHeap()

    @property
    def is_exclusive(self) -> bool:
        """Whether only one of its sites may be ready at a time."""
        return self.key != _NO_ADDRESS

    @property
    def room(self) -> int:
        """How many more requests may begin."""
        return int(self.window) - self.under_way if self.is_exclusive else sys.maxsize

    @property
    def is_blocked(self) -> bool:
        """Whether none of its sites may become ready: one is, or as many requests are under way as may be."""
        return self.is_exclusive and (self.ready > 0 or self.under_way >= int(self.window))

    def adapt(self, seconds: float) -> None:
        """Adapt the window to an answer that took some seconds, infinitely many if the server failed."""
        if seconds == math.inf:
            self.window = max(self.window / 2, 1.0)
            return
        if self.best and seconds > self.best * _SLOWER + _SLACK:
            self.window = max(self.window - 1.0, 1.0)
        elif self.under_way >= int(self.window):
            most, step = (_MAX_UNDER_WAY, 1.0) if seconds < _QUICK else (_MAX_SLOW, 1.0 / self.window)
            self.window = max(min(self.window + step, most // max(self.share, 1)), self.window, 1.0)
        if self.window < 2.0 and self.best:  # no other request of ours made it slower
            self.best += (seconds - self.best) * _DRIFT
        self.best = min(seconds, self.best or seconds)

    def change_share(self, share: int, pause: float, now: float) -> None:
        """Change the share; what is left of a pause is scaled with it, so the shards together never exceed the rate."""
        left = max(self.next_at - now, 0.0) * pause / self.pause if self.pause < math.inf else 0.0
        self.share, self.next_at, self.pause = share, now + left, pause
        self.window = max(min(self.window, _MAX_UNDER_WAY // max(share, 1)), 1.0)

    def row(self) -> AddressVisits:
        """The address as it is written."""
        return AddressVisits(self.key, self.next_at, self.share, self.is_idle, self.window, self.best)


class Addresses:
    """All addresses at which sites rest or are ready, by when one of their sites may be woken."""

    def __init__(self, rows: Rows[AddressVisits], *, ip_delay: float, shards: int) -> None:
        self._rows = rows
        self._ip_delay = ip_delay
        self._shards = shards
        self._nowhere = Address(_NO_ADDRESS, 1, 0.0)
        self._addresses: dict[int, Address] = {}
        self._due: IndexedHeap[float, Address] = IndexedHeap()
        self._changed: dict[int, None] = {}
        self._claimed: list[int] = []
        self._released: list[int] = []
        for row in rows:
            address = self._addresses[row.key] = Address(row.key, row.share, self._pause(row.share), row.next_at)
            address.is_idle, address.window, address.best = row.is_idle, row.window, row.best

    def __len__(self) -> int:
        return len(self._addresses)

    def __iter__(self) -> Iterator[Address]:
        yield self._nowhere
        yield from self._addresses.values()

    @property
    def weight(self) -> int:
        """How many entries of any kind are held: what memory grows with."""
        return len(self._addresses) + self._due.weight + sum(address.resting.weight for address in self)

    @property
    def longest_pause(self) -> float:
        """Seconds between two requests to an address that all shards share."""
        return self._ip_delay * self._shards

    @property
    def next_at(self) -> float | None:
        """When the next address is due."""
        return self._due.first

    def find(self, ip: str | None) -> Address | None:
        """The address of this IP as `at` returns it, if it is known."""
        return self._nowhere if ip is None or self._ip_delay <= 0 else self._addresses.get(key_of(ip))

    def at(self, ip: str | None) -> Address:
        """The address of this IP; the common one for sites without an address, or if addresses do not matter."""
        if ip is None or self._ip_delay <= 0:
            return self._nowhere
        key = key_of(ip)
        address = self._addresses.get(key)
        if address is None:
            address = self._addresses[key] = Address(key, self._first_share, self._pause(self._first_share))
            self._claimed.append(key)
            self._changed[key] = None
        elif address.is_idle:
            self._changed[key] = None
        address.is_idle = False
        return address

    @property
    def _first_share(self) -> int:
        return 1 if self._shards == 1 else 0

    def _pause(self, share: int) -> float:
        return self._ip_delay * share if share else math.inf

    def file(self, address: Address) -> None:
        """Set when the address is due: not while no site rests there, one that is ready waits, or it has no room."""
        at = address.resting.first
        if at is None or address.is_blocked:
            self._due.drop(address)
        else:
            self._due.put(address, max(at, address.next_at), address.key)

    def pop_due(self, now: float) -> Address | None:
        """An address at which a site may be woken; the caller files it again."""
        return self._due.pop_until(now)

    def asked(self, ip: str, now: float) -> Address:
        """A request to this IP begins: the address is left alone for its pause."""
        address = self.at(ip)
        if address.is_exclusive:
            address.next_at = max(address.next_at, now + address.pause)
            address.under_way += 1
            self._changed[address.key] = None
        return address

    def answered(self, ip: str, seconds: float | None) -> None:
        """A request to this IP has ended after some seconds, infinitely many if the server failed.

        `None`: the end says nothing about the server.
        """
        address = self.at(ip)
        if address.is_exclusive:
            if seconds is not None:
                address.adapt(seconds)
            address.under_way -= 1
            self._changed[address.key] = None
            self.file(address)

    def resume(self, ips: Iterable[str]) -> None:
        """Count the requests that are under way when a state is opened."""
        for address in map(self.at, ips):
            address.under_way += address.is_exclusive
            self.file(address)

    def set_shares(self, shares: Mapping[int, int], now: float) -> None:
        """Among how many shards some of our addresses are divided from now on."""
        for key, share in shares.items():
            if (address := self._addresses.get(key)) is not None:
                address.change_share(share, self._pause(share), now)
                self._changed[key] = None
                self.file(address)

    def restart(self, now: float) -> None:
        """A new process: nothing is under way, shares are void, and times far ahead were written by a fast clock."""
        for key, address in self._addresses.items():
            address.under_way = 0
            address.share, address.pause = self._first_share, self._pause(self._first_share)
            is_known = address.pause < math.inf
            address.next_at = min(address.next_at, now + self.longest_pause) if is_known else math.inf
            self._claimed.append(key)
            self._changed[key] = None
            self.file(address)

    def review(self, now: float) -> None:
        """Remove addresses without sites and requests that are not resting; with several shards, when seen so twice."""
        for key, address in list(self._addresses.items()):
            if len(address.resting) or address.ready or address.under_way or address.next_at > now:
                continue
            self._changed[key] = None
            if address.is_idle or self._shards == 1:
                del self._addresses[key]
                self._released.append(key)
            address.is_idle = True

    def claims(self) -> tuple[list[int], list[int]]:
        """The addresses that were entered and left since the last call."""
        claimed, self._claimed = self._claimed, []
        released, self._released = self._released, []
        return claimed, released

    def flush(self) -> None:
        """Write what changed; the caller commits."""
        present = [self._addresses[key] for key in self._changed if key in self._addresses]
        self._rows.put([address.row() for address in present])
        self._rows.remove([key for key in self._changed if key not in self._addresses])
        self._changed.clear()

    def check_under_way(self, ips: Iterable[str]) -> None:
        """Check that these requests are under way, and no others."""
        counted = Counter(address.key for address in map(self.find, ips) if address is not None)
        if any(address.is_exclusive and address.under_way != counted[address.key] for address in self):
            raise InvariantError("requests under way at an address were miscounted")

    def check_invariants(self, ready: int) -> None:
        """Check that every address is due when the first of its sites may be woken; `ready` sites are ready in all."""
        if ready != sum(address.ready for address in self):
            raise InvariantError(f"{ready} sites are ready, but not at their addresses")
        for address in self:
            is_awaited = len(address.resting) > 0 and not address.is_blocked
            if is_awaited != (address in self._due) or (address.is_exclusive and address.ready > 1):
                raise InvariantError("an address is due that should not be, or is never due")
