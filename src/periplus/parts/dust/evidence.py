"""How much the pairs of a rule say: a Beta posterior, exact and without a table.

With `equal` and `unequal` pairs and a prior Beta(a, b) the share of URLs for which the rule holds has the posterior
Beta(a + equal, b + unequal). For whole numbers its distribution function is a sum of binomial terms, as many as there
are unequal pairs, so that the question "is the 5 % quantile at least .7?" costs a few multiplications.
"""

from __future__ import annotations

import math
from typing import Final

from msgspec import Struct

QUANTILE: Final = 0.05
"""The posterior probability that the rule holds less often than the quantile says."""
UNIFORM: Final = (1, 1)
"""The prior of a rule of which nothing is known."""
FAMILIAR: Final = (5, 1)
"""The prior of a rule that holds on many domains: four equal pairs are enough."""
MAX_COUNT: Final = 1000
"""Pairs beyond which both counts are halved: a site that changes can be learnt again."""
MAX_VOTES: Final = 100
"""Votes for a direction beyond which more are not counted: one byte."""
MAX_TEMPLATES: Final = 100
"""Path templates beyond which more are not counted: one byte, and no setting asks for that many."""
_STEPS: Final = 40
"""Halvings of an interval in which a quantile is found: more than a float has digits for."""

CANDIDATE, ACCEPTED, WITHDRAWN, REFUTED = 0, 1, 2, 3


class Counts(Struct, array_like=True, gc=False):
    """The pairs of one rule of a site: 28 bytes at most, with its key, when stored.

    `votes` is how many more pairs support the direction of the rule than oppose it (sitemaps and canonical links);
    `new` counts pairs since the rule was withdrawn; `is_anchored`: a page was read under a URL that the rule makes;
    `templates`: of a rule for the whole site, the path templates in which a pair was equal, at most `MAX_TEMPLATES`.
    `near`: pairs, at most `MAX_VOTES`, whose texts differ a little; `elsewhere`: the same, of those whose texts are the
    same, and whose links are not.
    """

    equal: int = 0
    unequal: int = 0
    votes: int = 0
    state: int = CANDIDATE
    new: int = 0
    is_anchored: bool = False
    templates: int = 0
    near: int = 0
    elsewhere: int = 0

    def count(self, is_equal: bool, vote: int) -> None:
        """Count a pair."""
        self.equal += is_equal
        self.unequal += not is_equal
        self.new = min(self.new + 1, MAX_COUNT)
        self.votes = max(-MAX_VOTES, min(MAX_VOTES, self.votes + vote))
        if self.equal + self.unequal > MAX_COUNT:
            self.equal //= 2
            self.unequal //= 2

    @property
    def pairs(self) -> int:
        """How many pairs were counted."""
        return self.equal + self.unequal


def is_at_least(equal: int, unequal: int, least: float, prior: tuple[int, int] = UNIFORM) -> bool:
    """Whether the 5 % quantile of the posterior is at least `least`."""
    if equal <= unequal and prior == UNIFORM and least > 0.5:
        return False
    return _below(least, prior[0] + equal, prior[1] + unequal) <= QUANTILE


def lower_quantile(equal: int, unequal: int, prior: tuple[int, int] = UNIFORM) -> float:
    """The 5 % quantile of the posterior, for display."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _below(middle, prior[0] + equal, prior[1] + unequal) <= QUANTILE:
            low = middle
        else:
            high = middle
    return low


def _below(share: float, a: int, b: int) -> float:
    """P(X <= share) for X of Beta(a, b): that of at least `a` successes in a + b - 1 trials."""
    if not 0.0 < share < 1.0:
        return 0.0 if share <= 0.0 else 1.0
    trials = a + b - 1
    first = math.lgamma(trials + 1) - math.lgamma(a + 1) - math.lgamma(trials - a + 1)
    term = math.exp(first + a * math.log(share) + (trials - a) * math.log1p(-share))
    total, odds = 0.0, share / (1.0 - share)
    for successes in range(a, trials + 1):
        total += term
        term *= odds * (trials - successes) / (successes + 1)
    return total
