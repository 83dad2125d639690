"""The default start of the window: when the last run of a crawl that found something began.

Runs are recognised by their files. When a run ends, each shard closes its file of the table `fetches`, so the next run
writes another file (`runs_of`). A killed run closes nothing: there, and within a file, a pause of ten minutes ends a
run. A run found something if it visited new pages, or found pages changed. A watch may run for months, so the window
starts at most a day before the last such visit. The last refresh is one run: it asks known pages first, then new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from numpy.typing import NDArray

from periplus.insight.columns import moments, plain
from periplus.store.layout import Layout
from periplus.store.tables import Spooled, scan
from periplus.store.tables.files import intact_files_of, shard_of
from periplus.store.tables.reader import parquet_of, scan_file, scan_spools

DAY: Final = 86_400.0
_SECOND: Final = 1_000_000
_MINUTE: Final = 60 * _SECOND
_PAUSE: Final = 10
"""Minutes."""
_TOGETHER: Final = 30 * _SECOND
"""Shards that begin within this time of each other may have begun together."""
_FULL_ROWS: Final = 100_000
_FULL_BYTES: Final = 32 << 20
"""A file of less ended with its run; a larger one may have been full, and the run gone on in the next."""
_COLUMNS: Final = ("purpose", "lane", "outcome", "ended_at")
_LEVELS: Final = pa.array(["elsewhere", "minor", "major"])


class Beginning(Struct, frozen=True):
    """A time, and why it was chosen.

    `first-run`: everything was found in one run. `run`: the last run that found something began then. `day-of-run`:
    that run is longer than a day. `day`: nothing is known. `asked_at` is the time of the last request if that was in a
    later run, which found nothing.
    """

    at: float
    why: str
    asked_at: float | None = None


class Piece(Struct, frozen=True):
    """What a shard wrote in one go: the times of its first and its last visit, in microseconds."""

    first: int
    last: int
    shard: int


class _Visits(Struct):
    """Times of requests: the first time of each minute with a request, and the last time at which something was new."""

    firsts: NDArray[np.int64]
    told_at: int = 0

    def add(self, times: NDArray[np.int64], is_informative: NDArray[np.bool_]) -> None:
        """More visits, in any order."""
        self.firsts = _first_of_minutes(np.concatenate((self.firsts, times)))
        self.told_at = max(self.told_at, int(times[is_informative].max(initial=0)))


def usual_beginning(folder: Path, now: float, *, spooled: Sequence[Spooled] = ()) -> Beginning:
    """The default start of the window of a collection."""
    tables = folder / "tables"
    visits = _Visits(np.empty(0, np.int64))
    pieces = _pieces(tables, spooled, visits)
    for times, is_informative in _changes(tables, spooled):
        visits.add(times, is_informative)
    last = visits.told_at
    if not last:
        return Beginning(now - DAY, "day")
    every = _beginnings(folder, pieces, visits)
    runs = [at for at in every if at <= last] or every[:1]
    asked_at = max(piece.last for piece in pieces) / _SECOND if len(runs) < len(every) else None
    first = runs[-1] // _SECOND  # as it is shown: the same time can be typed
    day_before = last / _SECOND - DAY
    if first < day_before:
        return Beginning(day_before, "day-of-run", asked_at)
    return Beginning(float(first), "run" if len(runs) > 1 else "first-run", asked_at)


def run_beginnings(folder: Path, *, spooled: Sequence[Spooled] = ()) -> list[float]:
    """When each run of a collection began, the first run first, in POSIX seconds."""
    visits = _Visits(np.empty(0, np.int64))
    pieces = _pieces(folder / "tables", spooled, visits)
    return [at / _SECOND for at in _beginnings(folder, pieces, visits)]


def _beginnings(folder: Path, pieces: Sequence[Piece], visits: _Visits) -> list[int]:
    """When each run began, in order: by its files, after a pause, and all phases of the last refresh as one."""
    runs = runs_of(pieces)
    pauses = [at for at in _after_pauses(visits.firsts) if all(abs(at - run) > _TOGETHER for run in runs)]
    every = sorted([*runs, *pauses])
    refresh = _last_refresh(folder)
    phases = [at for at in every if refresh.includes(at)]
    return [at for at in every if at not in phases[1:]]


class _RefreshSpan(Struct, frozen=True):
    """When the last refresh began and ended: the part of `refreshing.RefreshPlan` that is read without the engine."""

    started_at: float = 0.0
    ended_at: float = 0.0

    def includes(self, at: int) -> bool:
        """Whether a time in microseconds is in it."""
        return self.started_at <= at / _SECOND <= self.ended_at


def _last_refresh(folder: Path) -> _RefreshSpan:
    try:
        return msgspec.json.decode(Layout(folder).refresh_plan.read_bytes(), type=_RefreshSpan)
    except (OSError, msgspec.MsgspecError):
        return _RefreshSpan()


def runs_of(pieces: Iterable[Piece]) -> list[int]:
    """When each run began. A shard writes one piece in a run, and no run begins before the last has ended."""
    runs: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda each: (each.first, each.last, each.shard)):
        if runs and all(piece.shard != other.shard for other in runs[-1]):
            runs[-1].append(piece)
        else:
            runs.append([*_begun_with(piece, runs[-1] if runs else []), piece])
    return [run[0].first for run in runs]


def _begun_with(piece: Piece, before: list[Piece]) -> list[Piece]:
    """Take out of a run what began with the next one: of shards that had nothing to do in it."""
    begun: list[Piece] = []
    while len(before) > 1 and before[-1].first > max(each.last for each in before[:-1]):
        if piece.first - before[-1].first > _TOGETHER:
            break
        begun.insert(0, before.pop())
    return begun


def _after_pauses(firsts: NDArray[np.int64]) -> list[int]:
    """The first visit, and the first after each pause."""
    minutes = firsts // _MINUTE
    return [int(at) for at in firsts[np.flatnonzero(np.diff(minutes, prepend=-_PAUSE - 1) > _PAUSE)]]


def _first_of_minutes(times: NDArray[np.int64]) -> NDArray[np.int64]:
    ordered = np.sort(times)
    return ordered[np.unique(ordered // _MINUTE, return_index=True)[1]]


# from the tables


def _pieces(tables: Path, spooled: Sequence[Spooled], visits: _Visits) -> list[Piece]:
    """The runs of each shard. All visits are passed to `visits` on the way."""
    pieces: list[Piece] = []
    goes_on: set[int] = set()
    for shard, batches, is_full in _files(tables, spooled):
        first, last = 0, 0
        for batch in batches:
            times, is_new = _fetches(batch)
            if len(times):
                visits.add(times, is_new)
                first, last = min(first or int(times.min()), int(times.min())), max(last, int(times.max()))
        if last and shard in goes_on:
            place = max(place for place, each in enumerate(pieces) if each.shard == shard)
            pieces[place] = Piece(pieces[place].first, last, shard)
        elif last:
            pieces.append(Piece(first, last, shard))
        if is_full:
            goes_on.add(shard)
        else:
            goes_on.discard(shard)
    return pieces


def _files(tables: Path, spooled: Sequence[Spooled]) -> Iterator[tuple[int, Iterator[pa.RecordBatch], bool]]:
    """Files by shard and time of writing, and whether each may have been full; then rows that are in no file."""
    for path in intact_files_of(tables, "fetches", spooled):
        yield shard_of(path), scan_file(path, _COLUMNS), _is_full(path)
    for each in spooled:
        yield each.shard, scan_spools("fetches", [each], _COLUMNS), False


def _is_full(path: Path) -> bool:
    with parquet_of(path):
        file = pq.read_metadata(path)
    size = sum(file.row_group(group).total_byte_size for group in range(file.num_row_groups))
    return bool(file.num_rows >= _FULL_ROWS or size >= _FULL_BYTES)


def _fetches(batch: pa.RecordBatch) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The times of requests, and whether each found a page for the first time."""
    is_new = pc.and_(
        pc.and_(pc.equal(plain(batch["purpose"]), "page"), pc.not_equal(plain(batch["lane"]), "refresh")),
        pc.equal(plain(batch["outcome"]), "fetched"),
    )
    return moments(batch["ended_at"]), pc.fill_null(is_new, False).to_numpy(zero_copy_only=False)


def _changes(tables: Path, spooled: Sequence[Spooled]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    for batch in scan(tables, "changes", spooled=spooled, columns=("seen_at", "level")):
        is_change = pc.is_in(plain(batch["level"]), _LEVELS).to_numpy(zero_copy_only=False)
        yield moments(batch["seen_at"]), is_change
