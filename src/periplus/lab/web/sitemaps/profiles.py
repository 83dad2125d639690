"""What each kind of site publishes: one function a profile, after the sites that Schonfeld & Shivakumar (2009) studied.

* shop (amazon.com): an index of many files, log-structured: each day a file of what is new or changed, never touched
  again. Complete and honest for products, silent on the rest.
* news (cnn.com): what changed in the last day, week and month, without overlap, and the hub pages by the alphabet.
* archive (pubmedcentral): 50 files or more, rewritten every night, monthly everywhere, two dates in five wrong.
* build: one file, every date the time of the last build. always-now: every date the time of the request.
* partial (microsoft.com): one page in twenty, honestly. stale: written once, long ago. none: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

import numpy as np

from periplus.formats.sitemap import Child, Entry, News

from ..life import DAY, PREHISTORY, WEEK
from ..live import Census, LiveSite
from ..randomness import at_all
from ..sites import Profile
from .dirt import dirty
from .documents import Document
from .entries import Presence, Scribe, presence_for, rows_where

__all__ = ["Presence", "Publisher", "presence_for"]

SHOP_OPENED = PREHISTORY - 30 * DAY
"""When a shop's log begins: what was there before stands in its base files."""

STALE_SINCE = PREHISTORY - 200 * DAY
_BASE_FILE = 5000
_DAY_FILE = 100_000
_ARCHIVE_FILES, _ARCHIVE_FILE = 50, 30_000
_PROTOCOL = 50_000
_PARTIAL = 13  # of 256


class Publisher:
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

    def documents(self, tick: int) -> dict[str, Document]:
        """Every document of the moment by its path, the announced one first."""
        profile = self._live.site.profile
        if profile is Profile.NONE:
            return {}
        if profile is Profile.DIRTY:
            made: Iterable[Document] = dirty(self._live, self._scribe, tick, self._foreign)
        else:
            made = _PROFILES[profile](self._live, self._scribe, tick)
        return {document.path: document for document in made}


def _index(live: LiveSite, scribe: Scribe, path: str, documents: list[Document]) -> Document:
    """An index over some documents; it is as new as the newest of them."""
    host = f"http://{live.site.host}"
    children = tuple(
        Child(host + document.path, scribe.when(document.modified) if document.modified is not None else None)
        for document in documents
    )
    modified = [document.modified for document in documents if document.modified is not None]
    return Document(path, max(modified, default=None), children)


def _shop(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[Document]:
    count = live.site.size - live.site.first_article
    bases = [
        Document(f"/sitemap-base-{number}.xml", SHOP_OPENED, entries=_base_file(live, scribe, number))
        for number in range(max(-(-count // _BASE_FILE), 1))
    ]
    parts = 1 + count // _DAY_FILE
    days = [
        Document(f"/sitemap-day-{day}-{part}.xml", (day + 1) * DAY, entries=_day_file(live, scribe, day, part, parts))
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


def _news(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[Document]:
    def aged(youngest: int, oldest: int, news: bool = False) -> Callable[[], Iterator[Entry]]:
        def entries() -> Iterator[Entry]:
            census = live.census(tick)
            age = tick - census.modified
            rows = rows_where((age >= youngest) & (age < oldest))
            found = scribe.articles(census, rows)
            return _as_news(live, scribe, census, rows, found) if news else found

        return entries

    lists = [
        Document("/sitemap-news.xml", int(live.census(tick).modified.max()), entries=aged(0, DAY, news=True)),
        Document("/sitemap-week.xml", entries=aged(DAY, WEEK)),
        Document("/sitemap-month.xml", entries=aged(WEEK, 31 * DAY)),
    ]
    by_letter = sorted((live.signs.title(slot)[:1].lower().decode(), slot) for slot in range(live.site.first_article))
    hubs = []
    for letter, group in groupby(by_letter, key=lambda pair: pair[0]):
        slots = [slot for _, slot in group]
        hubs.append(Document(f"/sitemap-hubs-{letter}.xml", entries=_fixed(scribe, slots, tick)))
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


def _archive(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[Document]:
    site = live.site
    rewritten = (tick - site.nightly) // DAY * DAY + site.nightly
    count = max(_ARCHIVE_FILES, -(-site.size // _ARCHIVE_FILE))

    def volume(number: int) -> Callable[[], Iterator[Entry]]:
        def entries() -> Iterator[Entry]:
            census = live.census(rewritten)
            places = (census.slots - site.first_article) * count // max(site.size - site.first_article, 1)
            return scribe.articles(census, rows_where(places == number), _wrong_dates(census, rewritten))

        return entries

    volumes = [Document(f"/sitemap-volume-{number}.xml", rewritten, entries=volume(number)) for number in range(count)]
    contents = Document(
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


def _whole(live: LiveSite, scribe: Scribe, as_of: int, lastmod: int | None, modified: int) -> Iterator[Document]:
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
        yield Document("/sitemap.xml", modified, entries=part(0))
        return
    parts = [Document(f"/sitemap-{number}.xml", modified, entries=part(number)) for number in range(files)]
    yield _index(live, scribe, "/sitemap.xml", parts)
    yield from parts


def _build(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[Document]:
    built = live.site.moment(tick)
    return _whole(live, scribe, built, built, built)


def _always_now(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[Document]:
    return _whole(live, scribe, tick, tick, tick)


def _stale(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[Document]:
    written = min(STALE_SINCE - live.site.key % 100 * DAY, tick)
    return _whole(live, scribe, written, None, written)


def _partial(live: LiveSite, scribe: Scribe, tick: int) -> Iterator[Document]:
    def entries() -> Iterator[Entry]:
        census = live.census(tick)
        rows = rows_where((census.keys >> np.uint64(30) & np.uint64(255)) < _PARTIAL)
        yield from scribe.fixed([0], tick)
        yield from scribe.articles(census, rows)

    yield Document("/sitemap.xml", entries=entries)


_PROFILES: dict[Profile, Callable[[LiveSite, Scribe, int], Iterator[Document]]] = {
    Profile.SHOP: _shop,
    Profile.NEWS: _news,
    Profile.ARCHIVE: _archive,
    Profile.BUILD: _build,
    Profile.ALWAYS_NOW: _always_now,
    Profile.PARTIAL: _partial,
    Profile.STALE: _stale,
}
