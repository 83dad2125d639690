"""Selects the versions to export: for every URL the last one with a good status.

They are found in `fetches` in two passes. The first keeps three numbers for each fetch of a page (half a gigabyte for
twenty million); the second yields the selected ones in the order in which they were fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from periplus.model import Stored, Url
from periplus.urls import fingerprints

from ..tables import Spooled, scan

_FACTS = ["url", "purpose", "outcome", "status", "started_at", "warc_file", "digest", "is_revisit"]
_COLUMNS = ["url", "status", "started_at", "content_type", "digest", "warc_file", "warc_offset", "warc_length"]
COLUMNS = [*_FACTS, *(name for name in _COLUMNS if name not in _FACTS)]
"""The columns of `fetches` that a capture is made of."""


class Capture(Struct, frozen=True):
    """One version of a page. `original` is the location of its body, if `stored` only refers to an earlier one."""

    url: Url
    status: int
    fetched_at: datetime
    content_type: str | None
    stored: Stored
    original: Stored | None = None

    @property
    def body_at(self) -> Stored | None:
        """Where the body is, if it is anywhere."""
        return self.original if self.stored.is_revisit else self.stored


def latest_captures(tables: Path, spooled: Sequence[Spooled] = ()) -> Iterator[Capture]:
    """The last good version of every URL, in the order of the table."""
    is_chosen, digests = _choose(tables, spooled)
    originals = _originals(tables, spooled, digests)
    place = 0
    for batch in scan(tables, "fetches", spooled=spooled, columns=COLUMNS):
        good = batch.filter(_is_good(batch))
        chosen = good.filter(pa.array(is_chosen[place : place + good.num_rows]))
        place += good.num_rows
        for row in chosen.to_pylist():
            yield _capture(row, originals)


def good_captures(batch: pa.RecordBatch, originals: dict[str, Stored]) -> Iterator[tuple[int, Capture]]:
    """The good versions among some rows of `fetches`, each with the number of its row."""
    for row in np.flatnonzero(_is_good(batch).to_numpy(zero_copy_only=False)).tolist():
        yield row, _capture(batch.slice(row, 1).to_pylist()[0], originals)


def captures_of(tables: Path, spooled: Sequence[Spooled], url: str) -> Iterator[Capture]:
    """Every good version of one URL, in the order of the table. Bodies stored elsewhere are left to `find_original`."""
    for batch in scan(tables, "fetches", spooled=spooled, columns=COLUMNS):
        for _, capture in good_captures(batch.filter(pc.equal(batch["url"], url)), {}):
            yield capture


def find_original(tables: Path, spooled: Sequence[Spooled], capture: Capture) -> Capture:
    """A capture that refers to an earlier body, with the place of that body if it is in the collection."""
    digest = capture.stored.digest
    return replace(capture, original=_originals(tables, spooled, {digest}).get(digest))


def _is_good(batch: pa.RecordBatch) -> pa.Array:
    status = batch["status"]
    parts = (
        pc.equal(_plain(batch["purpose"]), "page"),
        pc.equal(_plain(batch["outcome"]), "fetched"),
        pc.and_(pc.greater_equal(status, 200), pc.less(status, 300)),
        pc.is_valid(batch["warc_file"]),
    )
    is_good = parts[0]
    for part in parts[1:]:
        is_good = pc.and_(is_good, part)
    return pc.fill_null(is_good, False)


def _choose(tables: Path, spooled: Sequence[Spooled]) -> tuple[npt.NDArray[np.bool_], set[str]]:
    """Which of the good rows are the last of their URL, and the digests of those whose body is stored elsewhere."""
    keys, times = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    digests: set[str] = set()
    for batch in scan(tables, "fetches", spooled=spooled, columns=_FACTS):
        good = batch.filter(_is_good(batch))
        keys.append(np.array(fingerprints(good["url"].to_pylist()), dtype=np.uint64))
        times.append(good["started_at"].cast(pa.int64()).to_numpy())
        digests.update(good.filter(pc.fill_null(good["is_revisit"], False))["digest"].to_pylist())
    key, time = np.concatenate(keys), np.concatenate(times)
    order = np.lexsort((np.arange(len(key)), time, key))
    is_last = np.ones(len(key), dtype=np.bool_)
    is_last[order[:-1]] = key[order[:-1]] != key[order[1:]]
    return is_last, digests


def _originals(tables: Path, spooled: Sequence[Spooled], digests: set[str]) -> dict[str, Stored]:
    """The locations of the bodies with these digests."""
    found: dict[str, Stored] = {}
    if not digests:
        return found
    wanted = pa.array(sorted(digests))
    columns = ["digest", "is_revisit", "warc_file", "warc_offset", "warc_length"]
    for batch in scan(tables, "fetches", spooled=spooled, columns=columns):
        is_first = pc.and_(pc.is_in(batch["digest"], wanted), pc.invert(pc.fill_null(batch["is_revisit"], True)))
        for row in batch.filter(is_first).to_pylist():
            found.setdefault(row["digest"], _stored(row))
    return found


def _capture(row: dict[str, Any], originals: dict[str, Stored]) -> Capture:
    stored = _stored(row)
    original = originals.get(stored.digest) if stored.is_revisit else None
    return Capture(row["url"], row["status"], row["started_at"], row["content_type"], stored, original)


def _stored(row: dict[str, Any]) -> Stored:
    return Stored(
        row["warc_file"], row["warc_offset"], row["warc_length"], row["digest"] or "", bool(row["is_revisit"])
    )


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
