"""How long a crawl takes to continue after a kill: `python -m bench.recovery`.

A crawl of a small web on loopback commits nothing and is killed after some thousand outcomes, all of which are in its
log then. Measured is the time from there to the first request: the last commit is opened and the log applied.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import statistics
import tempfile
import time
from pathlib import Path

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl
from periplus.collection.seeds import seeds_from
from periplus.collection.shards import ShardMaker
from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock

NEVER = 10**9
SITES, PAGES = 100, 120


def main() -> int:
    """Measure, and print one line."""
    ask = argparse.ArgumentParser(prog="python -m bench.recovery", description=__doc__)
    ask.add_argument("--outcomes", type=int, default=2_000, help="outcomes in the log when the crawl is killed")
    ask.add_argument("--repetitions", type=int, default=3)
    asked = ask.parse_args()
    seconds = [recovery(asked.outcomes) for _ in range(asked.repetitions)]
    print(
        f"{asked.outcomes:,} outcomes: {min(seconds):.2f} s at best, {statistics.median(seconds):.2f} s in the middle"
    )
    return 0


def recovery(outcomes: int) -> float:
    """Seconds until a crawl that was killed after this many outcomes is where it was."""
    world = World(7, SITES, pages=PAGES)
    seeds = [site.url for site in world.sites()]
    with tempfile.TemporaryDirectory() as folder, RunningLab(Server(world, SteppedClock(world.epoch))) as lab:
        config = Config().with_options(
            {
                "wire.proxy": lab.base,
                "politeness.delay": 0.0,
                "politeness.ip_delay": 0.0,
                "politeness.max_parallel": 8,
                "engine.checkpoint_interval": float(NEVER),
                "engine.checkpoint_outcomes": NEVER,
                "engine.checkpoint_rows": NEVER,
            }
        )
        child = multiprocessing.get_context("fork").Process(target=_crawl, args=(config, folder, seeds, outcomes))
        child.start()
        child.join()
        if child.exitcode != -signal.SIGKILL:
            raise RuntimeError(f"the crawl ended with {child.exitcode} before it had {outcomes:,} outcomes")
        began_at = time.perf_counter()
        shard = ShardMaker(config, Path(folder), tuple(seeds_from(seeds)))(0, 1)
        seconds = time.perf_counter() - began_at
        shard.close()
    return seconds


def _crawl(config: Config, folder: str, seeds: list[str], outcomes: int) -> None:
    """Crawl until there were as many outcomes, then die."""
    for statuses in open_crawl(config, Path(folder), seeds_from(seeds), 1).progress():
        if statuses[0].crawl.fetches >= outcomes:
            os.kill(os.getpid(), signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    raise SystemExit(main())
