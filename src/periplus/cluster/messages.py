"""The messages that only a cluster has: leases of shards, and what the command asks for.

All others are those of every transport (`periplus.crawl.sharding.messages`).
"""

from __future__ import annotations

from msgspec import Struct

from periplus.crawl.shard import Status
from periplus.crawl.sharding.messages import Orders, ShardFailure


class Lease(Struct, frozen=True):
    """The sites of a shard belong to one holder for `seconds` after it asked, while no holder has a later epoch."""

    epoch: int
    seconds: float


class Wait(Struct, frozen=True):
    """The last holder may still send requests to these sites: ask again after `seconds`."""

    seconds: float


class Renewal(Struct, frozen=True):
    """The answer to a report: the lease begins again, with these orders. `stop`: end within that many seconds."""

    lease: Lease
    orders: Orders
    stop: float | None = None


class Overview(Struct, frozen=True):
    """The state of the crawl, for the command.

    By shard: `epochs` counts its holders so far, `announcements` is the last one that its holder has kept.
    """

    statuses: tuple[Status, ...]
    epochs: tuple[int, ...]
    announcements: tuple[int, ...]
    is_finished: bool
    are_stopped: bool
    failure: ShardFailure | None
