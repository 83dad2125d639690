"""One coordinator after another: who was replaced while it lived gives no more leases."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus.engine.shard import Shard
from periplus.engine.sharding.builds import Build
from periplus_ray import actors
from periplus_ray.actors import CoordinatorActor, Plan
from periplus_ray.leases import Remembered, claim, load_memory, succeed
from periplus_ray.links import Lease


def no_shard(number: int, count: int) -> Shard:
    raise NotImplementedError


def plan(folder: Path, run: str = "one") -> Plan:
    """Leases of no length: the file is looked at every time."""
    return Plan(no_shard, 2, "room", run, folder / "coordinator.json", lease=0.0)


def test_a_coordinator_that_was_replaced_prolongs_nothing(tmp_path: Path) -> None:
    """Ray begins another when it hears nothing of one; the shards beside that may still hear it."""
    asked = plan(tmp_path)
    claim(asked.memory, asked.run, asked.shards)
    cut_off = CoordinatorActor(asked)
    lease = cut_off.begin(0, Build.own())
    assert isinstance(lease, Lease)
    assert cut_off.report(0, lease.epoch, None) is not None
    successor = CoordinatorActor(asked)
    assert cut_off.report(0, lease.epoch, None) is None
    assert cut_off.begin(1, Build.own()) is None
    later = successor.begin(0, Build.own())
    assert isinstance(later, Lease)
    assert later.epoch > lease.epoch
    assert load_memory(asked.memory).epochs == [later.epoch, 0]


def test_coordinator_of_another_run_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes nothing into what is not its own."""
    monkeypatch.setattr(actors, "_CLAIM_TIMEOUT", 0.0)
    asked = plan(tmp_path, "two")
    claim(asked.memory, "two", 2)
    before = load_memory(asked.memory)
    late = CoordinatorActor(plan(tmp_path, "one"))
    assert late.begin(0, Build.own()) is None
    assert load_memory(asked.memory) == before


def test_each_coordinator_of_a_run_has_a_later_number(tmp_path: Path) -> None:
    """Whatever the last one wrote: a message of an earlier one deposes no process."""
    path = tmp_path / "coordinator.json"
    claim(path, "one", 1)
    assert [succeed(path, "one"), succeed(path, "one"), succeed(path, "other")] == [1, 2, 0]
    assert Remembered("one", coordinators=1).is_of("one", 2)
    assert not Remembered("one", coordinators=2).is_of("one", 1)
    assert not Remembered("other", coordinators=1).is_of("one", 2)
