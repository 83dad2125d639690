"""The courier: to whom a discovery goes, when a batch leaves and is acknowledged, and what is told of moved seeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from periplus.config import Config
from periplus.crawl.courier import BATCH, WINDOW, Courier
from periplus.crawl.placement import owner_of
from periplus.crawl.scheduler import CrawlScheduler
from periplus.model import Batch, Discovery, FetchTask, Lane, Purpose, Redirected, Site, Source, Url
from periplus.policy.filters import Scope, screening_chain, standard_chain
from periplus.policy.ordering import ordering
from periplus.store import DiskState, MemoryEventSink

SEED = Url("http://seed.test/")
HOME = Url("http://new-home.example/")
OWN = next(host for host in (f"h{n}.seed.test" for n in range(99)) if owner_of(Site(host), 2) == 0)
FOREIGN = next(host for host in (f"h{n}.seed.test" for n in range(99)) if owner_of(Site(host), 2) == 1)


def link(host: str, number: int = 0) -> Discovery:
    return Discovery(Url(f"http://{host}/{number}"), Source.LINK, 0.0, depth=1, referrer=SEED)


class Shard:
    """Shard 0 of 2, as far as its courier needs one."""

    def __init__(self, folder: Path) -> None:
        self.state = DiskState(folder)
        self.events = MemoryEventSink()
        scope = Scope([SEED])
        filters = Config().filters
        self.scheduler = CrawlScheduler(
            self.state,
            guard=standard_chain(scope, filters, recall=lambda site: b""),
            ordering=ordering("breadth_first"),
            events=self.events,
            agent="Periplus",
            random=Random(0),
        )
        self.courier = Courier(
            0, 2, scheduler=self.scheduler, screen=screening_chain(scope, filters), scope=scope, state=self.state,
            events=self.events,
        )  # fmt: skip

    def commit(self) -> None:
        self.courier.before_commit()
        self.state.commit()
        self.courier.after_commit()


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[Shard]:
    made = Shard(tmp_path)
    yield made
    made.state.close()


def test_own_discoveries_stay_and_others_leave_after_the_commit(shard: Shard) -> None:
    """What is not committed has not happened, so nobody may hear of it; until it is acknowledged it is not quiet."""
    shard.courier.deliver([link(OWN), link(FOREIGN)], 0.0)
    assert len(shard.state.records) == 1
    assert shard.courier.collect() == ([], [], {})
    assert not shard.courier.is_quiet
    shard.commit()
    _, [batch], _ = shard.courier.collect()
    assert batch == Batch.of(0, 1, 1, (link(FOREIGN),))
    assert shard.courier.collect() == ([], [], {})
    assert not shard.courier.is_quiet
    shard.courier.acknowledged(1, 1)
    assert shard.courier.is_quiet


def test_what_no_shard_would_want_does_not_travel(shard: Shard) -> None:
    """It is refused here, with a row."""
    shard.courier.deliver([link("elsewhere.example"), link("h1.elsewhere.example")], 0.0)
    shard.commit()
    assert shard.courier.collect()[1] == []
    assert len(shard.events.events) == 2


def test_what_waits_for_a_commit_is_bounded(shard: Shard) -> None:
    """A batch goes to the state when it is full; no more than some are under way, and the rest follows."""
    for start in range(0, (WINDOW + 6) * BATCH, 500):
        shard.courier.deliver([link(FOREIGN, start + number) for number in range(500)], 0.0)
        assert sum(map(len, shard.courier._foreign.values())) < BATCH
    shard.commit()
    first = shard.courier.collect()[1]
    assert [batch.number for batch in first] == list(range(1, WINDOW + 1))
    shard.courier.acknowledged(1, WINDOW)
    shard.commit()
    rest = shard.courier.collect()[1]
    assert [batch.number for batch in rest] == list(range(WINDOW + 1, WINDOW + 7))
    assert sum(len(batch.discoveries) for batch in first + rest) == (WINDOW + 6) * BATCH


def test_a_batch_is_taken_once_and_acknowledged_after_the_commit(shard: Shard) -> None:
    """One that comes again changes nothing, and is acknowledged again: the first receipt was lost."""
    batch = Batch.of(1, 0, 1, (link(OWN),))
    shard.scheduler.discover(shard.courier.take(batch), 0.0)
    assert shard.courier.collect()[2] == {}
    shard.commit()
    assert shard.courier.collect()[2] == {1: 1}
    shard.commit()
    assert shard.courier.collect()[2] == {}
    shard.scheduler.discover(shard.courier.take(batch), 0.0)
    shard.commit()
    assert shard.courier.collect()[2] == {1: 1}
    assert len(shard.state.records) == 1


def test_where_a_seed_has_moved_is_told_once_a_life(shard: Shard, tmp_path: Path) -> None:
    """To all others, with the next parcel; also after a restart, for whoever did not hear."""
    seed = FetchTask(SEED, Site("seed.test"), Purpose.PAGE, Lane.DISCOVERY, 0.0, source=Source.SEED)
    linked = FetchTask(SEED, Site("seed.test"), Purpose.PAGE, Lane.DISCOVERY, 0.0)
    assert not shard.courier.redirected(Redirected(linked, 301, HOME, (), 0.0, 0.0))
    assert shard.courier.redirected(Redirected(seed, 301, HOME, (), 0.0, 0.0))
    assert not shard.courier.redirected(Redirected(seed, 301, HOME, (), 0.0, 0.0))
    assert not shard.courier.is_quiet
    assert shard.courier.collect()[0] == [HOME]
    assert shard.courier.collect()[0] == []
    assert not shard.courier.widen([HOME])
    shard.commit()
    shard.state.close()
    again = Shard(tmp_path)
    assert again.courier.collect()[0] == [HOME]
    again.courier.deliver([link("a.new-home.example"), link("b.new-home.example"), link("c.new-home.example")], 0.0)
    assert [event for event in again.events.events if hasattr(event, "rule")] == []
    again.state.close()
