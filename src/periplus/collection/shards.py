"""One shard from settings: which class plays which part, and where the last process left it."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus import __version__
from periplus.engine.clock import RateLimiter, SystemClock, Timescale, TokenBucket
from periplus.engine.engine import Engine, ShardFiles
from periplus.engine.fetch import Credentials, CurlWire, Resolver
from periplus.engine.frontier import AddressClaims
from periplus.engine.log import InputLog, with_body
from periplus.engine.machine import Machine
from periplus.engine.machine_settings import MachineSettings, ShardMeta, UrlPolicy
from periplus.engine.part import Setup
from periplus.engine.plugins import NO_PARTS, OwnParts
from periplus.engine.revisit.setup import revisits_for, weights_of
from periplus.engine.router import OutgoingMessages
from periplus.engine.shard import Shard
from periplus.engine.sitemaps.scheduler import scheduler_for
from periplus.engine.wire import Wire
from periplus.model import Clock, CollectionError, CollectionInUse, Learning, Ordering, Ranking, Url
from periplus.parts import kinds
from periplus.parts.dust.part import renames_for
from periplus.parts.identity.part import signer_of
from periplus.policy.filters import Scope, screening_chain, standard_chain
from periplus.policy.ordering import ALIASES, Scored
from periplus.store import Archive, DiskState, KnownRanks, LearntFiles, Replica, State, bring_home
from periplus.store.layout import Layout
from periplus.store.tables import Tables
from periplus.urls import site_of

from .config.settings import Config
from .trust import unsigned, with_values_of

if TYPE_CHECKING:
    from periplus.engine.fetch import Session, SingleRequests

_DAY = 86_400.0
_ORPHAN_WAIT, _BETWEEN_TRIES = 15.0, 0.1
"""Seconds that a shard waits for a worker of a crawl that was killed: it ends its requests and commits."""
_MMAP_THRESHOLD = -3
"""`M_MMAP_THRESHOLD` of glibc's malloc.h."""
_LARGE = 512 * 1024
"""Bytes from which a block is kept apart from the heap: less than the blocks of a long body."""


class ShardMaker(Struct, frozen=True):
    """Makes the shards of a collection, here or in another process. `visits_a_day`: of a watch; 0: it is not one.

    `epoch` grows whenever a shard is given to another process: one with an older epoch may not hold it any more.
    `revisits_only`: only pages that wait to be visited again are fetched.
    `parts` are the program's own; they are not logged, so inputs that were logged are applied again with these.
    `wire` makes another wire than ours, for a program that fetches itself.
    """

    config: Config
    folder: Path
    seeds: tuple[Url, ...]
    visits_a_day: float = 0.0
    scale: Timescale | None = None
    epoch: int = 0
    revisits_only: bool = False
    parts: OwnParts = NO_PARTS
    wire: Callable[[Clock], Wire] | None = None

    def __reduce__(self) -> tuple[Callable[..., ShardMaker], tuple[bytes, dict[str, object]]]:
        """By the names of fields: the process that opens the shard may run the next version."""
        others = {name: getattr(self, name) for name in self.__struct_fields__ if name != "config"}
        return _maker, (msgspec.msgpack.encode(self.config), others)

    def __call__(self, number: int, count: int) -> Shard:
        """Shard `number` of `count`."""
        return open_shard(self, Layout(self.folder), number, count)


def _maker(config: bytes, others: dict[str, object]) -> ShardMaker:
    known: dict[str, Any] = {name: value for name, value in others.items() if name in ShardMaker.__struct_fields__}
    return ShardMaker(msgspec.msgpack.decode(config, type=Config), **known)


class LoggedSettings(Struct, frozen=True, array_like=True):
    """Under which settings inputs were logged: they are applied again under the same."""

    version: str
    config: Config
    seeds: tuple[Url, ...]
    visits_a_day: float
    revisits_only: bool = False


def open_shard(asked: ShardMaker, layout: Layout, number: int, count: int) -> Shard:
    """Put a shard together and restore it to where the last process left it."""
    session = _session(asked, layout, count) if asked.parts.session and asked.wire is None else None
    engine = opened_engine(asked, layout, number, count, session)
    try:
        engine.submit_sitemaps()
    except BaseException:
        engine.close()
        raise
    return Shard(number, engine, lambda: None if session is None else session.problem)


