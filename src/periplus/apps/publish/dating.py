"""When has a resource changed, and which date may be claimed for it? Pure functions over what was and what is.

A sitemap's `lastmod` is worth what its history says (Schonfeld & Shivakumar 2009, section 6.4), so the date moves only
when what a page says has changed. Bytes differ more often. Clocks and counters are masked, small edits are added up
until they matter, and parts that are not about the page are recognised by what happens to them on the whole site: a
part that changes on nearly all pages at once, or to the same content on most of those that changed, belongs to the
template, and one that differs in nearly every scan is churn. A date that a build gave to most pages at once
(`build_window`) says nothing, and no date is better than a wrong one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.content import change_since, is_heading_same, likeness, version_of
from periplus.content.churn import OTHERS, unpack
from periplus.content.digests import masked
from periplus.model import ChangeLevel, Digests, ParsedPage

MINOR_SUM: Final = 0.05
"""Differences of minor edits since the last claimed change that together count as a change."""
TEMPLATE_SHARE: Final = 0.3
TEMPLATE_PAGES: Final = 20
"""A template change touches at least this share of all pages, and at least this many..."""
TEMPLATE_COMMON: Final = 0.9
"""...and gives the same blocks the same content in this share of them; or it changes blocks on this share of all pages
that have them."""
CHURN_SCANS: Final = 5
CHURN_SHARE: Final = 0.8
"""A block is churn if it changed on this share of its pages in this share of at least this many scans."""
NEW_PART: Final = (0.02, 0.25)
"""Shares of a page's words: a rewritten block between these sizes is a change. Sketches detect larger ones."""
MOST_MASKED: Final = 0.5
"""If blocks with a larger share of a page's words have changed, they are what the page is about."""
BUILD_SHARE: Final = 0.5
BUILD_PAGES: Final = 20
"""If at least this share of all new pages, and at least this many, have dates..."""
BUILD_SECONDS: Final = 300.0
"""...within this many seconds, a build wrote them and the dates are not used."""
_STRUCTURED = re.compile(
    rb"<script[^>]{0,200}application/ld\+json[^>]{0,200}>(.{0,100000}?)</script", re.IGNORECASE | re.DOTALL
)


class Content(Struct, frozen=True, array_like=True, gc=False):
    """What is kept of a content, to compare it with the next. Of what is not a page only `raw` is known."""

    raw: int
    digests: Digests | None = None
    version: bytes = b""
    blocks: bytes = b""
    marks: int = 0
    """A digest of the language alternates and the structured data."""


class BlockChange(Struct, frozen=True, array_like=True, gc=False):
    """A block that is different now: its path, its new content (0 where it is gone), and how many words it has."""

    way: int
    content: int
    words: int


class Judgement(Struct, frozen=True, array_like=True):
    """How much a content differs from the last.

    `minor` is how much a minor edit differs. `blocks` are those that changed out of `words` in all; there are none if
    something else has changed, too, such as the title.
    """

    level: ChangeLevel
    minor: float = 0.0
    blocks: tuple[BlockChange, ...] = ()
    words: int = 0


def raw_digest(body: bytes) -> int:
    """The digest of the bytes alone."""
    return xxh3_64_intdigest(body)


def content_of(page: ParsedPage, body: bytes) -> Content:
    """What to keep of a page that was read with its blocks."""
    alternates = sorted(f"{one.hreflang}\n{one.url}" for one in page.relations.alternates if one.hreflang)
    structured = b"\0".join(masked(found) for found in _STRUCTURED.findall(body)[:100])
    marks = xxh3_64_intdigest("\n".join(alternates).encode() + b"\0" + structured)
    return Content(raw_digest(body), page.digests, version_of(page), page.blocks, marks)


def judge(before: Content, after: Content, page: ParsedPage | None) -> Judgement:
    """How much one resource has changed, by itself."""
    if before.raw == after.raw:
        return Judgement(ChangeLevel.SAME)
    if page is None or before.digests is None or not before.version:
        return Judgement(ChangeLevel.MAJOR)
    level = change_since(before.digests, before.version, page)
    if before.marks != after.marks or not is_heading_same(before.version, page):
        return Judgement(ChangeLevel.MAJOR)
    if level < ChangeLevel.MINOR:
        return Judgement(level)
    if level is ChangeLevel.MINOR and _has_new_part(before.blocks, after.blocks):
        level = ChangeLevel.MAJOR
    minor = 1 - likeness(before.version, after.version) if level is ChangeLevel.MINOR else 0.0
    return Judgement(level, minor, changed_blocks(before.blocks, after.blocks), _words(after.blocks))


def changed_blocks(before: bytes, after: bytes) -> tuple[BlockChange, ...]:
    """The blocks that have another content now."""
    old = {block.way: block for block in unpack(before)}
    new = {block.way: block for block in unpack(after)}
    changed = []
    for way in old.keys() | new.keys():
        one, other = old.get(way), new.get(way)
        content, words = (0, 0) if other is None else (other.content, other.words)
        if one is None or one.content != content:
            changed.append(BlockChange(way, content, words))
    return tuple(changed)


def ways_of(blocks: bytes) -> list[int]:
    """The paths of all blocks of a page."""
    return [block.way for block in unpack(blocks)]


class Chrome(Struct, frozen=True):
    """What belongs to the site and not to its pages: paths of blocks, and blocks with a content."""

    ways: frozenset[int] = frozenset()
    blocks: frozenset[tuple[int, int]] = frozenset()

    def explains(self, judged: Judgement) -> bool:
        """Whether all that changed on a page is not about the page."""
        if not judged.blocks or sum(block.words for block in judged.blocks) > MOST_MASKED * judged.words:
            return False
        return all(block.way in self.ways or (block.way, block.content) in self.blocks for block in judged.blocks)


def chrome_of(
    changes: Sequence[Judgement],
    pages: int,
    changed: Mapping[int, int],
    having: Mapping[int, int],
    churn: Iterable[int],
) -> Chrome:
    """What one scan shows to be chrome.

    Given the pages that changed (or a sample of them), how many pages there are in all, how many pages each path
    changed on and how many have it, and the paths that are known as churn.
    """
    ways = {
        way
        for way, count in changed.items()
        if count >= TEMPLATE_PAGES and count >= TEMPLATE_COMMON * having.get(way, count) and way != OTHERS
    }
    blocks: Iterable[tuple[int, int]] = ()
    if len(changes) >= max(TEMPLATE_PAGES, TEMPLATE_SHARE * pages):
        counts = Counter((block.way, block.content) for change in changes for block in change.blocks)
        blocks = (key for key, count in counts.items() if count >= TEMPLATE_COMMON * len(changes))
    return Chrome(frozenset(ways.union(churn)), frozenset(blocks))


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


def _has_new_part(before: bytes, after: bytes) -> bool:
    """Whether a part of the page is new: the sketch of a whole page is too coarse to detect that.

    Of 128 values two may differ by chance where a twenty-fifth of a page is new.
    """
    old = {block.way: block for block in unpack(before)}
    total = _words(after)
    return any(
        block.way in old
        and block.drawn != old[block.way].drawn
        and NEW_PART[0] * total <= block.words <= NEW_PART[1] * total
        for block in unpack(after)
    )


def _words(blocks: bytes) -> int:
    return sum(block.words for block in unpack(blocks))
