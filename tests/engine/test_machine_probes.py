"""Probes: fetches for comparison, which leave no trace in the collection but a row of `fetches`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from periplus.collection.config.settings import Config
from periplus.collection.seeds import seeds_from
from periplus.collection.shards import ShardMaker, open_machine
from periplus.engine.inputs import Answered, Discovered, Emit, Fetch, FetchAnswer, Granted, Learnt
from periplus.engine.machine import Machine
from periplus.engine.machine_settings import MachineSettings, UrlPolicy
from periplus.engine.part import Part, TakeLearnt
from periplus.model import (
    Discovery,
    Event,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    Lane,
    Located,
    PageRead,
    ParsedPage,
    Probe,
    Purpose,
    Source,
    Url,
)
from periplus.policy.filters import Chain, Scope, ScopeSettings
from periplus.policy.ordering import ordering
from periplus.store import LearntFiles, MemoryState
from periplus.store.layout import Layout

SEED = Url("http://a.test/")
HTML = b"<title>Home</title><p>Some words to read, and <a href=/next>a link</a>."


@pytest.fixture
def maker(tmp_path: Path) -> ShardMaker:
    options = {"politeness.ip_delay": 0.0, "politeness.delay": 0.0}
    return ShardMaker(Config().with_options(options), tmp_path, tuple(seeds_from([SEED])))


def opened(maker: ShardMaker, state: MemoryState) -> Machine:
    return open_machine(maker, Layout(maker.folder), 0, 1, state)


def answer(task: FetchTask, now: float) -> FetchOutcome:
    if task.ip is None:
        return Located(task, "192.0.2.1", now + 1000)
    body = b"" if task.purpose is Purpose.ROBOTS else HTML
    return Fetched(task, 200, (("Content-Type", "text/html"),), body, now, 0.1, task.ip)


def run(machine: Machine, now: float, steps: int = 12) -> tuple[list[FetchTask], list[Event]]:
    """Answer whatever is asked."""
    tasks, events = [], []
    for step in range(steps):
        at = now + step
        for effect in machine.apply(Granted(9, at)):
            if isinstance(effect, Fetch):
                tasks.append(effect.task)
                for other in machine.apply(Answered((FetchAnswer(answer(effect.task, at)),), at)):
                    events += other.events if isinstance(other, Emit) else []
    return tasks, events


def test_a_probe_is_fetched_and_only_its_judge_sees_the_page(maker: ShardMaker) -> None:
    state = MemoryState()
    machine = opened(maker, state)
    machine.apply(Discovered((Discovery(SEED, Source.SEED, 10.0),), 10.0))
    run(machine, 10.0)
    pages = machine.stats.pages
    seen: list[tuple[FetchOutcome, ParsedPage | None]] = []
    machine._probes["missing"] = lambda outcome, page, _now: seen.append((outcome, page))
    url = Url("http://a.test/no-such-page")
    machine.frontier.queue_probes([Probe(url, "missing"), Probe(SEED, "missing")], 50.0)
    machine.frontier.queue_probes([Probe(url, "missing")], 50.0)
    tasks, events = run(machine, 50.0)
    assert {(task.url, task.purpose, task.lane, task.probe) for task in tasks} == {
        (url, Purpose.PROBE, Lane.PROBES, "missing"),
        (SEED, Purpose.PROBE, Lane.PROBES, "missing"),
    }
    assert [page.title for _, page in seen if page is not None] == ["Home", "Home"]
    assert machine.stats.pages == pages
    assert not any(isinstance(event, PageRead) for event in events)
    assert sum(isinstance(event, FetchEnded) for event in events) == 2
    assert state.records.get([url]) == [None]
    machine.frontier.queue_probes([Probe(url, "missing")], 90.0)  # it is over: it may be repeated
    assert len(run(machine, 90.0)[0]) == 1
    machine.check_invariants()


def test_a_probe_survives_a_restart(maker: ShardMaker) -> None:
    state = MemoryState()
    machine = opened(maker, state)
    machine.apply(Discovered((Discovery(SEED, Source.SEED, 10.0),), 10.0))
    run(machine, 10.0)
    machine.frontier.queue_probes([Probe(SEED, "missing")], 50.0)
    state.put_meta(machine.flush())
    again = opened(maker, state)
    tasks, _ = run(again, 51.0)
    assert [task.probe for task in tasks] == ["missing"]


class Pupil(Part):
    """A part that takes what a job has learnt."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []

    def learnt(self) -> Mapping[str, TakeLearnt]:
        """Lessons."""
        return {"lessons": lambda content, _now: self.taken.append(content)}


def with_part(state: MemoryState, files: LearntFiles, part: Part) -> Machine:
    """A machine with one part."""
    return Machine(
        MachineSettings(),
        state,
        UrlPolicy(ordering("breadth_first"), Scope([], ScopeSettings()), lambda _recall: Chain([]), Chain([])),
        parts=[lambda _desk: [part]],
        load_learnt=files.read,
    )


def test_what_a_job_learnt_is_taken_over_and_kept(maker: ShardMaker) -> None:
    """A machine that is opened again has the generation that the last one had, not the newest."""
    files = LearntFiles(Layout(maker.folder).learnt)
    assert files.newer_than({}) == {}
    assert [files.write("lessons", b"one"), files.write("lessons", b"two")] == [1, 2]
    assert files.newer_than({"lessons": 1}) == {"lessons": 2}
    state = MemoryState()
    pupil = Pupil()
    machine = with_part(state, files, pupil)
    machine.apply(Learnt("lessons", 1, 5.0))
    state.put_meta(machine.flush())
    again = with_part(state, files, pupil)
    assert pupil.taken == [b"one", b"one"]
    assert again.learnt == {"lessons": 1}


def test_old_generations_are_removed(tmp_path: Path) -> None:
    files = LearntFiles(tmp_path)
    for number in range(1, 20):
        assert files.write("dust", str(number).encode()) == number
    assert files.read("dust", 1) is None
    assert files.read("dust", 12) == b"12"
    assert len(list(tmp_path.iterdir())) == 8
