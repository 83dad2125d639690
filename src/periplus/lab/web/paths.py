"""How the URLs of a site are spelt, and which page a URL means.

Each site spells its articles in one `Style`; a spelling holds slot and generation, so that it can be read back without
a table. Beside its one canonical spelling a page answers to others, as pages do: with the site's idle parameter or any
other that it ignores, as `index.html`, and in a printable version under `/print/`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from periplus.formats.dates import write_w3c
from periplus.model import Granularity, Lastmod

from .life import DAY
from .randomness import at
from .sites import Site, Style
from .vocabulary import topics

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
