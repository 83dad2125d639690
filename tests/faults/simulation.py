"""A crawl that lives several lives on a faulty disk, in virtual time, made from a seed.

Everything is what ships, but for the network, the clock and the disk: engine, machine, log, state in LMDB, WARC files
and tables. Each life ends at an operation on the disk that its seed chose: killed, without power, with an error. The
next one opens what is left. After every recovery and at the end:

- nothing is lost: every answer that was durable has its row and its record, and every page of the web is fetched;
- nothing is there twice: no row, and no request for what was durable;
- every request was polite, in true time;
- applying the log twice to two copies of what was left gives the same state; and, where a process was killed between
  two steps, the state that it had.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow.parquet as pq
from msgspec import Struct
from tests.faults.disk import Crashed, Disk, Fault
from tests.faults.web import Broken, Clock, FaultyWire, FaultyWorld, Key, Mishaps, Servers, TrueTime, key_of
from tests.properties.replayed_world import Collection, ObservedMachine
from tests.small_index import small_index

from periplus.collection.config.settings import Config
from periplus.collection.shards import ShardMaker, open_machine
from periplus.engine.clock import RateLimiter, TokenBucket
from periplus.engine.engine import Engine, ShardFiles
from periplus.engine.frontier import AddressClaims
from periplus.engine.inputs import Answered, Input
from periplus.engine.log import InputLog
from periplus.engine.machine_settings import ShardMeta
from periplus.engine.revisit.evidence import DAY
from periplus.engine.router import OutgoingMessages
from periplus.engine.sharding.crawl import PushedUrls
from periplus.model import Discovery, FetchTask, InvariantError, PeriplusError, Source, Stored, Url, UrlRecord
from periplus.store import Archive, DiskState, MessageInbox, Replica
from periplus.store.layout import Layout
from periplus.store.tables import Spooled, Tables
from periplus.store.tables.reader import read_spooled
from periplus.store.warc import read_record

MAX_STEPS: Final = 4_000
"""Steps after which a life that has not ended never will: one takes some hundred."""
WORLDS: Final = 12
"""Different webs: what is reachable in each is found out once, by a run without faults."""
JUMPS: Final = (0.0, 0.0, 0.0, 3.0, -3.0, 3600.0, -3600.0, 40 * 86_400.0, -40 * 86_400.0)
"""Seconds by which the machine's clock is wrong, or was set, when a process starts."""
REBOOT: Final = 60.0
"""Seconds until a machine that lost power runs again."""
MAP_SIZE: Final = 1 << 28


class Plan(Struct, frozen=True):
    """What a seed has chosen for a whole run."""

    seed: int
    world: int
    lives: int
    config: Config
    mishaps: Mishaps
    slots: int
    stalls: float
    pushes: bool


def plan_of(seed: int, *, is_faulty: bool = True) -> Plan:
    """The plan of a run."""
    chance = Random(f"plan {seed}")
    options: dict[str, object] = {
        "scope.kind": "any",
        "sitemaps.follow": True,
        "retries.backoff": 2.0,
        "retries.max_site_failures": 10_000,
        "politeness.delay": chance.choice((0.5, 2.0)),
        "politeness.ip_delay": chance.choice((-1.0, 1.0)),
        "engine.checkpoint_interval": chance.choice((0.5, 4.0, 60.0)),
        "engine.checkpoint_outcomes": chance.choice((4, 20, 2000)),
        "tables.rows_per_group": chance.choice((3, 50)),
        "tables.rows_per_file": chance.choice((8, 100)),
        "archive.max_file_size": chance.choice((3_000, 20_000, 500_000_000)),
        "crawl.ordering": chance.choice(("breadth_first", "breadth_first", "opic", "random")),
    }
    return Plan(
        seed,
        seed % WORLDS,
        chance.choice((1, 2, 3, 5)) if is_faulty else 0,
        Config().with_options(options),
        Mishaps(chance.choice((0.0, 0.05)), chance.choice((0.0, 0.0, 0.05))) if is_faulty else Mishaps(),
        chance.choice((1, 3, 8)),
        chance.choice((0.0, 0.02)) if is_faulty else 0.0,
        is_faulty and chance.random() < 0.3,
    )


