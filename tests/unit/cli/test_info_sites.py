"""The table of sites in `periplus info`: its columns add up."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from periplus.assembly.facts.lookup import CollectionFacts, SiteLine, SiteTotals
from periplus.cli.info.command import say_collection
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
    assert "18 other sites 180 36 18.0 kB" in lines
    assert lines[-1] == "all sites 300 60 30.0 kB"


def test_a_queue_with_doubles_says_so() -> None:
    """The queue above counts each URL once: where that differs, the sum says how it was counted."""
    lines = shown(sites=3, named=3, queued=4)
    assert "queue 4 wait" in lines
    assert lines[-1].startswith("all sites 30 6 3.0 kB with URLs of two sources counted twice")
