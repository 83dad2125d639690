"""Seeds of a crawl for files: they are pages, and fetched only where a site lists no file of the wanted types.

A crawl for files begins with the robots.txt of each site. When everything that the sites list was read and fetched, the
seeds of those that list nothing are released: their pages are crawled for the files that they embed. Whether a seed was
released, and what its site lists, is in the state: after a restart the same follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from periplus.engine.frontier import Frontier
from periplus.model import Discovery, Site, Source, Url
from periplus.parts.sitemaps.scheduler import SitemapScheduler
from periplus.parts.sitemaps.store import SitemapStore
from periplus.store import State
from periplus.urls import site_of


class HeldSeeds:
    """The seeds of a shard that wait for what their sites list."""

    def __init__(
        self,
        seeds: Iterable[Url],
        state: State,
        frontier: Frontier,
        sitemaps: SitemapScheduler,
        deliver: Callable[[Sequence[Discovery], float], None],
    ) -> None:
        self._seeds = list(seeds)
        self._store = SitemapStore(state)
        self._records = state.records
        self._frontier = frontier
        self._sitemaps = sitemaps
        self._deliver = deliver

    def are_due(self, now: float) -> bool:
        """Whether seeds are held, and all that their sites list was read and fetched."""
        return bool(self._seeds) and self._frontier.is_idle and self._sitemaps.is_idle(now)

    def release(self, now: float) -> None:
        """Queue those whose sites list nothing, once they are due."""
        if not self.are_due(now):
            return
        seeds, self._seeds = self._seeds, []
        listing = self._listing_sites()
        known = zip(seeds, self._records.get(seeds), strict=True)
        bare = [url for url, record in known if record is None and site_of(url) not in listing]
        if bare:
            self._deliver([Discovery(url, Source.SEED, now) for url in bare], now)

    def _listing_sites(self) -> set[Site]:
        """Sites of files that list something the crawl is for, and sites whose robots.txt names such files."""
        found: set[Site] = set()
        for node in self._store:
            if node.entries:
                found |= {site_of(node.url), *self._store.vouching(node)}
        return found
