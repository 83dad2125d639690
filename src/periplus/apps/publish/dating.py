"""When has a resource changed, and which date may be claimed for it? Pure functions over what was and what is.

A sitemap's `lastmod` is worth what its history says (Schonfeld & Shivakumar 2009, section 6.4), so the date moves only
when what a page says has changed. Bytes differ more often. Clocks and counters are masked, small edits are added up
until they matter, and what is not about the page is recognised by what happens on the whole site.

Of a page's main text it is kept how often each word occurs, in 128 counters by the word's hash; of links, title,
canonical URL and structured data the sum of their hashes. A banner adds the same to all pages, whatever else they say
and wherever it stands: a difference that many pages have in common is the template's (`is_common`), and what is left
of a page's difference without it is the page's own. A part with a content of its own on each page (the path to the
page, its neighbours) belongs to the template if it changed on nearly all pages at once (`is_template_way`), and is
churn if it does so in nearly every scan. A date that a build gave to most pages at once (`build_window`) says nothing,
and no date is better than a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final
from zlib import crc32

import numpy as np
from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.content.churn import unpack
from periplus.content.digests import masked
from periplus.content.scan.columns import TEXT_RULE
from periplus.model import ChangeLevel, Digests, ParsedPage

FEW_WORDS: Final = 3
"""Words gained and lost up to which an edit is minor: a word in place of another. Two may be a price and a stock."""
MINOR_SUM: Final = 0.05
"""Shares of minor edits in a page's words since the last claimed change that together count as a change."""
TEMPLATE_SHARE: Final = 0.3
TEMPLATE_LEAST: Final = 5
"""What at least this share of all pages, and at least this many, gained or lost in one scan is the template's..."""
TEMPLATE_PAGES: Final = 20
TEMPLATE_MOST: Final = 0.5
"""...or at least this many pages, and this share of those with a part that all of them have: a template of its own."""
TEMPLATE_COMMON: Final = 0.9
"""A part that changed on this share of the pages that have it, and on `TEMPLATE_PAGES`, is the template's, too."""
CHURN_SCANS: Final = 5
CHURN_SHARE: Final = 0.8
"""A block is churn if it changed on this share of its pages in this share of at least this many scans."""
MOST_MASKED: Final = 0.5
"""If blocks with a larger share of a page's words have changed, they are what the page is about."""
BUILD_SHARE: Final = 0.5
BUILD_PAGES: Final = 20
"""If at least this share of all new pages, and at least this many, have dates..."""
BUILD_SECONDS: Final = 300.0
"""...within this many seconds, a build wrote them and the dates are not used."""
_COUNTERS: Final = 128
"""Counters of words, a byte each. Words that share one hide each other only if one was gained and the other lost."""
_SUMS: Final = (1 << 64) - 1
_STRUCTURED = re.compile(
    rb"<script[^>]{0,200}application/ld\+json[^>]{0,200}>(.{0,100000}?)</script", re.IGNORECASE | re.DOTALL
)


class Aspect(IntEnum):
    """What of a page can change. `MARKS` are language alternates and structured data."""

    TEXT = 0
    """All visible text. What is new there moves no date, but on some pages it makes another part the main text."""
    MAIN = 1
    LINKS = 2
    TITLE = 3
    CANONICAL = 4
    MARKS = 5


class Content(Struct, frozen=True, array_like=True, gc=False):
    """What is kept of a content, to compare it with the next. Of what is not a page only `raw` is known.

    `words` are the counters of words of all text and of the main text, `sums` has a number for each other aspect.
    `rule` is the `TEXT_RULE` by which the main text was found; 0 in a ledger that has no counters yet.
    """

    raw: int
    digests: Digests | None = None
    words: bytes = b""
    blocks: bytes = b""
    size: int = 0
    """Words of the main text."""
    sums: tuple[int, ...] = ()
    rule: int = 0


class Judgement(Struct, frozen=True, array_like=True):
    """How much a content differs from the last, by itself.

    `gains` has for each aspect what was gained and lost, empty where that is nothing; there are none if the two cannot
    be compared. `ways` are the paths of blocks that changed, `share` is their share of the page's words.
    """

    level: ChangeLevel
    gains: tuple[bytes, ...] = ()
    ways: tuple[int, ...] = ()
    share: float = 0.0
    size: int = 0


def raw_digest(body: bytes) -> int:
    """The digest of the bytes alone."""
    return xxh3_64_intdigest(body)


def content_of(page: ParsedPage, body: bytes) -> Content:
    """What to keep of a page that was read with its blocks."""
    text, main = (masked(_encoded(part)).split() for part in (page.text, page.main_text))
    is_cut = any(problem.reason == "too-many-links" for problem in page.problems)  # a new one pushes out the last
    targets = "" if is_cut else "\n".join(page.links.to_others().urls)
    alternates = "\0".join(f"{one.hreflang}\n{one.url}" for one in page.relations.alternates if one.hreflang)
    structured = b",".join(masked(found) for found in _STRUCTURED.findall(body)[:100])
    sums = (
        _sum(_encoded(targets).split(b"\n")),
        _sum(masked(_encoded(page.title)).split()),
        _sum(_encoded(page.canonical or "").split(b"/")),
        _sum([*_encoded(alternates).split(b"\0"), *structured.split(b",")]),
    )
    words = _counted(text) + _counted(main)
    return Content(raw_digest(body), page.digests, words, page.blocks, len(main), sums, TEXT_RULE)


