"""The sitemaps of every profile, after the sites that Schonfeld & Shivakumar (2009) studied, and the truth about them.

* shop (amazon.com): an index of many files, log-structured: each day a file of what is new or changed, never touched
  again. Complete and honest for products, silent on the rest.
* news (cnn.com): what changed in the last day, week and month, without overlap, and the hub pages by the alphabet.
* archive (pubmedcentral): 50 files or more, rewritten every night, monthly everywhere, two dates in five wrong.
* build: one file, every date the time of the last build. always-now: every date the time of the request.
* partial (microsoft.com): one page in twenty, honestly. stale: written once, long ago. none: nothing.

Of all URLs in sitemaps 58 % come with a lastmod, 61 % with a priority and 7 % with a changefreq (Schonfeld & Shivakumar
2009), and few of these differ between pages. Profiles that are defined by their lastmod always write one; the others
make up for it, so that the shares hold in the whole world.

Gzip is written without compression (stored blocks, RFC 1951 section 3.2.4), because the same seed must give the same
bytes on every machine, and compressors differ from one version to the next.

One profile does everything wrong, after the Berkeley survey: an index that names both `.xml` and
`.xml.gz` of the same list, indexes in indexes that lead back to where they began, a file of 60,000 URLs, bytes that
are not the UTF-8 they claim, gzip that ends too early, URLs of another host. It holds every page of the site.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from zlib import crc32

import numpy as np
from msgspec import Struct

from periplus.formats.sitemap import Child, Entry, News
from periplus.formats.sitemap.writing import INDEX, INDEX_END, URLSET, URLSET_END, sitemap_record, url_record
from periplus.model import ChangeFreq, Granularity, Lastmod

from .change import DAY, PREHISTORY, WEEK
from .live import Census, LiveSite
from .randomness import at, at_all
from .sites import Profile, Site

LASTMOD, PRIORITY, CHANGEFREQ = 0.58, 0.61, 0.07
ALWAYS_DATED = frozenset({Profile.ARCHIVE, Profile.BUILD, Profile.ALWAYS_NOW})
_COVERAGE = {Profile.NONE: 0.0, Profile.PARTIAL: 0.05, Profile.NEWS: 0.6}
_FREQUENCIES = (ChangeFreq.DAILY, ChangeFreq.WEEKLY, ChangeFreq.MONTHLY, ChangeFreq.YEARLY)


class Presence(Struct, frozen=True):
    """How many of 256 URLs have each field, where the profile does not decide it."""

    lastmod: int
    priority: int
    changefreq: int


def presence_for(sites: Sequence[Site]) -> Presence:
    """What the free profiles must write for the shares to hold over all URLs of the world's sitemaps."""
    weights = [(site.profile, site.size * _COVERAGE.get(site.profile, 1.0)) for site in sites]
    total = sum(weight for _, weight in weights) or 1.0
    dated = sum(weight for profile, weight in weights if profile in ALWAYS_DATED) / total
    archive = sum(weight for profile, weight in weights if profile is Profile.ARCHIVE) / total
    return Presence(_needed(LASTMOD, dated), round(256 * PRIORITY), _needed(CHANGEFREQ, archive))


def _needed(wanted: float, given: float) -> int:
    return 0 if given >= wanted else round(256 * (wanted - given) / (1 - given))


