"""How shards share an address: what each reports, which share it is sent, and how long it then waits there. And how
many requests are under way at an address.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from random import Random

from msgspec import Struct
from tests.each_case import each_case
from tests.engine.frontier.opened_frontier import FrontierOptions, OpenedFrontier
from tests.engine.frontier.scheduled_sites import ScheduledSites

from periplus.engine.frontier import (
    ActiveSite,
    AddressClaims,
    AddressShares,
    ClaimsReport,
    PolitenessSettings,
    key_of,
)
from periplus.engine.frontier.addresses import Addresses
from periplus.engine.frontier.politeness import seconds_of
from periplus.engine.sharding import ClaimRegistry
from periplus.model import (
    Discovery,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    Lane,
    Located,
    Purpose,
    Site,
    Source,
    Url,
)
from periplus.store import MemoryState

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
        """One report of a shard, and the answer."""
        answer = self.registry.receive(number, self.claims[number].report())
        if answer is not None:
            self.claims[number].update(answer)
        return answer

    def shares(self) -> list[int]:
        """The share of each at the address."""
        return [claims.share(KEY) for claims in self.claims]


class Shard(ScheduledSites):
    """Shard of four, with its claims: what an engine carries between the two."""

    def __init__(self) -> None:
        super().__init__(shards=4)
        self.claims = AddressClaims(4)

    def report(self) -> ClaimsReport:
        """What has changed at the schedule, as the coordinator is told."""
        claimed, released = self.schedule.addresses.claims()
        for key in claimed:
            self.claims.enter(key)
        for key in released:
            self.claims.leave(key)
        return self.claims.report()

    def set_shares(self, now: float, *shares: AddressShares) -> None:
        """Messages of the coordinator."""
        self.report()
        for each in shares:
            self.claims.update(each)
            self.schedule.addresses.set_shares({key: self.claims.share(key) for key in self.claims.news()}, now)

    def ask(self, active: ActiveSite, now: float) -> None:
        """A request, answered at once; the site may be asked again right away."""
        self.grant(active, now)
        self.end(active, now)


def test_shard_that_is_alone_gets_its_share_at_once() -> None:
    """After that there is nothing more to send."""
    shards = Shards(8)
    shards.claims[3].enter(KEY)
    shards.talk(3)
    assert shards.claims[3].share(KEY) == 1
    assert shards.talk(3) is None


def test_newcomer_waits_until_the_others_have_confirmed() -> None:
    """They wait longer at once; when all have confirmed that, the newcomer may ask."""
    shards = Shards(3)
    for number in range(3):
        shards.claims[number].enter(KEY)
        shards.talk(number)
    assert shards.shares() == [1, 0, 0]
    shards.talk(0)
    assert shards.shares() == [3, 0, 0]
    shards.talk(1)
    assert shards.shares() == [3, 0, 0]  # the first has not confirmed it yet
    shards.talk(0)
    shards.talk(1)
    shards.talk(2)
    assert shards.shares() == [3, 3, 3]


def test_others_wait_less_when_one_has_left() -> None:
    """Or has died, and starts again with nothing."""
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


def test_new_coordinator_sends_no_share_before_all_have_reported() -> None:
    """Of two shards at an address, the first to report is not alone."""
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


def test_registry_is_bounded() -> None:
    """Addresses beyond the limit get the share that is safe whichever shards are there."""
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


def test_messages_are_bounded() -> None:
    """The next message has the rest, however many addresses a shard enters at once."""
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


def test_address_is_not_asked_before_the_share_is_known() -> None:
    """Then the pause is `ip_delay` times the number of shards; the rest of a pause changes with that number."""
    shard = Shard()
    active = shard.put("a", IP)
    assert shard.schedule.pop_ready(100.0) is None
    shard.set_shares(100.0, AddressShares(0, 1, 1, ((KEY, 1),)))
    assert shard.schedule.pop_ready(100.0) is active
    shard.ask(active, 100.0)
    assert shard.schedule.next_at == 100.5
    shard.set_shares(100.25, AddressShares(0, 2, 1, ((KEY, 4),)))
    assert shard.schedule.pop_ready(100.25) is None
    assert shard.schedule.next_at == 100.25 + 0.25 * 4
    assert shard.schedule.pop_ready(101.25) is active
    shard.ask(active, 101.25)
    assert shard.schedule.next_at == 101.25 + 4 * 0.5
    shard.set_shares(102.25, AddressShares(0, 3, 1, ((KEY, 2),)))
    assert shard.schedule.pop_ready(102.25) is None
    assert shard.schedule.next_at == 102.25 + 1.0 * 2 / 4
    shard.schedule.check_invariants()


def test_shards_that_begin_together_have_one_request_each_under_way() -> None:
    """At one address: none before it knows its share, and then one, until that is answered."""
    registry, shards, begun = ClaimRegistry(4), [Shard() for _ in range(4)], []
    for number, shard in enumerate(shards):
        registry.reset(number)
        shard.put(f"a{number}", IP)
        shard.put(f"b{number}", IP)
    for moment in range(100):
        number = moment % 4
        shard, now = shards[number], moment / 4
        if (answer := registry.receive(number, shard.report())) is not None:
            shard.set_shares(now, answer)
        if (active := shard.schedule.pop_ready(now)) is not None:
            shard.grant(active, now)
            begun.append((number, shard.claims.share(KEY) > 0))
    assert sorted(begun) == [(number, True) for number in range(4)]


def test_other_addresses_do_not_wait() -> None:
    """A share is of one address."""
    shard = Shard()
    shard.put("a", IP)
    other = shard.put("b", OTHER)
    shard.set_shares(1.0, AddressShares(0, 2, 2, ((key_of(OTHER), 1),)))
    assert shard.schedule.pop_ready(1.0) is other
    assert shard.schedule.pop_ready(1.0) is None


def test_address_without_sites_is_released_at_the_second_review() -> None:
    """So that the other shards wait less; a site that comes back waits for a new share."""
    shard = Shard()
    active = shard.put("a", IP)
    shard.set_shares(0.0, AddressShares(0, 1, 1, ((KEY, 1),)))
    assert shard.schedule.pop_ready(0.0) is active
    shard.grant(active, 0.0)
    shard.empty(active, 0.0)
    shard.schedule.addresses.review(10.0)
    assert shard.report().released == ()
    shard.schedule.addresses.review(20.0)
    assert shard.report().released == (KEY,)
    again = shard.put("a", IP)
    assert shard.schedule.pop_ready(30.0) is None
    assert shard.report().requested == (KEY,)
    shard.set_shares(30.0, AddressShares(0, 2, 3, ((KEY, 2),)))
    assert shard.schedule.pop_ready(30.0) is again


def test_address_is_kept_for_a_site_that_comes_back_in_time() -> None:
    """A site that is visited between any two reviews does not wait for a share every time."""
    shard = Shard()
    active = shard.put("a", IP)
    shard.set_shares(0.0, AddressShares(0, 1, 1, ((KEY, 1),)))
    for number in range(20):
        now = float(number)
        active = active if number == 0 else shard.put("a", IP)
        assert shard.schedule.pop_ready(now) is active
        shard.grant(active, now)
        shard.empty(active, now)
        shard.schedule.addresses.review(now + 0.9)
        assert shard.report().released == ()


def test_new_process_claims_its_addresses_again() -> None:
    """Shares of the last process are void: other shards may have come since, and nothing is asked before."""
    shard = Shard()
    active = shard.put("a", IP)
    shard.set_shares(0.0, AddressShares(0, 1, 1, ((KEY, 1),)))
    assert shard.schedule.pop_ready(0.0) is active
    shard.ask(active, 0.0)
    shard.reopen()
    shard.claims = AddressClaims(4)
    shard.schedule.restart(5.0)
    assert shard.report().requested == (KEY,)
    assert shard.schedule.pop_ready(1e6) is None
    shard.set_shares(5.0, AddressShares(1, 1, 1, ((KEY, 3),)))
    assert shard.schedule.next_at == 5.0 + 4 * 0.5
    assert shard.schedule.pop_ready(7.0) is not None


def test_share_of_an_earlier_claim_does_not_count() -> None:
    """The coordinator removes a shard as soon as it reports that it has left."""
    claims = AddressClaims(4)
    claims.enter(KEY)
    claims.leave(KEY)
    claims.enter(KEY)
    claims.update(AddressShares(0, 1, 1, ((KEY, 1),)))
    assert claims.share(KEY) == 0
    claims.update(AddressShares(0, 2, 3, ((KEY, 2),)))
    assert claims.share(KEY) == 2


# How many requests are under way.


class Crowd(Struct):
    """What a crowd of hosts at one address does to its server, in virtual time."""

    most: int = 0
    answered: int = 0
    longest: float = 0.0


def crowd(took: Callable[[float], float], *, ip_delay: float = 0.25, shards: int = 1, seconds: float = 300.0) -> Crowd:
    """Ask the server as often as it may be asked; `took` returns when the answer to a request at a time comes."""
    addresses = [Addresses(MemoryState().addresses, ip_delay=ip_delay, shards=shards) for _ in range(shards)]
    for each in addresses:
        each.at(IP)
        each.set_shares({KEY: shards}, 0.0)
    found, now = Crowd(), 0.0
    under_way: list[tuple[float, float, int]] = []
    while now < seconds:
        for number, each in enumerate(addresses):
            address = each.at(IP)
            if address.room > 0 and address.next_at <= now:
                each.asked(IP, now)
                heappush(under_way, (took(now), now, number))
        found.most = max(found.most, len(under_way))
        times = [each.at(IP).next_at for each in addresses if each.at(IP).room > 0]
        ended = under_way[0][0] if under_way else inf
        if ended > min(times, default=inf):
            now = min(times)
            continue
        now, begun, number = heappop(under_way)
        addresses[number].answered(IP, now - begun)
        found.answered, found.longest = found.answered + 1, max(found.longest, now - begun)
    return found


def in_turn(seconds: float) -> Callable[[float], float]:
    """A server that answers one request after the other."""
    free_at = 0.0

    def took(now: float) -> float:
        nonlocal free_at
        free_at = max(free_at, now) + seconds
        return free_at

    return took


def test_quick_hosts_are_asked_as_often_as_the_pause_allows() -> None:
    """One at a time suffices at 5 ms; at 0.9 s the window grows until the pause is the limit again."""
    found = crowd(lambda now: now + 0.005)
    assert (found.most, found.answered) == (1, 1200)
    found = crowd(lambda now: now + 0.9)
    assert found.answered > 1180
    assert found.most <= 5


@each_case("shards", [1, 2, 4])
def test_few_requests_are_under_way_at_a_slow_server(shards: int) -> None:
    """Answers that take 5 to 10 seconds, of whatever host: no more than four, of all shards together."""
    random = Random(7)
    found = crowd(lambda now: now + random.uniform(5.0, 10.0), ip_delay=0.25, shards=shards)
    assert found.most <= 4
    assert found.answered > 40


@each_case("seconds", [0.05, 0.5, 1.0, 3.0])
def test_requests_do_not_queue_at_a_server_that_answers_in_turn(seconds: float) -> None:
    """It is busy nearly all the time, and an answer takes little longer than it has to."""
    found = crowd(in_turn(seconds), ip_delay=0.01)
    assert found.answered > 0.9 * 300 / seconds
    assert found.longest < 4 * seconds + 0.5


def test_window_is_not_larger_than_was_used() -> None:
    """A server that was quick and becomes slow has few requests at once, however long it was quick."""
    found = crowd(lambda now: now + (0.005 if now < 250 else 8.0))
    assert found.most <= 4


def test_window_is_halved_by_a_failure_that_is_news() -> None:
    """By that of a site which has failed before it is not, and neither by our own."""
    addresses = Addresses(MemoryState().addresses, ip_delay=0.25, shards=1)
    address = addresses.at(IP)
    address.window = 8.0
    task = FetchTask(Url("http://a.test/"), Site("a.test"), Purpose.PAGE, Lane.DISCOVERY, 0.0, ip=IP)
    ends: list[tuple[FetchOutcome, int, float]] = [
        (Failed(task, "timeout", 0.0, 30.0), 0, 4.0),
        (Failed(task, "timeout", 0.0, 30.0), 1, 4.0),
        (Failed(task, "cancelled", 0.0, 30.0), 0, 4.0),
        (Fetched(task, 503, (), b"", 0.0, 0.1), 0, 2.0),
        (Fetched(task, 404, (), b"", 0.0, 0.1), 0, 2.0),
        (Located(task, OTHER, 0.0), 0, 1.0),
        (Failed(task, "timeout", 0.0, 30.0), 0, 1.0),
    ]
    for outcome, failures, window in ends:
        addresses.asked(IP, 0.0)
        addresses.answered(IP, seconds_of(outcome, failures))
        assert address.window == window
    assert address.under_way == 0


def test_what_is_under_way_is_counted_after_a_restart() -> None:
    """A frontier that is opened again counts open requests; in a new process there are none. The window is kept."""
    state, options = MemoryState(), FrontierOptions(politeness=PolitenessSettings(slow_factor=0.0))
    opened = OpenedFrontier(state, options)
    opened.frontier.discover([Discovery(Url(f"http://{name}.test/"), Source.SEED, 0.0) for name in "abcd"], 0.0)
    for task in opened.frontier.take(10, 0.0):
        opened.frontier.report(Located(task, IP, 1e6), 0.0)
    first = opened.frontier.take(10, 0.0)
    assert [len(first), opened.frontier.take(10, 100.0)] == [1, []]
    opened.frontier.report(Fetched(first[0], 404, (), b"", 100.0, 0.5, IP), 100.0)
    assert [len(opened.frontier.take(10, now)) for now in (101.0, 102.0, 103.0)] == [1, 1, 0]
    opened.frontier.check_invariants()
    opened = OpenedFrontier(state, options, opened.commit())
    opened.frontier.check_invariants()
    assert opened.frontier.take(10, 103.0) == []
    opened.frontier.restart(103.0)
    opened.frontier.check_invariants()
    assert [len(opened.frontier.take(10, now)) for now in (110.0, 111.0, 112.0)] == [1, 1, 0]
