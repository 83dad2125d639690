"""Values visits to pages, and lists the next ones with their reasons for the display of a watch.

Every kind of visit is valued in one currency: days of a fresh copy of a page of mean weight. `engine.revisit` has the
formulas; `VisitValuer` feeds them from the records: the evidence of a page, its weight, and the new pages it links to.
`UpcomingVisits` decides nothing: it reads the queues and the revisit queue, which hold the decisions.
"""

from __future__ import annotations

import math
from itertools import islice

from msgspec.structs import replace

from periplus.model import Lane, NextVisit, Url, UrlRecord
from periplus.policy.weights import PageWeights
from periplus.store import SiteState, State
from periplus.urls import site_of

from .change_history import is_in_archive
from .evidence import PageEvidence, SignalKind, unpack_page
from .gains import NO_SITE_GAINS, SiteGains, unpack_page_gains
from .objectives import objective
from .page_rates import rate_of
from .page_value import Appraisal, Appraiser, Hub, Price
from .records import SiteReader
from .settings import RefreshSettings
from .signals import NO_EVIDENCE, ArchiveProof, SiteEvidence
from .weights import WORTHLESS, new_page_worth, why_worthless, worth_its_cost

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
        page, evidence = unpack_page(record.evidence), site.value(SiteEvidence) or NO_EVIDENCE
        if not page.pending and self.waits_for_archives(record, site):  # its copy is fresh: a visit is worth nothing
            due_at, rate = page.visited_at + self.settings.longest, rate_of(page, evidence)
            return Appraisal(0.0, self.appraiser.price.value, due_at, rate, 1.0, 0)
        weight, hub = self._weight(record.url, record.gains, site), self.hub(record.gains, site)
        return self.appraiser.appraise(page, evidence, weight, now, hub)

    def due_at(self, record: UrlRecord, site: SiteState, now: float) -> float:
        """When a visit will be worth its price."""
        page, evidence = unpack_page(record.evidence), site.value(SiteEvidence) or NO_EVIDENCE
        if not page.pending and self.waits_for_archives(record, site):
            return page.visited_at + self.settings.longest
        weight, hub = self._weight(record.url, record.gains, site), self.hub(record.gains, site)
        return self.appraiser.due_at(page, evidence, weight, now, hub)

    def waits_for_archives(self, record: UrlRecord, site: SiteState) -> bool:
        """Whether a page is visited again only if a metadata archive reports a change (`engine.revisit`)."""
        proof = site.value(ArchiveProof)
        return proof is not None and proof.is_exact(self.settings) and is_in_archive(record)

    def first_visit(self, url: Url, lane: Lane, site: SiteState) -> float:
        """The value of the first visit to a page."""
        chance = (site.value(SiteGains) or NO_SITE_GAINS).chance(is_listed=lane is Lane.SITEMAPS)
        return new_page_worth(self.weights(url), chance, (site.value(SiteEvidence) or NO_EVIDENCE).rate)

    def hub(self, gains: bytes, site: SiteState) -> Hub | None:
        """How many new pages a page links to, and the value of each; `None` if it links to none.

        Objectives that do not count days cannot compare new pages with fresh copies; they have no hubs.
        """
        new_a_day = unpack_page_gains(gains).new_a_day if gains and self._objective.counts_days else 0.0
        if not new_a_day:
            return None
        return Hub(new_a_day, (site.value(SiteGains) or NO_SITE_GAINS).chance(is_listed=False))

    def _weight(self, url: Url, gains: bytes, site: SiteState) -> float:
        weight = self.weights(url)
        if self._uses_plain_weights:
            return weight
        of_site = site.value(SiteGains) or NO_SITE_GAINS
        if self._objective.is_by_share:
            weight *= unpack_page_gains(gains).replaced or of_site.replaced or _UNKNOWN_SHARE
        return worth_its_cost(weight, of_site.unchanged_share, self.settings.unchanged_cost)


TOLD, WORTH, LEADS, SOONEST, LATEST = "told", "worth", "leads", "soonest", "latest"
CHANCE, FAILED, MOVED = "chance", "failed", "moved"

