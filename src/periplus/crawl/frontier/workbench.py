"""The sites at hand: who rests until when, who is ready, who is being visited.

Two levels of heaps (BUbiNG's workbench): addresses by the time at which one may next be asked, and at each address its
sites by the time at which each may be. Sites whose time has come lie in a third heap, in the order that the ordering
wants them, which matters when there are more of them than hands.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from heapq import heappop, heappush

from periplus.model import InvariantError, Site, SiteState, Url


class Place(Enum):
    """Where a site is."""

    RESTING = "resting"
    READY = "ready"
    VISITED = "visited"
    HELD = "held"
    GONE = "gone"


class ActiveSite:
    """A site on the workbench: what is kept of it, and what matters only now.

    `level` is that of its best URL when last looked at; `taken` counts the pages of this visit; `flying` the requests
    under way; `errands` are robots files wanted here by other sites, with the number of redirects that led to each;
    `robots_at` is where its own robots.txt was last said to be; `is_expected`: an answer about it is to come from
    another site.
    """

    __slots__ = (
        "errands", "flying", "is_changed", "is_expected", "level", "place", "ready_at", "robots_at", "robots_redirects",
        "robots_tries", "serial", "state", "taken",
    )  # fmt: skip

    def __init__(self, state: SiteState, level: int) -> None:
        self.state = state
        self.level = level
        self.place = Place.GONE
        self.ready_at = state.ready_at
        self.serial = 0
        self.flying = 0
        self.taken = 0
        self.is_changed = False
        self.is_expected = False
        self.errands: deque[tuple[Site, Url, int]] = deque()
        self.robots_at: Url | None = None
        self.robots_redirects = 0
        self.robots_tries = 0

    @property
    def site(self) -> Site:
        """Its name."""
        return self.state.site


class _Address:
    """The sites at one address, by the time at which each may be visited. `filed_at` is its place in the outer heap."""

    __slots__ = ("filed_at", "ip", "next_at", "resting")

    def __init__(self, ip: str | None) -> None:
        self.ip = ip
        self.next_at = 0.0
        self.filed_at: float | None = None
        self.resting: list[tuple[float, int, ActiveSite]] = []


class Workbench:
    """The sites that have something waiting, as many as there is room for."""

    def __init__(self, ip_delay: float, *, capacity: int, key: Callable[[ActiveSite], tuple[float, float]]) -> None:
        self._ip_delay = ip_delay
        self._capacity = capacity
        self._key = key
        self._sites: dict[Site, ActiveSite] = {}
        self._addresses: dict[str | None, _Address] = {}
        self._heap: list[tuple[float, int, _Address]] = []
        self._ready: list[tuple[tuple[float, float], int, ActiveSite]] = []
        self._serial = 0
        self._counts = dict.fromkeys(Place, 0)

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
        address = self._address(active.state.ip)
        heappush(address.resting, (until, active.serial, active))
        self._file(address)

    def hold(self, active: ActiveSite) -> None:
        """Leave the site alone until somebody says otherwise."""
        self._move(active, Place.HELD)

    def visit(self, active: ActiveSite, now: float) -> None:
        """A request to this site begins now."""
        self._move(active, Place.VISITED)
        if active.state.ip is not None:
            address = self._address(active.state.ip)
            address.next_at = max(address.next_at, now + self._ip_delay)
            self._file(address)

    def _address(self, ip: str | None) -> _Address:
        address = self._addresses.get(ip)
        if address is None:
            address = self._addresses[ip] = _Address(ip)
        return address

    def pop_ready(self, now: float) -> ActiveSite | None:
        """The most wanted site of those that may be visited now; it is in nobody's hands until placed again."""
        self._wake(now)
        while self._ready:
            _, serial, active = heappop(self._ready)
            if active.serial == serial and active.place is Place.READY:
                return active
        return None

    @property
    def next_at(self) -> float | None:
        """When the next site may be ready; 0 if one is."""
        if self._counts[Place.READY]:
            return 0.0
        return self._heap[0][0] if self._heap else None

    def _move(self, active: ActiveSite, place: Place) -> None:
        """Whatever still points to its former place is known to be old by its serial."""
        self._serial += 1
        active.serial = self._serial
        self._counts[active.place] -= 1
        self._counts[place] += 1
        active.place = place

    def _file(self, address: _Address) -> None:
        while address.resting and not _rests(address.resting[0]):
            heappop(address.resting)
        at = address.next_at
        if address.resting:
            at = max(at, address.resting[0][0])
        if address.filed_at is None or at < address.filed_at:
            self._serial += 1
            address.filed_at = at
            heappush(self._heap, (at, self._serial, address))

    def _wake(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            at, _, address = heappop(self._heap)
            if at != address.filed_at:
                continue
            address.filed_at = None
            self._wake_one(address, now)

    def _wake_one(self, address: _Address, now: float) -> None:
        """One site of an address becomes ready; the address then waits in its turn."""
        while address.resting and not _rests(address.resting[0]):
            heappop(address.resting)
        if not address.resting:
            if address.next_at <= now:
                del self._addresses[address.ip]
            else:
                self._file(address)
            return
        if address.next_at <= now and address.resting[0][0] <= now:
            active = heappop(address.resting)[2]
            self._move(active, Place.READY)
            heappush(self._ready, (self._key(active), active.serial, active))
            if address.ip is not None:
                address.next_at = now + self._ip_delay
        self._file(address)

    def check_invariants(self) -> None:
        """Every site is in one place, and can be found from there."""
        for place in Place:
            there = sum(active.place is place for active in self._sites.values())
            if there != self._counts[place]:
                raise InvariantError(f"{there} sites are {place.value}, {self._counts[place]} were counted")
        for active in self._sites.values():
            self._check_place(active)

    def _check_place(self, active: ActiveSite) -> None:
        if active.place is Place.RESTING:
            address = self._addresses.get(active.state.ip)
            if address is None or address.filed_at is None:
                raise InvariantError(f"{active.site} rests at an address that nobody looks at")
            if not any(found is active and serial == active.serial for _, serial, found in address.resting):
                raise InvariantError(f"{active.site} rests, but not at its address")
            if address.filed_at > max(active.ready_at, address.next_at):
                raise InvariantError(f"{active.site} would be woken too late")
        if active.place is Place.READY and not any(serial == active.serial for _, serial, _ in self._ready):
            raise InvariantError(f"{active.site} is ready, but nobody can find it")
        if (active.flying > 0) != (active.place is Place.VISITED):
            raise InvariantError(f"{active.site} is {active.place.value} with {active.flying} requests under way")


def _rests(entry: tuple[float, int, ActiveSite]) -> bool:
    _, serial, active = entry
    return active.serial == serial and active.place is Place.RESTING
