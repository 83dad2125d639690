"""Killed at any moment and continued, a crawl ends with what an unkilled one has, and asks for nothing that it had.

In flight is a request whose answer had not reached the journal when the process died: those alone are repeated.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from tests.processes import wait_until_gone
from tests.system.crawled import (
    PATIENCE,
    Asked,
    asked,
    begin,
    crawled,
    drained,
    finish,
    killed_and_whole,
    lost,
    same,
    shards_of,
    small_world,
    tiny_world,
    wait_for,
)

from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock

pytest_plugins = ["periplus_lab.pytest_plugin"]


def lab_of(start_lab: Callable[[Server], RunningLab], world: World) -> RunningLab:
    return start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))


@pytest.fixture
def lab(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    """Some 40 pages on nine hosts."""
    return lab_of(start_lab, small_world(40))


@pytest.fixture
def tiny_lab(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    """The least that a crawl can be killed in."""
    return lab_of(start_lab, tiny_world())


@pytest.fixture
def large_lab(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    """Some 300 pages."""
    return lab_of(start_lab, small_world(330))


@pytest.mark.proof
def test_killed_at_any_moment_nothing_is_lost_or_fetched_again(tiny_lab: RunningLab, tmp_path: Path) -> None:
    """A moment of chance."""
    kill_and_compare(tiny_lab, tmp_path, asked(tiny_lab), kills=1, seed=1)


def test_killed_at_any_moment_while_frames_are_written(tiny_lab: RunningLab, tmp_path: Path) -> None:
    """The same with an archive in Zstandard."""
    kill_and_compare(tiny_lab, tmp_path, asked(tiny_lab, archive__compression="zstd"), kills=1, seed=3)
    assert {path.suffix for path in (tmp_path / "killed" / "warc").glob("*.warc.*")} == {".zst"}


@pytest.mark.slow
def test_killed_at_many_moments_around_a_dictionary(large_lab: RunningLab, tmp_path: Path) -> None:
    """Before, while and after the first file is full and a dictionary is made of it."""
    what = asked(large_lab, archive__compression="zstd", archive__max_file_size=500_000_000)
    kill_and_compare(large_lab, tmp_path, what, kills=15, seed=4)
    assert len(list((tmp_path / "killed" / "warc").glob("*.warc.zst"))) == 2


@pytest.mark.slow
def test_killed_at_thirty_moments(large_lab: RunningLab, tmp_path: Path) -> None:
    """The same, thirty times, with commits as rare as they are by default, so that the journal has much to tell."""
    kill_and_compare(large_lab, tmp_path, asked(large_lab, engine__checkpoint_interval=1.0), kills=30, seed=2)


@pytest.mark.slow
def test_killed_in_front_of_operations_on_the_disk(lab: RunningLab, tmp_path: Path) -> None:
    """In commits, while a WARC file is full and the next begins, while rows become Parquet, and in recovery."""
    strike_and_compare(lab, tmp_path, lives=4, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 3))
def test_killed_in_front_of_many_operations_on_the_disk(lab: RunningLab, tmp_path: Path, seed: int) -> None:
    """The same, forty times."""
    strike_and_compare(lab, tmp_path, lives=40, seed=seed)


def kill_and_compare(lab: RunningLab, folder: Path, what: Asked, *, kills: int, seed: int) -> None:
    check(lab, folder, killed_and_whole(lab, folder, what, kills=kills, seed=seed))


def strike_and_compare(lab: RunningLab, folder: Path, *, lives: int, seed: int) -> None:
    """Half of the lives end early, in recovery; the others somewhere in the crawl."""
    what = asked(lab, engine__checkpoint_outcomes=7)
    finish(folder / "whole", what)
    lab.log.clear()
    chance = random.Random(seed)
    births = []
    for _ in range(lives):
        process = begin(folder / "killed", what, chance.choice((chance.randrange(30), chance.randrange(400))))
        process.join(600)
        births.append(drained(lab))
        if process.exitcode == 0:
            break
    finish(folder / "killed", what)
    check(lab, folder, births)


def check(lab: RunningLab, folder: Path, births: list[float], *apart: str) -> None:
    """`apart` is what crawls may differ in: copies of a page are known as such by the shard that has both."""
    killed, whole = crawled(folder / "killed"), crawled(folder / "whole")
    assert {name: what for name, what in same(killed, whole).items() if name not in apart} == {}
    assert max(killed.pages.values()) == 1
    missing = lost(lab.log.visits(), folder / "killed", births)
    assert all(count <= len(births) for count in missing.values())


# several processes


@pytest.mark.proof
def test_a_shard_or_the_coordinator_dies(tiny_lab: RunningLab, tmp_path: Path) -> None:
    """A shard is started again; without a coordinator the shards end by themselves."""
    kill_some_and_compare(tiny_lab, tmp_path, ["shard", "coordinator"], seed=3)


@pytest.mark.slow
def test_shards_and_coordinators_die_thirty_times(large_lab: RunningLab, tmp_path: Path) -> None:
    """In an order of chance."""
    chance = random.Random(4)
    kill_some_and_compare(large_lab, tmp_path, chance.choices(["shard", "coordinator", "all"], (3, 1, 1), k=30), seed=4)


def kill_some_and_compare(lab: RunningLab, folder: Path, victims: list[str], *, seed: int) -> None:
    finish(folder / "whole", asked(lab))
    requests = lab.log.total
    lab.log.clear()
    chance = random.Random(seed)
    births: list[float] = []
    process = begin(folder / "killed", asked(lab, 2))
    for number, victim in enumerate(victims):
        wait_for(requests * number // len(victims) + chance.randrange(requests // len(victims)), lab, process)
        time.sleep(chance.random() * 0.05)
        process = kill(victim, process, chance, folder / "killed", lab, births)
    process.join(PATIENCE)
    assert process.exitcode == 0
    check(lab, folder, births, "revisits", "tally")


def kill(
    victim: str, process: BaseProcess, chance: random.Random, folder: Path, lab: RunningLab, births: list[float]
) -> BaseProcess:
    shards = shards_of(folder, process)
    if victim == "shard" and process.is_alive():
        if shards:
            os.kill(chance.choice(shards), signal.SIGKILL)
            births.append(drained(lab))
        return process
    process.kill()
    for pid in shards if victim == "all" else ():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.join()
    wait_until_gone(shards)
    births.append(drained(lab))
    return begin(folder, asked(lab, 2))
