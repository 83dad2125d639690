"""Settings of the budgets of domains."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ...model import ConfigError

SCORES: Final = ("trust", "star", "networks", "none")
"""Values of the setting `[budgets] domain`."""


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


def check_score(name: str) -> None:
    """Raise `ConfigError` for a score that does not exist."""
    if name not in SCORES:
        raise ConfigError(f"unknown value of domain: {name[:100]!r}", hint=f"There are {', '.join(SCORES)}")
