"""What has changed between two versions of a page, and is it the page's own? Publisher and crawler compare alike.

Title, canonical URL, links, main text, language alternates and structured data are compared; bytes differ more often.
What many pages of a site gained or lost at once is not about any of them. A banner adds the same to all pages, whatever
else they say and wherever it stands: a difference that many pages have in common is the template's (`is_common`), and
what is left of a page's difference without it is the page's own. A part with a content of its own on each page (the
path to the page, its neighbours) belongs to the template if it changed on nearly all pages at once (`is_template_way`).

The publisher sees a whole site in one scan and judges at its end. A crawl sees one page after the other: it counts what
the last pages gained (`TemplateEvidence`), and once a gain is common, the pages that were judged before are judged
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct

from periplus.model import ChangeLevel, Url

from .churn import unpack
from .versions import (
    COUNTERS,
    SUMS,
    PageProfile,
    PageVersion,
    has_text_rule,
    is_heading_same,
    read_from,
    unpack_profile,
)

FEW_WORDS: Final = 3
"""Words gained and lost up to which an edit is minor: a word in place of another. Two may be a price and a stock.

Outside of the main text so few are a counter or a date, and no edit.
"""
MINOR_SHARE: Final = 0.05
"""Share of a page's words from which an edit, or several minor ones together, is major."""
TEMPLATE_SHARE: Final = 0.3
TEMPLATE_LEAST: Final = 5
"""What at least this share of all pages, and at least this many, gained or lost at once is the template's..."""
TEMPLATE_PAGES: Final = 20
TEMPLATE_MOST: Final = 0.5
"""...or at least this many pages, and this share of those with a part that all of them have: a template of its own."""
TEMPLATE_COMMON: Final = 0.9
"""A part that changed on this share of the pages that have it, and on `TEMPLATE_PAGES`, is the template's, too."""
MOST_MASKED: Final = 0.5
"""If blocks with a larger share of a page's words have changed, they are what the page is about."""
_LASTS: Final = 86_400.0
"""Seconds without a change of a site after which a crawl forgets what its pages gained."""
_WINDOW: Final = 128
"""Comparisons of a site's pages after which those before count half."""
_MOST_GAINS: Final = 64
"""Gains of a site's pages that are counted."""
_MOST_OPEN: Final = 32
"""Pages of a site that are judged again once the template's change is known; a template change is known after fewer."""


class Aspect(IntEnum):
    """What of a page can change. `MARKS` are language alternates and structured data."""

    TEXT = 0
    """All visible text. What is new in it alone is elsewhere, and on some pages it makes another part the main text."""
    MAIN = 1
    LINKS = 2
    TITLE = 3
    CANONICAL = 4
    MARKS = 5


class PageDifference(Struct, frozen=True, array_like=True):
    """How much a version differs from the last, by itself.

    `gains` has for each aspect what was gained and lost, empty where that is nothing; there are none if the two cannot
    be compared. `ways` are the paths of blocks that changed, `share` is their share of the page's words. `size` is the
    number of words of the main text.
    """

    level: ChangeLevel
    gains: tuple[bytes, ...] = ()
    ways: tuple[int, ...] = ()
    share: float = 0.0
    size: int = 0


def difference(before: PageVersion, after: PageVersion) -> PageDifference:
    """How much one page differs from its last version, by itself: SAME, RAW_ONLY, ELSEWHERE or MAJOR.

    Main texts of two text rules are not compared: what is otherwise the same is RAW_ONLY. So is every page that was
    read from something else than its last version was: with its scripts once, and once without.
    """
    old, new = before.digests, after.digests
    if read_from(before.version) is not read_from(after.version):
        return PageDifference(ChangeLevel.RAW_ONLY)
    if old.raw == new.raw:
        return PageDifference(ChangeLevel.SAME)
    profiles = unpack_profile(before.version), unpack_profile(after.version)
    if profiles[0] is None or profiles[1] is None:
        is_other_rule = bool(before.version) and not has_text_rule(before.version)
        is_same = (
            (not before.version or is_heading_same(before.version, after.version))
            and old.links == new.links
            and (is_other_rule or old.main == new.main)
        )
        return PageDifference(ChangeLevel.RAW_ONLY if is_same else ChangeLevel.MAJOR)
    gains = _gains(profiles[0], profiles[1])
    if old.main == new.main:
        gains[Aspect.MAIN] = b""
    if old.links == new.links:
        gains[Aspect.LINKS] = b""
    level = ChangeLevel.ELSEWHERE if any(gains[Aspect.TEXT]) else ChangeLevel.RAW_ONLY
    level = ChangeLevel.MAJOR if any(gains[Aspect.MAIN :]) else level
    ways = changed_ways(before.blocks, after.blocks) if before.blocks and after.blocks else ((), 0.0)
    return PageDifference(level, tuple(gains), *ways, profiles[1].size)


