"""One shard from settings: which class plays which part, and where the last process left it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
from msgspec import Struct

from periplus import __version__
from periplus.config import Config
from periplus.crawl.clock import Pace, Ration, SystemClock, Timescale
from periplus.crawl.courier import Courier
from periplus.crawl.engine import Engine, commits_of
from periplus.crawl.fetch import Address, AddressGuard, CurlWire, Resolver
from periplus.crawl.frontier import Foretelling, NextVisit, Register, Watching
from periplus.crawl.journal import Journal
from periplus.crawl.placement import Placement
from periplus.crawl.reading import PageReader
from periplus.crawl.scheduler import CrawlScheduler
from periplus.crawl.shard import Shard
from periplus.crawl.sitemaps import Forester, ForesterSettings
from periplus.crawl.tally import Counting, Tally
from periplus.model import Learning, Ranking, Site, State, Url
from periplus.policy.filters import Scope, screening_chain, standard_chain
from periplus.policy.ordering import ALIASES
from periplus.policy.refresh import DAY, Weigher
from periplus.policy.sitemaps import RankOf
from periplus.store import Archive, DiskState, KnownRanks, Replica, WarcEnd, bring_home
from periplus.store.tables import Tables
from periplus.urls import host_of

from .layout import Layout
from .seeds import LOCAL

ORDERING = "ordering"
"""The mark that says which ordering a state was begun with, if it learns from links."""
_FORETOLD = 5
"""So many visits are told before they are made."""
_LOOKED_UP = 64
"""So many seeds at most are looked up to learn whether they lie in a private network."""


class ShardMaker(Struct, frozen=True):
    """Makes the shards of a collection, here or in another process. `visits_a_day`: of one that comes back; 0: none.

    `epoch` grows whenever a shard is given to another process: who has an older one may not hold it any more.
    """

    config: Config
    folder: Path
    seeds: tuple[Url, ...]
    visits_a_day: float = 0.0
    scale: Timescale | None = None
    epoch: int = 0

    def __call__(self, number: int, count: int) -> Shard:
        """Shard `number` of `count`."""
        return open_shard(self, Layout(self.folder), number, count)


def open_shard(asked: ShardMaker, layout: Layout, number: int, count: int) -> Shard:
    """Put a shard together and bring it to where the last process left it."""
    clock = SystemClock(asked.scale)
    state = _state(asked, layout, number)
    try:
        shard, engine = _assemble(asked, layout, number, count, state, clock)
        engine.recover()
        engine.submit()
    except BaseException:
        state.close()
        raise
    return shard


def _state(asked: ShardMaker, layout: Layout, number: int) -> DiskState:
    """In the collection, or on this machine's disk with a copy there: as it is asked for now, however it was before."""
    layout.check_begun(number)
    home, local = layout.shard(number), asked.config.cluster.local_state
    if local:
        folder, replica = layout.local(Path(local), number), Replica(home, epoch=asked.epoch)
        return DiskState(folder, shard=number, duplicates=asked.config.duplicates, replica=replica)
    bring_home(home)
    return DiskState(home, shard=number, duplicates=asked.config.duplicates)


def _assemble(
    asked: ShardMaker, layout: Layout, number: int, count: int, state: State, clock: SystemClock
) -> tuple[Shard, Engine]:
    config, seeds = asked.config, asked.seeds
    journal = Journal(layout.shard(number) / "journal", layout.warc)
    tables = Tables(layout.tables, layout.spool(number), config.tables, shard=number, mark=state.marked("tables"))
    events = Counting(Tally.restored(state.marked("tally")), tables)
    scope = Scope(seeds, config.scope)
    by = config.ordering.by
    ordering = config.ordered(KnownRanks.load(layout.ranks(Path(by).resolve())) if by else None)
    state.mark(ORDERING, learning_name(config).encode())
    weigher = weigher_of(config, layout)
    register = Register(count) if count > 1 else None
    scheduler = CrawlScheduler(
        state,
        guard=standard_chain(scope, config.filters, recall=_Recall(state)),
        ordering=ordering,
        events=events,
        agent=config.identity.token,
        random=Random(f"{config.crawl.random_seed}/{number}"),  # noqa: S311 - chance, not secrets
        politeness=config.politeness,
        retries=config.retries,
        frontier=config.frontier,
        balance=config.balance,
        register=register,
        refresh=config.refresh,
        churn=config.churn,
        watching=Watching(asked.visits_a_day, count) if asked.visits_a_day else None,
        weigh=weigher,
        pages_done=int.from_bytes(state.marked("pages") or b"", "big"),
    )
    courier = Courier(
        number,
        count,
        scheduler=scheduler,
        screen=screening_chain(scope, config.filters),
        scope=scope,
        state=state,
        events=events,
    )
    wire = _wire(config, seeds, clock)
    placement = Placement(count)
    forester = Forester(
        ForesterSettings(
            config.sitemaps,
            config.forest,
            config.authority,
            config.revisit,
            config.retirement,
            config.difference,
            config.scores,
        ),
        state=state,
        scheduler=scheduler,
        deliver=courier.deliver,
        is_ours=lambda site: placement.owner(site) == number,
        events=events,
        rank_of=_rank_of(config, layout),
    )
    watches = asked.visits_a_day > 0
    engine = Engine(
        config.engine,
        scheduler=scheduler,
        wire=wire,
        archive=_archive(config, layout, number, state, journal),
        tables=tables,
        events=events,
        state=state,
        journal=journal,
        reader=PageReader(config.reading, keeps_links=scheduler.keeps_links, records=state.records, watches=watches),
        clock=clock,
        courier=courier,
        forester=forester,
        warc_folder=layout.warc,
        pace=_pace(asked, scheduler, clock, number, count),
        speed=clock.speed,
    )
    foretelling = Foretelling(state, config.refresh, weigher)

    def next_visits() -> Sequence[NextVisit]:
        return foretelling.next(scheduler.refresher.price, clock.now(), _FORETOLD) if asked.visits_a_day else ()

    shard = Shard(
        number, scheduler=scheduler, engine=engine, courier=courier, next_visits=next_visits, register=register
    )
    return shard, engine


