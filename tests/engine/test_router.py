"""To which shard a discovery goes, when a batch leaves and is acknowledged, and how moved seeds extend the scope."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.frontier.opened_frontier import FrontierOptions, OpenedFrontier
from tests.reference.event_sink import MemoryEventSink

from periplus.collection.config.settings import Config
from periplus.engine.router import (
    FULL,
    MAX_BYTES_PER_BATCH,
    MAX_DISCOVERIES_PER_BATCH,
    WINDOW,
    OutgoingMessages,
    ShardRouter,
    owner_of,
)
from periplus.model import (
    Batch,
    Discovery,
    Failed,
    Fetched,
    FetchTask,
    Lane,
    Purpose,
    Redirected,
    Refused,
    RobotsAnswer,
    Site,
    Source,
    Url,
)
from periplus.policy.filters import Scope, screening_chain, standard_chain
from periplus.store import DiskState

SEED = Url("http://seed.test/")
HOME = Url("http://new-home.example/")
OWN = next(host for host in (f"h{n}.seed.test" for n in range(99)) if owner_of(Site(host), 2) == 0)
FOREIGN = next(host for host in (f"h{n}.seed.test" for n in range(99)) if owner_of(Site(host), 2) == 1)


def link(host: str, number: int = 0) -> Discovery:
    return Discovery(Url(f"http://{host}/{number}"), Source.LINK, 0.0, depth=1, referrer=SEED)


class Shard:
    """Shard 0 of 2, as far as its router needs one. `moved` are the places that an earlier process committed."""

    def __init__(self, folder: Path, moved: list[Url] | None = None) -> None:
        self.state = DiskState(folder)
        self.events = MemoryEventSink()
        scope = Scope([SEED])
        filters = Config().filters
        guard = standard_chain(scope, filters, recall=lambda _site: None)
        self._opened = OpenedFrontier(self.state, FrontierOptions(guard=guard, events=self.events))
        self.frontier = self._opened.frontier
        self.router = ShardRouter(
            0,
            2,
            frontier=self.frontier,
            exchange=self.state.exchange,
            screen=screening_chain(scope, filters),
            scope=scope,
            events=self.events,
            moved=moved or (),
        )
        self.outbound = OutgoingMessages(0, 2, self.state.exchange)

    def commit(self) -> None:
        self.router.flush()
        self._opened.commit()
        self.state.commit()
        self.outbound.committed(self.router.moved)

    def receive(self, batch: Batch) -> None:
        """As an engine does."""
        if batch.number <= self.state.exchange.taken(batch.sender):
            self.outbound.came_again(batch)
        found = [message for message in self.router.receive(batch) if isinstance(message, Discovery)]
        self.frontier.discover(found, 0.0)

    def acknowledged(self, number: int) -> None:
        self.outbound.acknowledged(1, number)
        self.state.exchange.acknowledged(1, number)

    @property
    def is_quiet(self) -> bool:
        return self.router.is_quiet and self.outbound.is_quiet


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[Shard]:
    made = Shard(tmp_path)
    yield made
    made.state.close()


def test_own_discoveries_stay_and_others_leave_after_the_commit(shard: Shard) -> None:
    """What is not committed could be lost, so no other shard may have it; until it is acknowledged we are not quiet."""
    shard.router.deliver([link(OWN), link(FOREIGN)], 0.0)
    assert len(shard.state.records) == 1
    assert shard.outbound.collect() == ([], [], {})
    assert not shard.is_quiet
    shard.commit()
    _, [batch], _ = shard.outbound.collect()
    assert batch == Batch.of(0, 1, 1, (link(FOREIGN),))
    assert shard.outbound.collect() == ([], [], {})
    assert not shard.is_quiet
    assert shard.outbound.numbers() == ({1: 1}, {})
    shard.acknowledged(1)
    assert shard.is_quiet


def test_unacknowledged_batches_are_offered_again_by_the_next_process(shard: Shard, tmp_path: Path) -> None:
    """The other shard may not have received them."""
    shard.router.deliver([link(FOREIGN)], 0.0)
    shard.commit()
    shard.outbound.collect()
    shard.state.close()
    again = Shard(tmp_path)
    again.commit()
    assert again.outbound.collect()[1] == [Batch.of(0, 1, 1, (link(FOREIGN),))]
    again.state.close()


def test_discoveries_out_of_scope_are_refused_here(shard: Shard) -> None:
    """No shard would want them: they do not travel, and each refusal is an event."""
    shard.router.deliver([link("elsewhere.example"), link("h1.elsewhere.example")], 0.0)
    shard.commit()
    assert shard.outbound.collect()[1] == []
    assert len(shard.events.events) == 2


def test_batches_under_way_are_bounded(shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch goes to the state when it is full; at most `WINDOW` are offered, and the rest follows."""
    size = 100
    monkeypatch.setattr("periplus.engine.router.MAX_DISCOVERIES_PER_BATCH", size)
    for start in range(0, (WINDOW + 6) * size, 50):
        shard.router.deliver([link(FOREIGN, start + number) for number in range(50)], 0.0)
        assert sum(map(len, shard.router._foreign.values())) < size
    shard.commit()
    first = shard.outbound.collect()[1]
    assert [batch.number for batch in first] == list(range(1, WINDOW + 1))
    shard.acknowledged(WINDOW)
    shard.commit()
    rest = shard.outbound.collect()[1]
    assert [batch.number for batch in rest] == list(range(WINDOW + 1, WINDOW + 7))
    assert sum(len(batch.messages) for batch in first + rest) == (WINDOW + 6) * size