def _counted(words: Sequence[bytes]) -> bytes:
    hashes = np.fromiter(map(crc32, words), np.uint32, len(words))
    return np.bincount(hashes % _COUNTERS, minlength=_COUNTERS).astype(np.uint8).tobytes()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _sum(parts: Iterable[bytes]) -> int:
    return sum([xxh3_64_intdigest(part) for part in parts if part]) & _SUMS


def heading_of(content: Content) -> tuple[int, ...]:
    """What distinguishes title and canonical URL."""
    return content.sums[Aspect.TITLE - Aspect.LINKS : Aspect.MARKS - Aspect.LINKS]


def etag_of(content: Content) -> str:
    """A weak entity tag: another one if the main text or the links of a page are different."""
    digests = content.digests
    return f'W/"{content.raw if digests is None else digests.main ^ digests.links:x}"'


def judge(before: Content, after: Content) -> Judgement:
    """How much one resource has changed, by itself."""
    if before.raw == after.raw:
        return Judgement(ChangeLevel.SAME)
    if before.digests is None or after.digests is None:
        return Judgement(ChangeLevel.MAJOR)
    is_text_same = before.digests.main == after.digests.main
    if before.rule != after.rule:  # texts of two rules cannot be compared
        is_same = before.digests.links == after.digests.links and (bool(before.rule) or is_text_same)
        return Judgement(ChangeLevel.RAW_ONLY if is_same else ChangeLevel.MAJOR)
    words = (_counters(after.words) - _counters(before.words)).tobytes()
    gains = [words[:_COUNTERS], b"" if is_text_same else words[_COUNTERS:]]
    gains += [
        (new - old & _SUMS).to_bytes(8, "big") if old != new else b""
        for old, new in zip(before.sums, after.sums, strict=True)
    ]
    if before.digests.links == after.digests.links:
        gains[Aspect.LINKS] = b""
    level = ChangeLevel.MAJOR if any(gains[Aspect.MAIN :]) else ChangeLevel.RAW_ONLY
    return Judgement(level, tuple(gains), *changed_ways(before.blocks, after.blocks), after.size)


def _counters(packed: bytes) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    return np.frombuffer(packed, np.int8)


def own_words(gain: bytes, common: Sequence[bytes]) -> int:
    """How many words a page gained and lost, beyond what it has in common with others."""
    if gain in common:
        return 0
    own = _counters(gain)
    return min(int(np.abs((own - _counters(one)).astype(np.int16)).sum()) for one in (bytes(_COUNTERS), *common))


def changed_ways(before: bytes, after: bytes) -> tuple[tuple[int, ...], float]:
    """The paths of blocks that have another content now, and the share of these blocks in the page's words."""
    old = {block.way: block.content for block in unpack(before)}
    changed = []
    words = total = 0
    for block in unpack(after):
        total += block.words
        if old.pop(block.way, None) != block.content:
            changed.append(block.way)
            words += block.words
    return (*changed, *old), words / max(total, 1)


def ways_of(blocks: bytes) -> list[int]:
    """The paths of all blocks of a page."""
    return [block.way for block in unpack(blocks)]


class Chrome(Struct, frozen=True):
    """What belongs to the site and not to its pages.

    `gains` are what many pages gained or lost at once, by aspect; `ways` the paths of blocks that changed on nearly all
    pages: those explain words and links, the only aspects that blocks have.
    """

    gains: Mapping[int, tuple[bytes, ...]] = {}
    ways: Mapping[int, frozenset[int]] = {}

    def own_words(self, judged: Judgement) -> int:
        """How many words a page's main text gained and lost that the site did not.

        With a banner another part of a page may be its main text, but then all text has gained the banner alone.
        """
        gain = judged.gains[Aspect.MAIN]
        if not gain:
            return 0
        own = own_words(gain, self.gains.get(Aspect.MAIN, ()))
        if not own and not any(gain) and gain not in self.gains.get(Aspect.MAIN, ()):
            return judged.size  # the same words in another order
        return min(own, self.own_text(judged))

    def own_text(self, judged: Judgement) -> int:
        """How many words all text of a page gained and lost that the site did not."""
        return own_words(judged.gains[Aspect.TEXT], self.gains.get(Aspect.TEXT, ()))

    def own_aspects(self, judged: Judgement) -> list[int]:
        """What of a page changed otherwise than on many pages at once."""
        own = [
            aspect
            for aspect, gain in enumerate(judged.gains)
            if aspect >= Aspect.LINKS and gain and gain not in self.gains.get(aspect, ())
        ]
        return [Aspect.MAIN, *own] if self.own_words(judged) else own

    def explains(self, judged: Judgement) -> bool:
        """Whether all that changed on a page is not about the page."""
        if not judged.gains:
            return False
        own = self.own_aspects(judged)
        if not own:
            return True
        has_ways = bool(judged.ways) and judged.share <= MOST_MASKED
        return has_ways and all(self.ways.get(aspect, frozenset()).issuperset(judged.ways) for aspect in own)


def is_common(count: int, pages: int, of_template: int) -> bool:
    """Whether what this many pages gained or lost is the template's.

    `pages` is the number of all pages, `of_template` that of the pages with a part that all those have.
    """
    is_site = count >= TEMPLATE_LEAST and count >= TEMPLATE_SHARE * pages
    return is_site or (count >= TEMPLATE_PAGES and count >= TEMPLATE_MOST * of_template)


def is_template_way(changed: int, having: int) -> bool:
    """Whether a path belongs to the template that changed on this many of the pages that have it."""
    return changed >= TEMPLATE_PAGES and changed >= TEMPLATE_COMMON * having


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
