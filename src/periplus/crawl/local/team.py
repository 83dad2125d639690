"""All shards in their processes, and what is between them: messages, what may be fetched, births and deaths.

The end is seen from the outside. A shard says how it is doing, and how many of our messages it had heard by then; all
is done when every one is idle and quiet after everything that we said, and no batch is on its way. A batch counts as on
its way from when its sender gives it to us until its receiver has made it durable, and the sender is not quiet before
it knows that. So there is no moment in which a discovery is nobody's.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from periplus.model import Batch, CollectionError, Discovery, Url
from periplus.policy.refresh import Market
from periplus.urls import site_of

from ..allowance import Deal
from ..frontier import Neighbours
from ..placement import owner_of
from ..shard import Parcel, Status
from .messages import GRACE, STATUS_EVERY, Afford, Allow, Broken, Stop, Stopped, Told, Widen
from .serving import GROUP_SIGNALS, MakeShard, serve

MAX_DEATHS = 5
"""A shard that dies so often without getting anywhere is not started again."""


class Member:
    """One shard in its process, as seen from here. `unacknowledged` is brought again if it has to be started again."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.process: BaseProcess | None = None
        self.connection: Connection | None = None
        self.status: Status | None = None
        self.unacknowledged: list[Batch] = []
        self.deaths = 0
        self.is_stopped = False
        self.sent = self.heard = 0

    @property
    def done(self) -> int:
        """Pages fetched."""
        return 0 if self.status is None else self.status.census.done

    @property
    def has_heard_all(self) -> bool:
        """Whether what it said of itself is what it thinks of all that we said."""
        return self.status is not None and self.heard == self.sent

    @property
    def wants_more(self) -> bool:
        """Whether something waited there or was under way when it last spoke."""
        return self.status is not None and self.status.wants_more

    @property
    def has_nothing_to_do(self) -> bool:
        """Nothing waits there, nothing is under way, and nothing that we said is still to be heard."""
        return self.has_heard_all and not self.wants_more

    def send(self, message: object) -> None:
        """A process that is not there any more gets it when it is started again, or needs it no more."""
        self.sent += 1
        if self.connection is not None:
            with suppress(OSError):
                self.connection.send(message)

    def let_go(self) -> None:
        """Close the connection and wait for the process, which then ends by itself, or is ended."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None
        if self.process is not None:
            self.process.join(GRACE)
            if self.process.is_alive():
                self.process.kill()
            self.process.join()
            self.process = None


class Team:
    """All shards, and the messages between them."""

    def __init__(self, make: MakeShard, workers: int, limit: int | None) -> None:
        self._make = make
        self._context = multiprocessing.get_context("spawn")
        self._members = [Member(number) for number in range(workers)]
        self._deal = None if limit is None else Deal(limit, workers)
        self._market = Market(workers)
        self._neighbours = Neighbours(workers)
        self._seeds: list[Discovery] = []
        self._moved: dict[Url, None] = {}
        self._stopping: Stop | None = None

    # birth and death

    def start(self, seeds: Sequence[Discovery]) -> None:
        """Start every shard; each gets the seeds that are its own."""
        self._seeds = list(seeds)
        resource_tracker.ensure_running()  # it unblocks the signals that `_born` blocks
        for member in self._members:
            self._start(member)

    def tell(self, discoveries: Sequence[Discovery]) -> None:
        """Let each shard know of what is its own; one that is started again is told again."""
        self._seeds += discoveries
        for member in self._members:
            member.send(tuple(each for each in discoveries if self._owner(each) == member.number))

    def _start(self, member: Member) -> None:
        member.connection, member.process = self._born(member.number)
        member.status, member.is_stopped = None, False
        member.sent = member.heard = 0
        self._neighbours.begin(member.number)
        if self._market.granted:  # before it may do anything
            member.send(Afford(self._market.granted[member.number]))
        member.send(Allow(None if self._deal is None else self._deal.granted[member.number]))
        member.send(Widen(tuple(self._moved)))
        member.send(tuple(seed for seed in self._seeds if self._owner(seed) == member.number))
        member.send(Parcel(tuple(member.unacknowledged)))
        if self._stopping is not None:
            member.send(self._stopping)

    def _born(self, number: int) -> tuple[Connection, BaseProcess]:
        """A process begins with the signals of the group blocked, until it can say what it does about them."""
        here, there = self._context.Pipe()
        arguments = (self._make, number, len(self._members), there)
        process = self._context.Process(target=serve, args=arguments, name=f"periplus-shard-{number}")
        before = signal.pthread_sigmask(signal.SIG_BLOCK, GROUP_SIGNALS)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            there.close()
        return here, process

    def _owner(self, discovery: Discovery) -> int:
        return owner_of(site_of(discovery.url), len(self._members))

    def _lost(self, member: Member) -> None:
        """A shard died. It goes on from its last commit in a new process."""
        member.let_go()
        if member.is_stopped:
            return
        member.deaths += 1
        if member.deaths > MAX_DEATHS:
            raise CollectionError(
                f"shard {member.number} died {member.deaths} times in a row",
                hint="The messages above say why; the same command continues once that is mended",
            )
        self._start(member)

    # turns

    def turn(self, patience: float) -> None:
        """Wait a little, and bring everything to where it belongs."""
        waiting = {member.connection: member for member in self._members if member.connection is not None}
        for connection in wait(list(waiting), patience):
            self._hear(waiting[connection])  # type: ignore[index]

    def _hear(self, member: Member) -> None:
        try:
            while member.connection is not None and member.connection.poll(0):
                self._take(member, member.connection.recv())
        except (EOFError, OSError):
            self._lost(member)

    def _take(self, member: Member, message: object) -> None:
        match message:
            case Parcel(batches=batches, receipts=receipts, moved=moved):
                self._spread(member, moved)
                self._bring(batches)
                self._confirm(member, receipts)
            case Told(status=status, heard=heard):
                self._learn(member, status, heard)
            case Stopped(status=status):
                member.status, member.is_stopped = status, True
            case Broken(message=said, hint=hint, exit_code=exit_code):
                error = CollectionError(said, hint=hint)
                error.exit_code = exit_code
                raise error
            case _:
                raise AssertionError(message)

    def _spread(self, member: Member, moved: Sequence[Url]) -> None:
        """Let the others know where seeds have moved to."""
        news = tuple(place for place in moved if place not in self._moved)
        self._moved.update(dict.fromkeys(news))
        for other in self._members:
            if news and other is not member:
                other.send(Widen(news))

    def _bring(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            receiver = self._members[batch.receiver]
            receiver.unacknowledged.append(batch)
            receiver.send(Parcel((batch,)))

    def _confirm(self, member: Member, receipts: dict[int, int]) -> None:
        """`member` has batches for good: whoever sent them may forget them."""
        for sender, number in receipts.items():
            member.unacknowledged = [
                batch for batch in member.unacknowledged if batch.sender != sender or batch.number > number
            ]
            self._members[sender].send(Parcel(receipts={member.number: number}))

    def _learn(self, member: Member, status: Status, heard: int) -> None:
        before = member.status
        member.status, member.heard = status, heard
        if before is not None and status.census.done > before.census.done:
            member.deaths = 0
        if status.presence is not None and (shares := self._neighbours.hear(member.number, status.presence)):
            member.send(shares)
        if self._deal is not None and all(each.status is not None for each in self._members):
            for number, pages in self._deal.turn(self._members):
                self._members[number].send(Allow(pages))
        bids = [None if each.status is None else each.status.bid for each in self._members]
        for number, visits_a_day in self._market.turn(bids):
            self._members[number].send(Afford(visits_a_day))

    # the end

    @property
    def is_finished(self) -> bool:
        """Every shard is idle, and no batch is on its way; or all that may be fetched was."""
        if self._deal is not None and (is_over := self._deal.is_over(self._members)) is not None:
            return is_over
        return all(_is_at_rest(member) for member in self._members)

    def statuses(self) -> list[Status]:
        """The last word of each."""
        return [member.status for member in self._members if member.status is not None]

    def stop(self, grace: float) -> None:
        """Let every shard end what is under way and make everything durable; one that dies meanwhile, too."""
        self._stopping = Stop(grace)
        for member in self._members:
            member.send(self._stopping)
        until = time.monotonic() + 6 * grace
        while time.monotonic() < until and not all(member.is_stopped for member in self._members):
            self.turn(STATUS_EVERY)

    def close(self) -> None:
        """Let go of the processes."""
        for member in self._members:
            if member.connection is not None:
                member.connection.close()
        for member in self._members:
            member.let_go()


def _is_at_rest(member: Member) -> bool:
    status = member.status
    return (
        status is not None and status.is_idle and status.is_quiet and member.has_heard_all and not member.unacknowledged
    )
