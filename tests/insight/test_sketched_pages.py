"""Sketches in a batch: those of a slice, and of pages that have none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from periplus.insight.sketched_pages import _briefs
from periplus.policy.settings import VALUES

SKETCHES = [bytes([page, 0, 0, 0]) * VALUES for page in range(1, 6)]


@pytest.mark.parametrize("missing", [(), (0,), (3,), (1, 2, 4), (0, 1, 2, 3, 4)])
@pytest.mark.parametrize(("start", "length"), [(0, 5), (1, 3), (2, 3), (4, 1), (5, 0)])
def test_every_row_of_a_slice_has_its_own_sketch(missing: tuple[int, ...], start: int, length: int) -> None:
    stored = [None if row in missing else sketch for row, sketch in enumerate(SKETCHES)]
    briefs = _briefs(pa.array(stored, pa.binary()).slice(start, length))
    expected = [0 if row in missing else row + 1 for row in range(start, start + length)]
    assert briefs.shape == (length, VALUES)
    assert np.array_equal(briefs, np.repeat(expected, VALUES).reshape(length, VALUES))
