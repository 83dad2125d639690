"""Crawls webs of every kind from one seed after another, for as long as it is told.

    python -m tests.verdicts.soak --minutes 60
    python -m tests.verdicts.soak --table          # the requests that each kind wastes, for docs/hostile.md

A seed that loses an honest page is printed with its kind. The exit code is 1 if any did.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import count
from statistics import mean

from tests.faults.soak import say
from tests.verdicts.crawled import crawl_kind
from tests.verdicts.webs import KINDS


def main() -> int:
    """Run what the arguments say."""
    parser = argparse.ArgumentParser(description="Crawl small hostile webs with known truth, from seeds.")
    parser.add_argument("--minutes", type=float, default=1.0, help="run seeds for this long")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--table", action="store_true", help="print what ten seeds of each kind waste, and end")
    asked = parser.parse_args()
    if asked.table:
        for kind in KINDS:
            found = [crawl_kind(kind, seed) for seed in range(10)]
            lost, requests = sum(len(each.lost) for each in found), mean(each.requests for each in found)
            say(f"| {kind} | {requests:.0f} | {mean(each.wasted for each in found):.0f} | {lost} |")
        return 0
    until, done, failed = time.monotonic() + 60 * asked.minutes, 0, 0
    for seed in count(asked.first):
        for kind in KINDS:
            if time.monotonic() >= until:
                say(f"{done} webs, {failed} failed")
                return int(failed > 0)
            harvest = crawl_kind(kind, seed)
            done += 1
            if harvest.lost or harvest.missed:
                failed += 1
                say(f"{kind}, seed {seed}: lost {', '.join(harvest.lost[:5])}, missed: {harvest.missed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
