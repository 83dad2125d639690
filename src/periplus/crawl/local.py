"""Shards as processes of this machine: one for each core, and this one, which brings batches from one to another.

A shard that dies is started again and goes on from its last commit; batches that it had not acknowledged are brought
again. Pages never travel, only discoveries and numbers. With one shard there is no other process: it runs right here.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from threading import Thread

from msgspec import Struct

from periplus.model import Batch, CollectionError, Discovery, PeriplusError, Url
from periplus.urls import site_of

from .placement import owner_of
from .shard import Parcel, Shard, Status

MakeShard = Callable[[int, int], Shard]
"""Makes shard `number` of `count`. It crosses to another process, so it must be a value that can be pickled."""

_STATUS_EVERY = 0.25
_GRACE = 10.0
"""What is under way may take so long to end when everything is to stop."""
_PORTION = 1000
"""So many of the pages that may be fetched are handed out at a time."""
_MAX_DEATHS = 5
"""A shard that dies so often without getting anywhere is not started again."""


class Allow(Struct, frozen=True):
    """So many pages may be fetched in all."""

    pages: int | None


class Widen(Struct, frozen=True):
    """Seeds have moved to these places."""

    places: tuple[Url, ...]


class Stop(Struct, frozen=True):
    """End what is under way, and yourself."""

    grace: float


class Told(Struct, frozen=True):
    """How a shard is doing after so many messages from us: what it says of itself before it has heard all is old."""

    status: Status
    heard: int


class Stopped(Struct, frozen=True):
    """Everything is durable; the last word of a shard."""

    status: Status


class Broken(Struct, frozen=True):
    """The shard cannot go on, and starting it again would not help."""

    message: str
    hint: str
    exit_code: int


class Crawl:
    """A crawl on this machine: `run` it, or step through `progress`.

    `limit` is how many pages may be fetched in all; `seconds` how long it may take. `stop` may be called by a signal
    handler; the crawl then ends what is under way and keeps everything.
    """

    def __init__(
        self,
        make: MakeShard,
        workers: int,
        *,
        seeds: Sequence[Discovery] = (),
        limit: int | None = None,
        seconds: float | None = None,
    ) -> None:
        self._make = make
        self._workers = workers
        self._seeds = list(seeds)
        self._limit = limit
        self._until = None if seconds is None else time.monotonic() + seconds
        self._wake: Callable[[], None] = lambda: None
        self.is_stopping = False
        self.is_interrupted = False

    def stop(self) -> None:
        """Let the crawl end soon, with everything kept."""
        self.is_stopping = self.is_interrupted = True
        self._wake()

    def run(self) -> list[Status]:
        """To the end; how every shard was doing then."""
        last: list[Status] = []
        for statuses in self.progress():
            last = statuses
        return last

    def progress(self) -> Iterator[list[Status]]:
        """How it is going, several times a second, until it is over."""
        return self._alone() if self._workers == 1 else self._together()

    @property
    def _is_over(self) -> bool:
        return self.is_stopping or (self._until is not None and time.monotonic() >= self._until)

    def _alone(self) -> Iterator[list[Status]]:
        shard = self._make(0, 1)
        self._wake = shard.wake
        try:
            shard.allow(self._limit)
            shard.discover(self._seeds)
            shown_at = 0.0
            while not self._is_over and not shard.is_idle:
                shard.step(_STATUS_EVERY)
                if time.monotonic() >= shown_at + _STATUS_EVERY:
                    shown_at = time.monotonic()
                    yield [shard.status()]
            shard.stop(_GRACE)
            yield [shard.status()]
        finally:
            self._wake = lambda: None
            shard.close()

    def _together(self) -> Iterator[list[Status]]:
        team = _Team(self._make, self._workers, self._limit)
        try:
            team.start(self._seeds)
            while not self._is_over and not team.is_finished:
                team.turn(_STATUS_EVERY)
                yield team.statuses()
            team.stop(_GRACE)
            yield team.statuses()
        finally:
            team.close()


class _Member:
    """One shard in its process, as seen from here. `unacknowledged` is brought again if it has to be started again."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.process: BaseProcess | None = None
        self.connection: Connection | None = None
        self.status: Status | None = None
        self.unacknowledged: list[Batch] = []
        self.deaths = 0
        self.widened: tuple[Url, ...] = ()
        self.is_stopped = False
        self.sent = self.heard = 0
        self.granted = 0

    @property
    def done(self) -> int:
        """Pages fetched."""
        return 0 if self.status is None else self.status.census.done

    @property
    def has_nothing_to_do(self) -> bool:
        """Nothing waits there, nothing is under way, and nothing that we said is still to be heard."""
        status = self.status
        return status is not None and status.is_idle and not status.census.queued and self.heard == self.sent

    def send(self, message: object) -> None:
        """A process that is not there any more gets it when it is started again, or needs it no more."""
        self.sent += 1
        if self.connection is not None:
            with suppress(OSError):
                self.connection.send(message)


