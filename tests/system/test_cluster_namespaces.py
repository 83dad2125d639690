"""A cluster of machines that are cut off from each other, or stand still, while the web remains in reach of each.

A worker that is cut off must have let go of its sites before another asks there: the witness is the lab's server,
which stands in every machine. States lie on the machines' own disks, so that no lock of a file that all of them see
keeps two processes apart: only leases do.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from tests.processes import is_alive
from tests.system.crawled import CLUSTER_SETTINGS, assert_polite, crawled, lost, small_world
from tests.system.namespaces import ENVIRONMENT, Machine, Machines, machines, why_not

pytest.importorskip("ray", reason="the cluster is an extra: pip install periplus-ray")
pytestmark = pytest.mark.slow

SHARDS, NODES, PROCESSORS, LEASE, DELAY = 4, 3, 4, 3.0, 0.2
KILLS = int(os.environ.get("PERIPLUS_KILLS", "0"))
PATIENCE = 600.0
FOLDER = Path(f"/tmp/periplus-ns-{os.getpid()}")  # a short name: sockets lie there
SETTINGS = f'{CLUSTER_SETTINGS}local_state = "{{states}}"\n'
IMPATIENCE = {
    "RAY_health_check_initial_delay_ms": "500",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}
"""Ray waits longer by itself until it gives up a node that says nothing."""

LONG = pytest.mark.skipif(not KILLS, reason="takes minutes; PERIPLUS_KILLS=20 runs it, and says how often to kill")


class Crawl:
    """The command, typed at a machine, and when its shards died. `host`: where it has most to do."""

    host = ""

    def __init__(self, cluster: Machines, at: Machine, folder: Path, delay: float, *options: str) -> None:
        folder.mkdir()
        asked = folder / "asked.toml"
        asked.write_text(SETTINGS.format(delay=delay, lease=LEASE, states=FOLDER / "states"))
        self.folder = folder / "kept"
        self.deaths: list[float] = []
        self._cluster = cluster
        self._living: set[int] = set()
        seeds = [f"http://{host}/" for host in cluster.world.hosts[:4]]
        arguments = [
            "crawl",
            *seeds,
            "-o",
            str(self.folder),
            "--config",
            str(asked),
            "--proxy",
            cluster.proxy,
            *options,
        ]
        self.process = subprocess.Popen(
            at.inside(sys.executable, "-m", "periplus", *arguments, "--json"), env=os.environ | ENVIRONMENT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def until(self, holds: Callable[[], object]) -> None:
        """Wait for that, and see who dies meanwhile."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end
            self._look()

    def finish(self) -> None:
        """To its end, which must be a good one."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            self._look()
        _, said = self.process.communicate(timeout=1)
        assert self.process.returncode == 0, said

    def _look(self) -> None:
        time.sleep(0.02)
        gone = {shard for shard in self._living if not is_alive(shard)}
        self.deaths += [time.time()] * bool(gone)
        self._living = self._living - gone | {shard for each in self._cluster.others for shard in each.shards()}

    def put_to_sleep(self, processes: Iterable[int]) -> float:
        """Stop processes: when that was. What they asked for last is lost, since others go on before they die."""
        self.deaths.append(time.time())
        kill(processes, signal.SIGSTOP)
        return self.deaths[-1]


@pytest.fixture
def cluster() -> Iterator[Machines]:
    """The head, and three machines with processors enough for all shards on any of them."""
    if reason := why_not():
        pytest.skip(reason)
    with machines(NODES, PROCESSORS, FOLDER, small_world(150), **IMPATIENCE) as found:
        yield found


@pytest.fixture
def whole(cluster: Machines, tmp_path: Path) -> Path:
    """The same crawl in one piece."""
    crawl = Crawl(cluster, cluster.others[0], tmp_path / "whole", 0.01, "--workers", "1")
    crawl.finish()
    return crawl.folder


@pytest.fixture
def crawl(cluster: Machines, whole: Path, tmp_path: Path) -> Iterator[Crawl]:
    """The crawl on the cluster, under way at the host where there is most to do."""
    log = cluster.seen()
    cluster.forget()
    options = ["--workers", str(SHARDS), "--cluster", cluster.address]
    crawl = Crawl(cluster, cluster.head, tmp_path / "cluster", DELAY, *options)
    crawl.host = max(log.hosts(), key=lambda host: len(log.visits(host)))
    crawl.until(lambda: len(cluster.seen().visits(crawl.host)) >= 10)
    yield crawl
    crawl.process.kill()
    crawl.process.communicate()


def where(cluster: Machines, host: str) -> Machine:
    """The machine that asked this host last."""
    return max(cluster.others, key=lambda each: max((v.real_started_at for v in each.log.visits(host)), default=0.0))


def check(cluster: Machines, crawl: Crawl, whole: Path) -> None:
    """The same pages, each asked for once but for what was under way; and no host was asked too soon."""
    log = cluster.seen()
    assert_polite(log, DELAY)
    assert crawled(crawl.folder).pages == crawled(whole).pages
    again = lost(log.visits(), crawl.folder, crawl.deaths)
    assert sum(again.values()) <= len(crawl.deaths) * len(log.hosts())


def asked_elsewhere(cluster: Machines, host: str, some: Iterable[Machine], since: float) -> bool:
    """Whether another machine than these has asked this host."""
    others = [each for each in cluster.others if each not in some]
    return any(visit.real_started_at > since for each in others for visit in each.log.visits(host))


def last_and_first(cluster: Machines, host: str, some: Iterable[Machine]) -> tuple[float, float]:
    """When these machines last asked this host, and when another did for the first time after that."""
    last = max(visit.real_started_at for each in some for visit in each.log.visits(host))
    others = [each for each in cluster.others if each not in some]
    return last, min(v.real_started_at for each in others for v in each.log.visits(host) if v.real_started_at > last)


@LONG
def test_a_process_sleeps_and_then_machines_are_cut_off_with_the_coordinator(
    cluster: Machines, crawl: Crawl, whole: Path
) -> None:
    """Who slept longer than its lease ends when it wakes. Who is cut off lets go of its sites before others ask there.

    Those that are cut off hear each other, and the web; Ray begins all of them elsewhere, the coordinator, too.
    """
    asleep = where(cluster, crawl.host).shards()[:1]
    crawl.put_to_sleep(asleep)
    crawl.until(after(1.5 * LEASE))
    kill(asleep, signal.SIGCONT)
    crawl.until(lambda: not any(map(is_alive, asleep)))
    woken_at = time.time()
    crawl.until(lambda: asked_elsewhere(cluster, crawl.host, (), woken_at))
    while not (coordinators := [each for each in cluster.others if each.coordinators()]):
        kill(cluster.coordinators())  # until it is on a machine that can be cut off
        crawl.until(cluster.coordinators)
    island = {coordinators[0], where(cluster, crawl.host)}
    shards = [shard for each in island for shard in each.shards()]
    cut_at = time.time()
    cluster.cut_off(island)
    crawl.until(lambda: asked_elsewhere(cluster, crawl.host, island, cut_at))
    assert not any(map(is_alive, shards))
    last, first = last_and_first(cluster, crawl.host, island)
    assert first - last > LEASE / 5  # no lease is shortened; a copy that was taken over stops them only then
    cluster.reconnect()
    crawl.finish()
    check(cluster, crawl, whole)


@LONG
def test_a_machine_stands_still_and_goes_on(cluster: Machines, crawl: Crawl, whole: Path) -> None:
    """It was given up meanwhile, and others ask its hosts: its processes end when they wake, without a request."""
    machine = where(cluster, crawl.host)
    asleep = [*machine.raylets(), *machine.shards(), *machine.coordinators()]
    stopped_at = crawl.put_to_sleep(asleep)
    crawl.until(lambda: asked_elsewhere(cluster, crawl.host, [machine], stopped_at))
    kill(asleep, signal.SIGCONT)
    crawl.finish()
    check(cluster, crawl, whole)


@LONG
def test_actors_and_the_coordinator_are_killed_on_all_machines(cluster: Machines, crawl: Crawl, whole: Path) -> None:
    """And in the middle a whole machine, as seen by Ray."""
    chance = random.Random(9)
    for number in range(KILLS):
        crawl.until(after(chance.uniform(0.3, 1.5)))
        crawl.until(partial(killable, cluster, number))
        kill([chance.choice(killable(cluster, number))])
    crawl.finish()
    check(cluster, crawl, whole)


def killable(cluster: Machines, number: int) -> list[int]:
    """Those of whom the next to be killed is one."""
    if number == KILLS // 2:
        return [raylet for each in cluster.others for raylet in each.raylets()][:1]
    if number % 4 == 3:
        return cluster.coordinators()
    return [shard for each in cluster.others for shard in each.shards()]


def after(seconds: float) -> Callable[[], bool]:
    """Whether `seconds` are over from now."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def kill(processes: Iterable[int], what: int = signal.SIGKILL) -> None:
    """What is gone by now is gone."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, what)
