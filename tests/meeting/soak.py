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
    asked = parser.parse_args()
    if asked.seed is not None:
        try:
            say("\n".join(run(asked.seed).story))
        except Exception:
            traceback.print_exc()
            return 1
        return 0
    until = time.monotonic() + (60 * asked.minutes if not asked.count else float("inf"))
    seed, failed, requests, hours = asked.first, 0, 0, 0.0
    while time.monotonic() < until and not 0 < asked.count <= seed - asked.first:
        try:
            meeting = run(seed)
            requests, hours = requests + meeting.traffic.requests, hours + meeting.hours
        except Exception as error:
            failed += 1
            say(f"seed {seed} failed: {type(error).__name__}: {error}")
            say(f"repeat with: python -m tests.meeting.soak --seed {seed}")
        seed += 1
    say(
        f"{seed - asked.first} crawls, {failed} failed (seeds {asked.first} to {seed - 1}): "
        f"{requests:,} requests in {hours:.1f} virtual hours"
    )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
