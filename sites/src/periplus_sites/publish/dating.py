"""Which date may be claimed for a resource? Pure functions over what was and what is.

A sitemap's `lastmod` is worth what its history says (Schonfeld & Shivakumar 2009, section 6.4), so the date moves only
when what a page says has changed (`content.changes`: the comparison of a crawl). Small edits are added up until they
matter, and parts that differ in nearly every scan are churn. A date that a build gave to most pages at once
(`build_window`) says nothing, and no date is better than a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.content import PageDifference, PageVersion, SiteTemplate, difference, page_version
from periplus.content.changes import MINOR_SHARE
from periplus.content.churn import unpack
from periplus.content.versions import has_profile
from periplus.model import ChangeLevel, Digests, ParsedPage

CHURN_SCANS: Final = 5
CHURN_SHARE: Final = 0.8
"""A block is churn if it changed on this share of its pages in this share of at least this many scans."""
BUILD_SHARE: Final = 0.5
BUILD_PAGES: Final = 20
"""If at least this share of all new pages, and at least this many, have dates..."""
BUILD_SECONDS: Final = 300.0
"""...within this many seconds, a build wrote them and the dates are not used."""


class Content(Struct, frozen=True, array_like=True, gc=False):
    """What is kept of a content, to compare it with the next: of a page a `PageVersion`, of others only `raw`."""

    raw: int
    digests: Digests | None = None
    version: bytes = b""
    blocks: bytes = b""

    @property
    def page(self) -> PageVersion | None:
        """What is kept of a page; older ledgers had no profiles of pages."""
        version = self.version if has_profile(self.version) else b""
        return None if self.digests is None else PageVersion(self.digests, version, self.blocks)


def raw_digest(body: bytes) -> int:
    """The digest of the bytes alone."""
    return xxh3_64_intdigest(body)


def content_of(page: ParsedPage) -> Content:
    """What to keep of a page that was read with its blocks."""
    return Content(page.digests.raw, *page_version(page))


def etag_of(content: Content) -> str:
    """A weak entity tag: another one if the main text or the links of a page are different."""
    digests = content.digests
    return f'W/"{content.raw if digests is None else digests.main ^ digests.links:x}"'


def compare(before: Content, after: Content) -> PageDifference:
    """How much one resource has changed, by itself."""
    old, new = before.page, after.page
    if old is None or new is None:
        return PageDifference(ChangeLevel.SAME if before.raw == after.raw else ChangeLevel.MAJOR)
    return difference(old, new)


def level_of(found: PageDifference, minor: float, template: SiteTemplate) -> tuple[ChangeLevel, float]:
    """How much a resource has changed, and the sum of its minor edits after that."""
    level = template.level(found)
    if level is ChangeLevel.MINOR:
        minor += template.own_share(found)
        level = ChangeLevel.MINOR if minor < MINOR_SHARE else ChangeLevel.MAJOR
    return level, 0.0 if level is ChangeLevel.MAJOR else minor


def ways_of(blocks: bytes) -> list[int]:
    """The paths of all blocks of a page."""
    return [block.way for block in unpack(blocks)]


def is_churn(scans: int, differed: int) -> bool:
    """Whether a block that changed on most of its pages in `differed` of all its scans is churn."""
    return scans >= CHURN_SCANS and differed >= CHURN_SHARE * scans


def build_window(dates: Iterable[float], pages: int) -> tuple[float, float] | None:
    """The span of dates that one build gave to most of the pages; `None` if there was no such build."""
    ordered = sorted(dates)
    least = max(BUILD_PAGES, BUILD_SHARE * pages)
    first = best = best_first = 0
    for last, date in enumerate(ordered):
        while date - ordered[first] > BUILD_SECONDS:
            first += 1
        if last - first + 1 > best:
            best, best_first = last - first + 1, first
    return (ordered[best_first], ordered[best_first + best - 1]) if best and best >= least else None


def first_date(source_date: float | None, build: tuple[float, float] | None, now: float) -> float | None:
    """The date to claim for a resource that is seen for the first time."""
    if source_date is None or source_date > now or (build and build[0] <= source_date <= build[1]):
        return None
    return source_date


def changed_date(source_date: float | None, seen_before: float, now: float) -> float:
    """The date to claim for a change: what the source says, within the time in which it must have happened."""
    return now if source_date is None else min(max(source_date, seen_before), now)
