"""The frontier in numbers, for people to look at."""

from __future__ import annotations

from msgspec import Struct

from periplus.model import Site


class Census(Struct, frozen=True):
    """The frontier in numbers, for people to look at."""

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
