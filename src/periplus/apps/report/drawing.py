"""Turns the rows of a part into its figure. A part without rows has none.

Every bar says what its full width stands for, and every axis has a title with the unit. What bars show is in
`bar_figures`; here are plots of points and lines, and the table of all figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from periplus.view.charts import SHARES, ChartLine, Point, Scale, line_plot, linear, logarithmic, scatter_plot
from periplus.view.values import Sheet, TableRow
from periplus.view.wording import count, share, short

from . import bar_figures as bars

Draw = Callable[[Sequence[TableRow], str], str]
Line = tuple[str, str, str]
"""A line of a plot over time: column, style, name."""
_WILD: Final = 50
"""A plot over time is logarithmic if its highest value is this many times the median: else all but one lie at 0."""


def drawn(table: Sheet) -> str:
    """The figure of a table as SVG; empty if there is none or it has no rows."""
    draw = FIGURES.get(table.figure)
    return draw(table.rows, table.title) if draw is not None and table.rows else ""


def _over_time(lines: Sequence[Line], what: str) -> Draw:
    """Lines over time, a point for each step; steps without a row count as 0."""

    def draw(rows: Sequence[TableRow], label: str) -> str:
        began, ended = rows[0]["since"], rows[-1]["since"]
        step = min((after["since"] - row["since"] for row, after in pairwise(rows)), default=1.0)
        known = {row["since"]: row for row in rows}
        moments = [began + place * step for place in range(min(round((ended - began) / step) + 1, 500))]
        drawn_lines = [
            ChartLine(name, style, tuple((at, float(known.get(at, {}).get(column, 0))) for at in moments))
            for column, style, name in lines
        ]
        values = [value for each in drawn_lines for _, value in each.points]
        positive = sorted(value for value in values if value)
        is_wild = bool(positive) and positive[-1] > _WILD * positive[len(positive) // 2]
        y = logarithmic(positive) if is_wild else linear(values, whole=True)
        title = f"{what} per {_step(step)}" + (" (logarithmic)" if is_wild else "")
        span = max(ended - began, step)
        x = Scale(began, began + span, lambda at: _clock(at, span), is_time=True)
        return line_plot(drawn_lines, x, y, ("UTC", title), label)

    return draw


def _clock(at: float, span: float) -> str:
    form = "%H:%M:%S" if span < 600 else "%H:%M" if span < 2 * 86_400 else "%d %b" if span < 365 * 86_400 else "%b %Y"
    return datetime.fromtimestamp(at, UTC).strftime(form)


def _step(seconds: float) -> str:
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            number = round(seconds / size)
            return f"{number} {word}s" if number != 1 else word
    return "step"


def _size(rows: Sequence[TableRow], label: str) -> str:
    known = [row for row in rows if row["unique_coverage"] is not None]
    most = max((row["unique"] for row in known), default=1)
    points = [
        Point(
            row["site"], row["seen"], row["unique_coverage"], row["unique"] / most,
            f"{row['site']}: {count(row['seen'])} URLs discovered, {share(row['unique_coverage'])} of"
            f" {count(row['unique'])} unique pages listed",
        )
        for row in known
    ]  # fmt: skip
    x = logarithmic((point.x for point in points), short)
    titles = ("URLs discovered on the site (logarithmic)", "share of its unique pages in sitemaps")
    return scatter_plot(points, x, SHARES, titles, label)


def _line(across: str, up: str, titles: tuple[str, str], above: str) -> Draw:
    """Two shares of every site against each other."""

    def draw(rows: Sequence[TableRow], label: str) -> str:
        known = [row for row in rows if row[across] is not None and row[up] is not None]
        points = [
            Point(
                row["site"], row[across], row[up], 1 / (place + 1) ** 0.7,
                f"{row['site']}: {share(row[across])} across, {share(row[up])} up",
            )
            for place, row in enumerate(known)
        ]  # fmt: skip
        return scatter_plot(points, SHARES, SHARES, titles, label, diagonal=above) if points else ""

    return draw


def _cumulative(rows: Sequence[TableRow], label: str) -> str:
    known = [row for row in rows if row["share"] is not None]
    if not known:
        return ""
    last = known[-1]
    mine = ChartLine("this crawl", "accent", ((0.0, 0.0), *((float(row["pages"]), row["share"]) for row in known)))
    middle = (last["pages"] * 0.6, last["share"] * 0.6)
    chance = ChartLine("random order", "even", ((0.0, 0.0), middle, (float(last["pages"]), last["share"])), named=1)
    x = linear([last["pages"]], whole=True)
    y = linear([min(math.ceil(last["share"] * 10) / 10, 1.0)], share)
    return line_plot((chance, mine), x, y, ("fetches", "share of all PageRank"), label)


def _form_records(rows: Sequence[TableRow], label: str) -> str:
    """A curve for each form, and the fewest requests that yield as many records."""
    by_form: dict[str, list[TableRow]] = {}
    for row in rows:
        by_form.setdefault(row["form"], []).append(row)
    styles = ("accent", "links", "sitemaps")
    curves = [
        ChartLine(
            each[0]["site"], style, ((0.0, 0.0), *((float(row["requests"]), float(row["records"])) for row in each))
        )
        for each, style in zip(by_form.values(), styles, strict=False)
    ]
    most = max(rows, key=lambda row: int(row["records"]))
    middle = (most["fewest"] * 0.6, most["records"] * 0.6)
    end = (float(most["fewest"]), float(most["records"]))
    fewest = ChartLine("fewest possible", "even", ((0.0, 0.0), middle, end), named=1)
    x, y = (linear([row[name] for row in rows], whole=True) for name in ("requests", "records"))
    return line_plot((fewest, *curves), x, y, ("requests: pages of results and records", "records"), label)


_COVERED: Final = "share of unique pages in sitemaps"
_NEW_URLS: Final = (("sitemaps", "sitemaps", "Sitemaps"), ("discovery", "links", "links"))
_RATE: Final = (("requests", "accent", "requests"), ("errors", "bad", "errors"))
FIGURES: Final[dict[str, Draw]] = {
    "times": _over_time(_NEW_URLS, "new URLs"),
    "rate": _over_time(_RATE, "requests"),
    "size": _size,
    "copies_line": _line(
        "coverage", "unique_coverage", ("share of fetched URLs in sitemaps", _COVERED), "above it: fewer copies listed"
    ),
    "index_line": _line(
        "unique_coverage", "index_coverage", (_COVERED, "share of indexable pages in sitemaps"),
        "above it: the better pages are listed",
    ),
    "rank_line": _line(
        "unique_coverage", "pagerank_coverage", (_COVERED, "share of PageRank in sitemaps"),
        "above it: the most linked pages are listed",
    ),
    "cumulative": _cumulative,
    "form_records": _form_records,
    "first": bars.first_source,
    "status": bars.status,
    "page_depth": bars.page_depth,
    "content_types": bars.content_types,
    "response_times": bars.response_times,
    "coverage": bars.coverage,
    "classes": bars.classes,
    "efficiency": bars.efficiency,
    "visits": bars.fetches,
    "budgets": bars.budgets,
    "formats": bars.formats,
    "fields": bars.fields,
    "depth": bars.depth,
    "changes": bars.changes,
    "lastmod_trust": bars.lastmod_trust,
    "statuses": bars.statuses,
    "sites": bars.sites,
    "errors": bars.errors,
    "slow": bars.slow,
    "clusters": bars.clusters,
}  # fmt: skip
"""By the name that a part gives."""
