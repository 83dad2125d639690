"""Sentences about a crawl: which sources found its URLs, and how much of what it fetches is on its topic."""

from __future__ import annotations

from collections.abc import Mapping

from periplus.engine.stats import DRY, DRY_PAGES, CrawlStats
from periplus.view.wording import count, ranked

_SOURCES = {"sitemap": "sitemaps", "link": "links", "seed": "seeds", "redirect": "redirects", "feed": "feeds"}


def by_source(counts: Mapping[str, int], known: int) -> str:
    """Return how many URLs each source has found; `several` counts those found by more than one."""
    parts = [f"{_SOURCES.get(source, source)} {count(number)}" for source, number in ranked(counts)]
    several = sum(counts.values()) - known
    return " · ".join([*parts, f"several {count(several)}"] if several > 0 and len(counts) > 1 else parts)


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
