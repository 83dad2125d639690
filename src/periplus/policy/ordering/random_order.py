"""Any page: the baseline that every other ordering has to beat.

The score is a hash of the URL, so that a crawl which was killed goes on with the order it had; another seed gives
another order. Scores are spread evenly over the levels of a queue, that is, over the octaves.
"""

from __future__ import annotations

import math

from xxhash import xxh3_64_intdigest

from ...model import Discovery
from .levels import OCTAVES


class RandomOrder:
    """Pages in an order that `seed` decides; sites as they have waited."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed & (1 << 64) - 1

    def score(self, discovery: Discovery) -> float:
        """Between 2^-32 and 2^32, every octave alike."""
        chance = xxh3_64_intdigest(discovery.url.encode(), self._seed) / 2.0**64
        return math.pow(2.0, (2.0 * chance - 1.0) * OCTAVES)

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """Who has waited longest."""
        return 0.0, ready_at
