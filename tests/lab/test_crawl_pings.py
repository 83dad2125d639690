"""Somebody says that something is new or has changed while a crawl runs: it is heard at once, and asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.crawling import rows
from tests.lab.scripted_web import ScriptedWeb, page, urlset

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.model import Url

SEEDS = ["http://a.test/", "http://b.test/", "http://c.test/"]
NEWS = "http://b.test/news.xml"


def said() -> dict[str, str | bytes]:
    web: dict[str, str | bytes] = {seed: page(seed) for seed in SEEDS}
    web["http://c.test/robots.txt"] = "User-agent: *\nDisallow: /private\n"
    return web | {"http://b.test/told": page("told"), "http://c.test/private": page("private")}


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_a_ping_tells_is_fetched(tmp_path: Path, workers: int) -> None:
    """Pages and what sitemaps list, wherever their site lies; not what robots forbid or what is out of scope."""
    with ScriptedWeb(said() | {NEWS: urlset("http://b.test/told")}) as web:
        config = Config().with_options(web.settings)
        crawl = open_crawl(config, tmp_path, seeds_from(SEEDS), workers)
        crawl.ping([Url("http://c.test/private"), Url("http://elsewhere.test/")], [Url(NEWS)])
        crawl.run()
        settle(tmp_path)
    assert NEWS in web.asked
    assert web.asked.count("http://b.test/told") == 1
    assert "http://c.test/private" not in web.asked
    assert "http://elsewhere.test/" not in web.asked
    [told] = rows(tmp_path, "select origin, entries, outcome from sitemaps where kind = 'urlset'")
    assert (told["origin"], told["entries"], told["outcome"]) == ("ping", 1, None)
    sources = {row["url"]: row["source"] for row in rows(tmp_path, "select url, source from discoveries")}
    assert (sources["http://b.test/told"], sources["http://c.test/private"]) == ("sitemap", "ping")


def test_a_file_that_changed_is_read_at_once(tmp_path: Path) -> None:
    """Though it is not due for long; and a page that it lists now is found."""
    with ScriptedWeb(said() | {NEWS: urlset("http://b.test/")}) as web:
        config = Config().with_options(web.settings | {"sitemaps.submitted": [NEWS]})
        open_crawl(config, tmp_path, seeds_from(SEEDS), 1).run()
        web.said[NEWS] = urlset("http://b.test/", "http://b.test/told")
        crawl = open_crawl(Config().with_options(web.settings), tmp_path, seeds_from(SEEDS), 1)
        crawl.ping(sitemaps=[Url(NEWS)])
        crawl.run()
        settle(tmp_path)
    assert web.asked.count(NEWS) == 2
    assert web.asked.count("http://b.test/told") == 1
