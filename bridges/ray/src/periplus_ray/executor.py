"""Jobs of insight as Ray tasks: PageRank and near-duplicates over partitions, wherever there is a processor.

What all jobs share is put into the object store once for each `map`: every machine that needs it fetches it once, and
its tasks read its arrays where they lie. A job whose worker dies (killed, out of memory, its machine gone) is done
again, four times in all; a job that raises is not, because it would raise again.

Partitions are files: their folder must be at the same path on every machine. Tasks ask for one processor each, so they
wait while shards have them all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from periplus.model import PeriplusError, UsageError

from .connection import connected, load, processors

Job = TypeVar("Job")
Shared = TypeVar("Shared")
Result = TypeVar("Result")

ATTEMPTS: Final = 4
"""Attempts at a job whose workers die, by default."""
_AHEAD: Final = 2
"""Jobs for each processor: the one that runs, and the next."""


class RayExecutor:
    """Jobs as tasks of the cluster that this process is connected to. Closing it leaves the connection open."""

    def __init__(self, workers: int = 0, attempts: int = ATTEMPTS) -> None:
        """At most `workers` jobs at a time; 0: one for each processor that the cluster has now."""
        self._ray = load()
        self._attempts = attempts
        if not self._ray.is_initialized():
            raise UsageError(
                "this process is not connected to a cluster", hint="connect first, or name --cluster local"
            )
        self.workers = workers or max(1, processors(self._ray))
        self.most_under_way = _AHEAD * self.workers
        self._task = self._ray.remote(num_cpus=1, max_retries=attempts - 1, retry_exceptions=False)(_do)

    def map(self, work: Callable[[Job, Shared], Result], jobs: Iterable[Job], shared: Shared) -> Iterator[Result]:
        """The results of the jobs, in order."""
        lent = self._ray.put(shared)
        under_way: deque[Any] = deque()
        try:
            for job in jobs:
                if len(under_way) == self.most_under_way:
                    yield self._answer(under_way.popleft())
                under_way.append(self._task.remote(work, job, lent))
            while under_way:
                yield self._answer(under_way.popleft())
        finally:
            for task in under_way:
                self._ray.cancel(task)

    def _answer(self, task: Any) -> Any:
        """The result of a task. Ray's own exceptions become ours here; what a job raised is raised as it was."""
        failures = self._ray.exceptions
        try:
            return self._ray.get(task)
        except failures.RayTaskError as error:
            if isinstance(error.cause, Exception):
                raise error.cause from None
            raise PeriplusError(f"a job failed on the cluster: {error}", hint="its log says more") from error
        except failures.RayError as error:
            raise PeriplusError(
                f"a job was begun {self._attempts} times on the cluster and never finished: {type(error).__name__}",
                hint="its workers were probably killed for lack of memory: allow fewer bytes at a time",
            ) from error

    def close(self) -> None:
        """Do nothing: nothing is held between one `map` and the next."""


@contextmanager
def executor_at(address: str) -> Iterator[RayExecutor]:
    """Connect to the cluster at this address, and return its executor."""
    with connected(address):
        yield RayExecutor()


def _do(work: Callable[[Any, Any], Result], job: object, shared: object) -> Result:
    return work(job, shared)
