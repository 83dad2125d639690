"""The state that a commit holds of links besides their rows."""

from __future__ import annotations

from msgspec import Struct


class LinkState(Struct, frozen=True, array_like=True):
    """Which chunks of links belong to which generation: the first of the old, of the young, and the next number."""

    old: int = 0
    young: int = 0
    next: int = 0
