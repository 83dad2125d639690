"""What pages of a kind have in common: a prior for the change rate of each, learnt from all of them.

A page that was visited twice says little of itself; its neighbours say more ("sampling related pages": Cho & Ntoulas,
VLDB 2002; Olston & Najork 2010, section 5.1). A group is a site, or finer: a site's URLs of one template and depth, or
of one `changefreq`. Its Gamma prior is fitted by moments to the estimates of its pages, less the noise that these have
anyway; then a page with few visits is near its group's mean, and one with many is itself (empirical Bayes).

What a sitemap's `changefreq` says is only where such a prior begins: how much it weighs is learnt.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from ...model import ChangeFreq

Floats = NDArray[np.float64]

SAID_RATE = {
    ChangeFreq.ALWAYS: 24.0,
    ChangeFreq.HOURLY: 24.0,
    ChangeFreq.DAILY: 1.0,
    ChangeFreq.WEEKLY: 1 / 7,
    ChangeFreq.MONTHLY: 1 / 30,
    ChangeFreq.YEARLY: 1 / 365,
    ChangeFreq.NEVER: 1 / 3650,
}
"""Changes a day that a `changefreq` claims (sitemaps.org); "always" is polled hourly at most."""

_LEAST_SPREAD = 0.05
"""Of the variance of rates within a group, in squares of their mean: pages are never all alike."""
_HALVINGS = 60


class GroupPrior(Struct, frozen=True, gc=False):
    """Gamma(`shape`, `days`): what is believed of a page of this group before it was seen to change or not."""

    shape: float = 0.5
    days: float = 0.5

    @property
    def rate(self) -> float:
        """The mean."""
        return self.shape / self.days


def first_prior(median_rate: float = 1.0) -> GroupPrior:
    """Of a group nobody knows: wide, around the rate that is the middle everywhere."""
    return GroupPrior(0.5, 0.5 / max(median_rate, 1e-9))


def fit_prior(changes: ArrayLike, visits: ArrayLike, frequency: float = 1.0) -> GroupPrior:
    """The prior of a group from how many of each page's visits, so often a day, found a change; by moments.

    The variance of a single estimate, p/((1-p) n) by the delta method, is taken off the variance that is seen.
    """
    found, seen = np.asarray(changes, float), np.asarray(visits, float)
    steps = -np.log((seen - found + 0.5) / (seen + 0.5))
    mean = max(float(steps.mean()), 1e-9)
    chance = -np.expm1(-steps)
    noise = float((chance / ((1 - chance) * seen)).mean())
    spread = max(float(steps.var()) - noise, _LEAST_SPREAD * mean * mean)
    return GroupPrior(mean * mean / spread, mean / spread / frequency)


def group_rates(changes: ArrayLike, visits: ArrayLike, prior: GroupPrior, frequency: float = 1.0) -> Floats:
    """The rate of every page of a group under its prior: the posterior's mode in the logarithm, all at once."""
    found, seen = np.asarray(changes, float), np.asarray(visits, float)
    shape, days = prior.shape, prior.days * frequency
    low, high = np.full(len(found), -20.0), np.full(len(found), 14.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        steps = np.exp(middle)
        above = found / np.expm1(np.minimum(steps, 700.0)) + shape / steps > seen - found + days
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    rates: Floats = frequency * np.exp((low + high) / 2)
    return rates
