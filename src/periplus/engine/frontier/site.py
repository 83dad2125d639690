"""The state machine of a site with waiting URLs, which decides when it gets which request; and the records of sites.

The stages and the events that lead from one to another are `TRANSITIONS`; any other event is a bug and raises
`InvariantError`. `python -m periplus.engine.frontier` prints the table.

    PARKED    nothing of the site waits; it is not in memory
    RESTING   left alone until `ready_at`: politeness, a back-off, or a turn that was cut short
    READY     may be visited; waits for a free slot, in the order that the ordering wants
    BUSY      requests to it are under way
    HELD      its robots.txt is at another site, and is being requested there

The request to a READY site follows from what is known of it (`next_request`): its IP address, then a robots.txt that
another site needs from it, then its own robots.txt, and only then a page. A site that was given up gets no requests:
its waiting URLs are refused, a few at a time (DRAIN). A frontier opened from disk restores each site from its `row` and
decides as the one that wrote it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import Enum, IntEnum, auto
from typing import TYPE_CHECKING

from periplus.model import Delegation, InvariantError, Lane, Queues, Site, SiteVisits
from periplus.policy.balance import SiteBalance
from periplus.policy.settings import BalanceSettings
from periplus.store import Sites, SiteState

if TYPE_CHECKING:
    from .addresses import Address
    from .domains import Domain

NOT_PAGES = (Lane.PROBES, Lane.FILES, Lane.EMBEDDED)
"""Where something else than pages of the collection waits."""
MAX_ROBOTS_AGE = 86_400.0
"""Seconds that a robots.txt may be used (RFC 9309 section 2.4). One that claims to last longer was written by a clock
that ran ahead, and is fetched again."""
MAX_ADDRESS_AGE = 7 * 86_400.0
"""Seconds that an IP address may be used, for the same reason."""


class SiteStage(IntEnum):
    """The stage of a site in the scheduler."""

    PARKED = 0
    RESTING = 1
    READY = 2
    BUSY = 3
    HELD = 4


class Move(Enum):
    """An event in the life of a site."""

    __hash__ = object.__hash__  # each is one object; Enum would hash its name, in Python

    ADMIT = auto()
    """A URL of it waits, and there is room."""
    WAKE = auto()
    """Its time has come, and its address is free."""
    GRANT = auto()
    """A request to it begins."""
    REST = auto()
    """It is left alone for a while."""
    HOLD = auto()
    """It waits for another site's answer."""
    PARK = auto()
    """Nothing of it waits any more."""


TRANSITIONS: dict[SiteStage, dict[Move, SiteStage]] = {
    SiteStage.PARKED: {Move.ADMIT: SiteStage.RESTING},
    SiteStage.RESTING: {
        Move.WAKE: SiteStage.READY,
        Move.GRANT: SiteStage.BUSY,
        Move.REST: SiteStage.RESTING,
        Move.HOLD: SiteStage.HELD,
        Move.PARK: SiteStage.PARKED,
    },
    SiteStage.READY: {
        Move.GRANT: SiteStage.BUSY,
        Move.REST: SiteStage.RESTING,
        Move.HOLD: SiteStage.HELD,
        Move.PARK: SiteStage.PARKED,
    },
    SiteStage.BUSY: {
        Move.GRANT: SiteStage.BUSY,
        Move.REST: SiteStage.RESTING,
        Move.HOLD: SiteStage.HELD,
        Move.PARK: SiteStage.PARKED,
    },
    SiteStage.HELD: {Move.REST: SiteStage.RESTING, Move.HOLD: SiteStage.HELD, Move.PARK: SiteStage.PARKED},
}


class RequestKind(Enum):
    """The next kind of request to a site."""

    NOTHING = auto()
    DRAIN = auto()
    ADDRESS = auto()
    DELEGATED_ROBOTS = auto()
    ROBOTS = auto()
    PAGE = auto()


