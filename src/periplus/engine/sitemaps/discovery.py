"""Where sitemaps are found: robots.txt, the usual places, the user, pages, other shards.

Each file that is named gets a node in the store, and is queued to be fetched like a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec.structs import replace

from periplus.engine.frontier import file_name, robots_url
from periplus.engine.part import Desk
from periplus.formats import robots
from periplus.formats.metadata_archive import ListedArchive, lists_named, needed, read_list, read_name
from periplus.model import Discovery, FetchTask, Lane, ParsedPage, Problem, Purpose, Site, Source, Url
from periplus.policy.filters import MediaTypes
from periplus.urls import canonical, site_of

from .settings import SitemapRules
from .store import SitemapStore, visit_event
from .trees import WELL_KNOWN, Origin, SitemapNode, twin_key
from .visits import REST, is_dead, is_doubted, unread, vouched_for, woken

_SURE = (Origin.PING, Origin.SUBMITTED)
"""Origins for which a file is read again, whatever its earlier result."""
_MAX_FEEDS = 10
"""Feeds of a site that are read: enough for all but those with one for every page."""
_GUIDE = "/llms.txt"
"""Where a site's guide for language models is (llmstxt.org)."""
HELD = 254
"""The level, behind those of all pages, at which files of a site wait in its listings; new ones at the next."""
UNNAMED = "bad-name"
"""Why an archive is not read whose name does not say which time it covers."""
_AT_ONCE, _LATER = 3, 3600.0
"""Hosts for which a file is read again at once; for more hosts when nothing else is to be done, or this much later."""


class Room(Protocol):
    """How many files may be queued."""

    def __call__(self, site: Site, *, is_new: bool) -> int:
        """How many more of this site, new ones or others."""