def weigher_of(config: Config, layout: Layout, state: State | None = None) -> Weigher:
    """How much pages matter; in the means by which a `state` was last watched, if there is one."""
    name = config.refresh.weight
    kept = layout.weights(name)
    ranks = KnownRanks.load(kept).get if name != "equal" and kept.is_file() else None
    mean = None if state is None else state.marked("mean weight")
    # a page of which sitemaps say nothing is like others of its site; one that no link leads to is not
    return Weigher(config.refresh.weights, ranks, float(mean or 1.0), unknown=1.0 if name == "priority" else 0.0)


def learning_name(config: Config) -> str:
    """The name of the ordering if it learns from links."""
    name = config.crawl.ordering
    learns = isinstance(config.ordered(lambda _url: 0.0), Learning | Ranking)
    return ALIASES.get(name, name) if learns else ""


def _rank_of(config: Config, layout: Layout) -> RankOf:
    """What listed pages are worth, as far as that was reckoned when the crawl was begun."""
    if config.scores.score == "priority" or not layout.listed_ranks.is_file():
        return lambda _url: None
    return KnownRanks.load(layout.listed_ranks).get


class _Recall:
    """What guards have learnt of a site, as it was kept."""

    def __init__(self, state: State) -> None:
        self._state = state

    def __call__(self, site: Site) -> bytes:
        kept = self._state.sites.get([site])[0]
        return b"" if kept is None else kept.traps


def _archive(config: Config, layout: Layout, number: int, state: State, journal: Journal) -> Archive:
    """Opened after the last record that either the state or the journal knows of."""
    kept = state.marked("archive")
    end = WarcEnd() if kept is None else msgspec.msgpack.decode(kept, type=WarcEnd)
    return Archive(
        layout.warc,
        config.archive,
        shard=number,
        software=f"periplus/{__version__}",
        fields={"http-header-user-agent": config.identity.agent, "robots": "obey"},
        end=journal.mend(commits_of(state), end),
        payloads=state.payloads,
    )


def _pace(asked: ShardMaker, scheduler: CrawlScheduler, clock: SystemClock, number: int, count: int) -> Pace | Ration:
    """A share of the visits a day, or of a rate of requests."""
    if asked.visits_a_day:
        return Ration(scheduler.refresher.spending.visits_a_day / DAY, clock.now())
    return Pace(asked.config.crawl.rate, clock.now(), number, count)


def _wire(config: Config, seeds: Sequence[Url], clock: SystemClock) -> CurlWire:
    resolver = Resolver(config.dns, clock=clock)
    return CurlWire(
        config.wire,
        identity=config.identity,
        clock=clock,
        resolver=resolver,
        guard=AddressGuard([] if config.wire.proxy else _addresses(resolver, _typed(config, seeds))),
    )


def _typed(config: Config, seeds: Sequence[Url]) -> Sequence[Url]:
    """The seeds that a person meant one by one; in a list of many a name may lead into a network that nobody meant."""
    if not config.crawl.seed_file:
        return seeds
    named = {host.partition(":")[0] for host in config.dns.hosts}
    return [seed for seed in seeds if host_of(seed) in named or LOCAL.fullmatch(host_of(seed))]


def _addresses(resolver: Resolver, seeds: Sequence[Url]) -> list[str]:
    """Where the seeds lie: a person who begins in a private network means to crawl there."""
    hosts = list(dict.fromkeys(host_of(seed) for seed in seeds))
    answers = resolver.find_all(hosts[:_LOOKED_UP])
    return [answer.ip for answer in answers.values() if isinstance(answer, Address)]
