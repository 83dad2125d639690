"""The visits to pages as numbers: what `fetches` says of them, and only that which tells whether a page was there.

A collection may have had a hundred million visits, so a visit is a row of an array and not an object, and of the time
before the one that is asked about only the last visits count: to each URL the last of all, and the last that brought a
page (`latest`). Memory then grows with the visits of the time that is asked about, some 50 bytes each, not with the
collection.

What a visit says of its page: it is there (`GOOD`, a status of 2xx; `SAME`, 304), or it is not (`GONE`, 404 or 410;
`MOVED`, a redirect; `FORBIDDEN`, by robots.txt). Failures and other statuses say nothing: a server that is ill for an
hour has not thrown its pages away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from periplus.model import Stored
from periplus.store.tables import Spooled, scan
from periplus.urls import fingerprints

from ..columns import moments, plain

GOOD, SAME, GONE, MOVED, FORBIDDEN = range(1, 6)
_FOUND: Final = (404, 410)
"""RFC 9110 sections 15.5.5 and 15.5.11: not found, and gone."""
_NOWHERE: Final = 0xFFFFFFFF
VISIT: Final = np.dtype(
    [("print", "<u8"), ("at", "<i8"), ("digest", "<u8"), ("offset", "<i8"), ("length", "<i8"), ("file", "<u4"),
     ("state", "u1"), ("is_revisit", "u1")]
)  # fmt: skip
Visits = NDArray[np.void]
_FACTS: Final = ("url", "site", "purpose", "outcome", "status", "reason", "ended_at")
_PLACES: Final = ("digest", "warc_file", "warc_offset", "warc_length", "is_revisit")
_HISTORY_ROWS: Final = 1 << 20
"""So many earlier visits are gathered before all but the last of each URL are dropped."""

Wanted = Callable[[pa.RecordBatch], NDArray[np.bool_]]
"""Which rows of a batch are wanted, by `url` and `site`."""


class Files:
    """Names of WARC files as numbers."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, name: str | None) -> int:
        """The number of a file."""
        if name is None:
            return _NOWHERE
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]

    def stored(self, visit: np.void) -> Stored | None:
        """Where the answer of a visit lies. Digests are not kept."""
        if visit["file"] == _NOWHERE:
            return None
        return Stored(
            self.names[visit["file"]], int(visit["offset"]), int(visit["length"]), "", bool(visit["is_revisit"])
        )


class Span(Struct, frozen=True):
    """From a moment to another, which does not belong to it, in microseconds."""

    since: int
    until: int


def visits_in(
    folder: Path, span: Span, files: Files, *, spooled: Sequence[Spooled] = (), wanted: Wanted | None = None
) -> Visits:
    """The visits of a span of time that say something of their pages."""
    telling = _telling(folder, span, spooled, wanted)
    found = (_visits(batch, files, batch["url"].to_pylist()) for batch in telling)
    return np.concatenate((np.empty(0, VISIT), *found))


def visits_before(
    folder: Path, span: Span, files: Files, prints: NDArray[np.uint64], *, spooled: Sequence[Spooled] = ()
) -> Visits:
    """Of the URLs with these fingerprints (sorted), the last visits before a span of time begins."""
    kept, rows = [np.empty(0, VISIT)], 0
    for batch in _telling(folder, Span(np.iinfo(np.int64).min, span.since), spooled, None):
        urls = batch["url"].to_pylist()
        is_asked = contains(prints, np.array(fingerprints(urls), np.uint64))
        if is_asked.any():
            places = np.flatnonzero(is_asked)
            kept.append(_visits(batch.take(pa.array(places)), files, [urls[place] for place in places.tolist()]))
            rows += len(kept[-1])
        if rows > _HISTORY_ROWS + len(kept[0]):
            kept, rows = [latest(np.concatenate(kept))], 0
    return latest(np.concatenate(kept))


def latest(visits: Visits) -> Visits:
    """Of each URL the last visit of all, and the last that brought a page."""
    ordered = in_order(visits)
    is_good = ordered["state"] == GOOD
    return ordered[_is_last(ordered["print"]) | _last_good(ordered["print"], is_good)]


def in_order(visits: Visits) -> Visits:
    """By URL, then by time."""
    return visits[np.lexsort((visits["at"], visits["print"]))]


