"""In which pass over the web a page of a domain is fetched.

A domain with the budget B has B pages in pass 0, twice as many in pass 1, four times as many in pass 2, and so on
(BEAST, in IRLbot: Lee et al. 2008). So a domain of any size is complete at some time, and one without trusted links
takes few pages of each pass. Within a pass the domain that has used less of its budget comes first, by octaves: pages
are then shared in proportion to budgets.
"""

from __future__ import annotations

import math
from typing import Final

MAX_PASS: Final = 62
"""The last pass. With the growth 2 a domain has 2^62 times its budget before."""
FIRST_OCTAVE: Final = -20
"""Shares of a budget below 2^-20 are not told apart: the largest budget has fewer pages than that."""


def pass_of(k: int, budget: float, growth: float = 2.0) -> int:
    """The pass of the k-th page of a domain, from 1. An infinite budget is never used up."""
    allowed, total, number = budget, budget, 0
    while k > total and number < MAX_PASS:
        allowed *= growth
        total += allowed
        number += 1
    return number


def octave_of(k: int, budget: float, growth: float = 2.0) -> int:
    """The order of the k-th page of a domain among all domains: its pass, or below 0 the octave of its budget's share.

    Half of a budget is in octave 0 like the rest of pass 0; the half below in octave -1, and so on.
    """
    if k * 2 > budget:
        return pass_of(k, budget, growth)
    if budget == math.inf:
        return FIRST_OCTAVE
    return max(-math.floor(math.log2(budget / k)), FIRST_OCTAVE)
