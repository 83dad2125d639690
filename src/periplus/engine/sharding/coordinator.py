"""The one coordinator of a crawl: it decides for all shards together, from their status reports.

It decides how many pages each shard may fetch (`PageBudget`), how many visits per day it may make
(`Market`), its share of every address (`ClaimRegistry`), whether it is started again after its worker
died, and when the crawl is finished. It does no I/O, has no clock and knows no transport: processes of one machine
(`processes`) and Ray actors (`periplus_ray`) carry its messages. A shard reports several times a second and
gets its `Orders` in the answer. Orders state everything that holds now, so that one that is lost costs nothing, and are
numbered, so that a report says which of them it follows.

The end (Mattern 1987): every shard reports that it is idle and quiet after its last orders, and for every two shards
the number of the last batch that one sent is the number of the last batch that the other took. A shard that has ended
to be restarted is not at rest: its successor has yet to follow the orders. The reports are of different moments, but no
batch was sent after one of them and taken before another. So together they are one possible state of the whole crawl,
and in that state nothing will ever happen again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from ..frontier import ClaimsReport
from ..shard import Controls, ShardStatus
from .claims import ClaimRegistry
from .messages import Orders, ShardFailure, StatusReport

if TYPE_CHECKING:
    from ..revisit.market import Market

MAX_STARTS = 6
"""How often a shard is started without any progress before the crawl is given up: enough for a machine that is short of
memory for a while, and few enough that a page that kills its reader does not do so for long."""
_MAX_PORTION = 1000
"""Maximum number of pages granted to a shard at a time."""
_MIN_PORTION = 5
"""Minimum number: what a shard gets before its pace is known. It is small because a shard whose sites ask for long
delays may need minutes for a few pages, and the others cannot fetch what it was granted."""
_REPORTS_PER_PORTION = 8
"""Reports for which a portion lasts: several, so that a shard never waits for one, and few, so that at the limit no
shard waits for another that uses up its portion slowly."""


class PageUse(Protocol):
    """The data about a shard that the page budget needs.

    A shard that is neither hungry nor settled keeps what it was granted.
    """

    @property
    def done(self) -> int:
        """The number of pages fetched in total."""

    @property
    def pace(self) -> int:
        """Pages fetched between its last two reports."""

    @property
    def wants_more(self) -> bool:
        """Whether, by its last report, something is queued or being fetched."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing is queued or being fetched, and it knows that it may fetch no more than it has."""


