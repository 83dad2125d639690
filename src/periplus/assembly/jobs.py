"""Jobs over the tables of a collection, in the background of its crawl: what they learn, the crawl uses from then on.

    python -m periplus.assembly.jobs DIR     runs every job that the settings of a collection want, once

A `CrawlRun` starts that as a process of low priority: after the first 500 pages, whenever the pages have doubled
since, at the latest every `EVERY_PAGES` pages or `EVERY_SECONDS` seconds, and when the crawl has ended. One runs at a
time. A job that fails is logged and tried again the next time; the crawl goes on with what it had. Nothing waits for a
job but the end of a crawl, and no job queues a URL: a finished crawl stays finished.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from periplus.crawl.clock import SystemClock
from periplus.crawl.router import owner_of
from periplus.model import Site
from periplus.policy.spam import SpamScores
from periplus.store import LearntFiles
from periplus.store.durable import write_file

from .collection import Collection, existing, tally_of
from .judging import judge_spam

log = logging.getLogger(__name__)

FIRST_PAGES: Final = 500
"""Pages after which jobs first run: smaller crawls end before a job could change anything."""
EVERY_PAGES: Final = 100_000
"""Pages after which jobs run again, at the latest."""
EVERY_SECONDS: Final = 1800.0
"""Seconds after which jobs run again, at the latest, if pages were fetched since."""
_JUDGED_PAGES: Final = "spam-pages"
"""The file, beside other results, with the number of pages that the collection had when spam was last judged."""
_PRIORITY: Final = 10
"""Low: the crawl has the processor first, and a job still ends on a busy machine."""


class Job(Struct, frozen=True):
    """A job: whether a collection wants it, and what it does. It writes learnt files and verdicts, nothing else."""

    name: str
    is_wanted: Callable[[Collection], bool]
    run: Callable[[Collection], None]


def _wants_reputation(collection: Collection) -> bool:
    """Whether to compute reputations: only a crawl that may leave the domains of its seeds has budgets for domains."""
    config = collection.config
    return config.budgets.domain != "none" and config.scope.kind == "any"


def learn_reputation(collection: Collection) -> None:
    """Write the learnt file "reputation" of a collection."""
    from periplus.insight.reputation import ReputationSettings
    from periplus.insight.reputation import learn_reputation as learn

    config, shards = collection.config, collection.workers
    budgets = config.budgets.of_domains(config.crawl.limit)
    if budgets is None:
        return
    settings = ReputationSettings(
        config.budgets.domain,
        budgets.base,
        budgets.largest,
        config.scope.suffixes,
        shards,
        lambda site: owner_of(Site(site), shards),
    )
    layout = collection.layout
    found = learn(
        layout.folder,
        layout.spooled,
        seeds=collection.seeds,
        settings=settings,
        spam=_known_spam(collection),
        now=SystemClock().now(),
    )
    LearntFiles(layout.learnt).write("reputation", found.known().written())


def _known_spam(collection: Collection) -> SpamScores:
    """The spam scores learnt so far; none if the crawl does not use them."""
    scores, files = SpamScores(), LearntFiles(collection.layout.learnt)
    generation = files.newest().get("spam", 0) if collection.config.spam.enabled else 0
    content = files.read("spam", generation) if generation else None
    if content is not None:
        scores.learn(content)
    return scores


def _wants_spam(collection: Collection) -> bool:
    """Whether to learn about spam: only a crawl that may leave the domains of its seeds comes across link farms."""
    config = collection.config
    return config.spam.enabled and config.spam.while_crawling and config.scope.kind == "any"


def learn_spam(collection: Collection) -> None:
    """Judge the hosts of a collection, if it has twice the pages of the last time: all of them are judged each time."""
    path = collection.folder / "insight" / _JUDGED_PAGES
    pages = tally_of(collection.layout).pages
    with suppress(OSError, ValueError):
        if pages < 2 * int(path.read_text()):
            return
    judge_spam(collection)
    path.parent.mkdir(exist_ok=True)
    write_file(path, str(pages).encode())


JOBS: Final = (Job("spam", _wants_spam, learn_spam), Job("reputation", _wants_reputation, learn_reputation))
"""Every job, in the order in which they run: trust does not flow through what is known to be spam."""


def wanted_jobs(collection: Collection) -> list[Job]:
    """The jobs that the settings of a collection want."""
    return [job for job in JOBS if job.is_wanted(collection)]


def run_jobs(collection: Collection) -> int:
    """Run every wanted job, one after another; how many failed."""
    failed = 0
    for job in wanted_jobs(collection):
        try:
            job.run(collection)
        except Exception:  # a job must not end the others, and runs again
            log.exception("the job %s failed", job.name)
            failed += 1
    return failed


class BackgroundJobs:
    """Starts the jobs of a collection while its crawl runs. `start` begins one run of them as a process."""

    def __init__(
        self,
        collection: Collection,
        pages: int,
        now: float,
        start: Callable[[Path], subprocess.Popen[bytes]] | None = None,
    ) -> None:
        self._collection = collection
        self._start = start or start_process
        self._pages = pages
        self._at = now
        self._running: subprocess.Popen[bytes] | None = None
        self._is_wanted = bool(wanted_jobs(collection))

    def check(self, pages: int, now: float) -> bool:
        """Start the jobs if it is time, `pages` having been fetched in all. Whether they were started."""
        if not self._is_wanted or (self._running is not None and self._running.poll() is None):
            return False
        new = pages - self._pages
        is_late = now - self._at >= EVERY_SECONDS and new > 0
        if new < min(max(FIRST_PAGES, self._pages), EVERY_PAGES) and not is_late:
            return False
        self._begin(pages, now)
        return True

    def end(self, pages: int, now: float, *, is_interrupted: bool) -> None:
        """Run the jobs on the last pages of a crawl that has ended, unless it was interrupted or there are few."""
        if self._running is not None:
            if is_interrupted:
                self._running.terminate()
            self._running.wait()
        if self._is_wanted and not is_interrupted and pages - self._pages >= FIRST_PAGES:
            self._begin(pages, now)
            self.wait()

    def wait(self) -> None:
        """Wait for jobs that run."""
        if self._running is not None:
            self._running.wait()

    def _begin(self, pages: int, now: float) -> None:
        self._pages, self._at = pages, now
        try:
            self._running = self._start(self._collection.folder)
        except OSError as error:
            log.warning("jobs over the tables cannot run: %s", error)


def start_process(folder: Path) -> subprocess.Popen[bytes]:
    """Run the jobs of a collection in another process, of the lowest priority."""
    process = subprocess.Popen(  # noqa: S603 - this program, with the folder of a collection
        [sys.executable, "-m", "periplus.assembly.jobs", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with suppress(OSError, AttributeError):  # it has ended already, or this system has no priorities
        os.setpriority(os.PRIO_PROCESS, process.pid, _PRIORITY)
    return process


if __name__ == "__main__":
    sys.exit(min(run_jobs(existing(Path(sys.argv[1]))), 1))
