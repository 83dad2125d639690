"""The simulator tells the truth: what it says of a crawl is what the real engine does on the lab.

The web of the simulation is written down from the lab itself (`lab_in_virtual_time.web_of_world`), never from a crawl.
Seed, settings, filters and latencies are those of the real crawl, which is put together by `collection` as a program
does it, with real HTTP, the state on disk, the archive, the tables and the reader of pages. Compared is everything that
the tables have of fetches, robots.txt, retries and exclusions included.

In *lockstep* the engine's clock moves only while the engine waits, and answers arrive when their latency is over on
that clock. So no decision depends on how fast this machine is, and not only the order must be the same but also every
moment, to the microsecond that the tables keep, for any number of connections.

In *real time* the lab itself has the latency. There a fetch takes some milliseconds more, which the simulation is told
(`took`), and the engine works for some between two fetches, which it is not. With one connection, latencies that are
multiples of 0.2 s and a delay of 0.5 s, everything that is compared to decide lies a tenth of a second apart, less what
the two or three fetches between drift. When a run was held up for longer than half of that, as a metronome and the
durations show, it says nothing, and is repeated.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray
from tests.hypothesis_depth import examples
from tests.lab.crawling import EVERY_URL, by_proxy, crawl, place, rows, standing
from tests.lab.lab_in_virtual_time import Latency, Lockstep, StandingClock, WorldWeb, latency_of, web_of_world

from periplus.collection.config.settings import Config
from periplus.collection.seeds import seeds_from
from periplus.model import Event, FetchEnded, Url
from periplus.parts.dust.renames import Renames
from periplus.parts.dust.settings import DustTables
from periplus.policy.filters import Scope, screening_chain, standard_chain
from periplus.policy.ordering import RandomOrder
from periplus_lab import World
from periplus_lab.simulate.crawl import RealRules, SimulatedCrawl, Trace
from periplus_lab.simulate.generated import WebSettings, generate
from periplus_lab.simulate.network import NetworkSettings
from periplus_lab.simulate.recording import web_of_collection

Options = dict[str, object]

BUSY: Options = EVERY_URL | {"politeness.delay": 2.0, "politeness.slow_factor": 0.5}
"""With some eight sites and 0.7 s a fetch, several are ready at a time, and several rest."""
AS_ONE: Options = BUSY | {"engine.checkpoint_interval": 1e6}
"""Nothing is committed before the end: that takes real time, and decides nothing."""
SEVERAL: Options = {"politeness.pages_per_visit": 3, "politeness.max_parallel": 2}
IN_REAL_TIME: Options = AS_ONE | {
    "wire.max_transfers": 1,
    "politeness.delay": 0.5,
    "politeness.slow_factor": 0.0,
    "crawl.limit": 14,
    "crawl.random_seed": 5,
}
LATE = 0.05
"""Seconds by which nothing may be late in real time; decisions lie twice as far apart."""
ATTEMPTS = 3


class Step(NamedTuple):
    """What was asked for, what came of it, and when: seconds from the beginning."""

    url: str
    purpose: str
    attempt: int
    is_excluded: bool
    at: float
    took: float


class Diary:
    """An `EventSink` that keeps fetches in the order in which they ended."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def record(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, FetchEnded):
                task = event.outcome.task
                at = getattr(event.outcome, "started_at", event.ended_at)
                took = getattr(event.outcome, "duration", None)
                self.steps.append(Step(task.url, task.purpose.value, task.attempt, took is None, at, took or 0.0))


class Lab(NamedTuple):
    """A world, where crawls of it begin, and the web that it is for crawls with these settings."""

    world: World
    seeds: list[str]
    known: WorldWeb


@pytest.fixture(scope="module")
def lab() -> Lab:
    """A world with all that makes a crawl turn aside: see `test_the_world_has_it_all`."""
    world = World(49, 8, pages=100)
    seeds = [site.url for site in world.sites()[:3]]
    return Lab(world, seeds, written_down(world, seeds))


def written_down(world: World, seeds: list[str], latency: Latency = latency_of) -> WorldWeb:
    """The web that the lab is, for crawls with the usual scope and filters."""
    config = Config()
    screen = screening_chain(Scope(seeds_from(seeds), config.scope), config.filters)
    return web_of_world(world, seeds, screen, latency)


def simulate(lab: Lab, known: WorldWeb, options: Options) -> list[Step]:
    """The crawl in virtual time."""
    config = Config().with_options(options)
    scope = Scope(seeds_from(lab.seeds), config.scope)
    diary = Diary()
    SimulatedCrawl(
        known.web,
        config.ordered(),
        NetworkSettings(connections=config.wire.max_transfers),
        seed=config.crawl.random_seed,
        limit=config.crawl.limit or None,
        rules=RealRules(
            config.politeness,
            config.retries,
            standard_chain(scope, config.filters, learning=[partial(Renames, settings=config.some(DustTables).dust)]),
            known.robots,
        ),
        events=diary,
    ).run()
    return diary.steps


