"""The messages between shards, their coordinator and the program that runs the crawl, whatever carries them.

A worker posts its `Build`, then `ShardOutput` (for other shards), `StatusReport`, `Reply`, and at its end
`ShardStopped` or `ShardFailure`. It receives `Orders`, `Delivery`, `Announcement`, `Asked` and `StopShard`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Self

from msgspec import field

from periplus.model import Batch, CollectionError, Discovery, PeriplusError, Url
from periplus.urls import site_of

from ..frontier import AddressShares
from ..router import owner_of
from ..shard import Controls, ShardOutput, ShardQuestion, ShardStatus, ShardView
from ..versioned import VersionedMessage
from .builds import Build

STATUS_INTERVAL = 0.25
"""Seconds between two reports of a shard: page budgets and address shares wait for one, so it must be short."""
GRACE = 10.0
"""Seconds for the requests under way to end when a crawl stops."""


class StatusReport(VersionedMessage, frozen=True):
    """The status of a shard after it has applied these orders and kept this announcement (their numbers).

    `is_quiet`: whether the transport has delivered all places that seeds have moved to from this shard to the others.
    """

    status: ShardStatus
    orders: int = 0
    announcement: int = 0
    is_quiet: bool = True


class Orders(VersionedMessage, frozen=True):
    """The coordinator's decisions for one shard; the latest replace all before. A change gets a higher number.

    `pages`: how many it may fetch in total; `None`: any number. `visits_per_day`: its part of a watch's budget, once
    there is one. `shares`: the shares of its addresses that it has not confirmed. `controls`: what people ask for.
    `is_spent`: all shards together have fetched the pages that they may.
    """

    number: int
    pages: int | None
    visits_per_day: float | None = None
    shares: AddressShares | None = None
    controls: Controls = Controls()
    is_spent: bool = False


class Delivery(VersionedMessage, frozen=True):
    """From other shards: places to add to the scope first, then batches to take; and receipts by receiver."""

    places: tuple[Url, ...] = ()
    batches: tuple[Batch, ...] = ()
    receipts: dict[int, int] = field(default_factory=dict)


class Announcement(VersionedMessage, frozen=True):
    """URLs that were pinged. Numbers increase, so that an announcement that arrives twice is applied once."""

    number: int
    discoveries: tuple[Discovery, ...]


class Asked(VersionedMessage, frozen=True):
    """A question for a shard; its `Reply` has the same number. A worker that dies does not answer."""

    number: int
    question: ShardQuestion


class Reply(VersionedMessage, frozen=True):
    """The answer of a shard to a question."""

    number: int
    view: ShardView


class StopShard(VersionedMessage, frozen=True):
    """End the requests under way within `grace` seconds, commit everything, and end."""

    grace: float


class ShardStopped(VersionedMessage, frozen=True):
    """Everything is committed; the last message of a worker."""

    status: ShardStatus


class ShardFailure(VersionedMessage, frozen=True):
    """Why a shard cannot go on; starting it again would not help."""

    message: str
    hint: str
    exit_code: int = CollectionError.exit_code

    @classmethod
    def of(cls, error: PeriplusError) -> Self:
        """The failure that an error means. It may name a file whose name is not UTF-8, which is escaped."""
        message, hint = (text.encode("utf-8", "backslashreplace").decode() for text in (str(error), error.hint))
        return cls(message, hint, error.exit_code)

    def error(self) -> CollectionError:
        """The error to raise where the crawl runs."""
        error = CollectionError(self.message, hint=self.hint)
        error.exit_code = self.exit_code
        return error


Received = Orders | Delivery | Announcement | Asked | StopShard
Posted = Build | ShardOutput | StatusReport | Reply | ShardStopped | ShardFailure


def other_build(number: int, other: Build, reason: str) -> ShardFailure:
    """The failure of a crawl one of whose shards would be run by a build that may not."""
    return ShardFailure(
        f"shard {number} is where Periplus {other.version} is installed: {reason}",
        "Install the same version, or the next minor one, everywhere; to skip versions, stop the crawl first",
    )


def by_owner(discoveries: Iterable[Discovery], shards: int) -> list[tuple[Discovery, ...]]:
    """The discoveries of each shard's own sites."""
    owned: list[list[Discovery]] = [[] for _ in range(shards)]
    for discovery in discoveries:
        owned[owner_of(site_of(discovery.url), shards)].append(discovery)
    return [tuple(each) for each in owned]


class Announcements:
    """The announcements that each shard has not kept yet; a shard that is started again gets them again."""

    def __init__(self, shards: int) -> None:
        self._waiting: list[deque[Announcement]] = [deque() for _ in range(shards)]
        self.last = 0
        """The number of the last announcement."""

    def add(self, discoveries: Sequence[Discovery]) -> list[tuple[int, Announcement]]:
        """Announce each to the shard that has its site; the new announcements by shard."""
        self.last += 1
        added = [
            (shard, Announcement(self.last, own))
            for shard, own in enumerate(by_owner(discoveries, len(self._waiting)))
            if own
        ]
        for shard, announcement in added:
            self._waiting[shard].append(announcement)
        return added

    def kept(self, shard: int, number: int) -> None:
        """Record that a shard has committed this announcement and all before it."""
        waiting = self._waiting[shard]
        while waiting and waiting[0].number <= number:
            waiting.popleft()

    def waiting(self, shard: int) -> tuple[Announcement, ...]:
        """The announcements that a shard has not confirmed, in order."""
        return tuple(self._waiting[shard])

    def are_kept_to(self, number: int) -> bool:
        """Whether every shard has kept this one and all before it."""
        return all(not waiting or waiting[0].number > number for waiting in self._waiting)

    @property
    def are_kept(self) -> bool:
        """Whether every shard has kept all of them."""
        return not any(self._waiting)
