"""Batches between shards, on disk.

    outbox      receiver, number -> discoveries      until they are acknowledged
    numbers     `>` receiver -> the last number sent;  `<` sender -> the last number taken

A batch is offered only once it is committed: if this shard died after the other had taken it and before the commit, the
number would be given to another batch, which the other would take for one it knows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from periplus.model import Batch, Discovery

from .environment import Environment
from .rows import encode

_decode = msgspec.msgpack.Decoder(tuple[Discovery, ...]).decode


class DiskExchange:
    """`Exchange` of one shard, in two tables."""

    def __init__(self, environment: Environment, shard: int) -> None:
        self._shard = shard
        self._outbox = environment.table("outbox")
        self._numbers = environment.table("numbers")
        self._unsent = deque(key for key, _ in self._outbox.walk())
        self._uncommitted: list[bytes] = []

    def send(self, receiver: int, discoveries: Sequence[Discovery]) -> None:
        """Keep a batch for another shard."""
        number = self._number(b">", receiver) + 1
        self._set_number(b">", receiver, number)
        key = _key(receiver, number)
        self._outbox.put(key, encode(tuple(discoveries)))
        self._uncommitted.append(key)

    def unsent(self, limit: int) -> list[Batch]:
        """Batches not yet offered since this store was opened, in order; each is shown once, after its commit."""
        shown: list[Batch] = []
        while self._unsent and len(shown) < limit:
            key = self._unsent.popleft()
            row = self._outbox.get(key)
            if row is not None:
                receiver, number = int.from_bytes(key[:4], "big"), int.from_bytes(key[4:], "big")
                shown.append(Batch(self._shard, receiver, number, _decode(row)))
        return shown

    def offer_again(self, receiver: int) -> None:
        """The receiver began anew: show it once more all that it has not acknowledged."""
        prefix = receiver.to_bytes(4, "big")
        others = [key for key in self._unsent if not key.startswith(prefix)]
        waiting = set(self._uncommitted)
        mine = [key for key, _ in self._outbox.walk(prefix) if key not in waiting]
        self._unsent = deque([*others, *mine])

    def acknowledged(self, receiver: int, number: int) -> None:
        """The receiver has this batch and all before it."""
        for key, _ in self._outbox.walk(receiver.to_bytes(4, "big")):
            if key > _key(receiver, number):
                return
            self._outbox.delete(key)

    def is_new(self, batch: Batch) -> bool:
        """Whether this batch is the next one of its sender. Marks it as taken."""
        if batch.number != self.taken(batch.sender) + 1:
            return False
        self._set_number(b"<", batch.sender, batch.number)
        return True

    def taken(self, sender: int) -> int:
        """The number of the last batch taken from a shard."""
        return self._number(b"<", sender)

    @property
    def is_empty(self) -> bool:
        """Whether every batch was acknowledged."""
        return not len(self._outbox)

    def committed(self) -> None:
        """What was sent so far may be offered."""
        self._unsent.extend(self._uncommitted)
        self._uncommitted.clear()

    def _number(self, direction: bytes, shard: int) -> int:
        return int.from_bytes(self._numbers.get(direction + shard.to_bytes(4, "big")) or b"", "big")

    def _set_number(self, direction: bytes, shard: int, number: int) -> None:
        self._numbers.put(direction + shard.to_bytes(4, "big"), number.to_bytes(8, "big"))


def _key(receiver: int, number: int) -> bytes:
    return receiver.to_bytes(4, "big") + number.to_bytes(8, "big")
