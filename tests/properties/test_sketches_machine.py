"""Clusters of near-duplicates: the state on disk is the state in memory, as of the last commit after a crash."""

from __future__ import annotations

import shutil
import tempfile
from copy import deepcopy
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.hypothesis_depth import examples

from periplus.content import sketch_of
from periplus.model import Sketched, Url
from periplus.policy.duplicates import BANDS
from periplus.store import DiskState, MemoryState
from periplus.store.state.sketches import DiskSketches

BODIES = [
    sketch_of(" ".join([*(f"w{topic}-{place}" for place in range(200)), *(f"v{topic}-{version}" for _ in "12")]))
    for topic in range(5)
    for version in range(4)
] + [b"", sketch_of("hardly a text")]
URLS = [Url(f"https://{host}.test/{number}") for host in "ab" for number in range(6)]

pages = st.builds(
    Sketched,
    st.sampled_from(URLS),
    st.sampled_from(BODIES),
    st.booleans(),
    st.sampled_from([0.0, 1.0]),
    st.none() | st.sampled_from(URLS),
)


class Clusters(RuleBasedStateMachine):
    """The same calls on both; bands are written to disk after every few clusters."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="periplus-sketches-"))
        self.open()
        self.memory = MemoryState()
        self.kept = deepcopy(self.memory)

    def open(self) -> None:
        self.disk = DiskState(self.folder)
        self.disk.sketches = DiskSketches(self.disk.environment, self.disk.names, max_waiting=2 * BANDS)

    @rule(batch=st.lists(pages, max_size=5))
    def add(self, batch: list[Sketched]) -> None:
        assert self.disk.sketches.add(batch) == self.memory.sketches.add(batch)

    @rule(urls=st.lists(st.sampled_from(URLS), max_size=3))
    def remove(self, urls: list[Url]) -> None:
        self.disk.sketches.remove(urls)
        self.memory.sketches.remove(urls)

    @rule(urls=st.lists(st.sampled_from(URLS), max_size=3))
    def mark_listed(self, urls: list[Url]) -> None:
        self.disk.sketches.mark_listed(urls)
        self.memory.sketches.mark_listed(urls)

    @rule()
    def commit(self) -> None:
        self.disk.commit()
        self.kept = deepcopy(self.memory)

    @rule()
    def crash(self) -> None:
        self.disk.close()
        self.open()
        self.memory = deepcopy(self.kept)

    @invariant()
    def same(self) -> None:
        if not hasattr(self, "disk"):
            return
        placed = self.disk.sketches.get(URLS)
        assert placed == self.memory.sketches.get(URLS)
        sizes = {each.cluster: each.size for each in placed if each is not None}
        assert sum(sizes.values()) == sum(each is not None for each in placed)
        assert len(self.disk.sketches) == len(self.memory.sketches) == len(sizes)
        firsts = [each.cluster for each in placed if each is not None and not each.is_copy]
        assert len(firsts) == len(set(firsts))

    def teardown(self) -> None:
        if hasattr(self, "disk"):
            self.disk.close()
            shutil.rmtree(self.folder)


Clusters.TestCase.settings = settings(max_examples=examples(5), stateful_step_count=30, deadline=None)
TestClusters = Clusters.TestCase
