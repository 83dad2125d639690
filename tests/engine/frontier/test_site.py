"""The state machine of a site: its table, what a site is asked for next, and what is written of it."""

from __future__ import annotations

import math
from itertools import product

import msgspec
import pytest
from msgspec.structs import replace
from tests.each_case import each_case

from periplus.engine.frontier import TRANSITIONS, ActiveSite, Move, RequestKind, SiteStage, transition_table
from periplus.engine.frontier import site as module
from periplus.engine.frontier.site import MAX_ADDRESS_AGE, MAX_ROBOTS_AGE
from periplus.model import Delegation, InvariantError, Lane, Queued, Site, SiteVisits, Url
from periplus.policy.settings import BalanceSettings
from periplus.store import MemoryState, SiteState

NOW = 1_000_000.0
SITE = Site("a.test")
WANTED = Delegation(Site("b.test"), Url("https://a.test/common.txt"), 1)

P, R, Y, B, H = SiteStage.PARKED, SiteStage.RESTING, SiteStage.READY, SiteStage.BUSY, SiteStage.HELD
TABLE = {
    #           ADMIT WAKE  GRANT REST  HOLD  PARK
    P: (R, None, None, None, None, None),
    R: (None, Y, B, R, H, P),
    Y: (None, None, B, R, H, P),
    B: (None, None, B, R, H, P),
    H: (None, None, None, R, H, P),
}
LEGAL = [
    (stage, move, after)
    for stage, row in TABLE.items()
    for move, after in zip(Move, row, strict=True)
    if after is not None
]
ILLEGAL = [pair for pair in product(SiteStage, Move) if pair not in {(stage, move) for stage, move, _ in LEGAL}]


def active(stage: SiteStage = SiteStage.READY, **record: object) -> ActiveSite:
    """A site that has all it needs to be asked for a page, but for what `record` says."""
    known: dict[str, object] = {
        "ip": "192.0.2.1",
        "ip_expires_at": NOW + 60.0,
        "robots_expire_at": NOW + 60.0,
        "ready_at": NOW,
    }
    made = ActiveSite(SiteState(SITE, **known | record), 7)  # type: ignore[arg-type]
    made.stage = stage
    made.count(Lane.DISCOVERY, 3)
    return made


@each_case(("stage", "move", "after"), LEGAL)
def test_legal_transition(stage: SiteStage, move: Move, after: SiteStage) -> None:
    """Every transition of the table leads where it says."""
    site = active(stage)
    site.move(move)
    assert site.stage is after


@each_case(("stage", "move"), ILLEGAL)
def test_illegal_transition_raises(stage: SiteStage, move: Move) -> None:
    """The site stays where it is, and the error names site, stage and event."""
    site = active(stage)
    with pytest.raises(InvariantError, match=rf"{SITE}.*{stage.name}.*{move.name}"):
        site.move(move)
    assert site.stage is stage


def test_table_has_all_stages_and_moves() -> None:
    """Nothing is missing from the table, from the docstring, or from what is printed."""
    assert set(TRANSITIONS) == set(SiteStage)
    assert len(LEGAL) + len(ILLEGAL) == len(SiteStage) * len(Move)
    assert {(stage, move): after for stage, row in TRANSITIONS.items() for move, after in row.items()} == {
        (stage, move): after for stage, move, after in LEGAL
    }
    described = [line.split()[0] for line in (module.__doc__ or "").splitlines() if line.startswith("    ")]
    assert described == [stage.name for stage in SiteStage]
    head, *rows = transition_table().splitlines()
    assert head.split() == [move.name for move in Move]
    for stage, row in zip(SiteStage, rows, strict=True):
        assert row.split() == [stage.name, *("-" if after is None else after.name for after in TABLE[stage])]


# what a site is asked for


def test_page_of_a_site_that_has_all_it_needs() -> None:
    """Its address and its robots.txt are known and have not expired."""
    assert active().next_request(NOW) is RequestKind.PAGE


@each_case("expires_at", [0.0, NOW - 1.0, NOW, NOW + MAX_ADDRESS_AGE + 1.0])
def test_address_that_expired_or_lasts_too_long_is_looked_up(expires_at: float) -> None:
    """One that lasts longer than any may was written by a clock that ran ahead."""
    assert active(ip_expires_at=expires_at).next_request(NOW) is RequestKind.ADDRESS


def test_unknown_address_is_looked_up() -> None:
    """Before anything else, also before a delegated request."""
    site = active(ip=None)
    site.delegated[WANTED.wanted_by] = WANTED
    assert site.next_request(NOW) is RequestKind.ADDRESS


