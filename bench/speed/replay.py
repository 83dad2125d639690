"""Crawls recorded answers with the version of Periplus in this tree, and prints what that took.

    python -m bench.speed.replay ANSWERS FOLDER --pages N [--small-map] [--wait]

Everything is as in a crawl by one process (engine, state, write-ahead log, WARC, tables) but for the wire, which
answers from memory, and time, which passes by a fixed amount with each answer. So a run does the same work however busy
the machine is. The collection stays in FOLDER.

Prints one line of JSON: pages and requests, CPU seconds from opening the shard to the merged index, and the scanner.
With `--wait`, it prints "ready" when everything is loaded and goes on after a line on standard input.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import lmdb
import pyarrow.parquet  # noqa: F401 - a crawl loads it with its first table, which is no part of a page

import periplus
from bench.speed.answers import Answers, load
from periplus.collection import shards
from periplus.collection.collection import planned
from periplus.collection.opening import seed_discovery, settle
from periplus.content.scan import READER
from periplus.engine.fetch import CrawlerIdentity
from periplus.engine.fetch.request import Requests
from periplus.engine.sharding.messages import GRACE, STATUS_INTERVAL
from periplus.model import Fetched, FetchOutcome, FetchTask, Located, Redirected
from periplus.urls import canonical

DURATION = 0.002
"""Virtual seconds that an answer takes: as many commits and ticks a page as in a crawl of 500 pages a second."""
ANSWERS_AT_ONCE = 21
"""Answers that the wire returns together: the mean of a crawl of the bench's manuals."""
SLOTS = 64
START = 1_767_571_200.0
ADDRESS = "192.0.2.1"
SMALL_MAP = 1 << 30
"""Bytes of the state's memory map under valgrind, which cannot map as much as the state asks for."""

OPTIONS: dict[str, object] = {
    "scope.kind": "any",
    "patterns.include": ["re:^http://[^/]*[.]test/"],
    "politeness.delay": 0.0,
    "politeness.slow_factor": 0.0,
    "politeness.ip_delay": 0.0,
    "politeness.max_parallel": 1,
    "crawl.workers": 1,
}


class VirtualClock:
    """Time that passes when the wire says so. Takes the place of `SystemClock`."""

    speed = 1.0

    def __init__(self, _scale: object = None) -> None:
        self._now = START

    def now(self) -> float:
        """Virtual POSIX time."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds


class ReplayWire:
    """A wire that answers from memory."""

    def __init__(self, answers: Answers, clock: VirtualClock) -> None:
        self._answers = answers.answers
        self.clock = clock
        self._waiting: deque[FetchTask] = deque()
        self._requests = Requests(CrawlerIdentity(), "en")
        self.requests = 0

    @property
    def free_slots(self) -> int:
        """How many more tasks may be started."""
        return SLOTS - len(self._waiting)

    @property
    def under_way(self) -> int:
        """Tasks without an outcome."""
        return len(self._waiting)

    def request_bytes(self, task: FetchTask) -> bytes:
        """The request as the real wire would send it."""
        return self._requests.head(task)

    def start(self, task: FetchTask) -> None:
        """Queue a task."""
        self._waiting.append(task)

    def finished(self, timeout: float) -> list[FetchOutcome]:
        """Answer what waits; else let the time pass that was to be waited."""
        if not self._waiting:
            self.clock.advance(max(timeout, 0.001))
        count = min(len(self._waiting), ANSWERS_AT_ONCE)
        return [self._outcome(self._waiting.popleft()) for _ in range(count)]

    def _outcome(self, task: FetchTask) -> FetchOutcome:
        self.clock.advance(DURATION)
        now = self.clock.now()
        if task.ip is None:
            return Located(task, ADDRESS, now + 3600.0)
        self.requests += 1
        answer = self._answers.get(task.url)
        if answer is None:
            headers = (("Content-Type", "text/html"), ("Content-Length", "27"))
            return Fetched(task, 404, headers, b"<title>404 Not Found</title>", now - DURATION, DURATION, task.ip)
        if 300 <= answer.status < 400:
            target = canonical(dict(answer.headers)["Location"])
            assert target is not None, task.url
            return Redirected(
                task, answer.status, target, answer.headers, now - DURATION, DURATION, task.ip, answer.body
            )
        return Fetched(task, answer.status, answer.headers, answer.body, now - DURATION, DURATION, task.ip)

    def cancel_all(self) -> None:
        """Nothing is waited for: `finished` answers what waits."""

    def wake(self) -> None:
        """Nothing ever waits."""

    def close(self) -> None:
        """There is nothing to close."""


def in_virtual_time() -> AbstractContextManager[object]:
    """Within this block, shards that are opened have a virtual clock."""
    return patch.object(shards, "SystemClock", VirtualClock)


def replay(answers: Answers, folder: Path, pages: int, wait: Callable[[], None]) -> dict[str, object]:
    """Crawl the answers up to this number of pages. `wait` is called when everything is loaded."""
    collection = planned(folder, options=OPTIONS, typed=answers.seeds)
    collection.save()
    wires: list[ReplayWire] = []

    def make_wire(clock: Any) -> ReplayWire:
        wires.append(ReplayWire(answers, clock))
        return wires[-1]

    maker = shards.ShardMaker(collection.config, folder.resolve(), collection.seeds, wire=make_wire)
    gc.collect()
    gc.freeze()  # the answers are ours and not the crawl's: its collections of garbage must not visit them
    wait()
    began_at = time.process_time()
    shard = maker(0, 1)
    shard.set_page_budget(pages)
    shard.discover([seed_discovery(collection.config, seed, START) for seed in collection.seeds])
    wire, shown_at = wires[-1], 0.0
    while not shard.is_idle:
        shard.step(STATUS_INTERVAL)
        if wire.clock.now() >= shown_at + STATUS_INTERVAL:
            shown_at = wire.clock.now()
            shard.status()
    shard.stop(GRACE)
    last = shard.status()
    shard.close()
    settle(folder)
    cpu = time.process_time() - began_at
    return {"pages": last.crawl.pages, "requests": wire.requests, "cpu": cpu, "scanner": READER}


def main() -> int:
    """Run once."""
    ask = argparse.ArgumentParser(prog="python -m bench.speed.replay", description="One crawl of recorded answers.")
    ask.add_argument("answers", type=Path)
    ask.add_argument("folder", type=Path)
    ask.add_argument("--pages", type=int, required=True)
    ask.add_argument("--small-map", action="store_true", help="for valgrind")
    ask.add_argument("--wait", action="store_true")
    asked = ask.parse_args()
    tree = Path(__file__).resolve().parents[2]
    assert Path(periplus.__file__).is_relative_to(tree / "src"), f"{periplus.__file__} is not of this tree"

    def wait() -> None:
        if asked.wait:
            print("ready", flush=True)
            sys.stdin.readline()

    opened = partial(_open_small, lmdb.open) if asked.small_map else lmdb.open
    with in_virtual_time(), patch.object(lmdb, "open", opened):
        print(json.dumps(replay(load(asked.answers), asked.folder, asked.pages, wait)), flush=True)
    return 0


def _open_small(real: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    return real(*arguments, **options | {"map_size": SMALL_MAP})


if __name__ == "__main__":
    sys.exit(main())