class Process(Collection):
    """One process that crawls a shard. `applied` are the answers that it knows, `durable` those that are committed."""

    def __init__(self, run: Simulation, folder: Path, clock: Clock, number: int = 0, count: int = 1) -> None:
        self.run_, self.number, self.count = run, number, count
        self.folder, self.config, self.world = folder, run.plan.config, run.world
        self.seeds, self.visits_a_day = run.seeds, run.visits_a_day
        self.process_clock = clock
        self.wire = FaultyWire(run.servers, clock, run.chance, run.plan.mishaps, run.plan.slots, number)  # type: ignore[assignment]
        self.applied: set[Key] = set()
        self.durable: set[Key] = set()
        self._open()

    def _open(self) -> None:
        layout = Layout(self.folder)
        asked = ShardMaker(self.config, self.folder, self.seeds, self.visits_a_day)
        self.state = state = self._open_state(layout)
        try:
            self.engine = self._assembled(asked, layout, state)
        except BaseException:
            state.close()
            if hasattr(self, "tables"):
                self.tables.close()
            raise

    def _open_state(self, layout: Layout) -> DiskState:
        home, replica = layout.shard(self.number), self.run_.replica_of(layout.shard(self.number))
        folder = home if replica is None else self.run_.node
        duplicates = self.config.duplicates
        return DiskState(folder, shard=self.number, duplicates=duplicates, replica=replica, map_size=MAP_SIZE)

    def _assembled(self, asked: ShardMaker, layout: Layout, state: DiskState) -> Engine:
        meta, number, count = state.meta(ShardMeta) or ShardMeta(), self.number, self.count
        log = InputLog(layout.log(number), layout.warc, b"header")
        mark, folder = meta.tables, layout.spool(number)
        self.tables = tables = Tables(layout.tables, folder, self.config.tables, shard=number, mark=mark)
        end = log.repair(meta.commits, meta.archive)
        archive = Archive(
            layout.warc, self.config.archive, shard=number, software="", fields={}, end=end, payloads=state.payloads
        )
        machine = open_machine(asked, layout, number, count, state)
        machine.__class__ = ObservedMachine
        assert isinstance(machine, ObservedMachine)
        self.machine = machine
        machine.after = self._observe
        now = self.process_clock.now()
        is_watch, rate = bool(self.visits_a_day), machine.revisits.visits_per_day / DAY
        return Engine(
            self.config.engine,
            machine=machine,
            wire=self.wire,
            files=ShardFiles(archive, tables, state, log),
            clock=self.process_clock,
            limiter=TokenBucket(rate, now) if is_watch else RateLimiter(0.0, now),
            outbound=OutgoingMessages(number, count, state.exchange),
            claims=AddressClaims(count) if count > 1 else None,
        )

    def _observe(self, given: Input, granted: list[FetchTask]) -> None:
        if isinstance(given, Answered):
            for answer in given.answers:
                self.run_.servers.learnt(answer.outcome)
                key = key_of(answer.outcome)
                if key is not None and answer.is_request:
                    self.applied.add(key)

    def rows_of(self, table: str) -> list[dict[str, Any]]:
        """The rows of this shard that are committed; to be asked after a commit."""
        layout = Layout(self.folder)
        files = sorted((layout.tables / table).glob(f"{self.number:02d}-*.parquet"))
        spooled = [Spooled(self.number, layout.spool(self.number), self.engine.committed_rows)]
        rows: list[dict[str, Any]] = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
        return [*rows, *read_spooled(table, spooled).to_pylist()]

    def answers(self) -> Counter[Key]:
        """The answers in the tables, all of whose records are in the archive."""
        found: Counter[Key] = Counter()
        for row in self.rows_of("fetches"):
            if row["started_at"] is None or row["ip"] is None or row["reason"] in ("lost", "cancelled"):
                continue
            found[Url(row["url"]), round(row["started_at"].timestamp() * 1e6)] += 1
            if row["warc_file"] is not None:
                self._check_record(Layout(self.folder).warc, row)
        return found

    def follow_commits(self, disk: Disk) -> None:
        """Note what is durable at every commit."""
        commit = self.state.commit

        def committing() -> None:
            commit()
            if not disk.lies:
                self.durable = set(self.applied)

        self.state.commit = committing  # type: ignore[method-assign]

    @staticmethod
    def _check_record(warc: Path, row: dict[str, Any]) -> None:
        stored = Stored(row["warc_file"], row["warc_offset"], row["warc_length"], row["digest"] or "")
        record = read_record(warc, stored, max_block=1 << 20)
        if record.url != row["url"]:
            raise Broken(f"the record of {row['url']} at {stored} is of {record.url}")

    def abandon(self) -> None:
        """Let go of every file of a process that is gone, without the last words of one that ends in order."""
        environment = self.state.environment
        environment._is_broken = True
        environment._abort()
        environment._lmdb.close()
        environment._unlock()
        engine = getattr(self, "engine", None)
        if engine is not None:
            engine._log.close()
            if engine._archive._open is not None:
                engine._archive._open.file.close()
        if hasattr(self, "tables"):
            self.tables.close()


