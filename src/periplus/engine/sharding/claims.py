"""Counts the shards at each address, so that all of them together send it no more requests than one shard would.

Invariant: at every moment, the sum of 1 / share over all shards that may send requests to an address is at most 1. A
share is the number of shards at the address, so that for most addresses it is 1 and nothing waits. A shard that comes
to an address is counted first; then the shards that are there are sent the new number; and when all of them have
confirmed it, the newcomer is sent it, too. A shard that leaves sends no more requests when it reports that; the others
may receive the smaller number at any time. So every number that was ever sent, received or not, is at least the number
of shards that may send requests.

Nothing of this is stored. A coordinator that replaces a dead one sends no shares before every shard has reported all
its claims to it (or was started under it, with none). By then it knows which shares it inherits, and each of them is at
least the number of shards that have one.

Memory is bounded: once `limit` addresses were counted at a time, no new address is counted, and a shard at an uncounted
address gets a share of one in as many as there are shards. The messages, and the shard's side, are in
`engine.frontier.addresses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ..frontier import AddressShares, ClaimsReport
from ..frontier.addresses import MAX_ADDRESSES_PER_MESSAGE

MAX_COUNTED_ADDRESSES = 1_000_000
"""Maximum number of addresses counted: about 150 bytes each, so 150 MB."""


class _ShardClaims:
    """The claims of one shard, and the addresses it has not confirmed a share of, by message number."""

    __slots__ = ("is_complete", "number", "received", "unconfirmed")

    def __init__(self, *, is_complete: bool) -> None:
        self.is_complete = is_complete
        self.received = 0
        self.number = 0
        self.unconfirmed: dict[int, int] = {}

    def notify(self, key: int) -> None:
        """Send the share of an address with the next message; which one is looked up then."""
        self.unconfirmed.pop(key, None)
        self.number += 1
        self.unconfirmed[key] = self.number


class ClaimRegistry:
    """The address claims of all shards. `coordinator` is an id that no other coordinator of this crawl has."""

    def __init__(
        self,
        shards: int,
        coordinator: int = 0,
        limit: int = MAX_COUNTED_ADDRESSES,
        per_message: int = MAX_ADDRESSES_PER_MESSAGE,
    ) -> None:
        self._coordinator = coordinator
        self._limit = limit
        self._per_message = per_message
        self._shards = [_ShardClaims(is_complete=False) for _ in range(shards)]
        self._present: dict[int, int] = {}
        self._waiting: dict[int, int] = {}
        self._is_full = False
        self._is_open = False

    def __len__(self) -> int:
        return len(self._present)

    def reset(self, number: int) -> None:
        """Drop the claims of a shard whose worker has ended and sends no more requests; the next one starts without."""
        mask = 1 << number
        self._shards[number] = _ShardClaims(is_complete=True)
        for key in [key for key, present in self._present.items() if present & mask]:
            self._leave(number, key)
        self._open()

    def receive(self, number: int, report: ClaimsReport) -> AddressShares | None:
        """Apply a shard's report and return the answer; `None`: nothing that it does not have."""
        shard = self._shards[number]
        if report.coordinator == self._coordinator:
            self._confirm(shard, report.received)
            self._apply(number, shard, report)
        return self._answer(shard, report)

    def _apply(self, number: int, shard: _ShardClaims, report: ClaimsReport) -> None:
        if report.until > shard.received:
            shard.received = report.until
            for key in report.released:
                self._leave(number, key)
            for key in report.requested:
                self._enter(number, key)
            for key in report.held:
                self._inherit(number, key)
        if report.is_complete and not shard.is_complete:
            shard.is_complete = True
            self._open()

    def _answer(self, shard: _ShardClaims, report: ClaimsReport) -> AddressShares | None:
        sent = list(islice(shard.unconfirmed.items(), self._per_message)) if self._is_open else []
        is_known = report.coordinator == self._coordinator
        if not sent and is_known and report.after == shard.received:
            return None
        number = sent[-1][1] if sent else report.received if is_known else 0
        return AddressShares(
            self._coordinator, number, shard.received, tuple((key, self._count(key)) for key, _ in sent)
        )

    def _count(self, key: int) -> int:
        present = self._present.get(key)
        return len(self._shards) if present is None else present.bit_count()

    # which shards are at an address, and which of them wait for a share: bit masks of shard numbers

    def _enter(self, number: int, key: int) -> None:
        mask, shard = 1 << number, self._shards[number]
        present = self._present.get(key)
        if present is None and self._has_no_room():
            shard.notify(key)
        elif present is not None and present & mask:
            if not self._waiting.get(key, 0) & mask:
                shard.notify(key)  # it left and came back between two reports, and was counted all the time
        else:
            self._waiting[key] = self._waiting.get(key, 0) | mask
            self._change(key, (present or 0) | mask)

    def _has_no_room(self) -> bool:
        """Not before all shards have reported: those that are counted later send requests already."""
        self._is_full = self._is_full or (self._is_open and len(self._present) >= self._limit)
        return self._is_full

    def _inherit(self, number: int, key: int) -> None:
        """Count a share that another coordinator granted, beyond the limit, too: the shard sends requests already."""
        self._change(key, self._present.get(key, 0) | 1 << number)

    def _leave(self, number: int, key: int) -> None:
        self._shards[number].unconfirmed.pop(key, None)
        present = self._present.get(key, 0)
        if not present & 1 << number:
            return
        if waiting := self._waiting.pop(key, 0) & ~(1 << number):
            self._waiting[key] = waiting
        self._change(key, present & ~(1 << number))

    def _change(self, key: int, present: int) -> None:
        """Notify the shards that have a share; then admit those that wait, if all have confirmed."""
        if not present:
            self._present.pop(key, None)
            return
        self._present[key] = present
        for number in _bits(present & ~self._waiting.get(key, 0)):
            self._shards[number].notify(key)
        self._admit(key)

    def _confirm(self, shard: _ShardClaims, received: int) -> None:
        confirmed = []
        for key, number in shard.unconfirmed.items():
            if number > received:
                break
            confirmed.append(key)
        for key in confirmed:
            del shard.unconfirmed[key]
        self._admit_all(confirmed)

    def _open(self) -> None:
        """Once all shards have reported all their claims, shares are sent."""
        if not self._is_open and all(shard.is_complete for shard in self._shards):
            self._is_open = True
            self._admit_all(list(self._waiting))

    def _admit_all(self, keys: Iterable[int]) -> None:
        for key in keys:
            self._admit(key)

    def _admit(self, key: int) -> None:
        """Grant a share to the shards that wait, if all that have one have confirmed the new number."""
        waiting = self._waiting.get(key, 0)
        if not waiting or not self._is_open:
            return
        granted = self._present[key] & ~waiting
        if not any(key in self._shards[number].unconfirmed for number in _bits(granted)):
            del self._waiting[key]
            for number in _bits(waiting):
                self._shards[number].notify(key)


def _bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
