"""The visits to pages as numbers: the rows of `fetches` that show whether a page was there.

A collection may have a hundred million visits, so a visit is a row of an array and not an object, and of the time
before the queried span only the last visits count: to each URL the last of all, and the last that returned a page.
Memory then grows with the visits in the queried span, not with the collection.

What a visit shows of its page: it is there (`GOOD`, a status of 2xx; `SAME`, 304), or it is not (`GONE`, 404 or 410;
`MOVED`, a redirect; `FORBIDDEN`, by robots.txt). Failures and other statuses show nothing: an outage of an hour does
not mean that the pages are gone.

The types of changes are here too: their kinds, versions of pages, and the change itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from periplus.insight.columns import codes, endings, moments
from periplus.model import Stored, Url
from periplus.store.tables import Spooled, scan
from periplus.urls import fingerprints


class ChangeKind(StrEnum):
    """The kind of a change."""

    APPEARED = "appeared"
    CHANGED = "changed"
    VANISHED = "vanished"
    ELSEWHERE = "elsewhere"
    """Changed, but outside of its main text."""


class Version(Struct, frozen=True, gc=False):
    """One capture of a page that was there. Times are POSIX.

    `stored` is its own record, `None` where nothing was kept; `body` is the record that has its bytes: the same, or the
    earlier one that a revisit refers to; `None` where that is not in the collection.
    """

    at: float
    stored: Stored | None = None
    body: Stored | None = None


class Change(Struct, frozen=True, gc=False):
    """A change of a page, and the versions before and after it, as far as they exist.

    `level` is `elsewhere`, `minor` or `major` if it changed; `is_back`: a page that appeared had been gone before.
    `reason` says why a page counts as vanished: `http-404`, `http-410`, `redirected` (to `target`) or `robots` (the
    site's robots.txt now forbids it).
    """

    url: Url
    site: str
    kind: ChangeKind
    seen_at: float
    level: str = ""
    is_back: bool = False
    reason: str = ""
    target: str = ""
    before: Version | None = None
    after: Version | None = None


GOOD, SAME, GONE, MOVED, FORBIDDEN = range(1, 6)
_FOUND: Final = (404, 410)
"""RFC 9110 sections 15.5.5 and 15.5.11: not found, and gone."""
_NOWHERE: Final = 0xFFFFFFFF
VISIT: Final = np.dtype(
    [("print", "<u8"), ("at", "<i8"), ("digest", "<u8"), ("offset", "<i8"), ("length", "<u4"), ("file", "<u4"),
     ("state", "u1"), ("is_revisit", "u1")]
)  # fmt: skip
Visits = NDArray[np.void]
_FACTS: Final = ("url", "site", "purpose", "outcome", "status", "reason", "ended_at")
_PLACES: Final = ("digest", "warc_file", "warc_offset", "warc_length", "is_revisit")

Wanted = Callable[[pa.RecordBatch], NDArray[np.bool_]]
"""Which rows of a batch are wanted, by `url` and `site`."""


class Files:
    """Names of WARC files as numbers."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}

    def numbers(self, column: pa.Array) -> NDArray[np.uint32]:
        """The number of each file of a column."""
        places, names = codes(column)
        known = np.array([_NOWHERE if name is None else self._number(name) for name in names], np.uint32)
        return known[places]

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self._names)
            self._names.append(name)
        return self._numbers[name]

    def stored(self, visits: Visits) -> list[Stored | None]:
        """The locations of the answers of visits. Digests are not kept."""
        columns = (visits[name].tolist() for name in ("file", "offset", "length", "is_revisit"))
        return [
            None if file == _NOWHERE else Stored(self._names[file], offset, length, "", bool(is_revisit))
            for file, offset, length, is_revisit in zip(*columns, strict=True)
        ]


class Span(Struct, frozen=True):
    """A half-open interval of time, in microseconds."""

    since: int
    until: int


