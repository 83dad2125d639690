"""Shards as processes, from the outside: limits, times, rates, and every way in which one cannot go on."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import pytest
from tests.system.crawled import Asked, asked, rows, tiny_world
from tests.system.typed import Program

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl
from periplus.collection.seeds import seeds_from
from periplus.engine.overview import FrontierStats
from periplus.engine.shard import MakeShard, Shard, ShardOutput, ShardStatus
from periplus.engine.sharding import PageBudget, ShardedCrawl
from periplus.engine.sharding.processes import WorkerProcess
from periplus.engine.stats import CrawlStats
from periplus.model import Batch, CollectionDamaged, CollectionError, ConfigError, Discovery, Source, Url
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus_lab.server import RunningLab, Server, SteppedClock

pytest_plugins = ["periplus_lab.pytest_plugin"]


@pytest.fixture
def lab(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    world = tiny_world()
    return start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))


def crawl_of(folder: Path, what: Asked) -> ShardedCrawl:
    return open_crawl(Config().with_options(what.options), folder, seeds_from(what.seeds), what.workers)


def pages_of(lab: RunningLab) -> int:
    """How often a page was sent; robots.txt, sitemaps and feeds are none."""
    ends = (".txt", ".xml", ".xml.gz")
    return sum(visit.status == 200 and not visit.target.endswith(ends) for visit in lab.log.visits())


@pytest.mark.parametrize("workers", [1, *(pytest.param(workers, marks=pytest.mark.slow) for workers in (2, 3))])
def test_a_limit_is_reached_and_not_passed(lab: RunningLab, tmp_path: Path, workers: int) -> None:
    """By no page, however many shards there are; a larger one goes on from there, and what there is ends it."""
    crawl_of(tmp_path, asked(lab, workers, crawl__limit=7)).run()
    assert pages_of(lab) == 7
    if workers < 3:
        last = crawl_of(tmp_path, asked(lab, workers, crawl__limit=100_000)).run()
        assert sum(status.frontier.done for status in last) == pages_of(lab) < 1000
        assert not any(status.frontier.queued for status in last)


def test_shards_of_a_collection_are_all_there_or_none(lab: RunningLab, tmp_path: Path) -> None:
    """So that a crawl that died while it began can be begun again; another number of them is refused with a hint."""
    (tmp_path / "state.new" / "shard-00").mkdir(parents=True)
    (tmp_path / "state.new" / "shard-07").mkdir()
    crawl_of(tmp_path, asked(lab, 3))
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["shard-00", "shard-01", "shard-02"]
    with pytest.raises(ConfigError, match="3 workers"):
        crawl_of(tmp_path, asked(lab, 2))


def test_files_of_the_current_folder_are_not_imported(tmp_path: Path) -> None:
    """Whatever they are named like: who crawls in a folder of downloads runs none of them."""
    for name in ("six", "numpy", "periplus", "queue"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'run')!r}, 'a').write({name!r})")
    script = """
import multiprocessing
from periplus.engine.sharding.processes import start_fork_server
start_fork_server("periplus.store.tables")
process = multiprocessing.get_context("forkserver").Process(target=print)
process.start()
process.join()
raise SystemExit(process.exitcode)"""
    subprocess.run([sys.executable, "-P", "-c", script], cwd=tmp_path, check=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.proof
def test_a_shard_that_is_in_use_is_an_error(lab: RunningLab, tmp_path: Path) -> None:
    """With the exit code of collections in use, and no process is left behind."""
    crawl = crawl_of(tmp_path, asked(lab, 2))
    holder = DiskState(Layout(tmp_path).shard(1), shard=1)
    try:
        with pytest.raises(CollectionError, match="in use by process") as caught:
            crawl.run()
    finally:
        holder.close()
    assert (caught.value.exit_code, multiprocessing.active_children()) == (3, [])


def deadly(number: int, count: int) -> Shard:
    """A shard that cannot even begin."""
    os._exit(17)


def broken(number: int, count: int) -> Shard:
    raise CollectionDamaged("it is broken", hint="fix it")


@pytest.mark.proof
def test_a_shard_that_dies_again_and_again_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some tries, with an error; no process is left behind."""
    monkeypatch.setattr("periplus.engine.sharding.coordinator.MAX_STARTS", 2)
    with pytest.raises(CollectionError, match="died 2 times in a row"):
        ShardedCrawl(deadly, 2).run()
    assert multiprocessing.active_children() == []


