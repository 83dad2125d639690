"""Sites of the lab with files, for `bench.targets`: four data portals, two documentation sites and two blogs.

Pages, lists and links are those of the lab: articles with links to each other, pages of lists with twenty articles,
printable versions, second spellings of URLs. Files are added at the end of articles, from the number of the article:

- `portal`: the articles of a few sections are data sets with one to four resources (CSV). Each has a page and a link to
  download it, neither with an extension, and each data set has a page about its history.
- `documentation`: every fourth article of two sections has a PDF, in a folder of its section.
- `blog`: one article in forty has a CSV file, wherever it is: lists do not say which. No order can learn much there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from periplus_lab import Request, World
from periplus_lab.paths import Paths
from periplus_lab.randomness import at
from periplus_lab.sites import Site, Style

SMALLEST, LARGEST = 600, 4000
"""Pages of the sites that are chosen."""
OF_KIND = 2
SEEDS = 11, 23
"""Of the lab: `targets` was run on the portals of the second when its code was final."""
DATA_SECTIONS, PDF_SECTIONS = 3, 2
"""Sections with files, of at most twelve."""
PDF_EVERY, BLOG_EVERY = 4, 40
_END = b"</article>"
_NOTHING = b"<!doctype html><title>Details</title><h1>Details</h1><p><a href='/'>Home</a></p>"


class Kind(Struct, frozen=True):
    """A kind of site: how the lab spells its articles, the wanted type, its words, and what articles are given."""

    name: str
    style: Style
    type: str
    words: tuple[str, ...]
    files: Callable[[Site, int, int], bytes]
    """The end of an article, by its number and random bits of its own."""


def _section(site: Site, slot: int) -> int:
    """The section of an article: that of the list that has it."""
    listing = (slot - site.first_article) % site.listings
    while listing >= len(site.sections):
        listing = (listing - len(site.sections)) // 3
    return listing


def _data_set(site: Site, slot: int, bits: int) -> bytes:
    if _section(site, slot) >= DATA_SECTIONS:
        return b""
    resources = (f"/dataset/{slot}/resource/{bits >> 8 * number & 0xFFFFFF:06x}" for number in range(1 + bits % 4))
    items = "".join(
        f'<li class="resource"><a class="heading" href="{each}">Data</a>'
        f'<div class="actions"><a class="analytics" href="{each}/download">Download</a></div></li>'
        for each in resources
    )
    return f'<section><ul>{items}</ul><p><a href="/dataset/activity/{slot}">History</a></p></section>'.encode()


def _pdf(site: Site, slot: int, bits: int) -> bytes:
    section = _section(site, slot)
    if section >= PDF_SECTIONS or bits % PDF_EVERY:
        return b""
    return f'<p><a href="/files/{site.sections[section]}/{slot}.pdf">PDF</a></p>'.encode()


def _attachment(_site: Site, slot: int, bits: int) -> bytes:
    if bits % BLOG_EVERY:
        return b""
    return f'<p><a href="/uploads/{2015 + bits % 11}/{slot}.csv">The data</a></p>'.encode()


KINDS = (
    Kind("portal", Style.PLAIN, "text/csv", ("download", "csv"), _data_set),
    Kind("documentation", Style.SLUG, "application/pdf", ("download", "pdf"), _pdf),
    Kind("blog", Style.DATED, "text/csv", ("download", "csv"), _attachment),
)


class LabSite(Struct, frozen=True):
    """A site with files."""

    world: World
    site: Site
    kind: Kind

    @property
    def name(self) -> str:
        """Its kind and number."""
        return f"lab: {self.kind.name} {self.site.number}"

    @property
    def home(self) -> str:
        """The first page, under which all others are."""
        return self.site.url

    @property
    def seed(self) -> str:
        """Where crawls begin."""
        return self.home

    @property
    def types(self) -> tuple[str, ...]:
        """The wanted types."""
        return (self.kind.type,)

    @property
    def words(self) -> tuple[str, ...]:
        """Words of URLs by which a focused crawl looks for files."""
        return self.kind.words

    def look(self, url: str) -> tuple[str, bytes]:
        """What a URL shows (html, target or none), and the page if it is one."""
        target = url.removeprefix(f"http://{self.site.host}")
        if target.endswith(("/download", ".pdf", ".csv")):
            return "target", b""
        if target.startswith("/dataset/"):
            return "html", _NOTHING
        answer = self.world.answer(Request("GET", self.site.host, target, (), self.world.epoch))
        kind = dict(answer.headers).get("Content-Type", "")
        if answer.status != 200 or not kind.startswith("text/html") or not isinstance(answer.body, bytes):
            return "none", b""
        meant = Paths(self.site, 0).read(target)
        if meant is None or meant.slot < self.site.first_article:
            return "html", answer.body
        files = self.kind.files(self.site, meant.slot, at(self.site.key, meant.slot) >> 16)
        return "html", answer.body.replace(_END, files + _END)


def lab_sites() -> Iterator[LabSite]:
    """The first sites of the lab that fit each kind, by style and size alone; and two more portals of another seed."""
    worlds = [World(seed, 200, pages=200_000) for seed in SEEDS]
    for world, kind in [*((worlds[0], kind) for kind in KINDS), (worlds[1], KINDS[0])]:
        fitting = (each for each in world.sites() if each.style is kind.style and SMALLEST <= each.size <= LARGEST)
        for site, _ in zip(fitting, range(OF_KIND), strict=False):
            yield LabSite(world, site, kind)
