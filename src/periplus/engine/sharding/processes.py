"""Shards as processes of this machine: the transport over pipes.

This process starts a worker process for each shard, carries batches from one to the other, and asks the `Coordinator`
for orders. A worker that dies is started again and continues from its last commit; batches that it had not committed
are sent again. Pages never travel, only discoveries and numbers. When this process dies, its workers see the pipe
close, commit everything, and end.

Workers are forks of a server process that imports what they need once, when the first one starts: a worker then starts
in a hundredth of a second instead of one, and the workers share the memory of what was imported. The server ends with
this process and the workers. It has the environment, stdout and stderr that this process had when it was started.

Shards can be restarted one after the other while the crawl goes on (`ProcessTeam.restart`): each commits everything and
ends, and a worker of another interpreter continues it, which may have the next version of Periplus. A worker that dies
is started again by the interpreter that ran it, so that a log is only read by the version that wrote it. One that ends
before it has opened anything, or does not begin in time, ends the restart instead: the interpreter from before
continues its shard.

Signals that are sent to a whole process group (Ctrl-C, a service that is stopped) are handled by this process only,
which sends the workers an order to stop.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from threading import Lock, Thread, Timer
from typing import Final

from msgspec.structs import replace

from periplus.model import Batch, CollectionError, Discovery, Url, UsageError

from ..revisit.market import Market
from ..shard import Controls, MakeShard, ShardOutput, ShardQuestion, ShardStatus
from .builds import Build
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
    other_build,
)
from .worker import no_wake, run_shard, tune_garbage_collection

GROUP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
START_TIMEOUT = 120.0
"""Seconds until another interpreter must have sent its version: it imports what it needs, and opens nothing before."""
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
    pipe.post(Build.own())
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


class Program:
    """A worker that another interpreter runs, with as much of a `Process` as its parent needs.

    It is killed if it does not begin in time: it would not read what it is sent, and writing to it would not end.
    """

    def __init__(self, python: str, descriptor: int) -> None:
        command = [python, "-P", "-m", "periplus.engine.sharding.joining", str(descriptor)]
        self._running = subprocess.Popen(command, pass_fds=[descriptor], stdin=subprocess.DEVNULL)  # noqa: S603
        self._too_late = Timer(START_TIMEOUT, self.kill)
        self._too_late.daemon = True
        self._too_late.start()

    def has_begun(self) -> None:
        """It has sent its version, and may take as long as it needs for the rest."""
        self._too_late.cancel()

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self._running.wait(timeout)

    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._running.poll() is None

    def kill(self) -> None:
        """End it at once."""
        self._running.kill()


class WorkerProcess:
    """A shard's worker process. `unacknowledged`, by sender and number, is sent again if it is started again.

    `python` is the interpreter that runs it; empty: a fork of this one does. `before` is the one that ran
    it before a restart, until the new one has sent its version; a worker opens nothing before that.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.python = ""
        self.before: str | None = None
        self.process: BaseProcess | Program | None = None
        self.connection: Connection | None = None
        self.unacknowledged: dict[tuple[int, int], Batch] = {}
        self.is_stopped = False
        self._orders: Orders | None = None

    def begin(self, connection: Connection, process: BaseProcess | Program) -> None:
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


_STARTING: Final = Lock()


def _is_of_main_script(make: MakeShard) -> bool:
    """Whether a worker needs a function of the script of this program."""
    return b"__main__" in pickle.dumps(make)


def _script_without_guard() -> UsageError:
    return UsageError(
        "the workers cannot load a function of this script: it crawls again when it is imported",
        hint='call crawl below `if __name__ == "__main__":`, or put the function into a module of its own',
    )


@contextmanager
def _main_script_left_alone(make: MakeShard) -> Iterator[None]:
    """Start a process that does not run the script of this program again, unless something of it is sent there.

    `multiprocessing` imports that script in every new process, since it may have what is sent. A script that crawls
    would then crawl again, if it does so without asking for its name first, and the process could not start.
    """
    main = sys.modules["__main__"]
    names = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    if _is_of_main_script(make):
        yield
        return
    with _STARTING:
        main.__dict__.pop("__file__", None)
        main.__spec__ = None
        try:
            yield
        finally:
            main.__dict__.update(names)


def start_fork_server(*preloaded: str) -> None:
    """Start the process that others are forked from, if it does not run.

    It imports these modules, and no file of the current folder, which may be anybody's.
    """
    forkserver.set_forkserver_preload(list(preloaded))
    is_set = "PYTHONSAFEPATH" in os.environ
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    forkserver.ensure_running()
    if not is_set:
        del os.environ["PYTHONSAFEPATH"]


