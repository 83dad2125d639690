"""The slots of a site, how the URLs of their pages are spelt, and which page a URL means.

Each site spells its articles in one `Style`; a spelling holds slot and generation, so that it can be read back without
a table. Beside its one canonical spelling a page answers to others, as pages do: with the site's idle parameter or any
other that it ignores, as `index.html`, and in a printable version under `/print/`.

Everything about a slot is drawn from 64 bits, its key, and every fact has bits of its own, so that no two depend on
each other: 0-3 the span of its pages (`change`), 4-15 how often they change (`change`), 16-22 sickness, 23-27 which
sickness or noindex, 28-35 whether hubs link to it, 36-43 duplicates, 44-63 when its pages are born (`change`).
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.formats.dates import write_w3c
from periplus.model import Granularity, Lastmod

from .change import DAY, Ticks
from .randomness import Words, at, at_all, topics
from .sites import Site, Style

_PATTERNS = {
    Style.SLUG: re.compile(r"/[a-z]+/[a-z]+-[a-z]+-(\d{1,9})-(\d{1,6})\.html", re.ASCII),
    Style.PRODUCT: re.compile(r"/dp/B([0-9A-F]{6})([0-9A-F]{4})", re.ASCII),
    Style.DATED: re.compile(r"/\d{4}/\d\d/\d\d/[a-z]+-[a-z]+-(\d{1,9})-(\d{1,6})", re.ASCII),
    Style.ARTICLE: re.compile(r"/articles/PMC(\d{5,13})/", re.ASCII),
    Style.PLAIN: re.compile(r"/p/(\d{1,9})/(\d{1,6})", re.ASCII),
}
_LISTING = re.compile(r"/([a-z]+)/(?:list-(\d{1,9})/)?", re.ASCII)
_HUB = re.compile(r"/latest/(\d{1,3})/", re.ASCII)
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
PRINT = "/print"


class Meant(Struct, frozen=True):
    """The meaning of a target: a slot, its generation (only articles have several), and the view.

    `path` is the rest: without `/print` and `index.html`.
    """

    slot: int
    generation: int
    view: str
    path: str


@lru_cache(maxsize=1)
def _title_words() -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """What titles begin with, and go on with."""
    return tuple(word.capitalize() for word in topics()), topics()


def title_of(key: int, generation: int) -> bytes:
    """The three words that identify a page."""
    bits = at(key, generation)
    capitals, words = _title_words()
    return b"%b %b %b" % (capitals[bits & 2047], words[bits >> 11 & 2047], words[bits >> 22 & 2047])


def slug_of(key: int, generation: int) -> bytes:
    """The first two words of the title, as they stand in paths."""
    bits = at(key, generation)
    words = topics()
    return b"%b-%b" % (words[bits & 2047], words[bits >> 11 & 2047])


@lru_cache(maxsize=8192)
def day_text(day: int) -> bytes:
    """A day since 1970 as a date."""
    return write_w3c(Lastmod(float(day * DAY), Granularity.DAY)).encode()


class Paths:
    """The spellings of one site. `origin` is the POSIX time of the world's tick 0."""

    def __init__(self, site: Site, origin: int) -> None:
        self._site = site
        self._origin = origin
        self._numbers = {name: number for number, name in enumerate(site.sections)}

    def fixed(self, slot: int) -> bytes:
        """The path of a page that never dies: home, hub or listing."""
        site = self._site
        if slot == 0:
            return b"/"
        if slot < site.first_listing:
            return b"/latest/%d/" % (slot - 1)
        number = slot - site.first_listing
        name = self._section(number).encode()
        return b"/%b/" % name if number < len(site.sections) else b"/%b/list-%d/" % (name, number)

    def article(self, slot: int, key: int, generation: int, birth: int) -> bytes:
        """The path of an article."""
        style = self._site.style
        if style is Style.PRODUCT:
            return b"/dp/B%06X%04X" % (slot, generation)
        if style is Style.QUERY:
            return b"/item.php?id=%d&v=%d" % (slot, generation)
        if style is Style.ARTICLE:
            return b"/articles/PMC%d%04d/" % (slot, generation)
        if style is Style.PLAIN:
            return b"/p/%d/%d" % (slot, generation)
        slug = slug_of(key, generation)
        if style is Style.SLUG:
            section = self._section((slot - self._site.first_article) % self._site.listings)
            return b"/%b/%b-%d-%d.html" % (section.encode(), slug, slot, generation)
        day = day_text((birth + self._origin) // DAY).replace(b"-", b"/")
        return b"/%b/%b-%d-%d" % (day, slug, slot, generation)

    def _section(self, listing: int) -> str:
        """The section of a listing: that of its ancestor on the home page."""
        count = len(self._site.sections)
        while listing >= count:
            listing = (listing - count) // 3
        return self._site.sections[listing]

    def read(self, target: str) -> Meant | None:
        """The meaning of a target, if its shape is one of the site's.

        Whether such a page exists is not checked here.
        """
        path, _, query = target.partition("?")
        view = ""
        if path.startswith(PRINT + "/"):
            path, view = path[len(PRINT) :], "print"
        if path.endswith("/index.html"):
            path = path[: -len("index.html")]
        meant = self._read_fixed(path) if path.endswith("/") else None
        if meant is not None:
            view = "sorted" if not view and self._site.alias.startswith("sort=") and "sort=" in query else view
            return Meant(meant, 0, view, path)
        found = self._read_article(path, query)
        return Meant(found[0], found[1], view, path) if found else None

    def _read_fixed(self, path: str) -> int | None:
        if path == "/":
            return 0
        if found := _HUB.fullmatch(path):
            number = int(found[1])
            return 1 + number if number < self._site.hubs else None
        if found := _LISTING.fullmatch(path):
            number = int(found[2]) if found[2] else self._numbers.get(found[1], -1)
            slot = self._site.first_listing + number
            if 0 <= number < self._site.listings and self.fixed(slot) == path.encode():
                return slot
        return None

    def _read_article(self, path: str, query: str) -> tuple[int, int] | None:
        style = self._site.style
        if style is Style.QUERY:
            return _read_query(query) if path == "/item.php" else None
        found = _PATTERNS[style].fullmatch(path)
        if not found:
            return None
        if style is Style.PRODUCT:
            return int(found[1], 16), int(found[2], 16)
        if style is Style.ARTICLE:
            return int(found[1][:-4]), int(found[1][-4:])
        return int(found[1]), int(found[2])


def _read_query(query: str) -> tuple[int, int] | None:
    fields = dict(pair.partition("=")[::2] for pair in query.split("&"))
    slot, generation = fields.get("id", ""), fields.get("v", "")
    if _NUMBER.fullmatch(slot) and _NUMBER.fullmatch(generation):
        return int(slot), int(generation)
    return None


def with_parameter(path: bytes, parameter: bytes) -> bytes:
    """The path with one more parameter."""
    return path + (b"&" if b"?" in path else b"?") + parameter


ORPHAN_EVERY = 16
_SICK = (401, 403, 404, 451, 500, 502, 503)
_LISTED = 244  # of 256; with the orphans left out, hubs list nine of ten new pages
_EXACT, _PRINT = 15, 44  # of 256


def sickness(key: int) -> int:
    """The status of a slot's pages: one of 128 has something wrong with it."""
    return 200 if key >> 16 & 127 else _SICK[(key >> 23 & 31) % len(_SICK)]


def are_well(keys: Words) -> NDArray[np.bool_]:
    """Of many slots, those without sickness."""
    well: NDArray[np.bool_] = (keys >> np.uint64(16) & np.uint64(127)) != 0
    return well


def has_noindex(key: int) -> bool:
    """One page of 32 is marked noindex."""
    return key >> 23 & 31 == 7


def has_exact_alias(key: int) -> bool:
    """Whether links also use a second spelling of the page's URL."""
    return key >> 36 & 255 < _EXACT


def has_print_version(key: int) -> bool:
    """Whether a printable version is linked."""
    return _EXACT <= key >> 36 & 255 < _PRINT


class Slots:
    """The slots of one site: home page, hubs, listings, articles."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._has_orphans = site.has_orphans
        self.first_listing = site.first_listing
        self.first_article = site.first_article

    def key(self, slot: int) -> int:
        """What everything about a slot is drawn from."""
        return at(self._site.key, slot)

    def articles(self) -> tuple[Ticks, Words]:
        """Every slot that holds articles, and its key."""
        slots = np.arange(self.first_article, self._site.size, dtype=np.int64)
        return slots, at_all(self._site.key, slots)

    def is_orphan(self, slot: int) -> bool:
        """Whether the slot's pages have no inlinks."""
        place = slot - self.first_article
        return self._has_orphans and place >= 0 and place % ORPHAN_EVERY == ORPHAN_EVERY - 1

    def listed_by(self, hub: int, slots: Ticks, keys: Words) -> NDArray[np.bool_]:
        """All article slots whose new pages a hub lists."""
        is_listed: NDArray[np.bool_] = (slots % self._site.hubs == hub) & (
            (keys >> np.uint64(28) & np.uint64(255)) < _LISTED
        )
        if self._has_orphans:
            is_listed &= (slots - self.first_article) % ORPHAN_EVERY != ORPHAN_EVERY - 1
        return is_listed

    def shown_by(self, listing: int) -> list[int]:
        """The articles that a listing shows."""
        shown = range(self.first_article + listing - self.first_listing, self._site.size, self._site.listings)
        return [article for article in shown if not self.is_orphan(article)]

    def below(self, listing: int) -> range:
        """The listings below a listing, or below the home page: a tree of three a node, twelve at the root."""
        first, roots = self.first_listing, len(self._site.sections)
        if listing == 0:
            return range(first, first + roots)
        start = first + roots + 3 * (listing - first)
        return range(min(start, self.first_article), min(start + 3, self.first_article))
