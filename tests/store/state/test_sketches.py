"""The filter in front of the index of near-duplicates."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from periplus.store.state.disk_bands import KeyFilter

COLUMNS = 16


def keys(count: int, seed: int) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 2**64, (count // COLUMNS, COLUMNS), dtype=np.uint64)


def filled(count: int, expected: int = 0) -> KeyFilter:
    made = KeyFilter(expected)
    for seed in range(0, count, 1 << 14):
        made.add(made.places(keys(1 << 14, seed)))
    return made


def bytes_of(made: KeyFilter) -> int:
    return sum(words.nbytes for _, words in made._layers)


@pytest.mark.parametrize("expected", [0, 500_000])
def test_what_was_put_in_is_there(expected: int) -> None:
    """Over the borders of layers, whether they grew or were made for this number."""
    made = filled(1 << 19, expected)
    for seed in range(0, 1 << 19, 1 << 14):
        assert made.has(made.places(keys(1 << 14, seed))).all()


@pytest.mark.parametrize(("count", "most"), [(0, 0.0), (1 << 17, 0.01), (1 << 19, 0.03), (1 << 21, 0.06)])
def test_few_others_seem_to_be_there(count: int, most: float) -> None:
    """While the filter grows with what it holds."""
    made = filled(count)
    assert made.has(made.places(keys(1 << 17, -1 & 0xFFFF))).mean() <= most


def test_it_takes_room_for_what_it_holds() -> None:
    """Nothing at first, less than half of one of fixed size for a hundred thousand pages, and never much more."""
    assert bytes_of(KeyFilter()) == 0
    assert bytes_of(filled(1 << 14)) == 256 << 10
    assert bytes_of(filled(1 << 20)) < 6 << 20
    assert bytes_of(filled(1 << 14, expected=10**9)) == 16 << 20


def test_a_key_in_another_column_is_another() -> None:
    """Bands are told apart."""
    made = KeyFilter()
    row = keys(COLUMNS, 1)
    made.add(made.places(row))
    assert made.has(made.places(row)).all()
    assert not made.has(made.places(np.roll(row, 1, axis=1))).any()
