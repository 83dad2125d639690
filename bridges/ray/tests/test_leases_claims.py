"""The coordinator tells shards how many of them ask at an address, with the orders of every renewal."""

from __future__ import annotations

import msgspec

from periplus.engine.frontier import AddressClaims
from periplus.engine.overview import FrontierStats
from periplus.engine.shard import ShardStatus
from periplus.engine.sharding.builds import Build
from periplus.engine.sharding.messages import StatusReport
from periplus.engine.stats import CrawlStats
from periplus_ray.leases import INHERITED, LeasedCoordinator, Remembered
from periplus_ray.links import Lease

LEASE = 10.0
KEY = 7


class Cluster:
    """Two shards that report as lives do, and a coordinator that can die."""

    def __init__(self) -> None:
        self.memory = Remembered("run", [0, 0], [False, False], [0, 0])
        self.now, self.lives = 100.0, 0
        self.born()
        self.claims = [AddressClaims(2), AddressClaims(2)]
        self.epochs = [0, 0]

    def born(self) -> None:
        self.lives += 1
        kept = msgspec.json.decode(msgspec.json.encode(self.memory), type=Remembered)
        self.coordinator = LeasedCoordinator(kept, self.keep, 2, now=self.now, lease=LEASE, incarnation=self.lives)

    def keep(self, remembered: Remembered) -> bool:
        self.memory = msgspec.json.decode(msgspec.json.encode(remembered), type=Remembered)
        return True

    def begin(self, number: int) -> None:
        lease = self.coordinator.begin(number, Build.own(), self.now)
        assert isinstance(lease, Lease)
        self.claims[number] = AddressClaims(2)
        self.epochs[number] = lease.epoch

    def talk(self, *numbers: int) -> list[int]:
        """These report, one after another; what the shares are then."""
        for number in numbers:
            claims = self.claims[number]
            status = ShardStatus(
                number, FrontierStats(0, 0, 0, 0, 0, 0, 0, 0), CrawlStats(), False, False, claims=claims.report()
            )  # fmt: skip
            renewal = self.coordinator.report(number, self.epochs[number], StatusReport(status), self.now)
            assert renewal is not None
            if renewal.orders.shares is not None:
                claims.update(renewal.orders.shares)
        return [claims.share(KEY) for claims in self.claims]


def shared() -> Cluster:
    """Both shards are at the address, and know it."""
    cluster = Cluster()
    for number in (0, 1):
        cluster.begin(number)
        cluster.claims[number].enter(KEY)
    assert cluster.talk(0, 1, 0, 1, 0, 1, 0, 1) == [2, 2]
    return cluster


def test_who_comes_second_waits_for_the_first_to_know() -> None:
    """It is told its share when the other has confirmed the new one; who has not begun is not waited for."""
    cluster = Cluster()
    cluster.begin(0)
    cluster.claims[0].enter(KEY)
    assert cluster.talk(0, 0) == [1, 0]
    cluster.begin(1)
    cluster.claims[1].enter(KEY)
    assert cluster.talk(1, 1, 1) == [1, 0]
    assert cluster.talk(0, 1) == [2, 0]
    assert cluster.talk(0, 1) == [2, 2]


def test_a_shard_that_died_is_not_counted_once_its_lease_is_over() -> None:
    """Requests of its previous process have ended; until then there might be some."""
    cluster = shared()
    cluster.now += LEASE - 1.0
    assert cluster.talk(0, 0) == [2, 2]
    cluster.now += 2.0
    cluster.begin(1)
    assert cluster.talk(0, 0) == [1, 0]


def test_a_coordinator_that_comes_back_counts_all_before_it_says_anything() -> None:
    """Also who died with it: not before its next life has begun."""
    cluster = shared()
    cluster.born()
    assert cluster.talk(0, 0, 0) == [2, 2]
    assert cluster.talk(1, 1, 0, 1) == [2, 2]
    cluster.born()
    assert cluster.talk(0, 0, 0) == [2, 2]
    cluster.now += INHERITED * LEASE + 1.0
    cluster.begin(1)
    assert cluster.talk(0, 0) == [1, 0]
