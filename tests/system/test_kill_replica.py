"""A crawl whose states lie on a machine's own disk loses nothing with the machine.

Each life of it is killed, and then the folder of its states is gone: the next life restores them from their copies in
the collection, goes through the journal there, and asks for nothing that had arrived.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.system import buckets
from tests.system.crawled import (
    Asked,
    Crawled,
    asked,
    begin,
    crawled,
    finish,
    lost,
    same,
    small_world,
    wait_for,
)

from periplus.store import is_begun
from periplus.store.layout import Layout
from periplus_lab.server import RunningLab, Server, SteppedClock

pytest_plugins = ["periplus_lab.pytest_plugin"]


@pytest.fixture
def lab(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    """Some 90 pages on nine hosts."""
    world = small_world(50)
    return start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))


def whole(lab: RunningLab, folder: Path, workers: int = 1) -> tuple[Crawled, int]:
    """The same crawl in one piece, with its state in the collection; and how many requests it took."""
    finish(folder / "whole", asked(lab, workers))
    requests = lab.log.total
    lab.log.clear()
    return crawled(folder / "whole"), requests


def check(lab: RunningLab, folder: Path, before: Crawled, births: list[float], *apart: str) -> None:
    (folder / "temporary").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder / "temporary"))
        after = crawled(folder / "killed")
    assert {name: what for name, what in same(after, before).items() if name not in apart} == {}
    assert max(after.pages.values()) == 1
    missing = lost(lab.log.visits(), folder / "killed", births)
    assert all(count <= len(births) for count in missing.values())


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_machines_are_lost_at_any_moment(lab: RunningLab, tmp_path: Path, workers: int) -> None:
    """Every other one with all that was on its disk; the last life has its states in the collection again."""
    before, requests = whole(lab, tmp_path, workers)
    chance = random.Random(5)
    births = []
    for number in range(4):
        what = asked(lab, workers, cluster__local_state=str(tmp_path / "disk"))
        process = begin(tmp_path / "killed", what)
        wait_for(requests * number // 4 + chance.randrange(requests // 4), lab, process)
        time.sleep(chance.random() * 0.05)
        process.kill()
        process.join()
        time.sleep(1.5 * (workers > 1))  # shards end by themselves
        births.append(time.time())
        if number % 2:
            shutil.rmtree(tmp_path / "disk")
    states = [Layout(tmp_path / "killed").shard(number) for number in range(workers)]
    assert all(is_begun(state) and not (state / "data.mdb").exists() for state in states)
    finish(tmp_path / "killed", asked(lab, workers))
    check(lab, tmp_path, before, births, *(("revisits", "tally") if workers > 1 else ()))


@pytest.mark.slow
def test_machines_are_lost_in_front_of_operations_on_the_disk(lab: RunningLab, tmp_path: Path) -> None:
    """In commits, between the copy and the commit that follows it, and while a state is restored."""
    before, _ = whole(lab, tmp_path)
    what: Asked = asked(lab, engine__checkpoint_outcomes=7, cluster__local_state=str(tmp_path / "disk"))
    chance = random.Random(1)
    births = []
    for _ in range(5):
        process = begin(tmp_path / "killed", what, chance.choice((chance.randrange(60), chance.randrange(500))))
        process.join(600)
        births.append(time.time())
        if process.exitcode == 0:
            break
        if chance.random() < 0.5:
            shutil.rmtree(tmp_path / "disk", ignore_errors=True)
    finish(tmp_path / "killed", what)
    check(lab, tmp_path, before, births)


@pytest.mark.slow
@pytest.mark.skipif(bool(buckets.why_not()), reason=buckets.why_not())
def test_a_collection_in_a_bucket_outlives_its_machines(lab: RunningLab, tmp_path: Path) -> None:
    """Killed four times, twice with the machine's disk and all that its mount had not sent: every page is there, once.

    The mount loses what was not synced, and does not cut files at every length: answers are asked for again, and
    records of them are in the archive twice.
    """
    before, requests = whole(lab, tmp_path)
    with buckets.bucket(tmp_path) as bucket:
        what = asked(lab, cluster__local_state=str(tmp_path / "disk"))
        for number in range(4):
            process = begin(bucket.path / "killed", what)
            wait_for(requests * number // 4 + 5, lab, process)
            process.kill()
            process.join()
            if number % 2:
                shutil.rmtree(tmp_path / "disk")
                bucket.unmount()
                bucket.mount()
        finish(bucket.path / "killed", what)
        shutil.copytree(bucket.path / "killed", tmp_path / "killed")
    after = crawled(tmp_path / "killed")
    assert (after.pages, after.discoveries) == (before.pages, before.discoveries)
