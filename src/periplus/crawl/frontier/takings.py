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
from periplus.policy.refresh import (
    DAY,
    MOST_LINKS,
    NO_GAINS,
    PageGains,
    SiteGains,
    unpack_page,
    unpack_page_gains,
    unpack_site_gains,
)
from periplus.urls import fingerprint

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
        self._leading: dict[Url, float] = {}

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
            self._lead(after.url, visited_at)
            page, gains = _compared(page, gains, before, after, outcome, reading)
        site.gains = gains.pack()
        return page.pack()

    def _lead(self, url: Url, before: float) -> None:
        self._leading[url] = before
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

    def linked(self, url: Url, links: Iterable[Url]) -> tuple[int, list[UrlRecord]]:
        """A page that was visited again leads here: how many of its site's pages it names; and to whom it did not lead.

        Only of pages that lead to new ones from time to time, and only those count that were last seen before the visit
        before: what has them named came since then.
        """
        before = self._leading.get(url)
        [record] = [None] if before is None else self._state.records.get([url])
        gains = NO_GAINS if record is None else unpack_page_gains(record.gains)
        if record is None or before is None or not gains.spawned:
            return 0, []
        home = url[: url.index("/", 8) + 1]
        ours = list(dict.fromkeys(link for link in links if link.startswith(home) and link != url))[:MOST_LINKS]
        gains, anew = gains.leads([fingerprint(link) for link in ours])
        self._state.records.put([replace(record, gains=gains.pack())])
        known = self._state.records.get([ours[place] for place in anew])
        seen = [each for each in known if each is not None and each.evidence and not each.failures]
        return len(ours), [each for each in seen if each.fetched_at is not None and each.fetched_at < before]


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
