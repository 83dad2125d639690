"""Forms: how many requests lead to how many records of the lab's databases, beside the fewest possible.

Every database is searched without a network, by the prober of the crawl. Requests are counted, so figures carry over to
any machine.

    python -m bench.forms [--quick]
"""

from __future__ import annotations

import sys

from msgspec.structs import replace

from bench.form_probing import Probed, floor, probe
from periplus_lab.database import Database
from periplus_lab.sites import Site
from periplus_lab.world import World

BIG = 50_000
"""Records of the large database: each word of the vocabulary is in 24 of them at least, and one in seven in more than
are shown."""


def main(options: list[str]) -> None:
    """Print a row for each database and way to search it."""
    sites = sorted((site for site in World().sites() if site.records), key=lambda site: -site.records)
    print(
        f"{'database':24} {'searched by':12} {'share':>6} {'requests':>9} {'of floor':>9} {'bar':>5}  {'estimate':>8}"
    )
    for site in sites[:1] if "--quick" in options else sites[:5]:
        _row(site, "year", probe(Database(site)), 1.0, 1.15)
        _row(site, "words", probe(Database(site), without=("year", "author")), 0.9, 1.20)
    if "--quick" not in options:
        big = replace(sites[0], records=BIG)
        probed = probe(Database(big), without=("year",), reads_records=False, until=0.8 * BIG)
        _row(big, "words", probed, 0.8, 1.5)


def _row(site: Site, by: str, probed: Probed, share: float, bar: float) -> None:
    wanted = share * site.records
    requests = probed.requests_for(wanted)
    found = (
        f"{share:6.0%} {requests:9,} {requests / floor(wanted):9.2f}"
        if requests
        else (f"{probed.found / site.records:6.1%} {probed.requests:9,}  not reached")
    )
    print(f"{site.host:17} {site.records:6,} {by:12} {found} {bar:5.2f}  {probed.prober.size:8,.0f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
