"""The IP addresses that sites share: when each may next be requested, and which of its sites has waited longest.

Requests to one address begin at least `ip_delay` apart. With several shards, no request is sent to an address before
its share is known, the number of shards there (`claims`); each then waits that many times `ip_delay`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from periplus.model import AddressVisits, InvariantError, Rows

from .claims import key_of
from .heap import IndexedHeap

if TYPE_CHECKING:
    from .site import ActiveSite

_NO_ADDRESS = -1
"""The key of the place where sites rest whose address is not known, or does not matter."""


class Address:
    """The sites at one address: those that rest, by when each may be visited, and how many are ready.

    `pause` is the time between two requests in seconds, infinite while our share of the address is not known.
    """

    __slots__ = ("is_idle", "key", "next_at", "pause", "ready", "resting", "share")

    def __init__(self, key: int, share: int, pause: float, next_at: float = 0.0) -> None:
        self.key = key
        self.share = share
        self.is_idle = False
        self.pause = pause
        self.next_at = next_at if pause < math.inf else math.inf
        self.ready = 0
        self.resting: IndexedHeap[float, ActiveSite] = IndexedHeap()

    @property
    def is_exclusive(self) -> bool:
        """Whether only one of its sites may be ready at a time."""
        return self.key != _NO_ADDRESS

    def change_share(self, share: int, pause: float, now: float) -> None:
        """What is left of a pause grows or shrinks with it, so the shards together never exceed the rate."""
        left = max(self.next_at - now, 0.0) * pause / self.pause if self.pause < math.inf else 0.0
        self.share, self.next_at, self.pause = share, now + left, pause

    def row(self) -> AddressVisits:
        """The address as it is written."""
        return AddressVisits(self.key, self.next_at, self.share, self.is_idle)


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
            address.is_idle = row.is_idle

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
        """Set when the address is due: not while no site rests there, or one that is ready waits."""
        at = address.resting.first
        if at is None or (address.is_exclusive and address.ready):
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
            self._changed[address.key] = None
        return address

    def set_shares(self, shares: Mapping[int, int], now: float) -> None:
        """Among how many shards some of our addresses are divided from now on."""
        for key, share in shares.items():
            if (address := self._addresses.get(key)) is not None:
                address.change_share(share, self._pause(share), now)
                self._changed[key] = None
                self.file(address)

    def restart(self, now: float) -> None:
        """A new process: shares are void, and times too far ahead were written by a clock that ran fast."""
        for key, address in self._addresses.items():
            address.share, address.pause = self._first_share, self._pause(self._first_share)
            is_known = address.pause < math.inf
            address.next_at = min(address.next_at, now + self.longest_pause) if is_known else math.inf
            self._claimed.append(key)
            self._changed[key] = None
            self.file(address)

    def review(self, now: float) -> None:
        """Remove addresses without sites that are not resting; with several shards, when seen so twice."""
        for key, address in list(self._addresses.items()):
            if len(address.resting) or address.ready or address.next_at > now:
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

    def check_invariants(self, ready: int) -> None:
        """Every address is due exactly when one of its sites may be woken; `ready` sites are ready in all."""
        if ready != sum(address.ready for address in self):
            raise InvariantError(f"{ready} sites are ready, but not at their addresses")
        for address in self:
            is_awaited = len(address.resting) > 0 and not (address.is_exclusive and address.ready)
            if is_awaited != (address in self._due) or (address.is_exclusive and address.ready > 1):
                raise InvariantError("an address is due that should not be, or is never due")