class Simulation:
    """A run: life after life in folders of their own, and what must hold. `visits_a_day` is the budget of a watch."""

    visits_a_day = 0.0
    jumps: tuple[float, ...] = JUMPS

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self._folder = plan, folder
        self.chance = Random(f"run {plan.seed}")
        self.world = FaultyWorld(plan.world)
        self.seeds = tuple(self.world.urls[::2])
        self.servers = Servers(self.world, plan.config.politeness)
        self.true = TrueTime()
        self.required: dict[int, set[Key]] = {}
        self.pushed: set[Url] = set()
        self.unsure: set[Url] = set()
        self.story: list[str] = []
        self.disk: Disk
        self.ends: dict[Url, str] = {}
        self._finished: dict[int, set[Url]] = {}
        self._lives = 0
        self.node = folder / "node"

    def replica_of(self, home: Path) -> Replica | None:
        """The copy of a state that lies on the disk of a machine (`node`); by default it lies in the collection."""

    def run(self) -> dict[Url, str]:
        """Live all lives, the last one without faults; how every URL ended."""
        folder = self._folder / "life"
        self.ends = {}
        for _ in range(self.plan.lives):
            folder = self._live(folder, self._fault())
        self._live(folder, Fault(), is_last=True)
        return self.ends

    def _fault(self) -> Fault:
        chance = self.chance
        kind = chance.choice(("kill", "kill", "torn", "power", "power", "power", "eio", "enospc", "short", "step"))
        at = chance.choice((chance.randint(1, 40), chance.randint(1, 150), chance.randint(40, 600)))
        at = at if kind != "step" else 1 + at // 5
        lies = chance.randint(1, at) if kind == "power" and chance.random() < 0.3 else None
        return Fault(kind, at, kind == "enospc" and chance.random() < 0.5, lies)

    def _live(self, folder: Path, fault: Fault, *, is_last: bool = False) -> Path:
        """One process: the folder that it leaves."""
        self._lives += 1
        clock = Clock(self.true, self.chance.choice(self.jumps) if self.plan.lives else 0.0)
        self.story.append(f"life {self._lives}: {fault}, clock {clock.offset:+.0f} s, true time {self.true.at:.2f}")
        self.disk = disk = Disk(folder, self.chance)
        disk.fault = fault
        process: list[Process] = []
        with disk.installed(), small_index() if self.plan.seed % 2 else nullcontext():
            try:
                self._crawl(folder, clock, process, None if fault.kind != "step" else fault.at)
                self.story.append(f"  ended in order after {disk.operations} operations")
            except Crashed:
                self.story.append(f"  crashed at operation {disk.operations}: {disk.did[-1]}")
            except (PeriplusError, OSError) as error:  # the command line reports both
                if not fault.kind or isinstance(error, InvariantError):
                    raise
                self.story.append(f"  ended at operation {disk.operations} with an error: {error}")
        return folder if is_last else self._next_folder(folder, process)

    def _next_folder(self, folder: Path, processes: list[Process]) -> Path:
        """What the next process finds."""
        disk = self.disk
        is_power = disk.fault.kind == "power" or disk.fault.lies_from is not None
        if disk.image is None:
            disk.fault.kind = self.chance.choice(("kill", "power"))
            is_power = disk.fault.kind == "power" or disk.fault.lies_from is not None
            with suppress(Crashed):
                disk.crash()
        assert disk.image is not None
        for process in processes:
            self.must_keep(process, process.durable if is_power else process.applied)
            process.abandon()
        if disk.fault.lies_from is not None:
            self.unsure |= self.pushed  # they have left the inbox for a state of which the disk kept nothing
        self.servers.disconnected(self.true.at, is_all_known=not is_power)
        self.true.at += REBOOT if is_power else self.chance.choice((0.0, 0.1, 60.0))
        shutil.rmtree(folder)
        self._check_replays(disk.image)
        return disk.image.rename(folder)

    def must_keep(self, process: Process, answers: set[Key]) -> None:
        """A process is gone whose successor must know these."""
        self.required[process.number] = self.required.get(process.number, set()) | answers

    def _crawl(self, folder: Path, clock: Clock, processes: list[Process], steps: int | None) -> None:
        process = Process(self, folder, clock)
        processes.append(process)
        process.follow_commits(self.disk)
        engine = process.engine
        engine.recover()
        self.check_recovered(process)
        inbox = MessageInbox(Layout(folder).inbox)
        pushed = PushedUrls(inbox, lambda found: _done(lambda: engine.discover(found)))
        try:
            engine.discover([Discovery(seed, Source.SEED, clock.now()) for seed in self.seeds])
            self._steps(process, inbox, pushed, steps)
            engine.stop(5.0)
            self.check_end(process)
        finally:
            pushed.close()
            if self.disk.image is None:
                engine.close()

    def _steps(self, process: Process, inbox: MessageInbox, pushed: PushedUrls, steps: int | None) -> None:
        engine, taken = process.engine, 0
        while not (engine.is_idle and pushed.is_empty):
            taken += 1
            if taken > MAX_STEPS:
                raise Broken("the crawl does not end")
            if taken == steps:
                self._kill_between_steps(process)
            if self.plan.pushes and self.chance.random() < 0.05:
                self._push(inbox)
            read_now(pushed)
            self.disk.keep(*_inbox_files(Layout(process.folder)))
            if self.chance.random() < self.plan.stalls:
                self.true.at += self.chance.choice((2.0, 400.0, 86_400.0))
            engine.step(60.0)
            if taken % 16 == 0:
                process.machine.check_invariants()

    def _push(self, inbox: MessageInbox) -> None:
        """A site pushes a URL, which then is durable."""
        url = self.chance.choice(self.world.urls)
        inbox.append([Discovery(url, Source.PING, self.true.at, score=1.0)])
        self.pushed.add(url)

    def _kill_between_steps(self, process: Process) -> None:
        """Kill the process here; the next one must come to the state that it has."""
        self.disk.fault.kind = "kill"
        try:
            self.disk.crash()
        except Crashed:
            rows = process.rows()
            again = self._replayed(self.disk.image)
            _compare(again, rows, "after a kill between two steps")
            raise

    # what must hold

    def _check_replays(self, image: Path) -> None:
        """Two processes that apply what was logged come to the same state."""
        if self.chance.random() < 0.3:
            _compare(self._replayed(image), self._replayed(image), "after the second replay")

    def _replayed(self, image: Path | None) -> dict[str, Any]:
        assert image is not None
        copy = self._folder / "replayed"
        shutil.copytree(image, copy)
        chance, self.chance = self.chance, Random(0)
        try:
            process = Process(self, copy, Clock(self.true, 0.0))
            process.machine.after = None
            process.engine.replay()
            process.machine.check_invariants()
            rows = process.rows()
            process.abandon()
        finally:
            self.chance = chance
            shutil.rmtree(copy)
        return rows

    def check_recovered(self, process: Process) -> None:
        """After a recovery: what was durable is there, once."""
        process.machine.check_invariants()
        process.state.check_invariants()
        rows = process.answers()
        self._check_rows(rows)
        if lost := self.required.get(process.number, set()) - set(rows):
            raise Broken(f"{len(lost)} durable answers are lost, such as {min(lost)}")
        self.required[process.number] = set(rows)
        process.applied |= set(rows)
        process.durable = set(rows)
        self._finished[process.number] = {record.url for record in self._records(process) if _is_fetched(record)}
        self.servers.finished = set().union(*self._finished.values())

    def _check_rows(self, rows: Counter[Key]) -> None:
        for key, count in rows.items():
            if count > self.servers.delivered[key]:
                raise Broken(f"{key} has {count} rows, and was answered {self.servers.delivered[key]} times")

    def _records(self, process: Process) -> list[UrlRecord]:
        return [record for site in self.world.sites for record in process.state.records.of_site(site)]

    def check_end(self, process: Process) -> None:
        """After an orderly end: everything is in the tables and in the archive, once."""
        rows = process.answers()
        self._check_rows(rows)
        if missing := process.applied - set(rows):
            raise Broken(f"{len(missing)} answers have no row, such as {min(missing)}")
        ends = {record.url: record.reason or "ok" for record in self._records(process)}
        self.ends |= {url: end for url, end in ends.items() if "#probe" not in url}
        pages = Counter(row["url"] for row in process.rows_of("pages"))
        answers = Counter(url for url, _ in self.servers.delivered.elements())
        for url, count in pages.items():
            if count > answers[url]:
                raise Broken(f"{url} has {count} rows of pages, and {answers[url]} answers")


