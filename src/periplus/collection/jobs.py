"""Jobs over the tables of a collection: what they learn, its crawl uses from then on.

    python -m periplus.collection.jobs DIR     runs every job that the settings of a collection want, once

`background` starts that as a process while a crawl runs and when it has ended. A job that fails is logged and tried
again the next time; the crawl goes on with what it had. No job queues a URL: a finished crawl stays finished.

A process of jobs has one thread and little memory: DuckDB holds at most `MEMORY` and writes the rest to a folder in the
collection, which is removed at the end. `MOST_DATA` is the backstop: a job that asks for more than that fails, before
the machine begins to swap or ends the crawl.
"""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from periplus.engine.clock import SystemClock
from periplus.store import LearntFiles
from periplus.store.durable import write_file

from .collection import CollectionSetup, existing, tally_of

if TYPE_CHECKING:
    from periplus.insight.views import Views

log = logging.getLogger(__name__)

MEMORY: Final = "100MB"
"""What DuckDB may hold; the rest waits on disk."""
MAX_SPOOLED: Final = 200_000
"""Rows of a table in no Parquet file yet that a job holds in memory: of links there may be a million."""
SPILL: Final = "20GB"
"""What may wait on disk at most."""
MOST_DATA: Final = 1 << 30
"""Bytes that a process of jobs may allocate, used or not: five times what one took for 20,000 pages."""
ONE_THREAD: Final = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_IO_THREADS": "1"}
"""The environment of a process of jobs: each thread that a library starts would hold memory of its own."""
_JUDGED_PAGES: Final = "spam-pages"
"""The file, beside other results, with the number of pages that the collection had when spam was last judged."""
_SCRATCH: Final = "jobs-scratch"


class Job(Struct, frozen=True):
    """A job: whether a collection wants it, and what it does. It writes learnt files and verdicts, nothing else."""

    name: str
    is_wanted: Callable[[CollectionSetup], bool]
    run: Callable[[CollectionSetup, Views], None]


def _wants_reputation(collection: CollectionSetup) -> bool:
    """Whether to compute reputations: only a crawl that may leave the domains of its seeds has budgets for domains."""
    config = collection.config
    return config.budgets.domain != "none" and config.scope.kind == "any"


def learn_reputation(collection: CollectionSetup, views: Views) -> None:
    """Write the learnt file "reputation" of a collection."""
    from periplus.parts.reputation.job import ReputationSettings
    from periplus.parts.reputation.job import learn_reputation as learn

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
        _owners(shards),
    )
    layout = collection.layout
    found = learn(
        layout.folder,
        layout.spooled,
        database=views.database,
        seeds=collection.seeds,
        settings=settings,
        spam_of=_known_spam(collection),
        now=SystemClock().now(),
    )
    LearntFiles(layout.learnt).write("reputation", found.known().written())


def _owners(shards: int) -> Callable[[str], int] | None:
    """The shard of a site, where there are several."""
    if shards == 1:
        return None
    from periplus.engine.router import owner_of  # loads much of a crawl
    from periplus.model import Site

    return lambda site: owner_of(Site(site), shards)


def _known_spam(collection: CollectionSetup) -> Callable[[str], float] | None:
    """The probability that a domain is spam, as learnt so far; `None` if nothing was, or the crawl does not use it."""
    from periplus.parts.spam.scores import SpamScores

    files = LearntFiles(collection.layout.learnt)
    generation = files.newest().get("spam", 0) if collection.config.spam.enabled else 0
    content = files.read("spam", generation) if generation else None
    if content is None:
        return None
    scores = SpamScores()
    scores.learn(content)
    return scores.of_domain


def _wants_spam(collection: CollectionSetup) -> bool:
    """Whether to learn about spam: only a crawl that may leave the domains of its seeds comes across link farms."""
    config = collection.config
    return config.spam.enabled and config.spam.while_crawling and config.scope.kind == "any"


def learn_spam(collection: CollectionSetup, views: Views) -> None:
    """Judge the hosts of a collection, if it has twice the pages of the last time: all of them are judged each time."""
    from .judging import judge_spam

    path = collection.folder / "insight" / _JUDGED_PAGES
    pages = tally_of(collection.layout).pages
    with suppress(OSError, ValueError):
        if pages < 2 * int(path.read_text()):
            return
    judge_spam(collection, views)
    path.parent.mkdir(exist_ok=True)
    write_file(path, str(pages).encode())


JOBS: Final = (Job("spam", _wants_spam, learn_spam), Job("reputation", _wants_reputation, learn_reputation))
"""Every job, in the order in which they run: trust does not flow through what is known to be spam."""


def wanted_jobs(collection: CollectionSetup) -> list[Job]:
    """The jobs that the settings of a collection want."""
    return [job for job in JOBS if job.is_wanted(collection)]


def run_jobs(collection: CollectionSetup) -> int:
    """Run every wanted job, one after another; how many failed."""
    failed = 0
    with _views(collection) as views:
        for job in wanted_jobs(collection):
            try:
                job.run(collection, views)
            except Exception:  # a job must not end the others, and runs again
                log.exception("the job %s failed", job.name)
                failed += 1
    return failed


def scratch_of(folder: Path) -> Path:
    """Where the jobs of a collection write what they cannot hold; one process of jobs runs at a time."""
    return folder / "insight" / _SCRATCH


@contextmanager
def _views(collection: CollectionSetup) -> Iterator[Views]:
    from periplus.insight.views import Views, ViewSettings  # imports DuckDB

    scratch = scratch_of(collection.folder)
    shutil.rmtree(scratch, ignore_errors=True)  # of a process that was killed
    scratch.mkdir(parents=True)
    try:
        settings = ViewSettings(memory=MEMORY, spill=SPILL, threads=1, max_spooled_rows=MAX_SPOOLED)
        with Views(collection.folder, spooled=collection.layout.spooled, settings=settings, scratch=scratch) as views:
            yield views
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def limit_data(size: int = MOST_DATA) -> None:
    """Have this process fail to allocate more than `size` bytes, where the system can do that."""
    with suppress(ImportError, OSError, ValueError):  # another system, or a lower limit that holds already
        from resource import RLIMIT_DATA, getrlimit, setrlimit

        setrlimit(RLIMIT_DATA, (size, getrlimit(RLIMIT_DATA)[1]))


def main(folder: Path) -> int:
    """Run the jobs of a collection in this process, within its limits; the exit code."""
    limit_data()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    return min(run_jobs(existing(folder)), 1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
