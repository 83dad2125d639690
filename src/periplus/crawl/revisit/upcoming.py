"""Which pages are visited again next, and why: the display of a watch.

Nothing is decided here. The queues and the calendar hold what was decided; each visit gets one of these reasons:

* `told`: a trusted signal says that the page changed
* `worth`: a visit will be worth its price by then, since the page has probably changed
* `soonest`: it would be worth it sooner, but settings limit how often a page is visited
* `leads`: it has probably not changed, but links to new pages from time to time
* `latest`: it is never worth it, and visited at the longest interval so that dead pages are found
* `chance`: sampled at random, so that estimates stay unbiased
* `failed`: the last visit failed, and is tried again
* `moved`: it was a redirect the last time
* `worthless`: its weight is 0; it is not visited, and its weight is looked up again at that time
"""

from __future__ import annotations

import math
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import Lane, Url, UrlRecord
from periplus.policy.refresh import (
    NO_EVIDENCE,
    WORTHLESS,
    Appraisal,
    PageEvidence,
    PageWeights,
    Price,
    RefreshSettings,
    SignalKind,
    SiteEvidence,
    unpack_page,
    why_worthless,
)
from periplus.store import State
from periplus.urls import site_of

from .records import SiteReader
from .visit_value import VisitValuer

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


class NextVisit(Struct, frozen=True):
    """A visit to come, and why (`reason`, see the module's docstring).

    `is_waiting`: it waits for its site's turn; otherwise it is due at `due_at`. As far as known: `rate` is in changes a
    day, `fresh` the probability that the copy is what the page says now, `worth` what a visit is worth now, in prices,
    and `signals` how many of each kind came since the last visit.
    """

    url: Url
    due_at: float
    reason: str
    is_waiting: bool = False
    rate: float | None = None
    fresh: float | None = None
    worth: float | None = None
    signals: dict[str, int] = {}


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
        page, site = unpack_page(record.evidence), kept.signals or NO_EVIDENCE
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
