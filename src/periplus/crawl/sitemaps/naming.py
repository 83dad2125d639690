"""Who tells of files: robots.txt, the usual places, people, pages, other shards."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from periplus.formats import robots
from periplus.formats.metadata_archive import ListedArchive, needed, read_list, read_name
from periplus.model import Discovery, Page, Purpose, Site, Source, State, Url
from periplus.policy.sitemaps import WELL_KNOWN, Origin, SitemapNode, twin_key, unread, vouched_for, woken
from periplus.urls import canonical, site_of

from ..frontier import robots_url
from .nodes import Nodes

_SURE = (Origin.PING, Origin.SUBMITTED)
"""Who names a file for these reasons wants it read, whatever it was like."""
_MOST_MET = 1000
_PAGES = ("text/html", "application/xhtml+xml", "text/plain")
"""Types whose archives list what we fetch."""
_FEED_TYPES = ("application/rss+xml", "application/atom+xml")


class SitemapSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What sites publish about themselves, and whether it is read."""

    follow: bool = True
    """Read the sitemaps that robots.txt files name, and what they list."""
    well_known: bool = True
    """Look where sitemaps usually lie, if robots.txt names none."""
    feeds: bool = True
    """Read feeds that pages link to, as sitemaps of what is new."""
    archives: bool = True
    """Read archives of metadata that a robots.txt names, with all pages of a site by the date of their last change."""
    submitted: tuple[str, ...] = ()
    """Sitemaps that are known otherwise."""
    only: bool = False
    """Fetch no pages: robots.txt files and sitemaps are read, and what they say goes to the tables alone."""


