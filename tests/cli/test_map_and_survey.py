"""What a person sees of a survey while it runs, and of a map on a terminal; how long a polite crawl takes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from periplus.apps.mapping.listed_urls import ALLOWED, FetchVerdict, Judging, MapFiles
from periplus.cli.crawl.live import screen
from periplus.cli.map import MapSummary, print_files, print_rows, print_summary
from periplus.cli.survey.command import BadLine, DomainList
from periplus.cli.survey.output import FILES, print_bad_lines
from periplus.collection.collection import CollectionSetup
from periplus.collection.config.settings import Config
from periplus.collection.progress import Progress
from periplus.engine.sitemaps.store import SitemapStore
from periplus.engine.sitemaps.trees import Origin, SitemapNode
from periplus.engine.stats import CrawlStats
from periplus.insight.listed import ListedUrl
from periplus.model import RobotsFile, Site, Url
from periplus.store import MemoryState, SiteState

HOME = "http://a.test"
PROGRESS = Progress(
    CrawlStats(fetches=1_612, downloaded=2_000_000, robots=1_000, files=398),
    known=1_398,
    queued=98,
    sites=1_151,
    rate=455.0,
    left=70.0,
    elapsed=12.0,
)


def terminal(width: int = 100) -> Console:
    return Console(width=width, file=io.StringIO(), record=True, force_terminal=True)


def listed(path: str, *, files: int = 1, refused: str = "", priority: float | None = None) -> ListedUrl:
    return ListedUrl(f"{HOME}{path}", f"{HOME}/s.xml", files, 1_714_953_600.0, "day", None, priority, refused)


@pytest.fixture
def state() -> MemoryState:
    """A site with an index of two files, one of which is not there, and rules."""
    state = MemoryState()
    nodes = SitemapStore(state)
    index, child = Url(f"{HOME}/i.xml"), Url(f"{HOME}/s.xml")
    vouching = (Site("a.test"),)
    nodes.put(SitemapNode(index, index, Origin.ROBOTS, 1.0, kind="index", children=2, read_at=1.0, vouching=vouching))
    nodes.put(SitemapNode(child, index, Origin.ROBOTS, 2.0, index, 1, kind="urlset", entries=3, read_at=2.0))
    nodes.put(SitemapNode(Url(f"{HOME}/gone.xml"), index, Origin.ROBOTS, 3.0, index, 1, outcome="http-404"))
    state.robots.put(RobotsFile(Site("a.test"), "rules", b"User-agent: *\nDisallow: /no\n", 0.0, 9e9, 200, ""))
    state.sites.put([SiteState(Site("a.test"), delay=5.0)])
    return state


@pytest.mark.parametrize("width", [80, 120])
def test_a_survey_shows_requests_files_hosts_and_the_time_left(width: int) -> None:
    """At every width; the same on one line where there is no terminal."""
    console = terminal(width)
    console.print(screen(PROGRESS, "periplus survey x", "1 shard", width, view=FILES))
    shown = console.export_text()
    assert max(map(len, shown.splitlines())) <= width
    for fact in ("1,612", "455/s", "robots.txt 1,000", "sitemaps 398", "queue 98", "1,151", "1 m 10 s", "Ctrl-C"):
        assert fact in shown
    for fact in ("1,612 requests, 455/s", "robots.txt 1,000", "sitemaps 398", "queue 98", "1 m 10 s left"):
        assert fact in FILES.plain(PROGRESS)


def test_bad_lines_are_told_without_what_a_terminal_would_obey() -> None:
    """The first with their numbers; the rest by their number."""
    console = terminal()
    print_bad_lines(DomainList((), (BadLine(3, "a\x1b[31m b" + "x" * 200),), 12), console)
    shown = console.export_text()
    assert "line 3 names no domain" in shown
    assert "11 more" in shown
    assert "\x1b" not in shown.replace("\x1b[0m", "")
    assert "x" * 100 not in shown


def test_files_are_numbered_in_the_order_of_their_trees(state: MemoryState) -> None:
    """Each with who named it, what it is, or why it is not there; a long list is cut."""
    files = MapFiles([state])
    console = terminal()
    print_files(console, files, most=2)
    lines = console.export_text().splitlines()
    assert lines[1].split() == ["1", "robots.txt", "index", f"{HOME}/i.xml"]
    assert lines[2].split() == ["2", "file", "1", "urlset", "3", f"{HOME}/s.xml"]
    assert "1 more files" in lines[3]
    assert [file.trouble for file in files] == ["", "", "http-404"]
    assert files.way(f"{HOME}/s.xml.gz") == [f"{HOME}/i.xml", f"{HOME}/s.xml"]
    assert files.read == 2


def test_a_loop_of_files_ends() -> None:
    """Two that lead to each other have a way, and are shown."""
    state = MemoryState()
    one, other = Url(f"{HOME}/1.xml"), Url(f"{HOME}/2.xml")
    SitemapStore(state).put(SitemapNode(one, one, Origin.ROBOTS, 1.0, other))
    SitemapStore(state).put(SitemapNode(other, one, Origin.ROBOTS, 2.0, one))
    assert set(MapFiles([state]).way(one)) == {one, other}
    assert len(MapFiles([state])) == 2


def test_urls_stand_in_lines_with_the_numbers_of_their_files(state: MemoryState) -> None:
    """With when, how important, where, and who refuses; the rest is counted."""
    console = terminal(140)
    rows = [
        (listed("/a", files=3, priority=0.5), ALLOWED),
        (listed("/no"), FetchVerdict("robots", "Disallow: /no")),
        (listed("/b\x07"), ALLOWED),
        (listed("/c"), ALLOWED),
    ]
    print_rows(console, iter(rows), MapFiles([state]), most=3)
    lines = console.export_text().splitlines()
    assert lines[1].split() == ["2024-05-06", "0.5", "2", "+2", f"{HOME}/a"]
    assert "robots Disallow: /no" in lines[2]
    assert "\x07" not in lines[3]
    assert "1 more URLs; --all" in lines[4]


def test_the_judges_are_those_of_a_crawl(state: MemoryState) -> None:
    """Files, filters, robots.txt; what is allowed is counted by host, and takes as long as its host wants."""
    collection = CollectionSetup(Path("nowhere"), Config(), (Url(f"{HOME}/"),), is_new=True)
    judging = Judging(collection, {0: state})
    urls = [Url(f"{HOME}/a?utm_source=x"), Url("http://b.test/")]
    assert judging.names(f"{HOME}/s.xml", urls) == [(f"{HOME}/a", ""), ("http://b.test/", "sitemap-foreign-host")]
    assert judging.judge(listed("/no/x")) == FetchVerdict("robots", "Disallow: /no")
    assert judging.judge(listed("/x.zip")).reason == "extension"
    assert judging.judge(listed("/x", refused="not-a-url")) == FetchVerdict("not-a-url")
    for number in range(10):
        assert judging.judge(listed(f"/{number}")) == ALLOWED
    pace = judging.pace()
    assert (pace.seconds, pace.site, pace.rest, pace.asked) == (50.0, "a.test", 5.0, 5.0)
    assert judging.unasked == set()


def test_a_host_that_was_not_asked_is_told(state: MemoryState) -> None:
    """Its pages count as allowed, at our own pace: its rules are unknown."""
    collection = CollectionSetup(Path("nowhere"), Config(), (Url(f"{HOME}/"),), is_new=True)
    judging = Judging(collection, {0: state})
    elsewhere = ListedUrl("http://www.a.test/", f"{HOME}/s.xml", 1, None, None, None, None, "")
    assert judging.judge(elsewhere) == ALLOWED
    assert judging.unasked == {"www.a.test"}
    assert judging.pace().rest == Config().politeness.delay


def test_a_summary_says_how_many_why_not_and_how_long() -> None:
    """In words, each reason explained."""
    summary = MapSummary(
        ("http://a.test/",), "complete", "", 3, 2, 10, 7, {"robots": 3}, 1, 1, 7200.0, "a.test", 5.0, 4, 1000
    )
    console = terminal(160)
    print_summary(console, summary)
    shown = console.export_text()
    for fact in ("10 URLs in 2 files", "7 may be fetched, from 1 host", "3 refused: robots (", "2 h", "5 s between"):
        assert fact in shown
