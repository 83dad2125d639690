"""Shards of this machine are told what they may spend on visits: when that changes, and before they begin again."""

from __future__ import annotations

from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, cast

import pytest

from periplus.crawl.census import Census
from periplus.crawl.local.messages import Afford, Allow, Told
from periplus.crawl.local.team import Team
from periplus.crawl.shard import Status
from periplus.crawl.tally import Tally
from periplus.policy.refresh import Bid

DAY = 86_400.0
NOW = 1.7e9


class Nobody:
    """A process that is not there."""

    def join(self, _timeout: float | None = None) -> None:
        """It has ended."""

    def is_alive(self) -> bool:
        """It is not."""
        return False


class Played(Team):
    """The coordinator, whose shards are played by a test at the other ends of their pipes."""

    def __init__(self, workers: int) -> None:
        super().__init__(cast("Any", None), workers, None)
        self.ends: dict[int, Connection] = {}

    def _born(self, number: int) -> tuple[Connection, BaseProcess]:
        here, self.ends[number] = Pipe()
        return here, cast("BaseProcess", Nobody())

    def say(self, number: int, bid: Bid | None) -> None:
        """A shard tells how it is doing."""
        status = Status(number, Census(0, 0, 0, 0, 0, 0, 0, 0), Tally(), False, True, bid=bid)
        self.ends[number].send(Told(status, 0))
        self.turn(1.0)

    def heard(self, number: int) -> list[object]:
        """What a shard was told since."""
        said = []
        while self.ends[number].poll(0):
            said.append(self.ends[number].recv())
        return said


def bid(price: float, visits_a_day: float, day: float) -> Bid:
    return Bid(NOW + day * DAY, 1000.0, visits_a_day, price, price, 100, 0)


def test_shards_are_told_when_their_share_changes() -> None:
    """And one that dies is told again before it hears anything else: it may do nothing before."""
    team = Played(2)
    team.start([])
    try:
        assert not any(isinstance(message, Afford) for number in (0, 1) for message in team.heard(number))
        for day in (0.0, 1.0):
            team.say(0, bid(1.0, 500.0, day))
            team.say(1, bid(9.0, 500.0, day))
        [less], [more] = team.heard(0), team.heard(1)
        assert isinstance(less, Afford)
        assert isinstance(more, Afford)
        assert less.visits_a_day < 500.0 < more.visits_a_day
        assert less.visits_a_day + more.visits_a_day == pytest.approx(1000.0)
        team.ends[1].close()
        team.turn(1.0)
        assert [type(message) for message in team.heard(1)[:2]] == [Afford, Allow]
    finally:
        team.close()


def test_who_watches_nothing_is_told_nothing() -> None:
    """A crawl that fetches everything once has no such budget."""
    team = Played(2)
    team.start([])
    try:
        for number in (0, 1, 0, 1):
            team.say(number, None)
        assert not any(isinstance(message, Afford) for number in (0, 1) for message in team.heard(number))
    finally:
        team.close()