class ActiveSite:
    """A site of which URLs wait, or requests are under way.

    `record` is what is known of it for good; the other fields are those of `SiteVisits`. `waiting` has the number of
    URLs in each lane that is not empty; `balance` shares its budget between its sources, once it has two; `address` is
    where it rests or is ready, `domain` the domain that it counts for. Requests under way are known to `Leases`.
    `delegated` has the requests for robots.txt files of other sites, by these sites, in the order of their turns.
    """

    __slots__ = (
        "address", "answer_by", "awaits_robots", "balance", "delegated", "domain", "is_deferred", "is_guest", "level",
        "lookups", "not_before", "ready_at", "record", "site", "stage", "taken", "took_file", "turn", "waiting",
    )  # fmt: skip

    def __init__(self, record: SiteState, level: int) -> None:
        self.record = record
        self.site: Site = record.site
        self.level = level
        self.waiting: dict[Lane, int] = {}
        self.balance: SiteBalance | None = None
        self.stage = SiteStage.PARKED
        self.address: Address | None = None
        self.domain: Domain
        self.ready_at = record.ready_at
        self.not_before = 0.0
        self.taken = 0
        self.lookups = 0
        self.took_file = False
        self.turn = 0
        self.awaits_robots = False
        self.answer_by = 0.0
        self.is_deferred = False
        self.is_guest = False
        self.delegated: dict[Site, Delegation] = {}

    @classmethod
    def restored(cls, row: SiteVisits, record: SiteState) -> ActiveSite:
        """The site as it was written."""
        active = cls(record, row.level)
        active.stage = SiteStage(row.stage)
        active.ready_at, active.not_before = row.ready_at, row.not_before
        active.taken, active.lookups, active.took_file = row.taken, row.lookups, row.took_file
        active.awaits_robots, active.is_guest = row.awaits_robots, row.is_guest
        active.answer_by = row.answer_by
        active.turn, active.is_deferred = row.turn, row.is_deferred
        active.delegated.update((each.wanted_by, each) for each in row.delegated)
        return active

    def row(self) -> SiteVisits:
        """The site as it is written."""
        return SiteVisits(
            self.site, int(self.stage), self.ready_at, self.level, self.not_before, self.taken, self.lookups,
            tuple(self.delegated.values()), self.awaits_robots, self.is_guest, self.took_file, self.turn,
            self.is_deferred, self.answer_by,
        )  # fmt: skip

    def move(self, event: Move) -> None:
        """Go to the stage that an event leads to."""
        stage = TRANSITIONS[self.stage].get(event)
        if stage is None:
            raise InvariantError(f"{self.site} is {self.stage.name}: {event.name} is not possible there")
        self.stage = stage

    @property
    def queue_length(self) -> int:
        """The number of URLs that wait, in all lanes."""
        return sum(self.waiting.values())

    def count(self, lane: Lane, by: int) -> None:
        """URLs were added to a lane, or removed."""
        length = self.waiting.get(lane, 0) + by
        if length > 0:
            self.waiting[lane] = length
        else:
            self.waiting.pop(lane, None)

    def count_all(self, queues: Queues, lanes: Iterable[Lane] = tuple(Lane)) -> None:
        """Look up how many URLs wait in each of these lanes."""
        lengths = ((lane, queues.length(self.site, lane)) for lane in lanes)
        self.waiting = {lane: length for lane, length in lengths if length}

    @property
    def has_balance(self) -> bool:
        """Whether the site has, or had, two sources of pages."""
        return self.balance is not None or self.record.balance is not None

    def balanced(self, settings: BalanceSettings) -> SiteBalance:
        """How the budget of the site is split between its sources."""
        if self.balance is None:
            self.balance = SiteBalance(settings, self.record.balance)
        return self.balance

    def next_request(self, now: float) -> RequestKind:
        """The next request to the site, when it is ready."""
        record = self.record
        if record.retired:
            return RequestKind.DRAIN
        if not self.waiting and not self.delegated:
            return RequestKind.NOTHING
        if not self.has_address(now):
            return RequestKind.ADDRESS
        if self.delegated:
            return RequestKind.DELEGATED_ROBOTS
        return RequestKind.PAGE if self.has_rules(now) else RequestKind.ROBOTS

    def has_address(self, now: float) -> bool:
        """Whether the IP address of the site is recent enough to be used."""
        return self.record.ip is not None and _is_valid(self.record.ip_expires_at, now, MAX_ADDRESS_AGE)

    def has_rules(self, now: float) -> bool:
        """Whether the robots.txt of the site is recent enough to be used."""
        return _is_valid(self.record.robots_expire_at, now, MAX_ROBOTS_AGE)

    def destination(self, *, has_room: bool) -> Move:
        """Where a site goes when its last request has ended."""
        if self.delegated:
            return Move.REST
        if self.awaits_robots:
            return Move.HOLD
        if not self.waiting or (self.is_guest and not has_room):
            return Move.PARK
        return Move.REST


def _is_valid(expires_at: float, now: float, longest: float) -> bool:
    """Whether something may be used until then; infinity is for simulations, in which nothing expires."""
    return now < expires_at <= now + longest or expires_at == math.inf


def transition_table() -> str:
    """The stages and what leads from each to which, as text."""
    moves = list(Move)
    width = max(len(stage.name) for stage in SiteStage)
    lines = [" " * width + "  " + "  ".join(f"{move.name:<{width}}" for move in moves)]
    for stage in SiteStage:
        cells = (TRANSITIONS[stage].get(move) for move in moves)
        lines.append(
            f"{stage.name:<{width}}  " + "  ".join(f"{'-' if cell is None else cell.name:<{width}}" for cell in cells)
        )
    return "\n".join(line.rstrip() for line in lines)


class SiteRecords:
    """Loads site records on demand and writes those that changed: the only code that reads and writes them.

    `get` returns the same object for a site until the next `flush`, so all parts of the frontier change one record, and
    `changed` marks it for writing. Records of sites that are being crawled are pinned; the others are dropped after
    each flush, so memory does not grow with the number of known sites.
    """

    def __init__(self, store: Sites) -> None:
        self._store = store
        self._loaded: dict[Site, SiteState] = {}
        self._pinned: set[Site] = set()
        self._changed: dict[Site, SiteState] = {}

    def get(self, site: Site) -> SiteState:
        """The record of a site; a fresh one if the site is not known."""
        known = self._loaded.get(site)
        return self.get_all([site])[0] if known is None else known

    def get_all(self, sites: Sequence[Site]) -> list[SiteState]:
        """The record of each site, aligned with `sites`."""
        missing = [site for site in dict.fromkeys(sites) if site not in self._loaded]
        for site, state in zip(missing, self._store.get(missing) if missing else (), strict=True):
            self._loaded[site] = SiteState(site) if state is None else state
        return [self._loaded[site] for site in sites]

    def changed(self, state: SiteState) -> None:
        """Mark a record, obtained from `get`, to be written by the next `flush`."""
        self._changed[state.site] = state

    def pin(self, site: Site) -> SiteState:
        """Keep the record of a site loaded until it is unpinned."""
        self._pinned.add(site)
        return self.get(site)

    def unpin(self, site: Site) -> None:
        """Unload the record of a site after the next flush."""
        self._pinned.discard(site)

    def flush(self) -> None:
        """Write every changed record; the caller commits."""
        self._store.put(self._changed.values())
        self._changed.clear()
        if len(self._loaded) > len(self._pinned):
            self._loaded = {site: state for site, state in self._loaded.items() if site in self._pinned}

    def __len__(self) -> int:
        """How many records are loaded."""
        return len(self._loaded)
