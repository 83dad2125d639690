"""Pages that wait with their hosts, by level of worth, and which host may be visited next.

A host has two lanes, for pages that were visited before and for new ones, of sixteen levels each. Hosts that may be
visited stand in queues by the best level they have; those that rest are in a heap by when their rest ends. Everything
but that heap is O(1): a bit for each level that is not empty says where to look.
"""

from __future__ import annotations

import heapq
from array import array

import numpy as np
from numpy.typing import NDArray

from ...model import InvariantError
from .chains import NONE, Chains

Ints = NDArray[np.int64]

LEVELS = 16
LANES = 2
REFRESH, NEW = 0, 1


class HostLevels:
    """Pages and hosts are numbers; a seat is a lane of a host."""

    def __init__(self) -> None:
        self._pages, self._seats = Chains(), Chains()
        self._seats.grow(0, LANES * LEVELS)
        self._host, self._bits, self._rests_until = array("i"), array("H"), array("d")
        self._resting: list[tuple[float, int]] = []
        self._ready = [0] * LANES

    def add_host(self) -> int:
        """A host, ready to be visited: its number."""
        host = len(self._rests_until)
        self._rests_until.append(0.0)
        self._bits.extend([0] * LANES)
        self._seats.grow(LANES * (host + 1), 0)
        self._pages.grow(0, LANES * LEVELS * (host + 1))
        return host

    def add_page(self, host: int) -> None:
        """A page, by the next number; it waits nowhere."""
        self._host.append(host)
        self._pages.grow(len(self._host), 0)

    def host_of(self, page: int) -> int:
        """The host of a page."""
        return self._host[page]

    # pages

    def push(self, page: int, lane: int, level: int) -> None:
        """Let a page that waits nowhere wait with its host."""
        seat = self._host[page] * LANES + lane
        self._pages.append(seat * LEVELS + level, page)
        bits = self._bits[seat]
        if not bits >> level & 1:
            self._bits[seat] = bits | 1 << level
            if level >= bits.bit_length():
                self._seat(seat)

    def remove(self, page: int) -> None:
        """Let it wait nowhere."""
        chain = self._pages.remove(page)
        if chain >= 0 and self._pages.first(chain) < 0:
            seat, level = divmod(chain, LEVELS)
            self._bits[seat] &= ~(1 << level) & 0xFFFF
            self._seat(seat)

    def level(self, page: int) -> int:
        """Where it waits; `NONE`: nowhere."""
        chain = self._pages.where(page)
        return chain % LEVELS if chain >= 0 else NONE

    def rebuild(self, pages: Ints, lanes: Ints, levels: Ints) -> None:
        """Let these wait, and nobody else: all at once."""
        seat = np.array(self._host, np.int64)[pages] * LANES + lanes
        self._pages.rebuild(pages, seat * LEVELS + levels)
        bits = np.zeros(len(self._bits), np.int64)
        np.bitwise_or.at(bits, seat, 1 << levels)
        self._bits = array("H", bits.tolist())
        for each in range(len(self._bits)):
            self._seat(each)

    # hosts

    def rest(self, host: int, until: float) -> None:
        """Leave a host alone until then."""
        self._rests_until[host] = until
        heapq.heappush(self._resting, (until, host))
        for lane in range(LANES):
            self._seat(host * LANES + lane)

    def rested(self, now: float) -> None:
        """Let those stand ready whose rest has ended."""
        while self._resting and self._resting[0][0] <= now:
            until, host = heapq.heappop(self._resting)
            if until >= self._rests_until[host]:
                self._rests_until[host] = 0.0
                for lane in range(LANES):
                    self._seat(host * LANES + lane)

    def is_ready(self, host: int) -> bool:
        """Whether it may be visited."""
        return not self._rests_until[host]

    def best(self, lane: int) -> int:
        """The best level of a lane at any host that may be visited; `NONE`: nothing waits there."""
        return self._ready[lane].bit_length() - 1

    def heads(self, lane: int, limit: int) -> list[int]:
        """The first pages of that level, at the first of these hosts."""
        seat = self._seats.first(lane * LEVELS + self.best(lane))
        page = self._pages.first(seat * LEVELS + self._bits[seat].bit_length() - 1)
        found = [page]
        while len(found) < limit:
            page = self._pages.after(page)
            if page < 0:
                break
            found.append(page)
        return found

    def _seat(self, seat: int) -> None:
        """Let a host stand where its best page puts it, if it may be visited."""
        chain = self._seats.remove(seat)
        if chain >= 0 and self._seats.first(chain) < 0:
            self._ready[chain // LEVELS] &= ~(1 << chain % LEVELS)
        if self._bits[seat] and not self._rests_until[seat // LANES]:
            lane, top = seat % LANES, self._bits[seat].bit_length() - 1
            self._seats.append(lane * LEVELS + top, seat)
            self._ready[lane] |= 1 << top

    def check_invariants(self) -> None:
        """Bits say which levels have pages, and every host stands where its best page puts it."""
        self._pages.check_invariants()
        self._seats.check_invariants()
        for seat, bits in enumerate(self._bits):
            found = sum(1 << level for level in range(LEVELS) if self._pages.first(seat * LEVELS + level) >= 0)
            if bits != found:
                raise InvariantError(f"seat {seat} has levels {found:b}, not {bits:b}")
            is_ready = bool(bits) and not self._rests_until[seat // LANES]
            wanted = seat % LANES * LEVELS + bits.bit_length() - 1 if is_ready else NONE
            if self._seats.where(seat) != wanted:
                raise InvariantError(f"seat {seat} stands in {self._seats.where(seat)}, not in {wanted}")
        for lane, bits in enumerate(self._ready):
            found = sum(1 << level for level in range(LEVELS) if self._seats.first(lane * LEVELS + level) >= 0)
            if bits != found:
                raise InvariantError(f"hosts are ready at levels {found:b}, not {bits:b}")
