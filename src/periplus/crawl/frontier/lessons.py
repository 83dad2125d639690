"""What visits and signals teach of pages and their sites: the evidence that `policy.refresh` decides by.

Of every page 64 bytes are kept with its record, of every site what is known of its signals. A visit says whether the
page had changed; what a sitemap, a feed or somebody who calls says of a page is a signal, of which visits show what it
is worth. From time to time all pages of a site are looked at together, which is how a page profits from the others.
"""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
from msgspec.structs import replace

from periplus.formats.headers import read_last_modified
from periplus.model import (
    ChangeLevel,
    Discovery,
    Fetched,
    FetchOutcome,
    NotModified,
    Reading,
    Redirected,
    Site,
    Source,
    State,
    Url,
    UrlRecord,
)
from periplus.policy.refresh import (
    PageEvidence,
    SignalKind,
    SiteEvidence,
    learnt,
    pages_of,
    rate_of,
    reckoned,
    unpack_page,
    unpack_site,
)
from periplus.policy.sitemaps import SignalSettings, is_signal
from periplus.urls import site_of

from .rounds import Rounds
from .workbench import ActiveSite

_SAMPLE = 20_000
"""Pages of a site that are enough to know it by."""
_RECKON_AFTER, _RECKON_SHARE = 10, 0.05
"""A site is reckoned anew after so many visits, or this share of its pages."""
_MOVED_BY = 0.4
"""A page whose rate is believed to be so much another, as a logarithm, is told of."""
_MOVED, _QUIET, _SELDOM = 2, 20, 10
"""Changes with which validators moved, or visits without any change, until they are believed; and the changes with
which they must have moved for each with which they did not."""
_MOST = 1 << 20
_JUST_NOW = 3600.0
"""A page that says it changed so shortly before it was asked for shows a clock, most likely."""
_NOT_FOUND = (404, 410)
_KINDS = {
    Source.SITEMAP: SignalKind.SITEMAP,
    Source.ARCHIVE: SignalKind.SITEMAP,
    Source.FEED: SignalKind.FEED,
    Source.PING: SignalKind.PING,
}


