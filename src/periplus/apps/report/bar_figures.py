"""Figures made of bars. Each takes the rows of a part and its title, and labels the value of a full-width bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from periplus.view.charts import Bar, horizontal_bars, vertical_bars
from periplus.view.values import TableRow
from periplus.view.wording import count, counted, duration, share, short, size

from .values import FEW_SITES, NOT_LINKED

_BARS: Final = 8
"""Horizontal bars of a figure at most: the table has the rest."""
_STEPS: Final = 15
"""Vertical bars of a figure at most: more have no room for their names."""
_CLASSES: Final[dict[str, str]] = {
    "missing": "really missing",
    "error": "errors",
    "redirect": "redirects",
    "duplicate-parameter": "copies by parameter",
    "duplicate-other": "other copies",
    "noindex": "not to be indexed",
    "media": "pictures and media",
    "table-of-contents": "lists of links",
}
_CLUSTERS: Final = {1: "alone", 2: "2", 5: "3–5", 10: "6–10", 100: "11–100", 101: "> 100"}
_STATUS_STYLES: Final = (
    ("good", "2xx"), ("even", "3xx"), ("warn", "4xx"), ("bad", "5xx"), ("dark", "no response"),
)  # fmt: skip
_SLOWEST_BIN: Final = 1e8
"""Seconds. The last bin of response times has no upper limit; its bound in the query is above this."""


def _fetched(rows: Sequence[TableRow]) -> str:
    return f"all {counted(sum(row['urls'] for row in rows), 'fetched URL')}"


def status(rows: Sequence[TableRow], label: str) -> str:
    """A bar for each status code, coloured by class, of all fetched URLs."""
    total = sum(row["urls"] for row in rows) or 1
    bars = []
    for row in rows[:_BARS]:
        place = _status_class(str(row["status"]))
        parts = tuple(float(row["urls"]) if place == other else 0.0 for other in range(len(_STATUS_STYLES)))
        name = f"{row['status']} ({row['reason']})" if row["reason"] else str(row["status"])
        bars.append(Bar(name, parts, f"{count(row['urls'])} · {share(row['urls'] / total)}"))
    return horizontal_bars(bars, _STATUS_STYLES, label, _fetched(rows), of=total, has_key=False)


def _status_class(code: str) -> int:
    return {"1": 1, "2": 0, "3": 1, "4": 2, "5": 3}.get(code[:1], 4)


def page_depth(rows: Sequence[TableRow], label: str) -> str:
    """Fetched URLs by clicks from a seed; those beyond the last bar are counted in it."""
    linked = [row for row in rows if row["clicks"] is not None]
    bars = [_depth_bar(str(row["clicks"]), row["urls"]) for row in linked[:_STEPS]]
    beyond = sum(row["urls"] for row in linked[_STEPS:])
    if beyond:
        bars.append(_depth_bar(f"{linked[_STEPS]['clicks']}+", beyond))
    bars += [_depth_bar(NOT_LINKED, row["urls"]) for row in rows if row["clicks"] is None]
    return vertical_bars(bars, "accent", label, ("clicks from a seed", f"URLs, of {_fetched(rows)}"))


def _depth_bar(name: str, urls: int) -> Bar:
    return Bar(name, (urls,), short(urls), f"{name}: {counted(urls, 'URL')}")


def content_types(rows: Sequence[TableRow], label: str) -> str:
    """A bar for each content type, of all fetched URLs."""
    total = sum(row["urls"] for row in rows) or 1
    bars = [
        Bar(row["type"], (row["urls"],), f"{counted(row['urls'], 'URL')} · {size(row['bytes'] or 0)}")
        for row in rows[:_BARS]
    ]
    return horizontal_bars(bars, (("accent", "URLs"),), label, _fetched(rows), of=total)


def response_times(rows: Sequence[TableRow], label: str) -> str:
    """Fetched URLs by response time, in bins."""
    bars, below = [], "0 s"
    for row in rows:
        bound = duration(row["up_to"])
        name = f"> {below}" if row["up_to"] > _SLOWEST_BIN else f"≤ {bound}"
        bars.append(Bar(name, (row["urls"],), short(row["urls"]), f"{name}: {counted(row['urls'], 'URL')}"))
        below = bound
    return vertical_bars(bars, "accent", label, ("response time", f"URLs, of {_fetched(rows)}"))


def coverage(rows: Sequence[TableRow], label: str) -> str:
    """The listed share of fetched URLs, unique pages, indexable pages and PageRank."""
    bars = []
    for row in rows:
        if row["share"] is not None:
            numbers = "" if row["total"] is None else f"{count(row['listed'])} of {count(row['total'])} · "
            bars.append(Bar(row["what"], (row["share"],), f"{numbers}{share(row['share'])}"))
    return horizontal_bars(bars, (("sitemaps", "listed"),), label, "all of what is named above the bar", of=1.0)


def first_source(rows: Sequence[TableRow], label: str) -> str:
    """Three bars for URLs that were announced by a ping, and three for the others."""
    names = (("sitemaps", "Sitemaps first"), ("even", "together"), ("links", "links first"))
    bars = []
    for row in rows:
        numbers = (row["sitemaps_first"], row["together"], row["discovery_first"])
        whole = max(sum(numbers), 1)
        which = "" if len(rows) == 1 else ", announced by a ping" if row["is_pinged"] else ", not announced"
        for place, (number, (_, words)) in enumerate(zip(numbers, names, strict=True)):
            parts = tuple(number / whole if place == other else 0.0 for other in range(len(names)))
            bars.append(Bar(f"{words}{which}", parts, f"{count(number)} · {share(number / whole)}"))
    of_all = "all URLs that both sources have" + ("" if len(rows) == 1 else ", pinged or not")
    return horizontal_bars(bars, names, label, of_all, of=1.0, has_key=False)


def classes(rows: Sequence[TableRow], label: str) -> str:
    """What the URLs are that sitemaps omit."""
    total = sum(row["urls"] for row in rows) or 1
    bars = [
        Bar(
            _CLASSES.get(row["class"], str(row["class"])),
            (row["urls"],),
            f"{count(row['urls'])} · {share(row['urls'] / total)}",
        )
        for row in rows[:_BARS]
    ]
    whole = f"all {counted(total, 'fetched URL')} that no sitemap lists"
    return horizontal_bars(bars, (("accent", "URLs"),), label, whole, of=total)


def efficiency(rows: Sequence[TableRow], label: str) -> str:
    """Unique pages of all fetched URLs, by source."""
    bars = [
        Bar(
            "Sitemaps" if row["source"] == "sitemaps" else "links",
            (row["unique"], row["crawled"] - row["unique"]),
            f"{count(row['unique'])} of {count(row['crawled'])} · {share(row['efficiency'] or 0)}",
        )
        for row in sorted(rows, key=lambda each: each["source"] != "sitemaps")
    ]
    styles = (("good", "unique pages"), ("even", "copies, errors, redirects"))
    most = max((row["crawled"] for row in rows), default=0)
    return horizontal_bars(bars, styles, label, f"{counted(most, 'fetched URL')}, the source with the most")


def fetches(rows: Sequence[TableRow], label: str) -> str:
    """Fetches of each site, by source."""
    bars = [
        Bar(row["site"], (row["sitemaps"], row["discovery"], row["again"]), count(row["visits"]))
        for row in rows[:_BARS]
    ]
    styles = (("sitemaps", "from Sitemaps"), ("links", "from links"), ("even", "again"))
    most = max((row["visits"] for row in rows), default=0)
    return horizontal_bars(bars, styles, label, _most(most, "fetch", rows, "fetches"))


def _most(number: float, thing: str, rows: Sequence[TableRow], things: str = "") -> str:
    """The full width where the longest bar has it: all of the only site, or what the largest has."""
    amount = counted(number, thing, things)
    return f"all {amount} of the site" if len(rows) == 1 else f"{amount}, the site with the most"


def budgets(rows: Sequence[TableRow], label: str) -> str:
    """How the next fetches of each site are divided."""
    bars = [
        Bar(row["site"], (row["sitemaps"], row["links"]), f"{count(row['sitemaps'])} : {count(row['links'])}")
        for row in rows[:_BARS]
    ]
    styles = (("sitemaps", "from Sitemaps"), ("links", "from links"))
    return horizontal_bars(bars, styles, label, "the next pages of the site", is_whole=True)


def formats(rows: Sequence[TableRow], label: str) -> str:
    """Sitemap files of each format, with those that have problems."""
    bars = [
        Bar(row["format"], (row["files"] - row["with_problems"], row["with_problems"]),
            f"{counted(row['files'], 'file')} · {short(row['entries'] or 0)} entries")
        for row in rows[:_BARS]
    ]  # fmt: skip
    total = sum(row["files"] for row in rows)
    styles = (("accent", "files"), ("bad", "with problems"))
    return horizontal_bars(bars, styles, label, f"all {counted(total, 'file')}", of=total)


def fields(rows: Sequence[TableRow], label: str) -> str:
    """Bars of the entries that have each field; of many sites, bars of sites, or one large sitemap would dominate."""
    if len(rows) < FEW_SITES:
        return _fields_of_entries(rows, label)
    bars = []
    for name in ("lastmod", "changefreq", "priority"):
        having = sum(1 for row in rows if row[name] > 0.5)
        bars.append(Bar(name, (having, len(rows) - having), f"{having} of {len(rows)} sites"))
    styles = (("accent", "most of its entries have it"), ("track", "few or none"))
    return horizontal_bars(bars, styles, label, f"{counted(len(rows), 'site')} with sitemaps", is_whole=True)


def _fields_of_entries(rows: Sequence[TableRow], label: str) -> str:
    is_one = len(rows) == 1
    bars = [
        Bar(name if is_one else f"{row['site']}: {name}", (row[name],),
            f"{count(row[name] * row['entries'])} of {count(row['entries'])} · {share(row[name])}")
        for row in rows
        for name in ("lastmod", "changefreq", "priority")
    ]  # fmt: skip
    return horizontal_bars(bars, (("accent", "have it"),), label, "all entries of the site's sitemaps", of=1.0)


def depth(rows: Sequence[TableRow], label: str) -> str:
    """PageRank by clicks from a seed."""
    known = [row for row in rows if row["clicks"] is not None][:_STEPS]
    bars = [
        Bar(str(row["clicks"]), (row["pagerank"],), share(row["pagerank"]),
            f"{row['clicks']} clicks away: {count(row['urls'])} URLs have {share(row['pagerank'])} of PageRank")
        for row in known
    ]  # fmt: skip
    return vertical_bars(bars, "accent", label, ("clicks from a seed", "share of all PageRank"), share)


def changes(rows: Sequence[TableRow], label: str) -> str:
    """Fetches of each site that found a change."""
    bars = [
        Bar(row["site"], (row["changed"], row["comparisons"] - row["changed"]),
            f"{share(row['share'])} of {count(row['comparisons'])} fetches")
        for row in rows[:_BARS]
    ]  # fmt: skip
    whole = "all fetches of pages of the site that were fetched before"
    return horizontal_bars(bars, (("accent", "changed"), ("track", "unchanged")), label, whole, is_whole=True)


def lastmod_trust(rows: Sequence[TableRow], label: str) -> str:
    """Two bars for each site: updates of lastmod with a change of the page, and visits without one."""
    bars = []
    for row in rows[: _BARS // 2]:
        if row["precision"] is not None:
            says = f"{count(row['justified'])} of {count(row['moved'])} · {share(row['precision'])}"
            bars.append(Bar(f"{row['site']}: lastmod is right", (row["precision"], 0.0), says))
        says = f"{count(row['needless'])} of {count(row['revisits'])} · {share(row['needless_share'])}"
        bars.append(Bar(f"{row['site']}: needless visits", (0.0, row["needless_share"]), says))
    names = (("good", "updates of lastmod with a change"), ("warn", "visits that found nothing new"))
    return horizontal_bars(bars, names, label, "all updates of lastmod; all visits to known pages", of=1.0)


def statuses(rows: Sequence[TableRow], label: str) -> str:
    """The responses of each site."""
    names = (
        ("good", "pages"), ("even", "redirects"), ("warn", "4xx"), ("bad", "5xx"), ("dark", "no response"),
    )  # fmt: skip
    bars = [
        Bar(
            row["site"], (row["pages"], row["redirects"], row["gone"], row["broken"], row["no_answer"]),
            f"{count(row['visited'])} · {share(1 - (row['pages'] + row['redirects']) / max(row['visited'], 1))} errors",
        )
        for row in rows[:_BARS]
    ]  # fmt: skip
    return horizontal_bars(bars, names, label, "all fetched URLs of the site", is_whole=True)


def clusters(rows: Sequence[TableRow], label: str) -> str:
    """Pages by the size of their cluster of duplicates."""
    known = {row["up_to"]: row for row in rows}
    total = sum(row["pages"] for row in rows)
    bars = []
    for most, name in _CLUSTERS.items():
        pages, number = (known[most]["pages"], known[most]["clusters"]) if most in known else (0, 0)
        hint = f"{counted(pages, 'page')} in {counted(number, 'cluster')}"
        bars.append(Bar(name, (pages,), count(pages) if pages < 100_000 else short(pages), hint))
    titles = ("pages with the same text", f"pages, of all {counted(total, 'page')}")
    return vertical_bars(bars, "accent", label, titles)


def sites(rows: Sequence[TableRow], label: str) -> str:
    """PageRank of the best sites."""
    known = [row for row in rows if row["pagerank"] is not None]
    bars = [
        Bar(row["site"], (row["pagerank"],), f"{share(row['pagerank'])} · {counted(row['pages'], 'page')}")
        for row in known[:_BARS]
    ]
    most = max((row["pagerank"] for row in known), default=0.0)
    return horizontal_bars(bars, (("accent", "PageRank"),), label, f"{share(most)} of all PageRank, the highest")


def errors(rows: Sequence[TableRow], label: str) -> str:
    """URLs that failed, by reason."""
    bars = [
        Bar(
            row["reason"],
            (row["urls"],),
            f"{counted(row['urls'], 'URL')} · {counted(row['sites'], 'site')}",
            row["meaning"],
        )
        for row in rows[:_BARS]
    ]
    total = sum(row["urls"] for row in rows)
    return horizontal_bars(bars, (("bad", "URLs"),), label, f"all {counted(total, 'URL')} with an error", of=total)


def slow(rows: Sequence[TableRow], label: str) -> str:
    """The median and 95th percentile of the response times of sites."""
    bars = [
        Bar(
            row["site"],
            (row["middle"], row["slow"] - row["middle"]),
            f"{duration(row['middle'])} · {duration(row['slow'])}",
        )
        for row in rows[:_BARS]
    ]
    longest = max((row["slow"] for row in rows[:_BARS]), default=0.0)
    styles = (("accent", "median"), ("even", "95th percentile"))
    return horizontal_bars(bars, styles, label, f"{duration(longest)}, the longest")
