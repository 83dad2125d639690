"""The sites at hand: who rests until when, who is ready, who is being visited.

Two levels (BUbiNG's workbench): addresses by the time at which one may next be asked, and at each address its sites by
the time at which each may be. Sites whose time has come are ready, in the order in which the ordering wants them, which
matters when there are more of them than hands. Of the sites at one address one at a time is ready: who waits there for
a hand waits for all of them, or two of them would be asked at once.

Where there are several shards, an address is asked by nobody who has not been told how many of them are there (its
share, see `claims`), and then every so many times `ip_delay`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from enum import IntEnum

from msgspec import Struct

from periplus.model import InvariantError, Lane, Site, SiteState, Url
from periplus.policy.balance import SiteBalance

from .agenda import Agenda
from .claims import AddressClaims, key_of

LINGER = 60
"""Where several shards share addresses, we leave one where nobody was twice in a row, looked up every so many words
that we say to the others: a quarter of a minute, however fast the time of the crawl goes."""


class FrontierSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How much is kept at hand. `max_sites`: so many sites take turns; those beyond wait until one is finished."""

    max_sites: int = 50_000


class Place(IntEnum):
    """Where a site is."""

    GONE = 0
    RESTING = 1
    READY = 2
    VISITED = 3
    HELD = 4


class ActiveSite:
    """A site on the workbench: what is kept of it, and what matters only now.

    `waiting` URLs wait there, in these `lanes`; `level` is that of the best when last looked at; `taken` counts the
    pages of this visit; `flying` the requests under way, and `not_before` is until when those of them that have ended
    want it left alone; `lookups` counts failed searches for its address. `errands` are robots files wanted here by
    other sites, with the number of redirects that led to each; `is_expected`: the answer about its own is to come from
    another site. `is_guest`: it came for an errand when there was no room. `balance` shares its budget between its
    sources, once it has two. `had_file`: the last that was taken was no page.
    """

    __slots__ = (
        "address", "balance", "errands", "flying", "had_file", "is_changed", "is_expected", "is_guest", "lanes",
        "level", "lookups", "not_before", "place", "ready_at", "site", "state", "taken", "waiting",
    )  # fmt: skip

    def __init__(self, state: SiteState, level: int) -> None:
        self.state = state
        self.site = state.site
        self.level = level
        self.waiting = 0
        self.lanes: list[Lane] = []
        self.balance: SiteBalance | None = None
        self.place = Place.GONE
        self.address: _Address | None = None
        self.ready_at = state.ready_at
        self.not_before = 0.0
        self.flying = 0
        self.taken = 0
        self.lookups = 0
        self.is_changed = False
        self.had_file = False
        self.is_expected = False
        self.is_guest = False
        self.errands: deque[tuple[Site, Url, int]] = deque()


class _Address:
    """The sites at one address: those that rest, by when each may be visited, and how many are ready.

    Sites whose address is not known yet, or does not matter, are all at one that is not shared. `pause` is between two
    requests, infinite where nobody has said what our share is.
    """

    __slots__ = ("is_idle", "is_shared", "next_at", "pause", "ready", "resting")

    def __init__(self, is_shared: bool, pause: float) -> None:
        self.is_shared = is_shared
        self.is_idle = False
        self.pause = pause
        self.next_at = 0.0 if pause < math.inf else math.inf
        self.ready = 0
        self.resting: Agenda[float, ActiveSite] = Agenda()

    def change(self, pause: float, now: float) -> None:
        """What is left of a pause grows or shrinks with it, so that no more is asked than shares allow at any time."""
        left = max(self.next_at - now, 0.0) * pause / self.pause if self.pause < math.inf else 0.0
        self.next_at, self.pause = now + left, pause


