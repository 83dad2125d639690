"""The harvest of a focused crawl in words: how many of its pages are on the topic, and whether it dries up."""

from __future__ import annotations

from periplus.crawl.focus import DRY, DRY_PAGES
from periplus.crawl.stats import CrawlStats


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
