"""Which shards have sites at an address, so that all of them together ask it no more often than one would.

The rule: at every moment, the sum of 1 / share over all shards that may ask at an address is 1 at most. A share is the
number of shards that are there, so that mostly it is 1 and nobody waits for anybody. Who comes to an address is counted
first. Then those who ask there already are told the new number, and only when all of them have confirmed it, the
newcomer is told, too. Who leaves has ceased to ask; the others hear the smaller number whenever they do. So whatever
anybody was told, heard or not, is no less than the number of those who may ask, and that is the rule.

Nothing of this has to be kept. A coordinator that comes back knows nothing, and says nothing before every shard has
told it everything (in a life that began under its eyes, or as a whole list): then it knows whose shares it inherits,
each of them no smaller than the number of all who have one.

Bounded: when there were `limit` addresses at a time none is counted anew, from then on, and those get a share of one in
as many as there are shards. What is inherited is as much as all shards have. Values of both sides, and the shard's
part, are in `presence`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from .presence import SAID_AT_ONCE, Presence, Shares

LIMIT = 1_000_000
"""Addresses that are counted: some 150 bytes each."""


class _Shard:
    """What one shard has said, and what it has still to hear: addresses, by the number of the message."""

    __slots__ = ("heard", "is_known", "number", "unheard")

    def __init__(self, *, is_known: bool) -> None:
        self.is_known = is_known
        self.heard = 0
        self.number = 0
        self.unheard: dict[int, int] = {}

    def tell(self, key: int) -> None:
        """There is something new to be said of an address: what, is looked up when it is said."""
        self.unheard.pop(key, None)
        self.number += 1
        self.unheard[key] = self.number


class Neighbours:
    """Counts who is where. `life` tells a coordinator from the one before it."""

    def __init__(self, shards: int, life: int = 0, limit: int = LIMIT, at_once: int = SAID_AT_ONCE) -> None:
        self._life = life
        self._limit = limit
        self._at_once = at_once
        self._shards = [_Shard(is_known=False) for _ in range(shards)]
        self._present: dict[int, int] = {}
        self._waiting: dict[int, int] = {}
        self._is_full = False
        self._is_open = False

    def __len__(self) -> int:
        return len(self._present)

    def begin(self, number: int) -> None:
        """A life of a shard begins, and the last has ended: nobody of it asks anywhere."""
        mask = 1 << number
        self._shards[number] = _Shard(is_known=True)
        for key in [key for key, present in self._present.items() if present & mask]:
            self._leave(number, key)
        self._open()

    def hear(self, number: int, said: Presence) -> Shares | None:
        """What a shard says of its addresses; what it is to be told. `None`: nothing that it does not know."""
        shard = self._shards[number]
        if said.life == self._life:
            self._confirm(shard, said.heard)
            self._take(number, shard, said)
        return self._answer(shard, said)

    def _take(self, number: int, shard: _Shard, said: Presence) -> None:
        if said.until > shard.heard:
            shard.heard = said.until
            for key in said.left:
                self._leave(number, key)
            for key in said.came:
                self._come(number, key)
            for key in said.kept:
                self._inherit(number, key)
        if said.is_all and not shard.is_known:
            shard.is_known = True
            self._open()

    def _answer(self, shard: _Shard, said: Presence) -> Shares | None:
        unheard = list(islice(shard.unheard.items(), self._at_once)) if self._is_open else []
        if not unheard and (said.life, said.after) == (self._life, shard.heard):
            return None
        number = unheard[-1][1] if unheard else said.heard if said.life == self._life else 0
        return Shares(self._life, number, shard.heard, tuple((key, self._count(key)) for key, _ in unheard))

    def _count(self, key: int) -> int:
        present = self._present.get(key)
        return len(self._shards) if present is None else present.bit_count()

    # who is where

    def _come(self, number: int, key: int) -> None:
        mask, shard = 1 << number, self._shards[number]
        present = self._present.get(key)
        if present is None and self._has_no_room():
            shard.tell(key)
        elif present is not None and present & mask:
            if not self._waiting.get(key, 0) & mask:
                shard.tell(key)  # it was away meanwhile, but counted
        else:
            self._waiting[key] = self._waiting.get(key, 0) | mask
            self._change(key, (present or 0) | mask)

    def _has_no_room(self) -> bool:
        """Not before all have said where they are: who is counted late asks there already."""
        self._is_full = self._is_full or (self._is_open and len(self._present) >= self._limit)
        return self._is_full

    def _inherit(self, number: int, key: int) -> None:
        """Whoever gave it the share is gone; the number may be another by now. No limit: it asks there already."""
        self._change(key, self._present.get(key, 0) | 1 << number)

    def _leave(self, number: int, key: int) -> None:
        self._shards[number].unheard.pop(key, None)
        present = self._present.get(key, 0)
        if not present & 1 << number:
            return
        if waiting := self._waiting.pop(key, 0) & ~(1 << number):
            self._waiting[key] = waiting
        self._change(key, present & ~(1 << number))

    def _change(self, key: int, present: int) -> None:
        """Tell those who ask there that they are more, or fewer; then those who wait, if all have heard it."""
        if not present:
            self._present.pop(key, None)
            return
        self._present[key] = present
        for number in _numbers(present & ~self._waiting.get(key, 0)):
            self._shards[number].tell(key)
        self._admit(key)

    # who has heard

    def _confirm(self, shard: _Shard, heard: int) -> None:
        confirmed = []
        for key, number in shard.unheard.items():
            if number > heard:
                break
            confirmed.append(key)
        for key in confirmed:
            del shard.unheard[key]
        self._admit_all(confirmed)

    def _open(self) -> None:
        """Once all have said where they are, whoever waits may be told something."""
        if not self._is_open and all(shard.is_known for shard in self._shards):
            self._is_open = True
            self._admit_all(list(self._waiting))

    def _admit_all(self, keys: Iterable[int]) -> None:
        for key in keys:
            self._admit(key)

    def _admit(self, key: int) -> None:
        """Let those ask who wait, if everybody who does already knows of them."""
        waiting = self._waiting.get(key, 0)
        if not waiting or not self._is_open:
            return
        asking = self._present[key] & ~waiting
        if not any(key in self._shards[number].unheard for number in _numbers(asking)):
            del self._waiting[key]
            for number in _numbers(waiting):
                self._shards[number].tell(key)


def _numbers(mask: int) -> Iterator[int]:
    """The bits that are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
