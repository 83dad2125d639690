"""A site at work: which page a slot holds at a moment, when it last changed, and how others point at it.

This is the one place that puts life and change together; what pages look like is in `pages`, what sites say about
themselves in `sitemaps`. The caches are bounded, and hold only what could be worked out again.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .change import Changes
from .life import Arrivals, Ticks, birth_of, generation, generations, span_of
from .paths import Meant, Paths, title_of, with_parameter
from .randomness import Words, at, at_all
from .sites import Profile, Site, Style

ORPHAN_EVERY = 16
MOST_ANCHORS = 50_000
_VERSION_BITS = 40
_SICK = (401, 403, 404, 451, 500, 502, 503)
_ANNOUNCED = 230  # of 256: nine of ten new pages are told by hubs


class State(Struct, frozen=True, gc=False):
    """A page at a moment; two of one page with the same `version` have the same static and scrolling regions."""

    slot: int
    key: int
    generation: int
    born: int
    modified: int
    version: int


class Anchor(Struct, frozen=True, gc=False):
    """How to point at the page that a slot holds from `born` until `ends`; `detour` goes by another spelling."""

    born: int
    ends: int
    path: bytes
    title: bytes
    markup: bytes
    detour: bytes


class Census(Struct, frozen=True):
    """Every article that is alive and well at a moment, as arrays: for sitemaps and for the truth."""

    slots: Ticks
    keys: Words
    generations: Ticks
    born: Ticks
    modified: Ticks


def sickness(key: int) -> int:
    """The status of a slot's pages: one of 128 has something wrong with it."""
    return 200 if key >> 16 & 127 else _SICK[(key >> 23 & 31) % len(_SICK)]


def has_noindex(key: int) -> bool:
    """One page of 32 asks not to be indexed."""
    return key >> 23 & 31 == 7


def has_exact_alias(key: int) -> bool:
    """Whether links lead to the page by a second spelling, too."""
    return key >> 36 & 255 < 15


def has_print_version(key: int) -> bool:
    """Whether a printable version is linked."""
    return 15 <= key >> 36 & 255 < 44


