"""Who else is at an address: what a shard says of itself, what it is told, and how long it then waits there."""

from __future__ import annotations

from periplus.crawl.frontier import ActiveSite, AddressClaims, AddressShares, ClaimsReport, Workbench
from periplus.crawl.frontier.claims import key_of
from periplus.crawl.frontier.workbench import LINGER
from periplus.crawl.sharding import ClaimRegistry
from periplus.model import Site, SiteState

IP, OTHER = "192.0.2.1", "192.0.2.2"
KEY = key_of(IP)


class Shards:
    """Some claims and the coordinator between them."""

    def __init__(self, count: int) -> None:
        self.claims = [AddressClaims(count) for _ in range(count)]
        self.registry = ClaimRegistry(count)
        for number in range(count):
            self.registry.reset(number)

    def talk(self, number: int) -> AddressShares | None:
        """One word of a shard, and the answer."""
        answer = self.registry.receive(number, self.claims[number].report())
        if answer is not None:
            self.claims[number].update(answer)
        return answer

    def shares(self) -> list[int]:
        """What each may do at the address."""
        return [claims.share(KEY) for claims in self.claims]


def bench(claims: AddressClaims) -> Workbench:
    return Workbench(0.5, capacity=100, key=lambda active: (float(active.level), active.ready_at), register=claims)


def put(there: Workbench, name: str, ip: str = IP) -> ActiveSite:
    return there.admit(SiteState(Site(name), ip), 0)


def ask(there: Workbench, active: ActiveSite, now: float) -> None:
    """A request, answered at once; the site may be asked again right away."""
    there.visit(active, active.state.ip, now)
    there.rest(active, now)


def test_who_is_alone_is_told_so_at_once() -> None:
    """And asked no more questions: there is nothing more to say."""
    shards = Shards(8)
    shards.claims[3].enter(KEY)
    shards.talk(3)
    assert shards.claims[3].share(KEY) == 1
    assert shards.talk(3) is None


def test_a_newcomer_waits_until_those_who_are_there_have_heard_of_it() -> None:
    """They wait longer at once; only when all have said so, it may ask."""
    shards = Shards(3)
    for number in range(3):
        shards.claims[number].enter(KEY)
        shards.talk(number)
    assert shards.shares() == [1, 0, 0]
    shards.talk(0)
    assert shards.shares() == [3, 0, 0]
    shards.talk(1)
    assert shards.shares() == [3, 0, 0]  # that the first has heard it was not said yet
    shards.talk(0)
    shards.talk(1)
    shards.talk(2)
    assert shards.shares() == [3, 3, 3]


def test_those_who_stay_wait_less_when_one_has_left() -> None:
    """Or has died, and begins again with nothing."""
    for leaves in (True, False):
        shards = Shards(2)
        for number in (0, 1, 0, 0, 1):
            if not shards.claims[number].share(KEY) and len(shards.claims[number]) == 0:
                shards.claims[number].enter(KEY)
            shards.talk(number)
        assert shards.shares() == [2, 2]
        if leaves:
            shards.claims[1].leave(KEY)
            shards.talk(1)
        else:
            shards.registry.reset(1)
        shards.talk(0)
        assert shards.claims[0].share(KEY) == 1
        assert len(shards.registry) == 1


def test_a_coordinator_that_came_back_says_nothing_before_it_has_heard_all() -> None:
    """Of two who are there it heard one first: that is not alone."""
    shards = Shards(2)
    for number in (0, 1):
        shards.claims[number].enter(KEY)
    for number in (0, 1, 0, 0, 1):
        shards.talk(number)
    assert shards.shares() == [2, 2]
    shards.registry = ClaimRegistry(2, coordinator=1)
    for _ in range(3):
        shards.talk(0)
    assert shards.shares() == [2, 2]
    for number in (1, 1, 0, 1):
        shards.talk(number)
    assert shards.shares() == [2, 2]
    assert len(shards.registry) == 1


def test_there_is_room_for_so_many_addresses() -> None:
    """Those beyond get the share that is right whoever is there."""
    registry, claims = ClaimRegistry(4, limit=10), AddressClaims(4)
    for number in range(4):
        registry.reset(number)
    for key in range(100):
        claims.enter(key)
    answer = registry.receive(0, claims.report())
    assert answer is not None
    claims.update(answer)
    assert [claims.share(key) for key in range(100)] == [1] * 10 + [4] * 90
    assert len(registry) == 10


