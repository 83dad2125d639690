"""The turns of sites: who takes part, when each comes next, and when one is given up.

`Rounds` joins the workbench to the state: it admits a site when something waits there, sends it to rest after a
request, lets it leave when nothing waits, and gives it up when it cannot be reached. The conversation about robots.txt,
which may lead through other sites, is `permission`'s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import islice
from random import Random

from msgspec.structs import replace

from periplus.model import (
    EventSink,
    Excluded,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    Guard,
    InvariantError,
    Lane,
    Ordering,
    Purpose,
    Queued,
    Redirected,
    Site,
    SiteState,
    State,
    Ticket,
    Url,
    UrlRecord,
)
from periplus.policy.balance import BalanceSettings, SiteBalance
from periplus.policy.ordering import ZERO_LEVEL, ByWorth

from .claims import AddressClaims
from .politeness import PolitenessSettings, rest_after
from .retries import OUR_OWN, Retry, RetrySettings, back_off, retry_for
from .shares import Shares
from .workbench import ActiveSite, Place, Workbench

EXCLUDED_AT_ONCE = 200
"""So many URLs of a site are refused in one step, so that a site with a million of them does not hold up the others."""
SOON = 0.01
"""A site that is not finished with such a step goes on after the others."""

_LOOKED_AT = 200
_WITH_BODY = (Fetched, Redirected)


_OF_LISTS = (Lane.SITEMAPS, Lane.FILES)


def purpose_of(lane: Lane) -> Purpose:
    """What those are fetched for that wait in a lane."""
    return Purpose.SITEMAP if lane is Lane.FILES else Purpose.PAGE


def file_name(url: Url) -> Url:
    """By which name the record of a file is kept: what is known of a file is not what is known of a page at its URL."""
    return Url(f"{url}#file")


def _level_of_listed(ordering: Ordering) -> int:
    """At which level a site waits for what a list names: that of a link from a seed. Or, of an ordering by worth, -1.

    There the score of a list counts: both are multiples of a mean.
    """
    return -1 if isinstance(ordering, ByWorth) else ZERO_LEVEL + 1


class Rounds:
    """The sites that take turns."""

    def __init__(
        self,
        state: State,
        *,
        events: EventSink,
        random: Random,
        guard: Guard,
        ordering: Ordering,
        politeness: PolitenessSettings,
        retries: RetrySettings,
        capacity: int,
        balance: BalanceSettings | None = None,
        register: AddressClaims | None = None,
    ) -> None:
        self._state = state
        self._events = events
        self._random = random
        self._guard = guard
        self._politeness = politeness
        self._retries = retries
        self._capacity = capacity
        self._is_crowded = True
        self._is_continued = len(state.queues) > 0
        self._opened_at: float | None = None
        self._ordering = ordering
        self._balance = balance or BalanceSettings()
        self._listed_level = _level_of_listed(ordering)
        pause = politeness.between_requests_to_an_address
        self.bench = Workbench(pause, capacity=capacity, key=self._key, register=register)
        self.on_retired: Callable[[ActiveSite, float], None] = lambda _active, _now: None
        self.on_removed: Callable[[Url], None] | None = None
        self.refused_files: list[Excluded] = []
        self.emptied: set[Site] = set()
        self.again = 0
        """How many wait to be visited again."""
        self.level_of_new: Callable[[ActiveSite, Queued], int] | None = None
        self.shares = Shares()

    def _key(self, active: ActiveSite) -> tuple[float, float]:
        """Who is next. A visit that has begun goes on: its connection is open."""
        if active.taken:
            return -math.inf, active.ready_at
        return self._ordering.site_key(active.waiting, active.level, active.ready_at)

    def longest(self) -> float:
        """Seconds that the longest queue takes at its site's own pace; of very many sites only some are looked at."""
        pace = self._politeness.pages_per_visit
        return max(
            (
                active.waiting / pace * rest_after(self._politeness, active.state.delay, 0.0)
                for active in islice(self.bench, _LOOKED_AT)
                if not active.state.retired
            ),
            default=0.0,
        )

    # who takes part

    def call(self, entries: Iterable[Queued]) -> None:
        """Let the sites of these entries, which were just queued, take turns, as far as there is room."""
        absent: dict[Site, int] = {}
        grown: dict[Site, ActiveSite] = {}
        for entry in entries:
            self.again += entry.lane is Lane.REFRESH
            active = self.bench.get(entry.site)
            if active is not None:
                active.level = min(active.level, self.urgency(entry))
                active.waiting += 1
                if entry.lane not in active.lanes:
                    active.lanes.append(entry.lane)
                grown[entry.site] = active
            else:
                level = self.urgency(entry)
                absent[entry.site] = min(level, absent.get(entry.site, level))
        for active in grown.values():
            self.bench.renew(active)
        if absent:
            self._admit_all(absent)

    def raised(self, site: Site, level: int) -> None:
        """A URL of a site has a new level: the site may be wanted sooner."""
        active = self.bench.get(site)
        if active is not None and level < active.level:
            active.level = level
            self.bench.renew(active)

    @property
    def is_short(self) -> bool:
        """Whether sites that found no room before may take turns now. Whoever opens a state begins with these."""
        return self._is_crowded and self.bench.room >= max(1, self._capacity // 10)

    def refill(self, now: float) -> None:
        """Let them, if so."""
        if self._opened_at is None:
            self._open(now)
        if not self.is_short:
            return
        self._is_crowded = False
        absent: dict[Site, int] = {}
        for site, _, level in self._state.queues.waiting():
            if self.bench.get(site) is None:
                absent[site] = min(level, absent.get(site, level))
            if len(absent) > self.bench.room:
                break
        self._admit_all(absent)

    def _open(self, now: float) -> None:
        self._opened_at = now
        for active in list(self.bench):
            self._leave_alone(active.state)
            if active.place is Place.RESTING:
                self.bench.rest(active, max(active.ready_at, active.state.ready_at))

    def _leave_alone(self, state: SiteState) -> None:
        """A site that is found in a state may have been under way when the last process died: it rests once more."""
        if self._is_continued and self._opened_at is not None:
            rest = rest_after(self._politeness, state.delay, state.last_duration)
            state.ready_at = max(state.ready_at, self._opened_at + max(rest, self.bench.longest_pause))

    def _admit_all(self, absent: dict[Site, int]) -> None:
        room = max(self.bench.room, 0)
        if len(absent) > room:
            self._is_crowded = True
            absent = dict(list(absent.items())[:room])
        for site, state in zip(absent, self._state.sites.get(list(absent)), strict=True):
            self._admit(state or SiteState(site), absent[site])

    def _admit(self, state: SiteState, level: int) -> ActiveSite:
        self._leave_alone(state)
        active = self.bench.admit(state, level)
        for lane in Lane:
            if waiting := self._state.queues.length(state.site, lane):
                active.waiting += waiting
                active.lanes.append(lane)
        return active

    def summon(self, site: Site) -> ActiveSite:
        """A site that is needed now, room or not: an errand leads there."""
        active = self.bench.get(site)
        if active is None:
            active = self._admit(self._state.sites.get([site])[0] or SiteState(site), 0)
            active.is_guest = self.bench.room < 0
        return active

    def urgency(self, entry: Queued) -> int:
        """The level at which a site waits for a URL: lists are ordered by what they say, which compares within one."""
        return self._listed_level if entry.lane in _OF_LISTS and self._listed_level >= 0 else entry.level

    def heads(self, active: ActiveSite, limit: int, out: frozenset[Url] = frozenset()) -> list[Ticket]:
        """The best URLs of a site but those that are out, from the lane whose turn it is."""
        if len(active.lanes) == 1:
            return self.heads_of(active.site, active.lanes[0], limit, out)
        if Lane.FILES in active.lanes and not active.had_file:
            files = self.heads_of(active.site, Lane.FILES, limit, out)
            if files:
                return files
        pages = self._heads_of_pages(active, limit, out)
        return pages or self.heads_of(active.site, Lane.FILES, limit, out)

    def heads_of(self, site: Site, lane: Lane, limit: int, out: frozenset[Url] = frozenset()) -> list[Ticket]:
        """The best of one lane of a site."""
        heads = self._state.queues.heads(site, lane, limit + len(out))
        return [head for head in heads if head.entry.url not in out][:limit] if out else heads

    def _heads_of_pages(self, active: ActiveSite, limit: int, out: frozenset[Url]) -> list[Ticket]:
        """From the source whose turn it is by the balance of the site; what comes again goes by its level."""
        first, second = Lane.DISCOVERY, Lane.SITEMAPS
        if Lane.SITEMAPS in active.lanes:
            lengths = [self._state.queues.length(active.site, lane) for lane in (first, second)]
            if self.balance(active).choose(*lengths) is Lane.SITEMAPS:
                first, second = second, first
        pages = self.heads_of(active.site, first, limit, out) or self.heads_of(active.site, second, limit, out)
        if Lane.REFRESH not in active.lanes:
            return pages
        again = self.heads_of(active.site, Lane.REFRESH, limit, out)
        if not again or not pages:
            return again or pages
        first_new = pages[0].entry
        level = first_new.level if self.level_of_new is None else self.level_of_new(active, first_new)
        return again if self.shares.prefer_again(again[0].entry.level < level) else pages

    def balance(self, active: ActiveSite) -> SiteBalance:
        """How the budget of a site is shared between its sources."""
        if active.balance is None:
            active.balance = SiteBalance.unpack(active.state.balance, self._balance)
        return active.balance

    def remove(self, active: ActiveSite, ticket: Ticket) -> None:
        """A URL leaves its queue."""
        self._state.queues.remove([ticket])
        active.waiting -= 1
        lane = ticket.entry.lane
        self.again -= lane is Lane.REFRESH
        if lane is Lane.SITEMAPS and not self._state.queues.length(active.site, lane):
            self.emptied.add(active.site)
        if self.on_removed is not None and lane is not Lane.FILES:
            self.on_removed(ticket.entry.url)

    def exclude(self, active: ActiveSite, ticket: Ticket, reason: str, rule: str, now: float) -> None:
        """A URL will not be fetched: it leaves the queue, its record says why, and those who watch are told."""
        record, entry = self.forgo(active, ticket, reason), ticket.entry
        task = FetchTask(
            entry.url, entry.site, purpose_of(entry.lane), entry.lane, now, None, record.failures + 1, None,
            record.first_seen[0].source, record.depth, record.redirects,
        )  # fmt: skip
        excluded = Excluded(task, reason, rule)
        self._events.record([FetchEnded(excluded, now)])
        if task.purpose is Purpose.SITEMAP:
            self.refused_files.append(excluded)

    def forgo(self, active: ActiveSite, ticket: Ticket, reason: str) -> UrlRecord:
        """The same of a URL of which all who watch know already; its record as it was."""
        record = self.known(ticket.entry)
        self.remove(active, ticket)
        self._state.records.put([replace(record, reason=reason, status=None)])
        return record

    def wants_pages_of(self, site: Site) -> bool:
        """Whether pages of a site wait, not only its files."""
        return any(self._state.queues.length(site, lane) for lane in Lane if lane is not Lane.FILES)

    def known(self, entry: Queued) -> UrlRecord:
        """The record of a URL that waits."""
        name = file_name(entry.url) if entry.lane is Lane.FILES else entry.url
        record = self._state.records.get([name])[0]
        if record is None:
            raise InvariantError(f"{entry.url} waits in a queue but is not known")
        return record

    # where a site goes next

    def rest(self, active: ActiveSite, outcome: FetchOutcome, reason: str, now: float) -> None:
        """After a request: until when the site is left alone, or whether it is given up."""
        state = active.state
        state.last_duration = getattr(outcome, "duration", 0.0)
        if reason in OUR_OWN:
            self.place(active, self._rested_at(active, outcome, now))
            return
        if isinstance(outcome, _WITH_BODY):
            state.downloaded += len(outcome.body)
        state.pages += outcome.task.purpose is Purpose.PAGE
        state.files += outcome.task.purpose is Purpose.SITEMAP
        retry = retry_for(reason)
        state.failures = state.failures + 1 if retry.again else 0
        if state.failures >= self._retries.max_site_failures:
            self.retire(active, reason, now)
        elif state.downloaded > self._politeness.max_bytes_per_site:
            self.retire(active, "site-bytes", now)
        else:
            self._send_to_rest(active, outcome, retry, now)

    def _send_to_rest(self, active: ActiveSite, outcome: FetchOutcome, retry: Retry, now: float) -> None:
        """A visit may go on for some pages, unless something went wrong or the site itself asks for its time."""
        state = active.state
        until = self._rested_at(active, outcome, now)
        if retry.again and (retry.is_of_site or state.failures > 2):
            until = max(until, now + self.back_off(outcome, state.failures, now))
        state.ready_at = max(state.ready_at, until)
        active.taken = 0 if retry.again or state.delay else (active.taken + 1) % self._politeness.pages_per_visit
        self.place(active, now if active.taken else until)

    def _rested_at(self, active: ActiveSite, outcome: FetchOutcome, now: float) -> float:
        ended_at = getattr(outcome, "started_at", now) + active.state.last_duration
        return float(ended_at + rest_after(self._politeness, active.state.delay, active.state.last_duration))

    def back_off(self, outcome: FetchOutcome, failures: int, now: float) -> float:
        """How long to wait after so many failures in a row."""
        return back_off(self._retries, outcome, failures, now, self._random)

    def place(self, active: ActiveSite, until: float) -> None:
        """Where a site goes that has nothing under way: it rests until then, or waits for others, or leaves.

        `state.ready_at` may be later: then the visit goes on, and the rest of it counts once it has ended.
        """
        active.state.ready_at = max(active.state.ready_at, until)
        active.is_changed = True
        if active.flying:
            active.not_before = max(active.not_before, until)
            return
        until, active.not_before = max(until, active.not_before), 0.0
        if active.errands:
            self.bench.rest(active, until)
        elif active.is_expected:
            self.bench.hold(active)
        elif not active.waiting:
            self._park(active)
        elif active.is_guest and self.bench.room < 0:
            self._is_crowded = True
            self._park(active)
        else:
            self.bench.rest(active, until)

    def retire(self, active: ActiveSite, reason: str, now: float) -> None:
        """Give a site up: all that waits there is refused with the reason, step by step."""
        active.state.retired = reason
        active.is_expected = False
        self.on_retired(active, now)
        self.place(active, now)

    def drain(self, active: ActiveSite, now: float) -> int:
        """Refuse some of what waits at a site that was given up; how many."""
        tickets = self.heads(active, EXCLUDED_AT_ONCE)
        for ticket in tickets:
            self.exclude(active, ticket, active.state.retired, "", now)
        self.place(active, now + SOON)
        return len(tickets)

    def _park(self, active: ActiveSite) -> None:
        self.keep(active)
        self.bench.leave(active)

    def keep(self, active: ActiveSite) -> None:
        """Write what is known of one site to the state; the caller commits."""
        if active.balance is not None:
            active.state.balance = active.balance.pack()
        self._state.sites.put([active.state])
        active.is_changed = False

    def note_priorities(self, site: Site, said: bytes) -> None:
        """Keep what a site's lists have said of priorities."""
        state = self.state_of(site)
        state.priorities = said
        self._state.sites.put([state])

    def note_signals(self, site: Site, said: bytes) -> None:
        """Keep how far what a site says of changes can be believed."""
        state = self.state_of(site)
        state.signals = said
        self._state.sites.put([state])

    def churn_of(self, site: Site) -> bytes:
        """Which parts of a site's pages are different at every visit."""
        return self.state_of(site).churn

    def note_churn(self, site: Site, learnt: bytes) -> None:
        """Keep that: of a site at hand with all else that is known of it."""
        state, active = self.state_of(site), self.bench.get(site)
        state.churn = learnt
        if active is None:
            self._state.sites.put([state])
        else:
            active.is_changed = True

    def state_of(self, site: Site) -> SiteState:
        """What is known of a site, whether it is at hand or not."""
        active = self.bench.get(site)
        return active.state if active else self._state.sites.get([site])[0] or SiteState(site)

    def save(self) -> None:
        """Write what is known of sites, and what the guard has learnt of them, to the state; the caller commits."""
        for site, lessons in self._guard.changed():
            state = self.state_of(site)
            state.traps = lessons
            self._state.sites.put([state])
        for active in self.bench:
            if active.is_changed:
                self.keep(active)

    def check_invariants(self) -> None:
        """No site that waits is forgotten."""
        self.bench.check_invariants()
        if not self._is_crowded:
            for site, _, _ in self._state.queues.waiting():
                if self.bench.get(site) is None:
                    raise InvariantError(f"{site} waits, but nobody will visit it")
        for active in self.bench:
            lengths = [self._state.queues.length(active.site, lane) for lane in active.lanes]
            if active.waiting != sum(lengths):
                raise InvariantError(f"{active.waiting} URLs were counted at {active.site}, not {sum(lengths)}")
