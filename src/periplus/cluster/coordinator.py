"""What holds for all shards together, decided in one small place that may die and come back.

Leases (Gray & Cheriton 1989): who begins the life of a shard gets an epoch, and the sites for some seconds; every
report prolongs that. Nobody gets them before the last lease is over or given back. The holder counts from when it asked
and we from when we answered, so that it is always the first to think that time is over: no clocks are compared. A
report with an older epoch is answered with nothing, and whoever gets that has to end.

The end (Mattern 1987): every shard says that it is idle and quiet, and for every two of them what one sent last is what
the other took last. The reports are of different moments, but no batch crosses from after one to before another, so
that they are one possible state of the whole, in which nothing will ever happen again.

After a death the epochs, and the pages that were dealt out, are in `memory`; everything else is in the next reports.
What is held then counts as held for as long as a lease lasts, and half as long again: when another run of the command
has claimed the memory, the coordinator of the last one may still prolong leases until it looks. Time is an argument
here, and seconds of any steady clock.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from msgspec import Struct

from periplus import __version__
from periplus.crawl.allowance import Deal
from periplus.crawl.frontier import Neighbours, Presence
from periplus.crawl.shard import Status
from periplus.model import CollectionError
from periplus.policy.refresh import Market

from .memory import Remembered
from .words import Lease, Orders, Report, Standing, Trouble, Wait

MAX_LIVES = 6
"""A shard that began so often without getting anywhere does not begin again."""
INHERITED = 1.5
"""So many leases after it began, a coordinator gives away what somebody held before it."""
DEPOSED = 2.0
"""After so many leases in which another life of a shard asks for it, its holder gets no more: Ray has given it up."""
_LONGEST_WAIT = 1.0


class Held(Struct):
    """A shard, as seen from here. `sent` counts the orders that were new to it."""

    until: float = 0.0
    report: Report | None = None
    pages: int | None = None
    visits_a_day: float | None = None
    sent: int = 0
    lives: int = 0
    wanted_since: float = 0.0
    wanted_at: float = -inf

    def is_wanted(self, now: float, lease: float) -> bool:
        """Whether another life has asked for it long enough, and still does."""
        return now - self.wanted_at < 2 * _LONGEST_WAIT + lease / 4 and now - self.wanted_since > DEPOSED * lease

    def wait(self, now: float) -> Wait:
        """Until the lease is over; who asks is remembered."""
        if now - self.wanted_at > 2 * _LONGEST_WAIT:
            self.wanted_since = now
        self.wanted_at = now
        return Wait(min(self.until - now, _LONGEST_WAIT))

    @property
    def done(self) -> int:
        """Pages fetched in all."""
        return 0 if self.report is None else self.report.status.census.done

    @property
    def has_heard_all(self) -> bool:
        """Whether it has our last orders."""
        return self.report is not None and self.report.heard == self.sent

    @property
    def wants_more(self) -> bool:
        """Whether something waited there or was under way when it last spoke."""
        return self.report is not None and self.report.status.wants_more

    @property
    def has_nothing_to_do(self) -> bool:
        """Nothing waits, nothing is under way, and it has heard that it may fetch no more than it has.

        Others bring it something at any time: what it may still fetch cannot be given to somebody else.
        """
        return self.has_heard_all and not self.wants_more and self.pages == self.done

    @property
    def is_at_rest(self) -> bool:
        """Whether it will do nothing more unless it hears something new."""
        if self.report is None or not self.has_heard_all:
            return False
        return self.report.is_quiet and self.report.status.is_idle and self.report.status.is_quiet


class Coordinator:
    """Leases, what may be fetched, and the end. `life` is like no other's.

    `save` keeps what must not be forgotten, unless another coordinator does that by now.
    """

    def __init__(
        self,
        remembered: Remembered,
        save: Callable[[Remembered], bool],
        shards: int,
        *,
        now: float,
        lease: float,
        limit: int | None = None,
        life: int = 0,
    ) -> None:
        self._remembered = remembered
        self._save = save
        self._lease = lease
        wait = INHERITED * lease
        self._shards = [Held(until=now + wait if held else 0.0) for held in remembered.is_held[:shards]]
        self._deal = None if limit is None else Deal(limit, shards)
        if self._deal is not None:
            self._deal.granted = list(remembered.granted)
            for shard, granted in zip(self._shards, self._deal.granted, strict=True):
                shard.pages = granted
        self._market = Market(shards)
        self._neighbours = Neighbours(shards, life)
        for number, is_held in enumerate(remembered.is_held[:shards]):
            if not is_held:  # nobody of it asks anywhere
                self._neighbours.begin(number)
        self._stop: float | None = None
        self._trouble: Trouble | None = None

    # what shards say

    def begin(self, number: int, version: str, now: float) -> Lease | Wait | None:
        """A life of a shard begins. `None`: it should not."""
        shard = self._shards[number]
        if version != __version__:
            self._give_up(Trouble(*_versions(number, version)))
        if self._trouble is not None or self._stop is not None:
            return None
        if now < shard.until:
            return shard.wait(now)
        shard.lives += 1
        if shard.lives > MAX_LIVES:
            self._give_up(Trouble(*_died(number, shard.lives - 1)))
            return None
        self._remembered.epochs[number] += 1
        self._remembered.is_held[number] = True
        if not self._save(self._remembered):
            return None
        shard.report, shard.until, shard.sent, shard.wanted_at = None, now + self._lease, 1, -inf
        self._neighbours.begin(number)
        return self._lease_of(number)

    def report(self, number: int, epoch: int, report: Report | None, now: float) -> Orders | None:
        """How a shard is doing, if it is open already. Answer `None`: another has its sites; it must end at once."""
        shard = self._shards[number]
        if not self._is_held_by(number, epoch) or shard.is_wanted(now, self._lease):
            return None
        shard.until = now + self._lease
        if report is not None:
            self._learn(shard, report)
            self._deal_out()
            self._share_out()
        return self._orders(number, None if report is None else report.status.presence)

    def _learn(self, shard: Held, report: Report) -> None:
        if shard.report is None:  # what it hears now is new to it, whoever said something before us
            shard.sent = max(shard.sent, report.heard + 1)
        elif report.status.census.done > shard.done:
            shard.lives = 0
        if report.status.is_idle and report.status.is_quiet:
            shard.lives = 0  # nothing is left that it could die of
        shard.report = report

    def end(self, number: int, epoch: int, status: Status) -> None:
        """A shard has kept everything and ends: its sites are free."""
        if self._is_held_by(number, epoch):
            shard = self._shards[number]
            shard.report = Report(status, shard.sent, 0, is_quiet=True)
            shard.until = 0.0
            self._neighbours.begin(number)
            self._remembered.is_held[number] = False
            self._save(self._remembered)

    def broken(self, number: int, epoch: int, trouble: Trouble) -> None:
        """A shard cannot go on; so nobody can. What one says that was deposed is nobody's trouble."""
        if self._is_held_by(number, epoch):
            self._give_up(trouble)

    def _give_up(self, trouble: Trouble) -> None:
        if self._trouble is None:
            self._trouble = trouble

    def _is_held_by(self, number: int, epoch: int) -> bool:
        return epoch == self._remembered.epochs[number] and self._remembered.is_held[number]

    def _orders(self, number: int, presence: Presence | None) -> Orders:
        shard = self._shards[number]
        shares = None if presence is None else self._neighbours.hear(number, presence)
        return Orders(shard.sent, self._lease_of(number), shard.pages, shard.visits_a_day, self._stop, shares)

    def _lease_of(self, number: int) -> Lease:
        return Lease(self._remembered.epochs[number], self._lease)

    def _deal_out(self) -> None:
        """Who is idle may fetch nothing more, and when it has heard that, others get what it did not need."""
        if self._deal is None or any(shard.report is None for shard in self._shards):
            return
        changes = list(self._deal.turn(self._shards))
        for number, shard in enumerate(self._shards):
            pages = self._deal.granted[number] if shard.wants_more else shard.done
            if pages != shard.pages:
                shard.pages = pages
                shard.sent += 1
        if changes:
            self._remembered.granted = list(self._deal.granted)
            self._save(self._remembered)

    def _share_out(self) -> None:
        """Visits a day, where pages are visited again: all that has to be known of them is in the reports."""
        bids = [None if shard.report is None else shard.report.status.bid for shard in self._shards]
        for number, visits_a_day in self._market.turn(bids):
            self._shards[number].visits_a_day = visits_a_day
            self._shards[number].sent += 1

    # what the command wants to know

    def standing(self, stop: float | None, now: float) -> Standing:
        """How all are doing. `stop`: whoever works is to end within so many seconds."""
        self._stop = stop
        reports = [shard.report for shard in self._shards]
        return Standing(
            tuple(report.status for report in reports if report is not None),
            tuple(self._remembered.epochs[: len(self._shards)]),
            tuple(0 if report is None else report.told for report in reports),
            self._is_finished(),
            not any(shard.until > now for shard in self._shards),
            self._trouble,
        )

    def _is_finished(self) -> bool:
        if self._deal is not None and (is_over := self._deal.is_over(self._shards)) is not None:
            return is_over
        return all(shard.is_at_rest for shard in self._shards) and self._is_consistent()

    def _is_consistent(self) -> bool:
        """Whether for every two what one sent is what the other took."""
        statuses = [shard.report.status for shard in self._shards if shard.report is not None]
        sent = {(one.shard, other): last for one in statuses for other, last in one.sent.items()}
        taken = {(other, one.shard): last for one in statuses for other, last in one.taken.items()}
        return sent == taken


def _versions(number: int, version: str) -> tuple[str, str, int]:
    message = f"shard {number} is where Periplus {version} is installed, and this is {__version__}"
    return message, "install the same version on every node of the cluster", CollectionError.exit_code


def _died(number: int, lives: int) -> tuple[str, str, int]:
    message = f"shard {number} died {lives} times in a row"
    return message, "the logs of its node say why; the same command continues once that is mended", 3
