"""A site's two sources of pages: what is taken from which, and what each is credited for.

A URL that links lead to and sitemaps list waits in both lanes and is fetched once: whoever comes second finds it
settled. What came of it counts for both (Schonfeld & Shivakumar 2009, section 6; `policy.balance` has the rest).
"""

from __future__ import annotations

from periplus.model import Fetched, FetchOutcome, Lane, Purpose, Queued, Reading, UrlRecord
from periplus.urls import fingerprint

from .admission import LANES
from .retries import RetrySettings, is_tried_again
from .rounds import Rounds
from .workbench import ActiveSite

_OF_NEW = frozenset({Lane.DISCOVERY, Lane.SITEMAPS})


def is_settled(lane: Lane, record: UrlRecord, retries: RetrySettings) -> bool:
    """Whether a URL that waits for its first visit has had it: it waited in two lanes, and the other was sooner."""
    if lane not in _OF_NEW or not (record.visits or record.reason):
        return False
    return record.visits > 0 or not is_tried_again(retries, record.reason, record.failures)


class Sources:
    """Keeps the accounts of the sites that have two sources."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds

    def took(self, active: ActiveSite, entry: Queued, record: UrlRecord) -> None:
        """A page is taken from one of them; it counts for both, if both know it."""
        if Lane.SITEMAPS not in active.lanes or entry.lane not in _OF_NEW:
            return
        known_to = {LANES[seen.source] for seen in record.first_seen}
        other = entry.level if len(known_to & _OF_NEW) > 1 else None
        self._rounds.balance(active).took(entry.lane, entry.level, fingerprint(entry.url), other)
        active.is_changed = True

    def learnt(self, active: ActiveSite, outcome: FetchOutcome, reading: Reading | None, reason: str) -> None:
        """What came of a page, for good."""
        if active.balance is not None and outcome.task.purpose is Purpose.PAGE:
            active.balance.learnt(fingerprint(outcome.task.url), _is_good(outcome, reading, reason))


def _is_good(outcome: FetchOutcome, reading: Reading | None, reason: str) -> bool:
    """Whether a page entered the collection as unique and indexable: what a source is credited for."""
    if not isinstance(outcome, Fetched) or reason or reading is None:
        return False
    return not reading.is_copy and reading.is_indexable