class Lessons:
    """Learns; decides nothing."""

    def __init__(self, state: State, rounds: Rounds, *, is_watching: bool = False) -> None:
        self.is_watching = is_watching
        self._state = state
        self._rounds = rounds
        self._signals = SignalSettings()
        self._visits: dict[Site, int] = {}
        self._moved: list[tuple[Url, float]] = []

    def of_visit(
        self,
        active: ActiveSite,
        before: UrlRecord,
        after: UrlRecord,
        outcome: FetchOutcome,
        reading: Reading | None,
        now: float,
    ) -> PageEvidence:
        """What is known of a page after a visit that ended, well or for good."""
        page = unpack_page(before.evidence)
        if reading is not None and reading.level is not None and before.validators is not None:
            _compare(active, reading.level, is_same=before.validators == after.validators)
        if isinstance(outcome, NotModified) or (reading is not None and isinstance(outcome, Fetched)):
            return self._seen(active, page, after, reading, now)
        if page.visited_at and (isinstance(outcome, Redirected) or after.status in _NOT_FOUND):
            # a page that was there is not: that is a change, though not one to come back for
            return learnt(page, unpack_site(active.state.signals), True, now)[0]
        return page

    def _seen(
        self, active: ActiveSite, page: PageEvidence, after: UrlRecord, reading: Reading | None, now: float
    ) -> PageEvidence:
        if not page.visited_at:
            return page.first_visited(now, _age(after, now))
        is_changed = reading is not None and reading.level is not None and reading.level >= ChangeLevel.MAJOR
        site = unpack_site(active.state.signals)
        page, site_after = learnt(page, site, is_changed, now)
        if site_after != site:
            active.state.signals = site_after.pack()
            active.is_changed = True
        self._count(active, now)
        return page

    def believes_validators(self, active: ActiveSite) -> bool:
        """Whether 304 means that a page is unchanged. Some servers say so whatever has changed: trust is earned.

        Validators have moved with the page, hardly ever failed to, or pages stay as they are.
        """
        site = active.state
        return site.stuck * _SELDOM <= site.moved and (site.moved >= _MOVED or site.quiet >= _QUIET)

    def _count(self, active: ActiveSite, now: float) -> None:
        """From time to time all pages of a site are looked at together."""
        visits = self._visits[active.site] = self._visits.get(active.site, 0) + 1
        pages = unpack_site(active.state.signals).pages
        if visits >= max(_RECKON_AFTER, _RECKON_SHARE * min(pages, _SAMPLE)):
            del self._visits[active.site]
            active.state.signals = self._reckon(active.site, unpack_site(active.state.signals), now).pack()
            active.is_changed = True

    def _reckon(self, site: Site, known: SiteEvidence, now: float) -> SiteEvidence:
        """What all pages of a site say of it. Those of which it says something else than before are noted."""
        kept = ((record.url, record.evidence) for record in self._state.records.of_site(site) if record.evidence)
        some = list(islice(kept, _SAMPLE))
        if not some:  # it has failed and moved pages only
            return known
        urls, evidence = zip(*some, strict=True)
        pages = pages_of(b"".join(evidence))
        after, rates = reckoned(known, pages, now)
        if self.is_watching:
            before = np.array([rate_of(unpack_page(each), known) for each in evidence])
            moved = np.flatnonzero(np.abs(np.log(rates / before)) > _MOVED_BY)
            self._moved += [(urls[page], float(rates[page])) for page in moved]
        return after

    def moved(self, but: Url) -> list[UrlRecord]:
        """The records of pages of which something else is believed since this was last asked; not of one at hand."""
        moved, self._moved = dict(self._moved), []
        moved.pop(but, None)
        records = [record for record in self._state.records.get(list(moved)) if record is not None and record.evidence]
        return [_believed(record, moved[record.url]) for record in records]

    def heard(self, discovery: Discovery, known: UrlRecord) -> UrlRecord:
        """Somebody tells of a page that is known: the record with the date that it is said to have, and the signal."""
        lastmod = discovery.hints.lastmod
        kind = _KINDS.get(discovery.source)
        if kind is None or (lastmod is None and kind is not SignalKind.PING):
            return known
        if lastmod is None:
            return self._told(known, kind)
        at, before = discovery.found_at, -math.inf if known.lastmod is None else known.lastmod.at
        is_told = is_signal(before, lastmod, known.fetched_at, at, 0.0, self._signals)
        if lastmod.at <= before:
            return known
        known = replace(known, lastmod=lastmod)
        if not is_told:
            return self._told_late(known, kind, lastmod.at)
        if known.evidence:
            self._lagged(site_of(known.url), kind, lastmod.at + lastmod.granularity.seconds / 2, at)
        return self._told(known, kind)

    def _told(self, known: UrlRecord, kind: SignalKind) -> UrlRecord:
        if not known.evidence:
            return known
        return replace(known, evidence=unpack_page(known.evidence).told(kind).pack())

    def _told_late(self, known: UrlRecord, kind: SignalKind, modified_at: float) -> UrlRecord:
        """A visit came before the signal. Who tells of every change a day late tells of every change all the same."""
        page = unpack_page(known.evidence)
        late = page.told_late(kind, modified_at)
        return known if late is page else replace(known, evidence=late.pack())

    def _lagged(self, site: Site, kind: SignalKind, named_at: float, now: float) -> None:
        evidence = self.evidence_of(site)
        self._rounds.note_signals(site, evidence.with_kind(kind, evidence.of(kind).heard(named_at, now)).pack())

    def polled(self, site: Site, source: Source, listed: int, moved: int, *, is_generated: bool) -> None:
        """A file of a site was read again, and says of so many pages that they changed."""
        kind = _KINDS[source]
        evidence = self.evidence_of(site)
        after = evidence.with_kind(kind, evidence.of(kind).polled(listed, moved, is_generated=is_generated))
        self._rounds.note_signals(site, after.pack())

    def named(self, site: Site, listed: int, anew: int) -> None:
        """A page that leads to new ones names so many others, some of which it did not name before.

        It hardly does so to say that they changed: that is believed only once visits have shown it.
        """
        evidence = self.evidence_of(site)
        hub = replace(evidence.of(SignalKind.HUB), is_doubted=True).polled(listed, anew)
        self._rounds.note_signals(site, evidence.with_kind(SignalKind.HUB, hub).pack())

    def evidence_of(self, site: Site) -> SiteEvidence:
        """What is known of a site's signals, and of its pages together."""
        active = self._rounds.bench.get(site)
        state = active.state if active is not None else self._state.sites.get([site])[0]
        return unpack_site(b"" if state is None else state.signals)

    def meet(self, site: Site, now: float) -> None:
        """Look at the pages of a site together, if nobody ever has."""
        known = self.evidence_of(site)
        if self.is_watching and not known.pages:
            self._rounds.note_signals(site, self._reckon(site, known, now).pack())


def _compare(active: ActiveSite, level: ChangeLevel, *, is_same: bool) -> None:
    """A page was fetched again, whole: did its validators tell what it tells itself?"""
    site = active.state
    if level < ChangeLevel.MAJOR:
        site.quiet = min(site.quiet + is_same, _MOST)
    elif is_same:
        site.stuck = min(site.stuck + 1, _MOST)
    else:
        site.moved = min(site.moved + 1, _MOST)
    active.is_changed = True


def _believed(record: UrlRecord, rate: float) -> UrlRecord:
    """With another rate; a page that was visited once has none of its own, but that of its date and site."""
    page = unpack_page(record.evidence)
    return replace(record, evidence=replace(page, rate=rate).pack()) if page.ring else record


def _age(record: UrlRecord, now: float) -> float | None:
    """How long ago a page was changed when it was first seen, as far as anybody says."""
    if record.lastmod is not None:
        modified_at: float | None = record.lastmod.at
    else:
        said = None if record.validators is None else record.validators.last_modified
        modified_at = None if said is None else read_last_modified(said, now)
    return None if modified_at is None or modified_at > now - _JUST_NOW else now - modified_at
