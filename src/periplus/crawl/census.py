"""The frontier in numbers, for people to look at."""

from __future__ import annotations

from msgspec import Struct

from periplus.model import Site


class Census(Struct, frozen=True):
    """The frontier in numbers. `longest`: seconds that the longest of the queues takes at its site's own pace."""

    known: int
    queued: int
    sites: int
    ready: int
    resting: int
    visited: int
    backing_off: int
    done: int
    next_site: Site | None = None
    next_at: float | None = None
    longest: float = 0.0
