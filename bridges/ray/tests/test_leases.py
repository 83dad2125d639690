"""Leases around the coordinator: which worker has a shard and for how long, how many pages, and the end."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from periplus import __version__
from periplus.engine.overview import FrontierStats
from periplus.engine.shard import ShardStatus
from periplus.engine.sharding.builds import Build
from periplus.engine.sharding.coordinator import MAX_STARTS
from periplus.engine.sharding.messages import GRACE, Orders, ShardFailure, StatusReport
from periplus.engine.stats import CrawlStats
from periplus.model import CollectionDamaged, CollectionError
from periplus_ray.leases import (
    DEPOSED,
    INHERITED,
    LeasedCoordinator,
    Remembered,
    check,
    claim,
    load_memory,
    save_memory,
)
from periplus_ray.links import Lease, Renewal, Wait

LEASE = 10.0


def status(
    shard: int,
    *,
    done: int = 0,
    queued: int = 0,
    sent: dict[int, int] | None = None,
    taken: dict[int, int] | None = None,
    is_idle: bool = True,
    is_quiet: bool = True,
) -> ShardStatus:
    census = msgspec.structs.replace(FrontierStats(0, 0, 0, 0, 0, 0, 0, 0), done=done, queued=queued)
    return ShardStatus(shard, census, CrawlStats(), is_idle, is_quiet, None, (), sent or {}, taken or {})


class Cluster:
    """A coordinator and its memory; it can die."""

    def __init__(self, shards: int = 2, limit: int | None = None) -> None:
        self.shards, self.limit = shards, limit
        self.memory = Remembered.of("run", shards)
        self.now = 100.0
        self.born()

    def born(self) -> None:
        kept = msgspec.json.decode(msgspec.json.encode(self.memory), type=Remembered)
        self.coordinator = LeasedCoordinator(kept, self.keep, self.shards, now=self.now, lease=LEASE, limit=self.limit)

    def keep(self, remembered: Remembered) -> bool:
        self.memory = msgspec.json.decode(msgspec.json.encode(remembered), type=Remembered)
        return True

    def begin(self, shard: int) -> Lease | Wait | None:
        return self.coordinator.begin(shard, Build.own(), self.now)

    def begun(self, shard: int) -> int:
        answer = self.begin(shard)
        assert isinstance(answer, Lease)
        return answer.epoch

    def renew(self, epoch: int, status: ShardStatus, orders: int) -> Renewal | None:
        """One report, by a worker that has applied the orders of this number."""
        return self.coordinator.report(status.shard, epoch, StatusReport(status, orders), self.now)

    def report(self, epoch: int, status: ShardStatus, orders: int | None = None) -> Orders | None:
        """Applies the orders and reports again, as a worker does, unless `orders` says which it has applied."""
        renewal = self.renew(epoch, status, orders or 0)
        if renewal is not None and orders is None:
            renewal = self.renew(epoch, status, renewal.orders.number)
        return None if renewal is None else renewal.orders

    def is_finished(self) -> bool:
        return self.coordinator.overview(None, self.now).is_finished


def test_a_shard_is_one_process_at_a_time() -> None:
    """The next waits until the last has given it back, or its lease is over; a report prolongs it."""
    cluster = Cluster()
    first = cluster.begun(0)
    cluster.now += LEASE - 1
    assert isinstance(cluster.begin(0), Wait)
    assert cluster.report(first, status(0)) is not None
    cluster.now += LEASE - 1
    assert isinstance(cluster.begin(0), Wait)
    cluster.now += 1
    second = cluster.begun(0)
    assert second == first + 1
    cluster.coordinator.end(0, second, status(0))
    assert cluster.begun(0) == second + 1


def test_who_has_an_older_epoch_must_end() -> None:
    """A report of a process that was thought dead is answered with nothing, and changes nothing."""
    cluster = Cluster()
    old = cluster.begun(0)
    cluster.now += LEASE
    new = cluster.begun(0)
    assert cluster.report(old, status(0, done=7)) is None
    cluster.coordinator.end(0, old, status(0))
    assert isinstance(cluster.begin(0), Wait)
    assert cluster.report(new, status(0)) is not None


def test_a_coordinator_that_comes_back_honours_what_was_held() -> None:
    """Who held a shard goes on; for others it is held a lease and a half; epochs never fall."""
    cluster = Cluster()
    epoch = cluster.begun(0)
    cluster.born()
    assert isinstance(cluster.begin(0), Wait)
    assert cluster.report(epoch, status(0)) is not None
    cluster.born()
    cluster.now += INHERITED * LEASE
    assert cluster.begun(0) == epoch + 1
    cluster.coordinator.end(0, epoch + 1, status(0))
    cluster.born()
    assert cluster.begun(0) == epoch + 2


def test_pages_are_dealt_out_and_never_more_than_the_limit() -> None:
    """Also when the coordinator dies between two words: what was granted is not granted again."""
    cluster = Cluster(limit=100)
    epochs = [cluster.begun(0), cluster.begun(1)]
    busy = [status(number, queued=500, is_idle=False) for number in (0, 1)]
    for number in (0, 1):
        cluster.report(epochs[number], busy[number])
    for _ in range(20):
        cluster.born()
        given = []
        for number in (0, 1):
            orders = cluster.report(epochs[number], busy[number])
            assert orders is not None
            given.append(orders.pages or 0)
        assert sum(given) <= 100
        busy = [status(number, done=given[number], queued=500, is_idle=False) for number in (0, 1)]
    assert sum(given) == 100


def test_after_a_death_nothing_is_taken_back_from_who_may_not_have_heard() -> None:
    """A shard that looks idle to the next coordinator may be about to use what the last one granted."""
    cluster = Cluster(limit=100)
    epochs = [cluster.begun(0), cluster.begun(1)]
    for number in (0, 1):
        cluster.report(epochs[number], status(number, queued=500, is_idle=False))
    granted = list(cluster.memory.granted)
    assert granted[0] > 0
    cluster.born()
    cluster.renew(epochs[1], status(1, queued=500, is_idle=False), 9)
    cluster.renew(epochs[0], status(0), 9)
    assert cluster.memory.granted[0] == granted[0]


def test_what_an_idle_shard_did_not_need_goes_to_others_once_it_has_heard_that() -> None:
    """Another shard may bring it work at any moment, and until then it works with what it was granted."""
    cluster = Cluster(limit=100)
    epochs = [cluster.begun(0), cluster.begun(1)]
    busy = [status(number, queued=500, is_idle=False) for number in (0, 1)]
    for number in (0, 1):
        cluster.report(epochs[number], busy[number])
    granted = list(cluster.memory.granted)
    lower = cluster.report(epochs[0], status(0), orders=99)
    heard = cluster.report(epochs[0], status(0), orders=2)
    assert lower is not None
    assert heard is not None
    assert heard.pages == 0
    assert cluster.memory.granted[0] == granted[0]
    cluster.report(epochs[0], status(0), orders=heard.number)
    assert cluster.memory.granted[0] == 0
    again = cluster.report(epochs[0], busy[0])
    assert again is not None
    assert again.pages


def test_a_holder_that_ray_has_given_up_is_deposed() -> None:
    """It lives and reports, while Ray has begun another: one whose node hangs, say. In the end the other gets it."""
    cluster = Cluster(shards=1)
    old = cluster.begun(0)
    for _ in range(round((DEPOSED + 1) * LEASE)):
        cluster.now += 1.0
        if cluster.report(old, status(0)) is None:
            break
        assert isinstance(cluster.begin(0), Wait)
    else:
        pytest.fail("it keeps its lease forever")
    cluster.now += LEASE
    assert cluster.begun(0) == old + 1


def test_old_request_deposes_no_holder() -> None:
    """Only who still asks."""
    cluster = Cluster(shards=1)
    epoch = cluster.begun(0)
    assert isinstance(cluster.begin(0), Wait)
    for _ in range(round(5 * LEASE)):
        cluster.now += 1.0
        assert cluster.report(epoch, status(0)) is not None


def test_error_of_a_deposed_holder_is_ignored() -> None:
    """It finds its state taken over, and that is as it should be."""
    cluster = Cluster(shards=1)
    old = cluster.begun(0)
    cluster.now += LEASE
    new = cluster.begun(0)
    cluster.coordinator.fail(0, old, ShardFailure("taken over", ""))
    assert cluster.coordinator.overview(None, cluster.now).failure is None
    cluster.coordinator.fail(0, new, ShardFailure("no space", ""))
    assert cluster.coordinator.overview(None, cluster.now).failure is not None


def test_nothing_is_given_that_was_not_kept() -> None:
    """Somebody else has the memory by now, and gives the same epochs to others."""
    cluster = Cluster(shards=1)
    cluster.keep = lambda remembered: False  # type: ignore[method-assign]
    cluster.born()
    assert cluster.begin(0) is None


def test_all_is_done_when_what_was_sent_was_taken() -> None:
    """Shards that were idle at different moments are not done while a batch crossed between these moments."""
    cluster = Cluster()
    epochs = [cluster.begun(0), cluster.begun(1)]
    cluster.report(epochs[0], status(0))
    assert not cluster.is_finished()
    cluster.report(epochs[1], status(1))
    assert cluster.is_finished()
    cluster.report(epochs[1], status(1, sent={0: 1}))
    assert not cluster.is_finished()  # 0 was idle before it took that
    cluster.report(epochs[0], status(0, taken={1: 1}, sent={1: 4}))
    assert not cluster.is_finished()
    cluster.report(epochs[1], status(1, sent={0: 1}, taken={0: 4}))
    assert cluster.is_finished()


@pytest.mark.parametrize("state", [{"is_idle": False}, {"is_quiet": False}])
def test_busy_shard_is_not_done(state: dict[str, bool]) -> None:
    """Nor one who began a new life and has not spoken yet."""
    cluster = Cluster(shards=1)
    epoch = cluster.begun(0)
    cluster.report(epoch, status(0, **state))  # type: ignore[arg-type]
    assert not cluster.is_finished()
    cluster.report(epoch, status(0))
    assert cluster.is_finished()
    cluster.now += LEASE
    cluster.begun(0)
    assert not cluster.is_finished()


def test_a_shard_that_dies_again_and_again_ends_the_crawl() -> None:
    """Unless it gets somewhere in between, or has nothing left to do."""
    cluster = Cluster(shards=1)
    for life in range(3 * MAX_STARTS):
        epoch = cluster.begun(0)
        cluster.report(epoch, status(0, done=life, queued=1, is_idle=False))
        cluster.report(epoch, status(0, done=life + 1, queued=1, is_idle=False))
        cluster.now += LEASE
    for _ in range(MAX_STARTS):
        cluster.begun(0)
        cluster.now += LEASE
    assert cluster.begin(0) is None
    failure = cluster.coordinator.overview(None, cluster.now).failure
    assert failure is not None
    assert f"died {MAX_STARTS} times" in failure.message


def test_another_version_is_refused() -> None:
    """With both versions, and what to do."""
    cluster = Cluster()
    assert cluster.coordinator.begin(1, replace(Build.own(), version="7.0.1"), cluster.now) is None
    failure = cluster.coordinator.overview(None, cluster.now).failure
    assert failure is not None
    assert "7.0.1" in failure.message
    assert __version__ in failure.message


def test_an_adjacent_version_is_let_in() -> None:
    """With the same formats."""
    cluster = Cluster()
    major, minor, *_ = __version__.split(".")
    assert isinstance(
        cluster.coordinator.begin(1, replace(Build.own(), version=f"{major}.{int(minor) + 1}.0"), cluster.now), Lease
    )


def test_a_shard_that_is_to_be_restarted_ends_and_is_continued_at_once() -> None:
    """Its holder is told with every report, the next one is not; others are not concerned."""
    cluster = Cluster()
    epochs = [cluster.begun(0), cluster.begun(1)]
    cluster.coordinator.restart(1, epochs[1])
    for _ in range(2):
        other, renewal = cluster.renew(epochs[0], status(0), 1), cluster.renew(epochs[1], status(1), 1)
        assert other is not None
        assert renewal is not None
        assert (other.stop, renewal.stop, renewal.restarts) == (None, GRACE, True)
    cluster.coordinator.end(1, epochs[1], status(1))
    again = cluster.begun(1)
    assert again == epochs[1] + 1
    last = cluster.renew(again, status(1), 1)
    assert last is not None
    assert last.stop is None


def test_stop_reaches_everybody_and_is_over_when_all_have_given_back() -> None:
    """No shard begins then: what is noted is found by the next run."""
    cluster = Cluster()
    epochs = [cluster.begun(0), cluster.begun(1)]
    cluster.coordinator.overview(3.0, cluster.now)
    renewals = [cluster.renew(epochs[number], status(number), 1) for number in (0, 1)]
    assert [None if each is None else each.stop for each in renewals] == [3.0, 3.0]
    cluster.coordinator.end(0, epochs[0], status(0))
    assert cluster.begin(0) is None
    assert not cluster.coordinator.overview(3.0, cluster.now).are_stopped
    cluster.coordinator.end(1, epochs[1], status(1))
    assert cluster.coordinator.overview(3.0, cluster.now).are_stopped


def test_a_claim_keeps_epochs_and_forgets_what_was_granted(tmp_path: Path) -> None:
    """Another run of the command, perhaps with other shards."""
    path = tmp_path / "coordinator.json"
    claim(path, "one", 2)
    kept = load_memory(path)
    kept.epochs, kept.is_held, kept.granted = [3, 4], [True, False], [50, 60]
    save_memory(path, kept)
    claim(path, "two", 3)
    assert load_memory(path) == Remembered("two", [3, 4, 0], [True, False, False], [0, 0, 0])


def test_a_memory_that_cannot_be_read_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    path = tmp_path / "coordinator.json"
    path.write_text("{")
    with pytest.raises(CollectionDamaged) as caught:
        load_memory(path)
    assert "remove it" in caught.value.hint


def test_a_memory_of_another_crawl_or_none_is_said(tmp_path: Path) -> None:
    """Where the folder of the collection is not at the same path, a shard would found another collection."""
    path = tmp_path / "coordinator.json"
    with pytest.raises(CollectionError, match="does not belong to this crawl"):
        check(path, "one", 2)
    claim(path, "one", 2)
    check(path, "one", 2)
    with pytest.raises(CollectionError):
        check(path, "two", 2)
