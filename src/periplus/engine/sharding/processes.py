"""Shards as processes of this machine: the transport over pipes.

This process starts a worker process for each shard, carries batches from one to the other, and asks the `Coordinator`
for orders. A worker that dies is started again and continues from its last commit; batches that it had not committed
are sent again. Pages never travel, only discoveries and numbers. When this process dies, its workers see the pipe
close, commit everything, and end.

Workers are forks of a server process that imports what they need once, when the first one starts: a worker then starts
in a hundredth of a second instead of one, and the workers share the memory of what was imported. The server ends with
this process and the workers. It has the environment, stdout and stderr that this process had when it was started.

Signals that are sent to a whole process group (Ctrl-C, a service that is stopped) are handled by this process only,
which sends the workers an order to stop.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from threading import Thread

from msgspec.structs import replace

from periplus.model import Batch, Discovery, Url

from ..part import MakeMarket
from ..shard import Controls, MakeShard, ShardOutput, ShardQuestion, ShardStatus
from .coordinator import Coordinator
from .messages import (
    GRACE,
    STATUS_INTERVAL,
    Announcements,
    Asked,
    Delivery,
    Orders,
    Posted,
    Received,
    Reply,
    ShardFailure,
    ShardStopped,
    StatusReport,
    StopShard,
    by_owner,
)
from .worker import no_wake, run_shard, tune_garbage_collection

GROUP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
ORPHAN_GRACE = 1.0
"""Seconds for requests under way when the parent process has died: the next crawl may already wait for the state."""


# in the worker


def serve(make: MakeShard, number: int, count: int, seeds: Sequence[Discovery], connection: Connection) -> None:
    """Run a shard in this process until it is stopped, or its parent is gone."""
    for each in GROUP_SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, GROUP_SIGNALS)
    tune_garbage_collection()
    pipe = WorkerPipe(connection)
    run_shard(lambda: make(number, count), seeds, pipe, pipe.post)
    connection.close()


class WorkerPipe:
    """The worker's end of the pipe. A thread always reads, so that two ends that both write do not block forever."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._messages: SimpleQueue[Received] = SimpleQueue()
        self.wake: Callable[[], None] = no_wake
        Thread(target=self._read, daemon=True).start()

    def take(self) -> Received | None:
        """The next message, if there is one."""
        return None if self._messages.empty() else self._messages.get()

    def post(self, message: Posted) -> None:
        """Send to the parent process; without one the worker stops."""
        try:
            self._connection.send(message)
        except OSError:
            self._messages.put(StopShard(ORPHAN_GRACE))

    def _read(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._messages.put(self._connection.recv())
                self.wake()
        self._messages.put(StopShard(ORPHAN_GRACE))
        self.wake()


# in the process that runs the crawl


class WorkerProcess:
    """A shard's worker process. `unacknowledged`, by sender and number, is sent again if it is started again."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.process: BaseProcess | None = None
        self.connection: Connection | None = None
        self.unacknowledged: dict[tuple[int, int], Batch] = {}
        self.is_stopped = False
        self._orders: Orders | None = None

    def begin(self, connection: Connection, process: BaseProcess) -> None:
        """Attach another process that runs the shard now."""
        self.connection, self.process = connection, process
        self.is_stopped, self._orders = False, None

    def send(self, message: Received) -> None:
        """Send, unless the process is gone: missed messages are sent again when it is restarted."""
        if self.connection is not None:
            with suppress(OSError):
                self.connection.send(message)

    def send_orders(self, orders: Orders) -> None:
        """Send orders that the worker does not have."""
        if orders != self._orders:
            self._orders = replace(orders, shares=None)
            self.send(orders)

    def deliver(self, delivery: Delivery) -> None:
        """Send what other shards have for this one, if there is something."""
        self.unacknowledged.update({(batch.sender, batch.number): batch for batch in delivery.batches})
        if delivery.places or delivery.batches or delivery.receipts:
            self.send(delivery)

    def committed(self, receipts: dict[int, int]) -> None:
        """Record that the shard has committed these batches and all before them: numbers by sender."""
        if receipts:
            waiting = self.unacknowledged.items()
            self.unacknowledged = {key: batch for key, batch in waiting if key[1] > receipts.get(key[0], 0)}

    def end(self) -> None:
        """Close the connection and wait for the process, which then ends by itself, or is killed after a grace."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None
        if self.process is not None:
            self.process.join(GRACE)
            if self.process.is_alive():
                self.process.kill()
            self.process.join()
            self.process = None


class ProcessTeam:
    """All shards of a crawl, each in a process, and the messages between them."""

    def __init__(self, make: MakeShard, workers: int, limit: int | None, make_market: MakeMarket | None = None) -> None:
        self._make = make
        self._context = multiprocessing.get_context("forkserver")
        self._workers = [WorkerProcess(number) for number in range(workers)]
        self._coordinator = Coordinator(
            workers, limit=limit, market=None if make_market is None else make_market(workers)
        )
        self._seeds = by_owner((), workers)
        self._announcements = Announcements(workers)
        self._places: dict[Url, None] = {}
        self._replies: list[Reply] = []
        self._stop: StopShard | None = None

    def start(self, seeds: Sequence[Discovery]) -> None:
        """Start every shard with the seeds of its own sites."""
        self._seeds = by_owner(seeds, len(self._workers))
        resource_tracker.ensure_running()  # it unblocks the signals that `_spawn` blocks
        for worker in self._workers:
            self._start(worker)

    def announce(self, discoveries: Sequence[Discovery]) -> int:
        """Send each to the shard that has its site; a shard that is started again gets it again."""
        for number, announcement in self._announcements.add(discoveries):
            self._workers[number].send(announcement)
        return self._announcements.last

    def has_kept(self, number: int) -> bool:
        """Whether every shard has committed this announcement and all before it."""
        return self._announcements.are_kept_to(number)

    def extend_scope(self, places: Sequence[Url]) -> None:
        """Take these places into the scope of every shard, also of one that is started again."""
        self._places.update(dict.fromkeys(places))
        for worker in self._workers:
            worker.deliver(Delivery(tuple(places)))

    def control(self, controls: Controls) -> None:
        """Send these controls to every shard."""
        self._coordinator.control(controls)
        for worker in self._workers:
            worker.send_orders(self._coordinator.orders(worker.number))

    @property
    def follows_controls(self) -> bool:
        """Whether every shard follows the last controls."""
        return self._coordinator.are_orders_followed

    def ask(self, number: int, question: ShardQuestion) -> int:
        """Send a question to all shards; how many will answer."""
        for worker in self._workers:
            worker.send(Asked(number, question))
        return len(self._workers)

    def replies(self) -> list[Reply]:
        """The replies since this was last called."""
        replies, self._replies = self._replies, []
        return replies

    def _start(self, worker: WorkerProcess) -> None:
        """Start a worker. It gets its orders first, then what its predecessor may not have committed."""
        number = worker.number
        if not self._coordinator.start(number):
            self._raise_failure()
        worker.begin(*self._spawn(number))
        worker.send_orders(self._coordinator.orders(number))
        worker.deliver(Delivery(tuple(self._places), tuple(worker.unacknowledged.values())))
        for announcement in self._announcements.waiting(number):
            worker.send(announcement)
        if self._stop is not None:
            worker.send(self._stop)

    def _spawn(self, number: int) -> tuple[Connection, BaseProcess]:
        """Start a process with the group's signals blocked, until it has set its own handlers."""
        self._context.set_forkserver_preload([__name__, self._make.__module__])  # used when the server is started
        here, there = self._context.Pipe()
        arguments = (self._make, number, len(self._workers), self._seeds[number], there)
        process = self._context.Process(target=serve, args=arguments, name=f"periplus-shard-{number}")
        before = signal.pthread_sigmask(signal.SIG_BLOCK, GROUP_SIGNALS)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            there.close()
        return here, process

    def _raise_failure(self) -> None:
        if self._coordinator.failure is not None:
            raise self._coordinator.failure.error()

    def poll(self, timeout: float) -> None:
        """Wait at most `timeout` seconds for messages, and handle them."""
        waiting = {worker.connection: worker for worker in self._workers if worker.connection is not None}
        for connection in wait(list(waiting), timeout):
            self._read(waiting[connection])  # type: ignore[index]

    def _read(self, worker: WorkerProcess) -> None:
        try:
            while worker.connection is not None and worker.connection.poll(0):
                self._handle(worker, worker.connection.recv())
        except (EOFError, OSError):
            worker.end()
            if not worker.is_stopped:
                self._start(worker)

    def _handle(self, worker: WorkerProcess, message: Posted) -> None:
        match message:
            case ShardOutput():
                self._carry(worker, message)
            case StatusReport(announcement=kept):
                self._announcements.kept(worker.number, kept)
                worker.send_orders(self._coordinator.report(worker.number, message))
            case Reply():
                self._replies.append(message)
            case ShardStopped(status=status):
                worker.is_stopped = True
                self._coordinator.stopped(worker.number, status)
            case ShardFailure():
                self._coordinator.fail(message)
                self._raise_failure()

    def _carry(self, sender: WorkerProcess, output: ShardOutput) -> None:
        """Deliver a shard's output to the others: new places to all of them, before any later batch."""
        places = tuple(place for place in output.places if place not in self._places)
        self._places.update(dict.fromkeys(places))
        for other in self._workers:
            if other is not sender:
                batches = tuple(batch for batch in output.batches if batch.receiver == other.number)
                taken = output.receipts.get(other.number)
                other.deliver(Delivery(places, batches, {} if taken is None else {sender.number: taken}))
        sender.committed(output.receipts)

    @property
    def is_finished(self) -> bool:
        """Whether the crawl is finished, with everything that was announced."""
        return self._announcements.are_kept and self._coordinator.is_finished

    def statuses(self) -> list[ShardStatus]:
        """The last status of each shard that has reported."""
        return [report.status for report in self._coordinator.reports if report is not None]

    def stop(self, grace: float) -> None:
        """Make every shard end its requests and commit everything; one that dies meanwhile is started for that."""
        self._stop = StopShard(grace)
        for worker in self._workers:
            worker.send(self._stop)
        until = time.monotonic() + 6 * grace
        while time.monotonic() < until and not all(worker.is_stopped for worker in self._workers):
            self.poll(STATUS_INTERVAL)

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            if worker.connection is not None:
                worker.connection.close()
        for worker in self._workers:
            worker.end()