class PageBudget:
    """How many pages each shard may fetch in total, so that together they fetch exactly `limit`, if there are as many.

    A shard is granted a portion at a time, as large as its pace, and an idle shard returns what it did not use. Pages
    that were granted and not returned are never granted again: however late a shard receives its orders, the sum holds.
    """

    def __init__(self, limit: int, shards: int, granted: Sequence[int] = ()) -> None:
        self.limit = limit
        self.granted = list(granted) or [0] * shards
        self._max_portion = max(1, min(_MAX_PORTION, limit // (4 * shards)))

    @property
    def left(self) -> int:
        """Pages that are granted to no shard."""
        return max(self.limit - sum(self.granted), 0)

    def is_spent(self, shards: Sequence[PageUse]) -> bool | None:
        """Whether all pages were fetched; `False` if a shard waits for what is left, `None` if none does."""
        if sum(shard.done for shard in shards) >= self.limit:
            return True
        return False if self.left and any(shard.wants_more for shard in shards) else None

    def allocate(self, shards: Sequence[PageUse]) -> None:
        """Take back what settled shards did not use, and grant portions to those that have used theirs."""
        for number, shard in enumerate(shards):
            self.granted[number] = shard.done if shard.is_settled else max(self.granted[number], shard.done)
        left = self.left
        for number, shard in enumerate(shards):
            unused = self.granted[number] - shard.done
            portion = min(self._portion(shard), left)
            if shard.wants_more and unused <= portion // 2:
                self.granted[number] += portion
                left -= portion

    def _portion(self, shard: PageUse) -> int:
        return min(max(_REPORTS_PER_PORTION * shard.pace, _MIN_PORTION), self._max_portion)


class _ShardState(Struct):
    """One shard: its last report, its orders, and how often it was started without progress.

    `is_inherited`: its worker was started under another coordinator, which sent it orders with numbers of its own.
    """

    pages: int | None
    is_inherited: bool
    report: StatusReport | None = None
    pace: int = 0
    visits_per_day: float | None = None
    number: int = 0
    starts: int = 0

    @property
    def done(self) -> int:
        return 0 if self.report is None else self.report.status.frontier.done

    @property
    def wants_more(self) -> bool:
        return self.report is not None and self.report.status.wants_more

    @property
    def has_orders(self) -> bool:
        return self.report is not None and self.report.orders == self.number

    @property
    def is_settled(self) -> bool:
        """Other shards may send it a batch at any time, so it must have applied that it may fetch no more pages."""
        return self.has_orders and not self.wants_more and self.pages == self.done

    @property
    def is_at_rest(self) -> bool:
        if self.report is None or not self.has_orders:
            return False
        return self.report.is_quiet and self.report.status.is_idle and self.report.status.is_quiet

    def order(self, pages: int | None, visits_per_day: float | None) -> None:
        if (pages, visits_per_day) != (self.pages, self.visits_per_day):
            self.pages, self.visits_per_day = pages, visits_per_day
            self.number += 1


class Coordinator:
    """Decides for all shards of a crawl that may fetch `limit` pages. `incarnation` is its unique number.

    Without a `market` the visits a day of the shards do not change.
    One that replaces a dead coordinator is given the pages that were `granted`, and the shards that may be `running`.
    """

    def __init__(
        self,
        shards: int,
        *,
        limit: int | None = None,
        market: Market | None = None,
        incarnation: int = 0,
        granted: Sequence[int] = (),
        running: Collection[int] = (),
    ) -> None:
        self._budget = None if limit is None else PageBudget(limit, shards, granted)
        self._shards = [
            _ShardState(None if self._budget is None else self._budget.granted[number], number in running)
            for number in range(shards)
        ]
        self._market = market
        self._claims = ClaimRegistry(shards, incarnation)
        for number in range(shards):
            if number not in running:
                self._claims.reset(number)
        self._controls = Controls()
        self._is_spent = False
        self.failure: ShardFailure | None = None

    def start(self, number: int) -> bool:
        """A worker for a shard is about to start, and the last one has ended. `False`: it must not (`failure`)."""
        shard = self._shards[number]
        shard.starts += 1
        if shard.starts > MAX_STARTS:
            self.fail(_died(number, shard.starts - 1))
            return False
        shard.report, shard.is_inherited, shard.number = None, False, 1
        if self._market is not None and self._market.granted:
            shard.visits_per_day = self._market.granted[number]
        self._claims.reset(number)
        return True

    def report(self, number: int, report: StatusReport) -> Orders:
        """Take a shard's report; returns its orders."""
        self._learn(self._shards[number], report)
        self._allocate_pages()
        self._allocate_visits()
        return self.orders(number, report.status.claims)

    def orders(self, number: int, claims: ClaimsReport | None = None) -> Orders:
        """The orders for a shard now."""
        shard = self._shards[number]
        shares = None if claims is None else self._claims.receive(number, claims)
        return Orders(shard.number, shard.pages, shard.visits_per_day, shares, self._controls, self._is_spent)

    def control(self, controls: Controls) -> None:
        """Let every shard follow what people ask for."""
        if controls != self._controls:
            self._controls = controls
            for shard in self._shards:
                shard.number += 1

    @property
    def are_orders_followed(self) -> bool:
        """Whether every shard follows its last orders."""
        return all(shard.has_orders for shard in self._shards)

    def stopped(self, number: int, status: ShardStatus) -> None:
        """Record that the worker of a shard has committed everything and ended.

        It did not follow what it was sent meanwhile: its successor will, and until that has reported the crawl is not
        finished.
        """
        shard = self._shards[number]
        shard.report, shard.starts = StatusReport(status, shard.number, is_quiet=False), 0
        self._claims.reset(number)

    def fail(self, failure: ShardFailure) -> None:
        """Record that a shard cannot go on, so the crawl cannot; the first failure counts."""
        if self.failure is None:
            self.failure = failure

    def _learn(self, shard: _ShardState, report: StatusReport) -> None:
        status = report.status
        if shard.is_inherited:  # it must apply orders of ours, whatever it was ordered before
            shard.number, shard.is_inherited = report.orders + 1, False
        shard.pace = 0 if shard.report is None else max(status.frontier.done - shard.done, 0)
        if shard.pace or (status.is_quiet and not status.wants_more):
            shard.starts = 0
        shard.report = report

    def _allocate_pages(self) -> None:
        """An idle shard is first ordered to fetch no more; when it has applied that, others get what it did not use."""
        if self._budget is None or any(shard.report is None for shard in self._shards):
            return
        self._budget.allocate(self._shards)
        for shard, granted in zip(self._shards, self._budget.granted, strict=True):
            shard.order(granted if shard.wants_more else shard.done, shard.visits_per_day)
        if not self._is_spent and self._budget.is_spent(self._shards):
            self._is_spent = True
            for shard in self._shards:
                shard.number += 1

    def _allocate_visits(self) -> None:
        if self._market is None:
            return
        bids = [None if shard.report is None else shard.report.status.bid for shard in self._shards]
        for number, visits_per_day in self._market.turn(bids):
            self._shards[number].order(self._shards[number].pages, visits_per_day)

    # the crawl as a whole

    @property
    def granted(self) -> list[int]:
        """Pages granted to each shard, which the next coordinator needs; empty without a page budget."""
        return [] if self._budget is None else list(self._budget.granted)

    @property
    def reports(self) -> list[StatusReport | None]:
        """The last report of each shard's current worker."""
        return [shard.report for shard in self._shards]

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to do and no batch is on its way, or all pages of the limit are fetched.

        The last of these may need files of other shards.
        """
        embeds = any(shard.report is not None and shard.report.status.frontier.embeds for shard in self._shards)
        is_spent = None if self._budget is None else self._budget.is_spent(self._shards)
        if is_spent is not None and not (is_spent and embeds):
            return is_spent
        return all(shard.is_at_rest for shard in self._shards) and self._are_batches_taken()

    def _are_batches_taken(self) -> bool:
        statuses = [shard.report.status for shard in self._shards if shard.report is not None]
        sent = {(status.shard, other): last for status in statuses for other, last in status.sent.items()}
        taken = {(other, status.shard): last for status in statuses for other, last in status.taken.items()}
        return sent == taken


def _died(number: int, deaths: int) -> ShardFailure:
    hint = "The log of its worker says why. Fix this and run the same command again: it continues"
    return ShardFailure(f"shard {number} died {deaths} times in a row", hint)
