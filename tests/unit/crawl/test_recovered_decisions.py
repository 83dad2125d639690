"""What a process decided by itself between two answers is decided again when its notes are gone through.

Refusals are in no journal, nor is what follows from them or from the time of day; nothing is committed here but seeds.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb, page, urlset

from periplus.assembly import Layout, ShardMaker, open_shard, seeds_from
from periplus.config import Config
from periplus.crawl.clock import SystemClock
from periplus.crawl.shard import Shard
from periplus.crawl.sitemaps.store import SitemapStore
from periplus.model import Discovery, Source, Url
from periplus.store import DiskState

HOME = "http://a.test"


class Crawled:
    """A site that is crawled by one shard, which may be left as if killed."""

    def __init__(self, folder: Path, web: ScriptedWeb, **options: object) -> None:
        self.layout = Layout(folder)
        self.seeds = seeds_from([f"{HOME}/"])
        never = {"engine.checkpoint_interval": 1e6, "churn.instant": 0.0}
        named = {name.replace("__", "."): value for name, value in options.items()}
        self.config = Config().with_options(web.settings | never | named)

    def open(self) -> Shard:
        return open_shard(ShardMaker(self.config, self.layout.folder, tuple(self.seeds)), self.layout, 0, 1)

    def seeded(self) -> Shard:
        shard = self.open()
        shard.discover([Discovery(seed, Source.SEED, SystemClock().now()) for seed in self.seeds])
        return shard

    def run(self, shard: Shard, seconds: float = 20.0) -> Shard:
        """Until nothing is left, or so long."""
        until = time.monotonic() + seconds
        while not shard.status().is_idle and time.monotonic() < until:
            shard.step(0.02)
        return shard


def test_a_guess_that_was_refused_leads_to_the_next(tmp_path: Path) -> None:
    """robots.txt forbids the first usual place of a sitemap; that it lies in the second was found out already."""
    said: dict[str, str | bytes] = {
        f"{HOME}/": page("home", "/p1"),
        f"{HOME}/p1": page("one"),
        f"{HOME}/robots.txt": "User-agent: *\nDisallow: /sitemap.xml\n",
        f"{HOME}/sitemap_index.xml": urlset(f"{HOME}/p2"),
        f"{HOME}/p2": page("two"),
    }
    with ScriptedWeb(said) as web:
        crawled = Crawled(tmp_path, web)
        shard = crawled.run(crawled.seeded())
        before = shard.status()
        shard.close()
        asked = sorted(web.asked)
        again = crawled.run(crawled.open(), 5.0)
        after = again.status()
        again.close()
        assert f"{HOME}/sitemap_index.xml" in asked
        assert sorted(web.asked) == asked
    assert (after.tally.fetches, after.tally.pages) == (before.crawl.fetches, before.crawl.pages)


def test_files_are_read_at_the_time_at_which_they_came(tmp_path: Path) -> None:
    """However long nobody opened the collection: when to read one again follows from that time."""
    said: dict[str, str | bytes] = {
        f"{HOME}/": page("home"),
        f"{HOME}/robots.txt": f"Sitemap: {HOME}/s.xml",
        f"{HOME}/s.xml": urlset(f"{HOME}/p1"),
        f"{HOME}/p1": page("one"),
    }
    with ScriptedWeb(said) as web:
        crawled = Crawled(tmp_path, web)
        crawled.run(crawled.seeded()).close()
        died_at = SystemClock().now()
        time.sleep(0.5)
        crawled.open().close()
    state = DiskState.read_only(crawled.layout.shard(0))
    node = SitemapStore(state).get(Url(f"{HOME}/s.xml"))
    [record] = state.records.get([Url(f"{HOME}/p1")])
    state.close()
    assert node is not None
    assert node.read_at is not None
    assert node.read_at <= died_at
    assert record is not None
    assert record.first_seen[0].at <= died_at


@pytest.mark.parametrize("kills", [1, 3])
def test_a_page_that_failed_waits_for_its_next_attempt(tmp_path: Path, kills: int) -> None:
    """Whoever opens the collection does not try at once, again and again, until the page is given up."""
    said: dict[str, str | bytes] = {f"{HOME}/": page("home", "/p1"), f"{HOME}/robots.txt": ""}
    with ScriptedWeb(said) as web:
        web.failing = {f"{HOME}/p1"}
        crawled = Crawled(tmp_path, web, retries__backoff=60.0, sitemaps__follow=False)
        shard = crawled.seeded()
        for _ in range(kills):
            crawled.run(shard, 1.0).close()
            shard = crawled.open()
        shard.close()
        assert web.asked.count(f"{HOME}/p1") == 1
