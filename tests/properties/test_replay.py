"""A crash after any input, and inside a commit, costs nothing: replay gives the state of the run that was not killed.

The run is photographed after every input, or some of them: the folder as a crash would leave it. From each photograph a
new process opens the last commit and applies the log; every row of its state then equals that of the run at that input,
as far as it had come. From some of them the crawl goes on to its end; there all rows of the tables are equal, too.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.properties.replayed_world import IDENTIFIERS, TABLES, Collection, Photograph, RichWorld
from tests.small_index import small_index

from periplus.collection.config.settings import Config
from periplus.engine.inputs import Granted, Input, Steered
from periplus.model import FetchTask, Lane, Url
from periplus.store.state import moving

BASE: dict[str, object] = {
    "politeness.delay": 0.5,
    "retries.backoff": 2.0,
    "engine.checkpoint_interval": 4.0,
    "scope.kind": "any",
    "sitemaps.follow": True,
}
CASES: dict[str, tuple[dict[str, object], float]] = {
    "one_slot": ({"politeness.delay": 0.02, "politeness.slow_factor": 0.0, "politeness.ip_delay": 0.0}, 0.0),
    "watch_one_slot": ({"refresh.shortest": 2.0, "politeness.slow_factor": 0.0}, 400_000.0),
    "breadth_first": ({}, 0.0),
    "few_sites": ({"frontier.max_sites": 2, "politeness.max_parallel": 2, "politeness.pages_per_visit": 2}, 0.0),
    "opic": ({"crawl.ordering": "opic"}, 0.0),
    "batch": ({"crawl.ordering": "batch"}, 0.0),
    "pagerank": ({"crawl.ordering": "partial"}, 0.0),
    "random": ({"crawl.ordering": "random"}, 0.0),
    "watch": ({"refresh.shortest": 2.0}, 40_000.0),
    "focused": ({"crawl.ordering": "focused", "topic.words": "one, listed", "topic.explore": 0.2}, 0.0),
}
LONGEST, MAX_PHOTOGRAPHS = 3000.0, 160
"""Virtual seconds, and inputs that do something, after which a run ends, if it has not."""

SLOW = {*CASES} - {"breadth_first"}
"""Cases that differ from others in a policy, in the number of slots or by revisits."""


def test_no_table_is_left_out() -> None:
    """Every table of a state is compared, row by row or by what its rows mean."""
    assert {*TABLES, "marks", "recent-links", "standing-links"} == set(moving.TABLES)


@pytest.fixture(autouse=True)
def moved_records() -> Iterator[None]:
    """Records leave the tree of new URLs in these small crawls, too."""
    with small_index():
        yield


def config_of(options: dict[str, object]) -> Config:
    return Config().with_options(BASE | options)


class Moment(NamedTuple):
    """An input, what was granted by it, and what a crash would leave after it."""

    given: Input
    granted: list[FetchTask]
    photograph: Photograph | None
    rows: dict[str, Any]


class Witness:
    """Photographs a run after every `stride` inputs, and on both sides of the moment a commit becomes durable.

    With a long stride, only some of the commits are photographed.
    """

    def __init__(self, collection: Collection, folder: Path, stride: int, most: int) -> None:
        self.stride = stride
        self.most = most
        self.collection = collection
        self.folder = folder
        self.seen: list[Moment] = []
        self.photographs = 0
        self.commits_made = 0
        self.commits: list[tuple[Photograph, dict[str, Any]]] = []
        self._commit = collection.state.commit
        collection.machine.after = self.look
        collection.state.commit = self.commit  # type: ignore[method-assign]

    def look(self, given: Input, granted: list[FetchTask]) -> None:
        is_idle = isinstance(given, Granted) and not granted and len(self.seen) % 20  # as a watch mostly is
        if is_idle or len(self.seen) % self.stride:
            self.seen.append(Moment(given, granted, None, {}))
            return
        self.photographs += 1
        photograph = self.collection.photograph(self.folder / f"{len(self.seen):05d}")
        self.seen.append(Moment(given, granted, photograph, self.collection.rows()))
        if self.photographs * self.stride >= self.most:
            self.collection.clock.at += LONGEST

    def commit(self) -> None:
        self.commits_made += 1
        if self.commits_made % max(1, self.stride // 2):
            self._commit()
            return
        rows = self.collection.rows()
        self.commits.append((self.collection.photograph(self.folder / f"before-{len(self.commits)}"), rows))
        self._commit()
        self.commits.append((self.collection.photograph(self.folder / f"after-{len(self.commits)}"), rows))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CASES]
)
@pytest.mark.parametrize(
    ("seed", "stride"), [(3, 7), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((3, 3), (8, 1)))]
)
def test_a_crash_after_any_input_costs_nothing(
    tmp_path: Path, name: str, seed: int, stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every photograph is replayed; some of them then get the rest of the inputs."""
    monkeypatch.setattr("periplus.store.warc.archive.identifiers", IDENTIFIERS)
    options, visits = CASES[name]
    world = RichWorld(seed, 6, 5)
    seeds = tuple(world.urls[::2])
    slots = 1 if "one_slot" in name else 3
    run = Collection(tmp_path / "run", config_of(options), world, seeds, visits_a_day=visits, slots=slots)
    run.begin()
    if visits:
        run.run_until_revisits()
    is_short = visits and stride > 3  # a watch has many inputs that do nothing, and no end of its own
    most = 3 * MAX_PHOTOGRAPHS // 8 if is_short else MAX_PHOTOGRAPHS
    witness = Witness(run, tmp_path / "photographs", stride, most)
    ends = run.clock.at + LONGEST
    run.run(run.clock.at + 2.0)
    run.engine.steer(("*/listed/3",), ("*2", "*4"), ())
    run.run(run.clock.at + 5.0)
    run.engine.steer((), ("*1",), ("*2",))
    run.run(ends)
    assert len(witness.seen) > 60
    assert sum(isinstance(moment.given, Steered) for moment in witness.seen) == 2
    run.machine.after = None
    run.state.commit = witness._commit  # type: ignore[method-assign]
    last = run.finish()
    assert len(witness.commits) > 3
    revisited = any(task.lane is Lane.REFRESH for moment in witness.seen for task in moment.granted)
    assert revisited == bool(visits)
    for number, (photograph, rows) in enumerate(witness.commits):
        again = run.reopened(photograph)
        differ(again.rows(), rows, f"in commit {number // 2}, {'after' if number % 2 else 'before'} it was durable")
        again.engine.close()
    photographed = [number for number, moment in enumerate(witness.seen) if moment.photograph is not None]
    for number in photographed:
        moment = witness.seen[number]
        assert moment.photograph is not None
        again = run.reopened(moment.photograph)
        differ(again.rows(), moment.rows, f"after input {number}, {type(moment.given).__name__}")
        if number in photographed[2 :: max(25 // stride, 8)]:
            go_on(again, witness.seen[number + 1 :])
            differ(again.finish(), last, f"at the end, after a crash at input {number}")
        else:
            again.engine.close()
        shutil.rmtree(moment.photograph.folder)


def reading(run: Collection) -> list[Url]:
    """The sitemaps that are being read."""
    sitemaps = run.machine.sitemaps
    return [file.outcome.task.url for files in sitemaps._unread.values() for file in files]


def test_a_commit_holds_files_that_were_not_read_to_their_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sitemap has arrived, and the next tick would read it."""
    monkeypatch.setattr("periplus.store.warc.archive.identifiers", IDENTIFIERS)
    world = RichWorld(3, 6, 5)
    run = Collection(tmp_path / "run", config_of({}), world, tuple(world.urls[::2]))
    run.begin()
    with monkeypatch.context() as patch:
        patch.setattr(run.machine, "wants_tick", lambda _now: False)
        while not reading(run):
            run.engine.step(60.0)
    run.engine.checkpoint()
    again = run.reopened(run.photograph(tmp_path / "photograph"))
    assert reading(again) == reading(run)
    differ(again.rows(), run.rows(), "after a commit")
    again.engine.close()
    run.engine.close()


def go_on(collection: Collection, moments: Sequence[Moment]) -> None:
    """Give a run the inputs of another: it grants the same requests."""
    expected = iter(moments)

    def check(given: Input, granted: list[FetchTask]) -> None:
        moment = next(expected)
        assert (given, granted) == (moment.given, moment.granted)

    collection.machine.after = check
    for moment in moments:
        collection.feed(moment.given)
    collection.machine.after = None


def differ(found: dict[str, Any], expected: dict[str, Any], where: str) -> None:
    for name, rows in expected.items():
        other = found[name]
        if other == rows:
            continue
        if isinstance(rows, dict):
            for key in {**rows, **other}:
                assert other.get(key) == rows.get(key), f"{where}: {name} {key!r}"
        assert other == rows, f"{where}: {name}"
