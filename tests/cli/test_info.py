"""The table of sites in `periplus info`: its columns add up."""

from __future__ import annotations

import re
from io import StringIO

from rich.console import Console

from periplus.cli.info import print_collection
from periplus.collection.facts.lookup import CollectionFacts, SiteLine, SiteTotals
from periplus.engine.stats import CrawlStats
from periplus.model import Site


def shown(sites: int, named: int, queued: int, *, twice: int = 0, retries: int = 0) -> list[str]:
    lines = [SiteLine(Site(f"{number}.test"), 10, 2, 1000, 0, "") for number in range(sites)]
    total = SiteTotals(twice=twice, retries=retries)
    for line in lines:
        total.add(line)
    facts = CollectionFacts(
        "c", 1, 1, CrawlStats(fetches=100), 100, queued, sites, {}, tuple(lines[:named]), total=total
    )
    out = StringIO()
    print_collection(Console(file=out, width=120), facts)
    return [" ".join(line.split()) for line in out.getvalue().splitlines()]


def test_columns_add_up() -> None:
    """Sites that are not named are one row, and the sum is the last."""
    lines = shown(sites=30, named=12, queued=60)
    rows = [re.sub(r"^\d+ other sites", "others", line).split() for line in lines if ".test" in line or "other" in line]
    assert rows[-1][0] == "others"
    assert sum(int(row[1]) for row in rows) == 300
    assert sum(int(row[2]) for row in rows) == 60
    assert "all sites 300 60 30.0 kB" in lines


def test_a_queue_that_differs_says_why() -> None:
    """The queue above counts each URL once, and retries: where that differs, the sum says by how much."""
    lines = shown(sites=3, named=3, queued=5, twice=2, retries=1)
    assert any(line.startswith("queue 5 ") for line in lines)
    assert "all sites 30 6 3.0 kB queue: 2 in it twice, of two sources; 1 more waits for a retry" in lines


def test_requests_that_were_not_for_pages_are_told_apart() -> None:
    """The total above also counts robots.txt and sitemaps; the table does not."""
    assert any(line.startswith("requests 100 (30 for pages), ") for line in shown(sites=3, named=3, queued=6))
