"""The loop of a shard: wait, archive, log, apply, carry out.

Tasks that the machine grants go to the wire. Answers are written to the WARC and logged before they are applied. About
once a second everything is committed: first the WARC and the rows of the tables, then in one transaction the state that
refers to them. So whenever the process dies, every record is readable and nothing is counted twice.

`recover` opens the last commit and applies the logged inputs again, in the same order and with the same times. There is
no other recovery code.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import (
    Batch,
    Bid,
    Clock,
    Discovery,
    Fetched,
    FetchOutcome,
    FetchTask,
    Freshness,
    NextVisit,
    NotModified,
    Purpose,
    Redirected,
    Url,
)
from periplus.store import Archive, LearntFiles, State
from periplus.store.tables import Tables
from periplus.view.wording import lasting

from .clock import RateLimiter, TokenBucket
from .frontier import AddressClaims, AddressShares, ClaimsReport, CutOff
from .inputs import (
    Acknowledged,
    AddressesReviewed,
    Answered,
    Claim,
    Discovered,
    Emit,
    Fetch,
    FetchAnswer,
    Flushed,
    Granted,
    Input,
    Learnt,
    PageBudgetSet,
    Received,
    Restarted,
    ScopeExtended,
    SharesSet,
    SitemapsSubmitted,
    Steered,
    Tick,
    VisitBudgetSet,
)
from .log import InputLog
from .machine import Machine
from .overview import FrontierStats, frontier_stats
from .router import OutgoingMessages
from .settings import EngineSettings
from .standstill import PATIENCE, DefectLog, Standstill, stands_still
from .stats import CrawlStats
from .wire import Wire

log = logging.getLogger(__name__)

_LONGEST_WAIT = 0.5
"""Maximum seconds of one wait."""
ANSWERS_PER_INPUT = 32
"""Answers that are applied together: enough for the steps of reading to share the processor's caches."""
BYTES_PER_INPUT = 4 * 2**20
"""Bytes of bodies beyond which answers are not applied together: reading a page takes some ten times its size."""
_LEARN_EVERY = 0.5
"""Seconds between two looks for what jobs have learnt while nothing is under way."""
_REVIEW_EVERY = 15.0
"""Seconds between two reviews of the addresses that no site uses any more."""
_DAY = 86_400.0
_UPCOMING = 5
"""Upcoming revisits that a status shows."""


def _is_archived(outcome: FetchOutcome) -> TypeGuard[Fetched | NotModified | Redirected]:
    """Whether an outcome goes to the archive: not without an answer, and not a probe."""
    is_answer = isinstance(outcome, Fetched | NotModified | Redirected)
    return is_answer and outcome.task.purpose is not Purpose.PROBE


def _groups(outcomes: Iterable[FetchOutcome]) -> list[list[FetchOutcome]]:
    """Outcomes that are applied together, the first group last."""
    groups: list[list[FetchOutcome]] = [[]]
    size = 0
    for outcome in outcomes:
        length = len(outcome.body) if isinstance(outcome, Fetched) else 0
        size += length
        if len(groups[-1]) == ANSWERS_PER_INPUT or size > BYTES_PER_INPUT:
            groups.append([])
            size = length
        groups[-1].append(outcome)
    return [group for group in reversed(groups) if group]


class ShardClock(Clock, Protocol):
    """A clock that may be faster than real time."""

    @property
    def speed(self) -> float:
        """Its seconds in a real second."""


class ShardFiles(Struct, frozen=True):
    """What a shard writes, and a commit makes durable: answers, rows, state, and the inputs since the last commit.

    `learnt` are the files that jobs write for it.
    """

    archive: Archive
    tables: Tables
    state: State
    log: InputLog
    learnt: LearntFiles | None = None

    def close(self) -> None:
        """Close every file."""
        self.archive.close()
        self.log.close()
        self.tables.close()
        self.state.close()


