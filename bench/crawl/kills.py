"""Whether crawls are complete: with 1, 4 and 16 requests at once to a host, by one and two processes, and killed.

    python -m bench.crawl.kills                                        # all twelve crawls
    python -m bench.crawl.kills --parallel 16 --workers 1 --kills 3    # one of them

A crawl that is killed gets SIGKILL, with all of its processes, when the server has served a random number of pages; the
same command then continues it. In the end the pages that the server served are compared with those that links lead to.
What is missing is printed with what the collection has recorded about it. The exit code is 1 below 99.5 %, or if a
crawl did not end.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pyarrow import dataset

from bench.crawl import nginx
from bench.crawl.contest import cores
from bench.crawl.contestants import Work, periplus
from bench.crawl.nginx import count
from bench.crawl.web import SEED, Page, Web, prepare
from bench.peers import HOME
from periplus.collection.collection import existing, states
from periplus.engine.router import owner_of
from periplus.model import UrlRecord
from periplus.urls import canonical, site_of

PARALLEL = (1, 4, 16)
WORKERS = (1, 2)
KILLS = (0, 3)
WANTED = 0.995
"""The share of the reachable pages that a crawl must have fetched."""
SHOWN = 10
"""Missing pages that are printed for each reason."""
_GLANCE = 0.2


@dataclass(frozen=True)
class Case:
    """One crawl."""

    parallel: int
    workers: int
    kills: int

    def __str__(self) -> str:
        processes = "one process" if self.workers == 1 else f"{self.workers} processes"
        killed = f"killed {self.kills} times" if self.kills else "alone"
        return f"{self.parallel} at once to a host, {processes}, {killed}"


@dataclass(frozen=True)
class Completeness:
    """What a crawl has fetched, and what it says of the rest."""

    share: float
    status: int | None
    """The exit code of the last process; None if it was stopped at the bound."""
    seconds: float
    killed_at: tuple[int, ...]
    """Answers that the server had given when each process was killed."""
    missing: dict[str, list[Page]]
    """By reason."""

    @property
    def is_good(self) -> bool:
        """Whether the crawl ended and is complete."""
        return self.share >= WANTED and self.status == 0


def crawl(case: Case, web: Web, chance: random.Random, seconds: float) -> Completeness:
    """Run one crawl to its end, with its kills on the way."""
    folder = HOME / "runs" / f"kills-{case.parallel}-{case.workers}-{case.kills}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "work").mkdir(parents=True)
    contestant = periplus("Periplus", case.workers, parallel=case.parallel)
    argv = contestant.argv(Work(SEED, folder / "work", int(seconds), folder / "pages.txt"))
    moments = sorted(chance.sample(range(1, len(web.pages)), case.kills))
    client, server = cores() or (None, None)
    pinned = ["taskset", "-c", str(client)] if client is not None and contestant.is_pinned else []
    started, status, killed_at = time.monotonic(), None, []
    with nginx.serving(web.folder, web.hosts, folder / "nginx", server) as log:
        for moment in (*moments, None):
            left = started + seconds - time.monotonic()
            status, is_killed = _run([*pinned, *argv], folder / "work", log, moment, left)
            killed_at += [_lines(log)] if is_killed else []
            if not is_killed:
                break
    with log.open(encoding="utf-8", errors="replace") as lines:
        seen = count(lines)
    took = time.monotonic() - started
    missing = by_reason(folder / "work" / "collection", web.pages - seen.pages)
    return Completeness(seen.share_of(web.pages), status, took, tuple(killed_at), missing)


def _run(argv: list[str], folder: Path, log: Path, moment: int | None, seconds: float) -> tuple[int | None, bool]:
    """Run until the end, the bound, or the moment at which it is killed: its exit code, and whether it was killed."""
    with (folder / "stdout").open("ab") as out, (folder / "stderr").open("ab") as err:
        process = subprocess.Popen(
            argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
    deadline = time.monotonic() + seconds
    is_killed = False
    try:
        while process.poll() is None and time.monotonic() < deadline and not is_killed:
            time.sleep(_GLANCE)
            is_killed = moment is not None and _lines(log) >= moment
        status = process.poll()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return status, is_killed and status is None


def _lines(log: Path) -> int:
    """Answers in the log of the server, which is about a second behind."""
    return log.read_bytes().count(b"\n") if log.exists() else 0


def by_reason(folder: Path, pages: Iterable[Page]) -> dict[str, list[Page]]:
    """Pages that were not fetched, by what the collection has recorded about them; the most frequent reason first."""
    collection = existing(folder)
    urls = {page: canonical(f"http://{page[0]}{quote(page[1])}") for page in sorted(pages)}
    refused = _refused(folder / "tables" / "discoveries", {url for url in urls.values() if url is not None})
    records: dict[str, UrlRecord | None] = {}
    with states(collection.layout) as opened:
        for number, state in opened.items():
            own = [url for url in urls.values() if url and owner_of(site_of(url), collection.layout.shards) == number]
            records |= zip(own, state.records.get(own), strict=True)
    found: dict[str, list[Page]] = {}
    for page, url in urls.items():
        found.setdefault(_reason(records.get(url or ""), refused.get(url or "", "")), []).append(page)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _refused(table: Path, urls: Set[str]) -> dict[str, str]:
    """Why filters refused these URLs."""
    if not urls or not any(table.glob("*.parquet")):
        return {}
    is_asked = dataset.field("url").isin(sorted(urls)) & dataset.field("refused").is_valid()
    rows = dataset.dataset(table, format="parquet").to_table(columns=["url", "refused"], filter=is_asked)
    return dict(zip(rows["url"].to_pylist(), rows["refused"].to_pylist(), strict=True))


def _reason(record: UrlRecord | None, refused: str) -> str:
    if record is None:
        return f"refused when it was found: {refused}" if refused else "never found"
    if record.reason:
        return f"{record.reason}, after {record.visits} visits" if record.visits else record.reason
    return f"visited, with status {record.status}" if record.visits else "known, and never asked for"


def lines(case: Case, found: Completeness) -> list[str]:
    """The result of a crawl in words."""
    end = "stopped at the bound" if found.status is None else f"exit code {found.status}"
    killed = f", killed after {', '.join(f'{at:,}' for at in found.killed_at)} answers" if found.killed_at else ""
    said = [f"{case}: {found.share:.2%} of the pages in {found.seconds:.0f} s, {end}{killed}"]
    for reason, pages in found.missing.items():
        said.append(f"  {len(pages):,} missing: {reason}")
        said += [f"    http://{host}{quote(path)}" for host, path in pages[:SHOWN]]
        if len(pages) > SHOWN:
            said.append(f"    and {len(pages) - SHOWN:,} more")
    return said


def main() -> int:
    """Run the crawls that were asked for."""
    ask = argparse.ArgumentParser(prog="python -m bench.crawl.kills", description="Are crawls complete?")
    ask.add_argument("--parallel", type=int, action="append", help="requests at once to a host: 1, 4 and 16")
    ask.add_argument("--workers", type=int, action="append", help="processes: 1 and 2")
    ask.add_argument("--kills", type=int, action="append", help="how many times it is killed: 0 and 3")
    ask.add_argument("--seconds", type=float, default=600.0, help="bound of one crawl, all of its processes together")
    ask.add_argument("--seed", type=int, default=1, help="of the moments")
    asked = ask.parse_args()
    web = prepare()
    chance = random.Random(asked.seed)
    is_good = Counter[bool]()
    for kills in asked.kills or KILLS:
        for workers in asked.workers or WORKERS:
            for parallel in asked.parallel or PARALLEL:
                case = Case(parallel, workers, kills)
                found = crawl(case, web, chance, asked.seconds)
                print("\n".join(lines(case, found)), flush=True)
                is_good[found.is_good] += 1
    return 1 if is_good[False] else 0


if __name__ == "__main__":
    sys.exit(main())
