"""Whatever happens to pages and hosts, nobody is lost, nobody is served twice, and sleepers wake in time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from periplus.policy.refresh import CrawlValue, Outlook, PageEvidence, QueueSettings, SignalKind, WakeQueue, unpack_page
from periplus.policy.refresh.chains import Chains
from periplus.policy.refresh.wheel import SLOTS, TimingWheel

TABLES = CrawlValue("mixed")
DAY = 86_400.0


class Queue(RuleBasedStateMachine):
    """A queue beside what must be true of it."""

    @initialize(delay=st.sampled_from([0.0, 30.0]), price=st.sampled_from([1e-3, 1.0, 1e3]))
    def begin(self, delay: float, price: float) -> None:
        self.now = 1e6
        self.queue = WakeQueue(TABLES, self.now, settings=QueueSettings(delay=delay, slot=600.0), price=price)
        self.hosts = [self.queue.add_host() for _ in range(3)]
        self.out: set[int] = set()
        self.retired: set[int] = set()
        self.delay = delay
        self.served_at: dict[int, float] = {}
        self.host_of: list[int] = []

    @rule(host=st.integers(0, 2), rate=st.floats(1e-3, 10), weight=st.floats(0, 10), age=st.floats(0, 200))
    def add(self, host: int, rate: float, weight: float, age: float) -> None:
        self.queue.add(host, Outlook(0, rate), weight, self.now - age * DAY, self.now)
        self.host_of.append(host)

    @rule(host=st.integers(0, 2), worth=st.floats(0, 100))
    def add_new(self, host: int, worth: float) -> None:
        self.queue.add_new(host, worth)
        self.host_of.append(host)

    @rule(limit=st.integers(0, 5), step=st.sampled_from([0.0, 1.0, 100.0, 3600.0, DAY, 5 * DAY]))
    def take(self, limit: int, step: float) -> None:
        self.now += step
        taken = self.queue.take(limit, self.now)
        assert len(taken) <= limit
        for page in taken:
            assert page not in self.out | self.retired
            host = self.host_of[page]
            assert self.now - self.served_at.get(host, -DAY) >= self.delay
            self.served_at[host] = self.now
            self.out.add(page)

    @precondition(lambda self: self.out)
    @rule(kind=st.sampled_from([0, 40, 300]), rate=st.floats(1e-3, 10), weight=st.floats(0, 10))
    def crawled(self, kind: int, rate: float, weight: float) -> None:
        self.queue.crawled(self.out.pop(), Outlook(kind, rate), weight, self.now)

    @precondition(lambda self: self.out)
    @rule(pause=st.floats(0, 5 * DAY))
    def failed(self, pause: float) -> None:
        self.queue.failed(self.out.pop(), self.now, self.now + pause)

    @precondition(lambda self: self.host_of)
    @rule(data=st.data(), kappa=st.floats(0, 5))
    def signal(self, data: st.DataObject, kappa: float) -> None:
        self.queue.signal(data.draw(st.integers(0, len(self.host_of) - 1)), kappa, self.now)

    @precondition(lambda self: self.host_of)
    @rule(data=st.data())
    def retire(self, data: st.DataObject) -> None:
        page = data.draw(st.integers(0, len(self.host_of) - 1))
        self.queue.retire(page)
        self.out.discard(page)
        self.retired.add(page)

    @precondition(lambda self: self.host_of)
    @rule(data=st.data(), rate=st.floats(1e-3, 10), weight=st.floats(0, 10))
    def revalue(self, data: st.DataObject, rate: float, weight: float) -> None:
        page = data.draw(st.integers(0, len(self.host_of) - 1))
        self.queue.revalue(page, Outlook(0, rate), weight, self.now)

    @rule(factor=st.floats(0.1, 10))
    def replan(self, factor: float) -> None:
        self.queue.price.value *= factor
        self.queue.replan(self.now)

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "queue"):
            self.queue.check_invariants()


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)


@given(st.lists(st.tuples(st.floats(0, 3e9), st.floats(0, 2e6)), max_size=30))
@settings(max_examples=60)
def test_sleepers_wake_in_time(naps: list[tuple[float, float]]) -> None:
    """Never before their time, and at the next turn after it, however long they sleep."""
    chains, now, slot = Chains(), 0.0, 100_000.0
    chains.grow(len(naps), SLOTS)
    wheel = TimingWheel(chains, slot, now)
    wheel.grow(len(naps))
    asleep: dict[int, float] = {}
    for item, (length, step) in enumerate(naps):
        wheel.sleep(item, now + length)
        asleep[item] = now + length
        now += step
        for woken in wheel.turn(now):
            assert asleep.pop(woken) <= now
        assert all(until > now - 2 * slot for until in asleep.values())
    for woken in wheel.turn(now + 3.1e9):
        del asleep[woken]
    assert not asleep


@given(
    st.lists(st.sampled_from(list(SignalKind)), max_size=30),
    st.lists(st.tuples(st.booleans(), st.floats(0, 1e9)), max_size=20),
)
def test_what_is_kept_of_a_page_is_read_as_it_was_written(
    kinds: list[SignalKind], visits: list[tuple[bool, float]]
) -> None:
    """64 bytes, whatever happened, and again the same from them."""
    page, now = PageEvidence().first_visited(1e9), 1e9
    for is_changed, gap in visits:
        now += gap
        page, _ = page.visited(is_changed, now)
    for kind in kinds:
        page = page.told(kind)
    packed = page.pack()
    assert len(packed) == 64
    assert unpack_page(packed).pack() == packed
    assert unpack_page(packed).signals == page.signals
