"""The process team sends shards their orders: when these change, and before a shard works, also again."""

from __future__ import annotations

from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, cast

import pytest

from periplus.engine.overview import FrontierStats
from periplus.engine.shard import Controls, ShardQuestion, ShardStatus
from periplus.engine.sharding.crawl import ShardedCrawl
from periplus.engine.sharding.messages import Asked, Orders, StatusReport
from periplus.engine.sharding.processes import ProcessTeam
from periplus.engine.stats import CrawlStats
from periplus.model import Bid
from periplus.parts.revisit.market import Market

DAY = 86_400.0
NOW = 1.7e9


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
        super().__init__(cast("Any", None), workers, None, Market)
        self.ends: dict[int, Connection] = {}

    def _spawn(self, number: int) -> tuple[Connection, BaseProcess]:
        here, self.ends[number] = Pipe()
        return here, cast("BaseProcess", EndedProcess())

    def report(self, number: int, bid: Bid | None) -> None:
        """A shard reports."""
        status = ShardStatus(number, FrontierStats(0, 0, 0, 0, 0, 0, 0, 0), CrawlStats(), False, True, bid=bid)
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
