"""Is lastmod honest? What one reading of the sitemaps shows, and what visits to the pages say of it.

One reading shows dates that are missing, in the future, or all the same. If nearly all pages bear one time, it is that
of the request where it is (nearly) that of the reading, and never stood still between two readings; else of a build.

Where pages were visited again, each visit is held against the two readings that came before it and before the visit
before it: did lastmod (of several files the latest) move, and had the page changed? *Precision* is the share of moves
with a change, however small; *recall* the share of changes that are enough to count with a move.
"""

from __future__ import annotations

from typing import Final

from .gathering import Found, Gathered, finding
from .values import Dates, Example, Finding

_FEW: Final = 10
"""Fewer pages, or visits, prove nothing."""
_UNIFORM: Final = 0.9
_NOW_SECONDS: Final = 300.0
_DATED_LEAST: Final = 0.5
_PRECISION_LEAST, _RECALL_LEAST = 0.8, 0.5

_SHAPE: Final = """
with entries as (
    select url, epoch(lastmod) as said, lastmod_granularity as grain, epoch(read_at) as read_at
    from audited_entries),
common as (
    select floor(said / 60) as minute, count(*) as pages from entries
    where said is not null and grain not in ('year', 'month') group by minute order by pages desc, minute limit 1)
select count(*) as entries, count(said) as dated, count(*) filter (where said > read_at + 86400) as future,
    (select minute * 60 from common) as minute,
    count(*) filter (where abs(said - (select minute * 60 + 30 from common)) <= 90) as uniform,
    median(abs(read_at - said)) as age
from entries
"""
_STOOD_STILL: Final = """
with readings as (
    select sitemap, read_at, max(lastmod) as newest from sitemap_entries
    where kind = 'page' and list_contains($sites, site) group by sitemap, read_at)
select count(*) from (
    select newest = lag(newest) over (partition by sitemap order by read_at) as stood from readings) where stood
"""
_FUTURE: Final = """
select url, strftime(to_timestamp(epoch(lastmod)), '%Y-%m-%d') as note, '' as via, '' as kind, epoch(lastmod) as weight
from audited_entries where epoch(lastmod) > epoch(read_at) + 86400
"""
_VISITS: Final = """
create or replace temp table audited_visits as
with visits as (
    select url, epoch(seen_at) as seen_at, level in ('minor', 'major') as has_changed, is_change,
        coalesce(lag(epoch(seen_at)) over (partition by url order by seen_at), (
            select min(epoch(ended_at)) from fetches where fetches.url = changes.url and outcome = 'fetched')) as before
    from changes where list_contains($sites, site)),
told as (
    select url, epoch(read_at) as read_at,
        max(epoch(lastmod)) over (partition by url order by read_at range unbounded preceding) as lastmod
    from sitemap_entries where kind = 'page' and list_contains($sites, site) and lastmod is not null),
pairs as (
    select visits.*, later.lastmod as lastmod
    from visits asof join told as later on visits.url = later.url and visits.seen_at >= later.read_at)
select pairs.url, pairs.has_changed, pairs.is_change, pairs.lastmod > earlier.lastmod as has_moved
from pairs asof join told as earlier on pairs.url = earlier.url and pairs.before >= earlier.read_at
"""
_JUDGED: Final = """
select count(*) filter (where has_moved) as told, count(*) filter (where has_moved and has_changed) as right,
    count(*) filter (where is_change) as changed, count(*) filter (where is_change and has_moved) as heard
from audited_visits
"""
_VAIN: Final = """
select url, 'lastmod moved, and nothing had changed' as note, '' as via, '' as kind, 0.0 as weight
from audited_visits where has_moved and not has_changed
"""
_UNTOLD: Final = """
select url, 'changed, and lastmod did not move' as note, '' as via, '' as kind, 0.0 as weight
from audited_visits where is_change and not has_moved
"""


def honesty(gathered: Gathered) -> tuple[list[Finding], Dates]:
    """What is wrong with the dates of the sitemaps, and how far they can be trusted."""
    shape = gathered.row(_SHAPE)
    entries, dated = (int(_number(shape, name)) for name in ("entries", "dated"))
    is_uniform = dated >= _FEW and _number(shape, "uniform") >= _UNIFORM * dated
    found = _uniform(gathered, shape) if is_uniform else []
    future = gathered.found(_FUTURE) if _number(shape, "future") else Found(0)
    found += finding("lastmod-future", future, entries)
    if entries >= _FEW and dated < _DATED_LEAST * entries:
        found += finding("lastmod-missing", Found(entries - dated), entries)
    more, dates = _by_visits(gathered, entries, dated, is_judged=not is_uniform)
    return found + more, dates


def _uniform(gathered: Gathered, shape: dict[str, object]) -> list[Finding]:
    uniform, dated = int(_number(shape, "uniform")), int(_number(shape, "dated"))
    is_now = _number(shape, "age") <= _NOW_SECONDS and not gathered.number(_STOOD_STILL)
    when = gathered.row(
        "select strftime(to_timestamp($minute), '%Y-%m-%d %H:%M UTC') as said", minute=_number(shape, "minute")
    )
    example = Example("", f"all say {when.get('said')}")
    name = "lastmod-always-now" if is_now else "lastmod-build-time"
    return finding(name, Found(uniform, (example,)), dated)


def _by_visits(gathered: Gathered, entries: int, dated: int, *, is_judged: bool) -> tuple[list[Finding], Dates]:
    gathered.views.database.execute(_VISITS, {"sites": gathered.sites})
    row = gathered.row(_JUDGED)
    told, right, changed, heard = (int(_number(row, name)) for name in ("told", "right", "changed", "heard"))
    precision = right / told if told >= _FEW else None
    recall = heard / changed if changed >= _FEW else None
    found: list[Finding] = []
    if is_judged and precision is not None and precision < _PRECISION_LEAST:
        found += finding("lastmod-wrong", gathered.found(_VAIN), told)
    if is_judged and recall is not None and recall < _RECALL_LEAST:
        found += finding("lastmod-misses", gathered.found(_UNTOLD), changed)
    return found, Dates(entries, dated, told, changed, precision, recall)


def _number(row: dict[str, object], name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
