"""Estimates how fresh the collection is from a sample of its pages, and corrects revisit times after a clock jump.

The sample is the pages with the smallest fingerprints. Fingerprints do not depend on the content of pages or on how
often they change, so this is equivalent to a random sample, and a page found later has the same chance to be in it.
`engine.revisit.fresh_share` estimates the share of fresh copies from the visits to the sample, with an interval.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import replace

from periplus.model import Freshness, Lane, Site, Url, UrlRecord, UrlRecords
from periplus.store import SiteState, State
from periplus.urls import fingerprint, site_of

from .evidence import unpack_page
from .records import SampleRows
from .settings import RefreshSettings
from .signals import SiteEvidence
from .weights import RefreshRetirementSettings

if TYPE_CHECKING:
    from .fresh_share import FreshShare

_MEASURED = 2_000
"""Pages in the sample that is measured: sampling alone is off by at most 2.2 percentage points in 95 of 100 cases."""
_EXPLORED = 1_000
"""Pages in the sample from which random visits are chosen."""
_MAX_ADDED = 256
"""Pages that every commit lists until both samples, about 200 KB, are written in full: at most about 25 KB."""
GONE = (404, 410)
"""Status codes of pages that no longer exist."""
_LOOKS = 0.01
"""The share of the interval between measurements after which is looked whether a first page was visited twice."""
_ALL_BITS = (1 << 64) - 1


class PageSample:
    """The `size` pages with the smallest fingerprints, multiplied by an odd `factor`: each factor is another sample."""

    def __init__(self, size: int, factor: int = 1) -> None:
        self._size = size
        self._factor = factor
        self._chosen: list[tuple[int, Url]] = []

    def add(self, url: Url) -> bool:
        """Consider a page for the sample; whether it is new there."""
        place = fingerprint(url) * self._factor & _ALL_BITS, url
        chosen = self._chosen
        if len(chosen) == self._size and place >= chosen[-1]:
            return False
        at = bisect_left(chosen, place)
        if at < len(chosen) and chosen[at] == place:
            return False
        insort(chosen, place)
        del chosen[self._size :]
        return True

    @property
    def urls(self) -> list[Url]:
        """The pages in the sample."""
        return [url for _, url in self._chosen]

    def draw(self, random: Random) -> Url | None:
        """Choose one of the pages at random."""
        return random.choice(self._chosen)[1] if self._chosen else None


class FreshnessEstimator:
    """Measures freshness on one sample of pages, and keeps another from which pages are explored.

    If the explored pages were those that are measured, these would be fresher than the rest. `shortest` is the shortest
    time between two visits of a page (`refresh.shortest`).
    """

    def __init__(
        self,
        records: UrlRecords,
        evidence_of: Callable[[Site], SiteEvidence],
        factor: int,
        shortest: float = RefreshSettings().shortest,
    ) -> None:
        self._shortest = shortest
        self._records = records
        self._evidence_of = evidence_of
        self.factor = factor
        self._measured, self._explored = PageSample(_MEASURED), PageSample(_EXPLORED, factor)
        self._added: dict[Url, None] = {}
        self._rows: SampleRows | None = None
        self._read: tuple[float, Freshness] | None = None
        self._look_at = 0.0

    def add(self, url: Url) -> None:
        """Consider a page that was visited for both samples."""
        is_measured, is_explored = self._measured.add(url), self._explored.add(url)
        if is_measured or is_explored:
            self._added[url] = None
            if len(self._added) > _MAX_ADDED:
                self._rewrite()

    def begin(self, urls: Iterable[Url]) -> None:
        """Sample these pages, of a collection that has no sample yet."""
        for url in urls:
            self._measured.add(url)
            self._explored.add(url)
        self._rewrite()

    def restore(self, rows: SampleRows, added: Iterable[Url]) -> None:
        """Take both samples from a commit."""
        for url in rows.measured:
            self._measured.add(url)
        for url in rows.explored:
            self._explored.add(url)
        for url in added:
            self._measured.add(url)
            self._explored.add(url)
            self._added[url] = None

    def _rewrite(self) -> None:
        """Have the next commit write both samples as they are now; it does not depend on when commits come."""
        self._added.clear()
        self._rows = SampleRows(tuple(self._measured.urls), tuple(self._explored.urls))

    @property
    def added(self) -> tuple[Url, ...]:
        """The pages added since the rows were made."""
        return tuple(self._added)

    def changed_rows(self) -> SampleRows | None:
        """Both samples, if they must be written by this commit; each change is returned once."""
        rows, self._rows = self._rows, None
        return rows

    @property
    def urls(self) -> list[Url]:
        """The pages that are measured."""
        return self._measured.urls

    def draw(self, random: Random) -> Url | None:
        """A page to visit at random."""
        return self._explored.draw(random)

    def read(self, pages: int, price: float, now: float, interval: float = 0.0) -> Freshness:
        """How fresh `pages` pages are, measured at most once in `interval` seconds."""
        if self._read is None or now >= self._read[0] or self._is_checked_now(now, interval):
            self._read = now + interval, self._measure(pages, price, now)
        return self._read[1]

    def read_checked(self, pages: int, price: float, now: float) -> Freshness:
        """`read`, without an estimate of the share that is fresh if no page was visited twice: it takes seconds."""
        return self._measure(pages, price, now, is_stated=False)

    def _is_checked_now(self, now: float, interval: float) -> bool:
        """Whether a page was visited a second time since a measurement that had none."""
        if self._read is None or self._read[1].checked or now < self._look_at:
            return False
        self._look_at = now + _LOOKS * interval
        return any(record and unpack_page(record.evidence).ring for record in self._records.get(self._measured.urls))

    def _measure(self, pages: int, price: float, now: float, *, is_stated: bool = True) -> Freshness:
        found = self._records.get(self._measured.urls)
        known = [record for record in found if record is not None and is_present(record)]
        present = round(pages * len(known) / max(len(found), 1))
        gone = [record for record in found if record is not None and record.status in GONE and record.evidence]
        again = sum(bool(unpack_page(record.evidence).ring) for record in known)
        share = self._share(known, gone, present, now) if again or is_stated else None
        ages = [now - record.fetched_at for record in known if record.fetched_at is not None]
        age = max(math.fsum(ages) / max(len(ages), 1), 0.0)
        checked = math.ceil(again * present / max(len(known), 1))
        estimate = (math.nan,) * 3 if share is None else (share.mean, share.low, share.high)  # NaN: null in JSON
        return Freshness(present, *estimate, age, price, checked)

    def _share(
        self, records: Sequence[UrlRecord], gone: Sequence[UrlRecord], population: int, now: float
    ) -> FreshShare:
        from .fresh_share import fresh_share  # loads numpy, which a collection whose pages were visited once needs not

        numbers: dict[Site, int] = {}
        site = [numbers.setdefault(site_of(record.url), len(numbers)) for record in chain(records, gone)]
        pages = [unpack_page(record.evidence) for record in chain(records, gone)]
        texts: dict[tuple[Site, int] | Url, int] = {}
        text = [texts.setdefault(_text_of(record), len(texts)) for record in records]
        sites, count = [self._evidence_of(each) for each in numbers], len(records)
        return fresh_share(
            pages[:count],
            site[:count],
            sites,
            now,
            population,
            gone=pages[count:],
            gone_site=site[count:],
            shortest=self._shortest,
            texts=text,
        )


def _text_of(record: UrlRecord) -> tuple[Site, int] | Url:
    """What copies with the same text have in common: they are fresh or stale together."""
    return record.url if record.digests is None else (site_of(record.url), record.digests.text)


def queued_revisits(state: State) -> list[Url]:
    """The pages that wait with their sites to be visited again; they are not in the calendar."""
    queues = state.queues
    lanes = [(site, queues.length(site, lane)) for site, lane, _ in queues.waiting() if lane is Lane.REFRESH]
    return [head.entry.url for site, length in lanes for head in queues.heads(site, Lane.REFRESH, length)]


def is_present(record: UrlRecord) -> bool:
    """Whether a page existed at its last visit, and neither redirected nor failed."""
    return record.status in (200, 304) and bool(record.evidence)


CLOCK_ERROR = 60.0
"""Seconds by which the clocks of two machines may differ: less is not a clock that was set back."""
_TOGETHER = 1_000
"""Records that are loaded together."""


def bring_back(
    state: State,
    settings: RefreshSettings,
    retirement: RefreshRetirementSettings,
    site_of: Callable[[Url], SiteState],
    due_at: Callable[[UrlRecord, SiteState, float], float],
    now: float,
) -> None:
    """Treat every visit dated in the future as made now, and schedule the next one from there.

    A clock that ran ahead writes such dates: a page visited while it was a month ahead would not be visited again for a
    month. `due_at` returns when a page is due whose last visit returned a page. Times only become earlier, so that
    entries that were moved do not come up again.
    """
    latest = now + settings.longest
    setback_until = now + max(retirement.longest_pause, retirement.gone_pause)
    entries = chain(state.calendar, queued_revisits(state))
    while urls := list(islice(entries, _TOGETHER)):
        moves: list[tuple[Url, float | None, float | None]] = []
        changed: list[UrlRecord] = []
        for record in filter(None, state.records.get(urls)):
            before, page = record.due_at, unpack_page(record.evidence)
            known = replace(record, evidence=replace(page, visited_at=now).pack()) if page.visited_at > now else record
            after = before
            if before is not None and _is_page(known):
                after = min(before, due_at(known, site_of(known.url), now))
            elif before is not None:
                after = min(before, setback_until if known.failures else latest)
            if after != before or known is not record:
                moves.append((known.url, before, after))
                changed.append(replace(known, due_at=after))
        state.calendar.move(moves)
        state.records.put(changed)


def _is_page(record: UrlRecord) -> bool:
    return is_present(record) and not record.failures