def test_what_a_shard_says_is_wrong_is_what_the_crawl_says() -> None:
    """Message, hint and exit code come through."""
    with pytest.raises(CollectionError, match="it is broken") as caught:
        ShardedCrawl(broken, 2).run()
    assert (caught.value.hint, caught.value.exit_code) == ("fix it", 3)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_time_is_kept(lab: RunningLab, tmp_path: Path, workers: int) -> None:
    """When it is over nothing new is begun, and all that was fetched is kept."""
    rate, seconds = (20.0, 1.0) if workers == 1 else (8.0, 15.0)  # processes take a while to begin
    what = asked(lab, workers, crawl__rate=rate, **{"crawl.for": seconds})
    crawl = crawl_of(tmp_path, what)
    last = crawl.run()
    assert not crawl.is_interrupted
    assert any(status.frontier.queued for status in last)
    assert len(rows(tmp_path, "fetches")) >= pages_of(lab)
    assert sum(status.crawl.pages for status in last) == pages_of(lab)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_rate_is_kept_over_any_second(lab: RunningLab, tmp_path: Path, workers: int) -> None:
    """Robots files count, too. When a request began is in the table: a busy server may read it much later.

    A request may begin late, if the machine stalls after it was granted, and the next ones then seem early: so the
    crawl is repeated a few times if the rate seems to be exceeded.
    """
    assert any(is_rate_kept(lab, tmp_path / str(attempt), workers) for attempt in range(4))


def is_rate_kept(lab: RunningLab, folder: Path, workers: int) -> bool:
    """Whether a crawl with a rate of 16 began at most as many requests in any second."""
    lab.log.clear()
    crawl_of(folder, asked(lab, workers, crawl__rate=16.0, crawl__limit=24)).run()
    fetches = [row for row in rows(folder, "fetches") if row["outcome"] != "excluded"]
    assert len(fetches) == lab.log.total >= 24
    times = sorted(row["started_at"].timestamp() for row in fetches)
    return all(last - first > 0.95 for first, last in zip(times, times[16:], strict=False))


def tell(lab: RunningLab) -> None:
    lab.log.wait_for(3, timeout=600)
    os.kill(os.getpid(), signal.SIGUSR1)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_stop_may_come_from_a_signal_handler(lab: RunningLab, tmp_path: Path, workers: int) -> None:
    """The crawl ends soon, everything is kept, and goes on later."""
    crawl = crawl_of(tmp_path, asked(lab, workers, politeness__delay=0.5))
    before = signal.signal(signal.SIGUSR1, lambda *_: crawl.stop())
    try:
        teller = threading.Thread(target=tell, args=(lab,))
        teller.start()
        last = crawl.run()
        teller.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert crawl.is_interrupted
    assert any(status.frontier.queued for status in last)
    assert sum(status.crawl.fetches for status in last) == len(rows(tmp_path, "fetches"))


