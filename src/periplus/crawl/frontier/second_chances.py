"""Who names a seed again wants it tried again, if it could not be had: its site may be there by now.

A site that cannot be reached is given up after some attempts, or nothing would ever end; what waits there is refused
with the reason. That was the truth of a moment. A crawl that is continued begins with its seeds, and where one of them
or its site was given up for such a reason it begins anew: the site is looked up, asked for its robots.txt, and for all
that was refused meanwhile. A site that takes turns just now has its chance another time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from periplus.model import Discovery, Queued, Site, SiteState, Source, State, UrlRecord
from periplus.urls import site_of

from .admission import Admission
from .esteem import Esteem
from .politeness import PolitenessSettings, rest_after
from .retries import is_of_the_moment
from .rounds import Rounds

_AT_ONCE, _MOST = 1000, 100_000
"""So many URLs of a site are queued together, and in all: others have their chance the next time."""


class SecondChances:
    """Gives them."""

    def __init__(
        self,
        state: State,
        rounds: Rounds,
        admission: Admission,
        *,
        politeness: PolitenessSettings,
        esteem: Esteem | None,
    ) -> None:
        self._state = state
        self._politeness = politeness
        self._rounds = rounds
        self._admission = admission
        self._esteem = esteem

    def give(self, discoveries: Sequence[Discovery], now: float) -> Iterator[Queued]:
        """Queue again what was given up for want of an answer at the sites of the seeds among these."""
        seeds = [discovery.url for discovery in discoveries if discovery.source is Source.SEED]
        if not seeds:
            return
        sites = [site_of(seed) for seed in seeds]
        records, states = self._state.records.get(seeds), self._state.sites.get(sites)
        known = zip(sites, records, states, strict=True)
        for site in dict.fromkeys(site for site, record, state in known if _is_given_up(record, state)):
            if self._rounds.bench.get(site) is None:
                yield from self._begin_anew(site, now)

    def _begin_anew(self, site: Site, now: float) -> Iterator[Queued]:
        state = _asked_anew(self._rounds.state_of(site))
        state.ready_at = max(state.ready_at, now + rest_after(self._politeness, state.delay, state.last_duration))
        self._state.sites.put([state])
        failed = (record.url for record in self._state.records.of_site(site) if _has_failed(record))
        urls = list(islice(failed, _MOST))
        for start in range(0, len(urls), _AT_ONCE):
            found = self._state.records.get(urls[start : start + _AT_ONCE])
            records = [record for record in found if record is not None]
            self._state.records.put([replace(record, reason="", failures=0, status=None) for record in records])
            entries = [self._admission.entry(_told(record))[2] for record in records]
            if self._esteem is None:
                self._state.queues.push(entries)
            else:
                self._esteem.revive(entries)
            yield from entries


def _is_given_up(record: UrlRecord | None, site: SiteState | None) -> bool:
    return (record is not None and _has_failed(record)) or (site is not None and is_of_the_moment(site.retired))


def _has_failed(record: UrlRecord) -> bool:
    """Whether a page was given up so. Files have their own way (`crawl.sitemaps`); their records have a fragment."""
    return not record.visits and is_of_the_moment(record.reason) and "#" not in record.url


def _told(record: UrlRecord) -> Discovery:
    """How a URL was told of, as far as its record knows."""
    first = record.first_seen[0]
    return Discovery(record.url, first.source, first.at, record.depth, redirects=record.redirects)


def _asked_anew(site: SiteState) -> SiteState:
    """The state of a site, of which nobody knows whether it answers."""
    site.retired = "" if is_of_the_moment(site.retired) else site.retired
    site.failures = site.robots_tries = site.robots_redirects = 0
    site.robots_at = None
    site.robots_expire_at = site.ip_expires_at = 0.0
    return site
