"""From a score to one of 256 levels: a queue on disk is ordered by a byte, and within a level first come, first served.

Scores come in two kinds. Shares of importance (PageRank, cash, mass) are positive and spread over many powers of ten:
they get two levels for each octave. Costs (depth) are whole numbers below zero: they get a level each. Zero lies
between.

    2^32 and more     0
    [2^31, 2^31.5)    1
    1                 63
    2^-32             127     and less, down to zero
    0                 128
    -1                129     -0.5 as well: the next whole number
    -127 and less     255

Larger scores never get larger levels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...model import InvariantError

OCTAVES = 32
ZERO_LEVEL = 128
LAST_LEVEL = 255
_HALF_OCTAVE = math.sqrt(0.5)


def level_of(score: float) -> int:
    """The level of a score, 0 (first) to 255 (last)."""
    if score < 0.0:
        return LAST_LEVEL if score <= ZERO_LEVEL - LAST_LEVEL else ZERO_LEVEL + math.ceil(-score)
    if score == 0.0:
        return ZERO_LEVEL
    if not score > 0.0:
        raise InvariantError("an ordering returned a score that is not a number")
    if score >= 2.0**OCTAVES:
        return 0
    fraction, octave = math.frexp(score)  # exact, where a logarithm would round
    return min(2 * (OCTAVES - octave) + (fraction < _HALF_OCTAVE), ZERO_LEVEL - 1)


def lowered(level: int, share: float) -> int:
    """The level of a page that is worth this share of what its level says: two levels further for each half."""
    return min(level - round(2 * math.log2(share)), LAST_LEVEL) if share > 0.0 else LAST_LEVEL


def levels_of(scores: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The level of each, as `level_of`, for millions at once. Scores below zero do not occur here."""
    fraction, octave = np.frexp(np.minimum(scores, 2.0**OCTAVES))
    levels = 2 * (OCTAVES - octave) + (fraction < _HALF_OCTAVE)
    levels = np.clip(levels, 0, ZERO_LEVEL - 1)
    return np.where(scores > 0.0, levels, ZERO_LEVEL).astype(np.uint8)