class Scribe:
    """Writes entries for the pages of one site."""

    def __init__(self, live: LiveSite, presence: Presence) -> None:
        self._live = live
        self._presence = presence
        self._is_dated = live.site.profile in ALWAYS_DATED
        self._is_monthly = live.site.profile is Profile.ARCHIVE
        self._is_discriminating = live.site.key & 7 == 0

    def articles(self, census: Census, chosen: Iterable[int], lastmods: Sequence[int] | None = None) -> Iterator[Entry]:
        """Entries for some rows of a census; `lastmods` are ticks for all rows, the truth if there are none."""
        paths, host = self._live.paths, f"http://{self._live.site.host}"
        if lastmods is None:
            lastmods = census.modified.tolist()
        slots, keys = census.slots.tolist(), census.keys.tolist()
        numbers, born = census.generations.tolist(), census.born.tolist()
        for row in chosen:
            path = paths.article(slots[row], keys[row], numbers[row], born[row]).decode()
            yield self.entry(host + path, keys[row], lastmods[row], 0.5)

    def fixed(self, slots: Iterable[int], tick: int, lastmod: int | None = None) -> Iterator[Entry]:
        """Entries for home page, hubs and listings."""
        for slot in slots:
            state = self._live.state(slot, tick)
            when = state.modified if lastmod is None else lastmod
            url = f"http://{self._live.site.host}{self._live.paths.fixed(slot).decode()}"
            yield self.entry(url, state.key, when, 0.8 if slot else 1.0)

    def entry(self, url: str, key: int, lastmod: int, weight: float) -> Entry:
        """One entry, with the fields that the site writes."""
        bits = at(key, -50)
        presence = self._presence
        dated = self._is_dated or bits & 255 < presence.lastmod
        changefreq = ChangeFreq.MONTHLY if self._is_monthly else None
        if changefreq is None and bits >> 8 & 255 < presence.changefreq:
            changefreq = _FREQUENCIES[bits >> 24 & 3]
        priority = None
        if bits >> 16 & 255 < presence.priority:
            priority = weight if self._is_discriminating else 0.5
        return Entry(url, self.when(lastmod) if dated else None, changefreq, priority)

    def when(self, tick: int) -> Lastmod:
        """A tick as a date; archives write days."""
        moment = tick + self._live.origin
        if self._is_monthly:
            return Lastmod(float(moment // 86400 * 86400), Granularity.DAY)
        return Lastmod(float(moment), Granularity.SECOND)


def rows_where(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
    """The rows of a census for which something holds."""
    rows: list[int] = np.flatnonzero(mask).tolist()
    return rows


_CHUNK = 500
_STORED = 0xFFFF
_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_LATIN = "<!-- r\xe9serv\xe9 aux moteurs de recherche -->\n".encode("latin-1")


class SitemapDocument(Struct, frozen=True):
    """One file: an index of `children`, or a list of what `entries` gives.

    `modified` is the tick at which it was last written, where the site knows. `coat` is how it is dressed: "" as the
    protocol wants it, "gzip", "cut" (gzip that ends too early), "latin-1" (bytes that are not the UTF-8 it claims).
    """

    path: str
    modified: int | None = None
    children: tuple[Child, ...] = ()
    entries: Callable[[], Iterable[Entry]] | None = None
    coat: str = ""


def entries_of(document: SitemapDocument) -> Iterable[Entry]:
    """What the document lists."""
    return document.entries() if document.entries is not None else ()


def body_of(document: SitemapDocument) -> bytes | Iterator[bytes]:
    """The bytes; of a plain list as they are made."""
    if document.coat in ("gzip", "cut"):
        packed = stored_gzip(b"".join(_plain(document)))
        return packed if document.coat == "gzip" else packed[: len(packed) * 4 // 5]
    if document.entries is None:
        return b"".join(_plain(document))
    chunks = _plain(document)
    start = b"".join(islice(chunks, 4))
    rest = next(chunks, None)
    return start if rest is None else _chained(start, rest, chunks)


def _chained(first: bytes, second: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield second
    yield from rest


def _plain(document: SitemapDocument) -> Iterator[bytes]:
    if document.entries is None:
        yield (INDEX + "".join(map(sitemap_record, document.children)) + INDEX_END).encode()
        return
    yield URLSET.encode() + (_LATIN if document.coat == "latin-1" else b"")
    entries = iter(document.entries())
    while chunk := "".join(map(url_record, islice(entries, _CHUNK))):
        yield chunk.encode()
    yield URLSET_END.encode()


def stored_gzip(data: bytes) -> bytes:
    """A gzip file that holds `data` as it is."""
    parts = [_GZIP_HEAD]
    for start in range(0, max(len(data), 1), _STORED):
        block = data[start : start + _STORED]
        is_last = start + _STORED >= len(data)
        size = len(block)
        parts += (bytes((is_last,)), size.to_bytes(2, "little"), (size ^ _STORED).to_bytes(2, "little"), block)
    parts.append(crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little"))
    return b"".join(parts)


HUGE = 60_000
"""URLs in one file: more than the 50,000 that the protocol permits, and few enough to crawl them in seconds."""
_THIRDS = 3


def dirty(
    live: LiveSite, scribe: Scribe, tick: int, foreign: Callable[[int], Iterable[str]]
) -> Iterator[SitemapDocument]:
    """The documents of the moment."""
    host = f"http://{live.site.host}"

    def third(number: int) -> Callable[[], Iterator[Entry]]:
        def entries() -> Iterator[Entry]:
            if number == 0:
                yield from scribe.fixed(range(live.site.first_article), tick)
            census = live.census(tick)
            yield from scribe.articles(census, rows_where(census.slots % _THIRDS == number))

        return entries

    def index(path: str, *names: str) -> SitemapDocument:
        return SitemapDocument(path, None, tuple(Child(host + name) for name in names))

    yield index(
        "/sitemap_index.xml", "/sitemap-a.xml", "/sitemap-a.xml.gz", "/sitemap-nested.xml", "/sitemap-cut.xml.gz",
        "/sitemap-huge.xml", "/sitemap-foreign.xml", "/sitemap-missing.xml",
    )  # fmt: skip
    yield SitemapDocument("/sitemap-a.xml", entries=third(0))
    yield SitemapDocument("/sitemap-a.xml.gz", entries=third(0), coat="gzip")
    yield index("/sitemap-nested.xml", "/sitemap-deeper.xml", "/sitemap-b.xml")
    yield index("/sitemap-deeper.xml", "/sitemap_index.xml", "/sitemap-deeper.xml", "/sitemap-c.xml")
    yield SitemapDocument("/sitemap-b.xml", entries=third(1), coat="latin-1")
    yield SitemapDocument("/sitemap-c.xml", entries=third(2))
    yield SitemapDocument("/sitemap-cut.xml.gz", entries=third(2), coat="cut")
    yield SitemapDocument("/sitemap-huge.xml", entries=lambda: _huge(live))
    yield SitemapDocument("/sitemap-foreign.xml", entries=lambda: (Entry(url) for url in foreign(tick)))


def _huge(live: LiveSite) -> Iterator[Entry]:
    """Four times the maximum size of a file: the same few listings, repeated with a meaningless parameter."""
    site = live.site
    paths = [live.paths.fixed(slot).decode() for slot in range(site.first_article)]
    for number in range(HUGE):
        yield Entry(f"http://{site.host}{paths[number % len(paths)]}?from=sitemap&n={number}")


SHOP_OPENED = PREHISTORY - 30 * DAY
"""When a shop's log begins: what was there before stands in its base files."""

STALE_SINCE = PREHISTORY - 200 * DAY
_BASE_FILE = 5000
_DAY_FILE = 100_000
_ARCHIVE_FILES, _ARCHIVE_FILE = 50, 30_000
_PROTOCOL = 50_000
_PARTIAL = 13  # of 256


class SitemapPublisher:
    """The sitemaps of one site. `foreign` are URLs of another, for profiles with that mistake."""

    def __init__(self, live: LiveSite, presence: Presence, foreign: Callable[[int], Iterable[str]]) -> None:
        self._live = live
        self._scribe = Scribe(live, presence)
        self._foreign = foreign

    @property
    def root(self) -> str | None:
        """The path of the document that robots.txt announces."""
        if self._live.site.profile is Profile.NONE:
            return None
        indexed = self._live.site.profile in (Profile.SHOP, Profile.DIRTY)
        return "/sitemap_index.xml" if indexed else "/sitemap.xml"

    def documents(self, tick: int) -> dict[str, SitemapDocument]:
        """Every document of the moment by its path, the announced one first."""
        profile = self._live.site.profile
        if profile is Profile.NONE:
            return {}
        if profile is Profile.DIRTY:
            made: Iterable[SitemapDocument] = dirty(self._live, self._scribe, tick, self._foreign)
        else:
            made = _PROFILES[profile](self._live, self._scribe, tick)
        return {document.path: document for document in made}


def _index(live: LiveSite, scribe: Scribe, path: str, documents: list[SitemapDocument]) -> SitemapDocument:
    """An index over some documents; it is as new as the newest of them."""
    host = f"http://{live.site.host}"
    children = tuple(
        Child(host + document.path, scribe.when(document.modified) if document.modified is not None else None)
        for document in documents
    )
    modified = [document.modified for document in documents if document.modified is not None]
    return SitemapDocument(path, max(modified, default=None), children)


def _shop(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[SitemapDocument]:
    count = live.site.size - live.site.first_article
    bases = [
        SitemapDocument(f"/sitemap-base-{number}.xml", SHOP_OPENED, entries=_base_file(live, scribe, number))
        for number in range(max(-(-count // _BASE_FILE), 1))
    ]
    parts = 1 + count // _DAY_FILE
    days = [
        SitemapDocument(
            f"/sitemap-day-{day}-{part}.xml", (day + 1) * DAY, entries=_day_file(live, scribe, day, part, parts)
        )
        for day in range(SHOP_OPENED // DAY, tick // DAY)
        for part in range(parts)
    ]
    yield _index(live, scribe, "/sitemap_index.xml", bases + days)
    yield from bases
    yield from days


def _base_file(live: LiveSite, scribe: Scribe, number: int) -> Callable[[], Iterator[Entry]]:
    def entries() -> Iterator[Entry]:
        census = live.census(SHOP_OPENED)
        places = (census.slots - live.site.first_article) // _BASE_FILE
        return scribe.articles(census, rows_where(places == number))

    return entries


def _day_file(live: LiveSite, scribe: Scribe, day: int, part: int, parts: int) -> Callable[[], Iterator[Entry]]:
    """What appeared or changed on a day, as of its end."""

    def entries() -> Iterator[Entry]:
        census = live.census((day + 1) * DAY)
        is_new = (census.modified > day * DAY) & (census.slots % parts == part)
        return scribe.articles(census, rows_where(is_new))

    return entries


def _news(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[SitemapDocument]:
    def aged(youngest: int, oldest: int, news: bool = False) -> Callable[[], Iterator[Entry]]:
        def entries() -> Iterator[Entry]:
            census = live.census(tick)
            age = tick - census.modified
            rows = rows_where((age >= youngest) & (age < oldest))
            found = scribe.articles(census, rows)
            return _as_news(live, scribe, census, rows, found) if news else found

        return entries

    lists = [
        SitemapDocument("/sitemap-news.xml", int(live.census(tick).modified.max()), entries=aged(0, DAY, news=True)),
        SitemapDocument("/sitemap-week.xml", entries=aged(DAY, WEEK)),
        SitemapDocument("/sitemap-month.xml", entries=aged(WEEK, 31 * DAY)),
    ]
    by_letter = sorted((live.signs.title(slot)[:1].lower().decode(), slot) for slot in range(live.site.first_article))
    hubs = []
    for letter, group in groupby(by_letter, key=lambda pair: pair[0]):
        slots = [slot for _, slot in group]
        hubs.append(SitemapDocument(f"/sitemap-hubs-{letter}.xml", entries=_fixed(scribe, slots, tick)))
    hub_index = _index(live, scribe, "/sitemap-hubs.xml", hubs)
    yield _index(live, scribe, "/sitemap.xml", [*lists, hub_index])
    yield from lists
    yield hub_index
    yield from hubs


def _fixed(scribe: Scribe, slots: Iterable[int], tick: int) -> Callable[[], Iterator[Entry]]:
    return lambda: scribe.fixed(slots, tick)


def _as_news(
    live: LiveSite, scribe: Scribe, census: Census, rows: list[int], entries: Iterator[Entry]
) -> Iterator[Entry]:
    """The same entries with the news extension: publication, date and title."""
    name = live.signs.title(0).decode()
    for row, entry in zip(rows, entries, strict=True):
        born = int(census.born[row])
        title = live.signs.title(int(census.slots[row]), int(census.generations[row])).decode()
        news = News(name=name, language="en", publication_date=scribe.when(born), title=title)
        yield Entry(entry.url, entry.lastmod, entry.changefreq, entry.priority, news=(news,))


def _archive(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[SitemapDocument]:
    site = live.site
    rewritten = (tick - site.nightly) // DAY * DAY + site.nightly
    count = max(_ARCHIVE_FILES, -(-site.size // _ARCHIVE_FILE))

    def volume(number: int) -> Callable[[], Iterator[Entry]]:
        def entries() -> Iterator[Entry]:
            census = live.census(rewritten)
            places = (census.slots - site.first_article) * count // max(site.size - site.first_article, 1)
            return scribe.articles(census, rows_where(places == number), _wrong_dates(census, rewritten))

        return entries

    volumes = [
        SitemapDocument(f"/sitemap-volume-{number}.xml", rewritten, entries=volume(number)) for number in range(count)
    ]
    contents = SitemapDocument(
        "/sitemap-contents.xml", rewritten, entries=_fixed(scribe, range(site.first_article), rewritten)
    )
    yield _index(live, scribe, "/sitemap.xml", [contents, *volumes])
    yield contents
    yield from volumes


def _wrong_dates(census: Census, rewritten: int) -> list[int]:
    """One date in five is that of the rewriting, though nothing changed, and one is that of the creation."""
    luck = at_all(census.keys, np.full(census.keys.shape, rewritten // DAY, dtype=np.int64)) % np.uint64(5)
    dates = np.where(luck == 0, rewritten, np.where(luck == 1, census.born, census.modified))
    found: list[int] = dates.tolist()
    return found


def _whole(live: LiveSite, scribe: Scribe, as_of: int, lastmod: int | None, modified: int) -> Iterator[SitemapDocument]:
    """Every page in one file, or in as many as the protocol requires; all with one date, or each with its own."""

    def part(number: int) -> Callable[[], Iterator[Entry]]:
        def entries() -> Iterator[Entry]:
            first, last = number * _PROTOCOL, (number + 1) * _PROTOCOL
            fixed = live.site.first_article
            yield from scribe.fixed(range(min(first, fixed), min(last, fixed)), as_of, lastmod)
            census = live.census(as_of)
            rows = rows_where((census.slots >= first) & (census.slots < last))
            yield from scribe.articles(census, rows, None if lastmod is None else [lastmod] * len(census.slots))

        return entries

    files = -(-live.site.size // _PROTOCOL)
    if files == 1:
        yield SitemapDocument("/sitemap.xml", modified, entries=part(0))
        return
    parts = [SitemapDocument(f"/sitemap-{number}.xml", modified, entries=part(number)) for number in range(files)]
    yield _index(live, scribe, "/sitemap.xml", parts)
    yield from parts


def _build(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[SitemapDocument]:
    built = live.site.moment(tick)
    return _whole(live, scribe, built, built, built)


def _always_now(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[SitemapDocument]:
    return _whole(live, scribe, tick, tick, tick)


def _stale(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[SitemapDocument]:
    written = min(STALE_SINCE - live.site.key % 100 * DAY, tick)
    return _whole(live, scribe, written, None, written)


def _partial(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[SitemapDocument]:
    def entries() -> Iterator[Entry]:
        census = live.census(tick)
        rows = rows_where((census.keys >> np.uint64(30) & np.uint64(255)) < _PARTIAL)
        yield from scribe.fixed([0], tick)
        yield from scribe.articles(census, rows)

    yield SitemapDocument("/sitemap.xml", entries=entries)


_PROFILES: dict[Profile, Callable[[LiveSite, Scribe, int], Iterator[SitemapDocument]]] = {
    Profile.SHOP: _shop,
    Profile.NEWS: _news,
    Profile.ARCHIVE: _archive,
    Profile.BUILD: _build,
    Profile.ALWAYS_NOW: _always_now,
    Profile.PARTIAL: _partial,
    Profile.STALE: _stale,
}
