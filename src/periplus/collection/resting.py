"""Settles the shards of a collection: the log is applied, rows are in Parquet, and every batch has arrived.

Any crawl does the same, and fetches besides. It can be stopped anywhere and done again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import TypeVar

from periplus.engine.log import InputLog
from periplus.engine.machine_settings import ShardMeta
from periplus.engine.revisit.setup import visits_a_day
from periplus.engine.router import ShardPlacement
from periplus.engine.sitemaps.store import half_read
from periplus.model import CollectionError, Url
from periplus.store import DiskState, bring_home, is_begun
from periplus.store.layout import Layout
from periplus.store.tables.files import places_of

from .config.settings import Config
from .shards import ShardMaker, open_shard

_BATCHES = 64
"""Batches that are delivered between two commits: enough to be fast, few enough to bound memory."""
_ROUNDS = 100
"""Times that batches are delivered to all shards, at most: each delivery may cause more, but not forever."""

M = TypeVar("M")


def bring_to_rest(
    config: Config, layout: Layout, seeds: Sequence[Url], tell: Callable[[int], None] = lambda _shard: None
) -> None:
    """Let every shard apply its log, finish its sitemaps and receive every batch. Fetches nothing.

    `tell` is called with the number of each shard.
    """
    count = layout.shards
    maker = ShardMaker(config, layout.folder, tuple(seeds), _visits(layout))
    for number in range(count):
        tell(number)
        if not _is_at_rest(layout, number, count):
            with closing(open_shard(maker, layout, number, count)) as shard:
                shard.finish_reading()
                shard.stop(0.0)
    for _ in range(_ROUNDS):
        delivered = [_deliver_to(number, maker, layout, count) for number in range(count)]
        if not any(delivered):
            return
    raise CollectionError(f"the shards of {layout.folder} keep sending batches to each other")


def _visits(layout: Layout) -> float:
    """Visits a day of the last watch: a collection that was watched comes to rest as one that is."""
    found = []
    for number in range(layout.shards):
        with _read(layout, number) as state:
            if state is not None:
                found.append(visits_a_day(state))
    return max(found, default=0.0)


def _is_at_rest(layout: Layout, number: int, count: int) -> bool:
    """Whether a shard has applied its log, has nothing under way or half read, and all its rows are in Parquet."""
    with _read(layout, number) as state:
        if state is None:
            return True
        meta = state.meta(ShardMeta) or ShardMeta()
        rows = sum(place.rows for place in places_of(meta.tables).values())
        owner = ShardPlacement(count).owner
        is_all_sent = all(owner(site) == number for site in state.listings.sites())
        is_reading = bool(half_read(state))
    inputs = InputLog(layout.log(number), layout.warc).read(meta.commits)
    return not (rows or meta.frontier.leases or is_reading or not is_all_sent) and next(inputs, None) is None


def _deliver_to(receiver: int, maker: ShardMaker, layout: Layout, count: int) -> bool:
    """Deliver to a shard all that others have for it; whether there was anything."""
    senders = [number for number in range(count) if number != receiver and _has_for(layout, number, receiver)]
    if not senders:
        return False
    places = sorted(all_moved(metas(layout, count, ShardMeta)))
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


def all_moved(shards: Iterable[ShardMeta]) -> set[Url]:
    """The places that seeds have moved to, as far as any of these shards knows."""
    return {url for meta in shards for url in meta.moved}


def metas(layout: Layout, count: int, kind: type[M]) -> Iterator[M]:
    """What each of the first `count` shards has committed of this type, where it has."""
    for number in range(count):
        with _read(layout, number) as state:
            meta = None if state is None else state.meta(kind)
        if meta is not None:
            yield meta


# states, one at a time


@contextmanager
def opened(layout: Layout, number: int) -> Iterator[DiskState]:
    """The state of a shard, for this process alone; moved back into the collection if it is on another disk."""
    bring_home(layout.shard(number))
    with closing(DiskState(layout.shard(number), shard=number)) as state:
        yield state


@contextmanager
def _read(layout: Layout, number: int) -> Iterator[DiskState | None]:
    """The last commit of a shard; `None`: the shard has not begun."""
    if not is_begun(layout.shard(number)):
        yield None
        return
    with closing(DiskState.read_only(layout.shard(number), shard=number)) as state:
        yield state
