"""Settings of the loop of a shard: how often everything is made durable."""

from __future__ import annotations

from msgspec import Struct


class EngineSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How often everything is made durable."""

    checkpoint_interval: float = 1.0
    """Minimum seconds between two commits."""
    checkpoint_share: float = 0.05
    """Maximum share of the time for commits: the interval grows if they take longer..."""
    checkpoint_outcomes: int = 2_000
    """...but there is a commit after this many outcomes..."""
    checkpoint_rows: int = 50_000
    """...or this many changed rows of the state."""
