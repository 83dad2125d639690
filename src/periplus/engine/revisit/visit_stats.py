"""Results of visits besides changes: useful first visits, links to new pages, answers of 304.

`engine.revisit.gains` says what is made of these counts; they are kept in the records of pages and sites. A page gets
credit for a new page if its links were the first to mention it, on a visit that was not the page's first, and the
filters admitted it. Links to sites of other shards are not counted: what is new there is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from periplus.content import likeness
from periplus.model import BodyReading, ChangeLevel, Fetched, FetchOutcome, NotModified, Url, UrlRecord, Validators
from periplus.store import SiteState, State
from periplus.urls import fingerprint

from .evidence import DAY, unpack_page
from .gains import MOST_LINKS, NO_SITE_GAINS, PageGains, SiteGains, unpack_page_gains


class VisitStats:
    """Counts the results of visits.

    Between `visited` and `end_of_input` it remembers which pages were revisited, with the time of the visit before:
    only the links of those can be credited with new pages.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._revisited: dict[Url, float] = {}

    def visited(
        self,
        site: SiteState,
        before: UrlRecord,
        after: UrlRecord,
        outcome: FetchOutcome,
        reading: BodyReading | None,
        now: float,
    ) -> bytes:
        """Count a visit with its site; the packed `PageGains` of its page."""
        visited_at = unpack_page(before.evidence).visited_at
        is_whole = isinstance(outcome, Fetched) and reading is not None
        if not visited_at or not (is_whole or isinstance(outcome, NotModified)):
            return before.gains
        gains = (site.value(SiteGains) or NO_SITE_GAINS).answered(is_unchanged=not is_whole)
        page = unpack_page_gains(before.gains).again(max(now - visited_at, 0.0) / DAY)
        if isinstance(outcome, Fetched) and reading is not None:
            self._revisited[after.url] = visited_at
            page, gains = _compared(page, gains, before, after, outcome, reading)
        site.keep(gains)
        return page.pack()

    @property
    def has_revisited(self) -> bool:
        """Whether this input revisited a page, whose links may be credited."""
        return bool(self._revisited)

    def end_of_input(self) -> None:
        """Clear which pages were revisited: their links were delivered with the same input."""
        self._revisited.clear()

    def found_new(self, new: Mapping[Url, int]) -> Iterator[UrlRecord]:
        """Credit pages with the number of new URLs they link to; the records of those that were revisited."""
        for url, number in new.items():
            if url not in self._revisited:
                continue
            [record] = self._state.records.get([url])
            if record is not None and record.evidence:
                page = unpack_page(record.evidence)
                days = max(page.visited_at - page.watched_from, 0.0) / DAY
                yield replace(record, gains=unpack_page_gains(record.gains).led_to(number, days).pack())

    def linked(self, url: Url, links: Iterable[Url]) -> tuple[int, list[UrlRecord]]:
        """How many pages of its own site a revisited page links to, and the records of those it did not link to before.

        Only for pages that were credited with new pages. Of the records, only those are returned that were last
        fetched before the previous visit of `url`: the reason for the new link is more recent.
        """
        before = self._revisited.get(url)
        if before is None:
            return 0, []
        [record] = self._state.records.get([url])
        if record is None or not unpack_page_gains(record.gains).spawned:
            return 0, []
        home = url[: url.index("/", 8) + 1]
        ours = list(dict.fromkeys(link for link in links if link.startswith(home) and link != url))[:MOST_LINKS]
        gains, added = unpack_page_gains(record.gains).leads([fingerprint(link) for link in ours])
        self._state.records.put([replace(record, gains=gains.pack())])
        known = self._state.records.get([ours[place] for place in added])
        seen = [each for each in known if each is not None and each.evidence and not each.failures]
        return len(ours), [each for each in seen if each.fetched_at is not None and each.fetched_at < before]


def _compared(
    page: PageGains, site: SiteGains, before: UrlRecord, after: UrlRecord, outcome: Fetched, reading: BodyReading
) -> tuple[PageGains, SiteGains]:
    if reading.level is None:
        return page, site
    is_changed = reading.level >= ChangeLevel.MAJOR
    if is_changed:
        share = 1.0 - likeness(before.version, reading.version)
        page, site = page.changed(share), site.grew(share)
    earlier, later = _last_modified(before.validators), _last_modified(after.validators)
    if earlier is not None and later is not None:
        is_unconditional = outcome.task.validators is None
        site = site.compared(is_moved=earlier != later, is_changed=is_changed, is_unconditional=is_unconditional)
    return page, site


def _last_modified(validators: Validators | None) -> str | None:
    return None if validators is None else validators.last_modified
