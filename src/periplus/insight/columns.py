"""Columns of the tables as arrays that can be counted, and compared without an object a row."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from periplus.store.tables import pandas_import  # noqa: F401 - before the first array is made

_BEFORE: Final = bytes(16)
_FACTORS: Final = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)


def plain(column: pa.Array) -> pa.Array:
    """A column of strings, decoded from its dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def moments(column: pa.Array) -> NDArray[np.int64]:
    """A column of times in microseconds; 0 for null."""
    times: NDArray[np.int64] = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return times


def codes(column: pa.Array) -> tuple[NDArray[np.int64], list[str | None]]:
    """A column of repeated strings as numbers, and the strings that these stand for; the last stands for null."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    words = [*encoded.dictionary.to_pylist(), None]
    numbers: NDArray[np.int64] = pc.fill_null(encoded.indices, len(words) - 1).to_numpy(zero_copy_only=False)
    return numbers, words


def endings(column: pa.Array) -> NDArray[np.uint64]:
    """A 64-bit number for each string of a column, made from its length and its last 16 bytes in one array operation.

    Equal strings have equal numbers, and collisions are rare: a prefilter for URLs, and enough to compare digests. An
    empty string and null are 0.
    """
    column = plain(column)
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32, len(column) + 1, 4 * column.offset).astype(np.int64)
    lengths = np.diff(ends)
    padded = np.frombuffer(_BEFORE + (data.slice(0, int(ends[-1])).to_pybytes() if data is not None else b""), np.uint8)
    windows = np.ndarray((len(padded) - 7,), "V8", padded.data, strides=(1,))
    last = _last(windows[ends[1:] + 8].view("<u8"), lengths)
    before = _last(windows[ends[1:]].view("<u8"), np.maximum(lengths - 8, 0))
    mixed: NDArray[np.uint64] = (last * _FACTORS[0]) ^ (before * _FACTORS[1]) ^ lengths.astype(np.uint64)
    mixed[(lengths == 0) | ~column.is_valid().to_numpy(zero_copy_only=False)] = 0
    return mixed


def _last(eight: NDArray[np.uint64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The last few of eight bytes each; the bytes before them belong to another string."""
    missing = (8 - np.clip(lengths, 0, 8)).astype(np.uint64) * np.uint64(8)
    kept: NDArray[np.uint64] = np.where(missing < 64, eight >> np.minimum(missing, np.uint64(63)), np.uint64(0))
    return kept
