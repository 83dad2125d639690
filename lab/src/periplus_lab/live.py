"""A site at a moment: which page a slot has, when it last changed, what is new, and which links point to it.

`LiveSite` answers for one site; pages are written in `pages`, sitemaps in `sitemaps`. An anchor (`Signposts`) names the
page that a slot held when the text around it was written, so several generations of one slot are needed at a time. All
cached values can be computed again: anchors up to `MOST_ANCHORS` in a whole world, and for each site the places that
its prose points at. `Neighbours` are the links between sites.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
from msgspec import Struct

from .change import Change, Changes, LastArrival, Ticks, birth_of, generation, generations, is_lasting, span_of
from .paths import Meant, Paths, Slots, are_well, has_exact_alias, sickness, title_of, with_parameter
from .randomness import Words, at, skewed
from .sites import Host, Profile, Role, Site, Style

MOST_ANCHORS = 200_000
_GENERATIONS = 4
_NEAR = 8
_FEWEST_PLACES, _MOST_PLACES = 64, 4096
_ALWAYS = 1 << 62


class Anchor(Struct, frozen=True, gc=False):
    """A link to the page that a slot holds from `born` until `ends`; `detour` uses the second spelling of its URL."""

    slot: int
    born: int
    ends: int
    markup: bytes
    detour: bytes


class Signposts:
    """The anchors of one site; `kept` is shared by all sites of a world."""

    def __init__(self, site: Site, slots: Slots, paths: Paths, kept: dict[int, Anchor]) -> None:
        self._site = site
        self._slots = slots
        self._paths = paths
        self._kept = kept
        self._base = site.number << 42

    def title(self, slot: int, number: int = 0) -> bytes:
        """The title of a page, by slot and generation."""
        site = self._site
        if slot >= self._slots.first_article:
            return title_of(self._slots.key(slot), number)
        if slot == 0:
            return site.host.partition(".")[0].capitalize().encode()
        if slot < self._slots.first_listing:
            return b"Latest %d" % slot
        listing = slot - self._slots.first_listing
        name = self._paths.fixed(slot).split(b"/")[1].capitalize()
        return name if listing < len(site.sections) else b"%b %d" % (name, listing)

    def anchor(self, slot: int, moment: int) -> Anchor:
        """The link to the page that the slot holds at a moment."""
        place = self._base + _GENERATIONS * slot
        if slot < self._slots.first_article:
            return self._kept.get(place) or self._keep(place, self._to_fixed(slot))
        key = self._slots.key(slot)
        number, born = generation(key, moment)
        place += number % _GENERATIONS
        found = self._kept.get(place)
        if found is None or found.born != born:
            found = self._keep(place, self._to_article(slot, key, number, born))
        return found

    @cached_property
    def pointers(self) -> list[Anchor | None]:
        """What prose points at, by chance: a power of two of places, each filled when it is first drawn.

        Place p stands for the rank that `skewed` gives it, so that an even draw of a place is an uneven draw of a page.
        """
        wanted = 1 << (4 * self._site.size - 1).bit_length()
        return [None] * min(max(wanted, _FEWEST_PLACES), _MOST_PLACES)

    def pointer(self, place: int, moment: int) -> Anchor:
        """The anchor of a place in `pointers` for a text that is written at a moment."""
        found = self.pointers[place]
        if found is None or not found.born <= moment < found.ends:
            slot = self._lasting(place) if found is None else found.slot
            self.pointers[place] = found = self.anchor(slot, moment)
        return found

    def _lasting(self, place: int) -> int:
        """A slot of the place's rank, or near it, that prose may point at: authors link to what stays."""
        slot = skewed(((2 * place + 1) << 31) // len(self.pointers), self._site.size)
        if slot < self._slots.first_article:
            return slot
        for near in range(slot, min(slot + _NEAR, self._site.size)):
            if is_lasting(self._slots.key(near)) and not self._slots.is_orphan(near):
                return near
        return slot - self._slots.is_orphan(slot)

    def _keep(self, place: int, anchor: Anchor) -> Anchor:
        if len(self._kept) >= MOST_ANCHORS:
            self._kept.clear()
        self._kept[place] = anchor
        return anchor

    def _to_article(self, slot: int, key: int, number: int, born: int) -> Anchor:
        path, title = self._paths.article(slot, key, number, born), title_of(key, number)
        markup = detour = _markup(path, title)
        if has_exact_alias(key):
            detour = _markup(with_parameter(path, self._site.alias.encode()), title)
        return Anchor(slot, born, born + span_of(key)[0], markup, detour)

    def _to_fixed(self, slot: int) -> Anchor:
        markup = _markup(self._paths.fixed(slot), self.title(slot))
        return Anchor(slot, -_ALWAYS, _ALWAYS, markup, markup)


def _markup(path: bytes, title: bytes) -> bytes:
    return b'<a href="%b">%b</a>' % (path.replace(b"&", b"&amp;"), title)


MEMORY = 4
"""Changes that a page shows traces of: what an older one did has been undone since."""

ONCE_ALIVE = 0
"""Instead of a status: the site decides how a dead page answers."""

_VERSION_BITS = 40


class PageState(Struct, frozen=True, gc=False):
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

    def find(self, meant: Meant, tick: int) -> PageState | int:
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

    def state(self, slot: int, tick: int) -> PageState:
        """The page that a slot holds. For a built site that is the page of the last build."""
        moment = self.site.moment(tick)
        key = self.slots.key(slot)
        if slot >= self.slots.first_article:
            return self._article_state(slot, key, moment)
        changed, event = self.changes.last(key, moment, 0)
        last_birth = self._last_birth(slot, moment)
        modified = self.site.surfaced(max(changed, last_birth))
        return PageState(slot, key, 0, 0, modified, (last_birth << _VERSION_BITS) + event + 1)

    def _article_state(self, slot: int, key: int, moment: int) -> PageState:
        number, born = generation(key, moment)
        recent = tuple(self.changes.recent(key, moment, born, MEMORY))
        changed, event = recent[0] if recent else (born, -1)
        version = (number << _VERSION_BITS) + event + 1
        return PageState(slot, key, number, born, self.site.surfaced(changed), version, recent)

    def _last_birth(self, slot: int, moment: int) -> int:
        """When what a hub or listing shows last grew by a page: another birth, another page."""
        if slot < self.slots.first_listing:
            return max((born for born, _ in self.latest(slot, moment)[:1]), default=0)
        return max((generation(self.slots.key(shown), moment)[1] for shown in self.slots.shown_by(slot)), default=0)

    # -- what is new

    @cached_property
    def _arrivals(self) -> list[LastArrival]:
        """The new pages that each hub lists."""
        slots, keys = self.slots.articles()
        listed = (self.slots.listed_by(hub, slots, keys) for hub in range(self.site.hubs))
        return [LastArrival(slots[chosen], keys[chosen]) for chosen in listed]

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


_NAMED = 4


class Neighbours:
    """The sites that can be linked to, seen from any site.

    The links form the bow-tie of Broder et al. ("Graph structure in the web", 2000). Core and inner sites link to core
    and outer sites, in proportion to a power law of their rank; no site links to inner sites; outer sites link to no
    site; islands have no links in either direction. Every core and outer site is named on the home page of some core
    site, and every core site names the first, so that the core is strongly connected and the rest hangs on it.
    """

    def __init__(self, lives: Sequence[LiveSite], others: Sequence[Host]) -> None:
        self._targets = [live for live in lives if live.site.role in (Role.CORE, Role.OUT)]
        core = [live for live in self._targets if live.site.role is Role.CORE]
        self._named = core + [live for live in self._targets if live.site.role is Role.OUT]
        self._ranks = {live.site.number: rank for rank, live in enumerate(core)}
        self._second_names = {host.site: host.name for host in others}

    def far_link(self, bits: int, moment: int) -> bytes:
        """A link into some other site: half of them to home pages, the rest where rank decides."""
        bits = at(bits, 1)
        live = self._targets[skewed(bits >> 32, len(self._targets))]
        signs = live.signs
        anchor = signs.anchor(0, moment) if bits & 1 else signs.pointer(bits >> 3 & len(signs.pointers) - 1, moment)
        return self._absolute(live, anchor, bits >> 1)

    def ring(self, live: LiveSite) -> list[bytes]:
        """The links of a home page to other sites: the first of the core, its share of the sites, and a few by rank."""
        if live.site.role in (Role.OUT, Role.ISLAND):
            return []
        draws = [at(live.site.key, -200 - place) for place in range(_NAMED)]
        chosen = [(other, 1) for other in self._share(live)]
        chosen += [(self._targets[skewed(bits >> 32, len(self._targets))], bits) for bits in draws]
        return [self._absolute(other, other.signs.anchor(0, 0), bits) for other, bits in chosen if other is not live]

    def _share(self, live: LiveSite) -> list[LiveSite]:
        """A tree over all targets, the core first: the core site of rank r names those of ranks 4r + 1 to 4r + 4.

        The last of the core names all that are left over.
        """
        rank = self._ranks.get(live.site.number)
        if rank is None:
            return self._named[:1]
        first = _NAMED * rank + 1
        return self._named[:1] + self._named[first : first + _NAMED if rank + 1 < len(self._ranks) else None]

    def _absolute(self, live: LiveSite, anchor: Anchor, bits: int) -> bytes:
        """The link with its host: of sites with a second name, one link in four goes there."""
        host = live.site.host
        if bits & 3 == 0:
            host = self._second_names.get(live.site.number, host)
        return anchor.markup.replace(b'href="', b'href="http://' + host.encode(), 1)
