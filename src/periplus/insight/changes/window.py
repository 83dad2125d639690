"""Since when to tell, if nobody says: since the last run of a crawl that found something began.

A run is told from the times of its visits: a pause of ten minutes ends one. It found something if it visited pages for
the first time or again and found them changed. What goes on for ever has no beginning worth telling, so that no more
than a day before the last such visit is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from periplus.store.tables import Spooled, scan

from ..columns import moments, plain

DAY: Final = 86_400.0
_PAUSE: Final = 10
"""Minutes."""
_MINUTE: Final = 60_000_000
_LEVELS: Final = pa.array(["minor", "major"])


class Beginning(Struct, frozen=True):
    """A time, and why it was chosen: `run`, `day-of-run` (the run is longer than a day) or `day` (nothing is known)."""

    at: float
    why: str


def usual_beginning(folder: Path, now: float, *, spooled: Sequence[Spooled] = ()) -> Beginning:
    """Since when to tell what happened in a collection."""
    tables = folder / "tables"
    visited, telling = _minutes(tables, spooled)
    if not len(telling):
        return Beginning(now - DAY, "day")
    last = int(telling[-1])
    before = visited[visited <= last]
    pauses = np.flatnonzero(np.diff(before) > _PAUSE)
    first = int(before[pauses[-1] + 1] if len(pauses) else before[0])
    day_before = (last + 1) * 60.0 - DAY
    return Beginning(first * 60.0, "run") if first * 60.0 >= day_before else Beginning(day_before, "day-of-run")


def _minutes(tables: Path, spooled: Sequence[Spooled]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The minutes in which pages were visited, and those of them in which something was new; sorted, each once."""
    visited, telling = np.empty(0, np.int64), np.empty(0, np.int64)
    for times, is_telling in (*_fetches(tables, spooled), *_changes(tables, spooled)):
        visited = np.union1d(visited, times)
        telling = np.union1d(telling, times[is_telling])
    return visited, telling


def _fetches(tables: Path, spooled: Sequence[Spooled]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    for batch in scan(tables, "fetches", spooled=spooled, columns=("purpose", "lane", "outcome", "ended_at")):
        pages = batch.filter(pc.equal(plain(batch["purpose"]), "page"))
        is_first = pc.and_(
            pc.not_equal(plain(pages["lane"]), "refresh"), pc.equal(plain(pages["outcome"]), "fetched")
        ).to_numpy(zero_copy_only=False)
        yield moments(pages["ended_at"]) // _MINUTE, is_first


def _changes(tables: Path, spooled: Sequence[Spooled]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    for batch in scan(tables, "changes", spooled=spooled, columns=("seen_at", "level")):
        is_change = pc.is_in(plain(batch["level"]), _LEVELS).to_numpy(zero_copy_only=False)
        yield moments(batch["seen_at"]) // _MINUTE, is_change
