"""How the budget of a site moved between links and sitemaps: facts for `periplus info`."""

from __future__ import annotations

from msgspec import Struct

from periplus.policy.balance import Epoch, SiteBalance
from periplus.policy.settings import BalanceSettings
from periplus.store import SiteState


class EpochFacts(Struct, frozen=True):
    """One epoch: its shares, the results for the lowest-scored pages of either source, and what followed.

    `*_utility` is the share of these pages that entered the collection as unique and indexable.
    """

    sitemaps: int
    links: int
    sitemaps_good: int
    sitemaps_known: int
    sitemaps_utility: float | None
    links_good: int
    links_known: int
    links_utility: float | None
    move: str


class BalanceFacts(Struct, frozen=True):
    """How the budget of a site is shared now, how many epochs were judged, and the last of them, the oldest first."""

    sitemaps: int
    links: int
    epochs: int
    history: tuple[EpochFacts, ...]


def balance_of(kept: SiteState, settings: BalanceSettings) -> BalanceFacts | None:
    """How the budget of a site moved; `None`: it never had two sources to choose from."""
    if kept.balance is None:
        return None
    balance = SiteBalance(settings, kept.balance)
    return BalanceFacts(*balance.quotas, balance.judged, tuple(_epoch_facts(epoch) for epoch in balance.history))


def _epoch_facts(epoch: Epoch) -> EpochFacts:
    return EpochFacts(
        epoch.sitemaps,
        epoch.discovery,
        epoch.sitemaps_good,
        epoch.sitemaps_known,
        epoch.sitemaps_utility,
        epoch.discovery_good,
        epoch.discovery_known,
        epoch.discovery_utility,
        epoch.move.word,
    )
