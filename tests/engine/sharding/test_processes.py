"""The process team sends shards their orders: when these change, and before a shard works, also again."""

from __future__ import annotations

from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pytest
from msgspec.structs import replace

from periplus.engine.overview import FrontierStats
from periplus.engine.shard import Controls, ShardQuestion, ShardStatus
from periplus.engine.sharding.builds import Build
from periplus.engine.sharding.crawl import ShardedCrawl
from periplus.engine.sharding.messages import Asked, Orders, ShardStopped, StatusReport, StopShard
from periplus.engine.sharding.processes import ProcessTeam, serve
from periplus.engine.stats import CrawlStats
from periplus.model import Bid, CollectionError, Discovery, Source, Url

DAY = 86_400.0
NOW = 1.7e9


STATUS = ShardStatus(0, FrontierStats(0, 0, 0, 0, 0, 0, 0, 0), CrawlStats(), is_idle=False, is_quiet=True)


class EndedProcess:
    """In the place of a worker process."""

    def join(self, _timeout: float | None = None) -> None:
        """It has ended."""

    def is_alive(self) -> bool:
        """It is not."""
        return False


class Played(ProcessTeam):
    """A team whose shards are played by a test, at the other ends of their pipes."""

    def __init__(self, workers: int) -> None:
        super().__init__(cast("Any", None), workers, None)
        self.ends: dict[int, Connection] = {}

    def _spawn(self, number: int) -> tuple[Connection, BaseProcess]:
        here, self.ends[number] = Pipe()
        return here, cast("BaseProcess", EndedProcess())

    def report(self, number: int, bid: Bid | None) -> None:
        """A shard reports."""
        status = replace(STATUS, shard=number, bid=bid)
        self.ends[number].send(StatusReport(status))
        self.poll(1.0)

    def received(self, number: int) -> list[object]:
        """What a shard has received since the last call."""
        messages = []
        while self.ends[number].poll(0):
            messages.append(self.ends[number].recv())
        return messages

    def budgets(self, number: int) -> list[float | None]:
        """The visit budgets in these messages, which are orders."""
        return [message.visits_per_day for message in self.received(number) if isinstance(message, Orders)]


def bid(price: float, visits_a_day: float, day: float) -> Bid:
    return Bid(NOW + day * DAY, 1000.0, visits_a_day, price, price, 100, 0)


def test_shards_get_orders_when_their_budget_changes() -> None:
    """And one that dies gets them again before anything else."""
    team = Played(2)
    team.start([])
    try:
        assert [team.budgets(number) for number in (0, 1)] == [[None], [None]]
        for day in (0.0, 1.0):
            team.report(0, bid(1.0, 500.0, day))
            team.report(1, bid(9.0, 500.0, day))
        [less], [more] = team.budgets(0), team.budgets(1)
        assert less is not None
        assert more is not None
        assert less < 500.0 < more
        assert less + more == pytest.approx(1000.0)
        team.ends[1].close()
        team.poll(1.0)
        [first] = team.received(1)
        assert isinstance(first, Orders)
        assert first.visits_per_day == more
    finally:
        team.close()


def test_a_crawl_without_a_watch_has_no_visit_budgets() -> None:
    """A crawl that fetches everything once gets no further orders."""
    team = Played(2)
    team.start([])
    try:
        for number in (0, 1, 0, 1):
            team.report(number, None)
        assert [team.budgets(number) for number in (0, 1)] == [[None], [None]]
    finally:
        team.close()


def test_controls_from_before_the_crawl_are_among_the_first_orders() -> None:
    """A crawl that was paused, and is opened again, makes no request before it is resumed."""
    team = Played(2)
    crawl = ShardedCrawl(cast("Any", None), 2, gather=lambda *_: team)
    asked, paused = crawl.ask(ShardQuestion(sites=1)), crawl.control(Controls(is_paused=True))
    progress = crawl.progress()
    next(progress)
    for number in range(2):
        first, *later = team.received(number)
        assert isinstance(first, Orders)
        assert first.controls.is_paused
        assert [message for message in later if isinstance(message, Asked)]
    assert not paused.done()
    assert not asked.done()
    progress.close()  # type: ignore[attr-defined]
    assert paused.exception() is not None


