"""Refreshing by archives in virtual days: the scheduler of `periplus watch` on a published site.

The pages change as in Figure 6 of Brandman et al. (2000): once a day, at its end, the site is scanned and its archives
are written. The crawler reads the files that are new or changed, and spends the rest of the day's bandwidth on visits
that `engine.revisit.Revisits` decides. Freshness is that before the next changes, as in the paper; a round robin of the
same bandwidth is run beside it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from periplus.engine.frontier import SiteRecords
from periplus.engine.revisit.budget import Watching
from periplus.engine.revisit.revisits import Revisits
from periplus.engine.revisit.settings import RefreshSettings
from periplus.engine.revisit.signals import ArchiveProof
from periplus.formats.metadata_archive import ArchiveEntry, read
from periplus.model import (
    BodyReading,
    ChangeLevel,
    Digests,
    Discovery,
    Fetched,
    FetchTask,
    FirstSeen,
    Granularity,
    Hints,
    Lane,
    Lastmod,
    Purpose,
    Queued,
    Source,
    Url,
    UrlRecord,
)
from periplus.store import MemoryState
from periplus.urls import site_of
from periplus_lab.simulate.brandman import FITTED
from periplus_lab.simulate.freshness import simulate_freshness
from periplus_lab.simulate.histories import DAY, Histories, HistorySettings, generate_histories, window
from periplus_sites.publish import Publisher, PublishSettings, RowInventory
from periplus_sites.publish.settings import ArchiveSettings, SiteSettings

BASE = "https://www.example.org/"
SITE = site_of(Url(BASE))
BEGAN = 1_750_032_000.0
"""Midnight of the first day."""
PAGE_BYTES = 13_000
"""Bytes of a page, as in the paper: what archives are charged in."""
DAYS = 30
"""Days of the experiment: the paper's has 100; the means do not change after the second week."""
WARM_UP = 10
"""Days before means begin."""
_CHANGED_AT = 3_600.0
"""Seconds before midnight at which the changes of a day happen; the crawler rests then."""


class PublishedDay(Struct, frozen=True):
    """What a crawler learns on one day: pages with the date of their change, and the bytes that it reads for it."""

    changes: list[tuple[int, float]]
    size: int


class PublishedDays(Struct, frozen=True):
    """A site over some days: which pages changed on each, and what its archives said."""

    pages: int
    changed: list[list[int]]
    told: list[PublishedDay]
    histories: Histories


class RefreshFigures(Struct, frozen=True):
    """What a bandwidth, as a share of the pages a day, was good for: means after the warm-up.

    `needless` is the share of visits that found nothing new, `exact_from` the day on which the archives were proved.
    """

    bandwidth: float
    freshness: float
    visits: float
    needless: float
    archive_share: float
    exact_from: int | None


def published(folder: Path, pages: int, shares: tuple[float, ...] = FITTED, days: int = DAYS) -> PublishedDays:
    """Publish a site day by day, and read its archives as a crawler does."""
    histories = generate_histories(HistorySettings(pages=pages, sites=1, days=float(days), shares=shares))
    span = window(histories, days)
    changed = [span.changed[span.starts[day] : span.starts[day + 1]].tolist() for day in range(days)]
    now = [BEGAN]
    settings = PublishSettings(SiteSettings(BASE), archives=ArchiveSettings())
    modified = [BEGAN - 86_400.0 * (1 + number % 300) - number for number in range(pages)]
    versions = [0] * pages
    told, known = [], dict[str, bytes]()
    dates = dict(enumerate(modified))
    with Publisher(folder, settings, clock=lambda: now[0]) as publisher:
        publisher.scan([RowInventory(_rows(modified, versions), BASE)])
        _read_changed(folder / "metadata", known, {})
        for day in range(days):
            now[0] = BEGAN + (day + 1) * DAY
            for page in changed[day]:
                modified[page], versions[page] = now[0] - _CHANGED_AT, versions[page] + 1
            publisher.scan([RowInventory(_rows(modified, versions), BASE)])
            told.append(_read_changed(folder / "metadata", known, dates))
    return PublishedDays(pages, changed, told, histories)


def _rows(modified: list[float], versions: list[int]) -> Iterator[dict[str, object]]:
    for page, (at, version) in enumerate(zip(modified, versions, strict=True)):
        yield {
            "url": f"{BASE}p/{page}", "updated_at": at, "digest": str(version), "mime": "text/html", "size": PAGE_BYTES
        }  # fmt: skip


def _read_changed(folder: Path, known: dict[str, bytes], dates: dict[int, float]) -> PublishedDay:
    """Read the files that are not as they were; `dates` are those that the crawler knows."""
    changes, size = [], 0
    for path in sorted(folder.iterdir()):
        body = path.read_bytes()
        if known.get(path.name) == body:
            continue
        known[path.name] = body
        size += len(body)
        for entry in read(path.name, body) if path.suffix == ".gz" else ():
            if isinstance(entry, ArchiveEntry):
                page = int(entry.path.rpartition("/")[2])
                if entry.modified_at > dates.get(page, math.inf):
                    changes.append((page, entry.modified_at))
                    dates[page] = entry.modified_at
    return PublishedDay(changes, size)


