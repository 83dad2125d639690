"""Runs experiments in several processes: each job separately, in any order, with the same results.

A worker has only a pipe to the process that started it: it gets a job, reports progress, and returns the result. It
ends when the other end is closed; Ctrl-C on a terminal reaches only the parent, which ends all workers. The number of
workers does not change a result.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import current_thread, main_thread
from types import FrameType
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from periplus.model import UsageError

Progress = Callable[[int, int], None]

_PATIENCE = 10.0
"""Seconds until a worker that was stopped is killed."""

JobT_contra = TypeVar("JobT_contra", contravariant=True)
ResultT_co = TypeVar("ResultT_co", covariant=True)
JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")


class Work(Protocol[JobT_contra, ResultT_co]):
    """A job's function, of a module so that another process can import it. It reports its progress."""

    def __call__(self, job: JobT_contra, progress: Progress, /) -> ResultT_co:
        """Do the job."""
        ...


class Done(Struct, Generic[ResultT], frozen=True):
    """A job's number, in the order in which jobs were given, and its result."""

    number: int
    result: ResultT


def run_jobs(
    work: Work[JobT, ResultT],
    jobs: Iterable[JobT],
    *,
    total: int,
    steps: int,
    workers: int = 1,
    progress: Progress | None = None,
) -> Iterator[Done[ResultT]]:
    """Run the jobs, each as soon as a worker is free, and yield the results as they arrive.

    `jobs` is read one by one, when a job can begin, and has `total` of them. `progress` is called with the steps of all
    together, where a job counts as `steps` however many steps it has itself.
    """
    with _remembered_interrupt() as check_interrupt:
        meter = _Meter(total, steps, progress, check_interrupt)
        if workers <= 1 or total <= 1:
            for number, job in enumerate(jobs):
                yield Done(number, work(job, meter.of(number)))
                meter.finish(number)
            return
        crew: _Crew[JobT, ResultT] = _Crew()
        try:
            crew.hire(work, min(workers, total))
            yield from crew.run(jobs, meter)
        finally:
            crew.dismiss()


class _Meter:
    """Adds up how far jobs are. With each step it ends the experiment if Ctrl-C was pressed."""

    def __init__(self, jobs: int, steps: int, progress: Progress | None, check_interrupt: Callable[[], None]) -> None:
        self._check_interrupt = check_interrupt
        self._steps = steps
        self._total = jobs * steps
        self._done: dict[int, int] = {}
        self._progress = progress

    def of(self, number: int) -> Progress:
        """The progress of one job."""
        return lambda done, total: self.note(number, done, total)

    def note(self, number: int, done: int, total: int) -> None:
        """Record the progress of a job."""
        self._check_interrupt()
        self._done[number] = min(self._steps, self._steps * done // max(total, 1))
        if self._progress is not None:
            self._progress(sum(self._done.values()), self._total)

    def finish(self, number: int) -> None:
        """Note that a job is complete."""
        self.note(number, 1, 1)


class _Crew(Generic[JobT, ResultT]):
    """Processes that work."""

    def __init__(self) -> None:
        self._processes: list[BaseProcess] = []
        self._idle: list[Connection] = []
        self._busy: dict[Connection, int] = {}

    def hire(self, work: Work[JobT, ResultT], count: int) -> None:
        """Start the workers. Ctrl-C is blocked meanwhile, so that no half-started worker prints a traceback."""
        context = multiprocessing.get_context("spawn")
        resource_tracker.ensure_running()  # it unblocks the signals that are blocked here
        for number in range(count):
            ours, theirs = context.Pipe()
            self._idle.append(ours)
            name = f"periplus-experiment-{number}"
            process = context.Process(target=_serve, args=(theirs, work), name=name, daemon=True)
            with _uninterrupted():
                process.start()
                self._processes.append(process)
                theirs.close()

    def run(self, jobs: Iterable[JobT], meter: _Meter) -> Iterator[Done[ResultT]]:
        """Send the jobs to the workers and yield the results."""
        for number, job in enumerate(jobs):
            while not self._idle:
                yield from self._receive(meter)
            connection = self._idle.pop()
            connection.send(job)
            self._busy[connection] = number
        while self._busy:
            yield from self._receive(meter)

    def _receive(self, meter: _Meter) -> Iterator[Done[ResultT]]:
        """Wait for messages of workers; return the results among them."""
        for connection in wait(list(self._busy)):
            if not isinstance(connection, Connection):
                continue
            number = self._busy[connection]
            try:
                message = connection.recv()
            except EOFError as error:
                raise UsageError(
                    "a process of the experiment ended before its time", hint="Was memory short? Try --workers 1"
                ) from error
            if isinstance(message, tuple):
                meter.note(number, *message)
                continue
            del self._busy[connection]
            self._idle.append(connection)
            if isinstance(message, BaseException):
                raise message
            meter.finish(number)
            yield Done(number, message.result)

    def dismiss(self) -> None:
        """Stop all workers at once."""
        for connection in [*self._idle, *self._busy]:
            connection.close()
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join(_PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()


@contextmanager
def _remembered_interrupt() -> Iterator[Callable[[], None]]:
    """Yield a function that raises `KeyboardInterrupt` if Ctrl-C was pressed before.

    Python drops an exception that is raised in a finaliser or in the callback of a weak reference, and the experiment
    would go on to its end as if nothing had been pressed.
    """
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: None
        return
    caught: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        signal.default_int_handler(number, frame)

    def check() -> None:
        if caught:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C (SIGINT) until the block has ended.

    Processes started meanwhile inherit the blocked signal. For this process blocking is not enough: where there are
    other threads (that show progress, say), the system delivers the signal to one of them, and Python then interrupts
    the main thread.
    """
    if current_thread() is not main_thread():
        yield
        return
    caught: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: caught.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, before)
    if caught:
        signal.raise_signal(signal.SIGINT)


def _serve(connection: Connection, work: Work[JobT, ResultT]) -> None:
    """Run jobs from the connection and send the results, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # blocked since the process was started
    try:
        while True:
            job = connection.recv()
            try:
                answer: object = Done(0, work(job, lambda done, total: connection.send((done, total))))
            except (EOFError, BrokenPipeError):
                raise
            except Exception as error:
                answer = error
            connection.send(answer)
    except (EOFError, OSError):
        return
