"""What an outage of one site does to a watched collection: 22 kinds, three lengths, with a dated sitemap and without.

    python -m bench.outages                             # all, in virtual time: about 20 minutes of CPU
    python -m bench.outages --kind 404 --length 2d      # some of them; may be given several times
    python -m bench.outages --killed                    # the process is killed in the middle of each

A row is a run of `tests.outages`: pages that were lost for good, visits that the outage answered and their share of
all after the first hour, all requests to the site while it was down, hours until every page was visited again, visits
of the other sites beside those before, and whether exports, the index and the list of changes were all the time what
they were before. The exit code is 1 if a goal was missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable
from functools import partial
from itertools import product
from multiprocessing import Pool
from pathlib import Path

from tests.faults.soak import MEMORY
from tests.outages.failing_web import KINDS, NO_OUTAGE
from tests.outages.watch import DAYS, Laboratory, Measured, faults_of

COLUMNS = ("outage", "length", "dates", "lost", "visits in vain", "requests", "hours until fresh", "others", "equal")
_LABORATORIES: list[Laboratory] = []


def begin(folder: Path) -> None:
    """Give this process a laboratory of its own."""
    _LABORATORIES.append(Laboratory(Path(tempfile.mkdtemp(dir=folder))))


def measure(run: tuple[str, str, bool], *, is_killed: bool) -> tuple[Measured, float]:
    """A run, and the seconds of CPU that it took."""
    kind, length, is_dated = run
    began_at = time.process_time()
    measured = _LABORATORIES[0].outage(kind, DAYS[length], is_dated=is_dated).measure(is_killed=is_killed)
    return measured, time.process_time() - began_at


def row(run: tuple[str, str, bool], measured: Measured) -> list[str]:
    """A run as cells of the table."""
    fresh, wrong = measured.hours_until_fresh, [look for look in measured.looks if not look.is_equal]
    return [
        run[0],
        run[1],
        "yes" if run[2] else "no",
        str(len(measured.lost)),
        f"{measured.vain} ({measured.vain_share:.1%})",
        str(measured.requests),
        "never" if fresh is None else f"{fresh:.1f}",
        f"{measured.others:.0%}" if measured.outage.days >= 1.0 else "",
        f"no: {wrong[-1]}" if wrong else "yes",
    ]


def main() -> int:
    """Run what the arguments say, and print a row for each run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kind", action="append", choices=(NO_OUTAGE, *KINDS), help="only this kind")
    parser.add_argument("--length", action="append", choices=DAYS, help="only outages of this length")
    parser.add_argument("--dates", choices=("yes", "no"), help="only with a dated sitemap, or only without dates")
    parser.add_argument("--killed", action="store_true", help="kill the process in the middle of the outage")
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    dates = (True, False) if asked.dates is None else (asked.dates == "yes",)
    runs = list(product(asked.kind or (NO_OUTAGE, *KINDS), asked.length or DAYS, dates))
    _print(COLUMNS, ["---" for _ in COLUMNS])
    missed, seconds = 0, 0.0
    with (
        tempfile.TemporaryDirectory(prefix="periplus-outages-", dir=MEMORY if MEMORY.is_dir() else None) as folder,
        Pool(asked.processes, begin, (Path(folder),)) as pool,
    ):
        for run, (measured, took) in zip(runs, pool.imap(partial(measure, is_killed=asked.killed), runs), strict=True):
            _print(row(run, measured))
            missed += bool(faults_of(measured))
            seconds += took
    print(f"\n{missed} of {len(runs)} runs missed a goal; {seconds / len(runs):.1f} s of CPU each")
    return int(missed > 0)


def _print(*rows: Iterable[str]) -> None:
    for cells in rows:
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
