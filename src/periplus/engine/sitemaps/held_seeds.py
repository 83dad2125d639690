"""Seeds of a crawl for files: they are pages, and fetched only where a site lists no file of the wanted types.

A crawl for files begins with the robots.txt of each site. When everything that the sites list was read and fetched, the
seeds of those that list nothing are released: their pages are crawled for the files that they embed. Whether a seed was
released, and what its site lists, is in the state: after a restart the same follows.
"""

from __future__ import annotations

from collections.abc import Iterable

from periplus.engine.part import Desk
from periplus.model import Discovery, Site, Source, Url
from periplus.urls import site_of

from .store import SitemapStore


class HeldSeeds:
    """The seeds of a shard that wait for what their sites list."""

    def __init__(self, desk: Desk, seeds: Iterable[Url], store: SitemapStore) -> None:
        self._seeds = [url for url in seeds if desk.router.owns_site(site_of(url))]
        self._store = store
        self._records = desk.state.records
        self._deliver = desk.router.deliver

    def __bool__(self) -> bool:
        """Whether seeds are held."""
        return bool(self._seeds)

    def release(self, now: float) -> None:
        """Queue those whose sites list nothing."""
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
