"""Who has what: tasks that were lent out, until they are reported or their time is over.

A lease lives in memory only. The URL keeps its place in its queue until the outcome is known, so a process that dies
loses no URL: whoever opens the state again finds it waiting.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from msgspec import Struct

from periplus.model import FetchTask, Site, Ticket, Url


class Lease(Struct, frozen=True):
    """A task, the place that its URL keeps in the queue (none for robots.txt), and the site that it is visiting."""

    task: FetchTask
    ticket: Ticket | None
    visited: Site


class Leases:
    """All leases, by site and URL."""

    def __init__(self) -> None:
        self._leases: dict[tuple[Site, Url], Lease] = {}
        self._ends: list[tuple[float, tuple[Site, Url]]] = []

    def __len__(self) -> int:
        return len(self._leases)

    def __iter__(self) -> Iterator[Lease]:
        return iter(self._leases.values())

    def grant(self, lease: Lease) -> None:
        """Note that this task is out."""
        key = (lease.task.site, lease.task.url)
        self._leases[key] = lease
        heappush(self._ends, (lease.task.lease_ends_at, key))
        if len(self._ends) > 4 * len(self._leases) + 1000:
            self._ends = sorted((held.task.lease_ends_at, key) for key, held in self._leases.items())

    def end(self, task: FetchTask) -> Lease | None:
        """The lease of a task that came back; `None` if it was over before, or another now has that URL."""
        lease = self._leases.get((task.site, task.url))
        if lease is None or lease.task != task:
            return None
        return self._leases.pop((task.site, task.url))

    def expired(self, now: float) -> list[Lease]:
        """End every lease whose time is over."""
        over = []
        while self._ends and self._ends[0][0] <= now:
            ends_at, key = heappop(self._ends)
            lease = self._leases.get(key)
            if lease is not None and lease.task.lease_ends_at == ends_at:
                over.append(self._leases.pop(key))
        return over

    def of_site(self, site: Site) -> set[Url]:
        """The URLs of a site that are out now, as far as they have a place in a queue."""
        return {lease.task.url for lease in self._leases.values() if lease.task.site == site and lease.ticket}

    @property
    def next_end(self) -> float | None:
        """No lease ends before this time."""
        return self._ends[0][0] if self._ends else None
