"""RankMass: Cho & Schonfeld (2007), a crawl that knows how much of PageRank it has.

A surfer who begins at the seeds, follows links, and begins again with probability 1 - d, spends some of his time on
pages not yet fetched: on each as much as comes to it over pages that were. That is a lower bound of its personalised
PageRank; who has most is fetched next. It is OPIC with a surfer who gets tired: what arrives is `damping` of what was
given, so that long ways count less.

A page that is fetched passes its mass on at once. What comes back to pages fetched before goes on when all of it is
computed again, after every `every` pages. *Windowed* computes it only then, and fetches the best `share` of what is
known in between (the paper's windowed algorithm: fewer steps for nearly the same order).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...model import ConfigError, KnownLinks, Stage
from .worth import ByRank

_STEPS = 60
"""Links that mass is followed along, at most: 0.85^60 of it is then left, less than a level."""


class RankMass(ByRank):
    """The worth of a URL is the mass that arrives there over fetched pages; a seed has one unit of its own."""

    def share(self, worth: float, links: int) -> float:
        """An equal part of what the surfer who goes on brings."""
        return self._damping * worth / links

    def rest(self, worth: float) -> float:  # noqa: ARG002
        """All has gone on."""
        return 0.0

    def batch_size(self, waiting: int) -> int:
        """All of them."""
        return waiting

    def ranks(self, known: KnownLinks) -> NDArray[np.float64]:
        """The mass of each URL that waits: what comes to it from the seeds over pages that are done."""
        from scipy.sparse import csr_matrix  # it takes a second to load, and most crawls never rank

        count = len(known.worth)
        is_done = known.stage == Stage.DONE
        links = np.bincount(known.sources, minlength=count)
        passed = np.where(is_done & (links > 0), self._damping / np.maximum(links, 1), 0.0)
        matrix = csr_matrix((passed[known.sources], (known.targets, known.sources)), shape=(count, count))
        seeds = known.is_seed.astype(np.float64)
        mass = seeds
        for _ in range(_STEPS):
            before, mass = mass, seeds + matrix @ mass
            if np.abs(mass - before).max(initial=0.0) < 1e-9:
                break
        return np.where(is_done, 0.0, mass)


class WindowedRankMass(RankMass):
    """The best `share` of the frontier is fetched before all of it is scored again; at least `every` pages."""

    is_batch = True

    def __init__(self, share: float = 0.1, every: int = 100, damping: float = 0.85) -> None:
        super().__init__(every, damping)
        if not 0.0 < share <= 1.0:
            raise ConfigError(f"a window of {share} of the frontier is none", hint="Give it a `share` of 0 to 1")
        self._share = share

    def share(self, worth: float, links: int) -> float:  # noqa: ARG002
        """Nothing: scores do not change between two windows."""
        return 0.0

    def batch_size(self, waiting: int) -> int:
        """The share of it, but not too few."""
        return min(waiting, max(self.every, round(self._share * waiting)))
