"""A site's two sources of pages: what is taken from which, and what each is credited for.

A URL that links lead to and sitemaps list waits in both lanes and is fetched once: whoever comes second finds it
settled. What came of it counts for both (Schonfeld & Shivakumar 2009, section 6; `policy.balance` has the rest).
"""

from __future__ import annotations

from periplus.model import Fetched, FetchOutcome, FetchTask, Lane, Purpose, Queued, Queues, Reading, Ticket, UrlRecord
from periplus.urls import fingerprint

from .admission import LANES
from .retries import RetrySettings, is_tried_again
from .robots import robots_url
from .rounds import Rounds
from .takings import credit
from .workbench import ActiveSite

_OF_NEW = frozenset({Lane.DISCOVERY, Lane.SITEMAPS})
"""Where pages wait for their first visit."""
_LOOKED_AT = (100, 10_000, 200_000)
"""What was out is among so many at the front of its queue; the more, the more was refused and not yet committed."""


def is_settled(entry: Queued, record: UrlRecord, retries: RetrySettings) -> bool:
    """Whether a URL that waits for its first visit has had it: it waited in two lanes, and the other was sooner."""
    lane = entry.lane
    if lane is Lane.FILES and entry.url == robots_url(entry.url):
        return True  # it waited so that its site be asked for it, and that was done before anything else
    if lane not in _OF_NEW or not (record.visits or record.reason):
        return False
    return record.visits > 0 or not is_tried_again(retries, record.reason, record.failures)


def place_of(queues: Queues, task: FetchTask) -> Ticket | None:
    """The place that the URL of a task keeps in its queue, or in the other if it waits in two."""
    others = _OF_NEW - {task.lane} if task.lane in _OF_NEW else ()
    found = (_place_in(queues, lane, task) for lane in (task.lane, *others))
    return next((ticket for ticket in found if ticket is not None), None)


def _place_in(queues: Queues, lane: Lane, task: FetchTask) -> Ticket | None:
    for limit in _LOOKED_AT:
        heads = queues.heads(task.site, lane, limit)
        found = next((head for head in heads if head.entry.url == task.url), None)
        if found is not None or len(heads) < limit:
            return found
    return None


class Sources:
    """Keeps the accounts of the sites that have two sources."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds

    def took(self, active: ActiveSite, entry: Queued, record: UrlRecord) -> None:
        """A page is taken from one of them."""
        if Lane.SITEMAPS not in active.lanes or entry.lane not in _OF_NEW:
            return
        known_to = {LANES[seen.source] for seen in record.first_seen}
        is_shared = len(known_to & _OF_NEW) > 1
        self._rounds.balance(active).took(entry.lane, entry.level, fingerprint(entry.url), is_shared=is_shared)
        active.is_changed = True

    def pass_by(self, active: ActiveSite, ticket: Ticket) -> None:
        """A page is the next of one of them, and the other was sooner: it counts for both, and leaves the queue."""
        entry = ticket.entry
        if active.balance is not None and entry.lane in _OF_NEW:
            active.balance.came_to(entry.lane, entry.level, fingerprint(entry.url))
        self._rounds.remove(active, ticket)

    def learnt(self, active: ActiveSite, outcome: FetchOutcome, reading: Reading | None, reason: str) -> None:
        """What came of a page, for good."""
        task = outcome.task
        if task.purpose is not Purpose.PAGE:
            return
        is_good = _is_good(outcome, reading, reason)
        if active.balance is not None:
            active.balance.learnt(fingerprint(task.url), is_good)
        if task.lane in _OF_NEW:
            credit(active.state, task.lane, is_good)
            active.is_changed = True


def _is_good(outcome: FetchOutcome, reading: Reading | None, reason: str) -> bool:
    """Whether a page entered the collection as unique and indexable: what a source is credited for."""
    if not isinstance(outcome, Fetched) or reason or reading is None:
        return False
    return not reading.is_copy and reading.is_indexable
