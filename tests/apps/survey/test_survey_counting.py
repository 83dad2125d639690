"""Counting for surveys: exact where it can be, bounded where it must be, and honest about the difference."""

from __future__ import annotations

import math
import statistics
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from periplus.apps.survey import Distribution, NameCounts

FILES = st.lists(st.dictionaries(st.sampled_from("abcdefghijkl"), st.integers(1, 9), max_size=6), max_size=60)


@given(FILES)
def test_names_are_counted_by_files_and_occurrences(files: list[dict[str, int]]) -> None:
    """A name counts once for each file that has it, and as often as it occurs; the commonest come first."""
    counts = NameCounts()
    for file in files:
        counts.add(tuple(file.items()))
    in_files = Counter(name for file in files for name in file)
    occurrences = sum((Counter(file) for file in files), Counter[str]())
    expected = {(name, in_files[name], occurrences[name]) for name in in_files}
    assert set(counts.by_files()) == set(counts.by_occurrences()) == expected
    assert [-row[1] for row in counts.by_files()] == sorted(-row[1] for row in counts.by_files())
    assert [-row[2] for row in counts.by_occurrences()] == sorted(-row[2] for row in counts.by_occurrences())
    assert counts.occurrences == occurrences.total()
    assert counts.files == sum(bool(file) for file in files)
    assert counts.error == counts.folded == 0


@given(FILES, st.integers(1, 8))
def test_a_bounded_count_is_never_too_large_and_says_how_much_too_small(files: list[dict[str, int]], most: int) -> None:
    """However many names there are, no more are held, and each count of files lies within the error that is told."""
    counts = NameCounts(most)
    for file in files:
        counts.add(tuple(file.items()))
        assert len(counts) <= most
    in_files = Counter(name for file in files for name in file)
    kept = {name: number for name, number, _ in counts.by_files()}
    for name, number in in_files.items():
        assert number - counts.error <= kept.get(name, 0) <= number
    assert counts.occurrences == sum(sum(file.values()) for file in files)


def test_a_flood_of_names_does_not_hide_the_common_ones() -> None:
    """Junk that comes first, and never stops, cannot keep a name out of the table that every file has."""
    counts = NameCounts(100)
    for number in range(2_000):
        counts.add((("user-agent", 2), *((f"junk-{number}-{one}", 1) for one in range(10))))
    name, files, _ = counts.by_files()[0]
    assert name == "user-agent"
    assert 2_000 - counts.error <= files <= 2_000
    assert counts.error < 500


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=80))
def test_a_distribution_is_that_of_its_numbers(values: list[int]) -> None:
    """Mean, deviation, quantiles and extremes are those that a plain list gives."""
    spread = Distribution()
    for value in values:
        spread.add(value)
    ranked = sorted(values)
    assert (spread.count, spread.total, spread.greatest) == (len(values), sum(values), ranked[-1])
    assert math.isclose(spread.mean or 0, statistics.fmean(values), rel_tol=1e-12)
    assert math.isclose(spread.deviation or 0, statistics.pstdev(values), rel_tol=1e-9, abs_tol=1e-9)
    assert spread.quantile(0.5) == ranked[(len(ranked) + 1) // 2 - 1]
    assert spread.quantile(1.0) == ranked[-1]
    assert spread.items() == sorted(Counter(values).items())
    assert spread.above(100) == sum(value > 100 for value in values)
    assert spread.of(values[0]) == values.count(values[0])


def test_a_distribution_of_too_many_numbers_keeps_three_digits() -> None:
    """Beyond its bound it says that it is rounded; sums and extremes stay exact, quantiles are near."""
    spread = Distribution(most=5_000)
    for value in range(100_000):
        spread.add(value)
    assert spread.is_rounded
    assert len(spread.items()) < 5_000
    assert (spread.count, spread.total, spread.greatest) == (100_000, sum(range(100_000)), 99_999)
    assert abs((spread.quantile(0.5) or 0) - 50_000) <= 500


def test_nothing_has_no_mean() -> None:
    """Of no numbers nothing is said."""
    spread = Distribution()
    assert (spread.mean, spread.deviation, spread.quantile(0.5), spread.items()) == (None, None, None, [])
