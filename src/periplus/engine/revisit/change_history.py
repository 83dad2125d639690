"""Evidence of change: the results of visits and signals, by which `engine.revisit` decides.

Each page keeps 64 bytes of evidence in its record, each site what is known of its signals. A visit shows whether the
page had changed. A sitemap, a feed or a ping that reports a change is a signal, and later visits show how far such
signals can be trusted. Now and then all pages of a site are estimated together, which lets a page with few visits
profit from the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice

import numpy as np
from msgspec.structs import replace

from periplus.formats.headers import read_last_modified
from periplus.model import (
    BodyReading,
    ChangeLevel,
    Discovery,
    Fetched,
    FetchOutcome,
    NotModified,
    Site,
    Source,
    Url,
    UrlRecord,
)
from periplus.policy.lastmod import is_signal
from periplus.store import SiteState, State
from periplus.urls import site_of

from .evidence import PageEvidence, SignalKind, is_changed_of, unpack_page
from .evidence_columns import pages_of
from .freshness import GONE
from .ledger import fit_site
from .page_rates import learnt, rate_of
from .records import LiveSiteRecords
from .signals import NO_EVIDENCE, NO_PROOF, ArchiveProof, SignalTrust, SiteEvidence
from .weights import RefreshRetirementSettings

_SAMPLE = 20_000
"""Maximum number of pages from which a site is estimated."""
_ESTIMATE_AFTER, _ESTIMATE_SHARE = 10, 0.05
"""A site is estimated again after this many revisits, or after revisits of this share of its pages, if that is more."""
_REVISED_BY = 0.4
"""A page is rescheduled when its estimated change rate moves by more than this, as a natural logarithm."""
_MOVED, _QUIET, _SELDOM = 2, 20, 10
"""Validators are trusted once they moved with this many changes, or stayed the same on this many visits without a
change; and as long as they moved with this many changes for each change with which they did not."""
_MAX_COUNT = 1 << 20
"""Bound of the counters behind that trust."""
_JUST_NOW = 3600.0
"""Seconds: a page whose date is that close to the request most likely shows a clock."""
_MOSTLY_RIGHT = 0.5
"""Precision from which visits after a signal of a kind are not learnt from: the signal selected pages that changed."""
_KINDS = {
    Source.SITEMAP: SignalKind.SITEMAP,
    Source.ARCHIVE: SignalKind.SITEMAP,
    Source.FEED: SignalKind.FEED,
    Source.PING: SignalKind.PING,
}

Revised = dict[Url, float]
"""Pages whose estimated change rate has moved, with the new rate."""


class ChangeHistory:
    """Learns from visits and signals; decides nothing."""

    def __init__(
        self, state: State, sites: LiveSiteRecords, trust: SignalTrust | None = None, *, is_watching: bool
    ) -> None:
        self._is_watching = is_watching
        self._state = state
        self._sites = sites
        self.trust = trust or SignalTrust()
        """The trust in signals of all sites."""

    # visits

    def visited(
        self,
        site: SiteState,
        before: UrlRecord,
        after: UrlRecord,
        outcome: FetchOutcome,
        reading: BodyReading | None,
        now: float,
    ) -> tuple[PageEvidence, Revised]:
        """The evidence of a page after a visit, and the other pages of its site whose rate is estimated differently."""
        page = unpack_page(before.evidence)
        if reading is not None and reading.level is not None and before.validators is not None:
            _count_validators(site, reading.level, is_same=before.validators == after.validators)
        if is_page(outcome, reading):
            return self._seen(site, page, after, reading, now)
        if page.visited_at and _is_elsewhere(after.status) and not _is_elsewhere(before.status):
            # the page is no longer there: one change, however often that is found
            return learnt(page, site.value(SiteEvidence) or NO_EVIDENCE, True, now)[0], {}
        return page, {}

    def _seen(
        self, site: SiteState, page: PageEvidence, after: UrlRecord, reading: BodyReading | None, now: float
    ) -> tuple[PageEvidence, Revised]:
        if not page.visited_at:
            return page.first_visited(now, _age(after, now)), {}
        is_changed = reading is not None and reading.level is not None and reading.level >= ChangeLevel.MAJOR
        if is_in_archive(after):
            is_reported = page.signals[SignalKind.SITEMAP] > 0
            site.keep((site.value(ArchiveProof) or NO_PROOF).checked(is_reported=is_reported, is_changed=is_changed))
        known = site.value(SiteEvidence) or NO_EVIDENCE
        page, evidence = learnt(page, known, is_changed, now)
        self.trust = self.trust.learnt(known, evidence)
        site.keep(evidence)
        return page, self._count_visit(site, now)

    def _count_visit(self, site: SiteState, now: float) -> Revised:
        """Estimate the site again after enough revisits."""
        site.visits_since_estimate += 1
        pages = (site.value(SiteEvidence) or NO_EVIDENCE).pages
        if site.visits_since_estimate < max(_ESTIMATE_AFTER, _ESTIMATE_SHARE * min(pages, _SAMPLE)):
            return {}
        site.visits_since_estimate = 0
        return self._estimate(site, now)

    def trusts_validators(self, site: SiteState) -> bool:
        """Whether a 304 means that a page is unchanged; some servers always send it.

        True once validators have moved with changed pages and hardly ever failed to, or if pages do not change.
        """
        return site.stuck * _SELDOM <= site.moved and (site.moved >= _MOVED or site.quiet >= _QUIET)

    # estimates of whole sites

    def evidence_of(self, site: Site) -> SiteEvidence:
        """The evidence about the signals of a site, and about its pages together."""
        return self._sites.get(site).value(SiteEvidence) or NO_EVIDENCE

    def estimate_first(self, site: Site, now: float) -> Revised:
        """Estimate a site for the first time; return the pages whose rate changes."""
        state = self._sites.get(site)
        if not self._is_watching or (state.value(SiteEvidence) or NO_EVIDENCE).pages:
            return {}
        revised = self._estimate(state, now)
        self._sites.changed(state)
        return revised

    def _estimate(self, site: SiteState, now: float) -> Revised:
        known = site.value(SiteEvidence) or NO_EVIDENCE
        evidence, revised = self._estimated(site.site, known, now)
        self.trust = self.trust.learnt(known, evidence)
        site.keep(evidence)
        return revised

    def estimated(self, site: Site, now: float) -> SiteEvidence:
        """The evidence about a site from its pages, without storing it."""
        return self._estimated(site, self.evidence_of(site), now)[0]

    def _estimated(self, site: Site, known: SiteEvidence, now: float) -> tuple[SiteEvidence, Revised]:
        kept = ((record.url, record.evidence) for record in self._state.records.of_site(site) if record.evidence)
        some = list(islice(kept, _SAMPLE))
        if not some:  # all of its pages failed or redirect
            return known, {}
        urls, packed = zip(*some, strict=True)
        after, rates = fit_site(known.begun_with(self.trust), pages_of(b"".join(packed)), now)
        if not self._is_watching:
            return after, {}
        before = np.array([rate_of(unpack_page(each), known) for each in packed])
        moved = np.flatnonzero(np.abs(np.log(rates / before)) > _REVISED_BY)
        return after, {urls[page]: float(rates[page]) for page in moved}

    def records_of(self, revised: Mapping[Url, float]) -> list[UrlRecord]:
        """The records of pages with their new rates."""
        records = self._state.records.get(list(revised))
        return [_with_rate(record, revised[record.url]) for record in records if record is not None and record.evidence]

    # signals

    def mentioned(self, discovery: Discovery, known: UrlRecord) -> UrlRecord:
        """The record of a known page after a source mentioned it: with the date it gives, and the signal."""
        lastmod = discovery.hints.lastmod
        kind = _KINDS.get(discovery.source)
        if kind is None or (lastmod is None and kind is not SignalKind.PING):
            return known
        if lastmod is None:
            if known.evidence:
                self._hear(site_of(known.url), kind, None, discovery.found_at)
            return _signalled(known, kind)
        at, before = discovery.found_at, -math.inf if known.lastmod is None else known.lastmod.at
        is_new = is_signal(before, lastmod, known.fetched_at, at)
        if lastmod.at <= before:
            return known
        known = replace(known, lastmod=lastmod)
        if not is_new:
            if discovery.source is Source.ARCHIVE:
                self._check_late(known, lastmod.at)
            return _signalled_late(known, kind, lastmod.at)
        if known.evidence:
            self._hear(site_of(known.url), kind, lastmod.at + lastmod.granularity.seconds / 2, at)
        return _signalled(known, kind)

    def _check_late(self, known: UrlRecord, modified_at: float) -> None:
        """An archive reports a change that came before the last visit: it had not missed it."""
        page = unpack_page(known.evidence)
        late = page.signalled_late(SignalKind.SITEMAP, modified_at)
        state = self._sites.get(site_of(known.url))
        for before, after in zip(page.ring, late.ring, strict=True):
            if before != after and (proof := state.value(ArchiveProof)) is not None:
                state.keep(proof.reported_late(is_changed=is_changed_of(before)))
                self._sites.changed(state)

    def _hear(self, site: Site, kind: SignalKind, named_at: float | None, now: float) -> None:
        """Count how late a signal is. The first of a site are trusted as far as those of other sites."""
        known = self.evidence_of(site)
        evidence = known.begun_with(self.trust)
        if named_at is not None:
            evidence = evidence.with_kind(kind, evidence.of(kind).heard(named_at, now))
        if evidence is not known:
            self._keep(site, evidence)

    def file_read(self, site: Site, source: Source, listed: int, moved: int, *, is_generated: bool) -> None:
        """Record that a sitemap or feed was read again: `moved` of its `listed` pages have a later date than before."""
        kind = _KINDS[source]
        evidence = self.evidence_of(site)
        self._keep(site, evidence.with_kind(kind, evidence.of(kind).polled(listed, moved, is_generated=is_generated)))

    def hub_read(self, site: Site, listed: int, added: int) -> None:
        """Record a visit to a hub, a page that links to new pages: it has `listed` links, `added` of them new.

        Such links are hardly meant as signals of change: they are believed only once visits have confirmed them.
        """
        evidence = self.evidence_of(site)
        hub = replace(evidence.of(SignalKind.HUB), is_doubted=True).polled(listed, added)
        self._keep(site, evidence.with_kind(SignalKind.HUB, hub))

    def _keep(self, site: Site, evidence: SiteEvidence) -> None:
        state = self._sites.get(site)
        state.keep(evidence)
        self._sites.changed(state)


def _is_elsewhere(status: int | None) -> bool:
    """Whether a page redirected or was not found."""
    return status in GONE or (status is not None and 300 <= status < 400 and status != 304)


def is_in_archive(record: UrlRecord) -> bool:
    """Whether a metadata archive lists a page."""
    return any(seen.source is Source.ARCHIVE for seen in record.first_seen)


def is_page(outcome: FetchOutcome, reading: BodyReading | None) -> bool:
    """Whether a visit found a page: it was fetched and read, or is unchanged."""
    return isinstance(outcome, NotModified) or (reading is not None and isinstance(outcome, Fetched))


def _count_validators(site: SiteState, level: ChangeLevel, *, is_same: bool) -> None:
    """Count whether the validators of a page that was fetched again in full moved when it did."""
    if level < ChangeLevel.MAJOR:
        site.quiet = min(site.quiet + is_same, _MAX_COUNT)
    elif is_same:
        site.stuck = min(site.stuck + 1, _MAX_COUNT)
    else:
        site.moved = min(site.moved + 1, _MAX_COUNT)


def _signalled(known: UrlRecord, kind: SignalKind) -> UrlRecord:
    if not known.evidence:
        return known
    return replace(known, evidence=unpack_page(known.evidence).signalled(kind).pack())


def _signalled_late(known: UrlRecord, kind: SignalKind, modified_at: float) -> UrlRecord:
    """Add a signal about a change before the last visit: a source that is a day late still reports every change."""
    page = unpack_page(known.evidence)
    late = page.signalled_late(kind, modified_at)
    return known if late is page else replace(known, evidence=late.pack())


def _with_rate(record: UrlRecord, rate: float) -> UrlRecord:
    """With another rate; a page that was visited once has none of its own, only that of its date and site."""
    page = unpack_page(record.evidence)
    return replace(record, evidence=replace(page, rate=rate).pack()) if page.ring else record


def _age(record: UrlRecord, now: float) -> float | None:
    """Seconds since the last change of a page that is seen for the first time, if it or a sitemap gives a date."""
    if record.lastmod is not None:
        modified_at: float | None = record.lastmod.at
    else:
        header = None if record.validators is None else record.validators.last_modified
        modified_at = None if header is None else read_last_modified(header, now)
    return None if modified_at is None or modified_at > now - _JUST_NOW else now - modified_at


def named_again_at(discovery: Discovery, known: UrlRecord, retirement: RefreshRetirementSettings) -> float:
    """When a page that was not there is asked again because something names it.

    At once if it was reported as changed since; otherwise what names it may be as old as the page was.
    """
    lastmod, visited_at = discovery.hints.lastmod, known.fetched_at or 0.0
    if discovery.source is Source.PING or (lastmod is not None and lastmod.at > visited_at):
        return discovery.found_at
    return max(discovery.found_at, visited_at + retirement.gone_pause)


def is_announced(site: SiteState, record: UrlRecord) -> bool:
    """Whether a signal of a kind that is mostly right on this site announced a change of the page."""
    known = site.value(SiteEvidence)
    if known is None or not record.evidence:
        return False
    signals = unpack_page(record.evidence).signals
    return any(count and kind.precision >= _MOSTLY_RIGHT for count, kind in zip(signals, known.kinds, strict=True))