class ProcessTeam:
    """All shards of a crawl, each in a process, and the messages between them."""

    def __init__(self, make: MakeShard, workers: int, limit: int | None) -> None:
        self._make = make
        self._context = multiprocessing.get_context("forkserver")
        self._workers = [WorkerProcess(number) for number in range(workers)]
        self._coordinator = Coordinator(workers, limit=limit, market=Market(workers))
        self._seeds = by_owner((), workers)
        self._announcements = Announcements(workers)
        self._places: dict[Url, None] = {}
        self._replies: list[Reply] = []
        self._stop: StopShard | None = None
        self._has_heard = False
        """Whether any worker has ever begun."""
        self._restarting: deque[int] = deque()
        self._restarts_with = ""
        self._is_draining = self._is_renewed = False
        self.restart_failure = ""
        """Why the last restart was given up; empty if it was not."""

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
        try:
            spawned = self._spawn(number)
        except CollectionError:
            if worker.before is None:
                raise
            self._give_up_restart(worker, worker.before)
            spawned = self._spawn(number)
        worker.begin(*spawned)
        worker.send_orders(self._coordinator.orders(number))
        worker.deliver(Delivery(tuple(self._places), tuple(worker.unacknowledged.values())))
        for announcement in self._announcements.waiting(number):
            worker.send(announcement)
        if self._stop is not None:
            worker.send(self._stop)

    def restart(self, python: str) -> None:
        """Restart all shards, one after the other, by this interpreter; first the one that is ending for a restart."""
        ending = [self._restarting[0]] if self._is_draining else []
        self._restarts_with, self._is_renewed, self.restart_failure = python, False, ""
        self._restarting = deque([*ending, *(number for number in range(len(self._workers)) if number not in ending)])

    @property
    def is_restarting(self) -> bool:
        """Whether a shard is still to be restarted."""
        return bool(self._restarting)

    def _continue_restart(self) -> None:
        """Let the next shard end, once the one before has reported."""
        if self._stop is not None:
            self._restarting.clear()
        if not self._restarting or self._is_draining or self._coordinator.reports[self._restarting[0]] is None:
            return
        if self._is_renewed:
            self._restarting.popleft()
            self._is_renewed = False
        else:
            self._is_draining = True
            self._workers[self._restarting[0]].send(StopShard(GRACE))

    def _has_ended(self, worker: WorkerProcess) -> None:
        """Start a worker that died, or that ended because it is restarted; one that died meanwhile is asked again."""
        is_next = self._is_draining and worker.number == self._restarting[0] and self._stop is None
        if is_next:
            self._is_draining, self._is_renewed = False, worker.is_stopped
            if worker.is_stopped:
                worker.before, worker.python = worker.python, self._restarts_with
        elif worker.before is not None:
            self._give_up_restart(worker, worker.before)
        if is_next or not worker.is_stopped:
            self._start(worker)

    def _give_up_restart(self, worker: WorkerProcess, before: str) -> None:
        """Let the interpreter from before continue a shard; other shards keep the one that they have."""
        if worker.python == self._restarts_with:
            self.restart_failure = f"{worker.python} cannot run shard {worker.number}: its worker ended at its start"
            self._restarting.clear()
            self._is_renewed = False
        worker.python, worker.before = before, None

    def _spawn(self, number: int) -> tuple[Connection, BaseProcess | Program]:
        """Start a process with the group's signals blocked, until it has set its own handlers."""
        here, there = self._context.Pipe()
        arguments = (self._make, number, len(self._workers), self._seeds[number])
        python = self._workers[number].python
        before = signal.pthread_sigmask(signal.SIG_BLOCK, GROUP_SIGNALS)
        process: BaseProcess | Program
        try:
            if python:
                process = self._program(number, python, there)
                with suppress(OSError):  # a program that has ended already is noticed where its messages are read
                    here.send(arguments)
            else:
                name = f"periplus-shard-{number}"
                process = self._context.Process(target=serve, args=(*arguments, there), name=name)
                with _main_script_left_alone(self._make):
                    start_fork_server(__name__, self._make.__module__)
                    process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            there.close()
        return here, process

    def _program(self, number: int, python: str, there: Connection) -> Program:
        """Run a worker by another interpreter. Only it has the other end then: writing to one that died ends."""
        try:
            return Program(python, there.fileno())
        except OSError as error:
            raise CollectionError(
                f"shard {number} cannot be continued by {python}: {error.strerror}",
                hint="Run the same command again: everything stored is safe, and it continues",
            ) from error
        finally:
            there.close()

    def _raise_failure(self) -> None:
        if self._coordinator.failure is not None:
            raise self._coordinator.failure.error()

    def poll(self, timeout: float) -> None:
        """Wait at most `timeout` seconds for messages, and handle them."""
        waiting = {worker.connection: worker for worker in self._workers if worker.connection is not None}
        for connection in wait(list(waiting), timeout):
            self._read(waiting[connection])  # type: ignore[index]
        self._continue_restart()

    def _read(self, worker: WorkerProcess) -> None:
        try:
            while worker.connection is not None and worker.connection.poll(0):
                self._handle(worker, worker.connection.recv())
                self._has_heard = True
        except (EOFError, OSError):
            process = worker.process
            worker.end()
            has_failed = isinstance(process, BaseProcess) and process.exitcode == 1
            if not self._has_heard and has_failed and _is_of_main_script(self._make):
                raise _script_without_guard() from None
            self._has_ended(worker)

    def _handle(self, worker: WorkerProcess, message: Posted) -> None:
        match message:
            case Build():
                worker.before = None
                if isinstance(worker.process, Program):
                    worker.process.has_begun()
                if reason := Build.own().refusal(message):
                    self._coordinator.fail(other_build(worker.number, message, reason))
                    self._raise_failure()
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
