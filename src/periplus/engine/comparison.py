"""How much a page differs from the version before, leaving out what differs at every visit.

Each site teaches what that is (`content.churn`): every comparison is a lesson, also those that find nothing and those
where the server answers 304. First the pair is given a level by what is known so far, then it is learnt from. Two
visits in a row, with which a site's lessons should begin, differ in noise alone: until there were enough of them, no
such pair is a change. Later they are judged like others, for a signal may send us back at once.

A visit after a signal that is mostly right is not a lesson: the page was visited because it differs, and on a site that
announces every change all that its pages say would seem to differ at every visit.

A 304 comes only where validators were sent, and they are sent only where they are trusted (`Revisiting.condition`). The
memory is part of the site's record. What was kept under another text rule (`content.digests`) is compared without its
text and its parts.

What changed on several pages of a site in the same way is its template (`content.template`), and no change of a page.
"""

from __future__ import annotations

from typing import NamedTuple

from periplus.content import (
    Churn,
    ChurnSettings,
    TemplateChange,
    change_since,
    changed_parts,
    has_new_part,
    has_text_rule,
    is_heading_same,
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

    A page may be visited again for its changes after `Revisiting.shortest` seconds: such a revisit must not count as a
    visit in a row, or its changes would be taken for noise.
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
        self._instant = min(self._settings.instant, self._revisits.shortest / 2)

    def compare(self, record: UrlRecord | None, page: ParsedPage, at: float) -> Compared:
        """Compare a page fetched at a time with what is known of its URL from before."""
        if record is None or record.digests is None or not record.version:
            return Compared(None, page.blocks)
        level = change_since(record.digests, record.version, page)
        if read_from(record.version) is not page.read_from:
            return Compared(level, page.blocks)
        old = _blocks(record)
        new = old or page.blocks if level is ChangeLevel.SAME else page.blocks
        is_instant = self._is_instant(record, at)
        if not (old or is_instant):
            return Compared(self._without_template(level, record, page, old, at), new)
        site, churn = self._churn(record)
        if is_instant and not churn.is_calibrated:
            level = min(level, ChangeLevel.RAW_ONLY)
        else:
            level = settled_level(level, churn, old, new, is_heading_same=is_heading_same(record.version, page))
            level = self._without_template(level, record, page, old, at)
        if bool(old) == bool(new) and not self._revisits.is_announced(site, record):
            churn.observe(old, new, is_instant=is_instant)
            self._keep(site, churn)
        return Compared(level, new)

    def _without_template(
        self, level: ChangeLevel, record: UrlRecord, page: ParsedPage, old: bytes, at: float
    ) -> ChangeLevel:
        """The level, unless what changed is the template of the site; a part that was replaced is a major change."""
        if level < ChangeLevel.MINOR or record.digests is None or not is_heading_same(record.version, page):
            return level
        parts = changed_parts(old, page.blocks, is_main_same=record.digests.main == page.digests.main)
        if parts:
            site = self._sites.get(site_of(record.url))
            template = site.value(TemplateChange) or TemplateChange()
            is_template = template.explains(parts, at)
            site.keep(template)
            self._sites.changed(site)
            if is_template:
                return ChangeLevel.TEMPLATE
        is_new = level is ChangeLevel.MINOR and bool(old) and has_new_part(old, page.blocks)
        return ChangeLevel.MAJOR if is_new else level

    def unmodified(self, record: UrlRecord | None, at: float) -> None:
        """Learn from an answer of 304."""
        is_instant = record is not None and self._is_instant(record, at)
        if record is not None and (_blocks(record) or is_instant):
            site, churn = self._churn(record)
            churn.observe_unmodified(_blocks(record), is_instant=is_instant)
            self._keep(site, churn)

    def _churn(self, record: UrlRecord) -> tuple[SiteState, Churn]:
        site = self._sites.get(site_of(record.url))
        return site, Churn(self._settings, site.churn)

    def _keep(self, site: SiteState, churn: Churn) -> None:
        site.churn = churn.record
        self._sites.changed(site)

    def _is_instant(self, record: UrlRecord, at: float) -> bool:
        """Whether the last version was seen a moment ago: it was fetched then, or the server answered 304."""
        seen_at = record.fetched_at if record.status == _NOT_MODIFIED else record.kept_at
        if seen_at is not None:
            seen_at = min(seen_at, self._revisits.visited_at(record))
        return seen_at is not None and 0.0 <= at - seen_at <= self._instant


def _blocks(record: UrlRecord) -> bytes:
    """The blocks of the last version, if they can be compared with those of pages read now."""
    return record.blocks if has_text_rule(record.version) else b""
