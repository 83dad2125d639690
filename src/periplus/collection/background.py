"""Runs the jobs of a collection (`jobs`) in the background of its crawl, as a process of low priority.

`JobSchedule` decides when: all runs together may take `SHARE` of the processor time that the crawl itself has taken, so
that a fast crawl of any size pays the same part of its time, and the cost of the next run is estimated from the last.
The first run is early, whatever it costs: a link farm that is judged late has been fetched by then. A crawl that mostly
waits for its sites takes little processor time; for it the time that has passed counts as well, every `EVERY_SECONDS`.
When the crawl has ended, the jobs run once more on its last pages. One run at a time; nothing waits for jobs but the
end of a crawl.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, Final

from .collection import CollectionSetup
from .jobs import ONE_THREAD, scratch_of, wanted_jobs

log = logging.getLogger(__name__)

SHARE: Final = 0.03
"""Processor time of all runs of jobs, as a share of that of the crawl's own processes."""
FIRST_COST: Final = 1.5
"""Processor seconds that the first run is expected to take: most of them to load libraries."""
FIRST_PAGES: Final = 500
"""New pages without which jobs do not run: smaller crawls end before a job could change anything."""
FIRST_VERDICT: Final = 150
"""Pages of a new crawl after which the jobs run for the first time, whatever they cost: until then, domains of seeds
come first (`engine.frontier.domains`, which waits for the verdict from 200 requests on, some of which give no page)."""
EARLY_PAGES: Final = 5000
"""New pages after which the jobs run once more, although `SHARE` would come to that only at some 25,000."""
EVERY_PAGES: Final = 100_000
"""New pages from which jobs may run though the pages have not doubled."""
EVERY_SECONDS: Final = 1800.0
"""Seconds from which jobs may run if any page is new, by their share of the time that has passed."""
_MOST_GROWTH: Final = 2.0
LOG_FILE: Final = "jobs.log"
"""The file, beside other results, with what the last run of jobs reported."""
_PRIORITY: Final = 10
"""Low: the crawl has the processor first, and a job still ends on a busy machine."""


class JobSchedule:
    """Decides when jobs run, given the pages of the collection, the time, and the processor seconds of the crawl.

    `began` and `ended` report each run; `pages` and `now` are those of the crawl's begin.
    """

    def __init__(self, pages: int, now: float, *, share: float = SHARE) -> None:
        self._share = share
        self._began_at = now
        self._ran_at = now
        self._pages = pages
        self._cost: float | None = None
        self._is_new = pages == 0
        self._runs = 0
        self.used = 0.0
        """Processor seconds of all runs so far."""

    @property
    def is_first(self) -> bool:
        """Whether no run but the first of a new crawl has begun."""
        return self._is_new and self._runs <= 1

    def is_due(self, pages: int, now: float, crawl_seconds: float) -> bool:
        """Whether the jobs may run now, `crawl_seconds` being the processor seconds of the crawl so far."""
        new = pages - self._pages
        if self._is_new and not self._runs and new >= FIRST_VERDICT:
            return True
        is_late = now - self._ran_at >= EVERY_SECONDS and new > 0
        if not is_late and new < min(max(FIRST_PAGES, self._pages), EVERY_PAGES):
            return False
        if self._runs <= self._is_new and new >= EARLY_PAGES:
            return True
        seconds = max(crawl_seconds, now - self._began_at) if is_late else crawl_seconds
        return self.used + self.next_cost(pages) <= self._share * seconds

    def is_due_at_end(self, pages: int) -> bool:
        """Whether the jobs run on the last pages of a crawl that has ended, whatever they cost."""
        return pages - self._pages >= FIRST_PAGES

    def next_cost(self, pages: int) -> float:
        """Estimated processor seconds of the next run: those of the last, in proportion to the pages.

        At most twice as many: where a run costs more a page than the crawl may spend on it, jobs run rarely, not never.
        """
        if self._cost is None:
            return FIRST_COST
        return self._cost * min(max(pages / max(self._pages, 1), 1.0), _MOST_GROWTH)

    def began(self, pages: int, now: float) -> None:
        """A run has begun."""
        self._pages, self._ran_at = pages, now
        self._runs += 1

    def ended(self, seconds: float) -> None:
        """The run has ended, and took these processor seconds."""
        self._cost = seconds
        self.used += seconds


