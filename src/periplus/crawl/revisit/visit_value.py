"""The value of a visit to a page: from its evidence, its weight, and the new pages it links to.

Every kind of visit is valued in one currency: days of a fresh copy of a page of mean weight. `policy.refresh` has the
formulas; this module feeds them from the records.
"""

from __future__ import annotations

from periplus.model import Lane, Url, UrlRecord
from periplus.policy.refresh import (
    NO_EVIDENCE,
    NO_SITE_GAINS,
    Appraisal,
    Appraiser,
    Hub,
    PageWeights,
    RefreshSettings,
    new_page_worth,
    objective,
    rate_of,
    unpack_page,
    unpack_page_gains,
    worth_its_cost,
)
from periplus.store import SiteState

from .change_history import is_in_archive

_UNKNOWN_SHARE = 0.5
"""Share of a page that a change replaces, while no change was seen on its site."""


class VisitValuer:
    """Values visits under one price. `weights` has the weight of each page; a page of weight 0 is not revisited."""

    def __init__(self, settings: RefreshSettings | None = None, weights: PageWeights | None = None) -> None:
        self.settings = settings or RefreshSettings()
        self.appraiser = Appraiser(self.settings)
        self.weights = weights or PageWeights()
        self._objective = objective(self.settings.objective)
        self._uses_plain_weights = not self._objective.is_by_share and self.settings.unchanged_cost >= 1.0

    def appraise(self, record: UrlRecord, site: SiteState, now: float) -> Appraisal:
        """The value of a visit now, and when it will be worth its price."""
        page, evidence = unpack_page(record.evidence), site.signals or NO_EVIDENCE
        if not page.pending and self.waits_for_archives(record, site):  # its copy is fresh: a visit is worth nothing
            due_at, rate = page.visited_at + self.settings.longest, rate_of(page, evidence)
            return Appraisal(0.0, self.appraiser.price.value, due_at, rate, 1.0, 0)
        weight, hub = self._weight(record.url, record.gains, site), self.hub(record.gains, site)
        return self.appraiser.appraise(page, evidence, weight, now, hub)

    def due_at(self, record: UrlRecord, site: SiteState, now: float) -> float:
        """When a visit will be worth its price."""
        page, evidence = unpack_page(record.evidence), site.signals or NO_EVIDENCE
        if not page.pending and self.waits_for_archives(record, site):
            return page.visited_at + self.settings.longest
        weight, hub = self._weight(record.url, record.gains, site), self.hub(record.gains, site)
        return self.appraiser.due_at(page, evidence, weight, now, hub)

    def waits_for_archives(self, record: UrlRecord, site: SiteState) -> bool:
        """Whether a page is visited again only if a metadata archive reports a change (`policy.refresh`)."""
        return site.archives is not None and site.archives.is_exact(self.settings) and is_in_archive(record)

    def first_visit(self, url: Url, lane: Lane, site: SiteState) -> float:
        """The value of the first visit to a page."""
        chance = (site.gains or NO_SITE_GAINS).chance(is_listed=lane is Lane.SITEMAPS)
        return new_page_worth(self.weights(url), chance, (site.signals or NO_EVIDENCE).rate)

    def hub(self, gains: bytes, site: SiteState) -> Hub | None:
        """How many new pages a page links to, and the value of each; `None` if it links to none.

        Objectives that do not count days cannot compare new pages with fresh copies; they have no hubs.
        """
        new_a_day = unpack_page_gains(gains).new_a_day if gains and self._objective.counts_days else 0.0
        if not new_a_day:
            return None
        return Hub(new_a_day, (site.gains or NO_SITE_GAINS).chance(is_listed=False))

    def _weight(self, url: Url, gains: bytes, site: SiteState) -> float:
        weight = self.weights(url)
        if self._uses_plain_weights:
            return weight
        of_site = site.gains or NO_SITE_GAINS
        if self._objective.is_by_share:
            weight *= unpack_page_gains(gains).replaced or of_site.replaced or _UNKNOWN_SHARE
        return worth_its_cost(weight, of_site.unchanged_share, self.settings.unchanged_cost)
