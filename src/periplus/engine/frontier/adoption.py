"""Learns from the archived answers of a crawl whose state is lost, as if each had been granted and reported here.

The answers come in the order in which the crawl got them, so each is for a URL near the head of a queue, behind URLs
that the crawl had refused or fetched before: those leave the queue as they did then. What left no answer is not known
here: requests that failed, and addresses of sites.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from periplus.model import (
    BodyReading,
    Discovery,
    FetchOutcome,
    FetchTask,
    FirstSeen,
    Lane,
    Purpose,
    Queued,
    Ticket,
    UrlRecord,
)
from periplus.store import State
from periplus.urls import site_of

from .preflight import SitePreflight
from .reports import Reports
from .schedule import Schedule
from .scores import Scores
from .selection import CandidateSelector, file_name, queued_files


class Adoption:
    """Adopts answers. `discover` and `queued` are those of the frontier."""

    def __init__(
        self,
        state: State,
        schedule: Schedule,
        selector: CandidateSelector,
        preflight: SitePreflight,
        reports: Reports,
        scores: Scores,
        *,
        discover: Callable[[Sequence[Discovery], float], None],
        queued: Callable[[Sequence[Queued], float], None],
    ) -> None:
        self._state = state
        self._schedule = schedule
        self._selector = selector
        self._preflight = preflight
        self._reports = reports
        self._scores = scores
        self._discover = discover
        self._queued = queued

    def adopt(self, outcome: FetchOutcome, now: float, reading: BodyReading | None, *, is_counted: bool) -> None:
        """Learn from an answer. `is_counted`: whether it counts for the page budget of this shard."""
        task = outcome.task
        if task.purpose is Purpose.ROBOTS:
            self._preflight.adopted(outcome, now, self._reports.finish_request)
            return
        visited = self._schedule.summon(site_of(task.url), now)
        if task.purpose is Purpose.FILE and not self._is_embedded(task, now):
            self._reports.finish_request(visited, outcome, "", now)
            return
        if task.purpose is not Purpose.FILE:
            self._admit(task, now)
        ticket = self._selector.find(visited, task, now) or self._queue(task, now)
        record = self._selector.record_of(ticket.entry)
        self._selector.granted(visited, ticket.entry, record, now)
        self._reports.adopted(visited, ticket, outcome, reading, now, is_counted=is_counted)

    def _is_embedded(self, task: FetchTask, now: float) -> bool:
        """Whether a file waits because pages embed it, or does now; not that of an imported archive."""
        if task.lane is not Lane.EMBEDDED:
            return False
        found = Discovery(task.url, task.source, now, task.depth, redirects=task.redirects)
        self._queued(self._selector.queue_embedded([found]), now)
        active = self._schedule.summon(site_of(task.url), now)
        return self._selector.find(active, task, now) is not None

    def _admit(self, task: FetchTask, now: float) -> None:
        """Admit a URL that no archived answer links to: a page of another shard did, or one whose record is damaged."""
        is_file = task.purpose is Purpose.SITEMAP
        if self._state.records.get([file_name(task.url) if is_file else task.url])[0] is not None:
            return
        if is_file:
            self._queued(queued_files(self._state, [task.url], now), now)
            return
        self._discover([Discovery(task.url, task.source, now, task.depth, redirects=task.redirects)], now)
        seen = (FirstSeen(task.source, now),)
        self._state.records.add_new([UrlRecord(task.url, seen, task.depth, redirects=task.redirects)])

    def _queue(self, task: FetchTask, now: float) -> Ticket:
        """Queue a URL that was fetched but not queued here, such as a revisit."""
        entry = Queued(task.url, task.site, task.lane, 0)
        [ticket] = self._state.queues.push([entry])
        self._scores.released([ticket])
        self._queued([entry], now)
        return ticket

    def end(self, now: float) -> None:
        """End the adoption: what the crawl had refused since its last answers leaves the queues."""
        if self._scores.is_due:
            self._queued(self._scores.rank(), now)
        for site in dict.fromkeys(site for site, _, _ in self._state.queues.waiting()):
            active = self._schedule.summon(site, now)
            self._selector.drop_refused(active, now)
            self._schedule.place(active, now)
