"""What a crawl takes for a change, held against the truth of a web whose pages churn in their main text."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.lab.churning import ChurningWorld
from tests.lab.crawling import by_proxy, make_due, rows, standing

from periplus.collection.config.settings import Config
from periplus.collection.seeds import seeds_from
from periplus.collection.shards import ShardMaker, open_shard
from periplus.content import Churn
from periplus.content.churn import MAX_BLOCKS
from periplus.engine.clock import SystemClock
from periplus.model import ChangeLevel, Discovery, Site, Source
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus_lab.server import SteppedClock
from periplus_lab.sites import Validation

DAY = 86_400.0
DAYS = 5
OPTIONS: dict[str, object] = {
    "scope.kind": "host",
    "sitemaps.follow": False,
    "politeness.delay": 0.0,
    "politeness.slow_factor": 0.0,
    "retries.backoff": 0.02,
    "churn.instant": 0.0,  # the lab's days pass within seconds
}
LEVELS = {"same": 0, "raw-only": 1, "template": 2, "elsewhere": 3, "minor": 4, "major": 5}


class Judged(NamedTuple):
    """Of visits: how many changes were told that were, that were not, and that were and were not told."""

    right: int
    wrong: int
    missed: int


def judged(pairs: list[tuple[int, ChangeLevel]]) -> Judged:
    told = [(level >= ChangeLevel.MAJOR, truth >= ChangeLevel.MAJOR) for level, truth in pairs]
    return Judged(told.count((True, True)), told.count((True, False)), told.count((False, True)))


def go_on(folder: Path, seed: str, options: dict[str, object]) -> None:
    """Visit all that waits, in this process."""
    seeds, layout = seeds_from([seed]), Layout(folder)
    shard = open_shard(ShardMaker(Config().with_options(options), folder, seeds), layout, 0, 1)
    shard.discover([Discovery(url, Source.SEED, SystemClock().now()) for url in seeds])
    while not shard.is_idle:
        shard.step(0.01)
    shard.stop(0.0)
    shard.close()


def visited_daily(folder: Path, world: ChurningWorld, host: str) -> list[list[tuple[int, ChangeLevel]]]:
    """Of each day what was told of each page, and the truth; a site's pages are visited as long as they exist."""
    days, told = [], 0
    with standing(world) as lab:
        assert isinstance(lab.clock, SteppedClock)
        options = by_proxy(lab) | OPTIONS
        go_on(folder, f"http://{host}/", options)
        known = {row["url"] for row in rows(folder, "select url from pages")}
        for _ in range(DAYS):
            before = lab.clock.now()
            lab.clock.advance(DAY)
            now = lab.clock.now()
            make_due(folder, sorted(url for url in known if world.exists(url, before) and world.exists(url, now)))
            go_on(folder, f"http://{host}/", options)
            seen = rows(folder, f"select url, level from changes order by seen_at offset {told}")
            told += len(seen)
            days.append([(LEVELS[row["level"]], world.change_level(row["url"], before, now)) for row in seen])
    return days


def test_what_churns_is_learnt_and_what_changes_is_told(tmp_path: Path) -> None:
    """At first all of a site seems to change every day; after a few comparisons only what does. Nothing is missed."""
    world = ChurningWorld(11, 12, pages=400)
    [site, *_] = [each for each in world.sites() if 0 < each.churn_every <= 600]
    assert site.validation is Validation.HONEST
    days = [judged(day) for day in visited_daily(tmp_path, world, site.host)]
    assert [day.missed for day in days] == [0] * DAYS
    assert all(day.right for day in days)
    assert all(day.wrong >= 5 for day in days[:1])
    assert [day.wrong for day in days[2:]] == [0] * (DAYS - 2)
    state = DiskState.read_only(Layout(tmp_path).shard(0))
    [known] = state.sites.get([Site(site.host)])
    records = list(state.records.of_site(Site(site.host)))
    state.close()
    assert known is not None
    assert Churn(record=known.churn).parts >= 2  # the quotation and the advertisement
    assert known.churn.compared == sum(max(record.visits - 2, 0) for record in records)
    assert 0 < max(len(record.blocks) for record in records) <= 8 * MAX_BLOCKS


def test_crawl_without_revisits_keeps_no_parts(tmp_path: Path) -> None:
    """A crawl that sees each page once keeps nothing of its parts."""
    world = ChurningWorld(11, 12, pages=400)
    with standing(world) as lab:
        go_on(tmp_path, world.sites()[-1].url, by_proxy(lab) | OPTIONS)
    state = DiskState.read_only(Layout(tmp_path).shard(0))
    records = list(state.records.of_site(Site(world.sites()[-1].host)))
    state.close()
    assert any(record.version for record in records)
    assert not any(record.blocks for record in records)