class JobProcess:
    """A run of jobs as a process. What it prints goes to `log_path`, where that can be written."""

    def __init__(self, command: Sequence[str], log_path: Path) -> None:
        with _log_file(log_path) or nullcontext(subprocess.DEVNULL) as output:
            self._process = subprocess.Popen(  # noqa: S603 - this program, with the folder of a collection
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                env={**os.environ, **ONE_THREAD},
            )
        self.cpu_seconds = 0.0
        """Processor seconds that it took, once it has ended."""

    @property
    def returncode(self) -> int | None:
        """The exit code once it has ended and `has_ended` or `wait` has noticed that."""
        return self._process.returncode

    def give_way(self) -> None:
        """Let the crawl have the processor first."""
        with suppress(OSError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, self._process.pid, _PRIORITY)

    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self._reap(os.WNOHANG)

    def wait(self) -> None:
        """Wait until it has ended."""
        self._reap(0)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def _reap(self, options: int) -> bool:
        """Take its exit code together with its times, which `Popen` does not keep."""
        if self._process.returncode is None:
            try:
                pid, status, used = os.wait4(self._process.pid, options)
            except ChildProcessError:  # a host program ignores SIGCHLD: the system keeps neither code nor times
                self._process.returncode = 0
                return True
            if not pid:
                return False
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_seconds = used.ru_utime + used.ru_stime
        return True


class BackgroundJobs:
    """Starts the jobs of a collection while its crawl runs. `start` begins one run of them as a process."""

    def __init__(
        self,
        collection: CollectionSetup,
        pages: int,
        now: float,
        start: Callable[[Path], JobProcess] | None = None,
    ) -> None:
        self._collection = collection
        self._start = start or start_process
        self._schedule = JobSchedule(pages, now)
        self._running: JobProcess | None = None
        self._is_wanted = bool(wanted_jobs(collection))

    @property
    def cpu_seconds(self) -> float:
        """Processor seconds of all runs that have ended."""
        return self._schedule.used

    def check(self, pages: int, now: float, crawl_seconds: float) -> bool:
        """Start the jobs if it is time, `pages` having been fetched in all. Whether they were started."""
        if not self._is_wanted or not self._has_ended():
            return False
        if not self._schedule.is_due(pages, now, crawl_seconds):
            return False
        self._begin(pages, now)
        return True

    def end(self, pages: int, now: float, *, is_interrupted: bool) -> None:
        """Run the jobs on the last pages of a crawl that has ended, unless it was interrupted or there are few."""
        if self._running is not None and is_interrupted:
            self._running.terminate()
        self.wait()
        if self._is_wanted and not is_interrupted and self._schedule.is_due_at_end(pages):
            self._begin(pages, now)
            self.wait()

    def wait(self) -> None:
        """Wait for jobs that run."""
        if self._running is not None:
            self._running.wait()
            self._has_ended()

    def _begin(self, pages: int, now: float) -> None:
        self._schedule.began(pages, now)
        try:
            self._running = self._start(self._collection.folder)
            if not self._schedule.is_first:  # a crawl may wait for the first verdict
                self._running.give_way()
        except OSError as error:
            log.warning("jobs over the tables cannot run: %s", error)

    def _has_ended(self) -> bool:
        """Whether no jobs run; notes what the last run took."""
        running = self._running
        if running is None:
            return True
        if not running.has_ended():
            return False
        self._running = None
        self._schedule.ended(running.cpu_seconds)
        if running.returncode:
            shutil.rmtree(scratch_of(self._collection.folder), ignore_errors=True)
            place = self._collection.folder / "insight" / LOG_FILE
            log.warning("jobs over the tables failed with exit code %s: see %s", running.returncode, place)
        return True


def _log_file(path: Path) -> BinaryIO | None:
    """A new file; `None` where it cannot be written."""
    try:
        path.parent.mkdir(exist_ok=True)
        return path.open("wb")
    except OSError:
        return None


def start_process(folder: Path) -> JobProcess:
    """Run the jobs of a collection in another process."""
    command = [sys.executable, "-m", "periplus.collection.jobs", str(folder)]
    return JobProcess(command, folder / "insight" / LOG_FILE)
