"""A site at work: which page a slot holds at a moment, when it last changed, and how others point at it.

This is the one place that puts life and change together; what pages look like is in `pages`, what sites say about
themselves in `sitemaps`. The caches are bounded, and hold only what could be worked out again.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .change import Change, Changes
from .life import Arrivals, Ticks, birth_of, generation, generations, is_lasting, span_of
from .paths import Meant, Paths, title_of, with_parameter
from .randomness import Words, at, at_all
from .sites import Profile, Site, Style

ORPHAN_EVERY = 16
MEMORY = 4
"""Changes that a page shows traces of: what an older one did has been undone since."""

MOST_ANCHORS = 200_000
ONCE_ALIVE = 0
"""In place of a status: what a dead page answers is for its site to say."""

_VERSION_BITS = 40
_EXACT = 1 << 40
_NEAR = 8
_SICK = (401, 403, 404, 451, 500, 502, 503)
_ANNOUNCED = 244  # of 256; with the orphans left out, nine of ten new pages are told by hubs


class State(Struct, frozen=True, gc=False):
    """A page at a moment; two of one page with the same `version` have the same static and scrolling regions.

    `recent` are the last changes of an article, the newest first: as many as a page shows traces of.
    """

    slot: int
    key: int
    generation: int
    born: int
    modified: int
    version: int
    recent: tuple[Change, ...] = ()


class Anchor(Struct, frozen=True, gc=False):
    """How to point at the page that a slot holds from `born` until `ends`; `detour` goes by another spelling."""

    slot: int
    born: int
    ends: int
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
        self.anchor_base = site.number << 42
        self._has_orphans = site.has_orphans
        self.first_article = site.first_article
        self.first_listing = site.first_listing
        self._arrivals: list[Arrivals] | None = None
        self._latest: dict[int, tuple[int, int, list[tuple[int, int]]]] = {}
        self.census = lru_cache(maxsize=2)(self._census)

    # -- slots

    def key(self, slot: int) -> int:
        """What everything about a slot is drawn from."""
        return at(self.site.key, slot)

    def is_orphan(self, slot: int) -> bool:
        """Whether no link leads to the slot's pages."""
        place = slot - self.first_article
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

    def find(self, meant: Meant, tick: int) -> State | int:
        """The page that is meant, or the status that it answers with instead (`ONCE_ALIVE` for the dead)."""
        slot = meant.slot
        if slot < self.first_article:
            return self.state(slot, tick)
        if slot >= self.site.size:
            return 404
        key = self.key(slot)
        moment = self.site.moment(tick)
        number, _ = generation(key, moment)
        if not self._is_spelt(meant, key):
            return 404
        if meant.generation != number:
            return ONCE_ALIVE if meant.generation < number else 404
        status = sickness(key)
        return self._article_state(slot, key, moment) if status == 200 else status

    def _is_spelt(self, meant: Meant, key: int) -> bool:
        """Whether an article's path is its own, letter by letter."""
        if self.site.style is Style.QUERY:
            return True
        number = meant.generation
        return meant.path == self.paths.article(meant.slot, key, number, birth_of(key, number)).decode()

    def successor(self, meant: Meant, tick: int) -> bytes | None:
        """Where a dead page moved: one of eight lives on in its slot's next."""
        key = self.key(meant.slot)
        if at(key, meant.generation) & 7:
            return None
        return self.path(meant.slot, *generation(key, self.site.moment(tick)))

    def state(self, slot: int, tick: int) -> State:
        """The page that a slot holds. For a built site that is the page of the last build."""
        moment = self.site.moment(tick)
        key = self.key(slot)
        if slot >= self.first_article:
            return self._article_state(slot, key, moment)
        changed, event = self.changes.last(key, moment, 0)
        births, last_birth = self._births(slot, moment)
        modified = self.site.surfaced(max(changed, last_birth))
        return State(slot, key, 0, 0, modified, (births << _VERSION_BITS) + event + 1)

    def _article_state(self, slot: int, key: int, moment: int) -> State:
        number, born = generation(key, moment)
        recent = tuple(self.changes.recent(key, moment, born, MEMORY))
        changed, event = recent[0] if recent else (born, -1)
        version = (number << _VERSION_BITS) + event + 1
        return State(slot, key, number, born, self.site.surfaced(changed), version, recent)

    def _births(self, slot: int, moment: int) -> tuple[int, int]:
        """A number that grows with every birth that a hub or listing shows, and the time of the last."""
        if slot < self.first_listing:
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
        if slot < self.first_article:
            place = self.anchor_base + _EXACT + 4 * slot
            return self.anchors.get(place) or self._keep(place, self._fixed_anchor(slot))
        key = self.key(slot)
        number, born = generation(key, moment)
        place = self.anchor_base + _EXACT + 4 * slot + (number & 3)
        found = self.anchors.get(place)
        if found is None or found.born != born:
            found = self._keep(place, self._article_anchor(slot, key, number, born))
        return found

    def pointer(self, slot: int, moment: int) -> Anchor:
        """How prose points at a slot that chance has chosen; kept at `anchor_base + slot` of `anchors`.

        Authors link to what stays: the next slot of a long span is taken, as long as one is near.
        """
        place = self.anchor_base + slot
        found = self.anchors.get(place)
        if found is None or not found.born <= moment < found.ends:
            lasting = found.slot if found is not None else self._lasting(slot)
            found = self._keep(place, self.anchor(lasting, moment))
        return found

    def _lasting(self, slot: int) -> int:
        """A page near the slot that prose may point at: lasting, and no orphan; the slot before an orphan at worst."""
        if slot < self.first_article:
            return slot
        for near in range(slot, min(slot + _NEAR, self.site.size)):
            if is_lasting(self.key(near)) and not self.is_orphan(near):
                return near
        return slot - self.is_orphan(slot)

    def _keep(self, place: int, anchor: Anchor) -> Anchor:
        if len(self.anchors) >= MOST_ANCHORS:
            self.anchors.clear()
        self.anchors[place] = anchor
        return anchor

    def _article_anchor(self, slot: int, key: int, number: int, born: int) -> Anchor:
        path = self.paths.article(slot, key, number, born)
        title = title_of(key, number)
        markup = detour = _markup(path, title)
        if has_exact_alias(key):
            detour = _markup(with_parameter(path, self.site.alias.encode()), title)
        return Anchor(slot, born, born + span_of(key)[0], markup, detour)

    def _fixed_anchor(self, slot: int) -> Anchor:
        markup = _markup(self.paths.fixed(slot), self.fixed_title(slot))
        return Anchor(slot, -1 << 62, 1 << 62, markup, markup)

    def path(self, slot: int, number: int, born: int) -> bytes:
        """The canonical path of a page."""
        if slot < self.first_article:
            return self.paths.fixed(slot)
        return self.paths.article(slot, self.key(slot), number, born)

    def title(self, slot: int, number: int) -> bytes:
        """The title of a page."""
        return self.fixed_title(slot) if slot < self.first_article else title_of(self.key(slot), number)

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


def _markup(path: bytes, title: bytes) -> bytes:
    return b'<a href="%b">%b</a>' % (path.replace(b"&", b"&amp;"), title)
