"""One site as a server sees it: which of its resources a target names, and the answer at a moment.

Also ETag, Last-Modified and conditional requests (RFC 9110 sections 8.8 and 13), honest and otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache

from msgspec import Struct

from periplus.formats import feed
from periplus.formats.dates import read_http, write_http
from periplus.model import ChangeLevel, Granularity, Lastmod

from . import exclusion
from .change import DAY, generation
from .database import Database
from .http import Answer, Request
from .live import ONCE_ALIVE, LiveSite, Neighbours, PageState
from .pages import Pages
from .paths import Meant
from .randomness import at
from .sitemaps import Presence, SitemapDocument, SitemapPublisher, body_of
from .sites import Site, Validation


@lru_cache(maxsize=4096)
def _http_day(day: int) -> str:
    return write_http(float(day * DAY)).removesuffix("00:00:00 GMT")


def http_date(at_second: int) -> str:
    """An HTTP date; most pages last changed on one of few days, so the day is kept ready."""
    day, second = divmod(at_second, DAY)
    return f"{_http_day(day)}{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d} GMT"


class Stamp(Struct, frozen=True):
    """The validators of a response."""

    etag: str | None = None
    modified_at: int | None = None

    def headers(self) -> tuple[tuple[str, str], ...]:
        """The validators as header fields."""
        fields = []
        if self.etag is not None:
            fields.append(("ETag", self.etag))
        if self.modified_at is not None:
            fields.append(("Last-Modified", http_date(self.modified_at)))
        return tuple(fields)


def stamp(site: Site, state: PageState, tick: int, origin: int, view: str, at_time: float) -> Stamp:
    """The validators of a page, as its site gives them.

    An honest strong ETag must differ whenever a byte does, so it follows the churning region, too; a weak one need not.
    """
    match site.validation:
        case Validation.MISSING:
            return Stamp()
        case Validation.HONEST:
            churn = tick // site.churn_every if site.churn_every and view != "print" else 0
            modified = max(state.modified, churn * site.churn_every)
            return Stamp(f'"{state.slot:x}-{state.version:x}-{churn:x}{view[:1]}"', modified + origin)
        case Validation.WEAK:
            return Stamp(f'W/"{state.slot:x}-{state.version:x}{view[:1]}"')
        case Validation.RANDOM:
            return Stamp(f'"{at(site.key ^ state.slot, int(at_time * 1000)):016x}"', int(at_time))
        case Validation.STUCK:
            return Stamp(f'"{state.slot:x}-{state.generation:x}"', state.born + origin)


def is_unmodified(request: Request, current: Stamp) -> bool:
    """Whether 304 answers a conditional request: If-None-Match decides where there is one, then If-Modified-Since."""
    wanted = request.header("if-none-match")
    if wanted is not None:
        if current.etag is None:
            return False
        bare = current.etag.removeprefix("W/")
        tags = [tag.strip() for tag in wanted.split(",")]
        return "*" in tags or any(tag.removeprefix("W/") == bare for tag in tags)
    since = request.header("if-modified-since")
    if since is None or current.modified_at is None:
        return False
    date = read_http(since)
    return date is not None and current.modified_at <= date


HTML = ("Content-Type", "text/html; charset=utf-8")
_XML = ("Content-Type", "application/xml")
_GZIP = ("Content-Type", "application/gzip")
_TEXT = ("Content-Type", "text/plain; charset=utf-8")


class Found(Struct, frozen=True):
    """A page that answers: its state, and the requested view."""

    state: PageState
    view: str


class Residence:
    """One site, answering. Parts that few requests need are made when the first one does."""

    def __init__(
        self, live: LiveSite, neighbours: Neighbours, presence: Presence, foreign: Callable[[int], Iterable[str]]
    ) -> None:
        self.live = live
        self.site = live.site
        self._neighbours = neighbours
        self.publisher = SitemapPublisher(live, presence, foreign)

    @cached_property
    def pages(self) -> Pages:
        """What the pages look like."""
        return Pages(self.live, self._neighbours)

    @cached_property
    def database(self) -> Database:
        """What is behind the form."""
        return Database(self.site)

    # -- answers

    def answer(self, request: Request, tick: int) -> Answer:
        """The site's answer to a GET or HEAD."""
        target = request.target
        meant = self.live.paths.read(target)
        if meant is not None:
            return self._page(request, meant, tick)
        path, _, query = target.partition("?")
        if path == "/robots.txt":
            return self._robots()
        if path.startswith("/sitemap"):
            return self._sitemap(request, path, tick)
        if path == "/feed.xml" and self.site.feed:
            return self._feed(request, tick)
        if path == "/about.html":
            return Answer(200, (HTML,), self._notice(f"About {self.site.host}"))
        if self.site.records and (path in ("/search", "/find") or path.startswith("/record/")):
            return self._database(path, query)
        if self.live.paths.read(path + "/") is not None:
            return self._moved(path + "/")
        return self._gone(self.site.gone if self.site.gone != 410 else 404)

    def lookup(self, target: str, tick: int) -> Found | None:
        """The page that a target names, if it is alive and well."""
        meant = self.live.paths.read(target)
        state = self.live.find(meant, tick) if meant is not None else None
        return Found(state, meant.view) if meant is not None and isinstance(state, PageState) else None

    def _page(self, request: Request, meant: Meant, tick: int) -> Answer:
        state = self.live.find(meant, tick)
        if not isinstance(state, PageState):
            return self._absent(meant, state, tick)
        current = stamp(self.site, state, tick, self.live.origin, meant.view, request.at)
        headers = current.headers()
        if is_unmodified(request, current):
            return Answer(304, headers, b"")
        return Answer(200, (HTML, *headers), self.pages.body(state, tick, meant.view))

    def _absent(self, meant: Meant, status: int, tick: int) -> Answer:
        """A page that does not exist or cannot be served: moved, gone, or failing."""
        moved = self.live.successor(meant, tick) if status == ONCE_ALIVE else None
        if moved is not None:
            return self._moved(moved.decode())
        if status in (ONCE_ALIVE, 404):
            return self._gone(self.site.gone)
        return Answer(status, (HTML,), self._notice(f"Error {status}"))

    def _moved(self, path: str) -> Answer:
        return Answer(301, (("Location", f"http://{self.site.host}{path}"), HTML), self._notice("Moved"))

    @cached_property
    def apology(self) -> bytes:
        """What is shown in place of a page that is not there."""
        return self._notice("Sorry, this page is not here")

    def _gone(self, status: int) -> Answer:
        """The error page; some sites send it with status 200."""
        return Answer(status, (HTML,), self.apology)

    def _notice(self, text: str) -> bytes:
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{text}</title></head>\n'
            f'<body><h1>{text}</h1><p><a href="/">Home</a></p></body></html>\n'
        ).encode()

    def _robots(self) -> Answer:
        root = self.publisher.root
        text = exclusion.text(self.site, f"http://{self.site.host}{root}" if root else None)
        return self._gone(404) if text is None else Answer(200, (_TEXT,), text)

    def _sitemap(self, request: Request, path: str, tick: int) -> Answer:
        document = self.publisher.documents(tick).get(path)
        if document is None:
            return self._gone(404)
        modified = None if document.modified is None else document.modified + self.live.origin
        return self._document(request, Stamp(None, modified), _GZIP if path.endswith(".gz") else _XML, document)

    def _document(self, request: Request, current: Stamp, kind: tuple[str, str], document: SitemapDocument) -> Answer:
        if is_unmodified(request, current):
            return Answer(304, current.headers(), b"")
        return Answer(200, (kind, *current.headers()), body_of(document))

    def _feed(self, request: Request, tick: int) -> Answer:
        """The newest pages of the home page, as RSS or Atom."""
        moment = self.site.moment(tick)
        host = f"http://{self.site.host}"
        items = []
        for born, slot in self.live.latest(0, moment):
            number, _ = generation(self.live.slots.key(slot), born)
            url = host + self.live.path(slot, number, born).decode()
            title = self.live.signs.title(slot, number).decode()
            when = Lastmod(float(self.site.surfaced(born) + self.live.origin), Granularity.SECOND)
            items.append(feed.Item(url=url, id=url, title=title, published=when, updated=when))
        kind = feed.FeedKind.ATOM if self.site.feed == "atom" else feed.FeedKind.RSS
        newest = items[0].published if items else None
        current = Stamp(None, int(newest.at) if newest else None)
        if is_unmodified(request, current):
            return Answer(304, current.headers(), b"")
        name = self.live.signs.title(0).decode()
        body = feed.write(
            feed.FeedDocument(
                kind, url=f"{host}/feed.xml", link=f"{host}/", title=name, updated=newest, items=tuple(items)
            )
        )
        content_type = ("Content-Type", f"application/{self.site.feed}+xml")
        return Answer(200, (content_type, *current.headers()), body)

    def _database(self, path: str, query: str) -> Answer:
        body: bytes | None
        if path == "/search":
            body = self.database.form_page()
        elif path == "/find":
            body = self.database.result_page(query)
        else:
            body = self.database.record_page(path.removeprefix("/record/"))
        return self._gone(404) if body is None else Answer(200, (HTML,), body)

    # -- the truth

    def level(self, target: str, before: int, after: int) -> ChangeLevel:
        """How much of what a target shows differs between two ticks."""
        first, second = self.lookup(target, before), self.lookup(target, after)
        if first is None or second is None:
            return ChangeLevel.SAME if first is second else ChangeLevel.MAJOR
        level = self.pages.level(first.state, second.state)
        every = self.site.churn_every
        churned = every and first.view != "print" and before // every != after // every
        return ChangeLevel.RAW_ONLY if level is ChangeLevel.SAME and churned else level

    def urls(self, tick: int) -> Iterator[str]:
        """The canonical URL of every page that is alive and well."""
        host = f"http://{self.site.host}"
        for slot in range(self.site.first_article):
            yield host + self.live.paths.fixed(slot).decode()
        census = self.live.census(tick)
        columns = (census.slots, census.keys, census.generations, census.born)
        for row in zip(*(column.tolist() for column in columns), strict=True):
            yield host + self.live.paths.article(*row).decode()
