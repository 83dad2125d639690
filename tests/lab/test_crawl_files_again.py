"""Files that sites publish, visited again: what says the same is not read, and what cannot be had is remembered."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.lab.crawling import by_proxy, crawl, make_files_due, rows, standing
from tests.lab.scripted_web import ScriptedWeb, page, urlset

from periplus.engine.revisit.evidence import SignalKind, unpack_page
from periplus.model import Url
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus_lab import World
from periplus_lab.hostile import REGISTRY

HOME = "http://a.test/"
FILE = "http://a.test/sitemap.xml"
LAST = """select * exclude (visited_at, first_seen_at, read_at, due_at, lastmod)
          from sitemaps qualify row_number() over (partition by url order by visited_at desc) = 1"""


def site(*listed: str, robots: str = "Sitemap: http://a.test/sitemap.xml\n") -> dict[str, str | bytes]:
    """A site whose sitemap lists these pages."""
    said: dict[str, str | bytes] = {HOME: page("home"), "http://a.test/robots.txt": robots}
    said |= {url: page(url) for url in listed}
    return said | {FILE: urlset(*listed)}


def readings(folder: Path) -> int:
    """How often a file was read to its end."""
    return len(rows(folder, "select 1 from sitemap_entries where kind = 'summary'"))


def test_the_same_bytes_are_not_read_again(tmp_path: Path) -> None:
    """Also from a server that knows no conditions. What is added later is found, and nothing else is queued again."""
    listed = [f"http://a.test/{number}" for number in range(5)]
    with ScriptedWeb(site(*listed), knows_etags=False) as web:
        crawl(tmp_path, [HOME], web.settings)
        make_files_due(tmp_path)
        crawl(tmp_path, [HOME], web.settings)
        assert (web.asked.count(FILE), readings(tmp_path)) == (2, 1)
        web.said |= site(*listed, "http://a.test/new")
        make_files_due(tmp_path)
        crawl(tmp_path, [HOME], web.settings)
    assert (web.asked.count(FILE), readings(tmp_path)) == (3, 2)
    assert web.asked.count("http://a.test/new") == web.asked.count("http://a.test/0") == 1
    [node] = rows(tmp_path, LAST)
    assert (node["entries"], node["visits"], node["changes"], node["outcome"]) == (6, 3, 1, None)


def test_shorter_intervals_hold_for_files_that_were_read_before(tmp_path: Path) -> None:
    """A file that is due tomorrow is read by the next crawl, if the settings now say so; and otherwise is not."""
    with ScriptedWeb(site("http://a.test/1")) as web:
        for shortest, longest, asked in ((3600.0, 86400.0, 1), (60.0, 86400.0, 1), (0.01, 0.02, 2)):
            crawl(tmp_path, [HOME], web.settings | {"revisit.shortest": shortest, "revisit.longest": longest})
            assert web.asked.count(FILE) == asked


def test_a_file_that_robots_forbid_is_not_asked_for_and_says_so(tmp_path: Path) -> None:
    """Its node knows why, and the crawl ends."""
    robots = "User-agent: *\nDisallow: /sitemap.xml\nSitemap: http://a.test/sitemap.xml\n"
    with ScriptedWeb(site("http://a.test/1", robots=robots)) as web:
        crawl(tmp_path, [HOME], web.settings)
    assert FILE not in web.asked
    [node] = rows(tmp_path, LAST)
    assert (node["url"], node["outcome"], node["failures"], node["entries"]) == (FILE, "robots", 1, 0)


@pytest.mark.proof
def test_redirects_between_hosts_are_bounded(tmp_path: Path) -> None:
    """Every URL of some hosts leads to another host: neither their files nor their robots.txt lead us on forever."""
    world = World(3, 1, pages=10)
    host = REGISTRY["redirect-storm"].host
    with standing(world) as lab:
        for workers in (2,):
            settings = by_proxy(lab) | {
                "politeness.delay": 0.0,
                "politeness.slow_factor": 0.0,
                "sitemaps.follow": True,
                "retries.backoff": 0.02,
            }
            crawl(tmp_path / str(workers), [f"http://{host}/"], settings, workers)
            assert len({visit.host for visit in lab.log.visits()}) < 100
            lab.log.clear()


def test_usual_places_are_looked_at_one_after_the_other(tmp_path: Path) -> None:
    """Where robots.txt names nothing, until one is found."""
    said = site("http://a.test/1", robots="")
    said["http://a.test/sitemap-index.xml"] = said.pop(FILE)
    with ScriptedWeb(said) as web:
        crawl(tmp_path, [HOME], web.settings)
    guesses = [url for url in web.asked if "sitemap" in url]
    assert guesses == [
        "http://a.test/sitemap.xml",
        "http://a.test/sitemap_index.xml",
        "http://a.test/sitemap-index.xml",
    ]
    assert "http://a.test/1" in web.asked
    retired = {node["url"]: node["retired"] for node in rows(tmp_path, LAST)}
    assert retired == dict(zip(guesses, ["gone", "gone", None], strict=True))


def test_a_page_that_a_feed_reports_as_deleted_is_told_to_have_changed(tmp_path: Path) -> None:
    """It is due for a visit, which will find that it is gone. One that was never seen is not asked for."""
    entries = "".join(f'<entry><link href="{HOME}{number}"/><id>{HOME}{number}</id></entry>' for number in (1, 2))
    head = '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/tombstones/1.0">'
    with ScriptedWeb(site(f"{HOME}1", f"{HOME}2") | {FILE: f"{head}{entries}</feed>"}) as web:
        crawl(tmp_path, [HOME], web.settings)
        when = datetime.now(UTC).isoformat()
        gone = "".join(f'<at:deleted-entry ref="{HOME}{number}" when="{when}"/>' for number in (2, 9))
        web.said[FILE] = f"{head}{entries}{gone}</feed>"
        make_files_due(tmp_path)
        crawl(tmp_path, [HOME], web.settings)
    assert f"{HOME}9" not in web.asked
    state = DiskState.read_only(Layout(tmp_path).shard(0))
    try:
        known = state.records.get([Url(f"{HOME}1"), Url(f"{HOME}2"), Url(f"{HOME}9")])
    finally:
        state.close()
    signals = [None if each is None else unpack_page(each.evidence).signals[SignalKind.FEED] for each in known]
    assert signals == [0, 1, None]
