"""Which address is in which sitemap: pure decisions.

A site of any size could rewrite all its sitemaps at every change, but even if only one page in a hundred changes a day,
every file of a fixed order changes every day, and crawlers read all of them again. A log avoids this: base files that
stay as they are, and for every day a small file of what is new or changed that day (Schonfeld & Shivakumar 2009,
section 4, describe a large site that does so). A reader takes the latest date of an address that is in several files.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from .settings import SitemapSettings

INDEX: Final = "sitemap.xml"
"""The file to announce."""
NEWS: Final = "sitemap-news.xml"
DAY: Final = 86_400
MOST_DEAD: Final = 200
MOST_DEAD_SHARE: Final = 0.005
DEAD_DAYS: Final = 7
"""A file is rewritten if more than this many or this share of its entries are gone, or one has been for this long."""
MOST_FILES: Final = 1_000
"""Files of a log beyond which it is compacted: a reader asks for each of them once."""
KEPT_SECONDS: Final = 2.0 * DAY
"""Time for which a file stays after the last index that named it: a crawler may still hold that index."""
_BACK_TO_SINGLE: Final = 0.5
"""A log becomes a single file below this share of `log_from`, so that a site at the border does not alternate."""


def is_log(settings: SitemapSettings, entries: int, *, was_log: bool) -> bool:
    """Whether the addresses are written as a log."""
    if settings.layout != "auto":
        return settings.layout == "log"
    return entries >= settings.log_from * (_BACK_TO_SINGLE if was_log else 1)


def is_compacted(settings: SitemapSettings, base_day: int, today: int, files: int) -> bool:
    """Whether a log is written as new base files now."""
    return today - base_day >= settings.compact_days or files > MOST_FILES


def is_rewritten(entries: int, dead: int, oldest: float, now: float) -> bool:
    """Whether a file is rewritten without the entries that are gone, the oldest of them since a time."""
    return dead > MOST_DEAD or dead > MOST_DEAD_SHARE * entries or (dead > 0 and now - oldest > DEAD_DAYS * DAY)


def pieces(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Where to cut this many entries into files: (first, end)."""
    for first in range(0, count, size):
        yield first, min(first + size, count)


def base_name(generation: int, number: int) -> str:
    """The name of a base file."""
    return f"sitemap-b{generation}-{number}.xml.gz"


def delta_name(day: int, number: int) -> str:
    """The name of a file of one day's changes."""
    date = datetime.fromtimestamp(day * DAY, UTC).strftime("%Y%m%d")
    return f"sitemap-d{date}.xml.gz" if number == 1 else f"sitemap-d{date}-{number}.xml.gz"


def next_name(name: str) -> str:
    """The name of a sealed file that is written again with other content: caches hold the old name for a day."""
    stem, _, revision = name.removesuffix(".xml.gz").partition("~")
    return f"{stem}~{int(revision or 1) + 1}.xml.gz"
