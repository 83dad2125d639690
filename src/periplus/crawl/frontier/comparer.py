"""How much a page differs from the version before, once what is different at every visit is left out of account.

What that is each site teaches (`content.churn`): every comparison is one lesson more, also those that find nothing, and
those of which the server says itself that there is nothing to find. First a level is given, by what is known so far;
then the pair is learnt from. Two visits in a row, with which a site's lessons should begin, differ in noise alone:
until there were enough of them, no such pair is a change. Later they are judged like others, for somebody may come back
at once because he was told of a change.

A 304 comes only where validators were sent, and those are sent only where they are believed (`refresher`).

The memory is part of what is kept of a site, and durable with the records of its pages, in the same commit: what a page
has taught counts once. Whoever goes through the same answers again after a crash learns the same, one by one or several
at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from periplus.content import Churn, ChurnSettings, change_since, is_heading_same, settled_level
from periplus.model import ChangeLevel, Page, Site, UrlRecord
from periplus.urls import site_of

_NOT_MODIFIED = 304
"""RFC 9110 section 15.4.5."""


class Compared(NamedTuple):
    """How much a page differs from the version before (`None`: there was none), and what to keep of its parts."""

    level: ChangeLevel | None
    blocks: bytes


class Comparer:
    """Compares pages, and learns. `recall` and `note` are where the memory of a site is kept; without, it is not."""

    def __init__(
        self,
        settings: ChurnSettings | None = None,
        *,
        recall: Callable[[Site], bytes] = lambda _site: b"",
        note: Callable[[Site, bytes], None] = lambda _site, _churn: None,
    ) -> None:
        self._settings = settings or ChurnSettings()
        self._recall = recall
        self._note = note
        self._learnt: dict[Site, Churn] = {}

    def compare(self, record: UrlRecord | None, page: Page, at: float) -> Compared:
        """A page that was fetched at some time, and what is known of its URL from before."""
        if record is None or record.digests is None or not record.version:
            return Compared(None, page.blocks)
        level = change_since(record.digests, record.version, page)
        old = record.blocks
        new = old or page.blocks if level is ChangeLevel.SAME else page.blocks
        is_instant = self._is_instant(record, at)
        if not (old or is_instant):
            return Compared(level, new)
        churn = self._churn(record)
        if is_instant and not churn.is_calibrated:
            level = min(level, ChangeLevel.RAW_ONLY)
        else:
            level = settled_level(level, churn, old, new, is_heading_same=is_heading_same(record.version, page))
        if bool(old) == bool(new):
            churn.observe(old, new, is_instant=is_instant)
        return Compared(level, new)

    def unmodified(self, record: UrlRecord | None, at: float) -> None:
        """A server has said that a page is as it was."""
        is_instant = record is not None and self._is_instant(record, at)
        if record is not None and (record.blocks or is_instant):
            self._churn(record).observe_unmodified(record.blocks, is_instant=is_instant)

    def keep(self) -> None:
        """Have what was learnt since the last time kept."""
        for site, churn in self._learnt.items():
            self._note(site, churn.packed())
        self._learnt.clear()

    def _churn(self, record: UrlRecord) -> Churn:
        site = site_of(record.url)
        churn = self._learnt.get(site)
        if churn is None:
            churn = self._learnt[site] = Churn.unpacked(self._recall(site), self._settings)
        return churn

    def _is_instant(self, record: UrlRecord, at: float) -> bool:
        """Whether the version that is kept was there a moment ago: it had come then, or the server said so."""
        seen_at = record.fetched_at if record.status == _NOT_MODIFIED else record.kept_at
        return seen_at is not None and 0.0 <= at - seen_at <= self._settings.instant
