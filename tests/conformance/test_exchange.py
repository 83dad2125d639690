"""What every `Exchange` promises. What was sent is offered after the next commit at the latest."""

from __future__ import annotations

from periplus.model import Batch, ChangeFreq, Discovery, Granularity, Hints, Lastmod, Source, State, Url

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


def sent(state: State, limit: int = 99) -> list[tuple[int, int]]:
    state.commit()
    return [(batch.receiver, batch.number) for batch in state.exchange.unsent(limit)]


def test_discoveries_travel_whole(state: State) -> None:
    """A batch carries what was sent, with the numbers of both ends."""
    state.exchange.send(3, [FULL, PLAIN])
    state.commit()
    assert state.exchange.unsent(9) == [Batch(0, 3, 1, (FULL, PLAIN))]


def test_numbers_count_up_for_each_receiver(state: State) -> None:
    """From 1, without gaps, and the order of sending is that of offering."""
    for receiver in (1, 2, 1, 1):
        state.exchange.send(receiver, [PLAIN])
    assert sent(state, limit=3) == [(1, 1), (2, 1), (1, 2)]
    assert sent(state) == [(1, 3)]
    assert sent(state) == []


def test_batches_are_kept_until_acknowledged(state: State) -> None:
    """An acknowledgement is for all before it; one for nothing does no harm; numbers are never used again."""
    for _ in range(3):
        state.exchange.send(1, [PLAIN])
    emptiness = [state.exchange.is_empty]
    for receiver, number in ((2, 9), (1, 2), (1, 3), (1, 1)):
        state.exchange.acknowledged(receiver, number)
        emptiness.append(state.exchange.is_empty)
    assert emptiness == [False, False, False, True, True]
    state.exchange.send(1, [PLAIN])
    assert sent(state) == [(1, 4)]


def test_who_began_anew_is_offered_the_rest_again(state: State) -> None:
    """All that one receiver has not acknowledged, once more and once, in order; others are not disturbed."""
    for receiver in (1, 1, 2, 1):
        state.exchange.send(receiver, [PLAIN])
    assert sent(state, limit=2) == [(1, 1), (1, 2)]
    state.exchange.acknowledged(1, 1)
    state.exchange.offer_again(1)
    state.exchange.offer_again(3)
    assert sorted(sent(state)) == [(1, 2), (1, 3), (2, 1)]
    assert sent(state) == []


def test_what_is_acknowledged_is_not_offered(state: State) -> None:
    """An acknowledgement that comes before the offer, from an earlier life, spares the offer."""
    state.exchange.send(1, [PLAIN])
    state.exchange.send(1, [PLAIN])
    state.exchange.acknowledged(1, 1)
    assert sent(state) == [(1, 2)]


def test_a_batch_is_taken_once_and_in_its_turn(state: State) -> None:
    """Known by its number; one that overtook another waits until it comes again."""
    first, second, other = Batch(1, 0, 1, ()), Batch(1, 0, 2, ()), Batch(2, 0, 1, ())
    assert state.exchange.taken(1) == 0
    assert not state.exchange.is_new(second)
    assert state.exchange.is_new(first)
    assert not state.exchange.is_new(first)
    assert state.exchange.is_new(second)
    assert state.exchange.is_new(other)
    assert (state.exchange.taken(1), state.exchange.taken(2), state.exchange.taken(3)) == (2, 1, 0)
    assert state.exchange.is_empty