def opened_engine(asked: ShardMaker, layout: Layout, number: int, count: int, session: Session | None = None) -> Engine:
    """The engine of a shard, recovered. What was logged under other settings is first applied under those.

    Personal settings are those of now, unless the logged ones are signed: the log lies in the collection (`trust`).
    """
    state = open_state(asked, layout, number)
    try:
        logged = _logged(asked, layout, number, state)
        if logged is not None:
            before = replace(
                asked,
                config=_trusted(logged.config, asked.config, layout.folder),
                seeds=logged.seeds,
                visits_a_day=logged.visits_a_day,
                revisits_only=logged.revisits_only,
            )
            engine = assembled_engine(before, layout, number, count, state, session)
            engine.recover()
            engine.close()
            state = open_state(asked, layout, number)
        engine = assembled_engine(asked, layout, number, count, state, session)
        engine.recover()
    except BaseException:
        state.close()
        raise
    return engine


def _trusted(logged: Config, asked: Config, folder: Path) -> Config:
    return with_values_of(asked, logged) if unsigned(logged, folder) else logged


def _logged(asked: ShardMaker, layout: Layout, number: int, state: State) -> LoggedSettings | None:
    """The settings of the log, if there are inputs in it that were applied under others than these."""
    meta = state.meta(ShardMeta)
    header = _log(asked, layout, number).header(0 if meta is None else meta.commits)
    if header is None or header == _header(asked):
        return None
    try:
        logged = msgspec.msgpack.decode(header, type=LoggedSettings)
    except msgspec.MsgspecError as error:
        raise _written_by("another version of Periplus", layout) from error
    if logged.version != __version__:
        raise _written_by(f"Periplus {logged.version}", layout)
    return logged


def _written_by(version: str, layout: Layout) -> CollectionError:
    return CollectionError(
        f"the crawl of {layout.folder} was interrupted, and its log was written by {version}",
        hint="run the same command with that version once; then this one continues",
    )


def _header(asked: ShardMaker) -> bytes:
    return msgspec.msgpack.encode(
        LoggedSettings(__version__, asked.config, asked.seeds, asked.visits_a_day, asked.revisits_only)
    )


def _log(asked: ShardMaker, layout: Layout, number: int) -> InputLog:
    return InputLog(layout.log(number), layout.warc, _header(asked))


def open_state(asked: ShardMaker, layout: Layout, number: int) -> DiskState:
    """Open the state: in the collection, or on this machine's disk with a copy there, as configured now."""
    layout.check_begun(number)
    home, local = layout.shard(number), asked.config.cluster.local_state
    if local:
        folder, replica = layout.local(Path(local), number), Replica(home, epoch=asked.epoch)
        return DiskState(folder, shard=number, duplicates=asked.config.duplicates, replica=replica)
    bring_home(home)
    until = time.monotonic() + _ORPHAN_WAIT
    while True:
        try:
            return DiskState(home, shard=number, duplicates=asked.config.duplicates)
        except CollectionInUse:
            if time.monotonic() > until:
                raise
            time.sleep(_BETWEEN_TRIES)


def assembled_engine(
    asked: ShardMaker, layout: Layout, number: int, count: int, state: State, session: Session | None = None
) -> Engine:
    """The engine of a shard as it was committed: what was logged since is not applied yet."""
    config, clock = asked.config, SystemClock(asked.scale)
    meta = state.meta(ShardMeta) or ShardMeta()
    log = _log(asked, layout, number)
    tables = Tables(
        layout.tables,
        layout.spool(number),
        config.tables,
        shard=number,
        mark=meta.tables,
        suffixes=config.scope.suffixes,
    )
    archive = _archive(config, layout, number, state, log, meta)
    machine = open_machine(asked, layout, number, count, state)
    return Engine(
        config.engine,
        machine=machine,
        wire=_wire(asked, layout, clock, count, session) if asked.wire is None else asked.wire(clock),
        files=ShardFiles(archive, tables, state, log, LearntFiles(layout.learnt)),
        clock=clock,
        limiter=_limiter(asked, machine, clock, number, count),
        outbound=OutgoingMessages(number, count, state.exchange),
        claims=AddressClaims(count) if count > 1 else None,
    )


