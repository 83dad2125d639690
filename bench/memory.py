"""What a crawl holds in memory as it grows: `python -m bench.memory --pages N`.

A generated web is crawled by the code that ships: engine, state, archive, tables, and the jobs beside them. Only the
network is missing, and time passes quickly, so that politeness costs no waiting. Every page has text of its own and
links to pages of its site and of others; most of the URLs that become known are never fetched. Counted is the anonymous
memory of all processes together, ten times a second: that is what a machine runs out of. Files that are mapped (the
state in LMDB, libraries) can be dropped at any time and do not count.

A row for each step: pages, URLs known, sites; megabytes of the crawl and of the jobs, and the most that both had
together since the row before; processor seconds of both.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from periplus.collection.background import BackgroundJobs
from periplus.collection.collection import planned
from periplus.collection.shards import ShardMaker
from periplus.engine.clock import SystemClock, Timescale
from periplus.engine.shard import ShardStatus
from periplus.engine.sharding import CrawlLimits, ShardedCrawl
from periplus.model import Clock, Discovery, Failed, Fetched, FetchOutcome, FetchTask, Located, Source

SEEDS: Final = 20
"""Sites that the crawl begins with; it finds the others by links."""
PAGES_A_SITE: Final = 400
OWN_LINKS: Final = 30
OTHER_LINKS: Final = 8
WORDS: Final = 200
SPEED: Final = 1000.0
"""Seconds that pass in the crawl for each of ours: a politeness delay of a second is a millisecond."""
_SLOTS: Final = 64
_TOGETHER: Final = 24
"""Answers that arrive together, as in a crawl of many sites."""
_SAMPLED_EVERY: Final = 0.1
_PATH: Final = re.compile(r"https?://s(\d+)\.test/(?:page-(\d+)\.html)?")


class GeneratedWire:
    """A wire to a web that is made as it is asked for: `sites` sites of `PAGES_A_SITE` pages."""

    def __init__(self, sites: int, clock: Clock) -> None:
        self._sites = sites
        self._clock = clock
        self._started: list[FetchTask] = []
        chance = random.Random(1)
        self._words = ["".join(chance.choices("abdeilmnorstu", k=chance.randint(3, 10))) for _ in range(5000)]

    @property
    def free_slots(self) -> int:
        """How many more tasks may be started."""
        return _SLOTS - len(self._started)

    @property
    def under_way(self) -> int:
        """How many tasks have not ended."""
        return len(self._started)

    def start(self, task: FetchTask) -> None:
        """Begin a task."""
        self._started.append(task)

    def finished(self, timeout: float) -> list[FetchOutcome]:
        """Answer the oldest tasks; without any, wait."""
        if not self._started:
            time.sleep(min(timeout, 0.001))
            return []
        some, self._started = self._started[:_TOGETHER], self._started[_TOGETHER:]
        return [self._answer(task) for task in some]

    def request_bytes(self, task: FetchTask) -> bytes:
        """The head of a request."""
        return f"GET {task.url} HTTP/1.1\r\n\r\n".encode()

    def cancel_all(self) -> None:
        """Forget what was started."""
        self._started.clear()

    def wake(self) -> None:
        """Nothing waits for long."""

    def close(self) -> None:
        """There is nothing to close."""

    def _answer(self, task: FetchTask) -> FetchOutcome:
        now = self._clock.now()
        place = _PATH.fullmatch(task.url)
        number = int(re.findall(r"\d+", task.site)[0])
        if number >= self._sites:
            return Failed(task, "dns", now, 0.01)
        if task.ip is None:
            return Located(task, f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", now + 1e6)
        if place is None:
            return Fetched(task, 404, (("content-type", "text/plain"),), b"not there", now, 0.01, task.ip)
        body = self._page(number, int(place[2] or 0)).encode()
        return Fetched(task, 200, (("content-type", "text/html; charset=utf-8"),), body, now, 0.01, task.ip)

    def _page(self, site: int, page: int) -> str:
        chance = random.Random(site * PAGES_A_SITE + page)
        words = chance.choices(self._words, k=WORDS)
        links = [f"/page-{chance.randrange(1, PAGES_A_SITE)}.html" for _ in range(OWN_LINKS)]
        links += [self._elsewhere(chance) for _ in range(OTHER_LINKS)]
        anchors = "".join(f'<li><a href="{link}">{words[at]}</a>' for at, link in enumerate(links))
        text = "".join(f"<p>{' '.join(words[at : at + 40])}.</p>" for at in range(0, WORDS, 40))
        return f"<!doctype html><html lang=en><title>{' '.join(words[:5])}</title><main>{text}</main><ul>{anchors}</ul>"

    def _elsewhere(self, chance: random.Random) -> str:
        """A page of a site, more often of one that many link to."""
        site = int(self._sites * chance.random() ** 2)
        return f"http://s{site}.test/page-{chance.randrange(1, PAGES_A_SITE)}.html"


def crawl(folder: Path, pages: int, sites: int) -> None:
    """Crawl into a folder, and print a line with the pages and URLs known several times a second."""
    options: dict[str, object] = {"scope.kind": "any", "crawl.workers": 1, "crawl.limit": pages}
    options |= {"sitemaps.follow": False}
    seeds = [f"http://s{site}.test/" for site in range(min(SEEDS, sites))]
    collection = planned(folder, typed=seeds, options=options)
    collection.save()
    real = time.time()
    scale = Timescale(real, real, SPEED)
    maker = ShardMaker(collection.config, folder, collection.seeds, scale=scale, wire=Generated(sites))
    found = [Discovery(seed, Source.SEED, real) for seed in collection.seeds]
    clock = SystemClock()
    jobs = BackgroundJobs(collection, 0, clock.now())
    for (status,) in ShardedCrawl(maker, 1, seeds=found, limits=CrawlLimits(pages)).progress():
        jobs.check(status.crawl.pages, clock.now(), status.cpu_seconds)
        _print(status, jobs)
    jobs.end(status.crawl.pages, clock.now(), is_interrupted=False)
    _print(status, jobs)


def _print(status: ShardStatus, jobs: BackgroundJobs) -> None:
    line = {
        "pages": status.crawl.pages,
        "known": status.frontier.known,
        "crawl CPU s": round(status.cpu_seconds, 1),
        "jobs CPU s": round(jobs.cpu_seconds, 1),
    }
    print(json.dumps(line), flush=True)


class Generated(Struct, frozen=True):
    """Makes the wire of a shard."""

    sites: int

    def __call__(self, clock: Clock) -> GeneratedWire:
        """A wire with the clock of the shard."""
        return GeneratedWire(self.sites, clock)


class Memory(Struct):
    """Anonymous bytes of a process, and of those that it started; and the most that they had together."""

    own: int = 0
    others: int = 0
    most: int = 0
    most_others: int = 0


class Sampler(threading.Thread):
    """Looks at the memory of a process and of all that it starts."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._ended = threading.Event()
        self.memory = Memory()

    def run(self) -> None:
        """Sample until `end`."""
        while not self._ended.wait(_SAMPLED_EVERY):
            memory = self.memory
            memory.own = anonymous_bytes(self._pid)
            memory.others = sum(map(anonymous_bytes, descendants(self._pid)))
            memory.most = max(memory.most, memory.own + memory.others)
            memory.most_others = max(memory.most_others, memory.others)

    def taken(self) -> Memory:
        """What was seen since the last time."""
        found, self.memory = self.memory, Memory()
        return found

    def end(self) -> None:
        """Stop."""
        self._ended.set()
        self.join()


