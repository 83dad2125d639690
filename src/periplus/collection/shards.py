"""One shard from settings: which class plays which part, and where the last process left it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus import __version__
from periplus.engine.clock import RateLimiter, SystemClock, Timescale, TokenBucket
from periplus.engine.engine import Engine, ShardFiles
from periplus.engine.fetch import CurlWire, Resolver
from periplus.engine.frontier import AddressClaims, SiteRecords
from periplus.engine.log import InputLog, with_body
from periplus.engine.machine import Machine
from periplus.engine.machine_settings import MachineSettings, ShardMeta, UrlPolicy
from periplus.engine.part import Desk, MakeParts, Part
from periplus.engine.router import Outbound
from periplus.engine.shard import Shard
from periplus.engine.wire import Wire
from periplus.model import Clock, CollectionError, ConfigError, Learning, Ordering, Ranking, Url
from periplus.parts.absence.part import AbsenceJudge
from periplus.parts.cloaking.part import CloakingJudge
from periplus.parts.dust.given import GivenRules, read_rule_file
from periplus.parts.dust.part import DustLearner
from periplus.parts.dust.renames import Renames
from periplus.parts.focus.part import FocusPart
from periplus.parts.forms.part import Forms
from periplus.parts.forms.settings import FormRules
from periplus.parts.mirrors.part import Mirrors
from periplus.parts.mirrors.policy import MirrorHosts
from periplus.parts.render.part import ScriptNeeds
from periplus.parts.reputation.part import ReputationFollower
from periplus.parts.revisit.budget import Watching
from periplus.parts.revisit.evidence import DAY
from periplus.parts.revisit.records import RevisitState
from periplus.parts.revisit.revisits import Revisits
from periplus.parts.sitemaps.held_seeds import HeldSeeds
from periplus.parts.sitemaps.scheduler import SitemapScheduler
from periplus.parts.sitemaps.scores import RankOf
from periplus.parts.sitemaps.settings import SitemapRules
from periplus.parts.spam.part import SpamFollower
from periplus.policy.filters import Scope, screening_chain, standard_chain
from periplus.policy.ordering import ALIASES, Scored
from periplus.policy.weights import PageWeights
from periplus.store import Archive, DiskState, KnownRanks, LearntFiles, Replica, State, bring_home
from periplus.store.tables import Tables
from periplus.urls import site_of

from .config.settings import Config
from .layout import Layout
from .parts import NO_PARTS, OwnParts, rendering_wire, topic_maker
from .trust import unsigned, with_values_of

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

    def __call__(self, number: int, count: int) -> Shard:
        """Shard `number` of `count`."""
        return open_shard(self, Layout(self.folder), number, count)


class LoggedSettings(Struct, frozen=True, array_like=True):
    """Under which settings inputs were logged: they are applied again under the same."""

    version: str
    config: Config
    seeds: tuple[Url, ...]
    visits_a_day: float
    revisits_only: bool = False


def open_shard(asked: ShardMaker, layout: Layout, number: int, count: int) -> Shard:
    """Put a shard together and restore it to where the last process left it."""
    engine = opened_engine(asked, layout, number, count)
    try:
        engine.submit_sitemaps()
    except BaseException:
        engine.close()
        raise
    return Shard(number, engine)


def opened_engine(asked: ShardMaker, layout: Layout, number: int, count: int) -> Engine:
    """The engine of a shard, recovered. What was logged under other settings is first applied under those.

    Personal settings are those of now, unless the logged ones are signed: the log lies in the collection (`trust`).
    """
    state = _state(asked, layout, number)
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
            engine = _assemble(before, layout, number, count, state)
            engine.recover()
            engine.close()
            state = _state(asked, layout, number)
        engine = _assemble(asked, layout, number, count, state)
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


def _state(asked: ShardMaker, layout: Layout, number: int) -> DiskState:
    """Open the state: in the collection, or on this machine's disk with a copy there, as configured now."""
    layout.check_begun(number)
    home, local = layout.shard(number), asked.config.cluster.local_state
    if local:
        folder, replica = layout.local(Path(local), number), Replica(home, epoch=asked.epoch)
        return DiskState(folder, shard=number, duplicates=asked.config.duplicates, replica=replica)
    bring_home(home)
    return DiskState(home, shard=number, duplicates=asked.config.duplicates)