def contains(known: NDArray[np.uint64], asked: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of some numbers are among others, which are sorted."""
    if not len(known):
        return np.zeros(len(asked), np.bool_)
    found: NDArray[np.bool_] = np.take(known, np.searchsorted(known, asked), mode="clip") == asked
    return found


def originals(folder: Path, visits: Visits, files: Files, *, spooled: Sequence[Spooled] = ()) -> Visits:
    """Where the bodies lie that revisits among these refer to, by digest; sorted by it, each once."""
    asked = np.unique(visits["digest"][(visits["is_revisit"] == 1) & (visits["digest"] != 0)])
    found = [np.empty(0, VISIT)]
    for batch in scan(folder, "fetches", spooled=spooled, columns=_PLACES) if len(asked) else ():
        kept = batch.filter(pc.and_(pc.is_valid(batch["digest"]), pc.invert(pc.fill_null(batch["is_revisit"], True))))
        digests = _digests(kept["digest"])
        places = np.flatnonzero(contains(asked, digests))
        if len(places):
            found.append(_placed(kept.take(pa.array(places)), files, digests[places]))
    every = np.concatenate(found)
    _, first = np.unique(every["digest"], return_index=True)
    return every[first]


def _telling(folder: Path, span: Span, spooled: Sequence[Spooled], wanted: Wanted | None) -> Iterator[pa.RecordBatch]:
    """The rows of visits in a span that say something, with a column `state`."""
    for batch in scan(folder, "fetches", spooled=spooled, columns=(*_FACTS, *_PLACES)):
        times = moments(batch["ended_at"])
        states = states_of(batch)
        is_told = (states > 0) & (times >= span.since) & (times < span.until)
        if is_told.any() and wanted is not None:
            is_told &= wanted(batch)
        if is_told.any():
            mask = pa.array(is_told)
            yield batch.append_column("state", pa.array(states)).filter(mask)


def states_of(batch: pa.RecordBatch) -> NDArray[np.uint8]:
    """What each row of `fetches` says of its page; 0: nothing, or it is no page."""
    outcome = _codes(batch["outcome"], ("fetched", "not-modified", "redirected", "excluded"))
    status = pc.fill_null(batch["status"], 0).to_numpy(zero_copy_only=False)
    is_robots = _codes(batch["reason"], ("robots",)) == 0
    states = np.zeros(len(status), np.uint8)
    states[(outcome == 0) & (status >= 200) & (status < 300)] = GOOD
    states[(outcome == 0) & np.isin(status, _FOUND)] = GONE
    states[outcome == 1] = SAME
    states[outcome == 2] = MOVED
    states[(outcome == 3) & is_robots] = FORBIDDEN
    states[_codes(batch["purpose"], ("page",)) != 0] = 0
    return states


def _codes(column: pa.Array, words: Sequence[str]) -> NDArray[np.int32]:
    """Each word of a column as its place among some; -1 for any other."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    known = encoded.dictionary.to_pylist()
    places = np.array([words.index(word) if word in words else -1 for word in known] + [-1], np.int32)
    codes: NDArray[np.int32] = places[pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)]
    return codes


def _visits(batch: pa.RecordBatch, files: Files, urls: list[str]) -> Visits:
    visits = _placed(batch, files, _digests(batch["digest"]))
    visits["print"] = np.array(fingerprints(urls), np.uint64)  # type: ignore[arg-type]
    visits["at"] = moments(batch["ended_at"])
    visits["state"] = batch["state"].to_numpy(zero_copy_only=False)
    return visits


def _placed(batch: pa.RecordBatch, files: Files, digests: NDArray[np.uint64]) -> Visits:
    """What of a visit says where its answer lies."""
    visits = np.zeros(batch.num_rows, VISIT)
    visits["digest"] = digests
    visits["file"] = [files.number(name) for name in plain(batch["warc_file"]).to_pylist()]
    visits["offset"] = pc.fill_null(batch["warc_offset"], 0).to_numpy(zero_copy_only=False)
    visits["length"] = pc.fill_null(batch["warc_length"], 0).to_numpy(zero_copy_only=False)
    visits["is_revisit"] = pc.fill_null(batch["is_revisit"], False).to_numpy(zero_copy_only=False)
    return visits


def _digests(column: pa.Array) -> NDArray[np.uint64]:
    """Digests of payloads in 64 bits; 0 where there is none."""
    return np.array([xxh3_64_intdigest(digest.encode()) if digest else 0 for digest in column.to_pylist()], np.uint64)


def _is_last(prints: NDArray[np.uint64]) -> NDArray[np.bool_]:
    is_last = np.ones(len(prints), np.bool_)
    is_last[:-1] = prints[1:] != prints[:-1]
    return is_last


def _last_good(prints: NDArray[np.uint64], is_good: NDArray[np.bool_]) -> NDArray[np.bool_]:
    places = np.flatnonzero(is_good)
    chosen = np.zeros(len(prints), np.bool_)
    chosen[places[_is_last(prints[places])]] = True
    return chosen
