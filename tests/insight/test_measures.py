"""`insight.measures`: the definitions of Schonfeld & Shivakumar (2009), with the numbers that the paper has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.insight.asked_collection import NOW, Made

from periplus.insight.measures import CLASSES, UrlSelection, measures, measures_by, measures_sql
from periplus.insight.views import MEASURES

A = "http://a.test"


def archive(made: Made, listed: int, copies: int, missing: int) -> None:
    """Listed pages, each of its own; copies of the first hundred of them, and more pages, which only links led to."""
    for number in range(listed):
        made.told(f"{A}/{number}", "sitemap")
        made.got(f"{A}/{number}", number + 1)
    for number in range(copies):
        made.told(f"{A}/{number % 100}?copy={number}", "link")
        made.got(f"{A}/{number % 100}?copy={number}", number % 100 + 1)
    for number in range(missing):
        made.told(f"{A}/more/{number}", "link")
        made.got(f"{A}/more/{number}", listed + number + 1)


def test_the_archive_of_the_paper(tmp_path: Path) -> None:
    """Three million crawled, 1.7 listed, a million missed copies, 300,000 missed pages: UniqueCoverage .85."""
    made = Made(tmp_path)
    archive(made, 340, 200, 60)  # a five-thousandth of it
    with made.views() as views:
        found = measures(views)
    assert (found.crawled, found.crawled_sitemaps, found.unique, found.unique_sitemaps) == (600, 340, 400, 340)
    assert found.coverage == pytest.approx(1.7 / 3)
    assert found.unique_coverage == pytest.approx(0.85)
    assert found.signal_to_noise_sitemaps == 1.0
    assert found.efficiency_discovery == pytest.approx(160 / 260)


def test_first_seen_shares_leave_ties_out(tmp_path: Path) -> None:
    """78 of 100 earlier in sitemaps and 22 later, as in the paper; what both saw at once counts for neither."""
    made = Made(tmp_path)
    for number in range(120):
        made.told(f"{A}/{number}", "sitemap", 10)
        made.told(f"{A}/{number}", "link", 30 if number < 78 else 5 if number < 100 else 10)
    with made.views() as views:
        found = measures(views)
    assert found.first_seen_share == pytest.approx(0.78)
    assert found.seen_both == 120
    assert found.seen_delta == pytest.approx(78 * 20 - 22 * 5)
    assert found.seen_delta_mean == pytest.approx((78 * 20 - 22 * 5) / 120)


def test_what_a_ping_adds(tmp_path: Path) -> None:
    """The share of Sitemaps among URLs of files that were announced by a ping, less that among the others."""
    made = Made(tmp_path)
    for name, origin in (("p", "ping"), ("r", "robots")):
        made.rows["sitemaps"].append({"url": f"{A}/{name}.xml", "site": "a.test", "origin": origin})
        for number in range(10):
            made.told(f"{A}/{name}{number}", "sitemap", 10, referrer=f"{A}/{name}.xml")
            made.told(f"{A}/{name}{number}", "link", 20 if number < (9 if name == "p" else 6) else 0)
    made.told(f"{A}/told", "ping", 10)
    made.told(f"{A}/told", "link", 20)
    with made.views() as views:
        found = measures(views)
    assert found.first_seen_share_pinged == pytest.approx(10 / 11)
    assert found.first_seen_share_unpinged == pytest.approx(0.6)
    assert found.ping_share == pytest.approx(10 / 11 - 0.6)


def test_index_coverage_and_utility(tmp_path: Path) -> None:
    """What forbids it, is not there, or names another URL is not indexed; the source of the indexed URL is credited."""
    made = Made(tmp_path)
    pages: list[tuple[str, str, dict[str, Any]]] = [("good", "sitemap", {})]
    pages += [("own", "link", {"canonical": f"{A}/own"}), ("hidden", "link", {"noindex": True})]
    pages += [("print", "sitemap", {"canonical": f"{A}/own"}), ("other", "link", {"canonical": f"{A}/unread"})]
    for number, (name, source, more) in enumerate(pages):
        made.told(f"{A}/{name}", source)
        made.got(f"{A}/{name}", 2 if name == "print" else number + 1, **more)
    made.told(f"{A}/gone", "sitemap")
    made.asked(f"{A}/gone", 404)
    with made.views() as views:
        found = measures(views)
        indexed = {row["url"] for row in views.rows("select url from indexed")}
        kept = {row["url"] for row in views.rows("select url from unique_pages")}
    assert indexed == {f"{A}/good", f"{A}/own"}
    assert (found.unique, found.unique_sitemaps) == (4, 2)  # print says what own says
    assert (found.indexed, found.indexed_sitemaps, found.indexed_discovery) == (2, 1, 1)
    assert found.utility == pytest.approx(0.5 / 0.5)
    assert kept == {f"{A}/good", f"{A}/print", f"{A}/hidden", f"{A}/other"}  # a listed URL stands for its cluster


def test_the_page_to_know_a_cluster_by(tmp_path: Path) -> None:
    """Without a sitemap the one of the highest PageRank, then the shortest, then the first in the alphabet."""
    made = Made(tmp_path)
    for number, names in enumerate((("x/long-and-loved", "x/short"), ("y/longer", "y/b", "y/a")), 1):
        for name in names:
            made.told(f"{A}/{name}", "link")
            made.got(f"{A}/{name}", number)
    made.told(f"{A}/", "seed")
    made.got(f"{A}/", 9, [f"{A}/x/long-and-loved"])
    with made.views() as views:
        found = views.rows("select url, pages from duplicates order by url")
    assert found == [{"url": f"{A}/x/long-and-loved", "pages": 2}, {"url": f"{A}/y/a", "pages": 3}]


def test_low_yield_urls_are_noise_and_out_of_scope_urls_are_not_seen(tmp_path: Path) -> None:
    """A sitemap of a thousand URLs that are all the same is as noisy as it is; the rest of the web is not its fault."""
    made = Made(tmp_path)
    made.told(f"{A}/", "sitemap")
    made.got(f"{A}/", 1)
    for number in range(9):
        made.told(f"{A}/?n={number}", "sitemap", refused="low-yield")
        made.told(f"http://b.test/{number}", "link", refused="out-of-scope")
    made.told(f"{A}/late", "link", refused="link-depth")
    made.told(f"{A}/late", "sitemap", 50)
    with made.views() as views:
        found = measures(views)
    assert (found.seen, found.seen_sitemaps, found.seen_discovery) == (11, 11, 0)
    assert found.signal_to_noise_sitemaps == pytest.approx(1 / 11)


def test_the_last_lasting_answer_says_how_a_page_is_doing(tmp_path: Path) -> None:
    """A timeout today does not unmake the page of yesterday; a 404 does, and 304 confirms it."""
    made = Made(tmp_path)
    for number, (name, status) in enumerate((("slow", None), ("busy", 503), ("gone", 404), ("same", 304)), 1):
        made.told(f"{A}/{name}", "link")
        made.got(f"{A}/{name}", number)
        more = {"outcome": "not-modified"} if status == 304 else {}
        made.asked(f"{A}/{name}", status, 5000, **more)
    with made.views() as views:
        pages = {row["url"] for row in views.rows("select url from urls where is_page")}
    assert pages == {f"{A}/slow", f"{A}/busy", f"{A}/same"}


def test_parts_of_a_collection(tmp_path: Path) -> None:
    """A domain, a site, a prefix; all conditions together; and nothing is None or 0, never an error."""
    made = Made(tmp_path)
    for number, name in enumerate(("a.test/docs/1", "a.test/docs/2", "www.a.test/", "b.test/docs/1", "b.test/it's"), 1):
        made.told(f"http://{name}", "link", number)
        made.got(f"http://{name}", number)
    with made.views() as views:
        assert measures(views, UrlSelection(domain="a.test")).seen == 3
        assert measures(views, UrlSelection(site="a.test")).seen == 2
        assert measures(views, UrlSelection(prefix="http://a.test/docs/")).unique == 2
        assert measures(views, UrlSelection(prefix="http://b.test/it's")).seen == 1
        assert measures(views, UrlSelection(site="b.test", since=NOW.timestamp() + 5)).seen == 1
        nothing = measures(views, UrlSelection(site="nowhere.test"))
        by_domain = measures_by(views, "domain")
        by_prefix = measures_by(views, "prefix", UrlSelection(domain="b.test"))
    assert (nothing.seen, nothing.unique, nothing.coverage, nothing.seen_delta) == (0, 0, None, None)
    assert {domain: each.seen for domain, each in by_domain.items()} == {"a.test": 3, "b.test": 2}
    assert {prefix: each.seen for prefix, each in by_prefix.items()} == {"http://b.test/docs/": 1, "http://b.test/": 1}


def test_a_span_takes_things_as_they_were_known_at_its_end(tmp_path: Path) -> None:
    """Whom it was told by later, and what it asked for later, was not known then."""
    made = Made(tmp_path)
    made.told(f"{A}/1", "link", 10)
    made.told(f"{A}/1", "sitemap", 90)
    made.got(f"{A}/1", 1, when=50)
    made.told(f"{A}/2", "sitemap", 20)
    made.got(f"{A}/2", 2, when=80)
    made.told(f"{A}/3", "link", 70)
    start = NOW.timestamp()
    with made.views() as views:
        then = measures(views, UrlSelection(since=start, until=start + 60))
        later = measures(views, UrlSelection(since=start + 60))
    assert (then.seen, then.seen_sitemaps, then.seen_both, then.crawled, then.unique) == (2, 1, 0, 1, 1)
    assert (then.coverage, then.seen_delta) == (0.0, None)
    assert (later.seen, later.crawled) == (1, 0)


def test_new_urls_over_time(tmp_path: Path) -> None:
    """Each URL counts once for each source, when that source first told of it."""
    made = Made(tmp_path)
    for number, (listed, linked) in enumerate(((0, 3700), (10, 20), (None, 7300))):
        for source, when in (("sitemap", listed), ("link", linked), ("link", 9000)):
            if when is not None:
                made.told(f"{A}/{number}", source, when)
    with made.views() as views:
        rows = views.rows("select epoch(hour) as began, source, urls from new_urls order by source, began")
        found = [((row["began"] - NOW.timestamp()) // 3600, row["source"], row["urls"]) for row in rows]
    assert found == [(0, "discovery", 1), (1, "discovery", 1), (2, "discovery", 1), (0, "sitemaps", 2)]


def test_what_sitemaps_missed(tmp_path: Path) -> None:
    """Every class, decided in the order of the paper's table; what was not crawled, or is listed, is not missed."""
    made = Made(tmp_path)
    listed = [f"{A}/listed/{number}" for number in range(12)]
    for number, url in enumerate(listed, 1):
        made.told(url, "sitemap")
        made.got(url, number)
    pages: dict[str, dict[str, object]] = {
        "listed/1?session=7": {"text": 2},
        "print/2": {"text": 3},
        "named?x=1": {"text": 100, "canonical": f"{A}/named"},
        "hidden": {"text": 101, "noindex": True},
        "index": {"text": 102, "links": listed, "main_length": 2000},
        "picture": {"text": 103, "main_length": 40, "resources": 3},
        "article": {"text": 104, "links": listed, "main_length": 20_000},
        "jump": {"text": 105, "refresh": f"{A}/listed/1"},
        "reload": {"text": 106, "refresh": f"{A}/reload"},
    }
    for name, facts in pages.items():
        made.told(f"{A}/{name}", "link")
        made.got(f"{A}/{name}", **facts)  # type: ignore[arg-type]
    for name, status in (("gone", 404), ("moved", 301), ("dead", None)):
        made.told(f"{A}/{name}", "link")
        made.asked(f"{A}/{name}", status, target=f"{A}/listed/1" if status == 301 else None)
    made.told(f"{A}/file.pdf", "link")
    made.asked(f"{A}/file.pdf")
    made.told(f"{A}/picture.cgi", "link")
    made.asked(f"{A}/picture.cgi", outcome="failed", reason="unwanted-type")
    made.told(f"{A}/never-asked", "link")
    with made.views() as views:
        found = {row["url"].removeprefix(f"{A}/"): row["class"] for row in views.rows("select url, class from missed")}
        summed = {row["class"]: row["urls"] for row in views.rows("select class, urls from missed_classes")}
    assert found == {
        "listed/1?session=7": "duplicate-parameter",
        "print/2": "duplicate-other",
        "named?x=1": "duplicate-parameter",
        "hidden": "noindex",
        "index": "table-of-contents",
        "picture": "media",
        "file.pdf": "media",
        "picture.cgi": "media",
        "article": "missing",
        "jump": "redirect",
        "reload": "missing",
        "gone": "error",
        "moved": "redirect",
        "dead": "error",
    }
    assert set(summed) == set(CLASSES)
    assert sum(summed.values()) == len(found)


def test_query_returns_the_measures(tmp_path: Path) -> None:
    """The SQL of a part, run as a query of its own."""
    made = Made(tmp_path)
    archive(made, 5, 3, 2)
    part = UrlSelection(site="a.test", prefix=f"{A}/", since=NOW.timestamp() - 1, until=NOW.timestamp() + 1e6)
    with made.views() as views:
        wanted = measures(views, part)
        answer = views.select(measures_sql(part))
        (row,) = answer.rows
    assert answer.names == [measure.name for measure in MEASURES]
    assert dict(zip(answer.names, row, strict=True)) == {name: getattr(wanted, name) for name in answer.names}