def _assemble(asked: ShardMaker, layout: Layout, number: int, count: int, state: State) -> Engine:
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
        wire=_wire(asked, clock, count) if asked.wire is None else asked.wire(clock),
        files=ShardFiles(archive, tables, state, log, LearntFiles(layout.learnt)),
        clock=clock,
        limiter=_limiter(asked, machine, clock, number, count),
        outbound=Outbound(number, count, state.exchange),
        claims=AddressClaims(count) if count > 1 else None,
    )


def open_machine(asked: ShardMaker, layout: Layout, number: int, count: int, state: State) -> Machine:
    """The machine of a shard, as it was committed."""
    config = asked.config
    scope = Scope(asked.seeds, config.scope)
    want = asked.parts.wants
    given = given_rules(config, layout)
    settings = MachineSettings(
        shard=number,
        shards=count,
        agent=config.identity.token,
        random_seed=f"{config.crawl.random_seed}/{number}",
        learning_ordering=learning_name(config),
        politeness=config.politeness,
        retries=config.retries,
        frontier=config.frontier,
        balance=config.balance,
        budgets=config.budgets.of_domains(config.crawl.limit),
        suffixes=config.scope.suffixes,
        seeds=asked.seeds,
        refresh=config.refresh,
        churn=config.churn,
        reading=config.reading,
        media=config.media,
        revisits_only=asked.revisits_only,
    )
    ordering = _ordering(asked, layout)
    renames = partial(Renames, settings=config.dust, given=given)
    return Machine(
        settings,
        state,
        UrlPolicy(
            ordering,
            scope,
            lambda recall: standard_chain(scope, config.filters, recall=recall, want=want, learning=[renames]),
            screening_chain(scope, config.filters, want),
            weights_of(config, layout),
        ),
        make_revisits=partial(_revisits, asked, count),
        parts=_parts(asked, layout, ordering, given),
        load_learnt=LearntFiles(layout.learnt).read,
    )


def _revisits(
    asked: ShardMaker, count: int, state: State, records: SiteRecords, weights: PageWeights, random: Random
) -> Revisits:
    """What learns from every visit, and in a watch schedules the next."""
    config = asked.config
    return Revisits(
        state,
        records,
        config.refresh,
        watching=Watching(asked.visits_a_day, count) if asked.visits_a_day else None,
        weights=weights,
        churn=config.churn,
        random=random,
    )


def _parts(asked: ShardMaker, layout: Layout, ordering: Ordering, given: GivenRules) -> list[MakeParts]:
    """The parts of a crawl, in the order in which they are called."""
    config = asked.config
    suffixes = config.scope.suffixes
    make_topic = topic_maker(config.topic, LearntFiles(layout.learnt))
    parts: list[MakeParts] = [
        lambda desk: [DustLearner(desk, config.dust, given)],
        lambda desk: [ScriptNeeds(desk, config.render)],
        lambda desk: [AbsenceJudge(desk, config.absence)],
        lambda desk: [CloakingJudge(desk, config.cloaking, config.redirections, suffixes)],
        partial(_sitemaps, asked, layout),
        lambda desk: [Forms(desk, _form_rules(asked))],
        lambda _desk: [Mirrors(MirrorHosts(config.mirrors, suffixes))],
        lambda desk: [ReputationFollower(desk)],
    ]
    if config.spam.enabled:  # before the focus: both multiply weights
        parts.append(lambda desk: [SpamFollower(desk)])
    if make_topic is not None:
        parts.append(lambda desk: [FocusPart(desk, make_topic, ordering, config.topic.explore)])
    return parts


def _sitemaps(asked: ShardMaker, layout: Layout, desk: Desk) -> list[Part]:
    """Sitemaps; and seeds that wait for them, if the crawl is for files and does not only visit pages again."""
    config = asked.config
    rules = config.some(SitemapRules)
    sitemaps = SitemapScheduler(desk, rules, _rank_of(config, layout), partial(with_body, layout.warc))
    if not config.media.types or not config.media.html or asked.revisits_only:
        return [sitemaps]
    return [sitemaps, HeldSeeds(desk, asked.seeds, sitemaps)]