def test_a_message_holds_so_much_and_the_next_the_rest() -> None:
    """However many addresses a shard comes to at once."""
    registry, claims = ClaimRegistry(1), AddressClaims(1)
    registry.reset(0)
    for key in range(5_000):
        claims.enter(key)
    said: list[ClaimsReport] = []
    while not said or not said[-1].is_complete:
        said.append(claims.report())
        answer = registry.receive(0, said[-1])
        assert answer is not None
        assert max(len(said[-1].requested), len(answer.shares)) <= 2_000
        claims.update(answer)
    assert [len(each.requested) for each in said] == [2_000, 2_000, 1_000]
    assert all(claims.share(key) == 1 for key in range(5_000))


def test_nobody_asks_at_an_address_before_it_knows_its_share() -> None:
    """Then it waits as many times `ip_delay` as there are shards; what is left of a pause changes with their number."""
    claims = AddressClaims(4)
    there = bench(claims)
    active = put(there, "a")
    assert there.pop_ready(100.0) is None
    claims.update(AddressShares(0, 1, 1, ((KEY, 1),)))
    assert there.pop_ready(100.0) is active
    ask(there, active, 100.0)
    assert there.next_at == 100.5
    claims.update(AddressShares(0, 2, 1, ((KEY, 4),)))
    assert there.pop_ready(100.25) is None
    assert there.next_at == 100.25 + 0.25 * 4
    assert there.pop_ready(101.25) is active
    ask(there, active, 101.25)
    assert there.next_at == 101.25 + 4 * 0.5
    claims.update(AddressShares(0, 3, 1, ((KEY, 2),)))
    assert there.pop_ready(102.25) is None
    assert there.next_at == 102.25 + 1.0 * 2 / 4
    there.check_invariants()


def test_other_addresses_do_not_wait() -> None:
    """A share is of one address."""
    claims = AddressClaims(4)
    there = bench(claims)
    put(there, "a")
    other = put(there, "b", OTHER)
    claims.update(AddressShares(0, 2, 2, ((key_of(OTHER), 1),)))
    assert there.pop_ready(1.0) is other
    assert there.pop_ready(1.0) is None


def test_an_address_is_left_when_nobody_has_been_there_for_a_while() -> None:
    """So that the others wait less; who comes back waits for its share anew, as others may have come meanwhile."""
    claims = AddressClaims(4)
    there = bench(claims)
    active = put(there, "a")
    claims.update(AddressShares(0, 1, 1, ((KEY, 1),)))
    assert there.pop_ready(0.0) is active
    there.visit(active, IP, 0.0)
    there.leave(active)
    for _ in range(2 * LINGER):
        there.pop_ready(10.0)
        assert claims.report().released == ()
    there.pop_ready(10.0)
    assert claims.report().released == (KEY,)
    again = put(there, "a")
    assert there.pop_ready(20.0) is None
    assert claims.report().requested == (KEY,)
    claims.update(AddressShares(0, 2, 3, ((KEY, 2),)))
    assert there.pop_ready(20.0) is again


def test_an_address_is_not_left_by_who_comes_back_in_time() -> None:
    """A site that is visited every few seconds does not have to wait for its share every time."""
    claims = AddressClaims(4)
    there = bench(claims)
    active = put(there, "a")
    claims.update(AddressShares(0, 1, 1, ((KEY, 1),)))
    for number in range(10 * LINGER):
        now = float(number)
        if number % LINGER == 0:
            active = active if number == 0 else put(there, "a")
            assert there.pop_ready(now) is active
            there.visit(active, IP, now)
            there.leave(active)
        there.pop_ready(now)
        assert claims.report().released == ()


def test_what_was_said_of_an_earlier_stay_does_not_count() -> None:
    """The coordinator counts us out as soon as it hears that we have left."""
    claims = AddressClaims(4)
    claims.enter(KEY)
    claims.leave(KEY)
    claims.enter(KEY)
    claims.update(AddressShares(0, 1, 1, ((KEY, 1),)))
    assert claims.share(KEY) == 0
    claims.update(AddressShares(0, 2, 3, ((KEY, 2),)))
    assert claims.share(KEY) == 2
