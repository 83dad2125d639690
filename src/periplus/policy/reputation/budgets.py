"""From scores of domains to budgets of pages, and bounds for the hosts of a domain.

Wildcard DNS makes hosts for nothing. So the n-th new host of a domain, beyond a number that is always admitted, is
admitted with probability `free` / n, decided by the hash of its name; and only some hosts of a domain are active at a
time, more with a larger budget.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

FEWEST_ACTIVE_HOSTS: Final = 16
"""Hosts of a domain that may be active at a time, whatever its budget."""
ACTIVE_PER_ROOT: Final = 4.0
"""Active hosts for each square root of a budget: 400 for the largest budget, 10,000."""
_HASHES: Final = 2.0**64


class DomainBudgets(Struct, frozen=True):
    """The settings of budgets; see `BudgetSettings`."""

    base: int = 10
    largest: int = 10_000
    growth: float = 2.0
    seed_budget: int = 0
    hosts: int = 64
    seed_hosts: int = 1000
    patience: float = 5.0
    spam_share: float = 0.05


def budgets_of(scores: NDArray[np.float64], base: int, largest: int) -> NDArray[np.int64]:
    """A budget for each score: `base` for 0, `largest` for the highest, linear between, in whole pages."""
    highest = float(scores.max(initial=0.0))
    if highest <= 0:
        return np.full(len(scores), base, np.int64)
    return np.floor(base + (largest - base) * (scores / highest)).astype(np.int64)


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
    """Whether a new host is admitted to a domain that has `admitted` hosts, of which `free` needed no luck.

    If the n-th host is admitted with probability free / n, then of n hosts free * (1 + ln(n / free)) are admitted. So n
    follows from the number of admitted hosts, and hosts that were refused, and are found again and again, need not be
    counted. The hash of the name decides: a host that was refused once is refused for good.
    """
    if admitted < free:
        return True
    return xxh3_64_intdigest(host.encode()) < _HASHES * math.exp(-(admitted - free) / free)
