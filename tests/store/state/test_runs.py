"""Sorted runs: what is merged stays in order, and both searches find the same, whatever fingerprints are like."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from periplus.store.state import runs
from periplus.store.state.runs import Entries, Run, RunWriter, entries_of, merged

FINGERPRINTS = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(0, 40),  # far from where a hash of this rank would be
    st.integers(2**64 - 40, 2**64 - 1),
    st.integers(2**63, 2**63 + 40),
)
KEYS = st.tuples(st.integers(0, 3), FINGERPRINTS)


def key_of(site: int, fingerprint: int) -> bytes:
    return site.to_bytes(4, "big") + fingerprint.to_bytes(8, "big")


def rows_of(keys: list[tuple[int, int]]) -> list[tuple[bytes, bytes]]:
    """Each key once, with a place of its site."""
    return [
        (key_of(site, fingerprint), site.to_bytes(4, "big") + number.to_bytes(4, "big"))
        for number, (site, fingerprint) in enumerate(dict.fromkeys(keys))
    ]


def run_of(folder: Path, entries: Entries) -> Run:
    path = folder / "test.run"
    with path.open("wb") as file:
        writer = RunWriter(file, len(entries[0]))
        writer.write(*entries)
        digest = writer.finish()
    run = Run.open(path, len(entries[0]), digest)
    assert run is not None
    assert run.is_intact(digest)
    return run


@pytest.fixture(scope="module", params=["compiled", "python"])
def find(request: pytest.FixtureRequest) -> Callable[[Run, list[bytes]], dict[bytes, bytes]]:
    """A way to search."""
    if request.param == "compiled" and runs._find is None:
        pytest.skip("the search is not compiled")

    def search(run: Run, keys: list[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        (run.find if request.param == "compiled" else run.find_in_python)(keys, found)
        return found

    return search


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@given(kept=st.lists(KEYS, min_size=1, max_size=300), others=st.lists(KEYS, max_size=50))
def test_what_is_there_is_found_and_nothing_else(
    folder: Path,
    find: Callable[[Run, list[bytes]], dict[bytes, bytes]],
    kept: list[tuple[int, int]],
    others: list[tuple[int, int]],
) -> None:
    rows = dict(rows_of(kept))
    run = run_of(folder, entries_of(list(rows.items())))
    assert find(run, list(rows)) == rows
    asked = [key_of(*each) for each in others]
    assert find(run, asked) == {key: rows[key] for key in asked if key in rows}


@given(first=st.lists(KEYS, min_size=1, max_size=200), second=st.lists(KEYS, min_size=1, max_size=200))
def test_a_merge_has_all_entries_in_order(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    one, other = entries_of(rows_of(first)), entries_of(rows_of(second))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "STEP", 7)
        pieces = list(merged(one, other))
    found = list(zip(*(np.concatenate(column).tolist() for column in zip(*pieces, strict=True)), strict=True))
    assert found == sorted(
        [*zip(*map(np.ndarray.tolist, one), strict=True), *zip(*map(np.ndarray.tolist, other), strict=True)]
    )


def test_a_large_run(folder: Path, find: Callable[[Run, list[bytes]], dict[bytes, bytes]]) -> None:
    random = np.random.default_rng(1)
    fingerprints = np.unique(random.integers(0, 2**64, 200_000, np.uint64))
    places = np.arange(len(fingerprints), dtype=np.uint64) | np.uint64(5 << 32)
    run = run_of(folder, (fingerprints, places))
    keys = [key_of(5, int(each)) for each in fingerprints[::97]]
    found = find(run, keys)
    assert [int.from_bytes(found[key], "big") for key in keys] == places[::97].tolist()
    assert find(run, [key_of(6, int(each)) for each in fingerprints[::97]]) == {}


def test_wrong_keys_are_refused(folder: Path) -> None:
    if runs._find is None:
        pytest.skip("the search is not compiled")
    run = run_of(folder, entries_of(rows_of([(1, 1)])))
    for keys in ([b"short"], [1]):
        with pytest.raises((ValueError, TypeError)):
            run.find(keys, {})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="as many"):
        runs._find(run.fingerprints, run.places[:0], [], {})


def test_another_file_is_not_opened(folder: Path) -> None:
    run_of(folder, entries_of(rows_of([(1, 1), (1, 2)])))
    assert Run.open(folder / "test.run", 3, b"12345678") is None
    assert Run.open(folder / "missing.run", 2, b"12345678") is None