def answer(number: int, body: bytes = b"") -> RobotsAnswer:
    task = FetchTask(Url(f"http://{OWN}/robots.txt"), Site(FOREIGN), Purpose.ROBOTS, Lane.FILES, 0.0, redirects=number)
    return RobotsAnswer(Fetched(task, 200, (), body, 0.0, 0.1) if body else Failed(task, "timeout", 0.0, 0.1))


def test_answers_travel_together_up_to_a_number_and_a_size(shard: Shard) -> None:
    """A site that is given up has as many as sites asked for it; a file may be as long as a batch."""
    given = [answer(number) for number in range(MAX_DISCOVERIES_PER_BATCH + 1)]
    given += [answer(number, b"x" * size) for number, size in enumerate([MAX_BYTES_PER_BATCH, 9, 9])]
    shard.router.answer(given)
    shard.commit()
    batches = shard.outbound.collect()[1]
    assert [len(batch.messages) for batch in batches] == [MAX_DISCOVERIES_PER_BATCH, 2, 2]
    assert [message for batch in batches for message in batch.messages] == given


def test_the_time_for_answers_grows_with_their_number_only(shard: Shard) -> None:
    """Not with its square."""
    costs = []
    for count in (1_000, 8_000):
        given = [answer(number) for number in range(count)]
        began = time.process_time()
        shard.router.answer(given)
        costs.append(time.process_time() - began)
    assert costs[1] < 24 * costs[0]


def test_router_is_full_when_too_many_batches_wait(shard: Shard) -> None:
    """Nothing more should be fetched before another shard has acknowledged some."""
    for number in range(FULL):
        assert not shard.router.is_full
        shard.router.deliver([link(FOREIGN, number)], 0.0)
        shard.router.flush()
    assert shard.router.is_full
    shard.acknowledged(1)
    assert not shard.router.is_full


def test_batch_is_taken_once_and_acknowledged_after_the_commit(shard: Shard) -> None:
    """One that comes again changes nothing, and is acknowledged again: the first receipt was lost."""
    batch = Batch.of(1, 0, 1, (link(OWN),))
    shard.receive(batch)
    assert shard.outbound.collect()[2] == {}
    shard.commit()
    assert shard.outbound.collect()[2] == {1: 1}
    shard.commit()
    assert shard.outbound.collect()[2] == {}
    shard.receive(batch)
    shard.commit()
    assert shard.outbound.collect()[2] == {1: 1}
    assert len(shard.state.records) == 1


def test_batch_that_overtook_another_is_not_taken(shard: Shard) -> None:
    """It comes again, after the one before it."""
    second = Batch.of(1, 0, 2, (link(OWN, 2),))
    shard.receive(second)
    assert len(shard.state.records) == 0
    shard.receive(Batch.of(1, 0, 1, (link(OWN, 1),)))
    shard.receive(second)
    assert len(shard.state.records) == 2


def test_moved_seed_extends_the_scope_of_all_shards(shard: Shard, tmp_path: Path) -> None:
    """The new place is sent once in each process, after the commit that has it; only a seed extends the scope."""
    seed = FetchTask(SEED, Site("seed.test"), Purpose.PAGE, Lane.DISCOVERY, 0.0, source=Source.SEED)
    linked = FetchTask(SEED, Site("seed.test"), Purpose.PAGE, Lane.DISCOVERY, 0.0)
    assert not shard.router.follow_seed(Redirected(linked, 301, HOME, (), 0.0, 0.0))
    assert shard.router.follow_seed(Redirected(seed, 301, HOME, (), 0.0, 0.0))
    assert not shard.router.follow_seed(Redirected(seed, 301, HOME, (), 0.0, 0.0))
    assert shard.outbound.collect()[0] == []
    shard.commit()
    assert not shard.is_quiet
    assert shard.outbound.collect()[0] == [HOME]
    assert shard.outbound.collect()[0] == []
    assert not shard.router.extend_scope([HOME])
    shard.state.close()
    again = Shard(tmp_path, moved=shard.router.moved)
    again.commit()
    assert again.outbound.collect()[0] == [HOME]
    again.router.deliver([link("a.new-home.example"), link("b.new-home.example"), link("c.new-home.example")], 0.0)
    assert [event for event in again.events.events if isinstance(event, Refused)] == []
    again.state.close()