class Asked(Struct, frozen=True):
    """Some URLs: their fingerprints, and their `endings`, by which rows are prefiltered; both sorted."""

    prints: NDArray[np.uint64]
    endings: NDArray[np.uint64]

    def may_hold(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Whether the URL of a row may be one of them: a fingerprint costs ten times as much."""
        return contains(self.endings, endings(batch["url"]))


def visits_in(
    folder: Path, span: Span, files: Files, *, spooled: Sequence[Spooled] = (), wanted: Wanted | None = None
) -> tuple[Visits, Asked]:
    """The visits of a span of time that show whether their pages were there; and the URLs of those pages."""
    found, known = [np.empty(0, VISIT)], [np.empty(0, np.uint64)]
    for batch in _informative_rows(folder, span, spooled, wanted):
        found.append(_visits(batch, files))
        known.append(endings(batch["url"]))
    visits = np.concatenate(found)
    return visits, Asked(np.unique(visits["print"]), np.unique(np.concatenate(known)))


def visits_before(folder: Path, span: Span, files: Files, asked: Asked, *, spooled: Sequence[Spooled] = ()) -> Visits:
    """Of some URLs, the last visits before a span of time: the last of all, and the last that returned a page."""
    last, last_good = (np.zeros(len(asked.prints), VISIT) for _ in range(2))
    for batch in _informative_rows(folder, Span(0, span.since), spooled, asked.may_hold):
        some = _visits(batch, files)
        some = some[contains(asked.prints, some["print"])]
        _keep_latest(last, some, asked.prints)
        _keep_latest(last_good, some[some["state"] == GOOD], asked.prints)
    is_other = (last_good["state"] > 0) & (last_good["at"] != last["at"])
    return np.concatenate((last[last["state"] > 0], last_good[is_other]))


def _keep_latest(known: Visits, visits: Visits, prints: NDArray[np.uint64]) -> None:
    """Put each visit to its URL, if it is later than what is there."""
    ordered = visits[np.argsort(visits["at"], kind="stable")]  # of several to one URL, the last assignment stays
    of = np.searchsorted(prints, ordered["print"])
    is_later = ordered["at"] >= known["at"][of]
    known[of[is_later]] = ordered[is_later]


def in_order(visits: Visits) -> Visits:
    """Sort visits by URL, then by time. Mostly they come in order of time, and then one sort is enough."""
    times, prints = (np.ascontiguousarray(visits[name]) for name in ("at", "print"))
    is_timely = bool((times[1:] >= times[:-1]).all())
    return visits[np.argsort(prints, kind="stable") if is_timely else np.lexsort((times, prints))]


def contains(known: NDArray[np.uint64], asked: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of some numbers are among others, which are sorted."""
    if not len(known):
        return np.zeros(len(asked), np.bool_)
    found: NDArray[np.bool_] = np.take(known, np.searchsorted(known, asked), mode="clip") == asked
    return found


def originals(folder: Path, visits: Visits, files: Files, *, spooled: Sequence[Spooled] = ()) -> Visits:
    """The stored bodies that revisits among these refer to, by digest; sorted by it, each once."""
    asked = np.unique(visits["digest"][(visits["is_revisit"] == 1) & (visits["digest"] != 0)])
    found = [np.empty(0, VISIT)]
    for batch in scan(folder, "fetches", spooled=spooled, columns=_PLACES) if len(asked) else ():
        is_revisit = pc.fill_null(batch["is_revisit"], True).to_numpy(zero_copy_only=False)
        places = np.flatnonzero(contains(asked, endings(batch["digest"])) & ~is_revisit)
        if len(places):
            found.append(_placed(batch.take(pa.array(places)), files))
    every = np.concatenate(found)
    _, first = np.unique(every["digest"], return_index=True)
    return every[first]


def _informative_rows(
    folder: Path, span: Span, spooled: Sequence[Spooled], wanted: Wanted | None
) -> Iterator[pa.RecordBatch]:
    """The rows of visits in a span that say something, with a column `state`."""
    for batch in scan(folder, "fetches", spooled=spooled, columns=(*_FACTS, *_PLACES)):
        times = moments(batch["ended_at"])
        states = states_of(batch)
        is_wanted = (states > 0) & (times >= span.since) & (times < span.until)
        if is_wanted.any() and wanted is not None:
            is_wanted &= wanted(batch)
        if is_wanted.any():
            mask = pa.array(is_wanted)
            yield batch.append_column("state", pa.array(states)).filter(mask)


def states_of(batch: pa.RecordBatch) -> NDArray[np.uint8]:
    """The state of the page that each row of `fetches` shows; 0: none, or it is not a page."""
    outcome = _among(batch["outcome"], ("fetched", "not-modified", "redirected", "excluded"))
    status = pc.fill_null(batch["status"], 0).to_numpy(zero_copy_only=False)
    is_robots = _among(batch["reason"], ("robots",)) == 0
    states = np.zeros(len(status), np.uint8)
    states[(outcome == 0) & (status >= 200) & (status < 300)] = GOOD
    states[(outcome == 0) & np.isin(status, _FOUND)] = GONE
    states[outcome == 1] = SAME
    states[outcome == 2] = MOVED
    states[(outcome == 3) & is_robots] = FORBIDDEN
    states[_among(batch["purpose"], ("page",)) != 0] = 0
    return states


def _among(column: pa.Array, chosen: Sequence[str]) -> NDArray[np.int8]:
    """The index of each value of a column in `chosen`; -1 for any other."""
    numbers, words = codes(column)
    places = np.array([chosen.index(word) if word in chosen else -1 for word in words], np.int8)
    return places[numbers]


def _visits(batch: pa.RecordBatch, files: Files) -> Visits:
    visits = _placed(batch, files)
    visits["print"] = np.array(fingerprints(batch["url"].to_pylist()), np.uint64)
    visits["at"] = moments(batch["ended_at"])
    visits["state"] = batch["state"].to_numpy(zero_copy_only=False)
    return visits


def _placed(batch: pa.RecordBatch, files: Files) -> Visits:
    """The visits with only the columns that locate their answers."""
    visits = np.zeros(batch.num_rows, VISIT)
    visits["digest"] = endings(batch["digest"])
    visits["file"] = files.numbers(batch["warc_file"])
    visits["offset"] = pc.fill_null(batch["warc_offset"], 0).to_numpy(zero_copy_only=False)
    visits["length"] = pc.fill_null(batch["warc_length"], 0).to_numpy(zero_copy_only=False)
    visits["is_revisit"] = pc.fill_null(batch["is_revisit"], False).to_numpy(zero_copy_only=False)
    return visits