def _gains(before: PageProfile, after: PageProfile) -> list[bytes]:
    words = (_signed(after.text + after.main) - _signed(before.text + before.main)).tobytes()
    sums = ((before.links, after.links), (before.title, after.title), (before.canonical, after.canonical))
    return [
        words[:COUNTERS],
        words[COUNTERS:],
        *(
            (new - old & SUMS).to_bytes(8, "big") if old != new else b""
            for old, new in (*sums, (before.marks, after.marks))
        ),
    ]


def _signed(counters: bytes) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    return np.frombuffer(counters, np.int8)


def _words_beyond(gain: bytes, common: Sequence[bytes]) -> int:
    """How many words a page gained and lost, beyond what it has in common with others."""
    if gain in common:
        return 0
    own = _signed(gain)
    return min(int(np.abs((own - _signed(one)).astype(np.int16)).sum()) for one in (bytes(COUNTERS), *common))


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


class SiteTemplate(Struct, frozen=True):
    """What belongs to the site and not to its pages.

    `gains` are what many pages gained or lost at once, by aspect; `ways` the paths of blocks that changed on nearly all
    pages: those explain words and links, the only aspects that blocks have.
    """

    gains: Mapping[int, Sequence[bytes]] = {}
    ways: Mapping[int, frozenset[int]] = {}

    def level(self, found: PageDifference) -> ChangeLevel:
        """How much a page has changed, given what of it is the site's."""
        if found.level < ChangeLevel.ELSEWHERE:
            return found.level
        if not found.gains:
            return ChangeLevel.MAJOR
        if found.level is ChangeLevel.ELSEWHERE:
            own_text = self.own_text(found)
            few = ChangeLevel.RAW_ONLY if own_text else ChangeLevel.TEMPLATE
            return few if own_text <= FEW_WORDS else ChangeLevel.ELSEWHERE
        own = self.own_aspects(found)
        if self._explains(found, own):
            return ChangeLevel.TEMPLATE
        is_few = own == [Aspect.MAIN] and self.own_words(found) <= FEW_WORDS
        return ChangeLevel.MINOR if is_few and self.own_share(found) < MINOR_SHARE else ChangeLevel.MAJOR

    def own_words(self, found: PageDifference) -> int:
        """How many words a page's main text gained and lost that the site did not.

        With a banner another part of a page may be its main text, but then all text has gained the banner alone.
        """
        gain = found.gains[Aspect.MAIN]
        if not gain:
            return 0
        own = _words_beyond(gain, self.gains.get(Aspect.MAIN, ()))
        if not own and not any(gain) and gain not in self.gains.get(Aspect.MAIN, ()):
            return found.size  # the same words in another order
        return min(own, self.own_text(found)) if any(found.gains[Aspect.TEXT]) else own

    def own_share(self, found: PageDifference) -> float:
        """The words that a page itself gained and lost, as a share of those of its main text."""
        return self.own_words(found) / max(found.size, 1)

    def own_text(self, found: PageDifference) -> int:
        """How many words all text of a page gained and lost that the site did not."""
        return _words_beyond(found.gains[Aspect.TEXT], self.gains.get(Aspect.TEXT, ()))

    def own_aspects(self, found: PageDifference) -> list[int]:
        """What of a page changed otherwise than on many pages at once."""
        own = [
            aspect
            for aspect, gain in enumerate(found.gains)
            if aspect >= Aspect.LINKS and gain and gain not in self.gains.get(aspect, ())
        ]
        return [Aspect.MAIN, *own] if self.own_words(found) else own

    def _explains(self, found: PageDifference, own: Sequence[int]) -> bool:
        """Whether all that changed on a page is not about the page."""
        if not own:
            return True
        has_ways = bool(found.ways) and found.share <= MOST_MASKED
        return has_ways and all(self.ways.get(aspect, frozenset()).issuperset(found.ways) for aspect in own)