class LiveSite:
    """One site, asked about moments. Times are ticks; `origin` is the POSIX time of tick 0."""

    def __init__(self, site: Site, changes: Changes, origin: int, anchors: dict[int, Anchor]) -> None:
        self.site = site
        self.origin = origin
        self.paths = Paths(site, origin)
        self.changes = changes
        self.anchors = anchors
        self.anchor_base = site.number << 32
        self._has_orphans = site.has_orphans
        self._first_article = site.first_article
        self._arrivals: list[Arrivals] | None = None
        self._latest: dict[int, tuple[int, int, list[tuple[int, int]]]] = {}
        self.census = lru_cache(maxsize=2)(self._census)

    # -- slots

    def key(self, slot: int) -> int:
        """What everything about a slot is drawn from."""
        return at(self.site.key, slot)

    def is_orphan(self, slot: int) -> bool:
        """Whether no link leads to the slot's pages."""
        place = slot - self._first_article
        return self._has_orphans and place >= 0 and place % ORPHAN_EVERY == ORPHAN_EVERY - 1

    def listed_articles(self, slot: int) -> list[int]:
        """The articles that a listing shows."""
        site = self.site
        shown = range(site.first_article + slot - site.first_listing, site.size, site.listings)
        return [article for article in shown if not self.is_orphan(article)]

    def sub_listings(self, slot: int) -> range:
        """The listings below a listing, or below the home page: a tree of three a node, twelve at the root."""
        site, roots = self.site, len(self.site.sections)
        if slot == 0:
            return range(site.first_listing, site.first_listing + roots)
        first = roots + 3 * (slot - site.first_listing)
        return range(site.first_listing + min(first, site.listings), site.first_listing + min(first + 3, site.listings))

    # -- moments

    def status(self, meant: Meant, path: str, tick: int) -> int:
        """200 for a page that is alive and well under this spelling; 0 for one that was alive once."""
        if meant.slot < self.site.first_article:
            return 200
        if meant.slot >= self.site.size or not self._is_spelt(meant, path):
            return 404
        key = self.key(meant.slot)
        current, _ = generation(key, self.site.moment(tick))
        if meant.generation == current:
            return sickness(key)
        return 0 if meant.generation < current else 404

    def _is_spelt(self, meant: Meant, path: str) -> bool:
        """Whether an article's path is its own, letter by letter."""
        if self.site.style is Style.QUERY:
            return True
        key = self.key(meant.slot)
        own = self.paths.article(meant.slot, key, meant.generation, birth_of(key, meant.generation))
        return path.removeprefix("/print") == own.decode()

    def successor(self, meant: Meant, tick: int) -> bytes | None:
        """Where a dead page moved: one of eight lives on in its slot's next."""
        key = self.key(meant.slot)
        if at(key, meant.generation) & 7:
            return None
        return self.anchor(meant.slot, self.site.moment(tick)).path

    def state(self, slot: int, tick: int) -> State:
        """The page that a slot holds. For a built site that is the page of the last build."""
        moment = self.site.moment(tick)
        key = self.key(slot)
        if slot >= self.site.first_article:
            number, born = generation(key, moment)
            change = self.changes.last(key, moment, since=born)
            version = (number << _VERSION_BITS) + change.number + 1
            return State(slot, key, number, born, self.site.surfaced(change.tick), version)
        change = self.changes.last(key, moment, since=0)
        births, last_birth = self._births(slot, moment)
        modified = self.site.surfaced(max(change.tick, last_birth))
        return State(slot, key, 0, 0, modified, (births << _VERSION_BITS) + change.number + 1)

    def _births(self, slot: int, moment: int) -> tuple[int, int]:
        """A number that grows with every birth that a hub or listing shows, and the time of the last."""
        if slot < self.site.first_listing:
            arrivals = self.arrivals(max(slot - 1, 0))
            latest = self.latest(slot, moment)
            return arrivals.count(moment), latest[0][0] if latest else 0
        pairs = [generation(self.key(article), moment) for article in self.listed_articles(slot)]
        return sum(number for number, _ in pairs), max((born for _, born in pairs), default=0)

    # -- what is new

    def arrivals(self, hub: int) -> Arrivals:
        """The births that a hub tells."""
        if self._arrivals is None:
            site = self.site
            slots = np.arange(site.first_article, site.size, dtype=np.int64)
            keys = at_all(site.key, slots)
            told = (keys >> np.uint64(28) & np.uint64(255)) < _ANNOUNCED
            if site.has_orphans:
                told &= (slots - site.first_article) % ORPHAN_EVERY != ORPHAN_EVERY - 1
            self._arrivals = [
                Arrivals(slots[chosen], keys[chosen])
                for chosen in (told & (slots % site.hubs == number) for number in range(site.hubs))
            ]
        return self._arrivals[hub]

    def latest(self, slot: int, moment: int) -> list[tuple[int, int]]:
        """(birth, slot) of the newest articles that a hub, or the home page, shows."""
        hub, limit = (slot - 1, 40) if slot else (0, 15)
        begins, ends, found = self._latest.get(slot, (0, 0, []))
        if begins <= moment < ends:
            return found
        arrivals = self.arrivals(hub)
        found = arrivals.latest(moment, limit)
        begins = found[0][0] if found else 0
        self._latest[slot] = (begins, arrivals.next_after(moment), found)
        return found

    # -- pointing at pages

    def anchor(self, slot: int, moment: int) -> Anchor:
        """How to point at what the slot holds at a moment."""
        if self.is_orphan(slot):
            return self._article_anchor(slot, moment)
        found = self.anchors.get(self.anchor_base + slot)
        return found if found is not None and found.born <= moment < found.ends else self.pointer(slot, moment)

    def pointer(self, slot: int, moment: int) -> Anchor:
        """The anchor for a slot that chance has chosen, kept for the next; an orphan's goes next door."""
        if slot < self._first_article:
            made = self._fixed_anchor(slot)
        else:
            made = self._article_anchor(slot - self.is_orphan(slot), moment)
        if len(self.anchors) >= MOST_ANCHORS:
            self.anchors.clear()
        self.anchors[self.anchor_base + slot] = made
        return made

    def _article_anchor(self, slot: int, moment: int) -> Anchor:
        key = self.key(slot)
        number, born = generation(key, moment)
        path = self.paths.article(slot, key, number, born)
        title = b" ".join(title_of(key, number)).capitalize()
        return _anchor(born, born + span_of(key)[0], path, title, self.site.alias if has_exact_alias(key) else "")

    def _fixed_anchor(self, slot: int) -> Anchor:
        path = self.paths.fixed(slot)
        return _anchor(-1 << 62, 1 << 62, path, self.fixed_title(slot), "")

    def fixed_title(self, slot: int) -> bytes:
        """The name of a page that never dies."""
        site = self.site
        if slot == 0:
            return site.host.partition(".")[0].capitalize().encode()
        if slot < site.first_listing:
            return b"Latest %d" % slot
        number = slot - site.first_listing
        name = self.paths.fixed(slot).split(b"/")[1].capitalize()
        return name if number < len(site.sections) else b"%b %d" % (name, number)

    # -- all at once

    def _census(self, tick: int) -> Census:
        site, moment = self.site, self.site.moment(tick)
        slots = np.arange(site.first_article, site.size, dtype=np.int64)
        keys = at_all(site.key, slots)
        is_well: NDArray[np.bool_] = (keys >> np.uint64(16) & np.uint64(127)) != 0
        slots, keys = slots[is_well], keys[is_well]
        numbers, born = generations(keys, moment)
        modified = self.changes.last_all(keys, moment, born)
        if site.profile is Profile.BUILD:
            first = (modified - site.nightly) // site.build_every * site.build_every + site.nightly
            modified = np.where(first == modified, modified, first + site.build_every)
        return Census(slots, keys, numbers, born, modified)


def _anchor(born: int, ends: int, path: bytes, title: bytes, alias: str) -> Anchor:
    href = path.replace(b"&", b"&amp;")
    markup = b'<a href="%b">%b</a>' % (href, title)
    detour = markup
    if alias:
        other = with_parameter(path, alias.encode()).replace(b"&", b"&amp;")
        detour = b'<a href="%b">%b</a>' % (other, title)
    return Anchor(born, ends, path, title, markup, detour)
