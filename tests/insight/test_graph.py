"""`insight.graph`: PageRank, clicks and own links from the tables of a collection; and the views on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.insight.asked_collection import Made

from periplus.graph import pagerank

A, B = "http://a.test", "http://b.test"
DAY = 86_400


def test_pagerank_of_links_and_redirects(tmp_path: Path) -> None:
    """A link twice counts twice, a redirect is a link, and what asks not to be followed is none."""
    made = Made(tmp_path)
    for url in (f"{A}/", f"{A}/1", f"{A}/2", f"{A}/old"):
        made.told(url, "seed" if url == f"{A}/" else "link")
    made.got(f"{A}/", 1, [f"{A}/1", f"{A}/1", f"{A}/2"])
    made.link(f"{A}/", f"{A}/spam", rel="noopener nofollow")
    made.link(f"{A}/", f"{A}/2", rel="nofollowed")
    made.got(f"{A}/1", 2, [f"{A}/old"])
    made.asked(f"{A}/old", 301, target=f"{A}/")
    with made.views() as views:
        found = {row["url"]: row for row in views.rows("select * from ranks")}
    wanted = pagerank([0, 0, 0, 0, 1, 3], [1, 1, 2, 2, 3, 0], 4)
    urls = [f"{A}/", f"{A}/1", f"{A}/2", f"{A}/old"]
    assert [found[url]["pagerank"] for url in urls] == pytest.approx(list(wanted), abs=1e-6)
    assert [found[url]["inlinks"] for url in urls] == [1, 2, 2, 1]
    assert [found[url]["clicks"] for url in urls] == [0, 1, 1, 2]


def test_of_a_page_that_was_read_again_the_last_links_count(tmp_path: Path) -> None:
    """Links that are no longer there pass nothing on, and lead nowhere."""
    made = Made(tmp_path)
    for name in ("", "before", "after"):
        made.told(f"{A}/{name}", "link" if name else "seed")
    made.got(f"{A}/", 1, [f"{A}/before"], when=100)
    made.got(f"{A}/", 1, [f"{A}/after"], when=5000)
    with made.views() as views:
        found = {row["url"]: row["clicks"] for row in views.rows("select * from ranks")}
    assert found == {f"{A}/": 0, f"{A}/after": 1}


def test_own_links_are_not_of_the_frame(tmp_path: Path) -> None:
    """What a third of a site's pages link to is its frame; links to other sites are not of the site."""
    made = Made(tmp_path)
    frame = [f"{A}/", f"{A}/about"]
    names = [f"{A}/{number}" for number in range(20)]
    for url in [*frame, *names]:
        made.told(url, "link")
    made.told(f"{B}/", "link")
    made.got(f"{A}/", 1, [*frame, *names, f"{B}/"])
    for number, url in enumerate(names, 2):
        made.got(url, number, frame)
    with made.views() as views:
        found = {row["url"]: row["own_links"] for row in views.rows("select url, own_links from urls")}
    assert (found[f"{A}/"], found[f"{A}/3"], found[f"{B}/"]) == (20, 0, 0)


def test_depth_and_cumulative_ranks(tmp_path: Path) -> None:
    """Every rank is at one depth; what no click reaches comes last; visits add up to all that was visited."""
    made = Made(tmp_path)
    made.told(f"{A}/", "seed")
    made.got(f"{A}/", 1, [f"{A}/1", f"{A}/2"], when=100)
    made.told(f"{A}/1", "link")
    made.got(f"{A}/1", 2, when=200)
    made.told(f"{A}/2", "link")
    made.told(f"{A}/orphan", "sitemap")
    made.got(f"{A}/orphan", 3, [f"{A}/"], when=300)
    with made.views() as views:
        depths = views.rows("select * from depth_ranks order by clicks nulls last")
        visits = views.rows("select pages, share from cumulative_ranks order by pages")
        ranks = {row["url"]: row["pagerank"] for row in views.rows("select url, pagerank from urls")}
    assert [(row["clicks"], row["urls"]) for row in depths] == [(0, 1), (1, 2), (None, 1)]
    assert sum(row["pagerank"] for row in depths) == pytest.approx(1)
    assert [row["pages"] for row in visits] == [1, 2, 3]
    assert visits[-1]["share"] == pytest.approx(1 - ranks[f"{A}/2"])


def test_sites_are_ranked_by_the_links_between_them(tmp_path: Path) -> None:
    """Links within a site say how large it is, not how well linked."""
    made = Made(tmp_path)
    for url in (f"{A}/", f"{A}/1", f"{B}/"):
        made.told(url, "seed")
    made.got(f"{A}/", 1, [f"{A}/1", f"{A}/1", f"{A}/1", f"{B}/"])
    made.got(f"{A}/1", 2, [f"{A}/"])
    made.got(f"{B}/", 3)
    with made.views() as views:
        found = {row["site"]: row for row in views.rows("select * from site_ranks")}
    wanted = pagerank([0], [1], 2)
    assert [found[site]["pagerank"] for site in ("a.test", "b.test")] == pytest.approx(list(wanted), abs=1e-6)
    assert sum(row["held"] for row in found.values()) == pytest.approx(1)
    assert (found["a.test"]["urls"], found["a.test"]["pages"]) == (2, 2)


def test_hubs_spawn_what_they_lead_to_later(tmp_path: Path) -> None:
    """What a page had when it was first read was there before; what later readings find is new, by the day."""
    made = Made(tmp_path)
    made.told(f"{A}/news", "seed")
    for day in range(5):
        made.read(f"{A}/news", 1, when=day * DAY)
    for day, count in enumerate((7, 2, 0, 1, 3)):
        for number in range(count):
            made.told(f"{A}/{day}-{number}", "link", day * DAY, referrer=f"{A}/news")
    made.told(f"{A}/0-0", "link", 3 * DAY, referrer=f"{A}/news", is_new=False)
    with made.views() as views:
        (hub,) = views.rows("select * from hubs")
    assert (hub["page"], hub["readings"], hub["introduced"], hub["spawned"]) == (f"{A}/news", 5, 13, 6)
    assert hub["spawned_a_day"] == pytest.approx(1.5)