_MAX_LANES, _MAX_SITES = 2_000, 50
"""Bounds of the search for waiting revisits: lanes passed over, and sites whose queues are read."""
_LOOK_AHEAD = 4
"""RevisitQueue entries that are read for each visit listed, since some of them will be postponed."""
_SAMPLED_BELOW = 0.5
"""A page that waits and is worth less than this share of the price was sampled at random."""
_NEARLY = 0.001
"""Relative tolerance within which an interval counts as the shortest or longest."""
_MUCH_SOONER = 0.7
"""A page is visited for its links if they shorten its interval to less than this share."""


class UpcomingVisits:
    """Lists the next visits of one shard. It has a valuer of its own: nothing it does changes a decision."""

    def __init__(
        self,
        state: State,
        sites: SiteReader,
        settings: RefreshSettings | None = None,
        weights: PageWeights | None = None,
    ) -> None:
        self._state = state
        self._sites = sites
        self._valuer = VisitValuer(settings, weights)

    def list(self, price: float, now: float, limit: int) -> list[NextVisit]:
        """The first `limit`: those that wait with their sites, then those that are due next."""
        records, queues = self._state.records, self._state.queues
        sites = (site for site, lane, _ in islice(queues.waiting(), _MAX_LANES) if lane is Lane.REFRESH)
        heads = [head.entry for site in islice(sites, _MAX_SITES) for head in queues.heads(site, Lane.REFRESH, limit)]
        first = sorted(heads, key=lambda entry: entry.level)[:limit]
        waiting = records.get([entry.url for entry in first])
        due = records.get([url for url, _ in self._state.calendar.due(math.inf, _LOOK_AHEAD * limit)])
        found = (self.of(record, price, now) for record in due if record is not None)
        later = [visit for visit in found if visit.reason != WORTHLESS]
        return [
            *(self.of(record, price, now, is_waiting=True) for record in waiting if record is not None),
            *sorted(later, key=lambda visit: (visit.due_at, visit.url)),
        ][:limit]

    def of(self, record: UrlRecord, price: float, now: float, *, is_waiting: bool = False) -> NextVisit:
        """The next visit of one page."""
        due_at = now if is_waiting or record.due_at is None else record.due_at
        if why_worthless(self._valuer.weights(record.url)):
            return NextVisit(record.url, due_at, WORTHLESS)
        if record.failures or not record.evidence:
            return NextVisit(record.url, due_at, FAILED if record.failures else MOVED, is_waiting)
        kept = self._sites.get(site_of(record.url))
        page, site = unpack_page(record.evidence), kept.value(SiteEvidence) or NO_EVIDENCE
        self._valuer.appraiser.price = Price(price)
        seen = self._valuer.appraise(record, kept, now)
        worth = seen.worth / price
        if not is_waiting:
            due_at = max(due_at, seen.due_at)  # a page that is due too early is postponed until then
        if _is_signalled(page, site):
            reason = TOLD
        elif is_waiting and worth < _SAMPLED_BELOW:
            reason = CHANCE
        elif self._is_for_links(record, seen, now):
            reason = LEADS
        else:
            reason = self._bound(seen.due_at - page.visited_at)
        return NextVisit(record.url, due_at, reason, is_waiting, seen.rate, seen.fresh, worth, _by_kind(page))

    def _is_for_links(self, record: UrlRecord, seen: Appraisal, now: float) -> bool:
        """Whether it would be visited much later if it linked to no new pages."""
        if not record.gains:
            return False
        alone = self._valuer.appraise(replace(record, gains=b""), self._sites.get(site_of(record.url)), now)
        visited_at = unpack_page(record.evidence).visited_at
        return seen.due_at - visited_at < _MUCH_SOONER * (alone.due_at - visited_at)

    def _bound(self, seconds: float) -> str:
        settings = self._valuer.settings
        if seconds <= settings.shortest * (1.0 + _NEARLY):
            return SOONEST
        return LATEST if seconds >= settings.longest * (1.0 - _NEARLY) else WORTH


def _is_signalled(page: PageEvidence, site: SiteEvidence) -> bool:
    return any(count and kappa for count, kappa in zip(page.signals, site.kappas, strict=True))


def _by_kind(page: PageEvidence) -> dict[str, int]:
    return {SignalKind(kind).name.lower(): count for kind, count in enumerate(page.signals) if count}
