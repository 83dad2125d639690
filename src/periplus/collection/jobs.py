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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.engine.clock import SystemClock
from periplus.engine.part import Job, JobDesk
from periplus.parts import kinds
from periplus.parts.spam.part import known_distrust

from .collection import CollectionSetup, existing, tally_of
from .crawl_parts import setup_of

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
_SCRATCH: Final = "jobs-scratch"


def wanted_jobs(collection: CollectionSetup) -> list[Job]:
    """The jobs that the settings of a collection want, in the order in which they run."""
    setup = setup_of(collection)
    return [job for kind in kinds(setup.settings) for job in kind.jobs() if job.is_wanted(setup)]


def run_jobs(collection: CollectionSetup) -> int:
    """Run every wanted job, one after another; how many failed."""
    failed = 0
    with _views(collection) as views:
        for job in wanted_jobs(collection):
            try:
                job.run(_desk(collection, views))
            except Exception:  # a job must not end the others, and runs again
                log.exception("the job %s failed", job.name)
                failed += 1
    return failed


def _desk(collection: CollectionSetup, views: Views) -> JobDesk:
    """A desk with what is known by now: a job before this one may have learnt something."""
    setup = setup_of(collection)
    return JobDesk(setup, views, known_distrust(setup), tally_of(collection.layout).pages, SystemClock().now())


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
