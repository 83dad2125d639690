"""A crawl on a cluster: the same pages as on one machine, whichever node is killed, and no host is asked twice at once.

Several nodes of Ray run on this machine; the crawl is the real command, and its witness is the log of the lab's server.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from tests.system.crawled import CLUSTER_SETTINGS, asked, assert_polite, crawled, finish, small_world, unrecorded
from tests.system.raylets import Raylets, raylets
from tests.system.typed import Program

from periplus_lab.server import RunningLab, Server, SteppedClock

pytest.importorskip("ray", reason="the cluster is an extra: pip install periplus-ray")
pytest_plugins = ["periplus_lab.pytest_plugin"]

SHARDS, NODES = 4, 3
DELAY = 0.25
QUICK_DELAY = 0.08
"""Seconds between two requests to a host in the test of every run: its crawl is as long as the largest site."""
SETTINGS = CLUSTER_SETTINGS.format(delay=DELAY, lease=5.0)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raylets]:
    """Three nodes with two processors each."""
    folder = Path(f"/tmp/periplus-ray-{os.getpid()}")  # a short name: sockets lie there
    with raylets(NODES, 2, folder) as found:
        yield found


@pytest.fixture
def lab(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    world = small_world(150)
    return start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))


def crawl(lab: RunningLab, folder: Path, settings: str, *options: str) -> subprocess.Popen[str]:
    """The command, as a person types it."""
    folder.mkdir()
    (folder / "asked.toml").write_text(settings)
    seeds = [f"http://{host}/" for host in lab.world.hosts[:4]]
    arguments = ["crawl", *seeds, "-o", str(folder / "kept"), "--config", str(folder / "asked.toml")]
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return Program(*arguments, "--proxy", lab.base, "--json", *options, **said)


def finished(process: subprocess.Popen[str], seconds: float = 600.0) -> dict[str, object]:
    """What it says in the end, for programs: one JSON object and nothing else, whatever Ray would like to add."""
    out, said = process.communicate(timeout=seconds)
    assert process.returncode == 0, said
    summary: dict[str, object] = msgspec.json.decode(out)
    return summary


def fetched(folder: Path) -> Counter[tuple[str, int]]:
    """Every page with what it said, as often as it is kept."""
    return crawled(folder / "kept").pages


@pytest.mark.slow
def test_the_same_pages_on_one_shard_on_four_and_on_a_cluster(
    lab: RunningLab, tmp_path: Path, cluster: Raylets
) -> None:
    """Where shards run changes nothing of what is found."""
    quick = SETTINGS.replace(f"delay = {DELAY}", "delay = 0.01")
    ways = {
        "one": ["--workers", "1"],
        "four": ["--workers", str(SHARDS)],
        "cluster": ["--workers", str(SHARDS), "--cluster", cluster.address],
    }
    for name, options in ways.items():
        finished(crawl(lab, tmp_path / name, quick, *options))
    pages = {name: fetched(tmp_path / name) for name in ways}
    assert len(pages["one"]) > 200
    assert pages["one"] == pages["four"] == pages["cluster"]


def kill_some(cluster: Raylets, process: subprocess.Popen[str], kills: int, chance: random.Random) -> list[float]:
    """Kill actors, the coordinator among them, and in the middle a whole node; when that was."""
    deaths: list[float] = []
    while process.poll() is None and len(deaths) < kills:
        time.sleep(chance.uniform(0.3, 1.5))
        name = "CoordinatorActor" if len(deaths) % 4 == 3 else "ShardActor"
        living = cluster.actors(name) if len(deaths) != kills // 2 else cluster.nodes[:1]
        if living:
            with suppress(OSError):
                os.kill(chance.choice(living), signal.SIGKILL)
                deaths.append(time.time())
    return deaths


@pytest.fixture
def one_node() -> Iterator[Raylets]:
    """A node with a processor for each of two shards, besides the head."""
    with raylets(1, 2, Path(f"/tmp/periplus-ray1-{os.getpid()}")) as found:
        yield found


@pytest.mark.slow
def test_an_actor_is_killed(start_lab: Callable[[Server], RunningLab], tmp_path: Path, one_node: Raylets) -> None:
    """It is started again; in the end the pages are those of one process, and every host was asked politely."""
    world = small_world(60)
    lab = start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))
    finish(tmp_path / "whole" / "kept", asked(lab))
    lab.log.clear()
    settings = SETTINGS.replace(f"delay = {DELAY}", f"delay = {QUICK_DELAY}")
    process = crawl(lab, tmp_path / "killed", settings, "--workers", "2", "--cluster", one_node.address)
    lab.log.wait_for(10, timeout=600)
    os.kill(one_node.actors("ShardActor")[0], signal.SIGKILL)
    finished(process)
    assert len(fetched(tmp_path / "whole")) > 30
    assert fetched(tmp_path / "killed") == fetched(tmp_path / "whole")
    assert_polite(lab.log, QUICK_DELAY)
    assert max(unrecorded(lab.log.visits(), tmp_path / "killed" / "kept").values(), default=0) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("kills", [4, 20])
def test_actors_the_coordinator_and_a_node_are_killed(
    lab: RunningLab, tmp_path: Path, cluster: Raylets, kills: int
) -> None:
    """The same pages in the end; politeness holds; and of each host at most one request is repeated for a death.

    When a process of a killed node dies is up to Ray: it goes on for a while. Moments of deaths prove nothing here.
    """
    finished(crawl(lab, tmp_path / "whole", SETTINGS.replace(f"delay = {DELAY}", "delay = 0.01"), "--workers", "1"))
    lab.log.clear()
    process = crawl(lab, tmp_path / "killed", SETTINGS, "--workers", str(SHARDS), "--cluster", cluster.address)
    lab.log.wait_for(5, timeout=600)
    deaths = kill_some(cluster, process, kills, random.Random(9))
    finished(process)
    assert len(deaths) == kills
    assert fetched(tmp_path / "killed") == fetched(tmp_path / "whole")
    assert_polite(lab.log, DELAY)
    again = unrecorded(lab.log.visits(), tmp_path / "killed" / "kept")
    assert max(again.values(), default=0) <= kills
