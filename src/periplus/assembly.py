"""From settings to objects: the only place that knows which class plays which part.

A collection is a folder (`Layout` says what lies where). `open_shard` puts one shard of it together, and brings it to
where the last process left it; `Crawl` of `crawl.local` runs as many of them as the collection has.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
from msgspec import Struct
from xxhash import xxh3_64_hexdigest

from periplus import __version__
from periplus.config import Config
from periplus.crawl.clock import Pace, SystemClock, Timescale
from periplus.crawl.courier import Courier
from periplus.crawl.engine import Engine, commits_of
from periplus.crawl.fetch import Address, AddressGuard, CurlWire, Resolver
from periplus.crawl.frontier import Foretelling, NextVisit, PolitenessSettings, Watching, robots_url
from periplus.crawl.journal import Journal
from periplus.crawl.local import Crawl
from periplus.crawl.placement import Placement
from periplus.crawl.reading import PageReader
from periplus.crawl.scheduler import CrawlScheduler
from periplus.crawl.shard import Shard
from periplus.crawl.sitemaps import Forester, ForesterSettings
from periplus.crawl.tally import Counting, Tally
from periplus.model import ConfigError, Discovery, Learning, Purpose, Ranking, Site, Source, State, Url
from periplus.policy.filters import Scope, screening_chain, standard_chain
from periplus.policy.ordering import ALIASES
from periplus.policy.refresh import DAY, Weigher
from periplus.policy.sitemaps import RankOf
from periplus.store import Archive, DiskState, KnownRanks, WarcEnd, known_ranks, listed_priorities, listed_ranks
from periplus.store.tables import Spooled, Tables
from periplus.store.warc import merge_indexes
from periplus.urls import canonical, host_of

_LOCAL = re.compile(r"localhost|[\w.-]+\.(?:localhost|test|internal|local)|[\d.]+|\[[\da-f:.]+\]", re.IGNORECASE)
_PORT = re.compile(r"[^/?#]*:(\d+)")
_ORDERING = "ordering"
_FORETOLD = 5
"""So many visits are told before they are made."""
_LOOKED_UP = 64
"""So many seeds at most are looked up to learn whether they lie in a private network."""


class Layout(Struct, frozen=True):
    """Where things lie in a collection."""

    folder: Path

    @property
    def settings(self) -> Path:
        """What was asked."""
        return self.folder / "periplus.toml"

    @property
    def warc(self) -> Path:
        """Every answer, as it came."""
        return self.folder / "warc"

    @property
    def tables(self) -> Path:
        """What happened, as Parquet."""
        return self.folder / "tables"

    def shard(self, number: int) -> Path:
        """What a shard remembers."""
        return self.folder / "state" / f"shard-{number:02d}"

    def spool(self, number: int) -> Path:
        """Rows of a shard that are on their way to Parquet."""
        return self.shard(number) / "spool"

    def ranks(self, by: Path) -> Path:
        """What an earlier collection says that URLs are worth."""
        return self.folder / "state" / f"ranks-{xxh3_64_hexdigest(str(by).encode())}.npy"

    @property
    def listed_ranks(self) -> Path:
        """What links and sitemaps said, when the crawl was last begun, that listed pages are worth."""
        return self.folder / "state" / "ranks-listed.npy"

    def weights(self, name: str) -> Path:
        """What pages were worth by this importance, when they were last watched."""
        return self.folder / "state" / f"ranks-weight-{name}.npy"

    @property
    def spooled(self) -> tuple[Spooled, ...]:
        """How far each shard that has begun has committed its rows."""
        return tuple(
            Spooled(number, self.spool(number), mark)
            for number in range(self.shards)
            if (self.shard(number) / "data.mdb").is_file()
            for mark in [_marked(self.shard(number), "tables")]
        )

    @property
    def shards(self) -> int:
        """How many shards the collection has; 0: it was not begun."""
        return len(list((self.folder / "state").glob("shard-*")))


class ShardMaker(Struct, frozen=True):
    """Makes the shards of a collection, here or in another process. `visits_a_day`: of one that comes back; 0: none."""

    config: Config
    folder: Path
    seeds: tuple[Url, ...]
    visits_a_day: float = 0.0
    scale: Timescale | None = None

    def __call__(self, number: int, count: int) -> Shard:
        """Shard `number` of `count`."""
        return open_shard(self, Layout(self.folder), number, count)


def open_crawl(
    config: Config,
    folder: Path,
    seeds: Sequence[Url],
    workers: int,
    *,
    watches: bool = False,
    scale: Timescale | None = None,
) -> Crawl:
    """A crawl of a collection from these seeds, by so many processes; begun now or continued.

    One that `watches` comes back to pages, for ever, within its budget. `scale` is for a web with a time of its own.
    """
    layout = Layout(folder)
    if layout.shards not in (0, workers):
        raise ConfigError(
            f"{folder} was begun with {layout.shards} workers and cannot be continued with {workers}",
            hint=f"Use --workers {layout.shards}, or begin another collection",
        )
    check_ordering(config, layout)
    if not layout.shards:
        _found(layout, workers)
    if config.ordering.by:
        _ask_earlier(config, layout)
    if config.scores.score != "priority":
        listed_ranks(layout.tables, layout.spooled, config.scores).save(layout.listed_ranks)
    if watches:
        _rank_pages(config, layout)
    now = SystemClock(scale).now()
    return Crawl(
        ShardMaker(config, folder, tuple(seeds), budget(config, layout) if watches else 0.0, scale),
        workers,
        seeds=[_begun(config, seed, now) for seed in seeds],
        limit=config.crawl.limit or None,
        seconds=config.crawl.duration or None,
    )


def _rank_pages(config: Config, layout: Layout) -> None:
    """Reckon which pages matter more, if they do: from links and sitemaps as they are known by now."""
    name = config.refresh.weight
    if name == "equal":
        return
    scores = msgspec.structs.replace(config.scores, score=name)
    rank = listed_priorities if name == "priority" else listed_ranks
    rank(layout.tables, layout.spooled, scores).save(layout.weights(name))


def weigher_of(config: Config, layout: Layout, state: State | None = None) -> Weigher:
    """How much pages matter; in the means by which a `state` was last watched, if there is one."""
    name = config.refresh.weight
    kept = layout.weights(name)
    ranks = KnownRanks.load(kept).get if name != "equal" and kept.is_file() else None
    mean = None if state is None else state.marked("mean weight")
    # a page of which sitemaps say nothing is like others of its site; one that no link leads to is not
    return Weigher(config.refresh.weights, ranks, float(mean or 1.0), unknown=1.0 if name == "priority" else 0.0)


def _begun(config: Config, seed: Url, now: float) -> Discovery:
    """A seed; where no pages are wanted, the robots.txt of its site in its place."""
    if config.sitemaps.only:
        return Discovery(robots_url(seed), Source.SEED, now, purpose=Purpose.ROBOTS)
    return Discovery(seed, Source.SEED, now)


def _found(layout: Layout, workers: int) -> None:
    """Make the folders of all shards appear at once: who counts them finds all or none."""
    draft = layout.folder / "state.new"
    shutil.rmtree(draft, ignore_errors=True)
    for number in range(workers):
        (draft / layout.shard(number).name).mkdir(parents=True, exist_ok=True)
    draft.rename(layout.folder / "state")


def check_ordering(config: Config, layout: Layout) -> None:
    """An ordering that learns has standings, and places in queues, that mean nothing to another."""
    asked = _learning_name(config)
    for number in range(layout.shards):
        folder = layout.shard(number)
        if (folder / "data.mdb").is_file() and _marked(folder, "commits"):
            before = (_marked(folder, _ORDERING) or b"").decode()
            if before != asked:
                was = before or "an ordering that does not learn from links"
                hint = f"use --order {before}" if before else "use --order breadth_first, largest_site or random"
                raise ConfigError(
                    f"{layout.folder} was begun with {was} and cannot be continued with {config.crawl.ordering}",
                    hint=f"{hint}, or begin another collection",
                )


def _learning_name(config: Config) -> str:
    """The name of the ordering if it learns from links."""
    name = config.crawl.ordering
    learns = isinstance(config.ordered(lambda _url: 0.0), Learning | Ranking)
    return ALIASES.get(name, name) if learns else ""


def _marked(folder: Path, name: str) -> bytes | None:
    state = DiskState.read_only(folder)
    try:
        return state.marked(name)
    finally:
        state.close()


def _ask_earlier(config: Config, layout: Layout) -> None:
    """Reckon what an earlier collection says that URLs are worth, once: it is kept with this one."""
    earlier = Layout(Path(config.ordering.by).resolve())
    ranks = layout.ranks(earlier.folder)
    if ranks.is_file():
        return
    if not earlier.shards:
        raise ConfigError(f"{earlier.folder} is no collection", hint="name an earlier collection with --order-by DIR")
    found = known_ranks(earlier.tables, earlier.spooled)
    if not len(found):
        raise ConfigError(f"{earlier.folder} knows of no links", hint="crawl something into it first")
    found.save(ranks)


def settle(folder: Path) -> None:
    """After the last shard has closed: one index over all of the archive."""
    warc = Layout(folder).warc
    if warc.is_dir():
        merge_indexes(warc)


def seeds_from(texts: Sequence[str]) -> tuple[Url, ...]:
    """Seeds as people write them, each once."""
    seeds: dict[Url, None] = {}
    for text in texts:
        seed = canonical(with_scheme(text))
        if seed is None:
            raise ConfigError(f"{text!r} is no URL to begin with", hint="Write it as https://example.org/")
        seeds[seed] = None
    return tuple(seeds)


def with_scheme(text: str) -> str:
    """A seed as it was meant: https, but http on this machine, on a bare address, and where a port was named."""
    text = text.strip()
    if "://" in text:
        return text
    port = _PORT.match(text)
    host = re.split(r"[/?#]", text, maxsplit=1)[0]
    is_plain = _LOCAL.fullmatch(host) if port is None else port[1] != "443"
    return f"http://{text}" if is_plain else f"https://{text}"


def open_shard(asked: ShardMaker, layout: Layout, number: int, count: int) -> Shard:
    """Put a shard together and bring it to where the last process left it."""
    config, clock = asked.config, SystemClock(asked.scale)
    state = DiskState(layout.shard(number), shard=number, duplicates=config.duplicates)
    try:
        shard, engine = _assemble(asked, layout, number, count, state, clock)
        engine.recover()
        engine.submit()
    except BaseException:
        state.close()
        raise
    return shard


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
    state.mark(_ORDERING, _learning_name(config).encode())
    weigher = weigher_of(config, layout)
    scheduler = CrawlScheduler(
        state,
        guard=standard_chain(scope, config.filters, recall=_Recall(state)),
        ordering=ordering,
        events=events,
        agent=config.identity.token,
        random=Random(f"{config.crawl.random_seed}/{number}"),  # noqa: S311 - chance, not secrets
        politeness=_among(config, count),
        retries=config.retries,
        frontier=config.frontier,
        balance=config.balance,
        refresh=config.refresh,
        churn=config.churn,
        watching=Watching(asked.visits_a_day / count) if asked.visits_a_day else None,
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
        pace=_pace(asked, clock, number, count),
        speed=clock.speed,
    )
    foretelling = Foretelling(state, config.refresh, weigher)

    def next_visits() -> Sequence[NextVisit]:
        return foretelling.next(scheduler.refresher.price, clock.now(), _FORETOLD) if asked.visits_a_day else ()

    return Shard(number, scheduler=scheduler, engine=engine, courier=courier, next_visits=next_visits), engine


def budget(config: Config, layout: Layout) -> float:
    """Visits a day of a crawl that watches; a seventh of the pages that there are, where nobody said.

    To be asked before the shards are opened.
    """
    if config.watch.visits_a_day:
        return config.watch.visits_a_day
    folders = [layout.shard(number) for number in range(layout.shards)]
    begun = [folder for folder in folders if (folder / "data.mdb").is_file()]
    pages = sum(int.from_bytes(_marked(folder, "pages") or b"", "big") for folder in begun)
    return max(pages / 7, 1440.0)


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


def _among(config: Config, count: int) -> PolitenessSettings:
    """Sites of one address may be in several shards, which do not ask each other: each waits as long as all would."""
    politeness = config.politeness
    return msgspec.structs.replace(politeness, ip_delay=politeness.between_requests_to_an_address * count)


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


def _pace(asked: ShardMaker, clock: SystemClock, number: int, count: int) -> Pace:
    """A budget of visits a day, or a rate of requests."""
    rate = asked.visits_a_day / DAY or asked.config.crawl.rate
    return Pace(rate, clock.now(), number, count, counts_robots=not asked.visits_a_day)


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
    return [seed for seed in seeds if host_of(seed) in named or _LOCAL.fullmatch(host_of(seed))]


def _addresses(resolver: Resolver, seeds: Sequence[Url]) -> list[str]:
    """Where the seeds lie: a person who begins in a private network means to crawl there."""
    hosts = list(dict.fromkeys(host_of(seed) for seed in seeds))
    answers = resolver.find_all(hosts[:_LOOKED_UP])
    return [answer.ip for answer in answers.values() if isinstance(answer, Address)]