def is_common(count: int, pages: int, of_template: int) -> bool:
    """Whether what this many pages gained or lost is the template's.

    `pages` is the number of all pages, `of_template` that of the pages with a part that all those have.
    """
    is_site = count >= TEMPLATE_LEAST and count >= TEMPLATE_SHARE * pages
    return is_site or (count >= TEMPLATE_PAGES and count >= TEMPLATE_MOST * of_template)


def is_template_way(changed: int, having: int) -> bool:
    """Whether a path belongs to the template that changed on this many of the pages that have it."""
    return changed >= TEMPLATE_PAGES and changed >= TEMPLATE_COMMON * having


class JudgedPage(NamedTuple):
    """A page whose level may still turn out to be that of a change of the template."""

    url: Url
    at: float
    level: ChangeLevel
    found: PageDifference


class RevisedPage(NamedTuple):
    """A page that was judged before, and has another level now: it was seen then, and its level was `was`."""

    url: Url
    at: float
    level: ChangeLevel
    was: ChangeLevel


class TemplateEvidence(Struct, array_like=True):
    """What the pages of a site gained lately that a crawl has compared.

    `at` is when the last change was seen, `compared` counts pages, changed or not, and `counts` those with each gain
    (behind the number of its aspect). `common` gains are the template's. `open` pages were judged before one became so.
    """

    at: float = 0.0
    compared: int = 0
    counts: dict[bytes, int] = {}
    common: list[bytes] = []
    open: list[JudgedPage] = []

    def judge(
        self, url: Url, found: PageDifference, at: float, *, is_lesson: bool = True
    ) -> tuple[ChangeLevel, list[RevisedPage]]:
        """How much a page has changed, and the pages that are judged differently now that this one is known.

        `is_lesson` is false for a page that was visited because it was reported: such pages have more in common.
        """
        if not 0.0 <= at - self.at <= _LASTS:
            self.compared, self.counts, self.common, self.open = 0, {}, [], []
        self.at = at
        has_learnt = is_lesson and self._learn(found)
        level = self.template.level(found)
        revised = self._judge_again() if has_learnt else []
        if level >= ChangeLevel.ELSEWHERE and found.gains:
            self.open = [*self.open[-_MOST_OPEN + 1 :], JudgedPage(url, at, level, found)]
        return level, revised

    def unchanged(self) -> None:
        """Count a page that has not changed."""
        self._count_page()

    @property
    def template(self) -> SiteTemplate:
        """What is known to be the template's."""
        gains: dict[int, list[bytes]] = {}
        for key in self.common:
            gains.setdefault(key[0], []).append(key[1:])
        return SiteTemplate(gains)

    def _learn(self, found: PageDifference) -> bool:
        """Count the gains of a page. Returns whether one of them is the template's only now."""
        self._count_page()
        keys = [bytes((aspect,)) + gain for aspect, gain in enumerate(found.gains) if any(gain)]
        for key in keys:
            self.counts[key] = self.counts.get(key, 0) + 1
        if len(self.counts) > _MOST_GAINS:
            newest = reversed(self.counts.items())
            self.counts = dict(sorted(newest, key=lambda item: -item[1])[:_MOST_GAINS])
        new = [
            key
            for key in keys
            if key not in self.common and is_common(self.counts.get(key, 0), self.compared, self.compared)
        ]
        self.common = [*self.common, *new][-_MOST_OPEN:]
        return bool(new)

    def _count_page(self) -> None:
        self.compared += 1
        if self.compared >= _WINDOW:
            self.compared //= 2
            self.counts = {key: count // 2 for key, count in self.counts.items() if count > 1}

    def _judge_again(self) -> list[RevisedPage]:
        template = self.template
        levels = [template.level(page.found) for page in self.open]
        revised = [
            RevisedPage(page.url, page.at, level, page.level)
            for page, level in zip(self.open, levels, strict=True)
            if level is not page.level
        ]
        self.open = [
            page._replace(level=level)
            for page, level in zip(self.open, levels, strict=True)
            if level >= ChangeLevel.ELSEWHERE
        ]
        return revised
