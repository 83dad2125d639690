"""Rows of `changes`: two visits to a URL were compared."""

from __future__ import annotations

from periplus.model import ChangeLevel, ChangeSeen
from periplus.urls import site_of

Row = tuple[object, ...]

_WORDS = {level: level.name.lower().replace("_", "-") for level in ChangeLevel}


def change_row(event: ChangeSeen) -> Row:
    """The row of a comparison. From MAJOR on it counts as a change."""
    return (event.url, site_of(event.url), event.seen_at, _WORDS[event.level], event.level >= ChangeLevel.MAJOR)
