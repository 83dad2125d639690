"""The table of sites in `periplus info`: its columns add up."""

from __future__ import annotations

import re
from io import StringIO

from rich.console import Console

from periplus.assembly.facts import CollectionFacts, SiteLine, SiteTotals
from periplus.cli.info import say_collection
from periplus.crawl.stats import CrawlStats
from periplus.model import Site


def shown(sites: int, named: int, queued: int) -> list[str]:
    lines = [SiteLine(Site(f"{number}.test"), 10, 2, 1000, 0, "") for number in range(sites)]
    total = SiteTotals()
    for line in lines:
        total.add(line)
    facts = CollectionFacts("c", 1, 1, CrawlStats(), 100, queued, sites, {}, tuple(lines[:named]), total=total)
    out = StringIO()
    say_collection(Console(file=out, width=120), facts)
    return [" ".join(line.split()) for line in out.getvalue().splitlines()]


def test_columns_add_up() -> None:
    """Sites that are not named are one row, and the sum is the last."""
    lines = shown(sites=30, named=12, queued=60)
    rows = [re.sub(r"^\d+ other sites", "others", line).split() for line in lines if ".test" in line or "other" in line]
    assert rows[-1][0] == "others"
    assert sum(int(row[1]) for row in rows) == 300
    assert sum(int(row[2]) for row in rows) == 60
    assert "all sites 300 60 30.0 kB" in lines


def test_a_queue_with_doubles_says_so() -> None:
    """The queue above counts each URL once: where that differs, the sum says how it was counted."""
    lines = shown(sites=3, named=3, queued=4)
    assert any(line.startswith("queue 4 ") for line in lines)
    assert any(line.startswith("all sites 30 6 3.0 kB with URLs of two sources counted twice") for line in lines)