def anonymous_bytes(pid: int) -> int:
    """The anonymous memory of a process; pages that processes share count in parts. 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss_Anon:"))


def descendants(pid: int) -> Iterator[int]:
    """The processes that a process has started, and that these have."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in map(int, children):
        yield child
        yield from descendants(child)


def measure(folder: Path, pages: int, sites: int, step: int) -> Iterator[dict[str, float]]:
    """A row for each step of a crawl, and one for its end."""
    command = [sys.executable, "-m", "bench.memory", "--crawl", str(folder)]
    command += ["--pages", str(pages), "--sites", str(sites)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        sampler = Sampler(process.pid)
        sampler.start()
        due, last = step, {}
        for text in process.stdout:
            last = json.loads(text)
            if last["pages"] >= due and last["pages"] < pages:
                due = last["pages"] // step * step + step
                yield _row(last, sampler.taken())
        sampler.end()
    if process.returncode:
        raise SystemExit(f"the crawl ended with {process.returncode}")
    yield _row(last, sampler.taken())


def _row(line: dict[str, float], memory: Memory) -> dict[str, float]:
    sizes = {"crawl MB": memory.own, "jobs at most MB": memory.most_others, "together at most MB": memory.most}
    return {**line, **{name: round(size / 1e6) for name, size in sizes.items()}}


def main() -> None:
    """Measure, and print a JSON line a step."""
    ask = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    ask.add_argument("--pages", type=int, default=20_000)
    ask.add_argument("--sites", type=int, default=0, help="of the generated web; by default a tenth of the pages")
    ask.add_argument("--step", type=int, default=0, help="pages between two rows; by default a tenth of them")
    ask.add_argument("--keep", type=Path, metavar="DIR", help="crawl into this folder, and keep it")
    ask.add_argument("--crawl", type=Path, help=argparse.SUPPRESS)
    asked = ask.parse_args()
    sites = asked.sites or max(asked.pages // 10, SEEDS)
    if asked.crawl:
        crawl(asked.crawl, asked.pages, sites)
        return
    with tempfile.TemporaryDirectory() as folder:
        place = asked.keep or Path(folder) / "c"
        for row in measure(place, asked.pages, sites, asked.step or max(asked.pages // 10, 1)):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