class Watched:
    """A crawler that has a fresh copy of every page, and revisits them."""

    def __init__(self, pages: int, visits: float) -> None:
        self.state = MemoryState()
        self.sites = SiteRecords(self.state.sites)
        self.urls = [Url(f"{BASE}p/{page}") for page in range(pages)]
        self._numbers = {url: page for page, url in enumerate(self.urls)}
        seen = (FirstSeen(Source.ARCHIVE, BEGAN),)
        watching = Watching(visits)
        self.revisits = Revisits(self.state, self.sites, watching=watching, random=Random(1))
        site = self.sites.get(SITE)
        for url in self.urls:
            record = UrlRecord(
                url, seen, fetched_at=BEGAN, status=200, lastmod=Lastmod(BEGAN - DAY, Granularity.SECOND)
            )
            reading = BodyReading(Digests(0, 0, 0, 0))
            self.state.records.put([self.revisits.visited(site, record, record, _fetched(url, BEGAN), reading, BEGAN)])
        self.sites.flush()
        self.waiting = deque[Queued]()

    @property
    def is_exact(self) -> bool:
        """Whether only archives decide."""
        proof = self.sites.get(SITE).value(ArchiveProof)
        return proof is not None and proof.is_exact(RefreshSettings())

    def prove(self, proof: ArchiveProof) -> None:
        """Let earlier visits have proved this of the archives."""
        site = self.sites.get(SITE)
        site.keep(proof)
        self.sites.changed(site)

    def hear(self, changes: list[tuple[int, float]], now: float) -> None:
        """Take what archives report."""
        for page, at in changes:
            [known] = self.state.records.get([self.urls[page]])
            assert known is not None
            hints = Hints(lastmod=Lastmod(at, Granularity.SECOND))
            found = Discovery(known.url, Source.ARCHIVE, now, 1, hints=hints)
            self.state.records.put([self.revisits.mentioned(found, known)])
        self.revisits.file_read(SITE, Source.ARCHIVE, len(self.urls), len(changes))

    def visit(self, now: float, stale: set[int]) -> int | None:
        """Make one visit, if one is worth it: the page; it is fresh then."""
        self.waiting += [told.entry for told in self.revisits.told() if not told.is_waiting]
        self.waiting += self.revisits.due(now, len(self.waiting))
        if not self.waiting:
            self.revisits.idle(now)
            return None
        entry = self.waiting.popleft()
        [before] = self.state.records.get([entry.url])
        assert before is not None
        self.revisits.granted(before, now, is_revisit=True)
        page = self._numbers[entry.url]
        level = ChangeLevel.MAJOR if page in stale else ChangeLevel.SAME
        reading = BodyReading(Digests(0, 0, 0, 0), level=level)
        site = self.sites.get(entry.site)
        after = replace(before, fetched_at=now)
        self.state.records.put([self.revisits.visited(site, before, after, _fetched(entry.url, now), reading, now)])
        self.sites.changed(site)
        self.revisits.end_of_input()
        return page


def _fetched(url: Url, at: float) -> Fetched:
    return Fetched(FetchTask(url, site_of(url), Purpose.PAGE, Lane.REFRESH, math.inf), 200, (), b"", at, 0.0)


def refreshed(site: PublishedDays, bandwidth: float, warm_up: int = WARM_UP) -> RefreshFigures:
    """Watch a site with a bandwidth, in pages of it a day."""
    archives = float(np.mean([day.size for day in site.told[warm_up:]])) / PAGE_BYTES
    allowed = max(bandwidth * site.pages - archives, 1.0)
    watch = Watched(site.pages, allowed)
    stale: set[int] = set()
    fresh, visits, needless, exact_from = [], 0, 0, None
    for day, told in enumerate(site.told):
        stale |= set(site.changed[day])
        began = BEGAN + (day + 1) * DAY
        watch.hear(told.changes, began)
        pause = (DAY - 2 * _CHANGED_AT) / allowed
        for number in range(round(allowed)):
            page = watch.visit(began + (number + 1) * pause, stale)
            if page is not None:
                visits += day >= warm_up
                needless += day >= warm_up and page not in stale
                stale.discard(page)
        if day >= warm_up:
            fresh.append(1 - len(stale) / site.pages)
        if exact_from is None and watch.is_exact:
            exact_from = day
    days = len(site.told) - warm_up
    share = archives / (bandwidth * site.pages)
    return RefreshFigures(
        bandwidth, float(np.mean(fresh)), visits / days / site.pages, needless / max(visits, 1), share, exact_from
    )


def bandwidth_of_round_robin(site: PublishedDays, freshness: float) -> float:
    """The least bandwidth at which a round robin is that fresh at the end, to a hundredth."""
    for percent in range(1, 101):
        if simulate_freshness(site.histories, "conventional", percent / 100).freshness_at_end >= freshness:
            return percent / 100
    return math.nan
