"""Changes to the pages of a collection in a time span: which appeared, changed and vanished.

They are found in the tables alone, in at most four passes over `fetches`, none of which holds more than a batch of rows
and an array (see `visits`): the visits in the span; the last visits before it; the bodies that revisits refer to; and
the rows of the changes found. Whether a page changed was decided by the crawl when it compared the two versions (table
`changes`).

A page appears with its first good answer, and again with the first after it was gone. It vanishes with the first 404,
410, redirect or refusal by robots.txt after a good answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from periplus.insight.columns import codes, moments, plain
from periplus.model import Site
from periplus.policy.filters.patterns import compiled
from periplus.store.tables import Spooled, scan
from periplus.urls import fingerprints, is_below

from .visits import (
    FORBIDDEN,
    GONE,
    GOOD,
    MOVED,
    SAME,
    Asked,
    Change,
    ChangeKind,
    Files,
    Span,
    Version,
    Visits,
    Wanted,
    contains,
    in_order,
    originals,
    states_of,
    visits_before,
    visits_in,
)

LEVELS: Final = ("elsewhere", "minor", "major")
_NOT_COMPARED: Final = 255
_REASONS: Final = {MOVED: "redirected", FORBIDDEN: "robots"}
_NUMBERS: Final = {kind: number for number, kind in enumerate(ChangeKind, 1)}
"""Code of a row that is not an event."""
_KINDS: Final = {number: kind for kind, number in _NUMBERS.items()}
_FAR_AHEAD: Final = 1 << 62
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_COMPARISON: Final = np.dtype([("print", "<u8"), ("at", "<i8"), ("level", "u1")])
_ROW: Final = ("url", "site", "purpose", "outcome", "status", "reason", "target", "ended_at")


class _History(Struct):
    """All visits in order of fingerprint and time, with the kind and level of change that each found."""

    visits: Visits
    kinds: NDArray[np.uint8]
    levels: NDArray[np.uint8]
    is_back: NDArray[np.bool_]
    last_good: NDArray[np.int64]
    bodies: Visits
    files: Files


def changes_since(
    folder: Path,
    since: float,
    until: float | None = None,
    *,
    sites: Collection[str] = (),
    paths: Collection[str] = (),
    kinds: Collection[ChangeKind] = tuple(ChangeKind),
    spooled: Sequence[Spooled] = (),
) -> Iterator[Change]:
    """The changes in a collection between two POSIX times (`until` is `None`: until now).

    Changes are in the order of the tables: shard by shard, in each by time. `sites` are hosts including
    their subdomains, without a port with all ports; `paths` are patterns as for `--include`. A change must match one of
    each.
    """
    tables = folder / "tables"
    span = Span(_microseconds(since), _FAR_AHEAD if until is None else _microseconds(until))
    wanted = _wanted(sites, paths)
    history = _history(tables, span, spooled, wanted)
    chosen = np.isin(history.kinds, [_NUMBERS[kind] for kind in kinds])
    yield from _rows(tables, span, spooled, history, chosen)


def _microseconds(at: float) -> int:
    return min(round(at * 1e6), _FAR_AHEAD)


# which pages


def _wanted(sites: Collection[str], paths: Collection[str]) -> Wanted | None:
    if not sites and not paths:
        return None
    fits = [compiled(path) for path in paths]
    names = [site.lower() for site in sites]

    def is_site(site: str | None) -> bool:
        return site is not None and is_below(Site(site), names)

    def wanted(batch: pa.RecordBatch) -> NDArray[np.bool_]:
        are = np.ones(batch.num_rows, np.bool_)
        if names:
            numbers, words = codes(batch["site"])
            are &= np.array([is_site(word) for word in words], np.bool_)[numbers]
        if fits:
            places = np.flatnonzero(are)
            urls = batch["url"].take(pa.array(places)).to_pylist()
            are[places] = [any(fit(url) for fit in fits) for url in urls]
        return are

    return wanted


# what happened


def _history(tables: Path, span: Span, spooled: Sequence[Spooled], wanted: Wanted | None) -> _History:
    files = Files()
    within, asked = visits_in(tables, span, files, spooled=spooled, wanted=wanted)
    before = visits_before(tables, span, files, asked, spooled=spooled) if len(within) else within
    visits = in_order(np.concatenate((before, within)))
    del before, within
    kinds, is_back = _came_and_went(visits)
    last_good = _last_good(visits)
    levels = _levels(tables, span, spooled, visits, asked)
    is_compared = (levels > 0) & (kinds == 0) & (visits["state"] == GOOD) & (last_good >= 0)
    kinds[is_compared] = _NUMBERS[ChangeKind.CHANGED]
    kinds[is_compared & (levels == 1)] = _NUMBERS[ChangeKind.ELSEWHERE]
    kinds[visits["at"] < span.since] = 0
    needed = np.flatnonzero(kinds)
    needed = np.unique(np.concatenate((needed, last_good[needed])))
    bodies = originals(tables, visits[needed[needed >= 0]], files, spooled=spooled)
    return _History(visits, kinds, levels, is_back, last_good, bodies, files)


def _came_and_went(visits: Visits) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """What each visit found out, of whether a page is there; and, of one that is, whether it had been there before."""
    is_there = (visits["state"] == GOOD) | (visits["state"] == SAME)
    is_next = np.zeros(len(visits), np.bool_)
    is_next[1:] = visits["print"][1:] == visits["print"][:-1]
    was_there = np.zeros(len(visits), np.bool_)
    was_there[1:] = is_there[:-1]
    was_there &= is_next
    kinds = np.zeros(len(visits), np.uint8)
    kinds[is_there & ~was_there] = _NUMBERS[ChangeKind.APPEARED]
    kinds[~is_there & was_there] = _NUMBERS[ChangeKind.VANISHED]
    ever = np.cumsum(is_there) - is_there
    starts = np.maximum.accumulate(np.where(is_next, 0, np.arange(len(visits))))
    return kinds, ever > ever[starts] if len(visits) else was_there


def _last_good(visits: Visits) -> NDArray[np.int64]:
    """For each visit, the index of the last earlier one that returned the page; -1: there is none."""
    places = np.where(visits["state"] == GOOD, np.arange(len(visits)), -1)
    before = np.full(len(visits), -1, np.int64)
    if len(visits):
        before[1:] = np.maximum.accumulate(places)[:-1]
        is_other = visits["print"][before] != visits["print"]
        before[is_other] = -1
    return before


def _levels(tables: Path, span: Span, spooled: Sequence[Spooled], visits: Visits, asked: Asked) -> NDArray[np.uint8]:
    """How much each visit found changed: 0 for nothing that counts, else a level from 1 on.

    A comparison belongs to the last visit until then. Of two rows of one comparison the lower level is right: the first
    pages after a change of the template are reported as changed until that is known.
    """
    found = [np.empty(0, _COMPARISON)]
    for batch in scan(tables, "changes", spooled=spooled, columns=("url", "seen_at", "level")) if len(visits) else ():
        times, (numbers, words) = moments(batch["seen_at"]), codes(batch["level"])
        level = np.array([LEVELS.index(word) + 1 if word in LEVELS else 0 for word in words], np.uint8)[numbers]
        is_revised = np.array([word == "template" for word in words], np.bool_)[numbers]
        places = np.flatnonzero(((level > 0) | is_revised) & (times >= span.since) & (times < span.until))
        some = np.empty(len(places), _COMPARISON)
        some["print"] = np.array(fingerprints(batch["url"].take(pa.array(places)).to_pylist()), np.uint64)
        some["at"], some["level"] = times[places], level[places]
        found.append(some[contains(asked.prints, some["print"])])
    compared = np.concatenate(found)
    of = _last_visits(visits, compared)
    levels = np.full(len(visits), _NOT_COMPARED, np.uint8)
    np.minimum.at(levels, of[of >= 0], compared["level"][of >= 0])
    levels[levels == _NOT_COMPARED] = 0
    return levels


def _last_visits(visits: Visits, compared: NDArray[np.void]) -> NDArray[np.int64]:
    """For each comparison, the last visit to its URL up to then; -1 if there is none."""
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
    tables: Path, span: Span, spooled: Sequence[Spooled], history: _History, chosen: NDArray[np.bool_]
) -> Iterator[Change]:
    """The changes, made from the rows of `fetches`, which are looked up by URL and time."""
    places = np.flatnonzero(chosen)
    keys = _keys(history.visits["print"][places], history.visits["at"][places])
    order = np.argsort(keys)
    keys, places = keys[order], places[order]
    for batch in scan(tables, "fetches", spooled=spooled, columns=_ROW) if len(places) else ():
        times = moments(batch["ended_at"])
        rows = np.flatnonzero((states_of(batch) > 0) & (times >= span.since) & (times < span.until))
        urls = batch["url"].take(pa.array(rows)).to_pylist()
        asked = _keys(np.array(fingerprints(urls), np.uint64), times[rows])
        is_it = contains(keys, asked)
        if is_it.any():
            yield from _changes(history, batch.take(pa.array(rows[is_it])), places[np.searchsorted(keys, asked[is_it])])


def _keys(prints: NDArray[np.uint64], times: NDArray[np.int64]) -> NDArray[np.uint64]:
    """URL and time as one number."""
    return prints ^ (times.astype(np.uint64) * _MIX)


def _changes(history: _History, batch: pa.RecordBatch, places: NDArray[np.int64]) -> list[Change]:
    """The change at each index, made from its row: column by column, which takes a third of the time of row by row."""
    visits, last = history.visits[places], history.last_good[places]
    states = visits["state"]
    after = np.where(states == GOOD, places, np.where(states == SAME, last, -1))
    columns = (
        *(plain(batch[name]).to_pylist() for name in ("url", "site", "status", "target")),
        history.kinds[places].tolist(), (visits["at"] / 1e6).tolist(), states.tolist(), history.levels[places].tolist(),
        history.is_back[places].tolist(), _versions(history, last), _versions(history, after),
    )  # fmt: skip
    return [
        Change(
            url,
            site,
            kind := _KINDS[number],
            at,
            LEVELS[level - 1] if kind in (ChangeKind.CHANGED, ChangeKind.ELSEWHERE) else "",
            kind is ChangeKind.APPEARED and is_back,
            _reason(state, status),
            (target or "") if state == MOVED else "",
            before,
            following,
        )
        for url, site, status, target, number, at, state, level, is_back, before, following in zip(
            *columns, strict=True
        )
    ]


def _reason(state: int, status: int | None) -> str:
    return f"http-{status}" if state == GONE else _REASONS.get(state, "")


def _versions(history: _History, places: NDArray[np.int64]) -> list[Version | None]:
    """The versions at some indexes, each with the location of its bytes; `None` for an index of -1."""
    visits, is_there = history.visits[places], (places >= 0).tolist()
    stored = history.files.stored(visits)
    at = np.searchsorted(history.bodies["digest"], visits["digest"])
    is_known = contains(history.bodies["digest"], visits["digest"]).tolist()
    originals_of = history.files.stored(np.take(history.bodies, at, mode="clip")) if len(history.bodies) else stored
    return [
        Version(moment, own, (original if is_found else None) if own is not None and own.is_revisit else own)
        if is_one
        else None
        for moment, own, original, is_found, is_one in zip(
            (visits["at"] / 1e6).tolist(), stored, originals_of, is_known, is_there, strict=True
        )
    ]
