"""Changes the number of shards of a collection: sites go to where they belong then, and only those that must.

Sites are placed by rendezvous hashing, so that of S shards that become S + 1 each gives 1/(S + 1) of its sites to the
new one, and a shard that is removed gives its own to all others. The crawl is stopped meanwhile. In order:

1. Every shard comes to rest as at the end of a crawl: its log is applied, sitemaps are read to their end, rows are in
   Parquet, and every batch that was on its way to another shard has arrived (`resting`). This can be stopped anywhere.
2. The file `state/resizing` holds the plan from here to the end: a process that finds it starts again from here. Each
   shard that gives copies what goes, commits that the copy is complete, then removes it
   (`periplus.store.state.moving`). Killed anywhere, each row is in its old place, or in its new one, or in both until
   the old one is removed.
3. What a removed shard has counted is added to shard 0, which also keeps how far its tables and archive reach, for a
   shard of that number that may be added again: no file is written twice. Its folder is removed; WARC and Parquet files
   stay where they are.
4. Every shard that is left is prepared for its new sites: all of them are parked, and what was counted of them is
   counted again (`_settle`).
5. `periplus.toml` gets the new number, and the plan is removed.

How far each of these has come is in the states themselves (`ResizeState`), in the commits that do the work. To resize a
crawl that runs, a request is left in `state/resize-to`: the command that runs the crawl stops it, does the above, and
continues. Plan and request are small files beside the states.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus.engine.frontier import FrontierState, ScoreState
from periplus.engine.link_state import LinkState
from periplus.engine.machine_settings import ShardMeta
from periplus.engine.revisit.setup import settle as settle_revisits
from periplus.engine.router import ShardPlacement
from periplus.engine.sitemaps.store import copy_postponed, copy_spending, half_read
from periplus.model import CollectionDamaged, CollectionError, ConfigError, InvariantError, Lane, Site, Url
from periplus.store import DiskState, State, WarcEnd, is_begun
from periplus.store.durable import move, write_file
from periplus.store.folders import sync_folder
from periplus.store.layout import Layout
from periplus.store.state.moving import Moved, SiteMove, forget_shards, park_sites

from .config.settings import Config
from .resting import all_moved, bring_to_rest, metas, opened

MAX_SHARDS = 256


class Plan(Struct, frozen=True):
    """What is under way: from how many shards to how many. `token` identifies it."""

    before: int
    after: int
    token: str


def plan_of(layout: Layout) -> Plan | None:
    """What is under way, or was when a process died."""
    if not layout.resizing.is_file():
        return None
    try:
        return msgspec.json.decode(layout.resizing.read_bytes(), type=Plan)
    except msgspec.MsgspecError as error:
        raise CollectionDamaged(f"{layout.resizing} cannot be read", hint="restore it from a copy") from error


def unfinished(layout: Layout, plan: Plan) -> CollectionError:
    """The error for any other command on a collection that is being resized."""
    return CollectionError(
        f"{layout.folder} was being resized from {plan.before} to {plan.after} shards when that was stopped",
        hint=f"periplus cluster resize {layout.folder} {plan.after} finishes it",
    )


def check_whole(layout: Layout) -> None:
    """Refuse to crawl between two numbers of shards."""
    plan = plan_of(layout)
    if plan is not None:
        raise unfinished(layout, plan)


def requested(layout: Layout) -> int | None:
    """The number of shards that a running crawl is asked to have."""
    try:
        text = layout.resize_request.read_text("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return int(text) if text.isdecimal() and 1 <= int(text) <= MAX_SHARDS else None


def request(layout: Layout, shards: int) -> None:
    """Ask the process that runs the crawl for it."""
    write_file(layout.resize_request, f"{shards}\n".encode())


_TOGETHER = 8
"""States that are open besides the one that gives, at most: each maps a file and holds rows until its commit."""


class FileEnds(Struct, frozen=True):
    """How far the files of a removed shard reach: a shard of its number that is added later continues there."""

    archive: WarcEnd
    tables: bytes | None


class ResizeState(Struct, frozen=True):
    """How far a state has come in a resize; plans are named by their tokens.

    `gave` is the plan for which it has copied all that goes, `settled` the one for which it was prepared for its new
    sites. Shard 0 has added up what the shards in `inherited` counted, which the plan `inherited_in` removes, and has
    the ends of the files of every shard that was `removed`, by its number.
    """

    gave: str = ""
    settled: str = ""
    inherited_in: str = ""
    inherited: tuple[int, ...] = ()
    removed: dict[int, FileEnds] = {}


class ResizingStep(Struct, frozen=True):
    """Progress. `doing` is `rest`, `move` or `finish`; `shard` is the one that does it, of `shards`."""

    doing: str
    shard: int
    shards: int
    moved: Moved


class Resized(Struct, frozen=True):
    """The result: sites and URLs that moved, and the rows of states that were copied for that."""

    before: int
    after: int
    sites: int = 0
    urls: int = 0
    rows: int = 0


Tell = Callable[[ResizingStep], None]


def resize(config: Config, folder: Path, seeds: Sequence[Url], shards: int, tell: Tell = lambda _step: None) -> Resized:
    """Give a collection this number of shards, or finish a resize to it. No shard may be open; fetches nothing."""
    layout = Layout(folder)
    plan = plan_of(layout)
    if plan is None:
        before = _checked(layout, shards)
        if before == shards:
            layout.resize_request.unlink(missing_ok=True)
            return Resized(shards, shards)
        bring_to_rest(config, layout, seeds, lambda shard: tell(ResizingStep("rest", shard, before, Moved())))
        plan = Plan(before, shards, uuid4().hex)
        write_file(layout.resizing, msgspec.json.encode(plan))
    elif plan.after != shards:
        raise unfinished(layout, plan)
    moved = _Resizing(layout, plan, tell).run()
    return Resized(plan.before, plan.after, moved.sites, moved.urls, moved.rows)


def _checked(layout: Layout, shards: int) -> int:
    """Return how many shards there are; raise an error if the new number is invalid or one of them is in use."""
    if not 1 <= shards <= MAX_SHARDS:
        raise ConfigError(f"the number of shards must be from 1 to {MAX_SHARDS}, got {shards}")
    before = layout.shards
    if not before:
        raise ConfigError(f"{layout.folder} was not crawled yet", hint="set the number of shards with crawl --workers")
    for number in range(before):
        layout.check_begun(number)
        with opened(layout, number):
            pass
    return before


class _Resizing:
    """Carries out a plan, from the beginning or from where an earlier process died."""

    def __init__(self, layout: Layout, plan: Plan, tell: Tell) -> None:
        self._layout = layout
        self._plan = plan
        self._tell = tell
        self._owner = ShardPlacement(plan.after).owner
        self._owner_before = ShardPlacement(plan.before).owner
        self._moved = Moved()

    def run(self) -> Moved:
        """Do all of it; what was moved by this process."""
        layout, plan = self._layout, self._plan
        for left in layout.resizing.parent.glob("gone-*"):
            shutil.rmtree(left)
        for number in range(plan.before, plan.after):
            self._add(number)
        givers = range(plan.before) if plan.after > plan.before else range(plan.after, plan.before)
        for number in givers:
            if is_begun(layout.shard(number)):
                self._give(number)
        self._tell(ResizingStep("finish", 0, plan.before, self._moved))
        for number in range(plan.after, plan.before):
            self._remove(number)
        for number in range(plan.after):
            with opened(layout, number) as state:
                self._settle(state)
        _write_settings(layout, plan.after)
        layout.resize_request.unlink(missing_ok=True)
        layout.resizing.unlink()
        sync_folder(layout.resizing.parent)
        return self._moved

    def _add(self, number: int) -> None:
        """Begin a shard: with moved seeds and given patterns as the others have them, and where its files end.

        It counts as committed once, so that the process that opens it first lets its sites rest, as after any restart.
        """
        others = [meta for meta in metas(self._layout, self._plan.before, ShardMeta) if meta.commits]
        with opened(self._layout, 0) as first:
            removed = _resize_state(first).removed
        if number not in removed:
            self._layout.check_begun(number)
        ends = removed.get(number, FileEnds(WarcEnd(), None))
        with opened(self._layout, number) as state:
            if state.meta(ShardMeta) is None:
                meta = ShardMeta(archive=ends.archive, tables=ends.tables, moved=sorted(all_moved(others)))
                if others:
                    steering = others[0].frontier.steering
                    meta = replace(
                        meta, commits=1, ordering=others[0].ordering, frontier=FrontierState(steering=steering)
                    )
                state.put_meta(meta)
                state.commit()

    def _give(self, number: int) -> None:
        """Let a shard give the sites that belong elsewhere now."""
        plan = self._plan
        targets = range(plan.before, plan.after) if plan.after > plan.before else range(plan.after)
        with opened(self._layout, number) as source:
            progress = _resize_state(source)
            if progress.gave != plan.token:
                for start in range(0, len(targets), _TOGETHER):
                    self._copy(source, number, targets[start : start + _TOGETHER])
                source.put_meta(replace(progress, gave=plan.token))
                source.commit()
            if number < plan.after:
                SiteMove(source, number, {}, self._owner, plan.token.encode()).clear()

    def _copy(self, source: DiskState, number: int, targets: Sequence[int]) -> None:
        before = self._moved
        with ExitStack() as held:
            states = {target: held.enter_context(opened(self._layout, target)) for target in targets}

            def report(moved: Moved) -> None:
                self._moved = _sum(before, moved)
                self._tell(ResizingStep("move", number, self._plan.before, self._moved))

            def had(site: Site) -> bool:
                return self._owner_before(site) == number

            move = SiteMove(source, number, states, self._owner, self._plan.token.encode(), report, had)
            move.copy()
            self._moved = _sum(before, move.moved)
            copy_spending(source, states, self._owner)
            copy_postponed(source, states, self._owner)
            for state in states.values():
                state.commit()

    def _remove(self, number: int) -> None:
        """Remove a shard, after shard 0 has taken over what it counted and how far its files reach."""
        layout = self._layout
        folder = layout.shard(number)
        if is_begun(folder):
            with opened(layout, 0) as first, opened(layout, number) as last:
                _inherit(first, last, number, self._plan.token)
        if folder.is_dir():
            gone = folder.with_name(f"gone-{number:02d}")
            move(folder, gone)
            shutil.rmtree(gone)

    def _settle(self, state: DiskState) -> None:
        """Prepare a shard for the sites that it has now; once, for it may have crawled since."""
        plan = self._plan
        progress = _resize_state(state)
        if progress.settled == plan.token:
            return
        park_sites(state)
        forget_shards(state, range(min(plan.before, plan.after), max(plan.before, plan.after)))
        meta = state.meta(ShardMeta)
        if meta is not None:
            parked = _parked(state, meta)
            state.put_meta(parked)
            settle_revisits(state, parked.frontier.revisits_waiting)
        state.put_meta(replace(progress, settled=plan.token))
        state.commit()


def _parked(state: DiskState, meta: ShardMeta) -> ShardMeta:
    """The metadata of a shard all of whose sites are parked, some of which are new to it."""
    frontier = meta.frontier
    if frontier.leases or half_read(state):
        raise InvariantError("sites move only between shards that are at rest")
    lanes = [(lane, state.queues.length(site, lane)) for site, lane, _ in state.queues.waiting()]
    first_visits = sum(length for lane, length in lanes if lane in (Lane.DISCOVERY, Lane.SITEMAPS))
    revisits = sum(length for lane, length in lanes if lane is Lane.REFRESH)
    embedded = sum(length for lane, length in lanes if lane is Lane.EMBEDDED)
    embedded += sum(entry.lane is Lane.EMBEDDED for entry in state.queues.postponed())
    ranked_at = 0 if frontier.scores is None else frontier.scores.ranked_at
    return replace(
        meta,
        frontier=FrontierState(
            pages_done=frontier.pages_done,
            page_budget=frontier.page_budget,
            is_crowded=True,
            revisits_waiting=revisits,
            scores=ScoreState(ranked_at, state.standings.pooled, first_visits) if meta.ordering else None,
            random=frontier.random,
            steering=frontier.steering,
            embedded_waiting=embedded,
        ),
        links=LinkState(),
    )


def _inherit(first: DiskState, last: DiskState, number: int, token: str) -> None:
    """Add what a shard has counted to shard 0; once for each plan, as the same commit holds both."""
    progress = _resize_state(first)
    inherited = progress.inherited if progress.inherited_in == token else ()
    if number in inherited:
        return
    mine, theirs = _meta(first), _meta(last)
    frontier = replace(mine.frontier, pages_done=mine.frontier.pages_done + theirs.frontier.pages_done)
    moved = sorted({*mine.moved, *theirs.moved})
    first.put_meta(replace(mine, stats=mine.stats + theirs.stats, moved=moved, frontier=frontier))
    removed = progress.removed | {number: FileEnds(theirs.archive, theirs.tables)}
    first.put_meta(replace(progress, inherited_in=token, inherited=(*inherited, number), removed=removed))
    first.commit()


def _meta(state: State) -> ShardMeta:
    return state.meta(ShardMeta) or ShardMeta()


def _resize_state(state: State) -> ResizeState:
    return state.meta(ResizeState) or ResizeState()


def _sum(one: Moved, other: Moved) -> Moved:
    return Moved(one.sites + other.sites, one.urls + other.urls, one.rows + other.rows)


def _write_settings(layout: Layout, shards: int) -> None:
    """Let the next crawl distribute the sites among this many shards."""
    if layout.settings.is_file():
        config = Config.load(layout.settings)
        if config.crawl.workers != shards:
            write_file(layout.settings, replace(config, crawl=replace(config.crawl, workers=shards)).dump().encode())
