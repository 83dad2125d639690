"""What waits in the queues of a collection, read from what its shards have committed: also while a crawl runs."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from itertools import islice

from msgspec import Struct

from periplus.crawl.router import owner_of
from periplus.model import Lane, Site, Url
from periplus.store import DiskState

from .collection import states
from .layout import Layout

MAX_LINES = 1_000_000
"""URLs that are listed at most: about 100 MB of text."""
_SITES_LOOKED_AT = 100_000
"""Queues that are looked at for the longest ones: about a second."""


class WaitingSite(Struct, frozen=True):
    """A site where URLs wait: how many in each lane."""

    site: Site
    queued: int
    lanes: dict[str, int]


class WaitingUrl(Struct, frozen=True):
    """A URL that waits. `level` is its place: 0 comes first."""

    url: Url
    lane: str
    level: int


def longest_queues(layout: Layout, most: int) -> list[WaitingSite]:
    """The sites with the most waiting URLs, of the first hundred thousand queues."""
    found: list[WaitingSite] = []
    with states(layout) as opened:
        for state in opened.values():
            sites = dict.fromkeys(site for site, _, _ in islice(state.queues.waiting(), _SITES_LOOKED_AT))
            found += nlargest(most, (_waiting_site(state, site) for site in sites), key=lambda each: each.queued)
    return sorted(found, key=lambda each: (-each.queued, each.site))[:most]


def _waiting_site(state: DiskState, site: Site) -> WaitingSite:
    lanes = {lane.value: state.queues.length(site, lane) for lane in Lane}
    lanes = {lane: length for lane, length in lanes.items() if length}
    return WaitingSite(site, sum(lanes.values()), lanes)


def queue_of(layout: Layout, site: Site, most: int = MAX_LINES) -> list[WaitingUrl]:
    """The URLs of a site that wait, lane by lane, in the order in which they are taken."""
    number = owner_of(site, max(layout.shards, 1))
    with states(layout) as opened:
        return list(islice(_queue(opened[number], site, most), most)) if number in opened else []


def _queue(state: DiskState, site: Site, most: int) -> Iterator[WaitingUrl]:
    for lane in Lane:
        for ticket in state.queues.heads(site, lane, most):
            yield WaitingUrl(ticket.entry.url, lane.value, ticket.entry.level)


def all_waiting(layout: Layout) -> Iterator[Url]:
    """Every page that waits, once, at most `MAX_LINES` of each shard; the state is open until the last was taken."""
    with states(layout) as opened:
        for state in opened.values():
            yield from islice(_all_of(state), MAX_LINES)


def _all_of(state: DiskState) -> Iterator[Url]:
    for site in dict.fromkeys(site for site, _, _ in islice(state.queues.waiting(), _SITES_LOOKED_AT)):
        seen: dict[Url, None] = {}
        for lane in (Lane.DISCOVERY, Lane.SITEMAPS, Lane.REFRESH):
            seen.update((ticket.entry.url, None) for ticket in state.queues.heads(site, lane, MAX_LINES))
        yield from seen
