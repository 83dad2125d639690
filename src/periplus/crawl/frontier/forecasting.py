"""What a visit will have to be worth in the long run, with a budget: from some pages that stand for all.

As if there were no signals and no new pages, and every site could be asked at any time: the first price of a watch, how
far it moves when the budget does, and what parts of a crawl bid for visits (`policy.refresh.market`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from periplus.model import State, Url
from periplus.policy.refresh import price_for, rate_of, unpack_page
from periplus.urls import site_of

from .lessons import Lessons
from .panel import is_there
from .valuing import Valuer


class Forecast:
    """Of pages that were looked at. Nothing is known before `look`."""

    def __init__(self, state: State, lessons: Lessons, valuer: Valuer) -> None:
        self._state = state
        self._lessons = lessons
        self._tables, self._weigh = valuer.appraiser.tables, valuer.weigh
        self._rates = self._weights = np.zeros(0)
        self._share = 1.0

    def look(self, urls: Sequence[Url], pages: int) -> None:
        """At these, who stand for so many pages: what is known of each by now."""
        known = [record for record in self._state.records.get(list(urls)) if record is not None and is_there(record)]
        evidence = [unpack_page(record.evidence) for record in known]
        latest = max((page.visited_at for page in evidence), default=0.0)
        for site in {site_of(record.url) for record in known}:
            self._lessons.meet(site, latest)
        sites = [self._lessons.evidence_of(site_of(record.url)) for record in known]
        self._rates = np.array([rate_of(page, site) for page, site in zip(evidence, sites, strict=True)])
        self._weights = np.array([self._weigh(record.url) for record in known])
        self._share = min(len(urls) / max(pages, 1), 1.0)

    def price(self, visits_a_day: float) -> float | None:
        """With so many visits; `None` where no page is known."""
        if not len(self._rates):
            return None
        none = np.zeros(len(self._rates))
        kinds, seen = self._tables.outlooks(self._rates, none, none)
        return price_for(self._tables, kinds, seen, self._weights, visits_a_day * self._share)
