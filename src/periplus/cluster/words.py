"""What shards, their coordinator and the command say to each other."""

from __future__ import annotations

from msgspec import Struct

from periplus.crawl.frontier import Shares
from periplus.crawl.shard import Status


class Lease(Struct, frozen=True):
    """The sites of a shard are its own for so many seconds after it asked, as long as nobody has a later epoch."""

    epoch: int
    seconds: float


class Wait(Struct, frozen=True):
    """Somebody else may still visit these sites: ask again after so many seconds."""

    seconds: float


class Report(Struct, frozen=True):
    """How a shard is doing; which orders it had heard by then, and the last piece of news that it has kept.

    `is_quiet`: all others have heard of the places that seeds have moved to.
    """

    status: Status
    heard: int
    told: int
    is_quiet: bool


class Orders(Struct, frozen=True):
    """What a shard is to do, and for how long its sites are its own. They are counted, so that it can say which it has.

    `pages`: how many it may fetch in all; `None`: any number. `visits_a_day`: its share of what a crawl that watches
    may do. `stop`: end within so many seconds. `shares`: how many shards ask at its addresses, if that is news.
    """

    number: int
    lease: Lease
    pages: int | None = None
    visits_a_day: float | None = None
    stop: float | None = None
    shares: Shares | None = None


class Trouble(Struct, frozen=True):
    """Why a shard cannot go on, and would not if it were begun again."""

    message: str
    hint: str
    exit_code: int


class Standing(Struct, frozen=True):
    """How all shards are doing, for the command.

    `epochs`: the lives of each shard so far; `told`: the last piece of news that each has kept, in this life.
    """

    statuses: tuple[Status, ...]
    epochs: tuple[int, ...]
    told: tuple[int, ...]
    is_finished: bool
    are_stopped: bool
    trouble: Trouble | None
