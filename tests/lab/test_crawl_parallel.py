"""Several requests at once to each of many sites: every page is fetched, nothing is asked for twice, and it ends."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.lab.crawling import rows
from tests.lab.scripted_web import ScriptedWeb, page

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from

SITES, PAGES = 12, 20
ALIKE = ("/lost", "/shop/item/7", "/news/today.html", "/a/b/c/d", "/old/index.php")
SECONDS = 120.0
"""The crawl takes one or two; one that stands still ends here, unfinished."""


def many_sites() -> dict[str, str | bytes]:
    """Sites that link to one another, each with some pages that say the same: those are compared with a probe."""
    web: dict[str, str | bytes] = {}
    for number in range(SITES):
        home, last = f"http://s{number}.test/", f"http://s{(number + 1) % SITES}.test/"
        own = [f"/p{each}" for each in range(PAGES)]
        web[home] = page(f"home {number}", *own, *ALIKE, last)
        web.update({f"{home[:-1]}{path}": page(f"page {path} of {number}", *own[:5]) for path in own})
        web.update({f"{home[:-1]}{path}": page(f"a sorry word of site {number}") for path in ALIKE})
    return web


@pytest.mark.proof
@pytest.mark.parametrize(("parallel", "pages_per_visit"), [(1, 1), (4, 3), (16, 1), (16, 8)])
def test_every_page_is_fetched_once(tmp_path: Path, parallel: int, pages_per_visit: int) -> None:
    """Whatever the number of requests at once, a URL is asked for once, be it a page or a probe."""
    web = many_sites()
    with ScriptedWeb(web) as served:
        options: dict[str, object] = {
            "crawl.for": SECONDS,
            "politeness.max_parallel": parallel,
            "politeness.pages_per_visit": pages_per_visit,
            "scope.kind": "any",
        }
        config = Config().with_options(served.settings | options)
        crawl = open_crawl(config, tmp_path, seeds_from(["http://s0.test/"]), 1)
        statuses = crawl.run()
    settle(tmp_path)
    assert all(status.is_idle for status in statuses), "the crawl did not end by itself"
    fetched = {row["url"] for row in rows(tmp_path, "select url from pages")}
    assert fetched == set(web)
    probed = rows(tmp_path, "select distinct site from fetches where purpose = 'probe'")
    assert len(probed) == SITES
    assert {url: count for url, count in Counter(served.asked).items() if count > 1} == {}
