"""The consequences of an outcome: for the URL, for its site, and for learning.

A URL is retried later or leaves its queue, and its record gets the result. Its site rests for as long as politeness
requires, backs off, or is given up.
"""

from __future__ import annotations

from msgspec.structs import replace

from periplus.formats.headers import Headers, validators_of
from periplus.model import (
    BodyReading,
    ChangeLevel,
    Excluded,
    Fetched,
    FetchOutcome,
    Lane,
    NotModified,
    Purpose,
    Redirected,
    Ticket,
    UrlRecord,
    Validators,
)

from .desk import FrontierDesk
from .outages import Outages
from .politeness import (
    OUR_OWN,
    OUTAGE,
    Retry,
    asked_for,
    delay_after,
    is_known_to_fail,
    is_tried_again,
    reason_of,
    received_in_browser,
    retry_for,
    visits_of,
)
from .preflight import BackOff, SitePreflight
from .schedule import Schedule
from .scores import Scores
from .selection import CandidateSelector
from .site import ActiveSite

_VALIDATOR_LENGTHS = (len("ETag"), len("Last-Modified"))
"""Characters of the names of the headers that validators are in."""
_OVER_BUDGET_PAUSE = 10.0
"""Seconds for which a site rests whose answer did not fit into memory beside others."""


class Reports:
    """Handles outcomes. `pages_done` counts the pages that were fetched in all."""

    def __init__(
        self,
        desk: FrontierDesk,
        schedule: Schedule,
        selector: CandidateSelector,
        preflight: SitePreflight,
        scores: Scores,
        *,
        back_off: BackOff,
        outages: Outages,
        pages_done: int,
    ) -> None:
        self._outages = outages
        self._state = desk.state
        self._guard = desk.guard
        self._revisits = desk.revisits
        self._politeness = desk.rules.politeness
        self._retries = desk.rules.retries
        self._schedule = schedule
        self._selector = selector
        self._preflight = preflight
        self._scores = scores
        self._back_off = back_off
        self.pages_done = pages_done

    def page(
        self, active: ActiveSite, ticket: Ticket, outcome: FetchOutcome, reading: BodyReading | None, now: float
    ) -> None:
        """Handle the outcome of a request for a page or a sitemap."""
        reason = reason_of(outcome)
        if isinstance(outcome, Excluded):
            self._selector.forgo(active, ticket, outcome.reason)
            self._preflight.give_up(active, outcome.reason, now)
            return
        if reason not in OUR_OWN:
            record = self._selector.record_of(ticket.entry)
            is_again = is_tried_again(self._retries, reason, record.failures + 1)
            if is_again and not self._outages.asks_others(active.record, record, reason):
                self._retry(active, ticket, record, outcome, reason, now)
            else:
                self._selector.remove(active, ticket)
                self._learn(active, record, outcome, reading, reason, now)
        self.finish_request(active, outcome, reason, now)

    def _retry(
        self, active: ActiveSite, ticket: Ticket, record: UrlRecord, outcome: FetchOutcome, reason: str, now: float
    ) -> None:
        """Schedule the next attempt of a URL, while other URLs of its site continue.

        If the failure concerns the site, the whole site backs off, and the URL keeps its place. If it was answered and
        others wait, it is postponed for twice as long: one of them is next, which shows whether the site is broken or
        the URL.
        """
        self._state.records.put([after_failure(record, outcome, reason)])
        failures = record.failures + 1
        if retry_for(reason).is_of_site and not is_known_to_fail(outcome):
            if not isinstance(outcome, Fetched) or active.queue_length == 1:
                return
            failures = active.record.failures + 2
        self._selector.remove(active, ticket)
        due_at = now + self._back_off(outcome, failures, now)
        self._state.queues.postpone([(due_at, ticket.entry)])
        self._selector.embedded_waiting += ticket.entry.lane is Lane.EMBEDDED

    def _learn(
        self,
        active: ActiveSite,
        record: UrlRecord,
        outcome: FetchOutcome,
        reading: BodyReading | None,
        reason: str,
        now: float,
        *,
        is_live: bool = True,
    ) -> None:
        after = after_visit(record, outcome, reading, reason)
        if outcome.task.purpose is Purpose.PAGE:
            if is_live and self._outages.saw(active.record, record, outcome, reading, reason, now):
                self._state.records.put([self._revisits.put_off(as_kept(record, after), now)])
                return
            after = self._revisits.visited(active.record, record, after, outcome, reading, now)
            self._count(outcome, reading, reason)
        self._state.records.put([after])
        if outcome.task.purpose is not Purpose.PROBE:
            self._selector.learn(active, outcome, reading, reason)

    def _count(self, outcome: FetchOutcome, reading: BodyReading | None, reason: str) -> None:
        if reason or not isinstance(outcome, NotModified | Fetched):
            return
        self.pages_done += 1
        self._scores.pages = self.pages_done
        if isinstance(outcome, Fetched) and outcome.task.visited_at is None:  # a revisit finds what it knows
            self._guard.observe(outcome.task.url, reading is not None and not reading.is_repeated)

    def finish_request(self, active: ActiveSite, outcome: FetchOutcome, reason: str, now: float) -> None:
        """After a request: until when the site is left alone, or whether it is given up."""
        record = active.record
        record.last_duration = getattr(outcome, "duration", 0.0)
        if reason in OUR_OWN:
            pause = _OVER_BUDGET_PAUSE if reason == "over-budget" else 0.0
            self._schedule.place(active, max(self._rested_at(active, outcome, now), now + pause))
            return
        if isinstance(outcome, Fetched | Redirected):
            size = outcome.size if isinstance(outcome, Fetched) else len(outcome.body)
            record.downloaded += size + received_in_browser(outcome)
        record.pages += outcome.task.purpose is Purpose.PAGE
        record.files += outcome.task.purpose is Purpose.SITEMAP
        retry = retry_for(reason)
        record.failures = record.failures + 1 if retry.again else 0
        if record.failures == 1:
            self._outages.failing(record, now)
        if record.failures >= self._retries.max_site_failures:
            self._preflight.give_up(active, reason, now)
        elif record.downloaded > self._politeness.max_bytes_per_site:
            self._preflight.give_up(active, "site-bytes", now)
        else:
            self._rest(active, outcome, retry, now)

    def _rest(self, active: ActiveSite, outcome: FetchOutcome, retry: Retry, now: float) -> None:
        """Continue a visit for some pages, unless something failed or robots.txt asks for a delay."""
        record = active.record
        until = self._rested_at(active, outcome, now)
        is_tired = retry.again and (retry.is_of_site or record.failures > 2) and not is_known_to_fail(outcome)
        if is_tired or asked_for(outcome, now) is not None:
            until = max(until, now + self._back_off(outcome, record.failures, now))
        record.ready_at = max(record.ready_at, until)
        active.taken = 0 if retry.again or record.delay else (active.taken + 1) % self._politeness.pages_per_visit
        self._schedule.place(active, now if active.taken else until)

    def _rested_at(self, active: ActiveSite, outcome: FetchOutcome, now: float) -> float:
        ended_at = getattr(outcome, "started_at", now) + active.record.last_duration
        delay = delay_after(self._politeness, active.record.delay, active.record.last_duration)
        if isinstance(outcome, Fetched) and outcome.rendering is not None:  # its scripts asked the site until now
            return max(ended_at, now) + delay * visits_of(outcome)
        return float(ended_at + delay)

    def adopted(
        self,
        active: ActiveSite,
        ticket: Ticket,
        outcome: FetchOutcome,
        reading: BodyReading | None,
        now: float,
        *,
        is_counted: bool,
    ) -> None:
        """A page or a sitemap was fetched by a crawl whose state is lost. The task says how often it had failed.

        One that is tried again keeps its place: its next answer may be archived as well.
        """
        reason = reason_of(outcome)
        pages_done = self.pages_done
        record = replace(self._selector.record_of(ticket.entry), failures=outcome.task.attempt - 1)
        if is_tried_again(self._retries, reason, record.failures + 1):
            self._state.records.put([after_failure(record, outcome, reason)])
        else:
            self._selector.remove(active, ticket)
            self._learn(active, record, outcome, reading, reason, now, is_live=False)
        self.pages_done = self.pages_done if is_counted else pages_done
        self.finish_request(active, outcome, reason, now)


