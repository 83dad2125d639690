"""Formats numbers, sizes, durations, times and harvest rates for people, alike on a terminal and on web pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from periplus.engine.stats import CrawlStats
from periplus.parts.focus.part import DRY, DRY_PAGES

_REASONS = 3
"""Reasons named in a line."""
_SOURCES = {"sitemap": "sitemaps", "link": "links", "seed": "seeds", "redirect": "redirects", "feed": "feeds"}


def count(number: int) -> str:
    """Return a number as 12,431."""
    return f"{number:,}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: 1 page, 2 pages."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def pace(rate: float) -> str:
    """Return a rate as 512/s, with a decimal below 10."""
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def size(number: float) -> str:
    """Return a size as 340 MB: powers of 1000, three figures."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 99.5 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"


def lasting(seconds: float) -> str:
    """Return a duration as 1 h 12 m: two units."""
    whole = max(int(seconds + 0.5), 0)
    units = (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))
    for (unit, length), below in zip(units, (*units[1:], None), strict=True):
        if whole >= length:
            rest = whole % length // below[1] if below else 0
            return f"{whole // length} {unit} {rest} {below[0]}" if below and rest else f"{whole // length} {unit}"
    return "0 s"


def top(reasons: Mapping[str, int], most: int = _REASONS) -> str:
    """Return the most frequent reasons with their counts."""
    ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{reason.removeprefix('http-')} {count(number)}" for reason, number in ranked[:most]]
    return " · ".join([*parts, "…"] if len(ranked) > most else parts)


def by_source(counts: Mapping[str, int], known: int) -> str:
    """Return how many URLs each source has found; `several` counts those found by more than one."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{_SOURCES.get(source, source)} {count(number)}" for source, number in ranked]
    several = sum(counts.values()) - known
    return " · ".join([*parts, f"several {count(several)}"] if several > 0 and len(counts) > 1 else parts)


def moment(at: float) -> str:
    """Return a time in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if at > 0 else "now"


def harvest(tally: CrawlStats) -> str:
    """The harvest rate of the last pages and of all."""
    recent = tally.recent_relevant / max(tally.recent, 1)
    return f"harvest {recent:.0%} of the last {tally.recent:,}, {tally.relevant / max(tally.appraised, 1):.0%} of all"


def dried_up(tally: CrawlStats) -> str:
    """A warning with the next step, if the crawl finds next to no page on its topic any more; otherwise empty."""
    if tally.dry < DRY_PAGES:
        return ""
    return (
        f"fewer than {DRY:.0%} of the last {tally.dry:,} pages are on the topic: stop with Ctrl-C, and continue with "
        "other words (--topic), more examples (--like) or seeds nearer to the topic"
    )
