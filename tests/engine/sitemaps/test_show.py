"""What a person is told of a site's two sources: what each brought, and how the budget moved, and why."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from periplus.collection.facts.balance import BalanceFacts, balance_of
from periplus.collection.facts.lines import MOVES, balance_line, source_lines
from periplus.collection.facts.tables import balance_table
from periplus.collection.wording import by_source
from periplus.engine.sitemaps.show import sources_of
from periplus.engine.sitemaps.store import SitemapStore
from periplus.engine.sitemaps.trees import Origin, SitemapNode
from periplus.model import FirstSeen, Lane, Site, Source, SourceCounts, SourceFacts, Url, UrlRecord
from periplus.policy.balance import BalanceMove, SiteBalance
from periplus.policy.settings import BalanceSettings
from periplus.store import DiskState, SiteState
from periplus.view.terminal import print_table

SITE = Site("a.test")
MAP = Url("http://a.test/sitemap.xml")


def record(path: str, *seen: tuple[Source, float], kept_at: float | None = None) -> UrlRecord:
    first = tuple(FirstSeen(source, at) for source, at in seen)
    return UrlRecord(Url(f"http://a.test/{path}"), first, kept_at=kept_at, visits=kept_at is not None)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[DiskState]:
    state = DiskState(tmp_path)
    yield state
    state.close()


def test_sources_are_counted_apart_and_together(state: DiskState) -> None:
    """Each URL in one of three groups, by the source that listed it; files are not pages; the earliest is first."""
    state.records.put(
        [
            record("", (Source.SEED, 1.0), kept_at=2.0),
            record("1", (Source.LINK, 2.0), (Source.REDIRECT, 3.0)),
            record("2", (Source.SITEMAP, 3.0), kept_at=4.0),
            record("3", (Source.SITEMAP, 3.0), (Source.LINK, 2.0)),
            record("4", (Source.FEED, 1.0), (Source.LINK, 2.0), (Source.SITEMAP, 5.0), kept_at=6.0),
            record("5", (Source.LINK, 2.0), (Source.SITEMAP, 2.0)),
            record("robots.txt#file", (Source.SITEMAP, 1.0)),
            record("sitemap.xml#file", (Source.SITEMAP, 1.0)),
        ]
    )
    SitemapStore(state).put(SitemapNode(MAP, MAP, Origin.ROBOTS, 1.0, entries=700, read_at=2.0))
    facts = sources_of(state, SITE)
    assert (facts.links_only, facts.sitemaps_only, facts.both) == (
        SourceCounts(2, 1, 1),
        SourceCounts(1, 1, 1),
        SourceCounts(3, 1, 1),
    )
    assert (facts.first_by_links, facts.first_by_sitemaps) == (1, 1)
    assert (facts.files, facts.listed, facts.is_partial) == (1, 700, False)
    said = dict(source_lines(facts))
    assert said["by both"] == "3 known, 1 fetched, 1 of these unique; 1 first seen in sitemaps, 1 by links"
    assert said["sitemap files"] == "1 read, 700 entries"


def test_site_without_sitemaps_is_told_nothing_of_them(state: DiskState) -> None:
    """Most of the web has none."""
    state.records.put([record("", (Source.SEED, 1.0))])
    assert source_lines(sources_of(state, SITE)) == []
    assert balance_of(SiteState(SITE), BalanceSettings()) is None
    assert balance_line(None) == ""


def moved(epochs: int) -> BalanceFacts:
    """The facts of a site whose sitemaps are good and whose links are bad."""
    balance, page = SiteBalance(), 0
    while balance.judged < epochs:
        lane = balance.choose(9, 9)
        balance.took(lane, 1, page)
        balance.learnt(page, lane is Lane.SITEMAPS)
        page += 1
    facts = balance_of(SiteState(SITE, balance=balance.record), BalanceSettings())
    assert facts is not None
    return facts


def test_budget_is_told_epoch_by_epoch_with_the_reason() -> None:
    """Shares, what was found in the samples, and what followed, on a terminal of 80 columns."""
    facts = moved(3)
    assert (facts.epochs, facts.sitemaps, facts.links) == (3, 60, 7)
    assert [(epoch.sitemaps_utility, epoch.links_utility) for epoch in facts.history] == [(1.0, 0.0)] * 3
    console = Console(width=80, file=io.StringIO(), record=True)
    print_table(console, balance_table(facts, is_counted=True))
    lines = console.export_text().splitlines()
    assert " ".join(lines[2].split()) == "1 10 5 of 5 10 0 of 5 more to sitemaps: worth more"
    assert "all but a sample" in lines[4]
    assert "of 67 pages 60 to sitemaps, 7 to links, after 3 epochs  ▅▇██" in balance_line(facts)


def test_old_epochs_keep_their_numbers() -> None:
    """Only the last twenty are remembered; they are not the first."""
    console = Console(width=80, file=io.StringIO(), record=True)
    print_table(console, balance_table(moved(23), is_counted=True))
    assert console.export_text().splitlines()[2].split()[0] == "4"


def test_every_move_has_its_words() -> None:
    """A reason that cannot be read is not shown."""
    assert set(MOVES) == set(BalanceMove)


def test_what_was_not_counted_is_said() -> None:
    """A site of a hundred million URLs is told of in part, and says so."""
    facts = SourceFacts(SourceCounts(5, 1, 1), SourceCounts(3, 1, 1), SourceCounts(), 0, 0, 1, 10**8, True)
    assert dict(source_lines(facts))["by links only"].endswith("(of the first 8 URLs)")


def test_known_urls_are_told_by_source() -> None:
    """What several told of is counted for each, and once more at the end."""
    assert by_source({"sitemap": 31, "link": 29}, 48) == "sitemaps 31 · links 29 · several 12"
