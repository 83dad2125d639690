"""What happened to the pages of a collection in a span of time: what appeared, changed and vanished.

From the tables alone, in four passes at most over `fetches`, none of which holds more than a batch of rows and an array
(see `visits`): the visits of that time; what was known of their URLs before; the bodies that revisits refer to; and,
once it is known what happened, the rows to tell it from. Whether a page changed is what the crawl itself decided when
it compared the two versions (table `changes`); it is not judged again here.

A page appears with its first good answer, and again with the first after it was gone. It vanishes with the first 404,
410, redirect or refusal by robots.txt after a good answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import Url
from periplus.policy.filters.patterns import compiled
from periplus.store.tables import Spooled, scan
from periplus.urls import fingerprints

from ..columns import moments, plain
from .values import Change, Kind, Version
from .visits import (
    FORBIDDEN,
    GONE,
    GOOD,
    MOVED,
    SAME,
    Files,
    Span,
    Visits,
    Wanted,
    contains,
    in_order,
    originals,
    states_of,
    visits_before,
    visits_in,
)

LEVELS: Final = ("minor", "major")
_FAR_AHEAD: Final = 1 << 62
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_COMPARISON: Final = np.dtype([("print", "<u8"), ("at", "<i8"), ("level", "u1")])
_ROW: Final = ("url", "site", "purpose", "outcome", "status", "reason", "target", "ended_at")


class _Told(Struct):
    """All that happened: places in `visits`, in order of fingerprint and time, with what each means."""

    visits: Visits
    kinds: NDArray[np.uint8]
    levels: NDArray[np.uint8]
    is_back: NDArray[np.bool_]
    last_good: NDArray[np.int64]
    bodies: Visits
    files: Files


_KINDS: Final = ("", Kind.APPEARED, Kind.CHANGED, Kind.VANISHED)


def changes_since(
    folder: Path,
    since: float,
    until: float | None = None,
    *,
    sites: Collection[str] = (),
    paths: Collection[str] = (),
    kinds: Collection[Kind] = tuple(Kind),
    spooled: Sequence[Spooled] = (),
) -> Iterator[Change]:
    """What happened in a collection from one time to another (`None`: until now), POSIX seconds.

    In the order of the tables: shard by shard, in each by time. `sites` are hosts (with their port, where that is not
    the default), of which all subdomains are meant, too; `paths` are patterns as of `--include`. Of each there may be
    several, one of which has to fit.
    """
    tables = folder / "tables"
    span = Span(_microseconds(since), _FAR_AHEAD if until is None else _microseconds(until))
    wanted = _wanted(sites, paths)
    told = _told(tables, span, spooled, wanted)
    chosen = np.isin(told.kinds, [_KINDS.index(kind) for kind in kinds])
    yield from _rows(tables, span, spooled, told, chosen)


def _microseconds(at: float) -> int:
    return min(round(at * 1e6), _FAR_AHEAD)


# which pages


def _wanted(sites: Collection[str], paths: Collection[str]) -> Wanted | None:
    if not sites and not paths:
        return None
    fits = [compiled(path) for path in paths]
    names = [site.lower() for site in sites]

    def is_site(site: str | None) -> bool:
        return any(site == name or (site or "").endswith("." + name) for name in names)

    def wanted(batch: pa.RecordBatch) -> NDArray[np.bool_]:
        are = np.ones(batch.num_rows, np.bool_)
        if names:
            are &= _by_word(batch["site"], is_site)
        if fits:
            places = np.flatnonzero(are)
            urls = batch["url"].take(pa.array(places)).to_pylist()
            are[places] = [any(fit(url) for fit in fits) for url in urls]
        return are

    return wanted


def _by_word(column: pa.Array, judge: Any) -> NDArray[np.bool_]:
    """A judgement on each word of a column, made once for each."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    judged = np.array([judge(word) for word in encoded.dictionary.to_pylist()] + [False], np.bool_)
    are: NDArray[np.bool_] = judged[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return are


# what happened


def _told(tables: Path, span: Span, spooled: Sequence[Spooled], wanted: Wanted | None) -> _Told:
    files = Files()
    within = visits_in(tables, span, files, spooled=spooled, wanted=wanted)
    prints = np.unique(within["print"])
    before = visits_before(tables, span, files, prints, spooled=spooled) if len(prints) else within[:0]
    visits = in_order(np.concatenate((before, within)))
    kinds, is_back = _came_and_went(visits)
    last_good = _last_good(visits)
    levels = _levels(tables, span, spooled, visits, prints)
    kinds[(levels > 0) & (kinds == 0) & (visits["state"] == GOOD) & (last_good >= 0)] = _KINDS.index(Kind.CHANGED)
    kinds[visits["at"] < span.since] = 0
    needed = np.flatnonzero(kinds)
    needed = np.unique(np.concatenate((needed, last_good[needed])))
    bodies = originals(tables, visits[needed[needed >= 0]], files, spooled=spooled)
    return _Told(visits, kinds, levels, is_back, last_good, bodies, files)


def _came_and_went(visits: Visits) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """What each visit found out, of whether a page is there; and, of one that is, whether it had been there before."""
    is_there = (visits["state"] == GOOD) | (visits["state"] == SAME)
    is_next = np.zeros(len(visits), np.bool_)
    is_next[1:] = visits["print"][1:] == visits["print"][:-1]
    was_there = np.zeros(len(visits), np.bool_)
    was_there[1:] = is_there[:-1]
    was_there &= is_next
    kinds = np.zeros(len(visits), np.uint8)
    kinds[is_there & ~was_there] = _KINDS.index(Kind.APPEARED)
    kinds[~is_there & was_there] = _KINDS.index(Kind.VANISHED)
    ever = np.cumsum(is_there) - is_there
    starts = np.maximum.accumulate(np.where(is_next, 0, np.arange(len(visits))))
    return kinds, ever > ever[starts] if len(visits) else was_there


def _last_good(visits: Visits) -> NDArray[np.int64]:
    """For each visit, the place of the last before it that brought the page; -1: none did."""
    places = np.where(visits["state"] == GOOD, np.arange(len(visits)), -1)
    before = np.full(len(visits), -1, np.int64)
    if len(visits):
        before[1:] = np.maximum.accumulate(places)[:-1]
        is_other = visits["print"][before] != visits["print"]
        before[is_other] = -1
    return before


def _levels(
    tables: Path, span: Span, spooled: Sequence[Spooled], visits: Visits, prints: NDArray[np.uint64]
) -> NDArray[np.uint8]:
    """How much each visit found changed: 0 for nothing that counts, else a level from 1 on.

    A comparison belongs to the last visit until then.
    """
    found = [np.empty(0, _COMPARISON)]
    for batch in scan(tables, "changes", spooled=spooled, columns=("url", "seen_at", "level")) if len(prints) else ():
        times, level = moments(batch["seen_at"]), _by_level(batch["level"])
        places = np.flatnonzero((level > 0) & (times >= span.since) & (times < span.until))
        keys = np.array(fingerprints(batch["url"].take(pa.array(places)).to_pylist()), np.uint64)
        some = np.empty(len(places), _COMPARISON)
        some["print"], some["at"], some["level"] = keys, times[places], level[places]
        found.append(some[contains(prints, keys)])
    compared = np.concatenate(found)
    of = _last_visits(visits, compared)
    levels = np.zeros(len(visits), np.uint8)
    levels[of[of >= 0]] = compared["level"][of >= 0]
    return levels


def _by_level(column: pa.Array) -> NDArray[np.uint8]:
    words = plain(column).to_pylist()
    return np.array([LEVELS.index(word) + 1 if word in LEVELS else 0 for word in words], np.uint8)


def _last_visits(visits: Visits, compared: NDArray[np.void]) -> NDArray[np.int64]:
    """For each comparison the last visit to its URL until then; -1 where there is none."""
    both_prints = np.concatenate((visits["print"], compared["print"]))
    both_times = np.concatenate((visits["at"], compared["at"]))
    is_comparison = np.arange(len(both_prints)) >= len(visits)
    order = np.lexsort((is_comparison, both_times, both_prints))
    found = np.empty(len(order), np.int64)
    found[order] = np.maximum.accumulate(np.where(is_comparison[order], -1, np.arange(len(order))))
    of = order[found[len(visits) :]]
    of[(found[len(visits) :] < 0) | (both_prints[of] != compared["print"])] = -1
    return of


# in words


def _rows(
    tables: Path, span: Span, spooled: Sequence[Spooled], told: _Told, chosen: NDArray[np.bool_]
) -> Iterator[Change]:
    """What happened, told from the rows of `fetches`, which are found again by URL and time."""
    places = np.flatnonzero(chosen)
    keys = _keys(told.visits["print"][places], told.visits["at"][places])
    order = np.argsort(keys)
    keys, places = keys[order], places[order]
    for batch in scan(tables, "fetches", spooled=spooled, columns=_ROW) if len(places) else ():
        times = moments(batch["ended_at"])
        rows = np.flatnonzero((states_of(batch) > 0) & (times >= span.since) & (times < span.until))
        urls = batch["url"].take(pa.array(rows)).to_pylist()
        asked = _keys(np.array(fingerprints(urls), np.uint64), times[rows])
        is_it = contains(keys, asked)
        found = batch.take(pa.array(rows[is_it])).to_pylist()
        yield from map(partial(_change, told), found, places[np.searchsorted(keys, asked[is_it])].tolist())


def _keys(prints: NDArray[np.uint64], times: NDArray[np.int64]) -> NDArray[np.uint64]:
    """URL and time as one number."""
    return prints ^ (times.astype(np.uint64) * _MIX)


def _change(told: _Told, row: dict[str, Any], place: int) -> Change:
    visit = told.visits[place]
    kind = _KINDS[told.kinds[place]]
    state, level = int(visit["state"]), int(told.levels[place])
    last = int(told.last_good[place])
    is_new = kind is Kind.APPEARED
    after = place if state == GOOD else last if state == SAME else -1
    return Change(
        url=Url(row["url"]),
        site=row["site"],
        kind=Kind(kind),
        seen_at=int(visit["at"]) / 1e6,
        level=LEVELS[level - 1] if level and not is_new else "",
        is_back=is_new and bool(told.is_back[place]),
        reason=_reason(state, row["status"]),
        target=(row["target"] or "") if state == MOVED else "",
        before=_version(told, last) if last >= 0 else None,
        after=_version(told, after) if after >= 0 else None,
    )


def _reason(state: int, status: int | None) -> str:
    return {GONE: f"http-{status}", MOVED: "redirected", FORBIDDEN: "robots"}.get(state, "")


def _version(told: _Told, place: int) -> Version:
    visit = told.visits[place]
    stored = told.files.stored(visit)
    body = stored
    if stored is not None and stored.is_revisit:
        at = int(np.searchsorted(told.bodies["digest"], visit["digest"]))
        is_known = at < len(told.bodies) and told.bodies["digest"][at] == visit["digest"]
        body = told.files.stored(told.bodies[at]) if is_known else None
    return Version(int(visit["at"]) / 1e6, stored, body)
