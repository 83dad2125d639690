"""Distinguishes a shard that was never started from one whose state was lost.

A folder without a state may be new. So that a lost state is not mistaken for a new one, a small file (`begun`) is
written once the first commit is made, and never removed. A process killed before that leaves no such file, and the
shard starts again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from periplus.model import CollectionDamaged

from ..damage import repair_hint

BEGUN: Final = "begun"
"""The name of that file, in the folder of a shard."""

_TEXT: Final = "This shard was begun. Its state is data.mdb, or copy/ where it lies on another disk.\n"


def was_begun(home: Path) -> bool:
    """Whether a shard had a state at some time."""
    return (home / BEGUN).exists()


def note_begun(home: Path) -> None:
    """Record, durably, that a shard has a state from now on."""
    if was_begun(home):
        return
    with (home / BEGUN).open("w", encoding="ascii") as file:
        file.write(_TEXT)
        file.flush()
        os.fsync(file.fileno())
    descriptor = os.open(home, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lost_state(home: Path) -> CollectionDamaged:
    """The error for a shard that was begun and has no state any more."""
    return CollectionDamaged(f"the state of {home} is missing: it was begun before", hint=repair_hint(home))
