"""The results of an epoch and the decision that followed: the memory of a balance.

Utilities are computed from it (`utilities`): of the lowest-scored pages of a source, the share that entered the
collection. Ten pages are little evidence, so the guarded form counts earlier epochs with `decay`, and starts from the
prior Beta(1,1): equal evidence, equal utility.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from msgspec import Struct

from .settings import BalanceSettings

HISTORY = 20
"""Epochs kept for display; an older one would count less than 1 in 1,000 with a decay of 0.7."""


class Move(IntEnum):
    """The decision after an epoch; `word` is its name in tables and output."""

    TO_SITEMAPS = 0
    """The last pages from sitemaps were worth more."""
    TO_DISCOVERY = 1
    """The last pages from links were worth more."""
    TIE = 2
    """They were worth the same, and nothing moved."""
    TIE_TO_SITEMAPS = 3
    """They were worth the same; the strict form moves to sitemaps then."""
    ONE_SOURCE = 4
    """One of the sources returned no page whose result is known, so nothing could be compared."""
    UNUSED = 5
    """The better source could not even use what it had."""
    AT_BOUND = 6
    """The better source already has its maximum: the other one keeps a sample."""

    FIXED = 7
    """The shares were fixed by the settings."""

    @property
    def word(self) -> str:
        """In kebab case."""
        return self.name.lower().replace("_", "-")

    @property
    def direction(self) -> int:
        """1 where sitemaps got more, -1 where links did, 0 where nothing moved."""
        return (self in (Move.TO_SITEMAPS, Move.TIE_TO_SITEMAPS)) - (self is Move.TO_DISCOVERY)


class Epoch(Struct, frozen=True, array_like=True, gc=False):
    """One judged epoch: how it was shared, the results of the two samples, and the decision."""

    sitemaps: int
    """The quota of sitemaps (kS)."""
    discovery: int
    """The quota of links (kD)."""
    sitemaps_good: int
    sitemaps_known: int
    """Of the lowest-scored pages from sitemaps: those unique and indexable, and those whose result was known."""
    discovery_good: int
    discovery_known: int
    """The same of links."""
    move: Move

    @property
    def sitemaps_utility(self) -> float | None:
        """The share of good pages in the sample; `None` if it is empty."""
        return self.sitemaps_good / self.sitemaps_known if self.sitemaps_known else None

    @property
    def discovery_utility(self) -> float | None:
        """The same of links."""
        return self.discovery_good / self.discovery_known if self.discovery_known else None


Finding = tuple[int, int]
"""Good pages, and pages known, of one sample."""


def utility(last: Finding, earlier: Sequence[Finding], settings: BalanceSettings) -> float:
    """The expected value of one more page of a source, by its last sample and by `earlier` ones, the oldest first."""
    good, known = last
    if settings.is_strict:
        return good / settings.delta
    goods, knowns, weight = float(good), float(known), 1.0
    for good, known in reversed(earlier):
        weight *= settings.decay
        goods += weight * good
        knowns += weight * known
    return (goods + 1.0) / (knowns + 2.0)
