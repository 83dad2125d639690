"""What visits bring besides changes: whether first visits paid, who leads to new pages, who answers with 304.

What is made of it is `policy.refresh.gains`; here it is taken from visits and kept with pages and sites, in the same
commit as their records, so that whoever goes through the same answers again after a crash learns the same once. A page
leads to a new one if its links were the first to tell of it, on a visit that was not the first, and the filters let it
in. Links to sites of other shards are not counted: what is new there is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from periplus.content import likeness
from periplus.model import (
    ChangeLevel,
    Fetched,
    FetchOutcome,
    Lane,
    NotModified,
    Reading,
    SiteState,
    State,
    Url,
    UrlRecord,
    Validators,
)
from periplus.policy.refresh import DAY, PageGains, SiteGains, unpack_page, unpack_page_gains, unpack_site_gains

_MOST_LEADING = 4096
"""Pages whose links may still be told, at most: those of a visit are told right after it."""


def credit(site: SiteState, lane: Lane, is_good: bool) -> None:
    """A page of a site was visited for the first time, and brought something unique that may be indexed, or not."""
    gains = unpack_site_gains(site.gains).first_visit(is_good, is_listed=lane is Lane.SITEMAPS)
    site.gains = gains.pack()


class Takings:
    """Takes what visits bring; decides nothing."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._leading: dict[Url, None] = {}

    def of_visit(
        self,
        site: SiteState,
        before: UrlRecord,
        after: UrlRecord,
        outcome: FetchOutcome,
        reading: Reading | None,
        now: float,
    ) -> bytes:
        """What is known of a page after a visit, packed; also its site learns."""
        visited_at = unpack_page(before.evidence).visited_at
        is_whole = isinstance(outcome, Fetched) and reading is not None
        if not visited_at or not (is_whole or isinstance(outcome, NotModified)):
            return before.gains
        gains = unpack_site_gains(site.gains).answered(is_unchanged=not is_whole)
        page = unpack_page_gains(before.gains).again(max(now - visited_at, 0.0) / DAY)
        if isinstance(outcome, Fetched) and reading is not None:
            self._lead(after.url)
            page, gains = _compared(page, gains, before, after, outcome, reading)
        site.gains = gains.pack()
        return page.pack()

    def _lead(self, url: Url) -> None:
        self._leading[url] = None
        if len(self._leading) > _MOST_LEADING:
            del self._leading[next(iter(self._leading))]

    @property
    def is_leading(self) -> bool:
        """Whether any page was visited again whose links may still be told."""
        return bool(self._leading)

    def spawned(self, new: Mapping[Url, int]) -> Iterable[UrlRecord]:
        """So many URLs are new that links of these pages were the first to tell of: the records of those visited again.

        What is made of the links of a page comes once, after its visit.
        """
        for url, number in new.items():
            if url not in self._leading:
                continue
            [record] = self._state.records.get([url])
            if record is not None and record.evidence:
                page = unpack_page(record.evidence)
                days = max(page.visited_at - page.watched_from, 0.0) / DAY
                yield replace(record, gains=unpack_page_gains(record.gains).led_to(number, days).pack())


def _compared(
    page: PageGains, site: SiteGains, before: UrlRecord, after: UrlRecord, outcome: Fetched, reading: Reading
) -> tuple[PageGains, SiteGains]:
    if reading.level is None:
        return page, site
    is_changed = reading.level >= ChangeLevel.MAJOR
    if is_changed:
        share = 1.0 - likeness(before.version, reading.version)
        page, site = page.changed(share), site.grew(share)
    said, says = _modified(before.validators), _modified(after.validators)
    if said is not None and says is not None:
        is_free = outcome.task.validators is None
        site = site.compared(is_moved=said != says, is_changed=is_changed, is_unconditional=is_free)
    return page, site


def _modified(validators: Validators | None) -> str | None:
    return None if validators is None else validators.last_modified
