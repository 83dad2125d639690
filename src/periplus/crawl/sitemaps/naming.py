"""Who tells of files: robots.txt, the usual places, people, pages, other shards."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from periplus.formats import robots
from periplus.formats.metadata_archive import ListedArchive, needed, read_list, read_name
from periplus.model import Discovery, FetchTask, Lane, Page, Purpose, Site, Source, State, Url
from periplus.policy.sitemaps import (
    WELL_KNOWN,
    ForestSettings,
    Origin,
    SitemapNode,
    is_dead,
    is_doubted,
    twin_key,
    unread,
    vouched_for,
    woken,
)
from periplus.urls import canonical, site_of

from ..frontier import file_name, robots_url
from .nodes import Nodes

_SURE = (Origin.PING, Origin.SUBMITTED)
"""Who names a file for these reasons wants it read, whatever it was like."""
_MOST_MET = 10_000
"""Feeds, and sites, that are remembered to be known: they stand on every page of a site."""
_PAGES = ("text/html", "application/xhtml+xml", "text/plain")
"""Types whose archives list what we fetch."""
_MOST_FEEDS = 10
"""Feeds of a site that are read."""
_REST = 7 * 86_400.0
"""A file that was given up is looked for again so long after, if robots.txt still names it."""
_SPEAK_AT_ONCE, _GATHERED = 3, 3600.0
"""A file is read anew at once for so many hosts; for more when there is nothing else to do, or so long after."""


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
        forest: ForestSettings,
        state: State,
        nodes: Nodes,
        deliver: Callable[[Sequence[Discovery], float], None],
        queue: Callable[[Sequence[Url], float], None],
        is_ours: Callable[[Site], bool],
    ) -> None:
        self._settings = settings
        self._forest = forest
        self._queue = queue
        self._state = state
        self._nodes = nodes
        self._deliver = deliver
        self._is_ours = is_ours
        self._met: set[str] = set()
        self._asked: set[str] = set()
        self.gathered: set[Url] = set()

    def robots(self, task: FetchTask, now: float) -> None:
        """A site's robots.txt was just read, or is not there. A site where only files lie is not asked for its own."""
        if task.lane is not Lane.FILES or self._is_wanted(task.site, task.url):
            self._ask(task.site, task.url, now)

    def _is_wanted(self, site: Site, asked: Url) -> bool:
        """Whether a site was visited, or was itself named: or somebody could lead us from host to host for ever."""
        [state] = self._state.sites.get([site])
        is_visited = state is not None and state.pages > 0
        return is_visited or self._state.records.get([file_name(_rules_of(site, asked))])[0] is not None

    def _ask(self, site: Site, asked: Url, now: float) -> None:
        """Find out where the files of a site are."""
        file = self._state.robots.get(site)
        if file is None or not self._settings.follow or not self._is_ours(site):
            return
        _remember(self._asked, site)
        is_there = file.access == "rules"
        named = robots.parse(file.body).sitemaps if is_there else ()
        archives = self._archives(site, file.body, asked) if is_there and self._settings.archives else []
        if named or archives:
            self.named([*named, *archives], asked, Origin.ROBOTS, now, by=site)
        elif self._settings.well_known and file.access != "none":
            self._guess(_rules_of(site, asked), now)

    def _archives(self, site: Site, body: bytes, asked: Url) -> list[str]:
        """The archives of metadata that may tell what those do not that were read before: they end later."""
        listed = [each.url for each in read_list(body, asked) if isinstance(each, ListedArchive)]
        if not listed:
            return []
        read = [read_name(node.url) for node in self._nodes.of_site(site) if node.read_at is not None]
        since = max((name.to_at for name in read if name is not None), default=-math.inf)
        return needed(listed, since, _PAGES)

    def _guess(self, at: Url, now: float, after: str = "") -> None:
        """Look in the first of the usual places, if in none yet; or in the next one after a path."""
        known = [path for path in WELL_KNOWN if self._is_known(canonical(path, at))]
        if known and not after:
            return
        left = [path for path in WELL_KNOWN[WELL_KNOWN.index(after) + 1 if after else 0 :] if path not in known]
        if left:
            self.named([left[0]], at, Origin.WELL_KNOWN, now)

    def _is_known(self, url: Url | None) -> bool:
        """Whether a place was looked at; that its twin was, in vain, says nothing."""
        node = None if url is None else self._nodes.get(url)
        return node is not None and (node.url == url or not is_dead(node))

    def named(self, names: Sequence[str], base: Url, origin: Origin, now: float, *, by: Site | None = None) -> None:
        """Somebody names files: each is fetched, unless it was lately. `by`: it was the robots.txt of this host."""
        hosts = {by, site_of(base)}
        for name in names[: self._forest.max_children]:
            url = canonical(name, base)
            if url is None or url == robots_url(url):
                continue
            hosts.add(site_of(url))
            if len(hosts) > self._forest.max_foreign_hosts + 2:
                hosts.discard(site_of(url))
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
            if node.url != url and is_dead(node):
                self.rename(replace(node, tree=url, origin=origin), url, now)
            elif origin in _SURE or (node.retired and origin is Origin.ROBOTS and now > node.due_at + _REST):
                self._nodes.put(woken(node, now))
            if by is not None:
                self._vouch(self._nodes.get(url) or node, by, now)

    def rename(self, node: SitemapNode, url: Url, now: float) -> None:
        """A file that was not found by one name may be there by that of its twin."""
        self.plant(replace(node, url=url, retired="", failures=0, outcome=""), now)

    def _vouch(self, node: SitemapNode, site: Site, now: float) -> None:
        """A host speaks up for a file. What the file says of that host was not believed until now: it is read anew."""
        vouched = vouched_for(node, site)
        if vouched == node:
            return
        self._nodes.put(vouched)
        if site == site_of(node.url):
            return
        is_at_once = len(vouched.vouching) <= _SPEAK_AT_ONCE
        for below in self._nodes.below(vouched):
            self.read_anew(below, now if is_at_once else now + _GATHERED)
            if not is_at_once and is_doubted(below):
                self.gathered.add(below.url)

    def gather(self, now: float) -> None:
        """There is time: read files anew for all hosts that have spoken up for them meanwhile."""
        for url in self.gathered:
            node = self._nodes.get(url)
            if node is not None:
                self._nodes.put(unread(node, now))
        self.gathered.clear()

    def read_anew(self, node: SitemapNode, now: float) -> None:
        """Have a file read again, though it may say what it said, if it was not believed when it spoke of others."""
        if not is_doubted(node):
            return
        self._nodes.put(unread(node, now))
        self._state.forest.remember(twin_key(node.url), b"")
        record = self._state.records.get([file_name(node.url)])[0]
        if record is not None and record.validators is not None:
            self._state.records.put([replace(record, validators=None)])

    def pass_on(self, node: SitemapNode, target: Url, now: float) -> None:
        """Another shard has a file, or where it was moved to: that is told of it, and of those who speak up for it."""
        tellers = [_rules_of(site, node.url) for site in node.vouching] or [node.parent or node.url]
        redirects = node.redirects + (target != node.url)
        moved = Discovery(target, Source.SITEMAP, now, node.depth, redirects=redirects, purpose=Purpose.SITEMAP)
        self._deliver([replace(moved, referrer=teller) for teller in tellers], now)

    def plant(self, node: SitemapNode, now: float) -> None:
        """Keep a node, and let its file wait to be fetched. A robots.txt is none."""
        self.plant_all([node], now)

    def plant_all(self, nodes: Sequence[SitemapNode], now: float) -> None:
        """The same for many, each once, such as an index names: one by one it would take twice as long."""
        files = [node for node in nodes if node.url != robots_url(node.url)]
        self._nodes.put_queued(files)
        self._queue([node.url for node in files], now)

    def received(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Other shards tell of files here, or somebody from outside.

        Of the tree that they belong to nothing is known but who named them.
        """
        for discovery in discoveries:
            if discovery.purpose is Purpose.SITEMAP and self._is_ours(site_of(discovery.url)):
                self._receive(discovery, now)

    def _receive(self, told: Discovery, now: float) -> None:
        url, teller, source = told.url, told.referrer, told.source
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
        self.plant(SitemapNode(url, url, origin, now, parent, told.depth, None, told.redirects, vouching), now)

    def submit(self, now: float) -> None:
        """Plant what a person has named."""
        for name in self._settings.submitted:
            url = canonical(name)
            if url is not None:
                self.named([url], url, Origin.SUBMITTED, now)

    def linked(self, page: Page, now: float) -> None:
        """A page may name feeds; and its site is now one whose files are wanted."""
        if not self._settings.follow:
            return
        site = site_of(page.url)
        if site not in self._asked:
            self._ask(site, robots_url(page.url), now)
        if self._settings.feeds:
            for feed in page.relations.feeds:
                if feed.url not in self._met:
                    _remember(self._met, feed.url)
                    if site_of(feed.url) == site and self._has_room(site):
                        self.named([feed.url], page.url, Origin.PAGE, now)

    def _has_room(self, site: Site) -> bool:
        """Whether a site has not named too many feeds: some have one for every page, of what is said of it."""
        feeds = (node for node in self._nodes.of_site(site) if node.origin is Origin.PAGE)
        return sum(1 for _ in islice(feeds, _MOST_FEEDS)) < _MOST_FEEDS

    def guess_on(self, node: SitemapNode, now: float) -> None:
        """A guess was wrong: make the next."""
        path = node.tree[node.tree.index("/", 8) :]
        if path in WELL_KNOWN:
            self._guess(node.tree, now, after=path)


def _remember(met: set[str], name: str) -> None:
    if len(met) >= _MOST_MET:
        met.clear()
    met.add(name)


def _rules_of(site: Site, at: Url) -> Url:
    """The robots.txt of a host, wherever it was found: how another shard is told who speaks up for a file."""
    return robots_url(Url(f"{at.partition('://')[0]}://{site}/"))