class _Team:
    """All shards, and the messages between them."""

    def __init__(self, make: MakeShard, workers: int, limit: int | None) -> None:
        self._make = make
        self._context = multiprocessing.get_context("spawn")
        self._members = [_Member(number) for number in range(workers)]
        self._limit = limit
        self._seeds: list[Discovery] = []
        self._is_dealt = limit is None

    def start(self, seeds: Sequence[Discovery]) -> None:
        """Start every shard; each gets the seeds that are its own."""
        self._seeds = list(seeds)
        for member in self._members:
            self._start(member)

    def _start(self, member: _Member) -> None:
        here, there = self._context.Pipe()
        arguments = (self._make, member.number, len(self._members), there)
        member.process = self._context.Process(target=_serve, args=arguments, name=f"periplus-shard-{member.number}")
        member.process.start()
        there.close()
        member.connection, member.status, member.is_stopped = here, None, False
        member.sent = member.heard = 0
        own = [seed for seed in self._seeds if self._owner(seed) == member.number]
        member.send(Allow(None if self._limit is None else member.granted))
        member.send(tuple(own))
        member.send(Widen(member.widened))
        member.send(Parcel(tuple(member.unacknowledged)))

    def _owner(self, discovery: Discovery) -> int:
        return owner_of(site_of(discovery.url), len(self._members))

    def _deal(self) -> None:
        """Hand out the pages that may be fetched, some at a time, so that nobody takes more than there are.

        Who has nothing to do gives back what it did not use: it has heard all that we said, and work comes from us.
        """
        members = [member for member in self._members if member.status is not None]
        if self._limit is None or len(members) < len(self._members):
            return
        for member in members:
            done = member.done
            member.granted = max(member.granted, done)
            if member.has_nothing_to_do and member.granted > done:
                self._grant(member, done)
        left = self._limit - sum(member.granted for member in members)
        portion = max(1, min(_PORTION, self._limit // (4 * len(members))))
        for member in members:
            if left > 0 and not member.has_nothing_to_do and member.granted - member.done <= portion // 2:
                more = min(portion, left)
                left -= more
                self._grant(member, member.granted + more)
        self._is_dealt = left <= 0

    def _grant(self, member: _Member, pages: int) -> None:
        member.granted = pages
        member.send(Allow(pages))

    # turns

    def turn(self, patience: float) -> None:
        """Wait a little, and bring everything to where it belongs."""
        waiting = {member.connection: member for member in self._members if member.connection is not None}
        for connection in wait(list(waiting), patience):
            self._hear(waiting[connection])  # type: ignore[index]

    def _hear(self, member: _Member) -> None:
        try:
            while member.connection is not None and member.connection.poll(0):
                self._take(member, member.connection.recv())
        except (EOFError, OSError):
            self._lost(member)

    def _take(self, member: _Member, message: object) -> None:
        match message:
            case Parcel(batches=batches, receipts=receipts):
                self._bring(batches)
                self._confirm(member, receipts)
            case Told(status=status, heard=heard):
                member.heard = heard
                self._learn(member, status)
            case Stopped(status=status):
                member.status, member.is_stopped = status, True
            case Broken(message=said, hint=hint, exit_code=exit_code):
                error = CollectionError(said, hint=hint)
                error.exit_code = exit_code
                raise error
            case _:
                raise AssertionError(message)

    def _bring(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            receiver = self._members[batch.receiver]
            receiver.unacknowledged.append(batch)
            receiver.send(Parcel((batch,)))

    def _confirm(self, member: _Member, receipts: dict[int, int]) -> None:
        """`member` has batches for good: whoever sent them may forget them."""
        for sender, number in receipts.items():
            member.unacknowledged = [
                batch for batch in member.unacknowledged if batch.sender != sender or batch.number > number
            ]
            self._members[sender].send(Parcel(receipts={member.number: number}))

    def _learn(self, member: _Member, status: Status) -> None:
        before = member.status
        member.status = status
        if before is not None and status.census.done > before.census.done:
            member.deaths = 0
        for other in self._members:
            if other is not member and not set(status.moved) <= set(other.widened):
                other.widened = tuple({*other.widened, *status.moved})
                other.send(Widen(status.moved))
        self._deal()

    def _lost(self, member: _Member) -> None:
        """A shard died. It goes on from its last commit in a new process."""
        if member.connection is not None:
            member.connection.close()
            member.connection = None
        if member.process is not None:
            member.process.join(_GRACE)
        if member.is_stopped:
            return
        member.deaths += 1
        if member.deaths > _MAX_DEATHS:
            raise CollectionError(
                f"shard {member.number} died {member.deaths} times in a row",
                hint="The messages above say why; the same command continues once that is mended",
            )
        self._start(member)

    # the end

    @property
    def is_finished(self) -> bool:
        """Every shard is idle, and no batch is on its way; or all that may be fetched was."""
        if self._limit is not None and sum(member.done for member in self._members) >= self._limit:
            return True
        statuses = [member.status for member in self._members]
        under_way = any(member.unacknowledged or member.heard != member.sent for member in self._members)
        is_allowed_more = not self._is_dealt and not all(member.has_nothing_to_do for member in self._members)
        return not under_way and not is_allowed_more and _is_finished(statuses)

    def statuses(self) -> list[Status]:
        """The last word of each."""
        return [member.status for member in self._members if member.status is not None]

    def stop(self, grace: float) -> None:
        """Let every shard end what is under way and make everything durable."""
        for member in self._members:
            member.send(Stop(grace))
        until = time.monotonic() + 6 * grace
        while time.monotonic() < until and not all(member.is_stopped for member in self._members):
            self.turn(_STATUS_EVERY)

    def close(self) -> None:
        """Let go of the processes; one that does not end by itself is ended."""
        for member in self._members:
            if member.connection is not None:
                member.connection.close()
        for member in self._members:
            if member.process is not None:
                member.process.join(_GRACE)
                if member.process.is_alive():
                    member.process.kill()
                    member.process.join()


def _is_finished(statuses: Sequence[Status | None]) -> bool:
    return all(status is not None and status.is_idle and status.is_quiet for status in statuses)


# the other process


def _serve(make: MakeShard, number: int, count: int, connection: Connection) -> None:
    """The life of a shard in its own process. Ctrl-C is for the one who started it, who will tell us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        shard = make(number, count)
    except PeriplusError as error:
        connection.send(Broken(str(error), error.hint, error.exit_code))
        return
    try:
        grace = _work(shard, connection)
        shard.stop(grace)
        with suppress(OSError):
            connection.send(Stopped(shard.status()))
    except PeriplusError as error:
        with suppress(OSError):
            connection.send(Broken(str(error), error.hint, error.exit_code))
    finally:
        shard.close()
        connection.close()


def _work(shard: Shard, connection: Connection) -> float:
    """Take turns until told to stop, or until nobody is there to tell; gives how long stopping may take."""
    inbox: SimpleQueue[object] = SimpleQueue()
    Thread(target=_listen, args=(connection, inbox, shard.wake), daemon=True).start()
    told_at, heard = 0.0, 0
    while True:
        while not inbox.empty():
            heard += 1
            grace = _obey(shard, inbox.get())
            if grace is not None:
                return grace
        shard.step(_STATUS_EVERY)
        try:
            parcel = shard.collect()
            if parcel:
                connection.send(parcel)
            if time.monotonic() >= told_at + _STATUS_EVERY:
                told_at = time.monotonic()
                connection.send(Told(shard.status(), heard))
        except OSError:
            return _GRACE


def _listen(connection: Connection, inbox: SimpleQueue[object], wake: Callable[[], None]) -> None:
    """Always ready to hear, so that two who speak at the same time do not wait for each other for ever."""
    try:
        while True:
            inbox.put(connection.recv())
            wake()
    except (EOFError, OSError):
        inbox.put(Stop(_GRACE))
        wake()


def _obey(shard: Shard, message: object) -> float | None:
    match message:
        case Parcel(batches=batches, receipts=receipts):
            shard.receive(batches)
            shard.acknowledged(receipts)
        case Allow(pages=pages):
            shard.allow(pages)
        case Widen(places=places):
            shard.widen(places)
        case Stop(grace=grace):
            return grace
        case tuple() as seeds:
            shard.discover(seeds)
        case _:
            raise AssertionError(message)
    return None
