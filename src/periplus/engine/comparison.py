"""How much a page differs from the version before, leaving out what differs at every visit.

Each site teaches what that is (`content.churn`): every comparison is a lesson, also those that find nothing and those
where the server answers 304. First the pair is given a level by what is known so far, then it is learnt from. A
watch begins a site's lessons with two visits in a row, which differ in noise alone: until there were enough of them, no
such pair is a change. Later they are judged like others. Any other crawl, such as a refresh right after a crawl, visits
a page again because it may have changed: there no pair is in a row.

A visit after a signal that is mostly right is not a lesson: the page was visited because it differs, and on a site that
announces every change all that its pages say would seem to differ at every visit.

A 304 comes only where validators were sent, and they are sent only where they are trusted (`Revisiting.condition`). The
memory is part of the site's record. What was kept under another text rule (`content.digests`) is compared without its
text and its parts.

What many pages of a site gained or lost alike is its template's (`content.changes`), and no change of a page. The first
of these pages cannot be told apart: they are reported as changed, and again with the right level once that is known.
"""

from __future__ import annotations

from typing import NamedTuple

from periplus.content import (
    Churn,
    ChurnSettings,
    PageDifference,
    PageVersion,
    RevisedPage,
    TemplateEvidence,
    difference,
    has_text_rule,
    is_heading_same,
    page_version,
    read_from,
    settled_level,
)
from periplus.model import ChangeLevel, ParsedPage, UrlRecord
from periplus.store import SiteState
from periplus.urls import site_of

from .frontier import Revisiting, SiteRecords

_NOT_MODIFIED = 304
"""RFC 9110 section 15.4.5."""


class Compared(NamedTuple):
    """How much a page differs from the version before (`None`: there was none), and what to keep of its parts."""

    level: ChangeLevel | None
    blocks: bytes


class PageComparer:
    """Compares pages with their last version, and learns which parts of a site's pages are noise.

    A watch visits a page again for its changes after `Revisiting.shortest` seconds at the earliest: such a revisit must
    not count as a visit in a row, or its changes would be taken for noise.
    """

    def __init__(
        self,
        sites: SiteRecords,
        settings: ChurnSettings | None = None,
        revisits: Revisiting | None = None,
    ) -> None:
        self._sites = sites
        self._settings = settings or ChurnSettings()
        self._revisits = revisits or Revisiting()
        self._revised: list[RevisedPage] = []
        self._instant = min(self._settings.instant, self._revisits.shortest / 2)

    def compare(
        self, record: UrlRecord | None, page: ParsedPage, began_at: float, seen_at: float | None = None
    ) -> Compared:
        """Compare a page with what is known of its URL from before.

        The request for it began and was reported at these times; without the second at once.
        """
        if record is None or record.digests is None or not record.version:
            return Compared(None, page.blocks)
        old = _blocks(record)
        before, after = PageVersion(record.digests, record.version, old), page_version(page)
        found = difference(before, after)
        if read_from(record.version) is not page.read_from:
            return Compared(found.level, page.blocks)
        new = old or page.blocks if found.level is ChangeLevel.SAME else page.blocks
        site = self._sites.get(site_of(record.url))
        is_instant = self._is_instant(record, began_at)
        if not (old or is_instant):
            return self._judged(site, record, found, new, began_at if seen_at is None else seen_at)
        churn = Churn(self._settings, site.churn)
        is_heading_kept = is_heading_same(before.version, after.version)
        is_noise = is_instant and not churn.is_calibrated
        level = settled_level(found.level, churn, old, new, is_heading_same=is_heading_kept)
        if is_noise or level < ChangeLevel.ELSEWHERE:
            found = PageDifference(min(level, ChangeLevel.RAW_ONLY))
        compared = self._judged(site, record, found, new, began_at if seen_at is None else seen_at)
        if bool(old) == bool(new) and not self._revisits.is_announced(site, record):
            churn.observe(old, new, is_instant=is_instant)
            self._keep(site, churn)
        return compared

    def _judged(self, site: SiteState, record: UrlRecord, found: PageDifference, new: bytes, at: float) -> Compared:
        """The level of a difference, given what other pages of the site have gained."""
        if found.level < ChangeLevel.ELSEWHERE:
            self._count_unchanged(site)
            return Compared(found.level, new)
        template = site.value(TemplateEvidence) or TemplateEvidence()
        is_lesson = not self._revisits.is_announced(site, record)
        level, revised = template.judge(record.url, found, at, is_lesson=is_lesson)
        self._revised += revised
        site.keep(template)
        self._sites.changed(site)
        return Compared(level, new)

    def drain_revised(self) -> list[RevisedPage]:
        """The pages since the last call that were compared before and have another level now."""
        revised, self._revised = self._revised, []
        return revised

    def _count_unchanged(self, site: SiteState) -> None:
        template = site.value(TemplateEvidence)
        if template is not None:
            template.unchanged()
            site.keep(template)
            self._sites.changed(site)

    def unmodified(self, record: UrlRecord | None, at: float) -> None:
        """Learn from an answer of 304."""
        if record is None:
            return
        site = self._sites.get(site_of(record.url))
        self._count_unchanged(site)
        is_instant = self._is_instant(record, at)
        if _blocks(record) or is_instant:
            churn = Churn(self._settings, site.churn)
            churn.observe_unmodified(_blocks(record), is_instant=is_instant)
            self._keep(site, churn)

    def _keep(self, site: SiteState, churn: Churn) -> None:
        site.churn = churn.record
        self._sites.changed(site)

    def _is_instant(self, record: UrlRecord, at: float) -> bool:
        """Whether a watch saw the last version a moment ago: it was fetched then, or the server answered 304."""
        if not self._revisits.is_watching:
            return False
        seen_at = record.fetched_at if record.status == _NOT_MODIFIED else record.kept_at
        if seen_at is not None:
            seen_at = min(seen_at, self._revisits.visited_at(record))
        return seen_at is not None and 0.0 <= at - seen_at <= self._instant


def _blocks(record: UrlRecord) -> bytes:
    """The blocks of the last version, if they can be compared with those of pages read now."""
    return record.blocks if has_text_rule(record.version) else b""