@each_case("expires_at", [0.0, NOW, NOW + MAX_ROBOTS_AGE + 1.0])
def test_robots_that_expired_or_last_too_long_are_fetched(expires_at: float) -> None:
    """RFC 9309 section 2.4: a file is used for a day."""
    assert active(robots_expire_at=expires_at).next_request(NOW) is RequestKind.ROBOTS


def test_longest_lifetimes_are_used() -> None:
    """A day for robots.txt, a week for an address; infinity is for simulations."""
    longest = active(robots_expire_at=NOW + MAX_ROBOTS_AGE, ip_expires_at=NOW + MAX_ADDRESS_AGE)
    assert longest.next_request(NOW) is RequestKind.PAGE
    assert active(robots_expire_at=math.inf, ip_expires_at=math.inf).next_request(NOW) is RequestKind.PAGE


def test_delegated_request_comes_before_the_own_robots() -> None:
    """Sites that redirect to each other must not wait for each other."""
    site = active(robots_expire_at=0.0)
    site.delegated[WANTED.wanted_by] = WANTED
    assert site.next_request(NOW) is RequestKind.DELEGATED_ROBOTS
    site.waiting.clear()
    assert site.next_request(NOW) is RequestKind.DELEGATED_ROBOTS


def test_site_without_urls_is_asked_for_nothing() -> None:
    """Also if its address is not known."""
    site = active(ip=None)
    site.waiting.clear()
    assert site.next_request(NOW) is RequestKind.NOTHING


def test_site_that_was_given_up_is_drained() -> None:
    """Nothing is asked of it, not even its address."""
    assert active(ip=None, retired="dns-not-found").next_request(NOW) is RequestKind.DRAIN


# where a site goes


@pytest.mark.parametrize("has_room", [True, False])
def test_destination_of_a_site(has_room: bool) -> None:
    """It rests while something waits; it is held for another's answer unless others wait for its own; else parked."""
    site = active()
    assert site.destination(has_room=has_room) is Move.REST
    site.awaits_robots = True
    assert site.destination(has_room=has_room) is Move.HOLD
    site.delegated[WANTED.wanted_by] = WANTED
    assert site.destination(has_room=has_room) is Move.REST
    empty = active()
    empty.waiting.clear()
    assert empty.destination(has_room=has_room) is Move.PARK


def test_guest_is_parked_when_there_is_no_room() -> None:
    """It was summoned for a delegated request; its own URLs wait in their queues."""
    site = active()
    site.is_guest = True
    assert site.destination(has_room=False) is Move.PARK
    assert site.destination(has_room=True) is Move.REST


# what is counted and written


def test_counts_of_lanes() -> None:
    """Lanes that are empty are not listed; the queue is what waits in all."""
    site = active()
    site.count(Lane.FILES, 2)
    assert (site.waiting, site.queue_length) == ({Lane.DISCOVERY: 3, Lane.FILES: 2}, 5)
    site.count(Lane.DISCOVERY, -3)
    assert site.waiting == {Lane.FILES: 2}
    state = MemoryState()
    state.queues.push([Queued(Url("https://a.test/1"), SITE, Lane.SITEMAPS, 0)])
    site.count_all(state.queues)
    assert site.waiting == {Lane.SITEMAPS: 1}


def test_balance_is_made_when_it_is_needed() -> None:
    """It continues what the record has."""
    assert not active().has_balance
    site = active()
    balance = site.balanced(BalanceSettings())
    assert site.balanced(BalanceSettings()) is balance
    assert site.has_balance
    assert active(balance=balance.record).has_balance


@each_case("stage", [R, Y, B, H])
def test_row_is_read_back(stage: SiteStage) -> None:
    """Every field of the row is restored."""
    site = active(stage)
    site.ready_at, site.not_before, site.level = NOW + 5.0, NOW + 9.0, 3
    site.taken, site.lookups, site.took_file, site.turn = 2, 1, True, 7
    site.awaits_robots, site.is_guest, site.is_deferred, site.answer_by = True, True, True, NOW + 60.0
    site.delegated[WANTED.wanted_by] = WANTED
    row = msgspec.msgpack.decode(msgspec.msgpack.encode(site.row()), type=SiteVisits)
    again = ActiveSite.restored(row, replace(site.record))
    assert again.row() == site.row()
    assert (again.stage, again.waiting) == (stage, {})
    unset = ActiveSite(SiteState(SITE), 0).row()
    same = [name for name in row.__struct_fields__ if getattr(row, name) == getattr(unset, name)]
    assert same == ["site"], "a field of the row is not set by this test"
