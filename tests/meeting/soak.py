"""Runs seeds of generated crawls: one that failed, or one after another for as long as it is told.

    python -m tests.meeting.soak --seed 70
    python -m tests.meeting.soak --minutes 60
    python -m tests.meeting.soak --count 200 --first 1000

A seed that fails is printed with what happened in it and the command that repeats it. The exit code is 1 if any did.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from itertools import chain, count
from pathlib import Path

from tests.faults.soak import MEMORY, say
from tests.meeting.crawls import Meeting, run_meeting


def run(seed: int) -> Meeting:
    """Run a seed in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="periplus-meeting-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        return run_meeting(seed, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Run what the arguments say."""
    parser = argparse.ArgumentParser(description="Crawl generated webs with generated settings, from seeds.")
    parser.add_argument("--seed", type=int, help="run this seed alone and print what happens in it")
    parser.add_argument("--minutes", type=float, default=1.0, help="run seeds for this long")
    parser.add_argument("--count", type=int, default=0, help="run this many seeds at most; 0: as many as there is time")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--before", type=int, nargs="*", default=[], help="seeds to be run before that one")
    parser.add_argument("--until-failure", action="store_true", help="end with the first seed that fails")
    asked = parser.parse_args()
    if asked.seed is not None:
        try:
            say("\n".join(run(asked.seed).story))
        except Exception:
            traceback.print_exc()
            return 1
        return 0
    until = time.monotonic() + (60 * asked.minutes if not asked.count else float("inf"))
    done = failed = requests = 0
    hours = 0.0
    for seed in chain(asked.before, count(asked.first)):
        if time.monotonic() >= until or 0 < asked.count <= done or (failed and asked.until_failure):
            break
        try:
            meeting = run(seed)
            requests, hours = requests + meeting.traffic.requests, hours + meeting.hours
        except Exception as error:
            failed += 1
            say(f"seed {seed} failed: {type(error).__name__}: {str(error)[:1000]}")
            say(f"repeat with: python -m tests.meeting.soak --seed {seed}")
        done += 1
    say(f"{done} crawls, {failed} failed: {requests:,} requests in {hours:.1f} virtual hours")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
