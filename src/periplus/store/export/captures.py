"""Finds good versions of pages in `fetches`: the last one of every URL for an export, or each one as a crawl stores it.

A version is good if its status is 2xx and its body is in the archive. `latest_captures` takes two passes: the first
keeps three numbers for each fetch of a page (half a gigabyte for twenty million), the second yields the selected
versions in the order of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from periplus.model import NO_PREFERENCES, Preference, Preferences, Stored, Url, UseLimit
from periplus.urls import fingerprint, fingerprints

from ..tables import Spooled, scan
from ..tables.tail import Position, Tail, end_of

_FACTS = ["url", "purpose", "outcome", "status", "started_at", "warc_file", "digest", "is_revisit"]
_COLUMNS = ["url", "status", "started_at", "content_type", "digest", "warc_file", "warc_offset", "warc_length"]
_STATES = ["url", "purpose", "outcome", "status", "reason", "ended_at"]
COLUMNS = [*_FACTS, *(name for name in _COLUMNS if name not in _FACTS)]
"""The columns of `fetches` that a capture is made of."""


class Capture(Struct, frozen=True):
    """One version of a page. `original` is the location of its body, if `stored` only refers to an earlier one.

    `vanished_at`: since when the page is gone, if it is (of `latest_captures` only).
    """

    url: Url
    status: int
    fetched_at: datetime
    content_type: str | None
    stored: Stored
    original: Stored | None = None
    vanished_at: datetime | None = None

    @property
    def body_at(self) -> Stored | None:
        """The location of the body, if it is stored."""
        return self.original if self.stored.is_revisit else self.stored


def latest_captures(tables: Path, spooled: Sequence[Spooled] = ()) -> Iterator[Capture]:
    """The last good version of every URL, in the order of the table."""
    is_chosen, digests = _choose(tables, spooled)
    originals = _originals(tables, spooled, digests)
    vanished = _vanished(tables, spooled)
    place = 0
    for batch in scan(tables, "fetches", spooled=spooled, columns=COLUMNS):
        good = batch.filter(_is_good(batch))
        chosen = good.filter(pa.array(is_chosen[place : place + good.num_rows]))
        place += good.num_rows
        for row in chosen.to_pylist():
            yield replace(_capture(row, originals), vanished_at=vanished.get(row["url"]))


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


def _vanished(tables: Path, spooled: Sequence[Spooled]) -> dict[str, datetime]:
    """Since when pages are gone that were there, by URL; `apps.changes` defines it."""
    gone: dict[str, list[datetime]] = {}
    seen: dict[str, datetime] = {}
    for batch in scan(tables, "fetches", spooled=spooled, columns=_STATES):
        for url, at in _visits_where(batch, _is_gone(batch)):
            gone.setdefault(url, []).append(at)
    wanted = pa.array(gone, pa.string())
    for batch in scan(tables, "fetches", spooled=spooled, columns=_STATES) if gone else ():
        for url, at in _visits_where(batch, pc.and_(_is_there(batch), pc.is_in(batch["url"], wanted))):
            seen[url] = max(at, seen.get(url, at))
    since = {url: [at for at in gone[url] if at > last] for url, last in seen.items()}
    return {url: min(times) for url, times in since.items() if times}


def _visits_where(batch: pa.RecordBatch, chosen: pa.Array) -> Iterator[tuple[str, datetime]]:
    """URL and time of some visits to pages."""
    some = batch.filter(pc.fill_null(pc.and_(chosen, pc.equal(_plain(batch["purpose"]), "page")), False))
    return zip(some["url"].to_pylist(), some["ended_at"].to_pylist(), strict=True)


def _is_gone(batch: pa.RecordBatch) -> pa.Array:
    is_moved = pc.equal(_plain(batch["outcome"]), "redirected")
    is_forbidden = pc.fill_null(pc.equal(_plain(batch["reason"]), "robots"), False)
    is_absent = pc.fill_null(pc.is_in(batch["status"], pa.array([404, 410], batch["status"].type)), False)
    return pc.or_(pc.or_(is_moved, is_forbidden), is_absent)


def _is_there(batch: pa.RecordBatch) -> pa.Array:
    status = pc.fill_null(batch["status"], 0)
    is_good = pc.and_(pc.greater_equal(status, 200), pc.less(status, 300))
    return pc.or_(is_good, pc.equal(_plain(batch["outcome"]), "not-modified"))


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


_STATED_COLUMNS = ["url", "read_at", "search", "ai_input", "train", "use", "tdm", "said_by"]


class StatedPreferences:
    """The preferences of the last version of every page for which any were ever stated.

    Memory grows with those pages by two numbers each; equal preferences are kept once.
    """

    def __init__(self, tables: Path, spooled: Sequence[Spooled] = ()) -> None:
        self._values: dict[Preferences, Preferences] = {}
        self._stated: dict[int, tuple[float, Preferences]] = {}
        for is_stated in (True, False):
            for batch in scan(tables, "pages", spooled=spooled, columns=_STATED_COLUMNS):
                self._read(batch.to_pylist(), is_stated=is_stated)

    def of(self, url: Url) -> Preferences:
        """The preferences stated for a page; `NO_PREFERENCES` if there are none."""
        return self._stated.get(fingerprint(url), (0.0, NO_PREFERENCES))[1]

    def _read(self, rows: list[dict[str, Any]], *, is_stated: bool) -> None:
        """Read rows that state preferences, or those that state none, which only count for pages already read."""
        for row in rows:
            if bool(row["said_by"]) is not is_stated:
                continue
            key, at = fingerprint(row["url"]), row["read_at"].timestamp()
            known = self._stated.get(key)
            if (known is None and is_stated) or (known is not None and known[0] <= at):
                preferences = preferences_of(row)
                self._stated[key] = at, self._values.setdefault(preferences, preferences)


def preferences_of(row: dict[str, Any]) -> Preferences:
    """The preferences in a row of `pages`."""
    if not row["said_by"]:
        return NO_PREFERENCES
    return Preferences(
        search=Preference(row["search"] or "unknown"),
        ai_input=Preference(row["ai_input"] or "unknown"),
        train=Preference(row["train"] or "unknown"),
        use=UseLimit(row["use"]) if row["use"] else None,
        tdm=Preference(row["tdm"] or "unknown"),
        said_by=tuple(row["said_by"]),
    )


TABLE = "fetches"
MAX_ORIGINALS = 100_000
"""Maximum number of bodies whose place is remembered: about 20 MB. The place of an older one is
looked up in the table (`captures.find_original`)."""

Positions = dict[int, Position]
"""How far each shard was read."""


class Arrival(Struct, frozen=True):
    """A page that was stored. `position` is behind its row: what to save once it was handled."""

    capture: Capture
    shard: int
    position: Position


class Arrivals:
    """Reads each good version once, in the order in which the shards store them, from `positions` on.

    It keeps a position for each shard; the caller may save it and continue there in another process.
    """

    def __init__(self, tables: Path, positions: Mapping[int, Position]) -> None:
        self._tail = Tail(tables, TABLE, COLUMNS)
        self._positions: Positions = dict(positions)
        self._originals: dict[str, Stored] = {}

    def take(self, spooled: Sequence[Spooled]) -> Iterator[Arrival]:
        """The pages committed up to these marks that were not returned before."""
        for shard in spooled:
            since = self._positions.get(shard.shard, Position())
            for batch, first in self._tail.read(shard, since):
                for row, capture in good_captures(batch, self._originals):
                    self._remember(capture)
                    after = Position(first.number, first.rows + row + 1)
                    self._positions[shard.shard] = after
                    yield Arrival(capture, shard.shard, after)
                self._positions[shard.shard] = Position(first.number, first.rows + batch.num_rows)

    def _remember(self, capture: Capture) -> None:
        if not capture.stored.is_revisit:
            self._originals[capture.stored.digest] = capture.stored
            if len(self._originals) > MAX_ORIGINALS:
                del self._originals[next(iter(self._originals))]


def ends(spooled: Sequence[Spooled]) -> Positions:
    """The positions after everything that is committed: only pages stored later are returned from there."""
    return {shard.shard: end_of(shard, TABLE) for shard in spooled}


def valid_positions(saved: Mapping[int, Position], spooled: Sequence[Spooled]) -> Positions:
    """Saved positions, each no further than its shard was committed; a shard without one is read from its beginning."""
    last = ends(spooled)
    return {shard: min(position, last[shard]) for shard, position in saved.items() if shard in last}
