"""A site at a moment: which page a slot has, when it last changed, what is new.

This module combines `life` and `change`; what pages look like is in `pages`, sitemaps are in `sitemaps`.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from msgspec import Struct

from .change import Change, Changes
from .life import Arrivals, Ticks, birth_of, generation, generations
from .paths import Meant, Paths
from .randomness import Words, at
from .signposts import Anchor, Signposts
from .sites import Profile, Site, Style
from .slots import Slots, are_well, sickness

MEMORY = 4
"""Changes that a page shows traces of: what an older one did has been undone since."""

ONCE_ALIVE = 0
"""Instead of a status: the site decides how a dead page answers."""

_VERSION_BITS = 40


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


class Census(Struct, frozen=True):
    """Every article that is alive and well at a moment, as arrays: for sitemaps and for the truth."""

    slots: Ticks
    keys: Words
    generations: Ticks
    born: Ticks
    modified: Ticks


class LiveSite:
    """One site at any moment. Times are ticks; `origin` is the POSIX time of tick 0."""

    def __init__(self, site: Site, changes: Changes, origin: int, anchors: dict[int, Anchor]) -> None:
        self.site = site
        self.origin = origin
        self.changes = changes
        self.slots = Slots(site)
        self.paths = Paths(site, origin)
        self.signs = Signposts(site, self.slots, self.paths, anchors)
        self._latest: dict[int, tuple[int, int, list[tuple[int, int]]]] = {}
        self.census = lru_cache(maxsize=2)(self._census)

    # -- moments

    def find(self, meant: Meant, tick: int) -> State | int:
        """The page that is meant, or the status that it answers with instead (`ONCE_ALIVE` for the dead)."""
        slot = meant.slot
        if slot < self.slots.first_article:
            return self.state(slot, tick)
        if slot >= self.site.size:
            return 404
        key = self.slots.key(slot)
        moment = self.site.moment(tick)
        number, _ = generation(key, moment)
        if not self._is_spelt(meant, key):
            return 404
        if meant.generation != number:
            return ONCE_ALIVE if meant.generation < number else 404
        status = sickness(key)
        return self._article_state(slot, key, moment) if status == 200 else status

    def _is_spelt(self, meant: Meant, key: int) -> bool:
        """Whether an article's path is exactly its own."""
        if self.site.style is Style.QUERY:
            return True
        number = meant.generation
        return meant.path == self.paths.article(meant.slot, key, number, birth_of(key, number)).decode()

    def successor(self, meant: Meant, tick: int) -> bytes | None:
        """The new location of a dead page: one of eight continues in its slot's next."""
        key = self.slots.key(meant.slot)
        if at(key, meant.generation) & 7:
            return None
        return self.path(meant.slot, *generation(key, self.site.moment(tick)))

    def state(self, slot: int, tick: int) -> State:
        """The page that a slot holds. For a built site that is the page of the last build."""
        moment = self.site.moment(tick)
        key = self.slots.key(slot)
        if slot >= self.slots.first_article:
            return self._article_state(slot, key, moment)
        changed, event = self.changes.last(key, moment, 0)
        last_birth = self._last_birth(slot, moment)
        modified = self.site.surfaced(max(changed, last_birth))
        return State(slot, key, 0, 0, modified, (last_birth << _VERSION_BITS) + event + 1)

    def _article_state(self, slot: int, key: int, moment: int) -> State:
        number, born = generation(key, moment)
        recent = tuple(self.changes.recent(key, moment, born, MEMORY))
        changed, event = recent[0] if recent else (born, -1)
        version = (number << _VERSION_BITS) + event + 1
        return State(slot, key, number, born, self.site.surfaced(changed), version, recent)

    def _last_birth(self, slot: int, moment: int) -> int:
        """When what a hub or listing shows last grew by a page: another birth, another page."""
        if slot < self.slots.first_listing:
            return max((born for born, _ in self.latest(slot, moment)[:1]), default=0)
        return max((generation(self.slots.key(shown), moment)[1] for shown in self.slots.shown_by(slot)), default=0)

    # -- what is new

    @cached_property
    def _arrivals(self) -> list[Arrivals]:
        """The new pages that each hub lists."""
        slots, keys = self.slots.articles()
        told = (self.slots.told_by(hub, slots, keys) for hub in range(self.site.hubs))
        return [Arrivals(slots[chosen], keys[chosen]) for chosen in told]

    def latest(self, slot: int, moment: int) -> list[tuple[int, int]]:
        """(birth, slot) of the newest articles that a hub, or the home page, shows."""
        hub, limit = (slot - 1, 40) if slot else (0, 15)
        begins, ends, found = self._latest.get(slot, (0, 0, []))
        if begins <= moment < ends:
            return found
        arrivals = self._arrivals[hub]
        found = arrivals.latest(moment, limit)
        begins = found[0][0] if found else 0
        self._latest[slot] = (begins, arrivals.next_after(moment), found)
        return found

    def path(self, slot: int, number: int, born: int) -> bytes:
        """The canonical path of a page."""
        if slot < self.slots.first_article:
            return self.paths.fixed(slot)
        return self.paths.article(slot, self.slots.key(slot), number, born)

    # -- all at once

    def _census(self, tick: int) -> Census:
        site, moment = self.site, self.site.moment(tick)
        slots, keys = self.slots.articles()
        well = are_well(keys)
        slots, keys = slots[well], keys[well]
        numbers, born = generations(keys, moment)
        modified = self.changes.last_all(keys, moment, born)
        if site.profile is Profile.BUILD:
            first = (modified - site.nightly) // site.build_every * site.build_every + site.nightly
            modified = np.where(first == modified, modified, first + site.build_every)
        return Census(slots, keys, numbers, born, modified)