class Naming:
    """Plants a node for every file that somebody names, and has it fetched."""

    def __init__(
        self,
        settings: SitemapSettings,
        most: int,
        state: State,
        nodes: Nodes,
        deliver: Callable[[Sequence[Discovery], float], None],
        is_ours: Callable[[Site], bool],
    ) -> None:
        self._settings = settings
        self._most = most
        self._state = state
        self._nodes = nodes
        self._deliver = deliver
        self._is_ours = is_ours
        self._met: set[Url] = set()

    def robots(self, site: Site, asked: Url, now: float) -> None:
        """A site's robots.txt was just read, or is not there."""
        file = self._state.robots.get(site)
        if file is None or not self._settings.follow or not self._is_ours(site):
            return
        is_there = file.access == "rules"
        named = robots.parse(file.body).sitemaps if is_there else ()
        archives = self._archives(site, file.body, asked) if is_there and self._settings.archives else []
        if named or archives:
            self.named([*named, *archives], asked, Origin.ROBOTS, now, by=site)
        elif self._settings.well_known and file.access != "none":
            self._guess(asked, 0, now)

    def _archives(self, site: Site, body: bytes, asked: Url) -> list[str]:
        """The archives of metadata that may tell what those do not that were read before: they end later."""
        listed = [each.url for each in read_list(body, asked) if isinstance(each, ListedArchive)]
        if not listed:
            return []
        read = [read_name(node.url) for node in self._nodes.of_site(site) if node.read_at is not None]
        since = max((name.to_at for name in read if name is not None), default=-math.inf)
        return needed(listed, since, _PAGES)

    def _guess(self, at: Url, position: int, now: float) -> None:
        """Look in the next of the usual places that is not known yet."""
        for path in WELL_KNOWN[position:]:
            url = canonical(path, at)
            if url is not None and self._nodes.get(url) is None:
                self.named([url], at, Origin.WELL_KNOWN, now)
                return

    def named(self, names: Sequence[str], base: Url, origin: Origin, now: float, *, by: Site | None = None) -> None:
        """Somebody names files: each is fetched, unless it was lately. `by`: it was the robots.txt of this host."""
        for name in names[: self._most]:
            url = canonical(name, base)
            if url is None or url == robots_url(url):
                continue
            if not self._is_ours(site_of(url)):
                teller = base if by is None else _rules_of(by, base)
                self._deliver([Discovery(url, Source.SITEMAP, now, 0, teller, purpose=Purpose.SITEMAP)], now)
                continue
            node = self._nodes.get(url)
            if node is None:
                vouching = () if by is None else (by,)
                self.plant(SitemapNode(url, url, origin, now, vouching=vouching, due_at=now), now)
                continue
            if origin in _SURE or (node.retired and origin is Origin.ROBOTS):
                node = woken(node, now)
                self._nodes.put(node)
            if by is not None:
                self._vouch(node, by, now)

    def _vouch(self, node: SitemapNode, site: Site, now: float) -> None:
        """A host speaks up for a file. What the file says of that host was not believed until now: it is read anew."""
        vouched = vouched_for(node, site)
        if vouched == node:
            return
        self._nodes.put(vouched)
        if site == site_of(node.url):
            return
        for below in self._nodes.below(vouched):
            if below.read_at is not None and not below.retired:
                self.read_anew(below, now)

    def read_anew(self, node: SitemapNode, now: float) -> None:
        """Have a file read again, though it may say what it said."""
        self._nodes.put(unread(node, now))
        self._state.forest.remember(twin_key(node.url), b"")
        record = self._state.records.get([node.url])[0]
        if record is not None and record.validators is not None:
            self._state.records.put([replace(record, validators=None)])

    def plant(self, node: SitemapNode, now: float) -> None:
        """Keep a node, and let its file wait to be fetched."""
        self._nodes.put(node, is_queued=True)
        file = Discovery(node.url, Source.SITEMAP, now, node.depth, node.parent, purpose=Purpose.SITEMAP)
        self._deliver([file], now)

    def received(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Other shards tell of files here, or somebody from outside. They wait to be fetched when this is over.

        Of the tree that they belong to nothing is known but who named them.
        """
        for discovery in discoveries:
            if discovery.purpose is Purpose.SITEMAP and self._is_ours(site_of(discovery.url)):
                self._receive(discovery.url, discovery.referrer, discovery.source, now)

    def _receive(self, url: Url, teller: Url | None, source: Source, now: float) -> None:
        by = site_of(teller) if teller is not None and teller == robots_url(teller) else None
        node = self._nodes.get(url)
        if node is not None:
            if source is Source.PING:
                self._nodes.put(woken(node, now))
            if by is not None:
                self._vouch(node, by, now)
            return
        vouching, parent = ((), teller) if by is None else ((by,), None)
        origin = Origin.ROBOTS if by else Origin.PING if source is Source.PING else Origin.INDEX
        self._nodes.put(SitemapNode(url, url, origin, now, parent, vouching=vouching, due_at=now), is_queued=True)

    def submit(self, now: float) -> None:
        """Plant what a person has named."""
        for name in self._settings.submitted:
            url = canonical(name)
            if url is not None:
                self.named([url], url, Origin.SUBMITTED, now)

    def linked(self, page: Page, now: float) -> None:
        """A page may name feeds."""
        if self._settings.feeds and self._settings.follow:
            for alternate in page.relations.alternates:
                if alternate.type in _FEED_TYPES and alternate.url not in self._met:
                    self._remember(alternate.url)
                    self.named([alternate.url], page.url, Origin.PAGE, now)

    def _remember(self, url: Url) -> None:
        """Feeds stand on every page of a site: those lately met need not be looked up."""
        if len(self._met) >= _MOST_MET:
            self._met.clear()
        self._met.add(url)

    def guess_on(self, node: SitemapNode, now: float) -> None:
        """A guess was wrong: make the next."""
        path = node.url[node.url.index("/", 8) :]
        if path in WELL_KNOWN:
            self._guess(node.url, WELL_KNOWN.index(path) + 1, now)


def _rules_of(site: Site, at: Url) -> Url:
    """The robots.txt of a host, wherever it was found: how another shard is told who speaks up for a file."""
    return robots_url(Url(f"{at.partition('://')[0]}://{site}/"))