def after_visit(record: UrlRecord, outcome: FetchOutcome, reading: BodyReading | None, reason: str) -> UrlRecord:
    """The record after an answer that is final for now, be it good or bad."""
    match outcome:
        case NotModified(started_at=at):
            return replace(
                record, visits=record.visits + 1, fetched_at=at, failures=0, status=304, reason="", due_at=None
            )
        case Fetched(status=status, started_at=at, headers=headers):
            return replace(
                record,
                visits=record.visits + 1,
                changes=record.changes + _has_changed(reading),
                fetched_at=at,
                validators=_validators(headers) if not reason else record.validators,
                digests=reading.digests if reading is not None else record.digests,
                version=reading.version if reading is not None else record.version,
                blocks=reading.blocks if reading is not None else record.blocks,
                failures=record.failures + 1 if reason else 0,
                status=status,
                reason=reason,
                due_at=None,
                kept_at=at if not reason else record.kept_at,
            )
        case Redirected(status=status, started_at=at):
            return replace(
                record, visits=record.visits + 1, fetched_at=at, failures=0, status=status, reason="", due_at=None
            )
        case _:
            return after_failure(record, outcome, reason)


def as_kept(record: UrlRecord, after: UrlRecord) -> UrlRecord:
    """The record after a visit that says nothing of the page: its good version stays what the next is compared with."""
    return replace(
        after,
        changes=record.changes,
        validators=record.validators,
        digests=record.digests,
        version=record.version,
        blocks=record.blocks,
        failures=record.failures + 1,
        reason=after.reason or OUTAGE,
        kept_at=record.kept_at,
    )


def _validators(headers: tuple[tuple[str, str], ...]) -> Validators | None:
    named = [(name, value) for name, value in headers if len(name) in _VALIDATOR_LENGTHS]
    return validators_of(Headers(named)) if named else None


def after_failure(record: UrlRecord, outcome: FetchOutcome, reason: str) -> UrlRecord:
    """The record after a failed attempt."""
    status = getattr(outcome, "status", None)
    return replace(record, failures=record.failures + 1, status=status, reason=reason, due_at=None)


def _has_changed(reading: BodyReading | None) -> bool:
    """Whether a page counts as changed: a clock that moved on does not, nor does a word."""
    return reading is not None and reading.level is not None and reading.level >= ChangeLevel.MAJOR
