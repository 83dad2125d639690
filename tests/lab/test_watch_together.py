"""The lab watched by two processes, in a time that runs: budgets move between them, and their sum holds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.lab.watching import DAY, OPTIONS

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl
from periplus.collection.seeds import seeds_from
from periplus.engine.clock import Timescale
from periplus.engine.revisit.records import RevisitState
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus_lab import World
from periplus_lab.server import RunningClock, RunningLab, Server, SteppedClock
from periplus_lab.sites import Profile

SPEED = 20_000.0
BUDGET = 200
ROBOTS = "/robots.txt"


def share_of(folder: Path, number: int) -> float:
    """What a shard has of the visits, as it is kept."""
    state = DiskState.read_only(Layout(folder).shard(number))
    revisits = state.meta(RevisitState)
    state.close()
    assert revisits is not None
    assert revisits.parts == 2
    return revisits.granted / revisits.total


@pytest.mark.slow
def test_two_shards_spend_one_budget(tmp_path: Path) -> None:
    """Two days in some seconds: no more requests than the budget has, and the shares of it sum to one."""
    world = World(5, 4, pages=60, profiles=[Profile.NEWS])
    seeds = seeds_from([site.url for site in world.sites()])
    options = OPTIONS | {"watch.visits_a_day": BUDGET}
    with RunningLab(Server(world, SteppedClock(world.epoch))) as lab:
        scale = Timescale(time.time(), world.epoch, 1.0)
        config = Config().with_options(options | {"wire.proxy": lab.base, "engine.checkpoint_interval": 0.2})
        open_crawl(config, tmp_path, seeds, 2, scale=scale).run()
    clock = RunningClock(world.epoch + 600.0, SPEED)
    with RunningLab(Server(world, clock)) as lab:
        scale = Timescale(time.time(), clock.now(), SPEED)
        config = Config().with_options({"wire.proxy": lab.base} | options)
        crawl = open_crawl(config, tmp_path, seeds, 2, watches=True, scale=scale)
        before, began_at, both_at, prices = lab.log.total, clock.now(), 0.0, []
        for statuses in crawl.progress():
            told = [status.bid for status in statuses if status.bid is not None]
            if len(told) == 2:
                both_at = both_at or clock.now()
                prices = [bid.price for bid in told]
                assert {bid.whole for bid in told} == {BUDGET}
                if clock.now() > both_at + 2 * DAY:
                    crawl.stop()
        days = (clock.now() - began_at) / DAY
        visits = [visit for visit in lab.log.visits()[before:] if not visit.target.endswith(ROBOTS)]
        shares = [share_of(tmp_path, number) for number in (0, 1)]
    assert BUDGET * 0.5 < len(visits) <= BUDGET * days + 2
    assert all(price > 0.0 for price in prices)
    assert sum(shares) == pytest.approx(1.0, abs=0.05)
    assert shares != [0.5, 0.5]
