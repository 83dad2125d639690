"""Which figure a part has, and how its rows become one. A part whose rows have nothing to draw has none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from .figures.bars import Bar, lying, standing
from .figures.points import Curve, Point, curves, scattered
from .figures.scales import SHARES, Scale, linear, logarithmic
from .values import Part, Row
from .wording import count, lasting, number_of, share, short

_BARS: Final = 8
"""Bars that lie, at most: more are read in the table."""
SITEMAPS: Final = ("sitemaps", "Sitemaps")
LINKS: Final = ("links", "links")
CLASSES: Final[dict[str, str]] = {
    "missing": "really missing",
    "error": "errors",
    "redirect": "redirects",
    "duplicate-parameter": "copies by parameter",
    "duplicate-other": "other copies",
    "noindex": "not to be indexed",
    "media": "pictures and media",
    "table-of-contents": "lists of links",
}


def drawn(part: Part) -> str:
    """The figure as SVG; empty if there is none, or nothing to see."""
    draw = FIGURES.get(part.figure)
    return draw(part.rows, part.title) if draw is not None and part.rows else ""


def _times(rows: Sequence[Row], label: str) -> str:
    """Two lines, a point a step; steps in which nobody told of anything lie on the ground."""
    began, ended = rows[0]["since"], rows[-1]["since"]
    step = min((after["since"] - row["since"] for row, after in pairwise(rows)), default=1.0)
    known = {row["since"]: row for row in rows}
    moments = [began + place * step for place in range(min(round((ended - began) / step) + 1, 500))]
    lines = [
        Curve(name, style, tuple((at, float(known.get(at, {}).get(key, 0))) for at in moments))
        for key, style, name in (("sitemaps", "sitemaps", "Sitemaps"), ("discovery", "links", "links"))
    ]
    top = [value for each in lines for _, value in each.points]
    told = sorted(value for value in top if value)
    is_wild = bool(told) and told[-1] > 50 * told[len(told) // 2]
    y = logarithmic(told) if is_wild else linear(top, whole=True)
    title = f"new URLs in {_step(step)}" + (" (logarithmic)" if is_wild else "")
    span = max(ended - began, step)
    x = Scale(began, began + span, lambda at: _clock(at, span), is_time=True)
    return curves(lines, x, y, ("UTC", title), label)


def _clock(at: float, span: float) -> str:
    form = "%H:%M:%S" if span < 600 else "%H:%M" if span < 2 * 86_400 else "%d %b" if span < 365 * 86_400 else "%b %Y"
    return datetime.fromtimestamp(at, UTC).strftime(form)


def _step(seconds: float) -> str:
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            number = round(seconds / size)
            return f"{number} {word}s" if number != 1 else f"a {word}" if word != "hour" else "an hour"
    return "a moment"


def _first(rows: Sequence[Row], label: str) -> str:
    """Three bars for URLs that were announced by a ping, and for those that were not."""
    names = (("sitemaps", "Sitemaps first"), ("even", "together"), ("links", "links first"))
    bars = []
    for row in rows:
        numbers = (row["sitemaps_first"], row["together"], row["discovery_first"])
        whole = max(sum(numbers), 1)
        which = "" if len(rows) == 1 else ", announced by a ping" if row["is_pinged"] else ", not announced"
        for place, (number, (_, words)) in enumerate(zip(numbers, names, strict=True)):
            parts = tuple(number / whole if place == other else 0.0 for other in range(len(names)))
            bars.append(Bar(f"{words}{which}", parts, f"{count(number)} · {share(number / whole)}"))
    return lying(bars, names, label, of=1.0, has_key=False)


def _size(rows: Sequence[Row], label: str) -> str:
    known = [row for row in rows if row["unique_coverage"] is not None]
    most = max((row["unique"] for row in known), default=1)
    points = [
        Point(
            row["site"], row["seen"], row["unique_coverage"], row["unique"] / most,
            f"{row['site']}: {count(row['seen'])} URLs heard of, {share(row['unique_coverage'])} of"
            f" {count(row['unique'])} unique pages listed",
        )
        for row in known
    ]  # fmt: skip
    x = logarithmic((point.x for point in points), short)
    return scattered(points, x, SHARES, ("URLs heard of on the site", "share of its unique pages in sitemaps"), label)


def _line(across: str, up: str, titles: tuple[str, str], above: str) -> Callable[[Sequence[Row], str], str]:
    """Two shares of every site against each other."""

    def draw(rows: Sequence[Row], label: str) -> str:
        known = [row for row in rows if row[across] is not None and row[up] is not None]
        points = [
            Point(
                row["site"], row[across], row[up], 1 / (place + 1) ** 0.7,
                f"{row['site']}: {share(row[across])} across, {share(row[up])} up",
            )
            for place, row in enumerate(known)
        ]  # fmt: skip
        return scattered(points, SHARES, SHARES, titles, label, diagonal=above) if points else ""

    return draw


def _classes(rows: Sequence[Row], label: str) -> str:
    total = sum(row["urls"] for row in rows) or 1
    bars = [
        Bar(
            CLASSES.get(row["class"], str(row["class"])),
            (row["urls"],),
            f"{count(row['urls'])} · {share(row['urls'] / total)}",
        )
        for row in rows[:_BARS]
    ]
    return lying(bars, (("accent", "URLs"),), label, of=total)


def _efficiency(rows: Sequence[Row], label: str) -> str:
    bars = [
        Bar(
            "Sitemaps" if row["source"] == "sitemaps" else "links",
            (row["unique"], row["crawled"] - row["unique"]),
            f"{count(row['unique'])} of {count(row['crawled'])} · {share(row['efficiency'] or 0)}",
        )
        for row in sorted(rows, key=lambda each: each["source"] != "sitemaps")
    ]
    return lying(bars, (("good", "unique pages"), ("even", "copies, errors, redirects")), label)


def _visits(rows: Sequence[Row], label: str) -> str:
    bars = [
        Bar(row["site"], (row["sitemaps"], row["discovery"], row["again"]), count(row["visits"]))
        for row in rows[:_BARS]
    ]
    return lying(bars, (("sitemaps", "for Sitemaps"), ("links", "for links"), ("even", "to see again")), label)


def _budgets(rows: Sequence[Row], label: str) -> str:
    bars = [
        Bar(row["site"], (row["sitemaps"], row["links"]), f"{count(row['sitemaps'])} : {count(row['links'])}")
        for row in rows[:_BARS]
    ]
    return lying(bars, (("sitemaps", "to Sitemaps"), ("links", "to links")), label, is_whole=True)


def _formats(rows: Sequence[Row], label: str) -> str:
    bars = [
        Bar(row["format"], (row["files"] - row["with_problems"], row["with_problems"]),
            f"{number_of(row['files'], 'file')} · {short(row['entries'] or 0)} entries")
        for row in rows[:_BARS]
    ]  # fmt: skip
    return lying(bars, (("accent", "files"), ("bad", "with problems")), label)


def _fields(rows: Sequence[Row], label: str) -> str:
    """Sites, not entries: one site with an endless list would be all that is seen."""
    bars = []
    for name in ("lastmod", "changefreq", "priority"):
        having = sum(1 for row in rows if row[name] > 0.5)
        bars.append(Bar(name, (having, len(rows) - having), f"{having} of {len(rows)} sites"))
    return lying(bars, (("accent", "for most of its pages"), ("track", "for few or none")), label, is_whole=True)


def _depth(rows: Sequence[Row], label: str) -> str:
    known = [row for row in rows if row["clicks"] is not None][:15]
    bars = [
        Bar(str(row["clicks"]), (row["pagerank"],), share(row["pagerank"]),
            f"{row['clicks']} clicks away: {count(row['urls'])} URLs hold {share(row['pagerank'])} of PageRank")
        for row in known
    ]  # fmt: skip
    return standing(bars, "accent", label, "clicks from a seed", "share of all PageRank", share)


def _cumulative(rows: Sequence[Row], label: str) -> str:
    known = [row for row in rows if row["share"] is not None]
    if not known:
        return ""
    last = known[-1]
    mine = Curve("this crawl", "accent", ((0.0, 0.0), *((float(row["pages"]), row["share"]) for row in known)))
    middle = (last["pages"] * 0.6, last["share"] * 0.6)
    chance = Curve("visits by lot", "even", ((0.0, 0.0), middle, (float(last["pages"]), last["share"])), named=1)
    x = linear([last["pages"]], whole=True)
    y = linear([min(math.ceil(last["share"] * 10) / 10, 1.0)], share)
    return curves((chance, mine), x, y, ("visits", "share of all PageRank"), label)


def _changes(rows: Sequence[Row], label: str) -> str:
    bars = [
        Bar(row["site"], (row["changed"], row["comparisons"] - row["changed"]),
            f"{share(row['share'])} of {count(row['comparisons'])} visits")
        for row in rows[:_BARS]
    ]  # fmt: skip
    return lying(bars, (("accent", "had changed"), ("track", "as before")), label, is_whole=True)


def _statuses(rows: Sequence[Row], label: str) -> str:
    names = (
        ("good", "pages"), ("even", "redirects"), ("warn", "4xx"), ("bad", "5xx"), ("dark", "no whole answer"),
    )  # fmt: skip
    bars = [
        Bar(
            row["site"], (row["pages"], row["redirects"], row["gone"], row["broken"], row["no_answer"]),
            f"{count(row['visited'])} · {share(1 - (row['pages'] + row['redirects']) / max(row['visited'], 1))} errors",
        )
        for row in rows[:_BARS]
    ]  # fmt: skip
    return lying(bars, names, label, is_whole=True)


_CLUSTERS: Final = {1: "alone", 2: "2", 5: "3–5", 10: "6–10", 100: "11–100", 101: "> 100"}


def _clusters(rows: Sequence[Row], label: str) -> str:
    known = {row["up_to"]: row for row in rows}
    bars = []
    for size, name in _CLUSTERS.items():
        pages, clusters = (known[size]["pages"], known[size]["clusters"]) if size in known else (0, 0)
        hint = f"{number_of(pages, 'page')} in {number_of(clusters, 'cluster')}"
        bars.append(Bar(name, (pages,), count(pages) if pages < 100_000 else short(pages), hint))
    return standing(bars, "accent", label, "pages that say the same", "pages")


def _sites(rows: Sequence[Row], label: str) -> str:
    bars = [
        Bar(row["site"], (row["pagerank"],), f"{share(row['pagerank'])} · {number_of(row['pages'], 'page')}")
        for row in rows[:_BARS]
        if row["pagerank"] is not None
    ]
    return lying(bars, (("accent", "PageRank"),), label)


def _errors(rows: Sequence[Row], label: str) -> str:
    bars = [
        Bar(
            row["reason"],
            (row["urls"],),
            f"{number_of(row['urls'], 'URL')} · {number_of(row['sites'], 'site')}",
            row["meaning"],
        )
        for row in rows[:_BARS]
    ]
    return lying(bars, (("bad", "URLs"),), label)


def _slow(rows: Sequence[Row], label: str) -> str:
    bars = [
        Bar(
            row["site"],
            (row["middle"], row["slow"] - row["middle"]),
            f"{lasting(row['middle'])} · {lasting(row['slow'])}",
        )
        for row in rows[:_BARS]
    ]
    return lying(bars, (("accent", "half of the answers by"), ("even", "95 % by")), label)


_COVERED: Final = "share of unique pages in sitemaps"
FIGURES: Final[dict[str, Callable[[Sequence[Row], str], str]]] = {
    "times": _times,
    "first": _first,
    "size": _size,
    "copies_line": _line(
        "coverage", "unique_coverage", ("share of visited URLs in sitemaps", _COVERED), "above it: fewer copies listed"
    ),
    "index_line": _line(
        "unique_coverage", "index_coverage", (_COVERED, "share of indexable pages in sitemaps"),
        "above it: the better pages are listed",
    ),
    "rank_line": _line(
        "unique_coverage", "pagerank_coverage", (_COVERED, "share of PageRank in sitemaps"),
        "above it: what others link to is listed",
    ),
    "classes": _classes,
    "efficiency": _efficiency,
    "visits": _visits,
    "budgets": _budgets,
    "formats": _formats,
    "fields": _fields,
    "depth": _depth,
    "cumulative": _cumulative,
    "changes": _changes,
    "statuses": _statuses,
    "sites": _sites,
    "errors": _errors,
    "slow": _slow,
    "clusters": _clusters,
}  # fmt: skip
"""By the name that a part gives."""
