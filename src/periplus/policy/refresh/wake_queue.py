"""Whom to visit now, of millions of pages, in a few microseconds: the index, kept in queues.

A page sleeps in a timing wheel until a visit is nearly worth its price, then it waits with its host, at the level of
its worth; levels are a factor `step` apart, and it is moved up when its worth has grown. A signal wakes it sooner.
`take` goes to the host, of those that may be visited now, whose best page is worth most, looks again at a few, and
lends out the best: what a host's politeness does not allow waits there, and the price that thereby becomes its own is
nobody's concern. Serving within a factor of the best costs less than one per cent of freshness; pages that would wait
at the level at which they woke, first in, first out, would make a round robin of the best policy.

New pages wait in the same levels, by their own worth; refreshing and new pages have a share each that the other cannot
take, and a few visits go to whoever was not visited longest, so that estimates stay unbiased and the dead are found.

Pages and hosts are numbers, all else are columns: some 75 bytes a page. This is the whole policy for simulations, and
for crawls whose pages fit in memory; a crawl whose state lies on disk keeps the wheel there (see `appraisal`).
"""

from __future__ import annotations

import math
from array import array
from enum import IntEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...model import ConfigError, InvariantError
from .chains import NONE, Chains
from .crawl_value import CrawlValue, Ints, Outlook
from .evidence import DAY
from .host_levels import LEVELS, NEW, REFRESH, HostLevels
from .objectives import Floats
from .price import Price, PriceSettings, price_for
from .wheel import SLOTS, TimingWheel

_PRICED = 1
"""The level at which a visit is worth its price; pages wake so many levels below it."""
_PROMOTED = 2
"""Up to this level pages are moved up; whoever is above is served at once, or its host is at fault."""
_LOOKED_AT = 2
"""Pages of a host that are looked at again before one is taken."""
_MOST_CREDIT = 20.0
_SAMPLE, _AT_ONCE = 5000, 50_000
"""Pages that the first price is guessed from; pages that are placed at once."""


class QueueSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How visits are given out. Times are in seconds, shares are of all visits."""

    step: float = 1.5
    """the factor between two levels of worth"""
    shortest: float = 60.0
    """no page is visited again sooner"""
    longest: float = 90 * DAY
    """nor later, whatever it is worth: so dead pages are found"""
    slot: float = 60.0
    """how finely times of waking are told apart"""
    refresh_share: float = 0.25
    """visits kept for pages that were visited before"""
    new_share: float = 0.25
    """visits kept for pages that were not"""
    explore_share: float = 0.03
    """visits to whoever was not visited longest"""
    delay: float = 0.0
    """between two visits of a host, where nothing else is said"""

    def __post_init__(self) -> None:
        """Refuse what would leave nothing to give out."""
        if self.step <= 1.0 or self.slot <= 0.0 or not 0.0 < self.shortest <= self.longest:
            raise ConfigError("levels, slots and intervals must be above zero", hint="leave them as they are")
        if not 0.0 <= self.refresh_share + self.new_share + self.explore_share <= 1.0:
            raise ConfigError("the shares of visits sum up to more than all", hint="let them be 1 at most")


class _State(IntEnum):
    OUT = 0
    KNOWN = 1
    NEW = 2
    RETIRED = 3


class WakeQueue:
    """Pages by number, from `add` and `add_new`."""

    def __init__(
        self,
        tables: CrawlValue,
        now: float,
        *,
        settings: QueueSettings | None = None,
        price: float = 1.0,
        pricing: PriceSettings | None = None,
    ) -> None:
        self._tables = tables
        self.settings = settings or QueueSettings()
        self.price = Price(price, pricing)
        self._anchor = self._lowest()
        self._log_step = math.log(self.settings.step)
        self._visited_at, self._rate, self._weight, self._boost = array("d"), array("f"), array("f"), array("f")
        self._kind, self._state = array("H"), array("B")
        self._levels = HostLevels()
        self._timers, self._ages = Chains(), Chains()
        self._timers.grow(0, SLOTS)
        self._ages.grow(0, 1)
        self._wheel = TimingWheel(self._timers, self.settings.slot, now)
        self._credit = [0.0, 0.0]
        self._explore = 0.0

    def __len__(self) -> int:
        return len(self._state)

    # who is there

    def add_host(self) -> int:
        """A host: its number."""
        return self._levels.add_host()

    def add(self, host: int, outlook: Outlook, weight: float, visited_at: float, now: float) -> int:
        """A page that was visited: its number."""
        page = self._append(host, outlook, weight, visited_at, _State.KNOWN)
        self._ages.append(0, page)
        self._schedule(page, now)
        return page

    def add_new(self, host: int, worth: float) -> int:
        """A page that was not visited yet, and what that is worth."""
        page = self._append(host, Outlook(0, 1.0), worth, 0.0, _State.NEW)
        self._levels.push(page, NEW, self._level(worth))
        return page

    def _append(self, host: int, outlook: Outlook, weight: float, visited_at: float, state: _State) -> int:
        page = len(self._state)
        self._levels.add_page(host)
        self._state.append(state)
        self._visited_at.append(visited_at)
        self._rate.append(outlook.rate)
        self._weight.append(weight)
        self._boost.append(outlook.boost)
        self._kind.append(outlook.kind)
        self._timers.grow(page + 1, 0)
        self._ages.grow(page + 1, 0)
        self._wheel.grow(page + 1)
        return page

    # what happens

    def signal(self, page: int, kappa: float, now: float) -> None:
        """Somebody says that it changed; `kappa` is what that is worth."""
        if kappa > 0.0 and self._state[page] == _State.KNOWN:
            self._boost[page] += kappa
            self._schedule(page, now)

    def crawled(self, page: int, outlook: Outlook, weight: float, now: float) -> None:
        """A visit ended: what is now known of the page."""
        self._come_back(page)
        self._visited_at[page], self._boost[page] = now, 0.0
        self.revalue(page, outlook, weight, now)

    def revalue(self, page: int, outlook: Outlook, weight: float, now: float) -> None:
        """Estimates have changed; nothing else has. A new page has only a worth, which is its weight."""
        self._rate[page], self._weight[page], self._kind[page] = outlook.rate, weight, outlook.kind
        if self._state[page] == _State.KNOWN:
            self._schedule(page, now)
        elif self._state[page] == _State.NEW:
            self._levels.remove(page)
            self._levels.push(page, NEW, self._level(weight))

    def failed(self, page: int, now: float, until: float) -> None:
        """A visit brought nothing: it is tried again then."""
        self._come_back(page)
        self._wheel.sleep(page, max(until, now))

    def _come_back(self, page: int) -> None:
        if self._state[page] != _State.OUT:
            raise InvariantError(f"page {page} was not out")
        self._state[page] = _State.KNOWN
        self._ages.append(0, page)

    def retire(self, page: int) -> None:
        """It is visited no more; what is known of it stays."""
        self._withdraw(page)
        self._state[page] = _State.RETIRED

    def rest(self, host: int, until: float) -> None:
        """Leave a host alone until then."""
        self._levels.rest(host, until)

    def tick(self, now: float) -> None:
        """Let time pass: wake pages and hosts, and place all anew where the price has moved far."""
        self._levels.rested(now)
        for page in self._wheel.turn(now):
            self._wake(page, now)
        drift = self._lowest() / self._anchor
        if not 1.0 / self.settings.step < drift < self.settings.step**3:
            self.replan(now)

    def take(self, limit: int, now: float) -> list[int]:
        """Lend out the most worthy pages of hosts that may be visited."""
        self.tick(now)
        taken: list[int] = []
        while len(taken) < limit:
            page = self._next(now)
            if page < 0:
                self.price.missed(limit - len(taken), len(self))
                break
            self._withdraw(page)
            self._state[page] = _State.OUT
            if self.settings.delay > 0.0:
                self._levels.rest(self._levels.host_of(page), now + self.settings.delay)
            taken.append(page)
        return taken

    # one page

    def value(self, page: int, now: float) -> float:
        """What a visit is worth."""
        if self._state[page] == _State.NEW:
            return self._weight[page]
        age = max(now - self._visited_at[page], 0.0) / DAY
        return self._tables.value(self._kind[page], self._rate[page], self._weight[page], age, self._boost[page])

    def wakes_at(self, page: int) -> float:
        """When a visit is nearly worth its price."""
        return min(max(self._worth_at(page, self._anchor), self._visited_at[page] + self.settings.shortest),
                   self._visited_at[page] + self.settings.longest)  # fmt: skip

    def _worth_at(self, page: int, price: float) -> float:
        """When a visit is worth so much."""
        age = self._tables.ripe_age(self._kind[page], self._rate[page], self._weight[page], price, self._boost[page])
        return self._visited_at[page] + age * DAY

    def _schedule(self, page: int, now: float) -> None:
        self._timers.remove(page)
        at = self.wakes_at(page)
        if at <= now:
            self._wake(page, now)
        else:
            self._levels.remove(page)
            self._wheel.sleep(page, at)

    def _wake(self, page: int, now: float) -> None:
        """Let it wait at the level of its worth, and be moved up when that has grown."""
        worth = self.value(page, now)
        level = self._level(worth)
        if now - self._visited_at[page] >= self.settings.longest:
            level = max(level, _PRICED)
        before = self._levels.level(page)
        if before != level:
            if before >= 0:
                self._levels.remove(page)
            self._levels.push(page, REFRESH, level)
        if level < _PROMOTED:
            at = self._worth_at(page, self._anchor * self.settings.step ** (level + 1))
            if at < math.inf:
                self._wheel.sleep(page, max(at, now))

    def _withdraw(self, page: int) -> None:
        self._levels.remove(page)
        self._timers.remove(page)
        self._ages.remove(page)

    def _level(self, worth: float) -> int:
        if worth <= self._anchor:
            return 0
        return min(int(math.log(worth / self._anchor) / self._log_step + 1e-3), LEVELS - 1)

    def _lowest(self) -> float:
        """The worth at which pages wake."""
        return self.price.value / self.settings.step**_PRICED

    # whose turn it is

    def _next(self, now: float) -> int:
        settings, levels = self.settings, self._levels
        self._explore = min(self._explore + settings.explore_share, _MOST_CREDIT)
        if self._explore >= 1.0:
            page = self._oldest()
            if page >= 0:
                self._explore -= 1.0
                return page
        refresh, new = levels.best(REFRESH), levels.best(NEW)
        if refresh < 0 and new < 0:
            return NONE
        lane = self._lane(refresh, new)
        self._credit[REFRESH] = (
            min(self._credit[REFRESH] + settings.refresh_share, _MOST_CREDIT) if refresh >= 0 else 0.0
        )
        self._credit[NEW] = min(self._credit[NEW] + settings.new_share, _MOST_CREDIT) if new >= 0 else 0.0
        self._credit[lane] = max(self._credit[lane] - 1.0, -_MOST_CREDIT)
        return self._best(lane, now)

    def _lane(self, refresh: int, new: int) -> int:
        """Who has a visit to claim, or else who has the better page."""
        if refresh < 0 or new < 0:
            return NEW if refresh < 0 else REFRESH
        if max(self._credit) >= 1.0:
            return REFRESH if self._credit[REFRESH] >= self._credit[NEW] else NEW
        return REFRESH if refresh >= new else NEW

    def _best(self, lane: int, now: float) -> int:
        """The best of the first few of the best level."""
        most, best = -1.0, NONE
        for page in self._levels.heads(lane, _LOOKED_AT):
            worth = self.value(page, now)
            if worth > most:
                most, best = worth, page
        self.price.served(most, len(self))
        return best

    def _oldest(self) -> int:
        """Who was not visited longest, of hosts that may be visited."""
        page = self._ages.first(0)
        for _ in range(_LOOKED_AT):
            if page < 0 or self._levels.is_ready(self._levels.host_of(page)):
                return page
            page = self._ages.after(page)
        return NONE

    # all at once

    def guess_price(self, visits_a_day: float) -> None:
        """Set the price from a sample of the pages, as if there were no signals."""
        known = np.flatnonzero(np.array(self._state) == _State.KNOWN)
        if not len(known):
            return
        sample = known[:: max(len(known) // _SAMPLE, 1)]
        kind, rate, weight, _, _ = self._columns(sample)
        self.price.value = price_for(self._tables, kind, rate, weight, visits_a_day * len(sample) / len(known))

    def replan(self, now: float) -> None:
        """Put every page where the price of now wants it."""
        self._anchor = self._lowest()
        state = np.array(self._state)
        pages = np.flatnonzero((state == _State.KNOWN) | (state == _State.NEW))
        is_new = state[pages] == _State.NEW
        timer, level = np.empty(len(pages)), np.empty(len(pages), np.int8)
        for begin in range(0, len(pages), _AT_ONCE):
            part = slice(begin, begin + _AT_ONCE)
            timer[part], level[part] = self._timer_and_level(pages[part], is_new[part], now)
        is_awake, timed = level >= 0, np.isfinite(timer)
        self._levels.rebuild(pages[is_awake], is_new[is_awake].astype(np.int64), level[is_awake].astype(np.int64))
        self._timers.rebuild(pages[timed], self._wheel.places(pages[timed], timer[timed]))

    def _timer_and_level(self, pages: Ints, is_new: NDArray[np.bool_], now: float) -> tuple[Floats, Ints]:
        """The level at which each waits now, `NONE` if it sleeps; and when it wakes, or is moved up."""
        kind, rate, weight, boost, visited = self._columns(pages)
        ripe = self._tables.ripe_ages(kind, rate, weight, self._anchor, boost) * DAY
        until = visited + np.clip(ripe, self.settings.shortest, self.settings.longest)
        worth = self._tables.values(kind, rate, weight, np.maximum(now - visited, 0.0) / DAY, boost)
        worth = np.maximum(np.where(is_new, weight, worth), self._anchor)
        level = np.minimum(np.log(worth / self._anchor) / self._log_step + 1e-3, LEVELS - 1).astype(np.int64)
        is_late = ~is_new & (now - visited >= self.settings.longest)
        level = np.where(is_late, np.maximum(level, _PRICED), level)
        price = self._anchor * np.exp(self._log_step * (level + 1.0))
        promoted = visited + self._tables.ripe_ages(kind, rate, weight, price, boost) * DAY
        is_awake = is_new | (until <= now)
        timer = np.where(is_awake, np.where(is_new | (level >= _PROMOTED), np.inf, promoted), until)
        return timer, np.where(is_awake, level, NONE)

    def _columns(self, pages: Ints) -> tuple[Ints, Floats, Floats, Floats, Floats]:
        rate, weight, boost, visited = (
            np.frombuffer(column, column.typecode)[pages].astype(np.float64)
            for column in (self._rate, self._weight, self._boost, self._visited_at)
        )
        return np.frombuffer(self._kind, np.uint16)[pages].astype(np.int64), rate, weight, boost, visited

    def check_invariants(self) -> None:
        """Every page that is known or new waits or sleeps, and nobody else does."""
        for part in (self._levels, self._timers, self._ages):
            part.check_invariants()
        for page, state in enumerate(self._state):
            waits, sleeps = self._levels.level(page) >= 0, self._timers.where(page) >= 0
            is_there = {_State.KNOWN: waits or sleeps, _State.NEW: waits and not sleeps}
            if not is_there.get(_State(state), not (waits or sleeps)):
                raise InvariantError(f"page {page} is {_State(state).name}, but not where it should be")
            if (self._ages.where(page) >= 0) != (state == _State.KNOWN):
                raise InvariantError(f"page {page} is {_State(state).name}, and its age is kept or not as it should be")