class Engine:
    """Runs one machine on one wire, at a rate."""

    def __init__(
        self,
        settings: EngineSettings,
        *,
        machine: Machine,
        wire: Wire,
        files: ShardFiles,
        clock: ShardClock,
        limiter: RateLimiter | TokenBucket,
        outbound: OutgoingMessages,
        claims: AddressClaims | None = None,
    ) -> None:
        self._settings = settings
        self.machine = self._machine = machine
        self._wire = wire
        self._files = files
        self._archive, self._tables, self._state, self._log = files.archive, files.tables, files.state, files.log
        self._clock = clock
        self._limiter = limiter
        self._outbound = outbound
        self._claims = claims
        self._speed = speed = clock.speed
        self._commits = machine.meta.commits
        self.committed_rows = machine.meta.tables  # the mark of the tables as of the last commit (see `store.tables`)
        self._uncommitted = self._logged = 0
        now = clock.now()
        self.committed_at, self.commit_seconds = now, 0.0  # up to when all is committed, and how long that took
        self._commit_at = now + settings.checkpoint_interval
        self._review_at = now + _REVIEW_EVERY * speed
        self._learn_at = now
        self.is_stopping = self.is_paused = False
        self._standstill, self._defects = Standstill(PATIENCE * speed), DefectLog()
        self._cut_off: CutOff | None = None

    # the loop

    def step(self, timeout: float = _LONGEST_WAIT) -> None:
        """Run one turn: start what may be started, wait a little for what ends, and apply it."""
        now = self._clock.now()
        slots = self._slots(now)
        if slots and self._machine.wants_grant(now):
            self._apply([Granted(slots, now)])
        outcomes = self._wire.finished(self._time_to_wait(now, timeout))
        if outcomes:
            self._answered(outcomes)
        now = self._clock.now()
        if self._machine.wants_tick(now):
            self._apply([Tick(now)])
        if now >= self._review_at:
            self._review_at = now + _REVIEW_EVERY * self._speed
            self._apply([AddressesReviewed(now)])
        if self._is_checkpoint_due():
            self.checkpoint()
            self._learn()
        elif not self._wire.under_way and now >= self._learn_at:  # it may wait for what a job learns
            self._learn()
        self._look_for_standstill(now)
        self._log_cut_off(now)

    def _log_cut_off(self, now: float) -> None:
        """Log when no server can be reached any more, and when one can again."""
        before, self._cut_off = self._cut_off, self._machine.frontier.reach.cut_off
        if before is None and self._cut_off is not None:
            sites, reason = self._cut_off.sites, self._cut_off.reason
            log.warning("cut off: none of %d sites can be reached (%s); the crawl waits and tries again", sites, reason)
        elif before is not None and self._cut_off is None:
            log.warning("servers can be reached again after %s; the crawl goes on", lasting(now - before.since))

    def _look_for_standstill(self, now: float) -> None:
        """Schedule everything again if the crawl stands still; the second time in vain, end it."""
        may_go_on = not (self._wire.under_way or self.is_stopping or self.is_paused) and self._limiter.room(now) > 0
        is_still = may_go_on and stands_still(self._machine, now)
        if self._standstill.is_over_patience(now, is_still=is_still):
            self.checkpoint()
            self._standstill.repair(self._machine)
            self._replay(Restarted(now))
            self.checkpoint()

    def _learn(self) -> None:
        """Take over what jobs have learnt."""
        self._learn_at = self._clock.now() + _LEARN_EVERY * self._speed
        if self._files.learnt is not None:
            newer = self._files.learnt.newer_than(self._machine.learnt)
            if newer:
                self._apply([Learnt(kind, generation, self._clock.now()) for kind, generation in newer.items()])

    def _slots(self, now: float) -> int:
        if self.is_stopping or self.is_paused or self._machine.router.is_full:
            return 0
        return min(self._wire.free_slots, self._limiter.room(now))

    def _time_to_wait(self, now: float, timeout: float) -> float:
        if self._machine.wants_tick(now):
            return 0.0
        if self.is_stopping or self.is_paused or not self._wire.free_slots or self._machine.router.is_full:
            return timeout
        next_at = self._machine.frontier.next_at if self._limiter.room(now) else self._limiter.next_at(now)
        return timeout if next_at is None else min(max(next_at - now, 0.0) / self._speed, timeout)

    def _answered(self, outcomes: list[FetchOutcome]) -> None:
        """Archive what arrived, log it, and apply it."""
        now = self._clock.now()
        groups = _groups(outcomes)
        outcomes.clear()  # a group is freed as soon as it is applied
        while groups:
            group = groups.pop()
            self._apply([Answered(self._archived(group), now, self._archive.end)])
            self._uncommitted += len(group) - 1

    def _archived(self, outcomes: Sequence[FetchOutcome]) -> tuple[FetchAnswer, ...]:
        """Outcomes with their places in the archive, which has them when this returns."""
        exchanges = [(outcome, self._wire.request_bytes(outcome.task)) for outcome in outcomes if _is_archived(outcome)]
        kept = iter(self._archive.write_all(exchanges))
        return tuple(
            FetchAnswer(outcome, *next(kept)) if _is_archived(outcome) else FetchAnswer(outcome) for outcome in outcomes
        )

    def _apply(self, inputs: Sequence[Input]) -> None:
        """Log inputs, apply them, and carry out their effects."""
        self._log.append(inputs)
        for each in inputs:
            effects = self._machine.apply(each)
            self._uncommitted += len(effects) if isinstance(each, Granted | AddressesReviewed) else 1
            self._standstill.moved(effects)
            for effect in effects:
                match effect:
                    case Fetch(task=task):
                        self._start(task, each.at)
                    case Emit(events=events):
                        self._tables.record(events)
                    case Claim(claimed=claimed, released=released):
                        self._claim(claimed, released)
        self._logged += len(inputs)

    def _start(self, task: FetchTask, now: float) -> None:
        if task.ip is not None and (self._limiter.counts_robots or task.purpose is not Purpose.ROBOTS):
            self._limiter.begin(now)
        self._wire.start(task)

    def _claim(self, claimed: Iterable[int], released: Iterable[int]) -> None:
        if self._claims is not None:
            for key in claimed:
                self._claims.enter(key)
            for key in released:
                self._claims.leave(key)

    # inputs from outside

    def discover(self, discoveries: Sequence[Discovery], *, at_once: bool = True) -> None:
        """Seeds and pings; durable at once, or with the next commit."""
        self._apply([Discovered(tuple(discoveries), self._clock.now())])
        if at_once:
            self.checkpoint()

    def submit_sitemaps(self) -> None:
        """Have the sitemaps fetched that the settings name."""
        self._apply([SitemapsSubmitted(self._clock.now())])

    def receive(self, batch: Batch) -> None:
        """Take a batch of another shard."""
        if batch.number <= self._state.exchange.taken(batch.sender):
            self._outbound.came_again(batch)
        self._apply([Received(batch, self._clock.now())])

    def acknowledged(self, receiver: int, number: int) -> None:
        """Record that another shard has committed a batch, and all before it."""
        self._outbound.acknowledged(receiver, number)
        self._apply([Acknowledged(receiver, number, self._clock.now())])

    def set_page_budget(self, pages: int | None, *, is_spent: bool = False) -> None:
        """Set how many pages may be fetched in all; and whether all shards together have fetched theirs."""
        self._apply([PageBudgetSet(pages, self._clock.now(), is_spent)])

    def set_visit_budget(self, visits_per_day: float) -> None:
        """Set how many revisits a day may be made, if the collection is watched."""
        if isinstance(self._limiter, TokenBucket):
            now = self._clock.now()
            self._limiter.change(visits_per_day / _DAY, now)
            self._apply([VisitBudgetSet(visits_per_day, now)])

    def set_address_shares(self, shares: AddressShares) -> None:
        """Among how many shards our addresses are divided."""
        if self._claims is not None:
            self._claims.update(shares)
            news = tuple((key, self._claims.share(key)) for key in self._claims.news())
            if news:
                self._apply([SharesSet(news, self._clock.now())])

    def extend_scope(self, places: Sequence[Url]) -> None:
        """Take places into the scope that seeds have moved to."""
        self._apply([ScopeExtended(tuple(places), self._clock.now())])

    def steer(self, excluded: Sequence[str], preferred: Sequence[str], allowed: Sequence[str]) -> None:
        """Patterns of URLs that people exclude or prefer, or allow again."""
        self._apply([Steered(tuple(excluded), tuple(preferred), tuple(allowed), self._clock.now())])

    def set_rate(self, rate: float | None) -> None:
        """Set how many requests all shards together may start in a second; 0: any number; `None`: the initial limit."""
        if isinstance(self._limiter, RateLimiter):
            self._limiter.change(rate, self._clock.now())

    # what others see

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits that can be had and nothing is under way; or the page budget was fetched."""
        machine, now = self._machine, self._clock.now()
        return machine.is_idle(now) or machine.awaits_missing_servers(now)

    @property
    def is_quiet(self) -> bool:
        """Whether everything is committed, and nothing is on its way to other shards."""
        return not self._uncommitted and self._machine.router.is_quiet and self._outbound.is_quiet

    def stats(self) -> tuple[FrontierStats, CrawlStats]:
        """The frontier and the crawl in numbers."""
        machine, frontier = self._machine, self._machine.frontier
        stats = frontier_stats(
            self._state,
            frontier,
            setbacks=frontier.setbacks,
            has_unread=machine.has_unread,
            listed=machine.listed,
        )
        return stats, machine.stats

    def freshness(self) -> Freshness | None:
        """Measure how fresh the collection is, if it is watched."""
        return self._machine.revisits.freshness(self._clock.now(), self._machine.frontier.revisits_waiting)

    def bid(self) -> Bid | None:
        """The bid of this shard for visits, if the collection is watched."""
        return self._machine.revisits.bid(self._clock.now(), self._machine.frontier.revisits_waiting)

    def next_visits(self) -> Sequence[NextVisit]:
        """The next revisits and their reasons, if the collection is watched."""
        return self._machine.revisits.upcoming(self._clock.now(), _UPCOMING)

    def collect(self) -> tuple[list[Url], list[Batch], dict[int, int]]:
        """Collect what is to be sent to other shards: places, batches, receipts."""
        return self._outbound.collect()

    def batch_numbers(self) -> tuple[dict[int, int], dict[int, int]]:
        """The last batches sent to each other shard, and received from each."""
        return self._outbound.numbers()

    def claims_report(self) -> ClaimsReport | None:
        """The report of our addresses for the coordinator, if there are other shards."""
        return None if self._claims is None else self._claims.report()

    def wake(self) -> None:
        """Make a waiting `step` return at once."""
        self._wire.wake()

    # durability

    def recover(self) -> int:
        """Continue where the last process was: how many requests had ended since its last commit."""
        answered = self.replay()
        if self._commits:
            self._replay(Restarted(self._clock.now()))
        self.checkpoint()
        self._learn()
        return answered

    def replay(self) -> int:
        """Apply what was logged since the last commit; how many requests had ended in it."""
        answered = 0
        deaths = self._log.deaths(self._commits)
        index = -1
        for index, given in enumerate(self._log.read(self._commits)):
            self._log.trying(self._commits, index)
            answered += sum(answer.is_request for answer in given.answers) if isinstance(given, Answered) else 0
            if deaths.inputs[index] and isinstance(given, Answered):
                self._replay_one_by_one(given, index)
            elif deaths.inputs[index] > 1 and isinstance(given, Tick):
                log.error("sitemaps are kept but not read: processes that read them died")
                self._replay(replace(given, is_read=False))
            else:
                self._replay(given)
        if index >= 0:
            self._log.tried(self._commits)
        return answered

    def _replay(self, given: Input) -> None:
        """Apply an input again. Requests were made already; rows of the tables are written again.

        Claims of the last process are void: those that hold now are made by `Restarted`, for all addresses.
        """
        for effect in self._machine.apply(given):
            match effect:
                case Emit(events=events):
                    self._tables.record(events)
                case Claim(claimed=claimed, released=released) if isinstance(given, Restarted):
                    self._claim(claimed, released)
                case _:
                    pass

    def _replay_one_by_one(self, given: Answered, index: int) -> None:
        """Replay answers of which one killed a process: each is announced, and one that killed two is not read."""
        deaths = self._log.deaths(self._commits)
        for place, answer in enumerate(given.answers):
            self._log.trying(self._commits, index, place)
            if deaths.is_deadly(index, place):
                log.error("%s is kept but not read: processes that read it died", answer.outcome.task.url)
                answer = replace(answer, is_read=False)
            self._replay(replace(given, answers=(answer,)))

    def _is_checkpoint_due(self) -> bool:
        now = self._clock.now()
        are_many = max(self._uncommitted, self._logged // 4) >= self._settings.checkpoint_outcomes
        if self._uncommitted == 0 and not are_many:
            self.committed_at, self._commit_at = now, max(self._commit_at, now + self._settings.checkpoint_interval / 2)
            return False
        return now >= self._commit_at or are_many or self._state.uncommitted >= self._settings.checkpoint_rows

    def checkpoint(self, *, is_last: bool = False) -> None:
        """Make everything durable up to here: what is pointed to first, then what points."""
        began_at = self._clock.now()
        self._defects.check(self._machine)
        self._apply([Flushed(began_at)])
        self._archive.sync()
        tables = self._tables.settle() if is_last else self._tables.checkpoint()
        meta = self._machine.flush()
        self._commits += 1
        meta.commits, meta.archive, meta.tables = self._commits, self._archive.end, tables
        self._state.put_meta(meta)
        self._state.commit()
        self.committed_rows = tables
        self._log.begin(self._commits)
        self._outbound.committed(meta.moved)
        self._uncommitted = self._logged = 0
        now = self._clock.now()
        self.committed_at, self.commit_seconds = now, now - began_at
        wait = self.commit_seconds / self._settings.checkpoint_share
        self._commit_at = now + max(self._settings.checkpoint_interval, wait)

    def finish_reading(self) -> None:
        """Read every sitemap that has arrived to its end, and pass on what it lists of other shards' sites."""
        while self._machine.is_reading:
            self._apply([Tick(self._clock.now())])
            if self._is_checkpoint_due():
                self.checkpoint()

    def stop(self, grace: float) -> None:
        """Start nothing more, wait for what is under way at most `grace` seconds, and make everything durable."""
        self.is_stopping = True
        until = self._clock.now() + grace
        while self._wire.under_way and self._clock.now() < until:
            self.step(min(_LONGEST_WAIT, until - self._clock.now()))
        self._wire.cancel_all()
        self.step(0.0)
        self.checkpoint(is_last=True)

    def close(self) -> None:
        """Close the wire and every file."""
        self._wire.close()
        self._files.close()