def listed_by(folder: Path) -> list[Step]:
    """What the tables of a collection say, in the order in which fetches ended."""
    told = rows(
        folder,
        """select url, purpose, attempt, outcome = 'excluded' as is_excluded,
                  epoch_us(started_at) / 1e6 as at, coalesce(duration, 0.0) as took
           from fetches""",
    )
    return [Step(**row) for row in told]


# in lockstep


CASES = [
    ("breadth_first", 4, SEVERAL),
    pytest.param("opic", 2, {"crawl.limit": 60}, marks=pytest.mark.slow),
    pytest.param("partial", 2, {"ordering.every": 20}, marks=pytest.mark.slow),
    *(
        pytest.param(*case, {}, marks=pytest.mark.slow)
        for case in (
            ("breadth_first", 1),
            ("breadth_first", 5),
            ("largest_site", 1),
            ("random", 2),
            ("opic", 1),
            ("opic", 5),
        )
    ),
]


@pytest.fixture
def lockstep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Crawls have a clock that stands still, and count every link at once.

    Links by a name that filters change are usually counted together with a commit, every second or so, or when they
    are many: that is the one thing in which a crawl lags behind its simulation.
    """
    clock = StandingClock()
    for module in ("shards", "opening"):
        monkeypatch.setattr(f"periplus.collection.{module}.SystemClock", lambda _scale=None: clock)
    monkeypatch.setattr("periplus.collection.shards.CurlWire", Lockstep)
    monkeypatch.setattr("periplus.engine.pipeline.PagePipeline.max_gaining", 1)


@pytest.mark.proof
@pytest.mark.usefixtures("lockstep")
@pytest.mark.parametrize(("name", "connections", "more"), CASES)
def test_every_fetch_of_a_simulation_is_one_of_the_crawl(
    lab: Lab, tmp_path: Path, name: str, connections: int, more: Options
) -> None:
    """In lockstep: the same fetches in the same order, each beginning and ending at the same microsecond."""
    options = AS_ONE | more | {"crawl.ordering": name, "wire.max_transfers": connections, "crawl.random_seed": 5}
    with standing(lab.world) as server:
        crawl(tmp_path, lab.seeds, by_proxy(server) | options)
    real, virtual = listed_by(tmp_path), simulate(lab, lab.known, options)
    assert len(real) > 60
    assert [step[:4] for step in real] == [step[:4] for step in virtual]
    assert [step.at for step in real] == pytest.approx([step.at for step in virtual], abs=2e-6)
    assert [step.took for step in real] == pytest.approx([step.took for step in virtual], abs=2e-6)
    if "crawl.limit" not in more:
        check_order_of_links(tmp_path)


@pytest.mark.proof
def test_the_world_has_it_all(lab: Lab) -> None:
    """What the cases above compare holds for errands, redirects, retries and exclusions: there are some of each."""
    known = lab.known
    steps = simulate(lab, known, {})
    statuses = dict(zip(known.web.names(), known.web.status.tolist(), strict=True))
    status = Counter(statuses[Url(step.url)] for step in steps if not step.is_excluded)
    assert {200, 301, 404, 503} <= set(status)
    assert max(step.attempt for step in steps) == 3
    assert sum(step.is_excluded for step in steps) > 5
    asked = Counter(step.url for step in steps if step.purpose == "robots")
    assert max(asked.values()) > 1, "no site was redirected to another for its robots.txt"


@pytest.mark.proof
def test_another_seed_or_order_is_another_crawl(lab: Lab) -> None:
    """So equality means something: every ordering has an order of its own, and chance has its say in retries."""
    known = lab.known
    names = ("breadth_first", "largest_site", "random", "opic")
    orders = [simulate(lab, known, AS_ONE | {"crawl.ordering": name, "wire.max_transfers": 1}) for name in names]
    assert len({tuple(step.url for step in steps) for steps in orders}) == len(names)
    first, again, other = (simulate(lab, known, {"crawl.random_seed": seed}) for seed in (5, 5, 6))
    assert first == again
    assert first != other


def check_order_of_links(folder: Path) -> None:
    """Within a level, what is named first is fetched first: a web made of tables must not forget that."""
    web = web_of_collection(folder)
    named: dict[str, list[str]] = {}
    for row in rows(folder, "select page, target from links"):
        named.setdefault(row["page"], []).append(row["target"])
    compared = 0
    for page, url in enumerate(web.names()):
        links = [web.url(target) for target in web.targets[web.starts[page] : web.starts[page + 1]].tolist()]
        written = list(dict.fromkeys(target for target in named.get(url, []) if target in set(links)))
        assert links[: len(written)] == written
        compared += len(written) > 1
    assert compared > 50


# in real time


def slow(host: str) -> float:
    """The latency of a host in seconds: 0.2 or 0.4."""
    return 0.2 * (1 + crc32(host.encode()) % 2)


def slow_url(url: str) -> float:
    return slow(place(url)[0])


@contextmanager
def metronome() -> Iterator[list[float]]:
    """How late somebody who sleeps was woken up while this lasted, at worst."""
    late, is_over = [0.0], Signal()

    def tick() -> None:
        while not is_over.is_set():
            begun_at = time.monotonic()
            time.sleep(0.01)
            late[0] = max(late[0], time.monotonic() - begun_at - 0.01)

    thread = Thread(target=tick)
    thread.start()
    try:
        yield late
    finally:
        is_over.set()
        thread.join()


class Attempt(NamedTuple):
    """A crawl in real time, the simulation that was told its durations, and by how much anything was late at most."""

    real: list[Step]
    virtual: list[Step]
    late: float

    @property
    def is_in_order(self) -> bool:
        """Whether both asked for the same in the same order, with the same results."""
        return [step[:3] for step in self.real] == [step[:3] for step in self.virtual]


def attempt(lab: Lab, folder: Path, options: Options) -> Attempt:
    known = written_down(lab.world, lab.seeds, slow_url)
    with standing(lab.world, latency=lambda request: slow(request.host)) as server, metronome() as late:
        crawl(folder, lab.seeds, by_proxy(server) | options)
    real = [step for step in listed_by(folder) if not step.is_excluded]
    measured = {step.url: step.took for step in real}
    took = np.array([measured.get(url, slow_url(url)) for url in known.web.names()])
    virtual = simulate(lab, WorldWeb(replace(known.web, took=took), known.robots), options)
    longest = max(step.took - slow_url(step.url) for step in real)
    return Attempt(real, [step for step in virtual if not step.is_excluded], max(late[0], longest))


def punctual(lab: Lab, folder: Path, options: Options) -> Attempt | None:
    """The first attempt during which nothing held the machine up, of some.

    While more processes want to run than there are processors, threads that were late may go unnoticed, one after the
    other: another order is no evidence then.
    """
    for number in range(ATTEMPTS):
        tried = attempt(lab, folder / f"{number}", options)
        is_busy = os.getloadavg()[0] > (os.cpu_count() or 1)
        if tried.late < LATE and (tried.is_in_order or not is_busy):
            return tried
    return None


@pytest.mark.slow
def test_in_real_time_the_order_is_that_of_the_simulation(lab: Lab, tmp_path: Path) -> None:
    """The lab waits as long as it is told, the engine really waits, and fetches begin in the order of the simulation.

    Three crawls at once: they do little but wait.
    """
    names = ("breadth_first", "largest_site", "random")
    asked = [IN_REAL_TIME | {"crawl.ordering": name} for name in names]
    for name in names:
        (tmp_path / name).mkdir()
    with ThreadPoolExecutor(len(names)) as threads:
        tried = list(threads.map(lambda name, options: punctual(lab, tmp_path / name, options), names, asked))
    found = [one for one in tried if one is not None]
    for one in found:
        assert one.is_in_order, (one.real, one.virtual)
        assert len(one.real) > 15
    if not found:
        pytest.skip("this machine is too busy to keep time")
    assert len({tuple(step.url for step in one.real) for one in found}) == len(found)


# in virtual time only


@given(seed=st.integers(0, 2**32), connections=st.integers(1, 9), delay=st.floats(0.0, 20.0))
@settings(max_examples=examples(2))
def test_a_simulation_happens_the_same_way_twice(seed: int, connections: int, delay: float) -> None:
    """Its trace depends on nothing but what was given: the same again, and another for another seed of the order."""
    web = generate(WebSettings(pages=300, sites=12, seed=seed % 97))

    def trace(order: int) -> Trace:
        network = NetworkSettings(connections=connections, delay=delay)
        return SimulatedCrawl(web, RandomOrder(order), network, seed=seed).run()

    first, again, other = trace(seed), trace(seed), trace(seed + 1)
    for one, two in zip(columns(first), columns(again), strict=True):
        assert np.array_equal(one, two)
    assert first.ended_at == again.ended_at
    assert not np.array_equal(first.page, other.page)
    assert np.array_equal(np.sort(first.page), np.sort(other.page))


def columns(trace: Trace) -> tuple[NDArray[Any], ...]:
    return trace.page, trace.started_at, trace.took, trace.is_ok
