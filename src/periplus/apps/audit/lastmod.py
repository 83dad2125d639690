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

from periplus.model.statements import Statements
from periplus.view.findings import FaultyUrl

from .embedded_files import SitemapLook
from .results import Dates, SiteFinding
from .site_table import Found, SiteTable, finding

SQL: Final = Statements(__file__)

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


class LastmodChecks(Struct, frozen=True):
    """The findings, how reliable lastmod is, and what could not be checked."""

    findings: list[SiteFinding]
    dates: Dates
    unjudged: dict[str, str]


def check_lastmod(table: SiteTable, looks: Sequence[SitemapLook]) -> LastmodChecks:
    """Check the dates of the sitemaps. `looks` are further readings of them, made for this audit."""
    shape = table.row(SQL["shape"])
    entries, dated = (int(_number(shape, name)) for name in ("entries", "dated"))
    is_uniform = dated >= _MIN_DATES and _number(shape, "uniform") >= _SAME_SHARE * dated
    uniform = _uniform_name(table, shape, looks) if is_uniform else ""
    found = _uniform(table, shape, uniform) if uniform else []
    future = table.found(SQL["future"]) if _number(shape, "future") else Found(0)
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
    row = table.row(SQL["readings"], now=_NOW_SECONDS)
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
    table.views.database.execute(SQL["visits"], {"sites": table.sites})
    row = table.row(SQL["judged"])
    stated, right, changed, matched = (int(_number(row, name)) for name in ("told", "right", "changed", "matched"))
    precision = right / stated if stated >= _MIN_DATES else None
    recall = matched / changed if changed >= _MIN_DATES else None
    found: list[SiteFinding] = []
    if is_judged and precision is not None and precision < _MIN_PRECISION:
        found += finding("lastmod-wrong", table.found(SQL["wrong"]), stated)
    if is_judged and recall is not None and recall < _MIN_RECALL:
        found += finding("lastmod-misses", table.found(SQL["missed"]), changed)
    return found, Dates(entries, dated, stated, changed, precision, recall)


def _number(row: dict[str, object], name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
