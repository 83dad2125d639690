"""Who has what: tasks that were lent out, until they are reported or their time is over.

A lease lives in memory only. The URL keeps its place in its queue until the outcome is known, so a process that dies
loses no URL: whoever opens the state again finds it waiting.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from periplus.model import FetchTask, Purpose, Site, Ticket, Url
from periplus.urls import site_of

from .agenda import Agenda


class Lease(Struct, frozen=True):
    """A task, the place that its URL keeps in the queue (none for robots.txt), and the site that it is visiting.

    `is_resumed`: another process had it, and its outcome is known already.
    """

    task: FetchTask
    ticket: Ticket | None
    visited: Site
    is_resumed: bool = False

    @property
    def is_of_page(self) -> bool:
        """Whether it counts as a page: robots.txt and what else sites publish about themselves does not."""
        return self.task.purpose is Purpose.PAGE


class Leases:
    """All leases, by site and URL."""

    def __init__(self) -> None:
        self._leases: dict[tuple[Site, Url], Lease] = {}
        self._ends: Agenda[float, tuple[Site, Url]] = Agenda()

    def __len__(self) -> int:
        return len(self._leases)

    def __iter__(self) -> Iterator[Lease]:
        return iter(self._leases.values())

    def grant(self, lease: Lease) -> None:
        """Note that this task is out."""
        key = (lease.task.site, lease.task.url)
        self._leases[key] = lease
        self._ends.put(key, lease.task.lease_ends_at)

    def end(self, task: FetchTask) -> Lease | None:
        """The lease of a task that came back; `None` if it was over before, or another now has that URL."""
        key = (task.site, task.url)
        lease = self._leases.get(key)
        if lease is None or (lease.task is not task and lease.task != task):
            return None
        self._ends.drop(key)
        return self._leases.pop(key)

    def holds(self, url: Url) -> bool:
        """Whether a page is out."""
        return (site_of(url), url) in self._leases

    def expired(self, now: float) -> list[Lease]:
        """End every lease whose time is over."""
        over = []
        while (key := self._ends.pop_until(now)) is not None:
            over.append(self._leases.pop(key))
        return over

    @property
    def next_end(self) -> float | None:
        """When the first lease ends."""
        return self._ends.first

    @property
    def weight(self) -> int:
        """How many entries are held: what memory grows with."""
        return len(self._leases) + self._ends.weight
