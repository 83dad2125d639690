"""The difference between two readings: exact within memory's bound, honest beyond it, and the same however sliced."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.engine.sitemaps.difference import (
    ALL,
    NOTHING,
    Compared,
    Comparison,
    EntryChange,
    FileMemory,
    is_appended,
    prints_of,
    times_at,
    unpack,
)
from periplus.engine.sitemaps.settings import DifferenceSettings
from periplus.model import CollectionDamaged, ConfigError, Url

NOW = 1_800_000_000
READINGS = st.dictionaries(st.integers(0, 60), st.integers(0, 5), max_size=40)
"""Entries by number, with a time or, for 0, none."""
HASHES = np.random.default_rng(7).integers(0, 2**64, 100, np.uint64, endpoint=False)


def read(
    entries: Mapping[int, int],
    before: FileMemory = NOTHING,
    limit: int = 50_000,
    slices: int = 7,
    *,
    is_whole: bool = True,
) -> tuple[Compared, dict[int, EntryChange]]:
    """Compare a reading, a slice at a time: the difference, and what was said of each entry."""
    comparison = Comparison(before, DifferenceSettings(limit))
    said: dict[int, EntryChange] = {}
    rows = list(entries.items())
    for start in range(0, len(rows), slices):
        numbers = [number for number, _ in rows[start : start + slices]]
        times = np.array([NOW + time if time else 0 for _, time in rows[start : start + slices]], np.uint32)
        codes = comparison.compare(HASHES[numbers], times)
        said |= dict(zip(numbers, map(EntryChange, codes.tolist()), strict=True))
    return comparison.end(is_whole=is_whole), said


def expected(before: Mapping[int, int], after: Mapping[int, int]) -> dict[int, EntryChange]:
    changes = {}
    for number, time in after.items():
        if number not in before:
            changes[number] = EntryChange.ADDED
        else:
            is_moved = before[number] < time
            changes[number] = EntryChange.MOVED if is_moved else EntryChange.SAME
    return changes


@given(READINGS, READINGS, st.integers(1, 50))
def test_difference_is_that_of_two_dictionaries(before: dict[int, int], after: dict[int, int], slices: int) -> None:
    """Added, removed and moved are those of the sets, whatever the slices and whatever was packed in between."""
    first, said = read(before)
    assert set(said.values()) <= {EntryChange.ADDED}
    assert (first.added, len(first.memory)) == (len(before), len(before))
    second, said = read(after, unpack(first.memory.pack()), slices=slices)
    truth = expected(before, after)
    assert said == truth
    values = list(truth.values())
    assert (second.added, second.moved, second.same) == tuple(
        values.count(change) for change in (EntryChange.ADDED, EntryChange.MOVED, EntryChange.SAME)
    )
    assert set(second.removed.tolist()) == {int(HASHES[number]) for number in before.keys() - after.keys()}
    again, _ = read(after, second.memory)
    assert not again.is_changed


@given(READINGS, READINGS, st.integers(1, 30), st.integers(1, 9))
def test_beyond_its_bound_memory_says_unknown_and_never_wrong(
    before: dict[int, int], after: dict[int, int], limit: int, slices: int
) -> None:
    """A file with more entries than may be remembered: what is said is true, the rest is unknown, and no more is kept
    than was allowed."""
    first, _ = read(before, limit=limit, slices=slices)
    assert len(first.memory) == min(limit, len(before))
    assert (first.memory.bound < ALL) == (len(before) > limit)
    second, said = read(after, first.memory, limit=limit, slices=slices)
    truth = expected(before, after)
    assert all(change in (truth[number], EntryChange.UNKNOWN) for number, change in said.items())
    assert (EntryChange.UNKNOWN in said.values()) <= (len(before) > limit)
    assert set(second.removed.tolist()) <= {int(HASHES[number]) for number in before.keys() - after.keys()}
    assert len(second.memory) <= limit


@given(READINGS, READINGS, st.integers(1, 9), st.integers(1, 60))
def test_file_that_broke_off_removes_nothing(
    before: dict[int, int], after: dict[int, int], slices: int, limit: int
) -> None:
    """Half a file says nothing of its other half: that stays in memory, as far as there is room."""
    first, _ = read(before, limit=limit)
    second, _ = read(after, first.memory, limit, slices, is_whole=False)
    assert len(second.removed) == 0
    kept, bound = set(second.memory.prints.tolist()), second.memory.bound
    assert len(kept) <= limit
    for number in before | after:
        print_ = int(HASHES[number])
        if print_ < bound:
            assert print_ in kept


def test_entry_listed_twice_counts_once_with_its_latest_time() -> None:
    """Repetitions in a file are not additions."""
    comparison = Comparison()
    comparison.compare(np.array([5, 5, 3], np.uint64), np.array([10, 30, 20], np.uint32))
    comparison.compare(np.array([5], np.uint64), np.array([20], np.uint32))
    compared = comparison.end()
    assert compared.added == 2
    assert dict(zip(compared.memory.prints.tolist(), compared.memory.times.tolist(), strict=True)) == {3: 20, 5: 30}


def test_memory_of_a_full_file_is_small() -> None:
    """50,000 entries: 600 KB and a head."""
    count = 50_000
    comparison = Comparison()
    comparison.compare(np.random.default_rng(1).permutation(count).astype(np.uint64), np.full(count, 7, np.uint32))
    assert len(comparison.end().memory.pack()) == 12 * count + 20


def test_endless_file_takes_constant_memory() -> None:
    """A million entries in a file: never more than twice what may be remembered is held."""
    random, comparison = np.random.default_rng(2), Comparison(NOTHING, DifferenceSettings(1000))
    for _ in range(200):
        comparison.compare(random.integers(0, 2**64, 5000, np.uint64, endpoint=False), np.ones(5000, np.uint32))
        assert comparison._held <= 2000
    assert len(comparison.end().memory) == 1000


def test_times_are_whole_seconds_and_plausible() -> None:
    """No time, a time before 1970, one in the far future, one that is not a number: none of them breaks the array."""
    seconds = np.array([np.nan, -5.0, NOW + 0.9, NOW + 86_400, NOW + 86_401, np.inf])
    times, bad = times_at(seconds, NOW)
    assert times.tolist() == [0, 1, NOW, NOW + 86_400, 0, 0]
    assert bad == 2


def test_fingerprints_are_those_of_the_house() -> None:
    """The same 64 bits by which URLs are known elsewhere."""
    assert prints_of([]).tolist() == []
    assert prints_of([Url("http://a.test/")]).dtype == np.uint64


def dated(times: dict[int, int], before: FileMemory = NOTHING) -> Compared:
    return read(times, before)[0]


def test_times_of_generation_are_recognised() -> None:
    """One common lastmod that advances with every reading says when the file was made, not when pages changed."""
    first = dated(dict.fromkeys(range(40), 1000))
    assert first.memory.is_common
    assert not first.is_generated
    second = dated(dict.fromkeys(range(40), 9000), first.memory)
    assert second.is_generated
    assert second.moved == 40
    assert not second.is_changed


def test_honest_times_are_not_taken_for_generation() -> None:
    """Few entries, many different times, or a common time that stands still: all of these can be honest."""
    few = dated(dict.fromkeys(range(19), 1000))
    assert not dated(dict.fromkeys(range(19), 9000), few.memory).is_generated
    spread = dated({number: 1000 * (number + 1) for number in range(40)})
    assert not spread.memory.is_common
    still = dated(dict.fromkeys(range(40), 1000))
    assert not dated(dict.fromkeys(range(40), 1000), still.memory).is_generated


def test_log_structure_is_recognised() -> None:
    """An index with a file for each day grows at its end; one whose old files are rewritten does not."""
    day = 86_400
    index = {number: number * day + 1 for number in range(10)}
    before = dated(index).memory
    grown = dated(index | {10: 10 * day + 1, 9: 9 * day + 500}, before).memory
    rewritten = dated(index | {10: 10 * day + 1, 2: 10 * day}, before).memory
    old = dated(index | {50: 3 * day}, before).memory
    assert is_appended(before, grown)
    assert not is_appended(before, rewritten)
    assert not is_appended(before, old)
    assert not is_appended(before, before)
    assert not is_appended(NOTHING, before)


@each_case("kept", [b"\x01", b"\x02" + bytes(19), b"\x01" + bytes(20), b"\x01\0\0\0\x02" + bytes(39)])
def test_damaged_memory_is_said_to_be(kept: bytes) -> None:
    """Bytes that were never packed are a damaged collection, not a crash or a wrong answer."""
    with pytest.raises(CollectionDamaged) as caught:
        unpack(kept)
    assert caught.value.hint
    assert len(unpack(b"")) == 0


def test_memory_must_hold_something() -> None:
    """A setting that makes no sense is refused when it is read."""
    with pytest.raises(ConfigError):
        DifferenceSettings(0)


def test_first_date_is_news() -> None:
    """One later than the last reading reports a change; an older one is passed on, since our copy may be older."""
    before = Comparison()
    before.compare(HASHES[:3], np.zeros(3, np.uint32))
    after = Comparison(before.end().memory, read_at=float(NOW))
    codes = after.compare(HASHES[:3], np.array([NOW + 60, NOW - 10 * 86_400, 0], np.uint32))
    assert codes.tolist() == [EntryChange.MOVED, EntryChange.DATED, EntryChange.SAME]
    found = after.end()
    assert (found.moved, found.dated, found.same, len(found.removed)) == (1, 1, 1, 0)
    assert found.is_changed
