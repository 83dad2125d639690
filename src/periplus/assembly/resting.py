"""Shards come to rest: what was noted is gone through, rows are in Parquet, and no batch is on its way any more.

All of it is what any crawl does, without fetching. It can be stopped anywhere and done again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

import msgspec

from periplus.config import Config
from periplus.crawl.log import InputLog as Journal
from periplus.model import CollectionError, Url
from periplus.store import DiskState, bring_home, is_begun
from periplus.store.tables.writer import places_of

from .layout import Layout
from .opening import budget
from .shards import ShardMaker, open_shard

MOVED = "moved"
"""The mark of the places that seeds have moved to."""
_BATCHES = 64
"""So many batches are delivered between two commits."""
_ROUNDS = 100
"""What is delivered may lead to more batches, but not for ever."""


def bring_to_rest(
    config: Config, layout: Layout, seeds: Sequence[Url], tell: Callable[[int], None] = lambda _shard: None
) -> None:
    """Let every shard go through what it noted, and every batch arrive, without fetching anything."""
    count = layout.shards
    maker = ShardMaker(config, layout.folder, tuple(seeds), _visits(config, layout))
    for number in range(count):
        tell(number)
        if not _is_at_rest(layout, number):
            with closing(open_shard(maker, layout, number, count)) as shard:
                shard.stop(0.0)
    for _ in range(_ROUNDS):
        delivered = [_deliver_to(number, maker, layout, count) for number in range(count)]
        if not any(delivered):
            return
    raise CollectionError(f"batches between the shards of {layout.folder} do not come to an end")


def _visits(config: Config, layout: Layout) -> float:
    """What a collection that was watched noted is gone through as one that is."""
    return budget(config, layout) if any(_marks(layout, "price")) else 0.0


def _marks(layout: Layout, name: str) -> Iterator[bytes | None]:
    for number in range(layout.shards):
        with _read(layout, number) as state:
            yield None if state is None else state.marked(name)


def _is_at_rest(layout: Layout, number: int) -> bool:
    """Whether nothing is in the journal, nor in the spools."""
    with _read(layout, number) as state:
        if state is None:
            return True
        commits = int.from_bytes(state.marked("commits") or b"", "big")
        rows = sum(place.rows for place in places_of(state.marked("tables")).values())
    notes = Journal(layout.shard(number) / "journal", layout.warc).read(commits)
    return not rows and next(notes, None) is None


def _deliver_to(receiver: int, maker: ShardMaker, layout: Layout, count: int) -> bool:
    """Give a shard all that others have for it; whether there was anything."""
    senders = [number for number in range(count) if number != receiver and _has_for(layout, number, receiver)]
    if not senders:
        return False
    places = sorted(all_moved(layout))
    with closing(open_shard(maker, layout, receiver, count)) as shard, ExitStack() as held:
        shard.extend_scope(places)
        for number in senders:
            sender = held.enter_context(opened(layout, number))
            while batches := sender.exchange.unsent(receiver, _BATCHES):
                shard.receive(batches)
                shard.stop(0.0)
                sender.exchange.acknowledged(receiver, batches[-1].number)
            sender.commit()
    return True


def _has_for(layout: Layout, sender: int, receiver: int) -> bool:
    with _read(layout, sender) as state:
        return state is not None and receiver in state.exchange.receivers()


def all_moved(layout: Layout) -> set[Url]:
    """Places that seeds have moved to, as far as any shard knows."""
    return {url for mark in _marks(layout, MOVED) for url in moved_of(mark)}


def moved_of(mark: bytes | None) -> list[Url]:
    """The places in a mark."""
    return msgspec.msgpack.decode(mark or b"\x90", type=list[Url])


# states, one at a time


@contextmanager
def opened(layout: Layout, number: int) -> Iterator[DiskState]:
    """What a shard remembers, for us alone; from wherever it lies."""
    bring_home(layout.shard(number))
    with closing(DiskState(layout.shard(number), shard=number)) as state:
        yield state


@contextmanager
def _read(layout: Layout, number: int) -> Iterator[DiskState | None]:
    """As of the last commit; `None`: the shard was not begun."""
    if not is_begun(layout.shard(number)):
        yield None
        return
    with closing(DiskState.read_only(layout.shard(number), shard=number)) as state:
        yield state
