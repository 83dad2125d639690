"""What is received for one collection: which URLs belong to it, its inbox, and requests by the rules of its crawl."""

from __future__ import annotations

import time
from threading import Lock
from typing import Final

from periplus.assembly import meta_of
from periplus.assembly.collection import Collection
from periplus.config.settings import ReceiverSettings
from periplus.crawl.clock import SystemClock
from periplus.crawl.fetch import AddressGuard, SingleRequests
from periplus.model import Url
from periplus.policy.filters import Scope
from periplus.store import Inbox, is_begun
from periplus.store.tables import scan
from periplus.urls import site_of

from ..counters import Counters, counters_of
from ..served import ServedCollection

SCOPE_AGE: Final = 60.0
"""Seconds for which a scope is used: seeds may move, and settings may change."""


class Intake:
    """One collection as a receiver sees it. Any thread may use it."""

    def __init__(self, served: ServedCollection) -> None:
        self._served = served
        self._lock = Lock()
        self._scope: Scope | None = None
        self._scope_until = 0.0
        self.inbox = Inbox(served.collection.layout.inbox, served.collection.config.receivers.max_waiting)

    @property
    def collection(self) -> Collection:
        """The collection with its settings as they are now."""
        return self._served.collection

    @property
    def name(self) -> str:
        """The name of the collection."""
        return self._served.name

    @property
    def counters(self) -> Counters:
        """What `/metrics` shows of the collection."""
        return counters_of(self._served)

    @property
    def settings(self) -> ReceiverSettings:
        """The table `[receivers]` of the collection."""
        return self.collection.config.receivers

    def holds(self, url: Url) -> bool:
        """Whether a URL lies in the scope of the crawl. Its filters are applied later, by the crawl."""
        return self._current_scope().holds(url)

    def may_publish(self, sitemap: Url) -> bool:
        """Whether a sitemap may list pages of this crawl: it is on one of its sites, or a robots.txt names it."""
        if self.holds(sitemap) or site_of(sitemap) in {site_of(seed) for seed in self.collection.seeds}:
            return True
        layout = self.collection.layout
        for batch in scan(layout.tables, "sitemaps", spooled=layout.spooled, columns=["url", "origin"]):
            rows = zip(batch["url"].to_pylist(), batch["origin"].to_pylist(), strict=True)
            if any(url == sitemap and origin == "robots" for url, origin in rows):
                return True
        return False

    def requests(self) -> SingleRequests:
        """Requests with the identity, the limits and the allowed addresses of the crawl."""
        config = self.collection.config
        guard = AddressGuard(self.collection.seeds, hosts=config.dns.hosts, allow_private=config.wire.allow_private)
        return SingleRequests(config.wire, identity=config.identity, clock=SystemClock(), dns=config.dns, guard=guard)

    def _current_scope(self) -> Scope:
        with self._lock:
            if self._scope is None or time.monotonic() >= self._scope_until:
                self._scope = _scope_of(self.collection)
                self._scope_until = time.monotonic() + SCOPE_AGE
            return self._scope

    def close(self) -> None:
        """Close the inbox."""
        self.inbox.close()


def _scope_of(collection: Collection) -> Scope:
    """The scope of the seeds and of the places that they have moved to."""
    layout = collection.layout
    folders = [layout.shard(number) for number in range(layout.shards)]
    metas = [meta_of(folder) for folder in folders if is_begun(folder)]
    moved = [place for meta in metas if meta is not None for place in meta.moved]
    return Scope([*collection.seeds, *moved], collection.config.scope)
