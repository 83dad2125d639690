"""Settings of balance, duplicates, refresh and budgets of domains: cheap to import.

Every command reads settings, and most of those policies need arrays. `nearest` is the name that was probably meant
("did you mean"), for policies and kinds that users choose by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from msgspec import Struct

from periplus.model import ConfigError


def nearest(name: str, known: Iterable[str]) -> str:
    """The most similar known name; the first if none is similar."""
    names = list(known)
    return (get_close_matches(name[:100].lower(), names, n=1, cutoff=0.0) or names)[0]


_GROWTH, _GROWN = 1.5, 30
"""Number of epochs after which epochs no longer grow."""
_LEAST_SAMPLE = 5
"""Minimum number of pages of an epoch; fewer are not enough evidence."""
_STEEPNESS, _LONGEST_STEP = 4.0, 4.0
"""A difference of a quarter of a page makes one step; nothing makes more than four."""
_LARGEST_EPOCH = 100_000
"""Pages; a sample of half of it is what the largest site could have to remember."""


class BalanceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How pages are shared out between what links found and what sitemaps list."""

    epoch: int = 100
    """Pages of a site between two adjustments (the paper's Ncrawl)."""
    first_epoch: int = 20
    """Pages of the first epoch; each is half as long again as the one before, up to `epoch`."""
    step: float = 0.1
    """Share of an epoch that moves at once (the paper's epsilon)."""
    is_graded: bool = True
    """Scale a step with the measured difference, from one page to four steps."""
    share: float = 0.5
    """Share of sitemaps in the first epoch."""
    is_fixed: bool = False
    """Keep the share fixed."""
    decay: float = 0.3
    """Weight of an epoch's findings one epoch later; 0: only the last counts."""
    is_strict: bool = False
    """Follow Figure 8 as printed."""

    def __post_init__(self) -> None:
        """Refuse what cannot be shared out."""
        if not 2 <= self.epoch <= _LARGEST_EPOCH:
            raise ConfigError(f"epoch must be from 2 to {_LARGEST_EPOCH} pages, got {self.epoch}")
        if self.first_epoch < 2:
            raise ConfigError(f"first_epoch must be at least 2 pages, got {self.first_epoch}")
        if not 0.0 < self.step <= 0.5:
            raise ConfigError(f"step must be > 0 and <= 0.5, got {self.step}")
        if not 0.0 <= self.share <= 1.0:
            raise ConfigError(f"share must be from 0 to 1, got {self.share}")
        if not 0.0 <= self.decay < 1.0:
            raise ConfigError(f"decay must be >= 0 and < 1, got {self.decay}")

    @property
    def delta(self) -> int:
        """Pages of a step, and of a sample (line 3), in an epoch of full length; never more than half of it."""
        return min(max(round(self.step * self.epoch), 1), self.epoch // 2)

    def length(self, judged: int) -> int:
        """Pages of the epoch after `judged` others."""
        if self.is_strict or judged >= _GROWN:
            return self.epoch
        return min(self.epoch, int(self.first_epoch * _GROWTH**judged))

    def sample(self, length: int) -> int:
        """Pages that are looked at of either source in an epoch of this length: of a short one more than its share."""
        if length >= self.epoch:
            return self.delta
        return max(min(max(round(self.step * length), _LEAST_SAMPLE), length // 4), 1)

    def step_for(self, difference: float) -> int:
        """Pages that move at once, given how much more a page of one source is worth than one of the other.

        What a wrong share costs grows with the difference as well as with the time that it takes to correct it, and
        small differences between samples are mostly chance: so a step grows with the square. Then the split rests near
        the best one, and a source that turns bad late loses its budget as fast as one that was bad from the first.
        """
        if not self.is_graded or self.is_strict:
            return self.delta
        return max(1, round(self.delta * min((_STEEPNESS * difference) ** 2, _LONGEST_STEP)))

    def clamped(self, quota: int) -> int:
        """The nearest share of an epoch that leaves a sample to each source, so that both can still be judged.

        Where shares are fixed there is nothing to judge.
        """
        if self.is_fixed:
            return min(max(quota, 0), self.epoch)
        return min(max(quota, self.delta), self.epoch - self.delta)


VALUES: Final = 128


class DuplicateSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When two pages count as the same."""

    least_likeness: float = 0.9
    """Share of common shingles from which pages of different sites are near-duplicates."""
    least_likeness_on_site: float = 0.9
    """The same for pages of one site."""
    least_likeness_reordered: float = 0.7
    """The same for pages of one site with the same links."""
    fewest_values: int = 16
    """Minimum distinct values of a sketch; of shorter pages only exact copies are found."""

    def __post_init__(self) -> None:
        """Reject thresholds that all pages would meet, or none."""
        for name in ("least_likeness", "least_likeness_on_site", "least_likeness_reordered"):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} must be > 0 and <= 1, got {getattr(self, name)}")
        if not 0 <= self.fewest_values <= VALUES:
            raise ConfigError(f"fewest_values must be from 0 to {VALUES}, got {self.fewest_values}")


SCORES: Final = ("trust", "star", "networks", "none")
"""Values of the setting `[budgets] domain`."""


def check_score(name: str) -> None:
    """Raise `ConfigError` for a score that does not exist."""
    if name not in SCORES:
        raise ConfigError(f"unknown value of domain: {name[:100]!r}", hint=f"There are {', '.join(SCORES)}")
