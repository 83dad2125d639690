"""What the coordinator and its shards say to each other, besides parcels (`shard.Parcel`) and seeds (a tuple of them).

To a shard: `Allow`, `Afford`, `Shares` (of the frontier), `Widen`, `Stop`. From a shard: `Told`, `Stopped`, `Broken`.
"""

from __future__ import annotations

from msgspec import Struct

from periplus.model import Url

from ..shard import Status

STATUS_EVERY = 0.25
"""Seconds between two words of a shard on how it is doing."""
GRACE = 10.0
"""What is under way may take so long to end when everything is to stop."""


class Allow(Struct, frozen=True):
    """So many pages may be fetched in all."""

    pages: int | None


class Afford(Struct, frozen=True):
    """So many visits a day may be made, of a crawl that comes back."""

    visits_a_day: float


class Widen(Struct, frozen=True):
    """Seeds have moved to these places."""

    places: tuple[Url, ...]


class Stop(Struct, frozen=True):
    """End what is under way, and yourself."""

    grace: float


class Told(Struct, frozen=True):
    """How a shard is doing after so many messages from us: what it says of itself before it has heard all is old."""

    status: Status
    heard: int


class Stopped(Struct, frozen=True):
    """Everything is durable; the last word of a shard."""

    status: Status


class Broken(Struct, frozen=True):
    """The shard cannot go on, and starting it again would not help."""

    message: str
    hint: str
    exit_code: int