def poll_often(team: ProcessTeam) -> None:
    for _ in range(20):
        team.poll(5.0)


def interpreter(folder: Path, command: str) -> str:
    """A program that reads nothing."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.proof
@pytest.mark.parametrize("command", ["exit 1", "exec sleep 1000"])
def test_an_interpreter_that_does_not_begin_is_noticed(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where there is more to send to it than a pipe holds."""
    monkeypatch.setattr("periplus.engine.sharding.processes.START_TIMEOUT", 0.5)
    team = ProcessTeam(cast("Any", serve), 1, None)
    seeds = [Discovery(Url(f"https://a.test/{number}"), Source.SEED, NOW) for number in range(20_000)]
    team._seeds = [tuple(seeds)]
    [worker] = team._workers
    worker.python = interpreter(tmp_path, command)
    spawned = Thread(target=team._start, args=[worker], daemon=True)
    spawned.start()
    spawned.join(60.0)
    assert not spawned.is_alive(), "it writes forever"
    with pytest.raises(CollectionError, match="shard 0 died 6 times in a row"):
        poll_often(team)
    team.close()


def test_an_interpreter_that_is_gone_is_named(tmp_path: Path) -> None:
    """A worker died, and the environment that ran it was removed."""
    team = ProcessTeam(cast("Any", serve), 1, None)
    team._workers[0].python = str(tmp_path / "gone")
    with pytest.raises(CollectionError, match=r"shard 0 cannot be continued by .*gone: No such file"):
        team._start(team._workers[0])
    team.close()


def test_a_shard_that_ends_for_a_restart_is_continued_if_another_restart_is_asked_for() -> None:
    """By the interpreter that was asked for last; it would be missing for the rest of the crawl."""
    team = Played(2)
    team.start([])

    def ended(number: int) -> None:
        """The shard was asked to end, and does."""
        assert any(isinstance(message, StopShard) for message in team.received(number))
        end = team.ends[number]
        end.send(ShardStopped(STATUS))
        end.close()
        team.poll(1.0)
        assert team.ends[number] is not end, "it was not started again"

    try:
        for number in (0, 1):
            team.report(number, None)
        team.restart("first")
        team.poll(0.0)
        ended(0)
        team.report(0, None)
        team.poll(0.0)
        team.restart("second")
        team.poll(0.0)
        assert not any(isinstance(message, StopShard) for message in team.received(0))
        ended(1)
        team.report(1, None)
        team.poll(0.0)
        ended(0)
        assert [worker.python for worker in team._workers] == ["second", "second"]
        team.report(0, None)
        team.poll(0.0)
        assert not team.is_restarting
    finally:
        team.close()


def test_a_restart_ends_where_an_interpreter_cannot_run_a_shard() -> None:
    """The one from before continues that shard; the others are left alone."""
    team = Played(3)
    team.start([])

    def drained(number: int) -> None:
        """The shard ends for the restart, and the next worker takes over."""
        assert any(isinstance(message, StopShard) for message in team.received(number))
        team.ends[number].send(ShardStopped(STATUS))
        dies(number)

    def dies(number: int) -> None:
        end = team.ends[number]
        end.close()
        team.poll(1.0)
        assert team.ends[number] is not end, "it was not started again"

    try:
        for number in range(3):
            team.report(number, None)
        team.restart("broken")
        team.poll(0.0)
        drained(0)
        team.ends[0].send(Build.own())
        team.report(0, None)
        team.poll(0.0)
        drained(1)
        assert team._workers[1].python == "broken"
        dies(1)
        assert team.restart_failure == "broken cannot run shard 1: its worker ended at its start"
        assert not team.is_restarting
        assert [worker.python for worker in team._workers] == ["broken", "", ""]
        team.report(1, None)
        team.poll(0.0)
        assert not any(isinstance(message, StopShard) for number in range(3) for message in team.received(number))
        dies(0)
        assert team._workers[0].python == "broken", "it had begun: only the version that wrote a log reads it"
        team.restart("better")
        assert not team.restart_failure
    finally:
        team.close()
