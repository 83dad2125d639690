"""Runs seeds of faulty crawls: one that failed, or one after another for as long as it is told.

    python -m tests.faults.soak --seed 70
    python -m tests.faults.soak --minutes 60
    python -m tests.faults.soak --minutes 60 --watch       # watches of changing sites instead of crawls
    python -m tests.faults.soak --minutes 60 --replicas    # crawls by machines that are lost with their disks

A seed that fails is printed with what happened in it and the command that repeats it. The exit code is 1 if any did.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Final

from tests.faults.replicas import run_replicas
from tests.faults.shards import run_shards
from tests.faults.simulation import run_seed
from tests.faults.watching import run_watch

MEMORY: Final = Path("/dev/shm")
SHARDS_EVERY: Final = 4
"""Of this many seeds one is a crawl of several shards."""


def run(seed: int, kind: str = "") -> list[str]:
    """Run a seed in a folder of its own; what happened in it."""
    folder = Path(tempfile.mkdtemp(prefix="periplus-faults-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        if kind == "replicas":
            return run_replicas(seed, folder).story
        if kind == "watch":
            watch = run_watch(seed, folder)
            return [*watch.story, f"{watch.servers.requests} requests in {watch.hours:.1f} hours"]
        return run_shards(seed, folder) if seed % SHARDS_EVERY == SHARDS_EVERY - 1 else run_seed(seed, folder).story
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report(seed: int, error: BaseException, kind: str = "") -> None:
    """Print a failure and how to repeat it."""
    say(f"seed {seed} failed: {type(error).__name__}: {error}")
    say(f"repeat with: python -m tests.faults.soak --seed {seed}{f' --{kind}' if kind else ''}")


def say(line: str) -> None:
    """Print a line."""
    print(line, flush=True)  # noqa: T201


def main() -> int:
    """Run what the arguments say."""
    parser = argparse.ArgumentParser(description="Crawl on failing disks, clocks and networks, from seeds.")
    parser.add_argument("--seed", type=int, help="run this seed alone and print what happens in it")
    parser.add_argument("--minutes", type=float, default=1.0, help="run seeds for this long")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    for kind, text in (("watch", "watch sites that change"), ("replicas", "lose machines with their disks")):
        parser.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind, default="", help=text)
    asked = parser.parse_args()
    if asked.seed is not None:
        try:
            say("\n".join(run(asked.seed, asked.kind)))
        except Exception:
            traceback.print_exc()
            return 1
        return 0
    until, seed, failed = time.monotonic() + 60 * asked.minutes, asked.first, 0
    while time.monotonic() < until:
        try:
            run(seed, asked.kind)
        except Exception as error:
            failed += 1
            report(seed, error, asked.kind)
        seed += 1
    say(f"{seed - asked.first} runs, {failed} failed (seeds {asked.first} to {seed - 1})")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
