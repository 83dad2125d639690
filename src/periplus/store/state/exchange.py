"""Batches between shards, on disk.

    outbox      receiver, number -> messages         until they are acknowledged
    numbers     `>` receiver -> the last number sent;  `<` sender -> the last number taken

A batch is offered only once it is committed: if this shard died after the other had taken it and before the commit, the
number would be given to another batch, which the other would take for one it knows.
"""

from __future__ import annotations

from periplus.model import Batch, Messages
from periplus.model.state import pack

from .environment import Environment


class DiskExchange:
    """`Exchange` of one shard, in two tables.

    Numbers have no gaps, so that two of them say what is to be offered to a receiver: the next, and the last that is
    committed.
    """

    def __init__(self, environment: Environment, shard: int) -> None:
        self._shard = shard
        self._outbox = environment.table("outbox")
        self._numbers = environment.table("numbers")
        self._sent = {_number(key[1:]): _number(row) for key, row in self._numbers.walk(b">")}
        self._committed = dict(self._sent)
        self._next = {receiver: self._first(receiver) for receiver in self._sent}

    def _first(self, receiver: int) -> int:
        """The first batch that is not acknowledged, or the one after the last."""
        row = self._outbox.at_or_after(_key(receiver, 0))
        is_kept = row is not None and _number(row[0][:4]) == receiver
        return _number(row[0][4:]) if row is not None and is_kept else self._sent[receiver] + 1

    def send(self, receiver: int, messages: Messages) -> None:
        """Keep a batch for another shard."""
        number = self._sent[receiver] = self.sent(receiver) + 1
        self._next.setdefault(receiver, number)
        self._set_number(b">", receiver, number)
        self._outbox.put(_key(receiver, number), pack(messages))

    def receivers(self) -> list[int]:
        """The shards with batches that were not offered since this store was opened."""
        return [receiver for receiver, last in self._committed.items() if self._next[receiver] <= last]

    def unsent(self, receiver: int, limit: int) -> list[Batch]:
        """The next batches for one receiver, in order; each is shown once, after its commit."""
        first = self._next.get(receiver, 1)
        numbers = range(first, min(first + limit, self._committed.get(receiver, 0) + 1))
        if not numbers:
            return []
        self._next[receiver] = numbers.stop
        rows = [(number, self._outbox.get(_key(receiver, number))) for number in numbers]
        return [Batch(self._shard, receiver, number, row) for number, row in rows if row is not None]

    def sent(self, receiver: int) -> int:
        """The number of the last batch stored for a shard."""
        return self._sent.get(receiver, 0)

    def acknowledged(self, receiver: int, number: int) -> None:
        """The receiver has this batch and all before it."""
        for key, _ in self._outbox.walk(receiver.to_bytes(4, "big")):
            if key > _key(receiver, number):
                break
            self._outbox.delete(key)
        if receiver in self._next:
            self._next[receiver] = max(self._next[receiver], min(number, self.sent(receiver)) + 1)

    def is_new(self, batch: Batch) -> bool:
        """Whether this batch is the next one of its sender. Marks it as taken."""
        if batch.number != self.taken(batch.sender) + 1:
            return False
        self._set_number(b"<", batch.sender, batch.number)
        return True

    def taken(self, sender: int) -> int:
        """The number of the last batch taken from a shard."""
        return _number(self._numbers.get(b"<" + sender.to_bytes(4, "big")) or b"")

    def __len__(self) -> int:
        """How many batches are not acknowledged."""
        return len(self._outbox)

    def committed(self) -> None:
        """What was sent so far may be offered."""
        self._committed = dict(self._sent)

    def _set_number(self, direction: bytes, shard: int, number: int) -> None:
        self._numbers.put(direction + shard.to_bytes(4, "big"), number.to_bytes(8, "big"))


def restart_exchange(environment: Environment, shard: int) -> None:
    """Start again with a shard that knows no batches: unacknowledged batches are numbered from 1."""
    outbox, numbers = environment.table("outbox"), environment.table("numbers")
    kept = 0
    for key, row in outbox.walk(shard.to_bytes(4, "big")):
        kept += 1
        outbox.delete(key)
        outbox.put(_key(shard, kept), row)
    for direction in (b">", b"<"):
        numbers.delete(direction + shard.to_bytes(4, "big"))
    if kept:
        numbers.put(b">" + shard.to_bytes(4, "big"), kept.to_bytes(8, "big"))


def _number(encoded: bytes) -> int:
    return int.from_bytes(encoded, "big")


def _key(receiver: int, number: int) -> bytes:
    return receiver.to_bytes(4, "big") + number.to_bytes(8, "big")