def test_a_shard_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is let go of, after a grace: nothing is lost by it."""
    process = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
    process.start()
    worker = WorkerProcess(0)
    worker.process = process
    monkeypatch.setattr("periplus.engine.sharding.processes.GRACE", 0.1)
    worker.end()
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("moment", [0.0, *(pytest.param(moment, marks=pytest.mark.slow) for moment in (0.3, 1.0))])
def test_ctrl_c_of_a_terminal_reaches_the_coordinator_alone(lab: RunningLab, tmp_path: Path, moment: float) -> None:
    """The whole group gets the signal, also shards that have just begun: no error is printed, no process is left."""
    options = ["-o", str(tmp_path / "c"), "--proxy", lab.base, "--workers", "2", "--delay", "1", "--for", "60"]
    process = Program(
        "crawl", f"http://{lab.world.hosts[0]}/", *options, stderr=subprocess.PIPE, text=True, process_group=0
    )
    if moment:
        while not (tmp_path / "c" / "state").exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(moment)
    else:
        lab.log.wait_for(1, timeout=600)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    until = time.monotonic() + 600
    while not is_gone(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert is_gone(process.pid)


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


class QueueOfShard:
    def __init__(self, waiting: int, speed: int = 3) -> None:
        self.done, self.waiting, self.speed, self.pace = 0, waiting, speed, 0

    def fetch(self, granted: int) -> None:
        self.pace = min(granted - self.done, self.waiting, self.speed)
        self.done, self.waiting = self.done + self.pace, self.waiting - self.pace

    @property
    def wants_more(self) -> bool:
        return self.waiting > 0

    @property
    def is_settled(self) -> bool:
        return not self.waiting


@pytest.mark.parametrize("limit", [1, 2, 3, 10, 100, 5000])
@pytest.mark.parametrize("waiting", [[50, 0], [0, 7, 500], [3000, 3000], [1, 1, 1, 1]])
def test_all_pages_are_dealt_out_and_no_more(limit: int, waiting: list[int]) -> None:
    """A shard with work gets what others do not need; the sum is never passed."""
    budget = PageBudget(limit, len(waiting))
    shards = [QueueOfShard(number) for number in waiting]
    total = min(limit, sum(waiting))
    for _ in range(10_000):
        budget.allocate(shards)
        assert sum(budget.granted) <= limit
        for shard, granted in zip(shards, budget.granted, strict=True):
            shard.fetch(granted)
        if sum(shard.done for shard in shards) == total:
            break
    assert sum(shard.done for shard in shards) == total


def test_a_slow_shard_does_not_hold_the_last_pages_of_a_limit() -> None:
    """A shard with few ready sites gets small portions, so that the other need not wait for it at the end."""
    limit, slow, fast = 10_000, 1, 100
    budget = PageBudget(limit, 2)
    shards = [QueueOfShard(limit, slow), QueueOfShard(limit, fast)]
    rounds = 0
    while sum(shard.done for shard in shards) < limit:
        budget.allocate(shards)
        for shard, granted in zip(shards, budget.granted, strict=True):
            shard.fetch(granted)
        rounds += 1
    assert rounds <= limit / (slow + fast) * 1.2


class Talker:
    """In the place of a shard: it has very much to say to the other, all at once, and wants to hear as much."""

    BATCHES = 20

    def __init__(self, number: int, count: int) -> None:
        self.number = number
        long = tuple(Discovery(Url(f"http://a.test/{'x' * 500}{number}"), Source.LINK, 0.0) for number in range(1000))
        self._leaving = tuple(Batch.of(number, 1 - number, each, long) for each in range(1, self.BATCHES + 1))
        self._unacknowledged = self.BATCHES
        self._taken = self._told = 0

    def receive(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            assert batch.number == self._taken + 1
            self._taken = batch.number

    def acknowledged(self, receipts: dict[int, int]) -> None:
        for number in receipts.values():
            self._unacknowledged = self.BATCHES - number

    def collect(self) -> ShardOutput:
        leaving, self._leaving = self._leaving, ()
        receipts = {1 - self.number: self._taken} if self._taken > self._told else {}
        self._told = self._taken
        return ShardOutput(leaving, receipts)

    def status(self) -> ShardStatus:
        is_quiet = self._unacknowledged == 0 and self._taken == self._told
        is_idle, other = self._taken == self.BATCHES, 1 - self.number
        census = FrontierStats(0, 0, 0, 0, 0, 0, 0, self._taken)
        numbers = {other: self.BATCHES} if is_idle and is_quiet else {}
        return ShardStatus(self.number, census, CrawlStats(), is_idle, is_quiet, sent=numbers, taken=numbers)

    def step(self, timeout: float) -> None:
        time.sleep(0.001)

    def set_page_budget(self, pages: int | None, *, is_spent: bool = False) -> None: ...

    def extend_scope(self, places: Sequence[Url]) -> None: ...

    def discover(self, discoveries: Sequence[Discovery]) -> None: ...

    def stop(self, grace: float) -> None: ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


def test_two_who_say_very_much_at_once_do_not_wait_for_each_other() -> None:
    """Ten megabytes each way, far more than a pipe holds: everything arrives, in order."""
    last = ShardedCrawl(cast("MakeShard", Talker), 2).run()
    assert [status.frontier.done for status in last] == [Talker.BATCHES] * 2
