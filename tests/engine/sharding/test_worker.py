"""The loop of one shard: what messages change, and what they do not."""

from __future__ import annotations

from pathlib import Path

from periplus.collection.config.settings import Config
from periplus.collection.shards import ShardMaker
from periplus.engine.sharding.messages import Orders, Posted
from periplus.engine.sharding.worker import ShardWorker
from periplus.model import Url


def test_orders_that_say_the_same_again_leave_a_shard_quiet(tmp_path: Path) -> None:
    """On a cluster they come with every answer; only when all shards are quiet at once does a crawl end."""
    shard = ShardMaker(Config(), tmp_path / "docs", (Url("https://a.test/"),))(0, 2)
    posted: list[Posted] = []
    worker = ShardWorker(shard, (), posted.append)
    try:
        worker.handle(Orders(1, None))
        assert not shard.status().is_quiet
        while not shard.status().is_quiet:
            shard.step(0.01)
        for number in (1, 1, 2):
            worker.handle(Orders(number, None))
            assert shard.status().is_quiet
        worker.handle(Orders(3, 5))
        assert not shard.status().is_quiet
        while not shard.status().is_quiet:
            shard.step(0.01)
        worker.handle(Orders(4, 5, is_spent=True))
        assert not shard.status().is_quiet
    finally:
        shard.close()
