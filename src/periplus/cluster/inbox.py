"""What others bring to a shard, until its loop has time for it: bounded, so that who brings too much has to wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from msgspec import Struct

from periplus.model import Discovery

from .links import Delivery
from .words import Orders

ROOM = 256
"""So many batches may wait. With those that are read by now, that is all there is in memory of what others send."""


class News(Struct, frozen=True):
    """Somebody tells a shard of something. Numbers count up, so that what is told twice is heard once."""

    number: int
    discoveries: tuple[Discovery, ...]


Message = Delivery | Orders | News


class Inbox:
    """Filled by whoever calls, emptied by the loop. `epoch` is the life that takes things; 0: it has not begun."""

    def __init__(self, room: int = ROOM) -> None:
        self.epoch = 0
        self.wake: Callable[[], None] = _nobody
        self._room = room
        self._lock = Lock()
        self._messages: deque[Message] = deque()
        self._batches = 0

    def deliver(self, delivery: Delivery) -> int:
        """Take it, and say who has it; 0: not now. What was meant for an earlier life is not taken."""
        with self._lock:
            if self.epoch and delivery.epoch not in (0, self.epoch):
                return self.epoch
            if not self.epoch or (self._batches and self._batches + len(delivery.batches) > self._room):
                return 0
            self._batches += len(delivery.batches)
            self._messages.append(delivery)
        self.wake()
        return self.epoch

    def put(self, message: Orders | News) -> int:
        """Orders, or news. Who has it; 0: it has not begun."""
        if not self.epoch:
            return 0
        self._messages.append(message)
        self.wake()
        return self.epoch

    def take(self) -> Message | None:
        """The next message, if there is one."""
        with self._lock:
            message = self._messages.popleft() if self._messages else None
            if isinstance(message, Delivery):
                self._batches -= len(message.batches)
        return message


def _nobody() -> None:
    """There is nobody to wake."""
