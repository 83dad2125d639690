"""Checks of lastmod, from the readings of the sitemaps and from visits to the pages.

One reading shows dates that are missing, in the future, or identical. Identical dates are those of a build, or the time
of the request. The latter is claimed only with evidence: two readings of one file, each with dates within
`_NOW_SECONDS` of the reading, and different ones. Dates only minutes older than the only reading prove neither,
because a sitemap may have been written just before an audit; a second look (`SitemapLook`) decides.

Where pages were visited again, each visit is compared with the two readings before it and before the previous visit:
was lastmod (the latest of several files) updated, and had the page changed? *Precision* is the share of updates with a
change, however small; *recall* the share of major changes with an update.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from msgspec import Struct

from periplus.view.findings import FaultyUrl

from .embedded_files import SitemapLook
from .results import Dates, SiteFinding
from .site_table import Found, SiteTable, finding

_MIN_DATES: Final = 10
"""Pages, updates or changes below which a share proves nothing."""
_SAME_SHARE: Final = 0.9
"""The dates count as identical if at least this share of them is within one minute."""
_NOW_SECONDS: Final = 10.0
"""Seconds between a date and the reading of it for the time of the request: the answer, plus clocks slightly off."""
_RECENT_SECONDS: Final = 300.0
"""Dates younger than this at the only reading may be those of the request or of a build; older ones are of a build."""
_MIN_DATED: Final = 0.5
"""Share of the listed pages that should have a lastmod."""
_MIN_PRECISION, _MIN_RECALL = 0.8, 0.5
"""Below these lastmod is worse than a guess from the history of a page."""
_READ_ONCE: Final = (
    "the sitemap was read once, just after its dates; audit again to see whether they follow the request"
)

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
_READINGS: Final = """
with readings as (
    select sitemap, epoch(read_at) as read_at, max(epoch(lastmod)) as newest from sitemap_entries
    where kind = 'page' and list_contains($sites, site) group by sitemap, read_at
    union all select sitemap, read_at, newest from audited_looks),
pairs as (
    select newest, read_at, lag(newest) over (partition by sitemap order by read_at) as newest_before,
        lag(read_at) over (partition by sitemap order by read_at) as read_before from readings)
select count(*) filter (where newest_before is not null) as pairs,
    count(*) filter (where newest = newest_before) as stood_still,
    count(*) filter (where newest > newest_before and abs(newest - read_at) <= $now
        and abs(newest_before - read_before) <= $now) as followed
from pairs
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
    count(*) filter (where is_change) as changed, count(*) filter (where is_change and has_moved) as matched
from audited_visits
"""
_WRONG: Final = """
select url, 'lastmod was updated, but the page had not changed' as note, '' as via, '' as kind, 0.0 as weight
from audited_visits where has_moved and not has_changed
"""
_MISSED: Final = """
select url, 'changed without an update of lastmod' as note, '' as via, '' as kind, 0.0 as weight
from audited_visits where is_change and not has_moved
"""


class LastmodChecks(Struct, frozen=True):
    """The findings, how reliable lastmod is, and what could not be checked."""

    findings: list[SiteFinding]
    dates: Dates
    unjudged: dict[str, str]


def check_lastmod(table: SiteTable, looks: Sequence[SitemapLook]) -> LastmodChecks:
    """Check the dates of the sitemaps. `looks` are further readings of them, made for this audit."""
    shape = table.row(_SHAPE)
    entries, dated = (int(_number(shape, name)) for name in ("entries", "dated"))
    is_uniform = dated >= _MIN_DATES and _number(shape, "uniform") >= _SAME_SHARE * dated
    uniform = _uniform_name(table, shape, looks) if is_uniform else ""
    found = _uniform(table, shape, uniform) if uniform else []
    future = table.found(_FUTURE) if _number(shape, "future") else Found(0)
    found += finding("lastmod-future", future, entries)
    if entries >= _MIN_DATES and dated < _MIN_DATED * entries:
        found += finding("lastmod-missing", Found(entries - dated), entries)
    more, dates = _by_visits(table, entries, dated, is_judged=not is_uniform)
    unjudged = {"lastmod-always-now": _READ_ONCE} if is_uniform and not uniform else {}
    return LastmodChecks(found + more, dates, unjudged)


def _uniform_name(table: SiteTable, shape: dict[str, object], looks: Sequence[SitemapLook]) -> str:
    """The finding for identical dates; empty if one reading is not enough evidence."""
    columns = {
        "sitemap": pa.array([look.sitemap for look in looks], pa.string()),
        "read_at": pa.array([look.read_at for look in looks], pa.float64()),
        "newest": pa.array([look.newest for look in looks], pa.float64()),
    }
    table.views.database.register("audited_looks", pa.table(columns))
    row = table.row(_READINGS, now=_NOW_SECONDS)
    table.views.database.unregister("audited_looks")
    if _number(row, "followed") and not _number(row, "stood_still"):
        return "lastmod-always-now"
    is_old = _number(shape, "age") > _RECENT_SECONDS
    return "lastmod-build-time" if is_old or _number(row, "pairs") else ""


def _uniform(table: SiteTable, shape: dict[str, object], name: str) -> list[SiteFinding]:
    uniform, dated = int(_number(shape, "uniform")), int(_number(shape, "dated"))
    when = table.row(
        "select strftime(to_timestamp($minute), '%Y-%m-%d %H:%M UTC') as said", minute=_number(shape, "minute")
    )
    return finding(name, Found(uniform, (FaultyUrl("", f"all are {when.get('said')}"),)), dated)


def _by_visits(table: SiteTable, entries: int, dated: int, *, is_judged: bool) -> tuple[list[SiteFinding], Dates]:
    table.views.database.execute(_VISITS, {"sites": table.sites})
    row = table.row(_JUDGED)
    stated, right, changed, matched = (int(_number(row, name)) for name in ("told", "right", "changed", "matched"))
    precision = right / stated if stated >= _MIN_DATES else None
    recall = matched / changed if changed >= _MIN_DATES else None
    found: list[SiteFinding] = []
    if is_judged and precision is not None and precision < _MIN_PRECISION:
        found += finding("lastmod-wrong", table.found(_WRONG), stated)
    if is_judged and recall is not None and recall < _MIN_RECALL:
        found += finding("lastmod-misses", table.found(_MISSED), changed)
    return found, Dates(entries, dated, stated, changed, precision, recall)


def _number(row: dict[str, object], name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
