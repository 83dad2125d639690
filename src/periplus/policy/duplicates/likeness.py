"""How much two pages resemble each other, from 128 bytes each, and which are worth comparing.

A sketch has 128 values of 32 bits. Its *brief* is the lowest byte of each: b-bit minwise hashing (Li & König 2010) with
b = 8. Two values that differ agree in that byte once in 256 times, which is taken off again: the estimate of
resemblance J is (E - 1/256) / (1 - 1/256) for a share E of equal bytes, as exact as that of the whole sketch for a
quarter of the room.

Eight bytes of a brief side by side are a band, a key of 64 bits as they stand. Pages that share one of the 16 are worth
comparing: at J = .9 they do with probability .9999, at .7 with .61, at .5 with .06 (locality-sensitive hashing, Indyk
& Motwani 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .settings import VALUES, DuplicateSettings

BANDS: Final = 16
_VALUE_BYTES: Final = 4
_BY_CHANCE: Final = 1 / 256
_FEW_REPEATS: Final = 4
_NOTHING: Final = bytes(VALUES)
_FEW: Final = 8
"""Briefs up to which each is compared as one number: an array takes as long to make as eight of these."""


def brief_of(sketch: bytes) -> bytes:
    """The lowest byte of each value; all equal for a page without words, or for an invalid sketch."""
    return sketch[::_VALUE_BYTES] if len(sketch) == VALUES * _VALUE_BYTES else _NOTHING


def rows_of(briefs: Sequence[bytes]) -> NDArray[np.uint8]:
    """Briefs as an array, a row for each: on many at once, what follows costs little."""
    return np.frombuffer(b"".join(briefs), np.uint8).reshape(-1, VALUES)


def are_thin(rows: NDArray[np.uint8], settings: DuplicateSettings) -> NDArray[np.bool_]:
    """Of which there was hardly a text.

    A page of n different shingles fills about 128 (1 - exp(-n/128)) places of its sketch, and the others repeat those.
    What a site says when it has nothing to say ("please enable scripts") must not make one page of all of them.
    """
    repeats = (rows[:, 1:] == rows[:, :-1]).sum(axis=1) + (rows[:, 2:] == rows[:, :-2]).sum(axis=1)
    thin: NDArray[np.bool_] = repeats >= _FEW_REPEATS  # few pages with a text have that many: those are looked at
    for row in np.flatnonzero(thin).tolist():
        thin[row] = len(set(rows[row].tolist())) < settings.fewest_values
    return thin


def band_keys(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The key of each band of each brief."""
    return np.ascontiguousarray(rows).view(">u8").astype(np.uint64)


def likenesses(brief: bytes, others: Sequence[bytes]) -> list[float]:
    """The resemblance to each of the others, as estimated; never less than 0."""
    if len(others) > _FEW:
        equal: list[int] = (rows_of(others) == np.frombuffer(brief, np.uint8)).sum(axis=1).tolist()
        return [_resemblance(count) for count in equal]
    number = int.from_bytes(brief, "big")
    differences = [(number ^ int.from_bytes(other, "big")).to_bytes(VALUES, "big") for other in others]
    return [_resemblance(each.count(0)) for each in differences]


def is_like(likeness: float, settings: DuplicateSettings, *, is_one_site: bool, has_same_links: bool) -> bool:
    """Whether this likeness is enough.

    A list in another order has other shingles wherever two items meet: of one that has ten words an item, a quarter.
    But its links are the same, all of them.
    """
    if not is_one_site:
        return likeness >= settings.least_likeness
    return likeness >= (settings.least_likeness_reordered if has_same_links else settings.least_likeness_on_site)


def _resemblance(equal: int) -> float:
    return max(0.0, (equal / VALUES - _BY_CHANCE) / (1 - _BY_CHANCE))
