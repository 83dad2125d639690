"""Queues whose first rows are held in memory give what is on disk, in whatever order they are used."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from tests.hypothesis_depth import examples

from periplus.model import Lane, Queued, Site, Url
from periplus.store import DiskState, MemoryQueues
from periplus.store.state import queues as queues_module

SITES = [Site("a.test"), Site("b.test")]
LANES = [Lane.DISCOVERY, Lane.SITEMAPS]


class Push(NamedTuple):
    """Entries of one line, by their levels."""

    site: Site
    lane: Lane
    levels: list[int]


class Look(NamedTuple):
    """Ask for the first rows of a line."""

    site: Site
    lane: Lane
    limit: int


class Remove(NamedTuple):
    """Take the row at this place of a line out."""

    site: Site
    lane: Lane
    place: int


class Commit(NamedTuple):
    """Make it durable."""


class Release(NamedTuple):
    """Postpone an entry, and let it return."""

    site: Site
    level: int


Operation = Push | Look | Remove | Commit | Release

lines = {"site": st.sampled_from([SITES[0], *SITES]), "lane": st.sampled_from([LANES[0], *LANES])}
operations = st.lists(
    st.builds(Push, **lines, levels=st.lists(st.integers(0, 3), max_size=8))
    | st.builds(Look, **lines, limit=st.integers(0, 9))
    | st.builds(Look, **lines, limit=st.integers(1, 3))
    | st.builds(Remove, **lines, place=st.integers(0, 9))
    | st.builds(Commit)
    | st.builds(Release, site=st.sampled_from(SITES), level=st.integers(0, 3)),
    max_size=40,
)


@pytest.fixture(autouse=True)
def short_fronts() -> Iterator[None]:
    """Fronts of few rows, so that a handful of operations passes every bound."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(queues_module, "MAX_FRONTS", 2)
        patched.setattr(queues_module, "LONGEST_FRONT", 5)
        patched.setattr(queues_module, "READ_AHEAD", 2)
        yield


class Queues:
    """The same operations on queues on disk and in memory."""

    def __init__(self, folder: Path) -> None:
        self.state = DiskState(folder)
        self.both = (self.state.queues, MemoryQueues())
        self._pushed = 0

    def do(self, operation: Operation) -> None:
        """One operation, on both."""
        match operation:
            case Push(site, lane, levels):
                self._push([self._entry(site, lane, level) for level in levels])
            case Look(site, lane, limit):
                self.compare(site, lane, limit)
            case Remove(site, lane, place):
                for queues in self.both:
                    queues.remove(queues.heads(site, lane, place + 1)[place:])
            case Commit():
                self.state.commit()
            case Release(site, level):
                entry = self._entry(site, LANES[0], level)
                for queues in self.both:
                    queues.postpone([(1.0, entry)])
                    queues.release(2.0, 1)

    def compare(self, site: Site, lane: Lane, limit: int) -> None:
        """The first rows of a line are the same."""
        disk, memory = ([ticket.entry for ticket in queues.heads(site, lane, limit)] for queues in self.both)
        assert disk == memory

    def _entry(self, site: Site, lane: Lane, level: int) -> Queued:
        self._pushed += 1
        return Queued(Url(f"https://{site}/{self._pushed}"), site, lane, level)

    def _push(self, entries: list[Queued]) -> None:
        for queues in self.both:
            queues.push(entries)


@settings(max_examples=examples(12))
@given(operations)
def test_queues_with_fronts_are_those_in_memory(done: list[Operation]) -> None:
    """The rows asked for are the first, and what is held is what is on disk."""
    with tempfile.TemporaryDirectory() as folder:
        queues = Queues(Path(folder))
        for operation in done:
            queues.do(operation)
            queues.state.check_invariants()
        for site in SITES:
            for lane in LANES:
                queues.compare(site, lane, 1000)
        queues.state.close()
