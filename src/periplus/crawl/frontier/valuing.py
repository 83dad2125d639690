"""What a visit would be worth, of a page as it is kept: its evidence, its weight, and where it leads.

One currency for all: days of a fresh copy of a page of mean weight. `policy.refresh` has the formulas; here what is
kept is put together for them.
"""

from __future__ import annotations

from periplus.model import Lane, SiteState, Url, UrlRecord
from periplus.policy.refresh import (
    Appraisal,
    Appraiser,
    Hub,
    RefreshSettings,
    SiteEvidence,
    Weigher,
    new_page_worth,
    objective,
    unpack_page,
    unpack_page_gains,
    unpack_site,
    unpack_site_gains,
    worth_its_cost,
)

_UNKNOWN_SHARE = 0.5
"""How much of a page a change replaces, where none was seen on its site."""


class Valuer:
    """Appraises pages under one price. `weigh` says how much each matters; 0: it is never visited again."""

    def __init__(self, settings: RefreshSettings | None = None, weigh: Weigher | None = None) -> None:
        self.settings = settings or RefreshSettings()
        self.appraiser = Appraiser(self.settings)
        self.weigh = weigh or Weigher()
        self._wanted = objective(self.settings.objective)
        self._is_plain = not self._wanted.is_by_share and self.settings.unchanged_cost >= 1.0

    def appraise(self, record: UrlRecord, site: SiteState | None, now: float) -> Appraisal:
        """What a visit is worth now, and when it will be worth its price."""
        page, told = unpack_page(record.evidence), _evidence(site)
        weight, hub = self._weight(record.url, record.gains, site), self.hub(record.gains, site)
        return self.appraiser.appraise(page, told, weight, now, hub)

    def due_at(self, record: UrlRecord, site: SiteState | None, now: float) -> float:
        """When it is to be looked at again."""
        page, told = unpack_page(record.evidence), _evidence(site)
        weight, hub = self._weight(record.url, record.gains, site), self.hub(record.gains, site)
        return self.appraiser.due_at(page, told, weight, now, hub)

    def new(self, url: Url, lane: Lane, site: SiteState) -> float:
        """What a first visit is worth."""
        chance = unpack_site_gains(site.gains).chance(is_listed=lane is Lane.SITEMAPS)
        return new_page_worth(self.weigh(url), chance, unpack_site(site.signals).rate)

    def hub(self, gains: bytes, site: SiteState | None) -> Hub | None:
        """Where a page leads to new ones: each is worth its weight a day, if it is a page that is kept.

        Where worth is not in days there is no telling what these are worth beside it.
        """
        new_a_day = unpack_page_gains(gains).new_a_day if gains and self._wanted.counts_days else 0.0
        if not new_a_day:
            return None
        return Hub(new_a_day, unpack_site_gains(b"" if site is None else site.gains).chance(is_listed=False))

    def _weight(self, url: Url, gains: bytes, site: SiteState | None) -> float:
        weight = self.weigh(url)
        if self._is_plain or site is None:
            return weight
        of_site = unpack_site_gains(site.gains)
        if self._wanted.is_by_share:
            weight *= unpack_page_gains(gains).replaced or of_site.replaced or _UNKNOWN_SHARE
        return worth_its_cost(weight, of_site.unchanged_share, self.settings.unchanged_cost)


def _evidence(site: SiteState | None) -> SiteEvidence:
    return unpack_site(b"" if site is None else site.signals)
