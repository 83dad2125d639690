"""Two shards that speak over links: whatever is lost, refused or forgotten, every batch is taken once and in order."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.hypothesis_depth import examples

from periplus.engine.sharding.messages import Delivery
from periplus.model import Batch, Url
from periplus_ray.links import MAX_PAUSE, Inbox, Link, Transfer

WINDOW = 5


class Talk(RuleBasedStateMachine):
    """Shard 0 sends to shard 1, which keeps what it took when it commits, and forgets the rest when it dies.

    Of places that seeds have moved to it must know before it takes a batch that was offered later.
    """

    @initialize()
    def begin(self) -> None:
        self.now = 0.0
        self.link = Link(0, 1)
        self.offered = self.acknowledged = 0
        self.places: list[Url] = []
        self.epoch = 1
        self.under_way: Transfer | None = None
        self.kept = self.taken = self.heard = 0
        self.inbox = self._inbox()
        self.known: dict[int, int] = {}

    def _inbox(self) -> Inbox:
        inbox = Inbox(room=4)
        inbox.epoch = self.epoch
        return inbox

    @rule()
    def offer(self) -> None:
        if self.offered - self.acknowledged < WINDOW:
            self.offered += 1
            self.known[self.offered] = len(self.places)
            self.link.offer(Batch(0, 1, self.offered, b""))

    @rule()
    def tell(self) -> None:
        place = Url(f"http://{len(self.places)}.test/")
        self.places.append(place)
        self.link.add_places([place])

    @rule(seconds=st.sampled_from([0.01, 0.2, 3.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def carry(self) -> None:
        if self.under_way is None:
            self.under_way = self.link.next(self.now)

    @rule(fate=st.sampled_from(["arrives", "arrives", "arrives", "is lost", "arrives unanswered"]))
    def answer(self, fate: str) -> None:
        if self.under_way is None:
            return
        epoch = None if fate == "is lost" else self.inbox.deliver(self.under_way)
        self.under_way = None
        self.link.answered(None if fate == "arrives unanswered" else epoch, self.now)

    @rule()
    def talk(self) -> None:
        self.carry()
        self.answer("arrives")

    @rule()
    def read(self) -> None:
        message = self.inbox.take()
        if not isinstance(message, Delivery):
            return
        for place in message.places:
            self.heard = max(self.heard, self.places.index(place) + 1)  # kept at once
        for batch in message.batches:
            if batch.number == self.taken + 1:
                self.taken = batch.number
                assert self.heard >= self.known[batch.number]

    @rule()
    def commit(self) -> None:
        self.kept = self.taken

    @rule()
    def receipt_arrives(self) -> None:
        self.acknowledged = self.kept
        self.link.acknowledged(self.kept)

    @rule()
    def receiver_dies(self) -> None:
        self.epoch += 1
        self.taken = self.kept
        self.inbox = self._inbox()

    @rule()
    def greeting_arrives(self) -> None:
        self.link.seen(self.epoch)

    @invariant()
    def nothing_is_invented(self) -> None:
        if hasattr(self, "taken"):
            assert self.kept <= self.taken <= self.offered

    def teardown(self) -> None:
        """From any moment on, if no process dies any more, everything arrives within some rounds."""
        if not hasattr(self, "link"):
            return
        if self.under_way is not None:
            self.link.answered(None, self.now)
        self.greeting_arrives()
        for _ in range(200):
            self.now += MAX_PAUSE + 1
            delivery = self.link.next(self.now)
            if delivery is not None:
                self.link.answered(self.inbox.deliver(delivery), self.now)
            for _ in range(4):
                self.under_way = None
                self.read()
            self.commit()
            self.receipt_arrives()
        assert (self.kept, self.heard) == (self.offered, len(self.places))
        assert self.link.is_quiet


Talk.TestCase.settings = settings(max_examples=examples(30), stateful_step_count=40, deadline=None)
TestLinks = Talk.TestCase
