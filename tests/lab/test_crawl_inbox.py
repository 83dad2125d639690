"""URLs that sites pushed while no crawl ran, or while one runs: they are fetched, and leave the inbox when logged."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Thread

import pytest
from tests.lab.crawling import rows
from tests.lab.scripted_web import ScriptedWeb, page, urlset

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.model import Discovery, Purpose, Source, Url
from periplus.store import MessageInbox
from periplus.store.layout import Layout

SEEDS = ["http://a.test/", "http://b.test/"]


def web() -> dict[str, str | bytes]:
    return {
        "http://a.test/": page("a"),
        "http://b.test/": page("b"),
        "http://a.test/pushed": page("pushed"),
        "http://b.test/listed": page("listed"),
        "http://b.test/news.xml": urlset("http://b.test/listed"),
    }


def push(folder: Path, *urls: str, purpose: Purpose = Purpose.PAGE) -> None:
    inbox = MessageInbox(Layout(folder).inbox)
    assert inbox.append([Discovery(Url(url), Source.PING, time.time(), purpose=purpose) for url in urls])
    inbox.close()


def left(folder: Path) -> int:
    inbox = MessageInbox(Layout(folder).inbox)
    try:
        return len(inbox)
    finally:
        inbox.close()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_urls_pushed_before_the_crawl(tmp_path: Path, workers: int) -> None:
    """Pages and sitemaps of every shard are fetched, URLs out of scope are not, and the inbox is empty then."""
    with ScriptedWeb(web()) as scripted:
        push(tmp_path, "http://a.test/pushed", "http://elsewhere.test/")
        push(tmp_path, "http://b.test/news.xml", purpose=Purpose.SITEMAP)
        config = Config().with_options(scripted.settings)
        open_crawl(config, tmp_path, seeds_from(SEEDS), workers).run()
        settle(tmp_path)
    assert {"http://a.test/pushed", "http://b.test/news.xml", "http://b.test/listed"} <= set(scripted.asked)
    assert "http://elsewhere.test/" not in scripted.asked
    assert left(tmp_path) == 0
    sources = {row["url"]: row["source"] for row in rows(tmp_path, "select url, source from discoveries")}
    assert (sources["http://a.test/pushed"], sources["http://b.test/listed"]) == ("ping", "sitemap")


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_urls_pushed_during_a_watch(tmp_path: Path, workers: int) -> None:
    """A watch that has nothing else to do takes a new URL from the inbox and fetches it."""
    with ScriptedWeb(web()) as scripted:
        config = Config().with_options(scripted.settings)
        open_crawl(config, tmp_path, seeds_from(SEEDS), workers).run()
        config = config.with_options({"watch.visits_a_day": 10_000_000})
        watch = open_crawl(config, tmp_path, seeds_from(SEEDS), workers, watches=True)
        runner = Thread(target=watch.run)
        runner.start()
        try:
            push(tmp_path, "http://a.test/pushed")
            until = time.monotonic() + 600
            while time.monotonic() < until and (left(tmp_path) or "http://a.test/pushed" not in scripted.asked):
                time.sleep(0.05)
        finally:
            watch.stop()
            runner.join()
    assert "http://a.test/pushed" in scripted.asked
    assert left(tmp_path) == 0


def test_more_urls_than_are_taken_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crawl does not end before the inbox is empty."""
    monkeypatch.setattr("periplus.engine.sharding.crawl.MAX_PUSHED", 7)
    pages: dict[str, str | bytes] = {f"http://a.test/{number}": page(str(number)) for number in range(20)}
    with ScriptedWeb(web() | pages) as scripted:
        push(tmp_path, *pages)
        open_crawl(Config().with_options(scripted.settings), tmp_path, seeds_from(SEEDS), 1).run()
    assert set(pages) <= set(scripted.asked)
    assert left(tmp_path) == 0