def open_machine(asked: ShardMaker, layout: Layout, number: int, count: int, state: State) -> Machine:
    """The machine of a shard, as it was committed."""
    config = asked.config
    scope = Scope(asked.seeds, config.scope)
    want = asked.parts.wants
    setup = _setup(asked, layout, count)
    settings = MachineSettings(
        shard=number,
        shards=count,
        agent=config.crawler_identity.token,
        random_seed=f"{config.crawl.random_seed}/{number}",
        learning_ordering=learning_name(config),
        politeness=config.politeness,
        retries=config.retries,
        frontier=config.frontier,
        balance=config.balance,
        budgets=config.budgets.of_domains(config.crawl.limit),
        suffixes=config.scope.suffixes,
        seeds=asked.seeds,
        churn=config.churn,
        reading=config.reading,
        media=config.media,
        revisits_only=asked.revisits_only,
    )
    learning = [renames_for(setup)]
    return Machine(
        settings,
        state,
        UrlPolicy(
            setup.ordering or config.ordered(),
            scope,
            lambda recall: standard_chain(scope, config.filters, recall=recall, want=want, learning=learning),
            screening_chain(scope, config.filters, want),
            weights_of(setup),
        ),
        make_revisits=partial(revisits_for, setup),
        make_sitemaps=partial(scheduler_for, setup, partial(with_body, layout.warc)),
        parts=[partial(kind.made_for, setup) for kind in kinds(config)],
        load_learnt=LearntFiles(layout.learnt).read,
    )


def _setup(asked: ShardMaker, layout: Layout, count: int) -> Setup:
    return Setup(
        asked.config,
        layout,
        ordering=_ordering(asked, layout),
        seeds=asked.seeds,
        shards=count,
        visits_a_day=asked.visits_a_day,
        revisits_only=asked.revisits_only,
        identity=asked.config.crawler_identity,
        signed_in=frozenset(
            site_of(Url(f"{origin}/")) for origin in (*asked.parts.credentials.sites, *asked.parts.session.origins)
        ),
    )


def _ordering(asked: ShardMaker, layout: Layout) -> Ordering:
    """The program's own ordering if it has one, else the one that the settings name."""
    score, by = asked.parts.scores, asked.config.ordering.by
    if score is not None:
        return Scored(score)
    return asked.config.ordered(KnownRanks.load(layout.ranks(Path(by).resolve())) if by else None)


def learning_name(config: Config) -> str:
    """The name of the ordering if it learns from links."""
    name = config.crawl.ordering
    learns = isinstance(config.ordered(lambda _url: 0.0), Learning | Ranking)
    return ALIASES.get(name, name) if learns else ""


def _archive(config: Config, layout: Layout, number: int, state: State, log: InputLog, meta: ShardMeta) -> Archive:
    """Open the archive after the last record that either the state or the log knows of."""
    return Archive(
        layout.warc,
        config.archive,
        shard=number,
        software=f"periplus/{__version__}",
        fields={"http-header-user-agent": config.crawler_identity.agent, "robots": "obey"},
        end=log.repair(meta.commits, meta.archive),
        payloads=state.payloads,
    )


def _limiter(
    asked: ShardMaker, machine: Machine, clock: SystemClock, number: int, count: int
) -> RateLimiter | TokenBucket:
    """A part of the visits a day, or of a rate of requests."""
    if asked.visits_a_day:
        return TokenBucket(machine.revisits.visits_per_day / _DAY, clock.now())
    return RateLimiter(asked.config.crawl.rate, clock.now(), number, count)


def _return_large_blocks() -> None:
    """Have the C library keep large blocks apart from the heap, so that the system gets them back when they are freed.

    glibc raises its limit for that to the size of the largest block freed, up to 32 MiB; after one long body all others
    would be parts of the heap, whose holes stay: 940 MB for bodies of 512 MB. Other C libraries have no such limit.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)


def _wire(asked: ShardMaker, layout: Layout, clock: SystemClock, count: int, session: Session | None) -> Wire:
    config, setup = asked.config, _setup(asked, layout, count)
    _return_large_blocks()
    guard = config.address_guard()
    signer = signer_of(setup, clock)
    requests = CurlWire(
        config.transfers,
        identity=config.crawler_identity,
        clock=clock,
        resolver=Resolver(config.dns, clock=clock),
        guard=guard,
        session=session,
        credentials=asked.parts.credentials,
        browser=config.cloaking.agent,
        signer=signer,
    )
    wire: Wire = requests if session is None else session.wired(requests)
    for kind in kinds(config):
        wire = kind.wired(setup, wire, guard, clock) or wire
    return wire


def _session(asked: ShardMaker, layout: Layout, count: int) -> Session:
    """The session of a shard, not logged in yet."""
    from periplus.engine.fetch import Session, SingleRequests  # most crawls have none: it loads a cookie jar

    config, clock = asked.config, SystemClock(asked.scale)
    signer = signer_of(_setup(asked, layout, count), clock)

    def make(session: Session) -> SingleRequests:
        return SingleRequests(
            config.transfers,
            identity=config.crawler_identity,
            clock=clock,
            dns=config.dns,
            guard=config.address_guard(),
            session=session,
            credentials=Credentials(proxy=asked.parts.credentials.proxy),
            signer=signer,
        )

    return Session(asked.parts.session, make, clock)
