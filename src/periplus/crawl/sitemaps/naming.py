"""Who tells of files: robots.txt, the usual places, people, pages, other shards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from msgspec import Struct

from periplus.formats import robots
from periplus.model import Discovery, Page, Purpose, Site, Source, State, Url
from periplus.policy.sitemaps import WELL_KNOWN, Origin, SitemapNode, twin_key, woken
from periplus.urls import canonical, site_of

from ..frontier import robots_url
from .nodes import Nodes

_SURE = (Origin.PING, Origin.SUBMITTED)
"""Who names a file for these reasons wants it read, whatever it was like."""
_MOST_MET = 1000
_FEED_TYPES = ("application/rss+xml", "application/atom+xml")


class SitemapSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What sites publish about themselves, and whether it is read."""

    follow: bool = True
    """Read the sitemaps that robots.txt files name, and what they list."""
    well_known: bool = True
    """Look where sitemaps usually lie, if robots.txt names none."""
    feeds: bool = True
    """Read feeds that pages link to, as sitemaps of what is new."""
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
        self.named_by = lru_cache(maxsize=10_000)(self._named_by_robots)

    def robots(self, site: Site, asked: Url, now: float) -> None:
        """A site's robots.txt was just read, or is not there."""
        file = self._state.robots.get(site)
        if file is None or not self._settings.follow or not self._is_ours(site):
            return
        self.named_by.cache_clear()
        named = robots.parse(file.body).sitemaps if file.access == "rules" else ()
        if named:
            self.named(named, asked, Origin.ROBOTS, now)
        elif self._settings.well_known and file.access != "none":
            self._guess(asked, 0, now)

    def _guess(self, at: Url, position: int, now: float) -> None:
        """Look in the next of the usual places that is not known yet."""
        for path in WELL_KNOWN[position:]:
            url = canonical(path, at)
            if url is not None and self._nodes.get(url) is None:
                self.named([url], at, Origin.WELL_KNOWN, now)
                return

    def named(self, names: Sequence[str], base: Url, origin: Origin, now: float) -> None:
        """Somebody names files: each is fetched, unless it was lately."""
        for name in names[: self._most]:
            url = canonical(name, base)
            if url is None or url == robots_url(url):
                continue
            if not self._is_ours(site_of(url)):
                self._deliver([Discovery(url, Source.SITEMAP, now, 0, base, purpose=Purpose.SITEMAP)], now)
                continue
            node = self._nodes.get(url)
            if node is None:
                self.plant(SitemapNode(url, url, origin, now, due_at=now), now)
            elif origin in _SURE or (node.retired and origin is Origin.ROBOTS):
                self._nodes.put(woken(node, now))

    def plant(self, node: SitemapNode, now: float) -> None:
        """Keep a node, and let its file wait to be fetched."""
        self._nodes.put(node, is_queued=True)
        file = Discovery(node.url, Source.SITEMAP, now, node.depth, node.parent, purpose=Purpose.SITEMAP)
        self._deliver([file], now)

    def received(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Other shards tell of files here; of the tree that they belong to nothing is known but who named them."""
        for discovery in discoveries:
            if discovery.purpose is Purpose.SITEMAP and self._nodes.get(discovery.url) is None:
                node = SitemapNode(discovery.url, discovery.url, Origin.INDEX, now, discovery.referrer, due_at=now)
                self._nodes.put(node, is_queued=True)

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

    def _named_by_robots(self, site: Site) -> Collection[str] | None:
        file = self._state.robots.get(site)
        if file is None:
            return None
        return frozenset(twin_key(url) for name in robots.parse(file.body).sitemaps if (url := canonical(name)))
