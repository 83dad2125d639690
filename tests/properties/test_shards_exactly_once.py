"""Shards that are killed at any moment, between any messages: every page is fetched and reported once, and it ends.

Everything is real but processes and the network: shards with their stores, logs and routers; the coordinator with its
pipes. Hypothesis decides which shard does something next, and which is killed. A killed shard loses what was not
committed and the messages it had not read; its log and its archive remain.

The robots.txt of most hosts redirects over hosts of other shards; each host is only asked by its own shard.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any, cast

import pyarrow.dataset
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.hypothesis_depth import examples

from periplus.collection.config.settings import Config
from periplus.engine.clock import RateLimiter
from periplus.engine.engine import Engine, ShardFiles
from periplus.engine.frontier import AddressClaims, PolitenessSettings
from periplus.engine.log import InputLog
from periplus.engine.machine import Machine
from periplus.engine.machine_settings import MachineSettings, ShardMeta, UrlPolicy
from periplus.engine.router import OutgoingMessages, owner_of
from periplus.engine.settings import EngineSettings
from periplus.engine.shard import Shard
from periplus.engine.sharding.processes import ProcessTeam
from periplus.engine.sharding.worker import ShardWorker
from periplus.model import Discovery, Fetched, FetchOutcome, FetchTask, Located, Purpose, Redirected, Site, Source, Url
from periplus.parts.dust.renames import Renames
from periplus.parts.dust.settings import DustTables
from periplus.policy.filters import Scope, screening_chain, standard_chain
from periplus.policy.ordering import ordering
from periplus.store import Archive, DiskState
from periplus.store.tables import Tables
from periplus.store.warc import WarcSettings
from periplus.urls import site_of

MEMORY = Path("/dev/shm")
SEEDS = (Url("http://s0.lab.test/"), Url("http://s1.lab.test/"))
NEW_HOME = Url("http://new-home.example/")
MAX_ROUNDS = 400


class Web:
    """Random pages that link to each other over hosts; one seed has moved to a domain with hosts of its own."""

    def __init__(self, seed: int) -> None:
        chance = Random(seed)
        old = [Url(f"http://s{number % 5}.lab.test/{number}") for number in range(12)]
        new = [Url(f"http://{host}.new-home.example/{number}") for number, host in enumerate("abcde")]
        self.links: dict[Url, tuple[Url, ...]] = {}
        for group, first in ((old, SEEDS[0]), (new, NEW_HOME)):
            for url in (first, *group):
                self.links[url] = tuple(chance.sample(group, chance.randint(1, 3)))
        self.links[NEW_HOME] = tuple(new)
        hosts = sorted({site_of(url) for url in self.links})
        self.robots = {host: chance.choices(hosts, k=chance.choice((0, 1, 2, 5))) for host in hosts}

    def reachable(self) -> set[Url]:
        found: set[Url] = set()
        ahead = [SEEDS[0], NEW_HOME]
        while ahead:
            url = ahead.pop()
            if url not in found and not self.is_forbidden(url):
                found.add(url)
                ahead += self.links[url]
        return found

    def is_forbidden(self, url: Url) -> bool:
        """Whether the rules of its host, which are at another, forbid a page."""
        return bool(self.robots[site_of(url)]) and "/9" in url

    def answer(self, task: FetchTask, now: float) -> FetchOutcome:
        if task.ip is None:
            return Located(task, "192.0.2.1", now + 1e6)
        if task.purpose is Purpose.ROBOTS:
            return self._robots(task, now)
        if task.url == SEEDS[1]:
            return Redirected(task, 301, NEW_HOME, (), now, 0.0, task.ip)
        body = "".join(f'<a href="{link}">to {link}</a>' for link in self.links[task.url])
        html = f"<html><body>{task.url}{body}</body></html>".encode()
        return Fetched(task, 200, (("Content-Type", "text/html"),), html, now, 0.0, task.ip)

    def _robots(self, task: FetchTask, now: float) -> FetchOutcome:
        """The next redirect on the way to the rules of a host, or those rules, which allow its pages only."""
        ahead = self.robots[task.site][task.redirects :]
        if ahead:
            return Redirected(task, 302, Url(f"http://{ahead[0]}/rules.txt"), (), now, 0.0, task.ip)
        rules = b"User-agent: *\nDisallow: /9\n" if self.robots[task.site] else b""
        return Fetched(task, 200, (), rules, now, 0.0, task.ip)


class Wire:
    """The port, answered by a `Web`: one task at a time, so that others are under way when a shard is killed."""

    def __init__(self, web: Web, clock: Clock, asked: Counter[Url], owns: Callable[[Site], bool]) -> None:
        self._web, self._clock, self._asked, self._owns = web, clock, asked, owns
        self._tasks: list[FetchTask] = []

    @property
    def under_way(self) -> int:
        return len(self._tasks)

    @property
    def free_slots(self) -> int:
        return 4 - len(self._tasks)

    def request_bytes(self, task: FetchTask) -> bytes:
        return b"GET / HTTP/1.1\r\n\r\n"

    def start(self, task: FetchTask) -> None:
        assert self._owns(site_of(task.url)), f"{task.url} is asked for by a shard that does not have its site"
        self._tasks.append(task)

    def finished(self, timeout: float) -> list[FetchOutcome]:
        done, self._tasks = self._tasks[:1], self._tasks[1:]
        self._asked.update(task.url for task in done if task.purpose is Purpose.PAGE)
        return [self._web.answer(task, self._clock.at) for task in done]

    def cancel_all(self) -> None:
        self._tasks.clear()

    def wake(self) -> None: ...

    def close(self) -> None: ...


class Clock:
    """Time goes on whenever it is asked for."""

    speed = 1.0

    def __init__(self) -> None:
        self.at = 1_000_000.0

    def now(self) -> float:
        self.at += 0.001
        return self.at


class Life:
    """A shard and its end of the pipe: what a worker process does, one step at a time."""

    def __init__(self, shard: Shard, seeds: Sequence[Discovery], connection: Connection) -> None:
        self.shard, self.connection = shard, connection
        self.worker = ShardWorker(shard, seeds, connection.send)
        self.is_over = False

    def receive(self) -> None:
        if self.connection.poll(0):
            self.worker.handle(self.connection.recv())

    def die(self) -> None:
        if not self.is_over:
            self.is_over = True
            self.shard.close()
            self.connection.close()

    def post(self) -> None:
        self.worker.post_output()
        self.worker.post_status()


class NoProcess:
    """In place of a process: the shard lives in this one."""

    def join(self, timeout: float | None = None) -> None: ...

    def is_alive(self) -> bool:
        return False


class Simulated(ProcessTeam):
    """The coordinator, with shards in this process."""

    def __init__(self, world: Shards, workers: int, limit: int | None) -> None:
        super().__init__(cast("Any", None), workers, limit)
        self._world = world

    def _spawn(self, number: int) -> tuple[Connection, BaseProcess]:
        here, there = Pipe()
        self._world.lives[number] = Life(self._world.opened(number), self._seeds[number], there)
        return here, cast("BaseProcess", NoProcess())


class Shards(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="periplus-shards-", dir=MEMORY if MEMORY.is_dir() else None))
        self.lives: dict[int, Life] = {}
        self.clock = Clock()
        self.asked: Counter[Url] = Counter()
        self.limit: int | None = None

    @initialize(
        seed=st.integers(0, 50),
        workers=st.integers(2, 3),
        limit=st.none() | st.integers(1, 20),
        ip_delay=st.sampled_from([0.0, 0.05]),
    )
    def begin(self, seed: int, workers: int, limit: int | None, ip_delay: float) -> None:
        self.web = Web(seed)
        self.ip_delay = ip_delay
        self.workers, self.limit = workers, limit
        self.start()

    def start(self) -> None:
        self.team = Simulated(self, self.workers, self.limit)
        self.team.start([Discovery(url, Source.SEED, self.clock.at) for url in SEEDS])

    def opened(self, number: int) -> Shard:
        """As `collection` opens one, with another wire."""
        config = Config()
        folder = self.folder / str(number)
        state = DiskState(folder / "state", shard=number)
        meta = state.meta(ShardMeta) or ShardMeta()
        log = InputLog(folder / "log", folder / "warc")
        scope = Scope(SEEDS, config.scope)
        machine = Machine(
            MachineSettings(
                shard=number,
                shards=self.workers,
                politeness=PolitenessSettings(delay=0.0, slow_factor=0.0, ip_delay=self.ip_delay),
            ),
            state,
            UrlPolicy(
                ordering("breadth_first"),
                scope,
                lambda recall: standard_chain(
                    scope, config.filters, recall, learning=[partial(Renames, settings=config.some(DustTables).dust)]
                ),
                screening_chain(scope, config.filters),
            ),
        )
        engine = Engine(
            EngineSettings(checkpoint_interval=0.5, checkpoint_outcomes=5),
            machine=machine,
            wire=Wire(self.web, self.clock, self.asked, lambda site: owner_of(site, self.workers) == number),
            files=ShardFiles(
                Archive(
                    folder / "warc",
                    WarcSettings(),
                    shard=number,
                    software="",
                    fields={},
                    end=log.repair(meta.commits, meta.archive),
                    payloads=state.payloads,
                ),
                Tables(self.folder / "tables", folder / "spool", shard=number, mark=meta.tables),
                state,
                log,
            ),
            clock=self.clock,
            limiter=RateLimiter(0.0, 0.0),
            outbound=OutgoingMessages(number, self.workers, state.exchange),
            claims=AddressClaims(self.workers),
        )
        engine.recover()
        machine.check_invariants()
        return Shard(number, engine)

    # what happens next

    def living(self, number: int) -> list[Life]:
        """This shard, unless it was killed."""
        life = self.lives[number % self.workers]
        return [] if life.is_over else [life]

    @rule(number=st.integers(0, 2), turns=st.integers(1, 12))
    def work(self, number: int, turns: int) -> None:
        for life in self.living(number):
            for _ in range(turns):
                life.shard.step(0.0)

    @rule(number=st.integers(0, 2), messages=st.integers(1, 5))
    def receive(self, number: int, messages: int) -> None:
        for life in self.living(number):
            for _ in range(messages):
                life.receive()

    @rule(number=st.integers(0, 2))
    def post(self, number: int) -> None:
        for life in self.living(number):
            life.post()

    @rule(seconds=st.sampled_from([0.1, 1.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.clock.at += seconds

    @rule()
    def coordinate(self) -> None:
        self.team.poll(0.0)

    @rule()
    def go_on(self) -> None:
        """Every shard does a little, so that much has happened before one is killed."""
        self.round()

    @rule(number=st.integers(0, 2))
    def die(self, number: int) -> None:
        """Nothing more is committed or sent. Earlier messages reach the coordinator, which then sees the end."""
        for life in self.living(number):
            life.die()
        for state in self.team._coordinator._shards:
            state.starts = 0

    @rule()
    def all_die(self) -> None:
        """The coordinator as well; the same command is run again."""
        for life in self.lives.values():
            life.die()
        self.team.close()
        self.start()

    # what holds

    @invariant()
    def it_does_not_end_too_soon(self) -> None:
        if self.lives and self.team.is_finished:
            assert len(self.pages) == self.expected

    @invariant()
    def nothing_is_asked_for_twice_and_no_more_than_allowed(self) -> None:
        assert max(self.asked.values(), default=1) == 1
        assert self.limit is None or len(self.pages) <= self.limit

    @property
    def pages(self) -> set[Url]:
        return set(self.asked) - {SEEDS[1]}

    @property
    def expected(self) -> int:
        reachable = len(self.web.reachable())
        return reachable if self.limit is None else min(self.limit, reachable)

    def round(self) -> None:
        for number in range(self.workers):
            for life in self.living(number):
                while life.connection.poll(0):
                    life.receive()
                life.shard.step(0.0)
                life.post()
        self.clock.at += 0.2
        self.team.poll(0.0)

    def teardown(self) -> None:
        try:
            if self.lives:
                self.run_to_the_end()
        finally:
            for life in self.lives.values():
                life.die()
            if self.lives:
                self.team.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def run_to_the_end(self) -> None:
        """Without further kills it ends, and every discovery is in the tables once."""
        for _ in range(MAX_ROUNDS):
            if self.team.is_finished and not any(life.is_over for life in self.lives.values()):
                break
            self.round()
        assert self.team.is_finished
        assert len(self.pages) == self.expected
        for life in self.lives.values():
            life.shard.stop(0.0)
        told = pyarrow.dataset.dataset(self.folder / "tables" / "discoveries", format="parquet").to_table().to_pylist()
        news = Counter(row["url"] for row in told if row["is_new"])
        assert max(news.values()) == 1
        fetched = {Url(url) for url in news if not self.web.is_forbidden(Url(url))}
        assert self.limit is not None or fetched == {*self.web.reachable(), SEEDS[1]}


Shards.TestCase.settings = settings(
    max_examples=examples(2), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
test_shards = Shards.TestCase
