"""Whatever is committed, wherever it is interrupted, whatever is lost of the machine: the copy has all commits.

A crash is a signal in front of one operation on the disk, of the state, of its copy or of what opens it; then the local
folder is there or not, as is what a reader had kept. What is found is the state of the last commit that returned, or of
the one that was under way.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec import Struct
from tests.hypothesis_depth import examples

from periplus.store import DiskState, Replica, bring_home

TABLES = ("t", "u")
DISK = frozenset(
    {"write", "fsync", "commit", "open", "link", "unlink", "rename", "replace", "copy", "mkdir", "rmdir", "truncate"}
)

Rows = dict[tuple[str, bytes], bytes]


class Life(Struct, frozen=True):
    """Some commits, each of writes and removals; in front of which operation it ends; and what is lost then."""

    commits: list[list[tuple[str, bytes, bytes | None]]]
    strike: int
    loses_node: bool
    comes_home: bool


keys = st.sampled_from([b"a", b"b", b"c", b"d", b"e"])
writes = st.tuples(st.sampled_from(TABLES), keys, st.none() | st.binary(max_size=300))
lives = st.builds(
    Life,
    st.lists(st.lists(writes, min_size=1, max_size=6), max_size=6),
    st.integers(0, 40) | st.integers(0, 200),
    st.booleans(),
    st.sampled_from([False, False, True]),
)


class Killed(BaseException):
    """Not caught by the code under test."""


@contextmanager
def struck(strike: int) -> Iterator[None]:
    """Ends in front of its `strike`-th operation on the disk."""
    left = strike

    def count(frame: FrameType, event: str, what: Any) -> None:
        nonlocal left
        if event == "c_call" and what.__name__ in DISK and is_ours(frame):
            left -= 1
            if left < 0:
                sys.setprofile(None)
                raise Killed

    sys.setprofile(count)
    try:
        with suppress(Killed):
            yield
    finally:
        sys.setprofile(None)


def is_ours(frame: FrameType | None) -> bool:
    """Whether our stores are at work, directly or by the standard library."""
    for _ in range(4):
        if frame is None or (frame.f_globals.get("__name__") or "").startswith("periplus.store"):
            return frame is not None
        frame = frame.f_back
    return False


def rows_of(state: DiskState) -> Rows:
    return {(name, key): value for name in TABLES for key, value in state.environment.table(name).walk()}


def after(rows: Rows, commit: list[tuple[str, bytes, bytes | None]]) -> Rows:
    changed: dict[tuple[str, bytes], bytes | None] = {**rows}
    for table, key, value in commit:
        changed[table, key] = value
    return {place: value for place, value in changed.items() if value is not None}


def live(home: Path, node: Path, life: Life, rows: Rows) -> tuple[Rows, Rows]:
    """What was committed when it ended, and what was under way."""
    under_way = rows
    state = None
    with struck(life.strike):
        try:
            if life.comes_home:
                bring_home(home)
            state = DiskState(node, replica=Replica(home, smallest_fold=300))
            for commit in life.commits:
                for name, key, value in commit:
                    table = state.environment.table(name)
                    table.delete(key) if value is None else table.put(key, value)
                under_way = after(rows, commit)
                state.commit()
                rows = under_way
        finally:
            if state is not None:
                sys.setprofile(None)
                state.close()
    return rows, under_way


@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(each=st.lists(lives, min_size=1, max_size=4))
def test_the_copy_has_every_commit(each: list[Life], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any lives; for who reads, who opens it on the same machine or on another, and who brings it home."""
    with tempfile.TemporaryDirectory(dir=tmp_path) as name:
        folder = Path(name)
        monkeypatch.setattr(tempfile, "tempdir", name)
        home = folder / "home"
        home.mkdir()
        rows: Rows = {}
        node = 0
        for life in each:
            committed, under_way = live(home, folder / f"node-{node}", life, rows)
            node += life.loses_node
            rows = found_by_a_holder(home, folder / f"node-{node}")
            assert rows in (committed, under_way)
            assert found_by_a_reader(home) == rows
        bring_home(home)
        state = DiskState(home)
        assert rows_of(state) == rows
        state.close()


def found_by_a_holder(home: Path, node: Path) -> Rows:
    state = DiskState(node, replica=Replica(home))
    try:
        return rows_of(state)
    finally:
        state.close()


def found_by_a_reader(home: Path) -> Rows:
    state = DiskState.read_only(home)
    try:
        found: Rows = {}
        for name in TABLES:
            with suppress(Exception):
                found |= {(name, key): value for key, value in state.environment.table(name).walk()}
        return found
    finally:
        state.close()
