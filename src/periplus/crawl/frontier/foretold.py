"""Which pages are visited again next, and why: what a person asks of a crawl that comes back.

Nothing is decided here. What `refresher` decided lies in the queues and in the calendar; here it is looked at once
more, and each visit gets its reason, a word:

* `told`: somebody whom we believe says that the page changed
* `worth`: a visit will be worth its price by then, since the page has probably changed
* `soonest`: it would be worth it sooner, but no page is visited more often than the settings allow
* `leads`: it has probably not changed, but leads to new pages from time to time
* `latest`: it is never worth it, and looked at all the same, so that dead pages are found
* `chance`: drawn by lot, so that what is believed of pages stays unbiased
* `failed`: the last visit failed, and is tried again
* `moved`: it led elsewhere the last time
* `worthless`: it weighs nothing, so that there will be none; at that time its weight is looked up again
"""

from __future__ import annotations

import math
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import Lane, State, Url, UrlRecord
from periplus.policy.refresh import (
    WORTHLESS,
    Appraisal,
    PageEvidence,
    Price,
    RefreshSettings,
    SignalKind,
    SiteEvidence,
    Weigher,
    unpack_page,
    unpack_site,
    why_worthless,
)
from periplus.urls import site_of

from .valuing import Valuer

TOLD, WORTH, LEADS, SOONEST, LATEST = "told", "worth", "leads", "soonest", "latest"
CHANCE, FAILED, MOVED = "chance", "failed", "moved"

_LANES, _SITES = 2_000, 50
"""So many lanes are gone through, and of so many sites queues are looked at; if more wait, any of them may be next."""
_LOOKED_AT = 4
"""Times as many of the calendar are looked at, since some of them will sleep on."""
_DRAWN_BELOW = 0.5
"""Who waits and is worth no more than this share of the price was drawn by lot."""
_NEARLY = 0.001
_MUCH_SOONER = 0.7
"""Who would be visited so much sooner for the new pages that it leads to is visited for them."""


class NextVisit(Struct, frozen=True):
    """A visit that is to come, and why (`reason`, see the top).

    `is_waiting`: its time has come, and it waits for its site's turn; else it is due at `due_at`. As far as it is
    known: `rate` are changes a day, `fresh` is the probability that the copy is what the page says now, `worth` what a
    visit is worth now, in prices, and `signals` how many of each kind came since the last.
    """

    url: Url
    due_at: float
    reason: str
    is_waiting: bool = False
    rate: float | None = None
    fresh: float | None = None
    worth: float | None = None
    signals: dict[str, int] = {}


class Foretelling:
    """Says what the queues and the calendar of one shard have in store."""

    def __init__(self, state: State, settings: RefreshSettings | None = None, weigh: Weigher | None = None) -> None:
        self._state = state
        self._valuer = Valuer(settings, weigh)

    def next(self, price: float, now: float, limit: int) -> list[NextVisit]:
        """The first `limit`: those that wait with their sites, then those that are due next."""
        records, queues = self._state.records, self._state.queues
        sites = (site for site, lane, _ in islice(queues.waiting(), _LANES) if lane is Lane.REFRESH)
        heads = [head.entry for site in islice(sites, _SITES) for head in queues.heads(site, Lane.REFRESH, limit)]
        first = sorted(heads, key=lambda entry: entry.level)[:limit]
        waiting = records.get([entry.url for entry in first])
        due = records.get([url for url, _ in self._state.calendar.due(math.inf, _LOOKED_AT * limit)])
        found = (self.of(record, price, now) for record in due if record is not None)
        later = [visit for visit in found if visit.reason != WORTHLESS]
        return [
            *(self.of(record, price, now, is_waiting=True) for record in waiting if record is not None),
            *sorted(later, key=lambda visit: (visit.due_at, visit.url)),
        ][:limit]

    def of(self, record: UrlRecord, price: float, now: float, *, is_waiting: bool = False) -> NextVisit:
        """The next visit of one page."""
        due_at = now if is_waiting or record.due_at is None else record.due_at
        if why_worthless(self._valuer.weigh(record.url)):
            return NextVisit(record.url, due_at, WORTHLESS)
        if record.failures or not record.evidence:
            return NextVisit(record.url, due_at, FAILED if record.failures else MOVED, is_waiting)
        kept = self._state.sites.get([site_of(record.url)])[0]
        page, site = unpack_page(record.evidence), unpack_site(b"" if kept is None else kept.signals)
        self._valuer.appraiser.price = Price(price)
        seen = self._valuer.appraise(record, kept, now)
        worth = seen.worth / price
        if not is_waiting:
            due_at = max(due_at, seen.due_at)  # who is looked at too early sleeps on until then
        if _is_told(page, site):
            reason = TOLD
        elif is_waiting and worth < _DRAWN_BELOW:
            reason = CHANCE
        elif self._leads(record, seen, now):
            reason = LEADS
        else:
            reason = self._bound(seen.due_at - page.visited_at)
        return NextVisit(record.url, due_at, reason, is_waiting, seen.rate, seen.fresh, worth, _by_kind(page))

    def _leads(self, record: UrlRecord, seen: Appraisal, now: float) -> bool:
        """Whether it would be visited much later if it led nowhere."""
        if not record.gains:
            return False
        kept = self._state.sites.get([site_of(record.url)])[0]
        alone = self._valuer.appraise(replace(record, gains=b""), kept, now)
        visited_at = unpack_page(record.evidence).visited_at
        return seen.due_at - visited_at < _MUCH_SOONER * (alone.due_at - visited_at)

    def _bound(self, seconds: float) -> str:
        settings = self._valuer.settings
        if seconds <= settings.shortest * (1.0 + _NEARLY):
            return SOONEST
        return LATEST if seconds >= settings.longest * (1.0 - _NEARLY) else WORTH


def _is_told(page: PageEvidence, site: SiteEvidence) -> bool:
    return any(count and kappa for count, kappa in zip(page.signals, site.kappas, strict=True))


def _by_kind(page: PageEvidence) -> dict[str, int]:
    return {SignalKind(kind).name.lower(): count for kind, count in enumerate(page.signals) if count}