class SitemapDiscovery:
    """Keeps a node for every known file, and queues it."""

    def __init__(
        self,
        desk: Desk,
        rules: SitemapRules,
        store: SitemapStore,
        room: Room,
        postponed: Iterable[Url] = (),
    ) -> None:
        self._settings = rules.sitemaps
        self.media = MediaTypes(rules.media)
        """The types of files that are wanted instead of pages."""
        self._forest = rules.forest
        self._queue = desk.frontier.queue_files
        self._state = desk.state
        self._store = store
        self._deliver = desk.router.deliver
        self._is_ours = desk.router.owns_site
        self._records = desk.records
        self._events = desk.events
        self._room = room
        self.held = {site for site in desk.state.listings.sites() if desk.state.listings.has(site, HELD)}
        """Sites with files that wait until fewer others do."""
        self.freed = set(self.held)
        """Those of them that may have room by now."""
        self.postponed: dict[Url, None] = dict.fromkeys(postponed)
        """Files to be read again for hosts that vouch for them by now, when there is nothing else to do."""

    def robots_read(self, task: FetchTask, now: float) -> None:
        """A site's robots.txt was read, or does not exist. Sitemaps of a site with files only are not wanted."""
        if task.lane is not Lane.FILES or self._is_wanted(task.site, task.url):
            self._ask(task.site, task.url, now)

    def _is_wanted(self, site: Site, asked: Url) -> bool:
        """Whether a site was visited or named; otherwise sitemaps could lead us from host to host without end."""
        return (
            self._records.get(site).pages > 0
            or self._state.records.get([file_name(_rules_of(site, asked))])[0] is not None
        )

    def _ask(self, site: Site, asked: Url, now: float) -> None:
        """Find out where the sitemaps of a site are."""
        file = self._state.robots.get(site)
        if file is None or not self._settings.follow or not self._is_ours(site):
            return
        record = self._records.get(site)
        if not record.asked_for_sitemaps:
            record.asked_for_sitemaps = True
            self._records.changed(record)
        is_there = file.access == "rules"
        if self._settings.llms_txt and file.access != "none" and not self.media:
            self.named([_GUIDE], _rules_of(site, asked), Origin.WELL_KNOWN, now)
        archives = self._archives(site, file.body, asked, now) if is_there and self._settings.archives else []
        named = robots.parse(file.body).sitemaps if is_there and not (archives and self.media) else ()
        if named or archives:
            self.named([*named, *archives], asked, Origin.ROBOTS, now, by=site)
        elif self._settings.well_known and file.access != "none":
            self._guess(_rules_of(site, asked), now)

    def _archives(self, site: Site, body: bytes, asked: Url, now: float) -> list[str]:
        """Lists of archives of metadata, and the archives that cover a time after those that were read before."""
        named = list(read_list(body, asked))
        listed = [each.url for each in named if isinstance(each, ListedArchive)]
        lists = lists_named(body, asked)
        self._report_unnamed([each.detail for each in named if isinstance(each, Problem)], asked, now)
        if not listed:
            return lists
        read = [read_name(node.url) for node in self._store.of_site(site) if node.read_at is not None]
        since = max((name.to_at for name in read if name is not None), default=-math.inf)
        return lists + needed(listed, since, self.media.listed)

    def _report_unnamed(self, names: Iterable[str], asked: Url, now: float) -> None:
        """Give files that robots.txt calls archives a node, though their names do not say which time they cover."""
        for name in names:
            url = canonical(name, asked) if name.endswith(".gz") else None
            if url is not None and self._is_ours(site_of(url)) and self._store.get(url) is None:
                node = SitemapNode(url, url, Origin.ROBOTS, now, outcome=UNNAMED, retired=UNNAMED)
                self._store.put(node)
                self._events.record([visit_event(node, now)])

    def _guess(self, at: Url, now: float, after: str = "") -> None:
        """Try the first of the usual places, or the next one after a path."""
        known = [path for path in WELL_KNOWN if self._is_known(canonical(path, at))]
        if known and not after:
            return
        left = [path for path in WELL_KNOWN[WELL_KNOWN.index(after) + 1 if after else 0 :] if path not in known]
        if left:
            self.named([left[0]], at, Origin.WELL_KNOWN, now)

    def _is_known(self, url: Url | None) -> bool:
        """Whether a place was tried, whatever the result of its twin."""
        node = None if url is None else self._store.get(url)
        return node is not None and (node.url == url or not is_dead(node))

    def named(self, names: Sequence[str], base: Url, origin: Origin, now: float, *, by: Site | None = None) -> None:
        """Add files: each is fetched, unless it was recently. `by`: the host whose robots.txt names them."""
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
                referrer = base if by is None else _rules_of(by, base)
                self._deliver([Discovery(url, Source.SITEMAP, now, 0, referrer, purpose=Purpose.SITEMAP)], now)
                continue
            node = self._store.get(url)
            if node is None:
                vouching = () if by is None else (by,)
                self.enqueue(SitemapNode(url, url, origin, now, vouching=vouching, due_at=now), now)
                continue
            if node.url != url and is_dead(node):
                self.rename(replace(node, tree=url, origin=origin), url, now)
            elif origin in _SURE or (node.retired and origin is Origin.ROBOTS and now > node.due_at + REST):
                self._store.put(woken(node, now))
            if by is not None:
                self._vouch(self._store.get(url) or node, by, now)

    def rename(self, node: SitemapNode, url: Url, now: float) -> None:
        """Fetch a file that was not found under one name under that of its twin."""
        self.enqueue(replace(node, url=url, retired="", failures=0, outcome=""), now)

    def _vouch(self, node: SitemapNode, site: Site, now: float) -> None:
        """Let a host vouch for a file. Entries of that host were ignored until now, so the file is read again."""
        vouched = vouched_for(node, site)
        if vouched == node:
            return
        self._store.put(vouched)
        if site == site_of(node.url):
            return
        is_now = len(vouched.vouching) <= _AT_ONCE
        for below in self._store.below(vouched):
            self.read_again(below, now if is_now else now + _LATER)
            if not is_now and is_doubted(below):
                self.postponed[below.url] = None

    def read_postponed(self, now: float) -> None:
        """Have files read again for all hosts that vouched for them since."""
        for url in self.postponed:
            node = self._store.get(url)
            if node is not None:
                self._store.put(unread(node, now))
        self.postponed.clear()

    def read_again(self, node: SitemapNode, now: float) -> None:
        """Read a file again although it may be unchanged, if entries of other hosts were ignored."""
        if not is_doubted(node):
            return
        self._store.put(unread(node, now))
        self._state.forest.remember(twin_key(node.url), b"")
        record = self._state.records.get([file_name(node.url)])[0]
        if record is not None and record.validators is not None:
            self._state.records.put([replace(record, validators=None)])

    def pass_on(self, node: SitemapNode, target: Url, now: float) -> None:
        """Send a file, or where it moved to, to the shard that has its site, with the hosts that vouch for it."""
        referrers = [_rules_of(site, node.url) for site in node.vouching] or [node.parent or node.url]
        redirects = node.redirects + (target != node.url)
        moved = Discovery(target, Source.SITEMAP, now, node.depth, redirects=redirects, purpose=Purpose.SITEMAP)
        self._deliver([replace(moved, referrer=referrer) for referrer in referrers], now)

    def enqueue(self, node: SitemapNode, now: float) -> None:
        """Keep a node, and queue its file. A robots.txt is not a sitemap."""
        self.enqueue_all([node], now)

    def enqueue_all(self, nodes: Sequence[SitemapNode], now: float) -> None:
        """Keep nodes and queue their files together, as an index names them: one by one would take twice as long.

        Where a site has others to be fetched or read, its files wait for `release`.
        """
        files = [node for node in nodes if node.url != robots_url(node.url)]
        self._store.put_queued(files)
        groups: dict[tuple[Site, bool], list[Url]] = {}
        for node in files:
            groups.setdefault((site_of(node.url), node.read_at is None), []).append(node.url)
        for (site, is_new), urls in groups.items():
            room = 0 if site in self.held else self._room(site, is_new=is_new)
            self._queue(urls[:room], now)
            if held := [url.encode() for url in urls[room:]]:
                self._state.listings.add(site, HELD + is_new, held)
                self.held.add(site)
                self.freed.add(site)

    def free(self, sites: Iterable[Site]) -> None:
        """Look at the next step whether files of these sites need not wait any more."""
        self.freed.update(self.held.intersection(sites))

    @property
    def is_due(self) -> bool:
        """Whether sites with files that wait may have room for them."""
        return bool(self.freed)

    def release(self, now: float) -> None:
        """Queue files that wait, where their sites have room for them now."""
        listings, freed, self.freed = self._state.listings, sorted(self.freed), set()
        for site in freed:
            for is_new in (False, True):
                while self._room(site, is_new=is_new) and (url := listings.take(site, HELD, HELD + is_new)):
                    self._queue([Url(url.decode())], now)
            if not listings.has(site, HELD):
                self.held.discard(site)

    def received(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Files named by other shards or from outside. Of their tree only the file that named them is known."""
        for discovery in discoveries:
            if discovery.purpose is Purpose.SITEMAP and self._is_ours(site_of(discovery.url)):
                self._receive(discovery, now)

    def _receive(self, found: Discovery, now: float) -> None:
        url, referrer, source = found.url, found.referrer, found.source
        by = site_of(referrer) if referrer is not None and referrer == robots_url(referrer) else None
        node = self._store.get(url)
        if node is not None:
            if source is Source.PING:
                self._store.put(woken(node, now))
            if by is not None:
                self._vouch(node, by, now)
            return
        vouching, parent = ((), referrer) if by is None else ((by,), None)
        origin = Origin.ROBOTS if by else Origin.PING if source is Source.PING else Origin.INDEX
        self.enqueue(SitemapNode(url, url, origin, now, parent, found.depth, None, found.redirects, vouching), now)

    def submit(self, now: float) -> None:
        """Fetch the files that the settings name."""
        for name in self._settings.submitted:
            url = canonical(name)
            if url is not None:
                self.named([url], url, Origin.SUBMITTED, now)

    def linked(self, page: ParsedPage, now: float) -> None:
        """A page may name feeds; and sitemaps of its site are wanted now."""
        if not self._settings.follow:
            return
        site = site_of(page.url)
        if not self._records.get(site).asked_for_sitemaps:
            self._ask(site, robots_url(page.url), now)
        if self._settings.feeds:
            for feed in page.relations.feeds:
                if site_of(feed.url) == site and not self._is_known(feed.url):
                    self._name_feed(site, feed.url, page.url, now)

    def _name_feed(self, site: Site, feed: Url, page: Url, now: float) -> None:
        """Some sites have a feed for every page: only the first ones are read."""
        record = self._records.get(site)
        if record.feeds < _MAX_FEEDS:
            record.feeds += 1
            self._records.changed(record)
            self.named([feed], page, Origin.PAGE, now)

    def guess_on(self, node: SitemapNode, now: float) -> None:
        """Try the next place after a guessed file was not there."""
        path = node.tree[node.tree.index("/", 8) :]
        if path in WELL_KNOWN:
            self._guess(node.tree, now, after=path)


def _rules_of(site: Site, at: Url) -> Url:
    """The robots.txt of a host: as the referrer of a file it shows another shard which host vouches for it."""
    return robots_url(Url(f"{at.partition('://')[0]}://{site}/"))
