"""AsyncMirrorSync in virtual days: the published bandit that learns how often to visit each page, for comparison.

After the paper and its published experiments (Kolobov, Bubeck & Zimmert, ICML 2020, arXiv 2002.12014). Every page has a
rate of visits. With the probability `_PROBES` an additional visit, at a random time between two regular ones, observes
the cost of a copy, here 1 if it is stale; the difference to what the regular visit observes estimates how the cost of
all time changes with the rate. At the end of each cycle the pages with new estimates exchange rates among each other,
by a step of mirror descent with a logarithmic barrier. It knows neither that changes are Poisson nor any signals.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from periplus_lab.simulate.learned_refresh import Today

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_PROBES = 0.05
"""The probability of an additional visit between two regular ones, as in the paper's experiments."""
_CYCLE = 8
"""Days between two updates, as in the paper's experiments on Poisson changes."""
LEARNING_RATES = 1.3, 13.0, 130.0
"""The first is the paper's for a hundred pages; gradients are divided by the number of pages, so more need more."""


class SyncBandit:
    """Visits pages at rates that follow estimated gradients."""

    def __init__(self, pages: int, budget: float, learning_rate: float, random: Generator) -> None:
        self._learning_rate, self._random = learning_rate, random
        self._slowest = budget / 20
        self._rates = np.full(pages, budget / (1.0 + _PROBES))
        self._synced_at = -random.random(pages) / self._rates
        self._probe_at, self._was_stale = np.full(pages, np.inf), np.zeros(pages, bool)
        self._probed = np.full(pages, -1.0)
        self._gradients, self._syncs = np.zeros(pages), np.zeros(pages)

    def cost(self, sites: int) -> float:  # noqa: ARG002 - no metadata is read
        """The cost is 0: no metadata is read."""
        return 0.0

    def choose(self, today: Today) -> Ints:
        """The pages whose visit is most overdue: regular ones, and probes."""
        late = (today.now - self._synced_at) * self._rates
        late = np.where(today.here, np.maximum(late, np.where(self._probe_at <= today.now, 1.0, 0.0)), 0.0)
        chosen = np.flatnonzero(late >= 1.0)
        if len(chosen) > today.limit:
            chosen = chosen[np.argsort(-late[chosen], kind="stable")[: today.limit]]
        self._observe(chosen, today)
        if today.day % _CYCLE == _CYCLE - 1:
            self._update()
        return chosen

    def _observe(self, chosen: Ints, today: Today) -> None:
        self._was_stale[chosen] |= today.is_stale[chosen]  # since the last regular visit
        is_regular = (today.now - self._synced_at[chosen]) * self._rates[chosen] >= 1.0
        probes, syncs = chosen[~is_regular], chosen[is_regular]
        self._probed[probes], self._probe_at[probes] = self._was_stale[probes], np.inf
        known = syncs[self._probed[syncs] >= 0.0]
        self._gradients[known] += (self._probed[known] - self._was_stale[known]) / (_PROBES * self._rates[known])
        self._syncs[syncs] += 1.0
        self._synced_at[syncs], self._probed[syncs], self._was_stale[syncs] = today.now, -1.0, False
        wait = self._random.random(len(syncs)) / self._rates[syncs]
        is_probed = self._random.random(len(syncs)) < _PROBES
        self._probe_at[syncs] = np.where(is_probed, today.now + wait, np.inf)

    def _update(self) -> None:
        new = np.flatnonzero(self._syncs)
        if not len(new):
            return
        gradient = self._gradients[new] / self._syncs[new] / len(new)
        self._rates[new] = _mirrored(self._rates[new], self._learning_rate * gradient, self._slowest, 1.0)
        self._gradients[new] = self._syncs[new] = 0.0


def _mirrored(rates: Floats, step: Floats, slowest: float, fastest: float) -> Floats:
    """Rates of the same sum after the step: 1/rate grows by the step and by one number for all, which is sought."""
    total, base = rates.sum(), 1.0 / rates + step
    low, high = -float(base.max()), 1.0 / slowest
    for _ in range(60):
        middle = (low + high) / 2
        with np.errstate(divide="ignore"):
            moved = np.clip(1.0 / np.maximum(base + middle, 1e-12), slowest, fastest)
        low, high = (middle, high) if moved.sum() > total else (low, middle)
    return moved
