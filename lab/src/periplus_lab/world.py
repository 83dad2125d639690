"""The world: every site, its answer to a request at a moment, and the truth about all of it.

    world = World(seed=7, sites=200)
    world.answer(Request("GET", world.hosts[0], "/", (), world.epoch))
    world.changed_between(url, monday, friday)

A world is a function: the same seed and the same request give the same bytes on any machine, and nothing is kept of a
page but what could be worked out again. How it is built, from the bottom: `randomness`, `change` (when), `sites` (which
sites), `paths`, `live` and `pages` (what), `exclusion`, `sitemaps` and `database` (what sites say), `residence` (one
site, answering), and `traps` (hosts of their own).

Some URLs show what others show (Broder et al., "Syntactic clustering of the web", 1997). Exact: a page under a
parameter that changes nothing, a home page under its index name, every page of a twin or mirror. Nearly: a printable
version, a listing in another order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct

from periplus.formats.sitemap import Entry
from periplus.model import ChangeLevel

from . import exclusion, traps
from .change import PREHISTORY, Changes, History, Pattern
from .database import Record
from .http import Answer, Request
from .live import Anchor, LiveSite, Neighbours
from .paths import has_exact_alias, has_print_version, with_parameter
from .residence import HTML, Residence
from .sitemaps import entries_of, presence_for
from .sites import Host, Profile, Site, other_hosts, plan


class Duplicate(Struct, frozen=True):
    """A URL that shows what another shows: byte by byte, or nearly."""

    url: str
    of: str
    is_exact: bool
    why: str


def copies(residence: Residence, host: Host, tick: int) -> Iterator[Duplicate]:
    """Every page of a site, under another of its host names."""
    for url in residence.urls(tick):
        yield Duplicate(url.replace(residence.site.host, host.name, 1), url, True, host.kind)


def aliases(residence: Residence, tick: int) -> Iterator[Duplicate]:
    """Second spellings and printable versions of a site's articles, and its listings in another order."""
    live, host = residence.live, f"http://{residence.site.host}"
    census = live.census(tick)
    columns = (census.slots, census.keys, census.generations, census.born)
    for slot, key, number, born in zip(*(column.tolist() for column in columns), strict=True):
        if live.slots.is_orphan(slot):
            continue
        if has_exact_alias(key):
            path = live.paths.article(slot, key, number, born)
            alias = with_parameter(path, residence.site.alias.encode())
            yield Duplicate(host + alias.decode(), host + path.decode(), True, "parameter")
        elif has_print_version(key):
            path = live.paths.article(slot, key, number, born)
            yield Duplicate(f"{host}/print{path.decode()}", host + path.decode(), False, "print")
    if residence.site.names_index:
        yield Duplicate(f"{host}/index.html", f"{host}/", True, "index")
    if residence.site.alias.startswith("sort="):
        for slot in range(residence.site.first_listing, residence.site.first_article):
            path = live.paths.fixed(slot)
            yield Duplicate(f"{host}{path.decode()}?{residence.site.alias}", host + path.decode(), False, "order")


DEFAULT_EPOCH = 1_767_571_200.0
"""Monday, 5 January 2026, midnight UTC: when a world's clock starts."""

_URL = re.compile(r"https?://([^/:?#]+)(?::\d+)?([^#]*)", re.IGNORECASE)
_HREF = re.compile(rb'<a href="([^"]*)"')
_FOREIGN = 50
_CRAWLER = (("user-agent", "periplus"),)


