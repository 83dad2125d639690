"""What visits and signals teach of pages and their sites: the evidence that `policy.refresh` decides by.

Of every page 64 bytes are kept with its record, of every site what is known of its signals. A visit says whether the
page had changed; what a sitemap, a feed or somebody who calls says of a page is a signal, of which visits show what it
is worth. From time to time all pages of a site are looked at together, which is how a page profits from the others.
"""

from __future__ import annotations

from itertools import islice

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
    UrlRecord,
)
from periplus.policy.refresh import (
    PageEvidence,
    SignalKind,
    SiteEvidence,
    learnt,
    pages_of,
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
_RECKON_AFTER, _RECKON_SHARE = 20, 0.05
"""A site is reckoned anew after so many visits, or this share of its pages."""
_NOT_FOUND = (404, 410)
_KINDS = {
    Source.SITEMAP: SignalKind.SITEMAP,
    Source.ARCHIVE: SignalKind.SITEMAP,
    Source.FEED: SignalKind.FEED,
    Source.PING: SignalKind.PING,
}


class Lessons:
    """Learns; decides nothing."""

    def __init__(self, state: State, rounds: Rounds) -> None:
        self._state = state
        self._rounds = rounds
        self._signals = SignalSettings()
        self._visits: dict[Site, int] = {}

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
        if reading is not None and reading.level is ChangeLevel.MAJOR and before.validators is not None:
            active.state.stuck += before.validators == after.validators
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

    def _count(self, active: ActiveSite, now: float) -> None:
        """From time to time all pages of a site are looked at together."""
        visits = self._visits[active.site] = self._visits.get(active.site, 0) + 1
        pages = unpack_site(active.state.signals).pages
        if visits >= max(_RECKON_AFTER, _RECKON_SHARE * min(pages, _SAMPLE)):
            del self._visits[active.site]
            kept = (record.evidence for record in self._state.records.of_site(active.site) if record.evidence)
            joined = b"".join(islice(kept, _SAMPLE))
            site, _ = reckoned(unpack_site(active.state.signals), pages_of(joined), now)
            active.state.signals = site.pack()
            active.is_changed = True

    def heard(self, discovery: Discovery, known: UrlRecord) -> UrlRecord:
        """Somebody tells of a page that is known: the record with the date that it is said to have, and the signal."""
        lastmod = discovery.hints.lastmod
        kind = _KINDS.get(discovery.source)
        if kind is None or (lastmod is None and kind is not SignalKind.PING):
            return known
        at, before = discovery.found_at, known.lastmod
        is_told = kind is SignalKind.PING or (
            lastmod is not None
            and before is not None
            and is_signal(before.at, lastmod, known.fetched_at, at, 0.0, self._signals)
        )
        if lastmod is not None and (before is None or lastmod.at > before.at):
            known = replace(known, lastmod=lastmod)
        if not is_told or not known.evidence:
            return known
        if lastmod is not None:
            self._lagged(site_of(known.url), kind, lastmod.at, at)
        return replace(known, evidence=unpack_page(known.evidence).told(kind).pack())

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
        """What is known of a site's signals."""
        active = self._rounds.bench.get(site)
        state = active.state if active is not None else self._state.sites.get([site])[0]
        return unpack_site(b"" if state is None else state.signals)


def _age(record: UrlRecord, now: float) -> float | None:
    """How long ago a page was changed when it was first seen, as far as anybody says."""
    if record.lastmod is not None:
        modified_at: float | None = record.lastmod.at
    else:
        said = None if record.validators is None else record.validators.last_modified
        modified_at = None if said is None else read_last_modified(said, now)
    return None if modified_at is None or modified_at > now else now - modified_at
