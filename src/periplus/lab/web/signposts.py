"""How pages are pointed at: the anchors of a site, kept ready because the same ones are wanted over and over.

An anchor names the page that a slot held when the text around it was written, so several generations of one slot are
wanted at a time. What is kept could be worked out again: anchors up to `MOST_ANCHORS` in a whole world, and for each
site the places that its prose points at.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from .life import generation, is_lasting, span_of
from .paths import Paths, title_of, with_parameter
from .randomness import skewed
from .sites import Site
from .slots import Slots, has_exact_alias

MOST_ANCHORS = 200_000
_GENERATIONS = 4
_NEAR = 8
_FEWEST_PLACES, _MOST_PLACES = 64, 4096
_ALWAYS = 1 << 62


class Anchor(Struct, frozen=True, gc=False):
    """A link to the page that a slot holds from `born` until `ends`; `detour` goes by its second spelling."""

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
        """How to point at what the slot holds at a moment."""
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
