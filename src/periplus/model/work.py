"""The port between jobs and where they run: many jobs that do not depend on each other, and an executor for them.

Only the port is here. Its implementations are in `periplus.insight.executors` (this process, or several of this
machine) and `periplus.cluster` (tasks on Ray).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Job = TypeVar("Job")
Shared = TypeVar("Shared")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs jobs. How many run at a time, and where, changes no result.

    Work is a function of a module, so that another process finds it; jobs, what they share and what comes of them are
    values that can be pickled. What all jobs of one `map` share travels once to each machine, not once with each job,
    and its arrays cannot be written to. Jobs may be done twice, because a worker was lost: what a job writes into a
    file it writes as a whole, under a name of its own, or not at all.
    """

    @property
    def workers(self) -> int:
        """How many jobs are done at the same time."""

    @property
    def most_under_way(self) -> int:
        """Maximum number of jobs whose results the caller has not taken yet: these wait in memory."""

    def map(self, work: Callable[[Job, Shared], Result], jobs: Iterable[Job], shared: Shared) -> Iterator[Result]:
        """The result of each job, in the order of the jobs; a job is taken only when there is room for it.

        A job that raises ends everything: its exception is raised here. A worker that dies (killed, out of memory) is a
        `PeriplusError`, after as many attempts as this executor makes; with several machines, more than one. Stopping
        the iteration early ends the jobs under way.
        """

    def close(self) -> None:
        """End all workers, each at the latest after the job that it is at."""
