"""Which site may be visited when: active sites, the addresses they share, and the heaps over both.

Two levels, as in BUbiNG's workbench: addresses by the time at which one may next be asked, and at each address its
sites by the time at which each may be. Sites whose time has come are READY, in the order in which the ordering wants
them. Of the sites at one address one at a time is ready: the others there wait for it, or two of them would be asked at
once. None is while as many requests are under way there as the address bears.

Only a bounded number of sites is active; those beyond wait in their queues on disk until there is room. So memory grows
neither with URLs nor with sites. Every change is remembered until `flush` writes it, and `Schedule` opened on the same
state continues exactly there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from periplus.model import InvariantError, Lane, Queued, Site, SiteVisits
from periplus.policy.ordering import ZERO_LEVEL, ByWorth
from periplus.store import SiteState

from .addresses import Address, Addresses
from .desk import FrontierDesk
from .domains import DISCOUNTED_REST, Domains
from .frontier_state import FrontierState
from .heap import IndexedHeap
from .politeness import MAX_DELAY, delay_after
from .site import ActiveSite, Move, SiteStage

_LISTED = (Lane.SITEMAPS, Lane.FILES)


class Schedule:
    """The active sites.

    `under_way` is the number of open requests of a site. `is_crowded`: sites beyond the capacity wait. `rests_until`:
    before then no site is visited that was not active when the process began: its address may just have been asked by
    the process before. `turn` counts how often sites went to rest. If only revisits are granted, other URLs than those
    and the files that pages embed are not counted and stay in their queues.
    """

    def __init__(
        self,
        desk: FrontierDesk,
        domains: Domains,
        under_way: Callable[[Site], int],
        saved: FrontierState | None = None,
    ) -> None:
        saved, rules = saved or FrontierState(), desk.rules
        self._state = desk.state
        self._records = desk.records
        self._all_lanes = (Lane.REFRESH, Lane.EMBEDDED) if rules.revisits_only else tuple(Lane)
        self._lanes = (Lane.EMBEDDED,) if saved.is_for_embedded else self._all_lanes
        self._ordering = desk.ordering
        self._listed_level = -1 if isinstance(desk.ordering, ByWorth) else ZERO_LEVEL + 1
        self._capacity = rules.frontier.max_sites
        self._max_wait = max(rules.retries.max_backoff, MAX_DELAY)
        self._politeness = rules.politeness
        self._under_way = under_way
        self.domains = domains
        self.is_crowded, self.rests_until, self.turn = saved.is_crowded, saved.rests_until, saved.turn
        self._sites: dict[Site, ActiveSite] = {}
        ip_delay = rules.politeness.between_requests_to_an_address
        self.addresses = Addresses(desk.state.addresses, ip_delay=ip_delay, shards=rules.shards)
        self._ready: IndexedHeap[tuple[float, float, float], ActiveSite] = IndexedHeap()
        self._deferred: dict[Site, ActiveSite] = {}  # in the order of their turns
        self._counts = [0] * len(SiteStage)
        self._changed_sites: dict[Site, None] = {}
        self._restore()

    def _restore(self) -> None:
        for visits in self._state.visits:
            self._restore_site(visits)
        deferred = (active for active in self._sites.values() if active.is_deferred)
        self._deferred = {active.site: active for active in sorted(deferred, key=lambda active: active.turn)}
        for address in self.addresses:
            self.addresses.file(address)

    def _restore_site(self, row: SiteVisits) -> None:
        active = self._sites[row.site] = ActiveSite.restored(row, self._records.pin(row.site))
        self._join_domain(active)
        active.count_all(self._state.queues, self._lanes)
        self._counts[active.stage] += 1
        if active.stage is SiteStage.RESTING:
            active.address = self.addresses.at(active.record.ip)
            active.address.resting.put(active, active.ready_at, active.turn)
        elif active.stage is SiteStage.READY:
            active.address = self.addresses.at(active.record.ip)
            active.address.ready += 1
            self._ready.put(active, self._key(active), active.turn)

    def flush(self) -> None:
        """Write what changed; the caller commits."""
        present = [self._sites.get(site) for site in self._changed_sites]
        self._state.visits.put([active.row() for active in present if active is not None])
        self._state.visits.remove([site for site in self._changed_sites if site not in self._sites])
        for active in present:
            if active is not None and active.balance is not None:
                active.record.balance = active.balance.record
                self._records.changed(active.record)
        self._changed_sites.clear()
        self.addresses.flush()
        self.domains.flush()

    # looking

    def __len__(self) -> int:
        return len(self._sites)

    def __iter__(self) -> Iterator[ActiveSite]:
        return iter(self._sites.values())

    def get(self, site: Site) -> ActiveSite | None:
        """The site, if it is active."""
        return self._sites.get(site)

    def count(self, stage: SiteStage) -> int:
        """How many active sites are in a stage."""
        return self._counts[stage]

    @property
    def room(self) -> int:
        """How many more sites may be admitted."""
        return self._capacity - len(self._sites)

    @property
    def weight(self) -> int:
        """How many entries of any kind are held: what memory grows with."""
        return len(self._sites) + self.addresses.weight + self._ready.weight

    @property
    def next_at(self) -> float | None:
        """When the next site may be ready; 0 if one is."""
        return 0.0 if len(self._ready) or self._next_deferred is not None else self.addresses.next_at

    @property
    def is_for_embedded(self) -> bool:
        """Whether only files that pages embed are granted."""
        return len(self._lanes) == 1

    # sites come and go

    def grant_embedded(self, *, alone: bool) -> None:
        """Have only files granted that pages embed, or all lanes again. Sites without such URLs are not active."""
        if alone == self.is_for_embedded:
            return
        self._lanes = (Lane.EMBEDDED,) if alone else self._all_lanes
        self.is_crowded = True
        for active in list(self._sites.values()):
            active.count_all(self._state.queues, self._lanes)
            self._renew(active)
            if active.stage in (SiteStage.READY, SiteStage.RESTING) and not active.waiting:
                self.place(active, active.ready_at)

    def queued(self, entries: Iterable[Queued], now: float) -> None:
        """URLs were queued: count them, and admit their sites as far as there is room."""
        absent: dict[Site, int] = {}
        grown: dict[Site, ActiveSite] = {}
        for entry in entries:
            if entry.lane not in self._lanes:
                continue
            level = self.urgency(entry)
            active = self._sites.get(entry.site)
            if active is not None:
                active.level = min(active.level, level)
                active.count(entry.lane, 1)
                grown[entry.site] = active
            else:
                absent[entry.site] = min(level, absent.get(entry.site, level))
        for active in grown.values():
            self._renew(active)
        if absent:
            self._admit_all(absent, now)

    def urgency(self, entry: Queued) -> int:
        """The level at which a site waits for a URL. Scores of a sitemap compare URLs of that sitemap only."""
        return self._listed_level if entry.lane in _LISTED and self._listed_level >= 0 else entry.level

    def raise_level(self, site: Site, level: int) -> None:
        """Raise the level of a site with a better URL: it may be wanted sooner."""
        active = self._sites.get(site)
        if active is not None and level < active.level:
            active.level = level
            self._renew(active)

    def look_at(self, active: ActiveSite, level: int) -> None:
        """Set the level of a site's best URL after a lookup."""
        active.level = level
        self._changed_sites[active.site] = None

    @property
    def has_room(self) -> bool:
        """Whether sites that wait beyond the capacity may be admitted: when a tenth of it is free."""
        return self.is_crowded and self.room >= max(1, self._capacity // 10)

    @property
    def is_quiet(self) -> bool:
        """Whether no site is active, and so nothing is under way."""
        return not self._sites

    @property
    def next_look_at(self) -> float | None:
        """When sites that wait in their queues may be looked for: there is room, or for a pass, or for a domain."""
        if self.has_room:
            return 0.0
        times = self.domains.next_pass_at, self.domains.next_look_at(self.is_quiet)
        return min((at for at in times if at is not None), default=None)

    def admit_waiting(self, now: float) -> None:
        """Admit sites that wait beyond the capacity, or for a pass or a place of their domain, if it is time."""
        at = self.next_look_at
        if at is None or at > now:
            return
        if self.domains.begin_pass(now):
            self.free_deferred()
            self.reorder()
        waiting = (
            (site, level)
            for site, lane, level in self._state.queues.waiting()
            if lane in self._lanes and site not in self._sites
        )
        absent, self.is_crowded = self.domains.choose(waiting, max(self.room, 0), now)
        self._admit_all(absent, now)

    def _admit_all(self, absent: dict[Site, int], now: float) -> None:
        room = max(self.room, 0)
        self._records.get_all(list(absent)[:room])
        for site, level in absent.items():
            if not self.domains.has_place(self.domains.of(site)):
                continue
            if self.room <= 0:
                self.is_crowded = True
                break
            self._admit(site, level, now)

    def _admit(self, site: Site, level: int, now: float) -> ActiveSite:
        """A site rests until its time; one too far ahead was written by a clock that ran fast, maybe just now."""
        record = self._records.pin(site)
        if record.ready_at > now + self._max_wait:
            record.ready_at = now + self._delay_of(record)
        active = self._sites[site] = ActiveSite(record, level)
        self._join_domain(active)
        active.count_all(self._state.queues, self._lanes)
        self._counts[SiteStage.PARKED] += 1
        self._move(active, Move.ADMIT)
        rest = max(self._delay_of(record) - self.addresses.longest_pause, 0.0) if record.ready_at else 0.0
        self._settle(active, max(record.ready_at, self.rests_until + rest))  # the clock may have been set meanwhile
        return active

    def _delay_of(self, record: SiteState) -> float:
        """For how many seconds a site rests."""
        return delay_after(self._politeness, record.delay, record.last_duration)

    def _join_domain(self, active: ActiveSite) -> None:
        active.domain = self.domains.of(active.site)
        self.domains.joined(active.domain)

    def summon(self, site: Site, now: float) -> ActiveSite:
        """Admit a site now, whether there is room or not: another site's robots.txt is there."""
        active = self._sites.get(site)
        if active is None:
            active = self._admit(site, 0, now)
            active.is_guest = self.room < 0
        return active

    @staticmethod
    def may_be_asked_at(active: ActiveSite) -> float:
        """When a site may be asked out of turn; infinite if it is busy, held or given up."""
        if active.address is None or active.record.retired:
            return math.inf
        return max(active.ready_at, active.address.next_at)

    def end_back_off(self, record: SiteState, now: float) -> None:
        """Let a site that backs off rest no longer than after a visit."""
        record.ready_at = min(record.ready_at, now + self._delay_of(record))
        self._records.changed(record)
        active = self._sites.get(record.site)
        if active is not None and active.stage is SiteStage.RESTING:
            self.place(active, record.ready_at)

    def place(self, active: ActiveSite, until: float) -> None:
        """Where a site goes that has nothing under way: it rests until then, waits for another site, or is parked.

        `record.ready_at` may be later: then the visit goes on, and the rest of it counts once it has ended.
        """
        active.record.ready_at = max(active.record.ready_at, until)
        self.changed(active)
        if self._under_way(active.site):
            active.not_before = max(active.not_before, until)
            return
        until, active.not_before = max(until, active.not_before), 0.0
        move = active.destination(has_room=self.room >= 0)
        if move is Move.REST:
            self.rest(active, until)
        elif move is Move.HOLD:
            self._move(active, move)
        else:
            self.is_crowded |= bool(active.waiting)
            self._park(active)

    def _park(self, active: ActiveSite) -> None:
        self._move(active, Move.PARK)
        self._counts[SiteStage.PARKED] -= 1
        if active.balance is not None:
            active.record.balance = active.balance.record
        self._records.changed(active.record)
        self._records.unpin(active.site)
        self.domains.ended(active.domain)
        del self._sites[active.site]

    def changed(self, active: ActiveSite) -> None:
        """Mark a site as changed, to be written."""
        self._changed_sites[active.site] = None
        self._records.changed(active.record)

    # the turns of a site

    def rest(self, active: ActiveSite, until: float) -> None:
        """Leave the site alone until then."""
        self._move(active, Move.REST)
        self._settle(active, until)

    def _settle(self, active: ActiveSite, until: float) -> None:
        self.turn += 1
        active.ready_at, active.turn = until, self.turn
        address = active.address = self.addresses.at(active.record.ip)
        address.resting.put(active, until, active.turn)
        self.addresses.file(address)

    def grant(self, active: ActiveSite, ip: str | None, now: float) -> None:
        """Record a request that begins now, to this address; without one the site is only looked up."""
        if ip is not None:
            address = self.addresses.asked(ip, now)
            if address is not active.address:
                self.addresses.file(address)
        self.domains.asked(active.domain)
        self._move(active, Move.GRANT)

    def room_at(self, active: ActiveSite) -> int:
        """How many requests may begin at the address of a ready site."""
        return 1 if active.address is None else max(active.address.room, 1)

    def pop_ready(self, now: float) -> ActiveSite | None:
        """The most wanted site of those that may be visited now. The caller grants it a request or places it."""
        if self._deferred and not self.domains.holds_back:
            self.free_deferred()
        while (active := self._pop_awake(now)) is None and (deferred := self._next_deferred) is not None:
            self.rest(deferred, deferred.record.ready_at)
        return active

    @property
    def _next_deferred(self) -> ActiveSite | None:
        """The site that was deferred first, if it need not wait any longer."""
        first = next(iter(self._deferred.values()), None)
        return None if first is None or self.domains.must_wait(first.domain) else first

    def _wake_all(self, now: float) -> None:
        while (address := self.addresses.pop_due(now)) is not None:
            if address.is_exclusive:
                self._wake(address, address.resting.pop())
                continue
            while (active := address.resting.pop_until(now)) is not None:
                self._wake(address, active)
            self.addresses.file(address)

    def _pop_awake(self, now: float) -> ActiveSite | None:
        self._wake_all(now)
        while (first := self._ready.first) is not None:
            active = self._ready.pop()
            if active is None:
                raise InvariantError("a heap with a first key was empty")
            key = self._key(active)
            if key > first:  # another site of its domain has used the budget
                self._ready.put(active, key, active.turn)
            elif self._is_later(active):
                self._postpone(active)
            elif not self.domains.must_wait(active.domain) or active.taken or active.delegated:
                return active
            elif self.domains.has_too_many_discounted:
                self._postpone(active)
            else:  # its address is free for others
                self.rest(active, now + DISCOUNTED_REST)
                active.is_deferred = True
                self._deferred[active.site] = active
        return None

    def free_deferred(self) -> None:
        """Let all deferred sites be looked at as soon as politeness allows: they compete with those found since."""
        for active in list(self._deferred.values()):
            self.rest(active, active.record.ready_at)

    def _is_later(self, active: ActiveSite) -> bool:
        """Whether a site waits for a later pass. Revisits, and robots.txt files for others, do not wait."""
        return (
            self.domains.is_later(active.domain)
            and not active.delegated
            and not active.awaits_robots
            and Lane.REFRESH not in active.waiting
        )

    def _postpone(self, active: ActiveSite) -> None:
        """Leave a site in its queues until a later pass, or until its domain has a place."""
        self.domains.has_place(active.domain)
        self.changed(active)
        self._park(active)

    def reorder(self) -> None:
        """Order the sites that are ready again: budgets have changed."""
        for active in self._sites.values():
            if active.stage is SiteStage.READY:
                self._ready.put(active, self._key(active), active.turn)

    def _wake(self, address: Address, active: ActiveSite | None) -> None:
        if active is None:
            raise InvariantError("an address was due at which no site rests")
        self._counts[active.stage] -= 1
        active.move(Move.WAKE)
        self._end_deferral(active)
        self._counts[active.stage] += 1
        address.ready += 1
        self._changed_sites[active.site] = None
        self._ready.put(active, self._key(active), active.turn)

    def _key(self, active: ActiveSite) -> tuple[float, float, float]:
        """Which site is next: of a domain that has used less of its budget, then by the ordering.

        A visit that has begun goes on: its connection is open.
        """
        if active.taken:
            return -math.inf, -math.inf, active.ready_at
        return active.domain.turn, *self._ordering.site_key(active.queue_length, active.level, active.ready_at)

    def _renew(self, active: ActiveSite) -> None:
        """Update a site after a change of what its turn depends on."""
        self._changed_sites[active.site] = None
        if active.stage is SiteStage.READY:
            self._ready.put(active, self._key(active), active.turn)

    def _move(self, active: ActiveSite, event: Move) -> None:
        before = active.stage
        active.move(event)
        self._end_deferral(active)
        self._counts[before] -= 1
        self._counts[active.stage] += 1
        self._changed_sites[active.site] = None
        address, active.address = active.address, None
        if before is SiteStage.READY:
            self._ready.drop(active)
        if address is not None:
            address.resting.drop(active)
            address.ready -= before is SiteStage.READY
            self.addresses.file(address)

    def _end_deferral(self, active: ActiveSite) -> None:
        if active.is_deferred:
            active.is_deferred = False
            del self._deferred[active.site]

    # a new process

    def restart(self, now: float) -> None:
        """Continue in a new process: requests of the last one may just have arrived, so every site rests once more.

        Times too far ahead were written by a clock that ran fast.
        """
        self.rests_until = now + self.addresses.longest_pause
        self.domains.restart()
        self.addresses.restart(now)
        for active in list(self._sites.values()):
            at = active.record.ready_at if active.record.ready_at <= now + self._max_wait else now
            active.record.ready_at = max(at, now + max(self._delay_of(active.record), self.addresses.longest_pause))
            active.not_before = active.not_before if active.not_before <= now + self._max_wait else 0.0
            self.changed(active)
            if active.stage is not SiteStage.HELD:
                self.place(active, active.record.ready_at)

    # proofs

    def check_some(self, first: int, count: int) -> int:
        """Check some sites from the one at this position on; returns where to continue."""
        first = first if first < len(self._sites) else 0
        for active in list(islice(self._sites.values(), first, first + count)):
            self._check(active)
        return first + count

    def check_invariants(self) -> None:
        """Check that every site is in one stage and can be found from there; no site that waits is forgotten."""
        stages = [active.stage for active in self._sites.values()]
        for stage in SiteStage:
            found = stages.count(stage)
            if found != self._counts[stage]:
                raise InvariantError(f"{found} sites are {stage.name}, {self._counts[stage]} were counted")
        for active in self._sites.values():
            self._check(active)
        self.addresses.check_invariants(len(self._ready))
        if any(active.is_deferred != (active.site in self._deferred) for active in self._sites.values()):
            raise InvariantError("a site that was deferred cannot be found")
        if not (self.is_crowded or self.domains.is_waited_for or self.domains.is_full):
            for site, lane, _ in self._state.queues.waiting():
                if site not in self._sites and lane in self._lanes:
                    raise InvariantError(f"URLs of {site} wait, but it is not active")

    def _check(self, active: ActiveSite) -> None:
        at_rest = active.address is not None and active in active.address.resting
        if at_rest != (active.stage is SiteStage.RESTING) or (active in self._ready) != (
            active.stage is SiteStage.READY
        ):
            raise InvariantError(f"{active.site} is {active.stage.name}, but not in that heap")
        if at_rest and active.address is not self.addresses.find(active.record.ip):
            raise InvariantError(f"{active.site} rests at an address that is not its own")
        under_way = self._under_way(active.site)
        if (under_way > 0) != (active.stage is SiteStage.BUSY):
            raise InvariantError(f"{active.site} is {active.stage.name} with {under_way} requests under way")
        lengths = {lane: self._state.queues.length(active.site, lane) for lane in self._lanes}
        if active.waiting != {lane: length for lane, length in lengths.items() if length}:
            raise InvariantError(f"{active.waiting} URLs were counted at {active.site}, not {lengths}")
