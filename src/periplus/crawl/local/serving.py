"""The life of a shard in a process of its own: hear, take a turn, say what there is to say.

It ends when it is told to, and when nobody is there any more to tell it. Signals that people send to a whole group of
processes (Ctrl-C, a service that is stopped) are for the coordinator, who will tell us.
"""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread

from periplus.model import PeriplusError

from ..frontier import Shares
from ..shard import Parcel, Shard
from .messages import STATUS_EVERY, Afford, Allow, Broken, Stop, Stopped, Told, Widen

MakeShard = Callable[[int, int], Shard]
"""Makes shard `number` of `count`. It crosses to another process, so it must be a value that can be pickled."""

GROUP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ORPHANS_GRACE = 1.0
"""Who was left alone ends soon: the next crawl may be waiting for the collection."""


def serve(make: MakeShard, number: int, count: int, connection: Connection) -> None:
    """All of it."""
    for each in GROUP_SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, GROUP_SIGNALS)
    inbox = _Inbox(connection)
    collect_less()
    try:
        shard = make(number, count)
    except PeriplusError as error:
        _say_broken(connection, error)
        return
    try:
        inbox.wake = shard.wake
        shard.stop(_work(shard, connection, inbox))
        with suppress(OSError):
            connection.send(Stopped(shard.status()))
    except PeriplusError as error:
        _say_broken(connection, error)
    finally:
        inbox.wake = _nobody
        shard.close()
        connection.close()


def collect_less() -> None:
    """Look for cycles of garbage seldom: a crawl makes values by the million and hardly any cycle.

    For whoever owns the process. The usual pace costs a twentieth of the time.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


def _say_broken(connection: Connection, error: PeriplusError) -> None:
    with suppress(OSError):
        connection.send(Broken(str(error), error.hint, error.exit_code))


def _nobody() -> None:
    """There is nobody to wake."""


class _Inbox:
    """Always ready to hear, so that two who speak at the same time do not wait for each other for ever."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._messages: SimpleQueue[object] = SimpleQueue()
        self.wake: Callable[[], None] = _nobody
        Thread(target=self._listen, daemon=True).start()

    def take(self) -> object | None:
        """The next message, if there is one."""
        return None if self._messages.empty() else self._messages.get()

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._messages.put(self._connection.recv())
                self.wake()
        self._messages.put(Stop(_ORPHANS_GRACE))
        self.wake()


def _work(shard: Shard, connection: Connection, inbox: _Inbox) -> float:
    """Take turns until told to stop, or until nobody is there to tell; gives how long stopping may take."""
    told_at, heard = 0.0, 0
    shard.allow(0)  # until we are told how many
    while True:
        while (message := inbox.take()) is not None:
            heard += 1
            if isinstance(message, Stop):
                return message.grace
            obey(shard, message)
        shard.step(STATUS_EVERY)
        try:
            if parcel := shard.collect():
                connection.send(parcel)
            if time.monotonic() >= told_at + STATUS_EVERY:
                told_at = time.monotonic()
                connection.send(Told(shard.status(), heard))
        except OSError:
            return _ORPHANS_GRACE


def obey(shard: Shard, message: object) -> None:
    """Do what the coordinator says."""
    match message:
        case Parcel(batches=batches, receipts=receipts):
            shard.receive(batches)
            shard.acknowledged(receipts)
        case Allow(pages=pages):
            shard.allow(pages)
        case Afford(visits_a_day=visits_a_day):
            shard.afford(visits_a_day)
        case Shares():
            shard.share(message)
        case Widen(places=places):
            shard.widen(places)
        case tuple() as seeds:
            shard.discover(seeds)
        case _:
            raise AssertionError(message)
