"""By PageRank of what is known, computed again from time to time: *Batch* and *Partial* of Castillo et al. (2004).

*Batch* ranks all that is known, fetches the best `every` pages, and only when it has all of them ranks again: who is
found meanwhile waits for the next batch. *Partial* lets new URLs in at once, each with the sum of what the pages that
lead to it would pass on, and ranks again after every `every` pages. Both need all links that were seen, and a while for
each ranking: the more often, the better the order and the longer the while.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...model import KnownLinks
from .worth import ByRank

_TOLERANCE = 1e-4
"""Of the sum of all errors: an order needs no ten digits."""


class PartialPageRank(ByRank):
    """The worth of a URL is its PageRank when last computed, in multiples of the mean, and what it gained since."""

    def share(self, worth: float, links: int) -> float:
        """An equal part of its rank."""
        return worth / links

    def rest(self, worth: float) -> float:
        """A rank is not spent."""
        return worth

    def batch_size(self, waiting: int) -> int:
        """All of them, up to the size of a batch."""
        return min(waiting, self.every)

    def ranks(self, known: KnownLinks) -> NDArray[np.float64]:
        """PageRank over the links known, in multiples of its mean; begun where the last one ended."""
        from ...graph import pagerank  # its libraries take a second to load, and most crawls never rank

        count = len(known.worth)
        start = np.maximum(known.worth, 1e-3)
        ranks = pagerank(
            known.sources, known.targets, count, self._damping, start=start / start.sum(), tolerance=_TOLERANCE
        )
        return ranks * count


class BatchPageRank(PartialPageRank):
    """The same, but nothing is fetched until it is chosen for a batch."""

    is_batch = True

    def share(self, worth: float, links: int) -> float:  # noqa: ARG002
        """Nothing: scores do not change between two batches."""
        return 0.0