def _form_rules(asked: ShardMaker) -> FormRules:
    """What is done with forms: a refresh submits none."""
    config = asked.config
    forms = config.forms.within(config.budgets.max_pages_per_site)
    if asked.revisits_only and forms.are_submitted:
        forms = replace(forms, enabled="discover")
    signed_in = frozenset(site_of(Url(f"{origin}/")) for origin in asked.parts.credentials.sites)
    return FormRules(forms, signed_in, config.scope.suffixes)


def given_rules(config: Config, layout: Layout) -> GivenRules:
    """The rules for duplicate URLs of the file that the settings name."""
    if not config.dust.file:
        return GivenRules()
    path = layout.folder / config.dust.file
    try:
        return read_rule_file(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigError(f"dust.file: {path} cannot be read: {error.strerror}") from error


def _ordering(asked: ShardMaker, layout: Layout) -> Ordering:
    """The program's own ordering if it has one, else the one that the settings name."""
    score, by = asked.parts.scores, asked.config.ordering.by
    if score is not None:
        return Scored(score)
    return asked.config.ordered(KnownRanks.load(layout.ranks(Path(by).resolve())) if by else None)


def weights_of(config: Config, layout: Layout, saved: RevisitState | None = None) -> PageWeights:
    """How much pages matter; measured by the mean weight of the last watch, if there was one."""
    name = config.refresh.weight
    kept = layout.weights(name)
    ranks = KnownRanks.load(kept).get if name != "equal" and kept.is_file() else None
    mean = 1.0 if saved is None else saved.mean_weight
    # a page without a priority is like others of its site; one without inlinks is not
    return PageWeights(config.refresh.weights, ranks, mean, unknown=1.0 if name == "priority" else 0.0)


def learning_name(config: Config) -> str:
    """The name of the ordering if it learns from links."""
    name = config.crawl.ordering
    learns = isinstance(config.ordered(lambda _url: 0.0), Learning | Ranking)
    return ALIASES.get(name, name) if learns else ""


def _rank_of(config: Config, layout: Layout) -> RankOf:
    """What listed pages are worth, as far as that was computed when the crawl was begun."""
    if config.scores.score == "priority" or not layout.listed_ranks.is_file():
        return lambda _url: None
    return KnownRanks.load(layout.listed_ranks).get


def _archive(config: Config, layout: Layout, number: int, state: State, log: InputLog, meta: ShardMeta) -> Archive:
    """Open the archive after the last record that either the state or the log knows of."""
    return Archive(
        layout.warc,
        config.archive,
        shard=number,
        software=f"periplus/{__version__}",
        fields={"http-header-user-agent": config.identity.agent, "robots": "obey"},
        end=log.repair(meta.commits, meta.archive),
        payloads=state.payloads,
    )


def _limiter(
    asked: ShardMaker, machine: Machine, clock: SystemClock, number: int, count: int
) -> RateLimiter | TokenBucket:
    """A part of the visits a day, or of a rate of requests."""
    if asked.visits_a_day:
        return TokenBucket(machine.revisits.visits_per_day / DAY, clock.now())
    return RateLimiter(asked.config.crawl.rate, clock.now(), number, count)


def _return_large_blocks() -> None:
    """Have the C library keep large blocks apart from the heap, so that the system gets them back when they are freed.

    glibc raises its limit for that to the size of the largest block freed, up to 32 MiB; after one long body all others
    would be parts of the heap, whose holes stay: 940 MB for bodies of 512 MB. Other C libraries have no such limit.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)


def _wire(asked: ShardMaker, clock: SystemClock, count: int) -> Wire:
    config = asked.config
    _return_large_blocks()
    guard = config.address_guard()
    wire = CurlWire(
        config.transfers,
        identity=config.identity,
        clock=clock,
        resolver=Resolver(config.dns, clock=clock),
        guard=guard,
        credentials=asked.parts.credentials,
        browser=config.cloaking.agent,
    )
    return rendering_wire(config, wire, guard=guard, clock=clock, count=count) if config.render.is_on else wire
