"""Granted tasks, until they are reported or their lease expires.

Open leases are part of every commit, so a frontier that is opened again knows which requests were under way. The URL of
a lease keeps its place in its queue until the outcome is known. The leases alone know what is under way at a site: the
scheduler asks them how many requests are, and the selector which URLs are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from periplus.model import FetchTask, InvariantError, Purpose, Site, Ticket, Url
from periplus.urls import site_of

from .heap import IndexedHeap


class Lease(Struct, frozen=True, array_like=True):
    """A task, the place of its URL in the queue (`None` for robots.txt), and the site."""

    task: FetchTask
    ticket: Ticket | None
    visited: Site

    @property
    def is_of_page(self) -> bool:
        """Whether it counts as a page: robots.txt and sitemaps do not."""
        return self.task.purpose is Purpose.PAGE

    @property
    def name(self) -> Url:
        """The name under which it waits in its queue, which for a probe is not the URL that is requested."""
        return self.task.url if self.ticket is None else self.ticket.entry.url


_Key = tuple[Site, Url, str]


def _key(task: FetchTask) -> _Key:
    """A page may be fetched while it is probed."""
    return task.site, task.url, task.probe


class Leases:
    """All open leases, by site, URL and kind of probe."""

    def __init__(self, leases: Iterable[Lease] = ()) -> None:
        self._leases: dict[_Key, Lease] = {}
        self._ends: IndexedHeap[float, _Key] = IndexedHeap()
        self._names: dict[Site, dict[Url, None]] = {}
        for lease in leases:
            self.grant(lease)

    def __len__(self) -> int:
        return len(self._leases)

    def __iter__(self) -> Iterator[Lease]:
        return iter(self._leases.values())

    def grant(self, lease: Lease) -> None:
        """Record that this task is out. The same task cannot be out twice."""
        key, names = _key(lease.task), self._names.setdefault(lease.visited, {})
        if key in self._leases or lease.name in names:
            raise InvariantError(f"{lease.name} was granted while it is being fetched")
        names[lease.name] = None
        self._leases[key] = lease
        self._ends.put(key, lease.task.lease_ends_at, key)

    def end(self, task: FetchTask) -> Lease | None:
        """The lease of a reported task; `None` if it had expired, or the URL was granted again since."""
        key = _key(task)
        lease = self._leases.get(key)
        if lease is None or (lease.task is not task and lease.task != task):
            return None
        self._ends.drop(key)
        return self._close(key)

    def _close(self, key: _Key) -> Lease:
        lease = self._leases.pop(key)
        names = self._names[lease.visited]
        del names[lease.name]
        if not names:
            del self._names[lease.visited]
        return lease

    def names(self, site: Site) -> Collection[Url]:
        """What is being fetched from a site, by the names in its queues."""
        return self._names.get(site, ())

    def under_way(self, site: Site) -> int:
        """The number of requests to a site that have not ended."""
        return len(self._names.get(site, ()))

    def holds(self, url: Url) -> bool:
        """Whether a page is out."""
        return (site_of(url), url, "") in self._leases

    def next_expired(self, now: float) -> Lease | None:
        """End the next expired lease. One at a time: others of its site are under way until their turn comes."""
        key = self._ends.pop_until(now)
        return None if key is None else self._close(key)

    def end_all(self) -> list[Lease]:
        """End every lease."""
        leases = list(self._leases.values())
        self._leases.clear()
        self._names.clear()
        self._ends = IndexedHeap()
        return leases

    def is_out(self, site: Site, url: Url) -> bool:
        """Whether a URL is being fetched for a site."""
        return (site, url, "") in self._leases

    @property
    def next_end(self) -> float | None:
        """When the first lease ends."""
        return self._ends.first

    @property
    def weight(self) -> int:
        """How many entries are held: what memory grows with."""
        return len(self._leases) + self._ends.weight