class World:
    """A deterministic web. Times are POSIX seconds; `profiles` are taken in turn by the sites, if given.

    `pages` is how many there shall be in all, about; `history` a file of real change times for some sites to replay.
    """

    def __init__(
        self,
        seed: int = 7,
        sites: int = 200,
        *,
        pages: int | None = None,
        epoch: float = DEFAULT_EPOCH,
        profiles: Sequence[Profile] = (),
        history: Path | None = None,
    ) -> None:
        self.seed = seed
        self.epoch = epoch
        self._origin = int(epoch) - PREHISTORY
        self._sites = plan(seed, sites, pages, profiles, replays=history is not None)
        others = list(other_hosts(self._sites))
        names = [Host(site.host, site.number) for site in self._sites] + others
        self._hosts = {host.name: host for host in names}
        self.hosts: tuple[str, ...] = (*self._hosts, *traps.HOSTS)
        self.wildcards: tuple[str, ...] = ()
        replay = History.read(history) if history is not None else None
        anchors: dict[int, Anchor] = {}
        self._lives = [LiveSite(site, _changes(site, replay), self._origin, anchors) for site in self._sites]
        self._neighbours = Neighbours(self._lives, others)
        self._presence = presence_for(self._sites)
        self._residences: dict[int, Residence] = {}

    # -- answers

    def answer(self, request: Request) -> Answer:
        """The answer to a request; an unknown host is a misdirected request (421)."""
        if request.method not in ("GET", "HEAD"):
            return Answer(405, (HTML, ("Allow", "GET, HEAD")), b"<!doctype html><title>Method not allowed</title>\n")
        host = self._hosts.get(request.host)
        if host is None:
            trapped = traps.answer(request, self.seed)
            return trapped or Answer(421, (HTML,), b"<!doctype html><title>No such site</title>\n")
        residence = self._residence(host.site)
        if host.kind == "redirect":
            location = ("Location", f"http://{residence.site.host}{request.target}")
            return Answer(301, (location, HTML), b"<!doctype html><title>Moved</title>\n")
        return residence.answer(request, self._tick(request.at))

    def address(self, host: str) -> str:
        """The address of a host, in 127.0.0.0/8. Some hosts share an address; mirrors and traps are separate."""
        found = self._hosts.get(host)
        if found is None:
            return f"127.250.0.{1 + traps.HOSTS.index(host) % 250}" if host in traps.HOSTS else "127.0.0.1"
        address = self._sites[found.site].address
        return address if found.kind != "mirror" else "127.251" + address[address.index(".", 4) :]

    def _tick(self, at: float) -> int:
        return int(at) - self._origin

    def _residence(self, number: int) -> Residence:
        found = self._residences.get(number)
        if found is None:
            found = Residence(self._lives[number], self._neighbours, self._presence, self._foreign(number))
            self._residences[number] = found
        return found

    def _foreign(self, number: int) -> Callable[[int], Iterable[str]]:
        """Some URLs of the next site, for a sitemap that names them."""
        neighbour = (number + 1) % len(self._sites)
        return lambda tick: islice(self._residence(neighbour).urls(tick), _FOREIGN)

    # -- the truth

    def sites(self) -> tuple[Site, ...]:
        """Every site, the largest first."""
        return tuple(self._sites)

    def site(self, host: str) -> Site:
        """The site that a host name belongs to, whichever of its names it is."""
        return self._sites[self._hosts[host].site]

    def profile(self, site: str) -> Profile:
        """The site with this host."""
        return self.site(site).profile

    def names(self) -> tuple[Host, ...]:
        """Every host name of a site, and what kind of name it is."""
        return tuple(self._hosts.values())

    def urls(self, site: str, at: float) -> Iterator[str]:
        """The canonical URL of every page of a site that is alive and well."""
        return self._residence(self._hosts[site].site).urls(self._tick(at))

    def exists(self, url: str, at: float) -> bool:
        """Whether a URL shows what it is meant to show: dead and sick pages do not, nor redirects and apologies."""
        found = self._find(url)
        if found is None:
            return self._get(url, at).status == 200
        residence, target = found
        if residence.live.paths.read(target) is not None:
            return residence.lookup(target, self._tick(at)) is not None
        answer = self._get(url, at)
        return answer.status == 200 and answer.body != residence.apology

    def changed_between(self, url: str, before: float, after: float) -> bool:
        """Whether static or scrolling regions changed, or the page came or went. What churns does not count."""
        return self.change_level(url, before, after) >= ChangeLevel.MINOR

    def change_level(self, url: str, before: float, after: float) -> ChangeLevel:
        """How much of a page differs between two moments, the earlier first."""
        found = self._find(url)
        if found is None:
            return ChangeLevel.SAME
        return found[0].level(found[1], self._tick(before), self._tick(after))

    def modified_at(self, url: str, at: float) -> float | None:
        """When a page last changed; `None` if there is none."""
        found = self._find(url)
        page = found[0].lookup(found[1], self._tick(at)) if found else None
        return float(page.state.modified + self._origin) if page else None

    def content(self, url: str, at: float) -> bytes:
        """The bytes that a crawler gets for a URL, whatever the status."""
        body = self._get(url, at).body
        return body if isinstance(body, bytes) else b"".join(body)

    def links(self, url: str, at: float) -> tuple[str, ...]:
        """The absolute targets of the anchors of a page, in order, with repeats."""
        match = _URL.fullmatch(url)
        if match is None or not self.exists(url, at):
            return ()
        host = match[1].lower()
        hrefs = [href.replace(b"&amp;", b"&").decode() for href in _HREF.findall(self.content(url, at))]
        return tuple(href if href.startswith("http") else f"http://{host}{href}" for href in hrefs)

    def listed(self, site: str, at: float) -> Iterator[tuple[str, Entry]]:
        """Every entry of every sitemap of a site at a moment, each with the URL of its sitemap."""
        residence = self._residence(self._hosts[site].site)
        for path, document in residence.publisher.documents(self._tick(at)).items():
            for entry in entries_of(document):
                yield f"http://{site}{path}", entry

    def duplicates(self, at: float | None = None) -> Iterator[Duplicate]:
        """Every linked URL that shows the same as another URL: aliases, printable versions, mirrors."""
        at = self.epoch if at is None else at
        for host in self._hosts.values():
            residence = self._residence(host.site)
            if host.kind == "own":
                yield from aliases(residence, self._tick(at))
            elif host.kind in ("twin", "mirror"):
                yield from copies(residence, host, self._tick(at))

    def allowed(self, agent: str, url: str) -> bool:
        """Whether robots.txt lets a crawler with this product token fetch a URL."""
        found = self._find(url)
        return found is None or exclusion.allows(found[0].site, agent, found[1])

    def records(self, site: str) -> tuple[Record, ...]:
        """The database behind a site's form; most sites have none."""
        database = self._residence(self._hosts[site].site).database
        return tuple(database.record(number) for number in range(len(database)))

    def is_orphan(self, url: str) -> bool:
        """Whether a page never has an inlink."""
        found = self._find(url)
        meant = found[0].live.paths.read(found[1]) if found else None
        return found is not None and meant is not None and found[0].live.slots.is_orphan(meant.slot)

    def _find(self, url: str) -> tuple[Residence, str] | None:
        match = _URL.fullmatch(url)
        host = self._hosts.get(match[1].lower()) if match else None
        if match is None or host is None or host.kind == "redirect":
            return None
        return self._residence(host.site), match[2] if match[2].startswith("/") else "/" + match[2]

    def _get(self, url: str, at: float) -> Answer:
        match = _URL.fullmatch(url)
        if match is None:
            return Answer(421, (), b"")
        return self.answer(Request("GET", match[1].lower(), match[2] or "/", _CRAWLER, at))


def _changes(site: Site, history: History | None) -> Changes:
    return Changes(site.pattern, site.nightly, history if site.pattern is Pattern.REPLAYED else None)
