"""Columns of the tables as arrays that can be counted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def plain(column: pa.Array) -> pa.Array:
    """A column of words, none of them in a dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def moments(column: pa.Array) -> NDArray[np.int64]:
    """A column of times in microseconds; 0 where there is none."""
    times: NDArray[np.int64] = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return times
