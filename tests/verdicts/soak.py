"""Crawls webs of every kind from one random seed after another, for as long as it is told.

    python -m tests.verdicts.soak --minutes 60

At least 20,000 honest pages in all, and each kind as often as the others. A seed that loses an honest page is printed
with its kind. At the end a table has what each kind wasted, beside what was measured before the verdicts on it were
changed. The exit code is 1 if any page was lost.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count
from random import SystemRandom
from statistics import mean

from tests.faults.soak import say
from tests.verdicts.crawled import Harvest, crawl_kind
from tests.verdicts.webs import KINDS

HONEST_PAGES = 20_000
"""Honest pages of all webs together, at least."""
EARLIER = {
    "copies of another site": "12 of 14 own pages lost",
    "mirrors": "118 of 200 pages lost",
    "sessions in the path": "15 of 150 pages lost",
    "sorted lists": "259 requests for 150 pages",
    "calendar": "2,113 requests",
    "filters that are ignored": "one page called a soft 404",
    "errors that repeat the URL": "not recognised",
    "endless tree": "10,611 requests and growing",
}
"""What was measured of such webs before."""


def main() -> int:
    """Run what the arguments say."""
    parser = argparse.ArgumentParser(description="Crawl small hostile webs with known truth, from seeds.")
    parser.add_argument("--minutes", type=float, default=1.0, help="run seeds for this long")
    parser.add_argument("--first", type=int, help="the first seed; by default at random")
    asked = parser.parse_args()
    first = SystemRandom().randrange(10**9) if asked.first is None else asked.first
    found: dict[str, list[Harvest]] = defaultdict(list)
    until, honest = time.monotonic() + 60 * asked.minutes, 0
    for seed in count(first):
        for kind in KINDS:
            harvest = crawl_kind(kind, seed)
            found[kind].append(harvest)
            honest += harvest.owed
            if harvest.lost or harvest.missed:
                say(f"{kind}, seed {seed}: lost {', '.join(harvest.lost[:5])}, missed: {harvest.missed}")
        if time.monotonic() >= until and honest >= HONEST_PAGES:
            break
    say(table(found))
    failed = sum(bool(each.lost or each.missed) for some in found.values() for each in some)
    say(f"seeds {first} to {seed}: {sum(map(len, found.values()))} webs, {honest:,} honest pages, {failed} webs failed")
    return int(failed > 0)


def table(found: Mapping[str, Sequence[Harvest]]) -> str:
    """The requests of each kind, on average, and the honest pages that were lost in all."""
    rows = [
        "| kind | requests | of these wasted | until the last honest page | honest pages | lost | earlier |",
        "|" + 7 * "---|",
    ]
    for kind, some in found.items():
        wasted = "" if some[0].most < _ANY else f"{mean(each.wasted for each in some):.0f}"
        lost, owed = sum(len(each.lost) for each in some), sum(each.owed for each in some)
        requests, enough = (mean(values) for values in ([x.requests for x in some], [x.sufficient for x in some]))
        rows.append(
            f"| {kind} | {requests:,.0f} | {wasted} | {enough:,.0f} | {owed:,} | {lost} | {EARLIER.get(kind, '')} |"
        )
    return "\n".join(rows)


_ANY = 6000
"""The limit of a crawl, where a kind has none of its own: webs without an end have, and all of their pages differ."""


if __name__ == "__main__":
    sys.exit(main())
