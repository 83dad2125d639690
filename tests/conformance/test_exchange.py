"""What every `Exchange` promises. What was sent is offered after the next commit at the latest."""

from __future__ import annotations

from periplus.model import (
    Batch,
    ChangeFreq,
    Delegation,
    Discovery,
    Failed,
    Fetched,
    FetchTask,
    Granularity,
    Hints,
    Lane,
    Lastmod,
    Messages,
    Purpose,
    RobotsAnswer,
    Site,
    Source,
    Stored,
    Url,
)
from periplus.store import State

FULL = Discovery(
    Url("https://a.test/é"),
    Source.SITEMAP,
    1.5,
    depth=2,
    referrer=Url("https://a.test/sitemap.xml"),
    hints=Hints(Lastmod(1e9, Granularity.FRACTION), ChangeFreq.NEVER, 0.5, "anchor", "title"),
    redirects=1,
)
PLAIN = Discovery(Url("https://b.test/"), Source.SEED, 0.0)
WANTED = Delegation(Site("a.test"), Url("https://b.test/robots.txt"), 1, 2)
TASK = FetchTask(WANTED.url, WANTED.wanted_by, Purpose.ROBOTS, Lane.FILES, 9.0, ip="192.0.2.1", redirects=1)
ANSWER = RobotsAnswer(
    Fetched(TASK, 200, (("Age", "1"),), b"User-agent: *", 1.0, 0.5, "192.0.2.1"),
    Stored("crawl-00-000001.warc.gz", 10, 20, "sha1:AAAA"),
)
REFUSAL = RobotsAnswer(Failed(TASK, "dns-not-found", 1.0, 0.0), is_final=True)


def sent(state: State, limit: int = 99) -> list[tuple[int, int]]:
    state.commit()
    offered = [
        batch for receiver in sorted(state.exchange.receivers()) for batch in state.exchange.unsent(receiver, limit)
    ]
    return [(batch.receiver, batch.number) for batch in offered]


def test_discoveries_travel_whole(state: State) -> None:
    """A batch carries what was sent, with the numbers of both ends."""
    state.exchange.send(3, [FULL, PLAIN])
    state.commit()
    [batch] = state.exchange.unsent(3, 9)
    assert batch == Batch.of(0, 3, 1, (FULL, PLAIN))
    assert batch.messages == (FULL, PLAIN)


def test_questions_and_answers_travel_whole(state: State) -> None:
    """What shards ask each other about robots.txt files, in batches of their own, in the order of sending."""
    sent: list[Messages] = [[WANTED], [PLAIN], [ANSWER, REFUSAL]]
    for messages in sent:
        state.exchange.send(3, messages)
    state.commit()
    batches = state.exchange.unsent(3, 9)
    assert [list(batch.messages) for batch in batches] == sent
    assert [batch.kind for batch in batches] == [1, 0, 2]


def test_a_batch_of_a_kind_that_is_not_known_is_empty() -> None:
    """It comes from a shard of a later version."""
    batch = Batch(1, 0, 1, b"\x63whatever it is")
    assert batch.kind == 0x63
    assert batch.messages == ()


def test_numbers_count_up_for_each_receiver(state: State) -> None:
    """From 1, without gaps, and the order of sending is that of offering, for each receiver."""
    for receiver in (1, 2, 1, 1):
        state.exchange.send(receiver, [PLAIN])
    assert sent(state, limit=2) == [(1, 1), (1, 2), (2, 1)]
    assert state.exchange.receivers() == [1]
    assert sent(state) == [(1, 3)]
    assert sent(state) == []
    assert [state.exchange.sent(receiver) for receiver in (1, 2, 3)] == [3, 1, 0]


def test_batches_are_kept_until_acknowledged(state: State) -> None:
    """An acknowledgement is for all before it; one for nothing does no harm; numbers are never used again."""
    for _ in range(3):
        state.exchange.send(1, [PLAIN])
    lengths = [len(state.exchange)]
    for receiver, number in ((2, 9), (1, 2), (1, 3), (1, 1)):
        state.exchange.acknowledged(receiver, number)
        lengths.append(len(state.exchange))
    assert lengths == [3, 3, 1, 0, 0]
    state.exchange.send(1, [PLAIN])
    assert sent(state) == [(1, 4)]


def test_what_is_acknowledged_is_not_offered(state: State) -> None:
    """An acknowledgement that comes before the offer, from an earlier life, spares the offer."""
    state.exchange.send(1, [PLAIN])
    state.exchange.send(1, [PLAIN])
    state.exchange.acknowledged(1, 1)
    assert sent(state) == [(1, 2)]


def test_a_batch_is_taken_once_and_in_its_turn(state: State) -> None:
    """Known by its number; one that overtook another waits until it comes again."""
    first, second, other = Batch.of(1, 0, 1, ()), Batch.of(1, 0, 2, ()), Batch.of(2, 0, 1, ())
    assert state.exchange.taken(1) == 0
    assert not state.exchange.is_new(second)
    assert state.exchange.is_new(first)
    assert not state.exchange.is_new(first)
    assert state.exchange.is_new(second)
    assert state.exchange.is_new(other)
    assert (state.exchange.taken(1), state.exchange.taken(2), state.exchange.taken(3)) == (2, 1, 0)
    assert len(state.exchange) == 0
