"""A collection gets another number of shards: sites go to where they belong then, and only those that must.

Sites are placed by rendezvous hashing, so that of S shards that become S + 1 each gives 1/(S + 1) of its sites to the
new one, and a shard that goes gives its own to all others. The crawl is stopped meanwhile. In order:

1. Every shard comes to rest as at the end of a crawl: what was noted is gone through, rows are in Parquet, and every
   batch that was on its way to another shard has arrived (`resting`). This can be stopped anywhere.
2. `state/resizing` says what is under way, from here to the end: whoever finds it does this again from here. Each shard
   that gives copies what goes, keeps that the copy is whole, then removes it (`periplus.store.state.moving`). Killed
   anywhere, each row is in its old place, or in its new one, or in both until the old one is removed.
3. What a shard that goes has counted is added to shard 0, which also keeps how far its tables and archive had come, for
   a shard of that number that may come again: files are never written twice. Its folder is removed; WARC and Parquet
   files stay where they are.
4. `periplus.toml` says the new number, and the file goes.

Whoever wants this of a crawl that runs leaves a request (`state/resize-to`): the command that runs the crawl stops it,
does the above, and goes on.
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

from periplus.config import Config
from periplus.crawl.placement import Placement
from periplus.crawl.sitemaps.store import SitemapStore as Nodes
from periplus.crawl.stats import CrawlStats
from periplus.model import ConfigError, Site, Url
from periplus.policy.sitemaps import TreeSpending
from periplus.store import DiskState, is_begun
from periplus.store.state.moving import Move, Moved, forget_shards
from periplus.store.tables.spool import sync_folder
from periplus.urls import site_of

from .layout import Layout
from .resize_plan import MAX_SHARDS, Plan, plan_of, unfinished, write
from .resting import MOVED, all_moved, bring_to_rest, moved_of, opened

_TOGETHER = 8
"""So many states are open besides the one that gives."""
_GAVE, _TOOK = "gave", "took"


class Step(Struct, frozen=True):
    """How far it is. `doing`: `rest`, `move` or `finish`, with the shard that is at it and how many there are."""

    doing: str
    shard: int
    shards: int
    moved: Moved


class Resized(Struct, frozen=True):
    """What was done: sites and URLs that changed places, and rows of the state that this took."""

    before: int
    after: int
    sites: int = 0
    urls: int = 0
    rows: int = 0


Tell = Callable[[Step], None]


def resize(config: Config, folder: Path, seeds: Sequence[Url], shards: int, tell: Tell = lambda _step: None) -> Resized:
    """Give a collection so many shards, or finish what was begun. No shard may be open; nothing is fetched."""
    layout = Layout(folder)
    plan = plan_of(layout)
    if plan is None:
        before = _checked(layout, shards)
        if before == shards:
            layout.resize_request.unlink(missing_ok=True)
            return Resized(shards, shards)
        bring_to_rest(config, layout, seeds, lambda shard: tell(Step("rest", shard, before, Moved())))
        plan = Plan(before, shards, uuid4().hex)
        write(layout.resizing, msgspec.json.encode(plan))
    elif plan.after != shards:
        raise unfinished(layout, plan)
    moved = _Resizing(layout, plan, tell).run()
    return Resized(plan.before, plan.after, moved.sites, moved.urls, moved.rows)


def _checked(layout: Layout, shards: int) -> int:
    """How many shards there are; all of them must be free."""
    if not 1 <= shards <= MAX_SHARDS:
        raise ConfigError(f"{shards} shards are not possible", hint=f"give a number from 1 to {MAX_SHARDS}")
    before = layout.shards
    if not before:
        raise ConfigError(f"{layout.folder} was not crawled yet", hint="say how many with crawl --workers")
    for number in range(before):
        layout.check_begun(number)
        with opened(layout, number):
            pass
    return before


class _Resizing:
    """A plan that is carried out, or carried on with."""

    def __init__(self, layout: Layout, plan: Plan, tell: Tell) -> None:
        self._layout = layout
        self._plan = plan
        self._token = plan.token.encode()
        self._tell = tell
        self._owner = Placement(plan.after).owner
        self._moved = Moved()

    def run(self) -> Moved:
        """All of it."""
        layout, plan = self._layout, self._plan
        for left in layout.resizing.parent.glob("gone-*"):
            shutil.rmtree(left)
        for number in range(plan.before, plan.after):
            self._begin(number)
        givers = range(plan.before) if plan.after > plan.before else range(plan.after, plan.before)
        for number in givers:
            if is_begun(layout.shard(number)):
                self._give(number)
        self._tell(Step("finish", 0, plan.before, self._moved))
        for number in range(plan.after, plan.before):
            self._retire(number)
        for number in range(min(plan.before, plan.after)):
            with opened(layout, number) as state:
                forget_shards(state, range(min(plan.before, plan.after), max(plan.before, plan.after)))
                state.commit()
        _write_settings(layout, plan.after)
        layout.resize_request.unlink(missing_ok=True)
        layout.resizing.unlink()
        sync_folder(layout.resizing.parent)
        return self._moved

    def _begin(self, number: int) -> None:
        """A shard that comes: where seeds have moved to, and where one of that number that went had come to."""
        places = sorted(all_moved(self._layout))
        with opened(self._layout, 0) as first:
            files = first.marked(gone_name(number)) or b"\x80"
        if not msgspec.msgpack.decode(files):
            self._layout.check_begun(number)
        with opened(self._layout, number) as state:
            if state.marked("commits") is not None:
                return  # it has crawled since: a file that says otherwise came back with the power
            state.mark(MOVED, msgspec.msgpack.encode(places))
            for name, kept in msgspec.msgpack.decode(files, type=dict[str, bytes]).items():
                state.mark(name, kept)
            state.commit()

    def _give(self, number: int) -> None:
        """Let a shard give what is no longer its own."""
        plan = self._plan
        targets = range(plan.before, plan.after) if plan.after > plan.before else range(plan.after)
        with opened(self._layout, number) as source:
            if source.marked(_GAVE) != self._token:
                for start in range(0, len(targets), _TOGETHER):
                    self._copy(source, number, targets[start : start + _TOGETHER])
                source.mark(_GAVE, self._token)
                source.commit()
            if number < plan.after:
                Move(source, number, {}, self._owner, self._token).clear()

    def _copy(self, source: DiskState, number: int, targets: Sequence[int]) -> None:
        before = self._moved
        with ExitStack() as held:
            states = {target: held.enter_context(opened(self._layout, target)) for target in targets}

            def hear(moved: Moved) -> None:
                self._moved = _sum(before, moved)
                self._tell(Step("move", number, self._plan.before, self._moved))

            move = Move(source, number, states, self._owner, self._token, hear)
            move.copy()
            self._moved = _sum(before, move.moved)
            _carry_trees(source, states, self._owner)
            for state in states.values():
                state.commit()

    def _retire(self, number: int) -> None:
        """Keep what a shard has counted, and how far its files go; then let it go."""
        layout = self._layout
        folder = layout.shard(number)
        if is_begun(folder):
            with opened(layout, 0) as first, opened(layout, number) as last:
                _inherit(first, last, number, self._token)
        if folder.is_dir():
            gone = folder.with_name(f"gone-{number:02d}")
            folder.rename(gone)
            shutil.rmtree(gone)


def _inherit(first: DiskState, last: DiskState, number: int, token: bytes) -> None:
    """Once for each shard of a plan, whoever was killed: what was added and that it was are one commit."""
    took = msgspec.msgpack.decode(first.marked(_TOOK) or b"\x80", type=dict[bytes, list[int]]).get(token, [])
    if number in took:
        return
    tally = CrawlStats.restored(first.marked("tally")) + CrawlStats.restored(last.marked("tally"))
    pages = sum(int.from_bytes(state.marked("pages") or b"", "big") for state in (first, last))
    files = {name: kept for name in ("tables", "archive") if (kept := last.marked(name)) is not None}
    moved = {url for state in (first, last) for url in moved_of(state.marked(MOVED))}
    first.mark(MOVED, msgspec.msgpack.encode(sorted(moved)))
    first.mark("tally", tally.encoded())
    first.mark("pages", pages.to_bytes(8, "big"))
    first.mark(gone_name(number), msgspec.msgpack.encode(files))
    first.mark(_TOOK, msgspec.msgpack.encode({token: [*took, number]}))
    first.commit()


def _carry_trees(source: DiskState, targets: dict[int, DiskState], owner: Callable[[Site], int]) -> None:
    """What trees of sitemaps have used of their budgets goes with their files: no less than either shard knows of."""
    nodes = Nodes(source)
    for node in nodes:
        target = targets.get(owner(site_of(node.url)))
        if target is not None:
            there, here = Nodes(target).spending(node.tree), nodes.spending(node.tree)
            most = TreeSpending(*map(max, msgspec.structs.astuple(there), msgspec.structs.astuple(here)))
            if most != there:
                Nodes(target).spent(node.tree, most)


def _sum(one: Moved, other: Moved) -> Moved:
    return Moved(one.sites + other.sites, one.urls + other.urls, one.rows + other.rows)


def gone_name(number: int) -> str:
    """The mark of what is kept of a shard that went."""
    return f"gone {number}"


def _write_settings(layout: Layout, shards: int) -> None:
    """The next crawl deals the sites out among as many."""
    if layout.settings.is_file():
        config = Config.load(layout.settings)
        if config.crawl.workers != shards:
            write(layout.settings, replace(config, crawl=replace(config.crawl, workers=shards)).dump().encode())
