"""Decides how much of a crawl each registrable domain gets, and when.

Domains and hosts cost a spammer nothing, so a crawl must not treat every host alike. A domain has a budget of pages and
a bound for its hosts; pages beyond the budget are not refused but come in a later pass over the web (BEAST, in IRLbot:
Lee et al. 2008). `engine.frontier.domains` counts.
"""

from __future__ import annotations

import math
from typing import Final

from xxhash import xxh3_64_intdigest

FEWEST_ACTIVE_HOSTS: Final = 16
"""Hosts of a domain that may be active at a time, whatever its budget."""
ACTIVE_PER_ROOT: Final = 4.0
"""Active hosts for each square root of a budget: 400 for the largest budget, 10,000."""
_HASHES: Final = 2.0**64


def base_at(hops: int, base: int) -> int:
    """The pages of a domain without a score, by the number of links between domains from a seed's domain to it.

    Each link after the first halves them: trust fades with distance, and domains that introduce each other get little
    until their links are scored.
    """
    return max(base >> max(hops - 1, 0), 1)


def max_active_hosts(budget: float, largest: int) -> int:
    """How many hosts of a domain may be active at a time; an infinite budget counts as the largest."""
    return max(FEWEST_ACTIVE_HOSTS, math.floor(ACTIVE_PER_ROOT * math.sqrt(min(budget, largest))))


def host_is_admitted(host: str, admitted: int, free: int) -> bool:
    """Whether a new host is admitted to a domain that has `admitted` hosts; the first `free` always are.

    Wildcard DNS makes hosts for nothing, so the n-th host is admitted with probability free / n. Of n hosts then free *
    (1 + ln(n / free)) are admitted. So n follows from the number of admitted hosts, and hosts that were refused, and
    are found again and again, need not be counted. The hash of the name decides: a host that was refused once is
    refused permanently.
    """
    if admitted < free:
        return True
    return xxh3_64_intdigest(host.encode()) < _HASHES * math.exp(-(admitted - free) / free)


MAX_PASS: Final = 62
"""The last pass. With the growth 2 a domain has 2^62 times its budget before."""
FIRST_OCTAVE: Final = -20
"""Shares of a budget below 2^-20 are treated as equal: the largest budget has fewer pages than that."""


def pass_of(k: int, budget: float, growth: float = 2.0) -> int:
    """The pass of the k-th page of a domain, from 1. An infinite budget is never used up.

    A domain with the budget B has B pages in pass 0, twice as many in pass 1, four times as many in pass 2, and so on
    (BEAST, in IRLbot: Lee et al. 2008). So a domain of any size is complete at some time, and a domain without trusted
    links takes few pages of each pass.
    """
    allowed, total, number = budget, budget, 0
    while k > total and number < MAX_PASS:
        allowed *= growth
        total += allowed
        number += 1
    return number


def octave_of(k: int, budget: float, growth: float = 2.0) -> int:
    """The order of the k-th page of a domain among all domains: its pass, or below 0 the octave of its budget's share.

    Half of a budget is in octave 0 like the rest of pass 0; the half below in octave -1, and so on. So within pass 0
    the domain that has used less of its budget comes first, and pages are shared in proportion to budgets.
    """
    if k * 2 > budget:
        return pass_of(k, budget, growth)
    if budget == math.inf:
        return FIRST_OCTAVE
    return max(-math.floor(math.log2(budget / k)), FIRST_OCTAVE)


MAX_CREDIT: Final = 16.0
"""Requests that may be saved up: a crawl that has seen no discounted domain for days must not spend all at once."""


class DiscountCredit:
    """Counts requests; `share` of them, from 0 to 1, may go to discounted domains. `credit` was saved up before.

    A budget orders domains only where they compete. While all other sites wait for their politeness delay, every
    request would go to a link farm, whose hosts have no end. So each request to another site earns a part of one to a
    discounted domain. No URL is refused.
    """

    __slots__ = ("_earned", "credit")

    def __init__(self, share: float, credit: float = 0.0) -> None:
        self._earned = share / (1.0 - share) if share < 1.0 else math.inf
        self.credit = credit

    def count(self, *, is_discounted: bool) -> None:
        """Count a request that begins."""
        self.credit = self.credit - 1.0 if is_discounted else min(self.credit + self._earned, MAX_CREDIT)

    @property
    def is_enough(self) -> bool:
        """Whether a request to a discounted domain may begin."""
        return self.credit >= 1.0 or self._earned == math.inf