class Workbench:
    """The sites that have something waiting, as many as there is room for. `register`: if there are other shards."""

    def __init__(
        self,
        ip_delay: float,
        *,
        capacity: int,
        key: Callable[[ActiveSite], tuple[float, float]],
        register: AddressClaims | None = None,
    ) -> None:
        self._ip_delay = ip_delay
        self._register = register
        self._capacity = capacity
        self._key = key
        self._sites: dict[Site, ActiveSite] = {}
        self._anywhere = _Address(is_shared=False, pause=0.0)
        self._addresses: dict[int, _Address] = {}
        self._sweep_at = 1000
        self._leave_at = LINGER
        self._now = 0.0
        self._due: Agenda[float, _Address] = Agenda()
        self._ready: Agenda[tuple[float, float], ActiveSite] = Agenda()
        self._counts = [0] * len(Place)

    def __len__(self) -> int:
        return len(self._sites)

    def __iter__(self) -> Iterator[ActiveSite]:
        return iter(self._sites.values())

    def get(self, site: Site) -> ActiveSite | None:
        """The site, if it is at hand."""
        return self._sites.get(site)

    @property
    def room(self) -> int:
        """How many more sites may be admitted."""
        return self._capacity - len(self._sites)

    @property
    def weight(self) -> int:
        """How many entries of any kind are held: what memory grows with."""
        resting = sum(address.resting.weight for address in self._places())
        held = len(self._sites) + len(self._addresses) + (0 if self._register is None else len(self._register))
        return held + resting + self._due.weight + self._ready.weight

    @property
    def longest_pause(self) -> float:
        """Seconds between two requests to an address, if all shards are there."""
        return self._ip_delay * (1 if self._register is None else self._register.shards)

    def count(self, place: Place) -> int:
        """How many sites are there."""
        return self._counts[place]

    def admit(self, state: SiteState, level: int) -> ActiveSite:
        """Put a site on the workbench; it rests until its time. Errands may go beyond the capacity."""
        active = self._sites[state.site] = ActiveSite(state, level)
        self._counts[Place.GONE] += 1
        self.rest(active, state.ready_at)
        return active

    def leave(self, active: ActiveSite) -> None:
        """Take a site off the workbench."""
        self._move(active, Place.GONE)
        self._counts[Place.GONE] -= 1
        del self._sites[active.site]

    def rest(self, active: ActiveSite, until: float) -> None:
        """Leave the site alone until then."""
        self._move(active, Place.RESTING)
        active.ready_at = until
        address = active.address = self._address(active.state.ip)
        address.resting.put(active, until)
        self._file(address)

    def hold(self, active: ActiveSite) -> None:
        """Leave the site alone until somebody says otherwise."""
        self._move(active, Place.HELD)

    def renew(self, active: ActiveSite) -> None:
        """What a site's turn depends on has changed."""
        if active.place is Place.READY:
            self._ready.put(active, self._key(active))

    def visit(self, active: ActiveSite, ip: str | None, now: float) -> None:
        """A request begins now, to this address; without one the site is only looked up."""
        if ip is not None:
            address = self._address(ip)
            address.next_at = max(address.next_at, now + address.pause)
            if address is not active.address:
                self._file(address)
        self._move(active, Place.VISITED)

    def pop_ready(self, now: float) -> ActiveSite | None:
        """The most wanted site of those that may be visited now; it is in nobody's hands until placed again."""
        self._now = now
        if self._register is not None:
            self._mind(self._register, now)
        while (address := self._due.pop_until(now)) is not None:
            if address.is_shared:
                self._wake(address, address.resting.pop())
                continue
            while (active := address.resting.pop_until(now)) is not None:
                self._wake(address, active)
            self._file(address)
        return self._ready.pop()

    def _wake(self, address: _Address, active: ActiveSite | None) -> None:
        if active is None:
            raise InvariantError("an address was due where nobody rests")
        active.place = Place.READY
        self._counts[Place.RESTING] -= 1
        self._counts[Place.READY] += 1
        address.ready += 1
        self._ready.put(active, self._key(active))

    @property
    def next_at(self) -> float | None:
        """When the next site may be ready; 0 if one is."""
        return 0.0 if len(self._ready) else self._due.first

    def _move(self, active: ActiveSite, place: Place) -> None:
        address, active.address = active.address, None
        if active.place is Place.READY:
            self._ready.drop(active)
        self._counts[active.place] -= 1
        self._counts[place] += 1
        if address is not None:
            address.resting.drop(active)
            address.ready -= active.place is Place.READY
            self._file(address)
        active.place = place

    def _file(self, address: _Address) -> None:
        """Note when the address is to be looked at: not while nobody rests there, or one that was woken waits."""
        at = address.resting.first
        if at is None or (address.is_shared and address.ready):
            self._due.drop(address)
        else:
            self._due.put(address, max(at, address.next_at))

    def _address(self, ip: str | None) -> _Address:
        if ip is None or self._ip_delay <= 0:
            return self._anywhere
        key = key_of(ip)
        address = self._addresses.get(key)
        if address is None:
            if len(self._addresses) > self._sweep_at:
                self._sweep()
            address = self._addresses[key] = _Address(is_shared=True, pause=self._pause(key))
            if self._register is not None:
                self._register.enter(key)
        address.is_idle = False
        return address

    def _pause(self, key: int) -> float:
        if self._register is None:
            return self._ip_delay
        return self._ip_delay * (self._register.share(key) or math.inf)

    def _mind(self, register: AddressClaims, now: float) -> None:
        """Heed how many others are at our addresses now, and leave those where we have nothing more to do."""
        for key in register.news():
            if (address := self._addresses.get(key)) is not None:
                address.change(self._pause(key), now)
                self._file(address)
        if register.words >= self._leave_at:
            self._leave_at = register.words + LINGER
            self._sweep(lingers=True)

    def _places(self) -> Iterator[_Address]:
        yield self._anywhere
        yield from self._addresses.values()

    def _sweep(self, *, lingers: bool = False) -> None:
        """Forget addresses where nobody is and that may be asked again; when as many have come anew, once more."""
        empty = []
        for key, address in self._addresses.items():
            if not len(address.resting) and not address.ready and address.next_at <= self._now:
                if address.is_idle or not lingers:
                    empty.append(key)
                address.is_idle = True
        for key in empty:
            del self._addresses[key]
            if self._register is not None:
                self._register.leave(key)
        self._sweep_at = 2 * len(self._addresses) + 1000

    def check_invariants(self) -> None:
        """Every site is in one place, and can be found from there."""
        places = [active.place for active in self._sites.values()]
        for place in Place:
            if places.count(place) != self._counts[place]:
                raise InvariantError(f"not {self._counts[place]} sites are {place.name}, as was counted")
        for active in self._sites.values():
            self._check_place(active)
        ready = sum(address.ready for address in self._places())
        if ready != len(self._ready) or ready != self._counts[Place.READY]:
            raise InvariantError(f"{ready} sites were woken, {len(self._ready)} can be found")
        for address in self._places():
            is_awaited = len(address.resting) > 0 and not (address.is_shared and address.ready)
            if is_awaited != (address in self._due) or (address.is_shared and address.ready > 1):
                raise InvariantError("an address is looked at when it should not be, or never")

    def _check_place(self, active: ActiveSite) -> None:
        at_rest = active.address is not None and active in active.address.resting
        if at_rest != (active.place is Place.RESTING) or (active in self._ready) != (active.place is Place.READY):
            raise InvariantError(f"{active.site} is {active.place.name}, but not to be found there")
        if at_rest and active.address is not self._address(active.state.ip):
            raise InvariantError(f"{active.site} rests at an address that is not its own")
        if (active.flying > 0) != (active.place is Place.VISITED):
            raise InvariantError(f"{active.site} is {active.place.name} with {active.flying} requests under way")
