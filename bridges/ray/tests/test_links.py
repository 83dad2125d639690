"""Links between shards, step by step; and the inbox at the end of one."""

from __future__ import annotations

from periplus.engine.shard import ShardOutput
from periplus.engine.sharding.messages import Announcement
from periplus.model import Batch, Url
from periplus_ray.links import (
    MAX_BATCHES_PER_TRANSFER,
    MAX_PAUSE,
    MIN_PAUSE,
    PROBE_AFTER,
    Inbox,
    Link,
    ShardLinks,
    Transfer,
)

PLACE = Url("http://moved.test/")


def batch(number: int) -> Batch:
    return Batch(0, 1, number, b"")


def numbers(delivery: Transfer | None) -> list[int]:
    assert delivery is not None
    return [each.number for each in delivery.batches]


def link_with(count: int) -> Link:
    link = Link(0, 9)
    for number in range(1, count + 1):
        link.offer(batch(number))
    return link


def test_one_delivery_is_under_way_and_holds_what_there_is() -> None:
    """Up to a bound; the next follows when it was answered."""
    link = link_with(MAX_BATCHES_PER_TRANSFER + 2)
    assert numbers(link.next(0.0)) == list(range(1, MAX_BATCHES_PER_TRANSFER + 1))
    assert link.next(0.0) is None
    link.answered(5, 0.0)
    assert numbers(link.next(0.0)) == [MAX_BATCHES_PER_TRANSFER + 1, MAX_BATCHES_PER_TRANSFER + 2]
    link.answered(5, 0.0)
    assert link.next(0.0) is None


def test_who_is_full_is_tried_again_after_a_while_that_grows() -> None:
    """With the same batches, and never later than the longest pause."""
    link, now = link_with(1), 0.0
    for pause in (MIN_PAUSE, 2 * MIN_PAUSE, 4 * MIN_PAUSE):
        assert numbers(link.next(now)) == [1]
        link.answered(0, now)
        assert link.next(now + 0.9 * pause) is None
        now += pause
    for _ in range(20):
        assert numbers(link.next(now)) == [1]
        link.answered(0, now)
        now += MAX_PAUSE


def test_what_is_acknowledged_is_not_said_again() -> None:
    """And all else is, in order, to another process in the same place."""
    link = link_with(4)
    assert numbers(link.next(0.0)) == [1, 2, 3, 4]
    link.acknowledged(2)
    link.answered(7, 0.0)
    link.offer(batch(5))
    assert numbers(link.next(0.0)) == [5]
    link.answered(8, 0.0)
    assert numbers(link.next(0.0)) == [3, 4, 5]


def test_who_owes_receipts_and_is_silent_is_asked_who_it_is() -> None:
    """It may have died with everything in its memory, without anybody trying to reach it."""
    link = link_with(1)
    link.next(0.0)
    link.answered(3, 0.0)
    assert link.next(PROBE_AFTER - 0.1) is None
    assert link.next(PROBE_AFTER) == Transfer(0, 9, 3)
    link.answered(4, PROBE_AFTER)
    assert numbers(link.next(PROBE_AFTER)) == [1]


def test_a_new_life_takes_nothing_that_rests_on_what_the_last_one_heard() -> None:
    """A batch may be of a place that only the one before had been told of."""
    link, first, second = Link(0, 9), Inbox(), Inbox()
    first.epoch, second.epoch = 1, 2
    link.add_places([PLACE])
    told = link.next(0.0)
    assert told is not None
    link.answered(first.deliver(told), 0.0)
    link.offer(batch(1))
    early = link.next(0.0)
    assert early is not None
    link.answered(second.deliver(early), 0.0)
    assert second.take() is None
    again = link.next(0.0)
    assert again == Transfer(0, 9, 0, (PLACE,), (batch(1),))


def test_who_begins_greets_all_others_and_they_say_everything_again() -> None:
    """Also places, which are not acknowledged."""
    newcomer = ShardLinks(1, 2, 7)
    [(_, greeting)] = newcomer.due(0.0)
    assert greeting == Transfer(1, 7)
    newcomer.to[0].answered(1, 0.0)
    assert list(newcomer.due(0.0)) == []
    links = ShardLinks(0, 2, 1)
    links.add(ShardOutput(places=(PLACE,)))
    assert [delivery.places for _, delivery in links.due(0.0)] == [(PLACE,)]
    links.to[1].answered(6, 0.0)
    links.received(greeting)
    assert [delivery.places for _, delivery in links.due(0.0)] == [(PLACE,)]


def test_receipts_travel_with_whatever_goes_there_and_once_more_when_they_were_lost() -> None:
    """Somebody who was begun again asks for them by sending a batch that is known here."""
    links = ShardLinks(0, 2, 9)
    links.add(ShardOutput(receipts={1: 4}))
    assert list(links.due(0.0)) == [(1, Transfer(0, 9, 0, (), (), 4))]
    links.to[1].answered(1, 0.0)
    assert list(links.due(0.0)) == []
    links.add(ShardOutput(receipts={1: 4}))
    assert list(links.due(0.0)) == [(1, Transfer(0, 9, 1, (), (), 4))]


def test_all_hear_of_places_before_anybody_is_quiet() -> None:
    links = ShardLinks(1, 3, 9)
    links.add(ShardOutput(places=(PLACE,)))
    assert not links.is_quiet
    for other, delivery in list(links.due(0.0)):
        assert delivery.places == (PLACE,)
        links.to[other].answered(1, 0.0)
    assert links.is_quiet


def test_an_inbox_takes_no_more_than_it_has_room_for() -> None:
    """But always one, however large; orders and news find room, and nothing is taken before a life has begun."""
    inbox = Inbox(room=3)
    transfer = Transfer(0, 9, 0, (), (batch(1), batch(2)))
    assert inbox.deliver(transfer) == 0
    inbox.epoch = 6
    assert [inbox.deliver(transfer) for _ in range(3)] == [6, 0, 0]
    assert inbox.put(Announcement(1, ())) == 6
    assert inbox.take() == transfer.delivery()
    assert inbox.deliver(Transfer(0, 9, 0, (), tuple(map(batch, range(1, 9))))) == 6