def _is_fetched(record: UrlRecord) -> bool:
    return bool(record.visits) and not record.reason


def _done(discover: Callable[[], None]) -> Future[None]:
    """What has happened when this returns."""
    discover()
    future: Future[None] = Future()
    future.set_result(None)
    return future


def read_now(pushed: PushedUrls) -> None:
    """Look into the inbox now, not four times a second of real time."""
    pushed._look_at = 0.0
    pushed.read()


def _inbox_files(layout: Layout) -> list[Path]:
    return [layout.inbox.with_name(layout.inbox.name + end) for end in ("", "-wal", "-shm")]


def _compare(found: dict[str, Any], expected: dict[str, Any], where: str) -> None:
    for name, rows in expected.items():
        if found[name] != rows:
            other = found[name]
            if isinstance(rows, dict):
                keys = [key for key in {**rows, **other} if other.get(key) != rows.get(key)]
                raise Broken(f"{where}, {name} differs at {keys[:3]}: {other.get(keys[0])} and {rows.get(keys[0])}")
            raise Broken(f"{where}, {name} differs")


_ENDS: dict[int, dict[Url, str]] = {}


def ends_of(world: int, folder: Path) -> dict[Url, str]:
    """How every URL of a world ends without faults."""
    if world not in _ENDS:
        plan = plan_of(world, is_faulty=False)
        _ENDS[world] = Simulation(plan, folder).run()
    return _ENDS[world]


def _is_same(end: str | None, expected: str | None) -> bool:
    """Whether a URL ended as it should. The last of several failures may be an answer that came too late."""
    return end == expected or (end == "lost" and expected not in (None, "ok"))


def check_ends(simulation: Simulation, world: int, folder: Path) -> None:
    """Every URL ended as it does without faults, and what was pushed is known."""
    expected, ends = ends_of(world, folder), simulation.ends
    found = {url for url in ends if url in expected or not simulation.pushed}
    if different := {url for url in {*expected, *found} if not _is_same(ends.get(url), expected.get(url))}:
        url = min(different)
        raise Broken(f"{len(different)} URLs ended otherwise: {url} is {ends.get(url)}, not {expected.get(url)}")
    if forgotten := simulation.pushed - simulation.unsure - set(ends):
        raise Broken(f"{min(forgotten)} was pushed and is not known")


def run_seed(seed: int, folder: Path) -> Simulation:
    """Run a seed; raises `Broken`, or what the crawl raised, where something does not hold."""
    simulation = Simulation(plan_of(seed), folder)
    try:
        simulation.run()
        check_ends(simulation, seed % WORLDS, folder / "expected")
    except Exception as error:
        error.add_note("\n".join(simulation.story))
        raise
    return simulation
