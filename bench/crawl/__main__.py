"""`python -m bench.crawl`: every crawler on the same pages, one after the other, and one table."""

from __future__ import annotations

import argparse
import sys

from bench.crawl.contest import contest
from bench.crawl.contestants import CONTESTANTS


def main() -> int:
    """Run what was asked for."""
    ask = argparse.ArgumentParser(prog="python -m bench.crawl", description="Every crawler on the same real pages.")
    ask.add_argument("--quick", action="store_true", help="about a minute in all; figures are rougher")
    ask.add_argument("--only", action="append", choices=[each.name for each in CONTESTANTS], help="may be given again")
    ask.add_argument("--seconds", type=int, help="another bound for each contestant")
    ask.add_argument("--order", help="the ordering of Periplus, in place of its default")
    ask.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    asked = ask.parse_args()
    if asked.only and asked.write:
        ask.error("the page of figures shows all contestants of one run: --write goes without --only")
    if asked.order and asked.write:
        ask.error("the page of figures shows the defaults: --write goes without --order")
    contest(quick=asked.quick, write=asked.write, only=asked.only, seconds=asked.seconds, order=asked.order)
    return 0


if __name__ == "__main__":
    sys.exit(main())
