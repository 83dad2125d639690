"""How much two pages resemble each other, from 128 bytes each, and which are worth comparing.

A sketch has 128 values of 32 bits. Its *brief* is the lowest byte of each: b-bit minwise hashing (Li & König 2010) with
b = 8. Two values that differ agree in that byte once in 256 times, which is taken off again: the estimate of
resemblance J is (E - 1/256) / (1 - 1/256) for a share E of equal bytes, as exact as that of the whole sketch for a
quarter of the room.

Eight bytes of a brief in a row are a band, a key of 64 bits as it stands. Pages that share one of the 16 are worth
comparing: at J = .9 they do with probability .9999, at .7 with .61, at .5 with .06 (locality-sensitive hashing, Indyk
& Motwani 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct

VALUES: Final = 128
BANDS: Final = 16
ROWS: Final = VALUES // BANDS
_VALUE_BYTES: Final = 4
_BY_CHANCE: Final = 1 / 256
_PLACES: Final = tuple((bytes([band]), band * ROWS, (band + 1) * ROWS) for band in range(BANDS))


class DuplicateSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When two pages are taken for the same."""

    least_likeness: float = 0.9
    """The share of common shingles from which pages of different sites are near-duplicates."""
    least_likeness_on_site: float = 0.9
    """The same for pages of one site, which share phrases without being copies of each other (Henzinger 2006)."""
    fewest_values: int = 16
    """A sketch with fewer different values is of a page with hardly a sentence: only exact copies of it are told."""


def brief_of(sketch: bytes) -> bytes:
    """The lowest byte of each value; nothing for a page without words, or for what is no sketch."""
    return sketch[::_VALUE_BYTES] if len(sketch) == VALUES * _VALUE_BYTES else b""


def is_thin(brief: bytes, settings: DuplicateSettings) -> bool:
    """Whether there was hardly a text.

    A page of n different shingles fills about 128 (1 - exp(-n/128)) places of its sketch, and the others repeat those.
    What a site says when it has nothing to say ("please enable scripts") must not make one page of all of them.
    """
    return len(set(brief)) < settings.fewest_values


def band_keys(brief: bytes) -> list[bytes]:
    """A key of each band: its number, and its eight bytes."""
    return [band + brief[start:end] for band, start, end in _PLACES]


def likenesses(brief: bytes, others: Sequence[bytes]) -> list[float]:
    """The resemblance to each of the others, as estimated; never less than 0."""
    rows = np.frombuffer(b"".join(others), np.uint8).reshape(len(others), VALUES)
    equal: list[int] = (rows == np.frombuffer(brief, np.uint8)).sum(axis=1).tolist()
    return [_resemblance(count) for count in equal]


def is_like(likeness: float, is_one_site: bool, settings: DuplicateSettings) -> bool:
    """Whether so much is enough."""
    return likeness >= (settings.least_likeness_on_site if is_one_site else settings.least_likeness)


def _resemblance(equal: int) -> float:
    return max(0.0, (equal / VALUES - _BY_CHANCE) / (1 - _BY_CHANCE))
