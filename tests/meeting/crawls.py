"""A crawl of a generated web with generated settings, in virtual time, from its first seed to its last commit.

What runs is what ships: `ShardedCrawl`, the coordinator and its workers, engine, machine, log, LMDB, WARC and tables,
resize and refresh. In place of the network, the browser, the clock and the processes there are stand-ins: `wires`,
`Clock`, and workers that take turns in this process. A process dies between the log and the effects of an input; the
next one opens what is left, with a clock of its own.

While it runs: every invariant after every input; every request as servers see it (`traffic`); the crawl neither stands
still nor goes on forever; a process that died is replayed to the state that it had. At the end: `checks`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final, cast
from unittest import mock

from msgspec.structs import replace
from tests.faults.disk import Crashed
from tests.faults.simulation import Process
from tests.faults.web import Broken, Clock, TrueTime
from tests.meeting.checks import Evidence, check_end, check_limit, check_next_visits
from tests.meeting.comparing import compare, without_looks
from tests.meeting.drawn import Plan, Stage, plan_of
from tests.meeting.learning import write_learnt
from tests.meeting.teams import Complaints, InnerTeam, InnerWorker
from tests.meeting.traffic import Traffic
from tests.meeting.wires import Network, Outage, VirtualBrowser, VirtualWire
from tests.meeting.world import MeetingWorld
from tests.properties.replayed_world import ObservedMachine
from tests.small_index import small_index

from periplus.apps.changes.refreshing import RefreshSelection, begin_refresh, end_refresh, for_new_pages, for_revisits
from periplus.collection.collection import CollectionSetup, existing
from periplus.collection.config.settings import Config
from periplus.collection.jobs import run_jobs
from periplus.collection.judging import judge
from periplus.collection.opening import seed_discovery
from periplus.collection.resizing import resize
from periplus.collection.shards import ShardMaker, assembled_engine, open_shard, open_state
from periplus.engine.frontier.frontier_state import FrontierState
from periplus.engine.inputs import Answered, Input, Learnt
from periplus.engine.shard import Controls, Shard
from periplus.engine.sharding.crawl import CrawlLimits, ShardedCrawl
from periplus.engine.wire import Wire
from periplus.model import Discovery, FetchTask, Purpose, Source
from periplus.parts.render.wire import RenderingWire
from periplus.policy.filters.patterns import compiled
from periplus.store import MessageInbox
from periplus.store.layout import Layout
from periplus.urls import site_of

MAX_INPUTS: Final = 30_000
"""Inputs of a machine after which a crawl that has not ended never will: one has some thousand."""
MAX_WAITS: Final = 5_000
"""Waits without any input after which time stands still."""
QUIET: Final = 3 * 3600.0
"""Seconds without a request in which a crawl that is not finished stands still: more than any pause it makes."""
_WAIT: Final = 30.0
"""Seconds that a crawl of one shard waits at a time."""
_VISITS_A_DAY: Final = 2_000.0
_REPLAYED: Final = 0.5
"""Share of deaths after which the state is replayed twice and compared."""
_CLOCKS: Final = ("collection.shards", "collection.opening", "apps.changes.refreshing", "collection.jobs")
_TIMES: Final = ("sharding.crawl", "sharding.requests", "sharding.processes", "sharding.worker")
_LOOKS: Final = [FrontierState.__struct_fields__.index(name) for name in ("is_crowded", "passes")]
"""The fields that a look for sites changes."""


class OpenedShard(Process):
    """A shard that is open in this process: its parts, for what looks into them."""

    def __init__(self, run: Meeting, shard: Shard, wire: Wire, number: int, count: int) -> None:
        self.shard, self.engine, self.number, self.count = shard, shard._engine, number, count
        self.machine = cast("ObservedMachine", self.engine.machine)
        self.state, self.tables = cast("Any", self.engine._state), self.engine._tables
        self.folder, self.config, self.wire = run.folder, run.config, cast("Any", wire)
        self.machine.__class__ = ObservedMachine
        self.machine.after = partial(run.observe, self)


class Meeting:
    """A run."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.world = MeetingWorld(seed)
        self.plan: Plan = plan_of(seed, self.world)
        self.folder, self.config = folder / "collection", self.plan.config
        self.chance = Random(f"meeting run {seed}")
        self.true = TrueTime()
        self.began_at = self.true.at
        self.traffic = Traffic(
            self.true,
            self.config.politeness,
            attempts=self.config.retries.max_attempts,
            is_sharded=any(stage.shards > 1 for stage in self.plan.stages),
        )
        if len(self.plan.jumps) == 1:
            self.traffic.max_absent = self.config.value("absence.max_probes")
        self.network = Network(self.world, self.traffic, self.chance)
        self.evidence = Evidence(self.plan.seeds)
        self.story: list[str] = []
        self.inputs = self.inputs_of_life = self._waits = 0
        self.crawl: ShardedCrawl | None = None
        self.controls = Controls()
        self._pausing: Future[None] | None = None
        self._excluding: dict[str, Future[None]] = {}
        self._paused_for = 0
        self._clock = Clock(self.true, 0.0)
        self._stage = self.plan.stages[0]
        self._deaths: list[int] = []
        self._stop_at = 0
        self.workers: dict[int, InnerWorker] = {}
        self._open: dict[int, OpenedShard] = {}
        self._inbox: MessageInbox | None = None
        self.complaints = Complaints()

    @property
    def is_crawling(self) -> bool:
        """Whether pages are fetched for the first time: the limit is one of those."""
        return self._stage.kind == "crawl"

    @property
    def hours(self) -> float:
        """Virtual hours since the beginning."""
        return (self.true.at - self.began_at) / 3600

    def run(self) -> None:
        """Live through every stage."""
        with self._virtual():
            CollectionSetup(self.folder, self._with_workers(self.plan.stages[0].shards), self.plan.seeds, True).save()
            for place, stage in enumerate(self.plan.stages):
                self._stage = stage
                is_followed = any(each.kind == "crawl" for each in self.plan.stages[place + 1 :])
                self._live(stage, stops=is_followed)

    def _with_workers(self, shards: int) -> Config:
        return self.config.with_options({"crawl.workers": shards})

    @contextmanager
    def _virtual(self) -> Iterator[None]:
        """Let every clock of the product show virtual time."""
        clock = mock.Mock(monotonic=lambda: self.true.at, time=lambda: self.true.at, spec=("monotonic", "time"))
        maker = partial(ShardMaker, wire=lambda clock: self._wire(clock, 0))
        with ExitStack() as stack:
            for name in _CLOCKS:
                stack.enter_context(mock.patch(f"periplus.{name}.SystemClock", self._opened_clock))
            for name in _TIMES:
                stack.enter_context(mock.patch(f"periplus.engine.{name}.time", clock))
            stack.enter_context(mock.patch("periplus.engine.sharding.crawl.STATUS_INTERVAL", _WAIT))
            stack.enter_context(mock.patch("periplus.collection.resting.ShardMaker", maker))
            stack.enter_context(self.complaints.heard())
            if self.plan.seed % 2:
                stack.enter_context(small_index())
            yield

    def _opened_clock(self, _scale: object = None) -> Clock:
        return self._clock

    # the stages

    def _live(self, stage: Stage, *, stops: bool) -> None:
        layout = Layout(self.folder)
        self._new_clock()
        if layout.shards and layout.shards != stage.shards:
            self.story.append(f"{layout.shards} shards become {stage.shards}")
            resize(self.config, self.folder, self.plan.seeds, stage.shards)
            self.traffic.disconnected()
        if layout.shards and stage.with_jobs:
            self._run_jobs()
        self.story.append(f"{stage.kind} with {stage.shards} shards, deaths {stage.deaths}, at {self.hours:.2f} h")
        self._deaths = list(stage.deaths)
        self._stop_at = self.plan.stops_after if stops or self.plan.stops_after else 0
        if stage.kind != "crawl":
            self._draw_outage(stage)
        elif layout.shards == 0:
            self._draw_troubles()
        if stage.kind == "refresh":
            self._refresh(layout)
        elif stage.kind == "watch":
            self._until_done(self.config, visits_a_day=_VISITS_A_DAY, hours=stage.hours)
            check_next_visits(self)
        else:
            is_complete = self._until_done(self.config)
            if not stops and is_complete:
                check_end(self)

    def _draw_troubles(self) -> None:
        """Sometimes the name server fails for a while, or sites move, once the crawl has begun."""
        chance, now = Random(f"troubles {self.plan.seed}"), self.true.at
        if chance.random() < 0.3:
            begins = now + chance.uniform(5.0, 60.0)
            self.network.unnamed = begins, begins + chance.choice((20.0, 300.0, 7200.0))
            self.story.append(f"the name server fails for {self.network.unnamed[1] - begins:.0f} s")
        if chance.random() < 0.3:
            self.network.moves_at = now + chance.uniform(5.0, 120.0)
            self.story.append(f"other addresses: {', '.join(self.world.moving)}")

    def _draw_outage(self, stage: Stage) -> None:
        """Sometimes a site is down for a while, when its pages are visited again."""
        chance = Random(f"outage {self.plan.seed} {self.hours}")
        if chance.random() < 0.5:
            until = self.true.at + 3600 * chance.uniform(0.1, 0.7) * max(stage.hours, 1.0)
            outage = Outage(chance.choice(sorted(self.world.sound)), until, chance.choice((404, 503, None, 200, 302)))
            self.network.outage = outage
            self.evidence.down.add(outage.site)
            self.story.append(f"{outage.site} answers {outage.status or 'nothing'} until {self.hours:.2f} h")

    def _run_jobs(self) -> None:
        """Run the jobs over the tables of what was crawled so far; the next process uses what they learn."""
        collection = existing(self.folder)
        if failed := run_jobs(collection):
            raise Broken(f"{failed} jobs failed")
        if self.config.value("mirrors.enabled"):
            judge(collection, self._clock.now())
        self.evidence.learnt_kinds |= {"spam", "mirrors"}
        self.story.append(f"jobs have run, at {self.hours:.2f} h")

    def _refresh(self, layout: Layout) -> None:
        plan = begin_refresh(self.config, layout, self.plan.seeds, RefreshSelection())
        self.traffic.disconnected()
        self._until_done(for_revisits(self.config), revisits_only=True)
        after = for_new_pages(self.config, layout, plan)
        if after is not None:
            self._until_done(after)
        self.story.append(
            f"refreshed: {replace(end_refresh(layout, plan), changed_urls=(), new_urls=(), gone_urls=())}"
        )

    def _until_done(
        self, config: Config, *, revisits_only: bool = False, visits_a_day: float = 0.0, hours: float = 0.0
    ) -> bool:
        """Crawl, in as many lives as it takes. Whether it ended because nothing was left."""
        while True:
            try:
                is_stopped = self._one_life(config, revisits_only, visits_a_day, hours)
            except Crashed:
                self.story.append(f"  died after {self.inputs_of_life} inputs, at {self.hours:.2f} h")
                self.true.at += self.chance.choice((0.0, 0.1, 60.0))
                self._new_clock()
                continue
            self.traffic.disconnected()
            check_limit(self)
            if not is_stopped or hours:
                if self._is_worth_another_try():
                    continue
                assert self.crawl is not None
                return not (self.plan.has_limit or self.crawl.is_unreachable or hours)
            self.story.append(f"  stopped by a person at {self.hours:.2f} h")
            if self._stage is not self.plan.stages[-1]:
                return False
            self._new_clock()

    def _is_worth_another_try(self) -> bool:
        """Whether no seed could be reached, but one can: names that are not found once end a crawl."""
        assert self.crawl is not None
        sites = {site_of(seed) for seed in self.plan.seeds} & self.world.sound
        if not self.crawl.is_unreachable or not sites:
            return False
        if all(self.world.names[site] != "once" for site in sites):
            raise Broken("the crawl ends since no seed can be reached, but one can")
        self._new_clock()
        return True

    def _new_clock(self) -> None:
        self._clock = Clock(self.true, self.chance.choice(self.plan.jumps))

    def _one_life(self, config: Config, revisits_only: bool, visits_a_day: float, hours: float) -> bool:
        """One process, or one team of them; whether it was stopped."""
        self.inputs_of_life = 0
        self._asked = ShardMaker(config, self.folder, self.plan.seeds, visits_a_day, revisits_only=revisits_only)
        now = self._clock.now()
        shards, self.workers, self._open = self._stage.shards, {}, {}
        self.traffic.shards = shards
        self._inbox = MessageInbox(Layout(self.folder).inbox)
        crawl = self.crawl = ShardedCrawl(
            self.make,
            shards,
            seeds=() if revisits_only else [seed_discovery(config, seed, now) for seed in self.plan.seeds],
            limits=CrawlLimits(config.crawl.limit or None, config.crawl.max_bytes or None),
            gather=None if shards == 1 else lambda _make, count, limit: InnerTeam(self, count, limit),
            inbox=self._inbox,
            ends_unreachable=not visits_a_day,
        )
        if self.controls != Controls():
            crawl.control(self.controls)
        until = self.true.at + 3600 * hours
        for _ in crawl.progress():
            if hours and self.true.at >= until:
                crawl.stop()
        if shards > 1:
            for opened in list(self._open.values()):  # it did not stop in time, and was killed
                self._abandon(opened)
        return crawl.is_interrupted

    # processes

    def make(self, number: int, count: int) -> Shard:
        """Open a shard as a new process does."""
        if count > 1:
            self._new_clock()
        wires: list[Wire] = []

        def wire(clock: Any) -> Wire:
            wires.append(self._wire(clock, number))
            return wires[-1]

        asked = replace(self._asked, wire=wire)
        shard = open_shard(asked, Layout(self.folder), number, count)
        opened = self._open[number] = OpenedShard(self, shard, wires[-1], number, count)
        opened.machine.check_invariants()
        return shard

    def _wire(self, clock: Any, number: int) -> Wire:
        wire = VirtualWire(self.network, clock, self.plan.slots, number)
        self._waiting_on(wire)
        if self.config.value("render.mode") == "never":
            return wire
        browser: Any = VirtualBrowser(self.network, clock)
        return RenderingWire(cast("Any", wire), browser, max_decoded=self.config.reading.max_decoded_bytes)

    def _waiting_on(self, wire: VirtualWire) -> None:
        finished = wire.finished

        def waiting(timeout: float) -> Any:
            outcomes = finished(timeout)
            self._waited()
            return outcomes

        wire.finished = waiting  # type: ignore[method-assign]

    def _waited(self) -> None:
        """After every wait of a process: is the crawl alive?"""
        self._waits += 1
        if self.complaints.lines:
            raise Broken(f"the crawl reports a defect: {self.complaints.lines[0]}")
        if self.chance.random() < self.plan.stalls:
            self.traffic.slept(self.chance.choice((2.0, 400.0)))
        if self._waits > MAX_WAITS:
            raise Broken(f"the crawl does nothing and waits for nothing: {self._state_of_all()}")
        is_active = self._asked.visits_a_day or self.controls.is_paused
        if not is_active and self.true.at - self.traffic.last_at > QUIET:
            raise Broken(f"the crawl stands still: {self._state_of_all()}")
        for pattern in [pattern for pattern, asked in self._excluding.items() if asked.done()]:
            if self._excluding.pop(pattern).exception() is None:
                self.traffic.forbidden[pattern] = compiled(pattern)
        if self._pausing is not None and self._pausing.done():
            self.traffic.is_paused = True
            self._paused_for += 1
            if self._paused_for > 4:
                self._resume()

    def time_to_next(self, longest: float) -> float:
        """Seconds until a shard of this team has something to do: no other may sleep longer in their one thread."""
        engines = [opened.engine for opened in self._open.values()]
        return min((engine._time_to_wait(engine._clock.now(), longest) for engine in engines), default=longest)

    def closed(self, number: int) -> None:
        """A shard of a team has ended in order."""
        self._open.pop(number)

    def _state_of_all(self) -> str:
        return "; ".join(
            f"shard {number}: {len(opened.machine.frontier.leases)} leases, {len(opened.state.queues)} wait, "
            f"next at {opened.machine.frontier.next_at}, idle {opened.engine.is_idle}, "
            f"stages {[(str(site.site), site.stage.name) for site in opened.machine.frontier.schedule][:4]}"
            for number, opened in self._open.items()
        )

    def observe(self, opened: OpenedShard, given: Input, _granted: list[FetchTask]) -> None:
        """After every input of a machine."""
        self.inputs += 1
        self.inputs_of_life += 1
        self._waits = 0
        if self.inputs > MAX_INPUTS:
            raise Broken(f"the crawl does not end: {self._state_of_all()}")
        if isinstance(given, Answered):
            for answer in given.answers:
                self.traffic.learnt(answer.outcome)
                self.evidence.applied(answer, self.world)
        opened.machine.check_invariants()
        if self._deaths and self.inputs_of_life >= self._deaths[0] and not isinstance(given, Learnt):
            self._deaths.pop(0)
            self._die(opened)
        if self.chance.random() < self.plan.events:
            self._event()
        if self._stop_at and self.inputs_of_life >= self._stop_at:
            self._stop_at = 0
            assert self.crawl is not None
            self.crawl.stop()

    def _die(self, opened: OpenedShard) -> None:
        """The process of a shard is killed; what it had logged leads to the state that it had."""
        rows = opened.rows() if self.chance.random() < _REPLAYED else None
        self._abandon(opened)
        if self._stage.shards == 1:
            self.traffic.disconnected()
        else:
            self.inputs_of_life = 0
            self.traffic.disconnected(opened.number)
        if rows is not None:
            again = self._replayed(opened)
            if self._asked.revisits_only:  # it looks for sites that wait when it is opened: that changes times, no more
                rows["memory"]["frontier"] = without_looks(rows["memory"]["frontier"], 4)
                again["memory"]["frontier"] = without_looks(again["memory"]["frontier"], 4)
                rows["meta"]["frontier"] = without_looks(rows["meta"]["frontier"], *_LOOKS)
                again["meta"]["frontier"] = without_looks(again["meta"]["frontier"], *_LOOKS)
            compare(again, rows, "after a death")
        raise Crashed

    def _abandon(self, opened: OpenedShard) -> None:
        opened.abandon()
        opened.wire.close()
        opened.shard.close = lambda: None  # type: ignore[method-assign]
        self._open.pop(opened.number)

    def _replayed(self, opened: OpenedShard) -> dict[str, Any]:
        """The state to which the log of a dead process leads, in a copy of its folder."""
        folder = self.folder.with_name("replayed")
        shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns("lock.mdb"))
        layout = Layout(folder)
        asked = replace(
            self._asked, folder=folder, wire=lambda clock: VirtualWire(self.network, cast("Any", clock), 1, 0)
        )
        state = open_state(asked, layout, opened.number)
        with closing(assembled_engine(asked, layout, opened.number, opened.count, state)) as engine:
            engine.replay()
            engine.machine.check_invariants()
            other = Process.__new__(Process)
            other.machine, other.state = cast("Any", engine.machine), state
            rows = other.rows()
        shutil.rmtree(folder)
        return rows

    # what happens meanwhile

    def _event(self) -> None:
        crawl, chance = self.crawl, self.chance
        if crawl is None or crawl.is_stopping or self._asked.revisits_only:
            return
        match chance.choice(("push", "push", "sitemap", "steer", "rate", "pause", "learnt", "learnt", "learnt")):
            case "push" if self._inbox is not None:
                self._inbox.append([Discovery(chance.choice(self.world.urls), Source.PING, self.true.at, score=1.0)])
            case "sitemap" if self._inbox is not None:
                site = chance.choice(self.world.sites)
                file = self.world.file_of(site)
                self._inbox.append([Discovery(file, Source.PING, self.true.at, purpose=Purpose.SITEMAP)])
            case "steer":
                self._steer()
            case "rate":
                self._control(replace(self.controls, rate=chance.choice((None, 0.0, 1.0, 20.0))))
            case "pause" if self._pausing is None:
                self._paused_for = 0
                self._pausing = self._control(replace(self.controls, is_paused=True))
            case "learnt":
                kind = write_learnt(Layout(self.folder).learnt, self.world, chance)
                self.evidence.learnt_kinds.add(kind)
                self.story.append(f"  learnt: {kind}")
            case _:
                pass

    def _control(self, controls: Controls) -> Future[None]:
        assert self.crawl is not None
        self.controls = controls
        self.story.append(f"  controls: {controls}")
        return self.crawl.control(controls)

    def _resume(self) -> None:
        self._pausing, self.traffic.is_paused = None, False
        self.traffic.last_at = self.true.at
        self._control(replace(self.controls, is_paused=False))

    def _steer(self) -> None:
        chance = self.chance
        patterns = ("*/events/*", "*/news/*", "*?ref=*", f"{chance.choice(self.world.sites)}/*", "*/old/*")
        pattern = chance.choice(patterns)
        before = self.controls
        match chance.choice(("exclude", "prefer", "allow")):
            case "exclude":
                self.evidence.excluded.add(pattern)
                self._excluding[pattern] = self._control(replace(before, excluded=(pattern,), preferred=(), allowed=()))
                return
            case "prefer":
                after = replace(before, excluded=(), preferred=(pattern,), allowed=())
            case _:
                self._excluding.pop(pattern, None)
                self.traffic.forbidden.pop(pattern, None)
                after = replace(before, excluded=(), preferred=(), allowed=(pattern,))
        self._control(after)


def run_meeting(seed: int, folder: Path) -> Meeting:
    """Run a seed; raises `Broken`, or what the crawl raised, where something does not hold."""
    meeting = Meeting(seed, folder)
    try:
        meeting.run()
    except Exception as error:
        error.add_note("\n".join(meeting.story))
        raise
    return meeting
