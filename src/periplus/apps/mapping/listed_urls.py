"""Predicts, for each URL that a site lists, whether a crawl would fetch it, and how long a polite crawl would take.

`Judging` applies the checks of a crawl in the same order: whether the sitemap may list URLs of that host
(`engine.sitemaps`), the filters (`policy.filters`), the site's robots.txt. Pages are not fetched, so a crawler trap is
recognised only by its URLs. `MapFiles` holds the sitemaps and feeds themselves, as trees.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from periplus.collection.collection import CollectionSetup
from periplus.engine.frontier import RobotsGate, delay_after, seconds_for
from periplus.engine.router import owner_of
from periplus.engine.sitemaps.settings import SitemapTables
from periplus.engine.sitemaps.store import SitemapStore
from periplus.engine.sitemaps.trees import Origin, SitemapNode, twin_key
from periplus.engine.sitemaps.visits import SitemapAuthority
from periplus.insight.listed import ListedUrl
from periplus.model import Discovery, Reject, Rewrite, Site, Source, Url
from periplus.policy.filters import Sessions, standard_chain
from periplus.store import SiteState, State
from periplus.urls import site_of

MOST_SITES = 100_000
"""Sites whose pages are counted one by one."""
_MOST_AUTHORITIES = 1000
_PARAMETERS = re.compile(r"[?;]|/\(")
"""Where a URL may hold a session; most lists have none of it, and need not be looked through one by one."""


class FetchVerdict(Struct, frozen=True):
    """Why a URL would not be fetched, and the rule; empty if it would."""

    reason: str = ""
    rule: str = ""


ALLOWED = FetchVerdict()


class Pace(Struct, frozen=True):
    """How long a polite crawl takes: `seconds` in all, by the slowest site, which rests for `rest` between visits."""

    seconds: float = 0.0
    site: str = ""
    rest: float = 0.0
    asked: float | None = None
    """What the robots.txt of that site asks for."""


class SiteCost(Struct, frozen=True):
    """What a polite crawl of a site takes: URLs and seconds; and bytes, of the `sized` URLs whose size is known."""

    site: str
    urls: int
    sized: int
    bytes: int
    seconds: float


class Judging:
    """Judges the URLs of a collection, and counts what a crawl would fetch of each site."""

    def __init__(self, collection: CollectionSetup, opened: Mapping[int, State]) -> None:
        self._config = collection.config
        self._opened = opened
        self._shards = max(collection.layout.shards, 1)
        self._gates = {
            number: RobotsGate(state.robots, self._config.crawler_identity.token) for number, state in opened.items()
        }
        self._chain = standard_chain(collection.seeds, self._config.filters)
        self._sessions = Sessions(self._config.sessions)
        self._authorities: dict[str, SitemapAuthority] = {}
        self._is_asked: dict[Site, bool] = {}
        self.pages: Counter[Site] = Counter()
        self._sized: Counter[Site] = Counter()
        self._sizes: Counter[Site] = Counter()
        self.unasked: set[Site] = set()

    def names(self, sitemap: str, urls: Sequence[Url]) -> list[tuple[Url, str]]:
        """What each URL of a file would be known as, and why the file may not list it, if so."""
        authority = self._authority(sitemap)
        names = [self._name(url) for url in urls] if _PARAMETERS.search("\n".join(urls)) else urls
        if authority.own_site(urls) is not None:
            return [(name, "") for name in names]
        return [(name, authority.refusal(url)) for name, url in zip(names, urls, strict=True)]

    def _name(self, url: Url) -> Url:
        verdict = self._sessions.judge(Discovery(url, Source.SITEMAP, 0.0, 1))
        return verdict.url if isinstance(verdict, Rewrite) else url

    def judge(self, listed: ListedUrl) -> FetchVerdict:
        """Whether a crawl would fetch a URL. In the order of the lists: budgets are used up by those before."""
        if listed.refused:
            return FetchVerdict(listed.refused)
        url = Url(listed.url)
        discovery = Discovery(url, Source.SITEMAP, 0.0, 1)
        for ask in (self._chain.judge, self._chain.admit):
            verdict = ask(discovery)
            if isinstance(verdict, Reject):
                return FetchVerdict(verdict.reason, verdict.rule)
        return self._by_robots(url, listed.size)

    def _by_robots(self, url: Url, size: int | None) -> FetchVerdict:
        site = site_of(url)
        if site not in self.pages and len(self.pages) >= MOST_SITES:
            site = Site("")
        if self._has_asked(site):
            refusal = self._gates[owner_of(site, self._shards)].refusal(site, url)
            if refusal is not None:
                reason, rule = refusal
                return FetchVerdict(reason, f"Disallow: {rule}" if reason == "robots" else rule)
        self.pages[site] += 1
        if size is not None:
            self._sized[site] += 1
            self._sizes[site] += size
        return ALLOWED

    def _has_asked(self, site: Site) -> bool:
        """Whether the robots.txt of a site is known: a map fetches it only for sites that are named or have files."""
        known = self._is_asked.get(site)
        if known is None:
            state = self._opened.get(owner_of(site, self._shards))
            known = state is not None and state.robots.get(site) is not None
            if len(self._is_asked) < MOST_SITES:
                self._is_asked[site] = known
            if not known and site and len(self.unasked) < MOST_SITES:
                self.unasked.add(site)
        return known

    def _authority(self, sitemap: str) -> SitemapAuthority:
        authority = self._authorities.get(sitemap)
        if authority is None:
            if len(self._authorities) >= _MOST_AUTHORITIES:
                self._authorities.clear()
            authority = self._authorities[sitemap] = self._new_authority(Url(sitemap))
        return authority

    def _new_authority(self, sitemap: Url) -> SitemapAuthority:
        state = self._opened.get(owner_of(site_of(sitemap), self._shards))
        nodes = None if state is None else SitemapStore(state)
        node = None if nodes is None else nodes.get(sitemap)
        vouching = frozenset[Site]() if nodes is None or node is None else nodes.vouching(node)
        return SitemapAuthority(sitemap, vouching, self._config.some(SitemapTables).authority)

    def trouble(self, site: Site) -> str:
        """Why the robots.txt of a site was not read; empty if it was."""
        state = self._opened.get(owner_of(site, self._shards))
        file = None if state is None else state.robots.get(site)
        return self._kept(site).retired or ("not-asked" if file is None else file.reason)

    def pace(self) -> Pace:
        """How long it takes to fetch all that may be: sites are visited side by side, each at its own pace."""
        slowest = Pace()
        for site in self.pages:
            seconds, rest = self._seconds(site)
            if seconds > slowest.seconds or not slowest.site:
                slowest = Pace(seconds, site, rest, self._kept(site).delay)
        rate = self._config.crawl.rate
        if rate and self.pages.total() / rate > slowest.seconds:
            return Pace(self.pages.total() / rate, slowest.site, slowest.rest, slowest.asked)
        return slowest

    def costs(self) -> list[SiteCost]:
        """What each site takes, in the order in which they were listed."""
        return [
            SiteCost(site, urls, self._sized[site], self._sizes[site], round(self._seconds(site)[0], 3))
            for site, urls in self.pages.items()
        ]

    def _seconds(self, site: Site) -> tuple[float, float]:
        """How long a site takes at its own pace, and how long it rests between two visits."""
        politeness, kept = self._config.politeness, self._kept(site)
        rest = delay_after(politeness, kept.delay, kept.last_duration)
        return seconds_for(politeness, self.pages[site], rest), rest

    def _kept(self, site: Site) -> SiteState:
        state = self._opened.get(owner_of(site, self._shards))
        return (None if state is None else state.sites.get([site])[0]) or SiteState(site)


_LONGEST_WAY = 64
_FEEDS = ("rss", "atom")
_NO_SITEMAPS = {"html": "html-instead", "unknown": "not-a-sitemap"}
_decode = msgspec.msgpack.Decoder(SitemapNode).decode


class MapFile(Struct, frozen=True):
    """A sitemap or feed. `trouble`: why it was not read; empty if it was.

    `found_by` is where it, or the root of its tree, was discovered: `robots`, `well-known`, `submitted` and others.
    """

    number: int
    url: str
    parent: str | None
    found_by: str
    kind: str
    entries: int
    trouble: str

    @property
    def source(self) -> str:
        """What its entries are: those of a sitemap, or of a feed."""
        return "feed" if self.kind in _FEEDS else "sitemap"


class MapFiles:
    """The files of a map in the order of their tree: each root, then the files it names. There may be 100,000."""

    def __init__(self, opened: Iterable[State]) -> None:
        nodes = sorted((_decode(row) for state in opened for row in state.forest), key=lambda node: node.first_seen_at)
        self._nodes = {twin_key(node.url): node for node in nodes}
        self._files: dict[str, MapFile] = {}
        for node in _in_order(nodes, self._nodes):
            self._files[twin_key(node.url)] = self._file(node, len(self._files) + 1)

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[MapFile]:
        return iter(self._files.values())

    def get(self, url: str) -> MapFile | None:
        """The file at a URL, whichever of its names that is."""
        return self._files.get(twin_key(url))  # type: ignore[arg-type] # of the table, which holds what was canonical

    def way(self, url: str) -> list[str]:
        """The files above a file, and the file itself at the end."""
        way: list[str] = []
        file = self.get(url)
        while file is not None and file.url not in way and len(way) < _LONGEST_WAY:
            way.append(file.url)
            file = None if file.parent is None else self.get(file.parent)
        return way[::-1] or [url]

    @property
    def read(self) -> int:
        """How many were read."""
        return sum(not file.trouble for file in self)

    def _file(self, node: SitemapNode, number: int) -> MapFile:
        root = self._nodes.get(twin_key(node.tree), node)
        found_by = root.origin if node.origin is Origin.INDEX else node.origin
        return MapFile(number, node.url, node.parent, found_by.value, node.kind, node.entries, _trouble(node))


def _trouble(node: SitemapNode) -> str:
    if node.outcome or node.read_at is None:
        return node.outcome or "not-read"
    return _NO_SITEMAPS.get(node.kind, "")


def _in_order(nodes: list[SitemapNode], known: dict[str, SitemapNode]) -> Iterator[SitemapNode]:
    """Roots in the order in which they were seen, each followed by the files below it; loops are cut."""
    below: dict[str, list[SitemapNode]] = {}
    roots = []
    for node in nodes:
        if node.parent is not None and twin_key(node.parent) in known:
            below.setdefault(twin_key(node.parent), []).append(node)
        else:
            roots.append(node)
    seen: set[str] = set()
    for root in (*roots, *nodes):  # all nodes once more: those that name each other have no root
        waiting = [root]
        while waiting:
            node = waiting.pop()
            key = twin_key(node.url)
            if key not in seen:
                seen.add(key)
                yield node
                waiting += below.get(key, [])[::-1]
