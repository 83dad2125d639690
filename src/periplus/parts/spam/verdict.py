"""From a probability of spam to what follows: less budget, later visits, and never silence.

Every classifier of spam is wrong often enough to hurt, so a probability is a multiplier. Nothing is refused, and only
with `may_retire` is a host left alone for good. A person's word wins: `trusted` and `banned` hold hosts or domains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from periplus.urls import domain_of

from .settings import SpamSettings

SPAM, DOUBTFUL, CLEAN, TRUSTED, BANNED = "spam", "doubtful", "clean", "trusted", "banned"
"""The verdicts: by probability, and by a person's word."""
SURE: Final = 0.95
"""Probability from which a host is a seed of anti-trust."""
LEAST_PAGES: Final = 20
"""Pages of a host from which its probability counts for its domain."""


def overridden(host: str, score: float, settings: SpamSettings) -> float:
    """The probability after a person's word; a trusted host under a banned domain is trusted."""
    names = {host, domain_of(host) or host}
    if host in settings.trusted:
        return 0.0
    if host in settings.banned:
        return 1.0
    if names.intersection(settings.trusted):
        return 0.0
    return 1.0 if names.intersection(settings.banned) else score


def word_of(host: str, score: float, settings: SpamSettings) -> str:
    """The verdict on a host."""
    final = overridden(host, score, settings)
    if final != score or _is_named(host, settings):
        return TRUSTED if final == 0.0 else BANNED
    if score > settings.spam_above:
        return SPAM
    return DOUBTFUL if score > settings.doubtful_above else CLEAN


def _is_named(host: str, settings: SpamSettings) -> bool:
    return bool({host, domain_of(host) or host}.intersection((*settings.trusted, *settings.banned)))


def domain_score(hosts: Sequence[tuple[float, int]]) -> float:
    """The probability of a domain from those of its hosts and their pages: the largest that rests on enough pages.

    Without such a host it is the mean: one page of one host must not condemn a shared domain.
    """
    known = [score for score, pages in hosts if pages >= LEAST_PAGES]
    return max(known) if known else sum(score for score, _ in hosts) / max(len(hosts), 1)


def worth_multiplier(score: float) -> float:
    """The factor for the worth of a page's visits and for its ordering score."""
    return (1.0 - score) ** 2


def budget_multiplier(score: float) -> float:
    """The factor for the budget of a domain: 1 up to a score of 0.5, beyond it falling to 0.1 at 1."""
    return 1.0 - 0.9 * score if score > 0.5 else 1.0


def is_retired(score: float, pages: int, settings: SpamSettings) -> bool:
    """Whether a host is visited no more."""
    return settings.may_retire and score > settings.retire_above and pages >= settings.retire_pages
