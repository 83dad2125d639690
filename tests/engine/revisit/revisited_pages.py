"""Sites whose pages change, visited through `Revisits` alone, in virtual time: no scheduler, no politeness.

Every input (a turn, the text of an answer, a mention in a sitemap, a budget) is one call, so that a test can commit
between any two, lose what came after, and make the same calls again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from email.utils import formatdate
from functools import cache
from random import Random

import msgspec
from msgspec import Struct

from periplus.content import read_page, version_of
from periplus.engine.frontier import SiteRecords
from periplus.engine.frontier.reports import after_visit
from periplus.engine.revisit.budget import Watching
from periplus.engine.revisit.records import RevisitState, SampleRows
from periplus.engine.revisit.revisits import Revisits
from periplus.engine.revisit.settings import RefreshSettings
from periplus.model import (
    BodyReading,
    ChangeLevel,
    Digests,
    Discovery,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    FirstSeen,
    Granularity,
    Hints,
    Lane,
    Lastmod,
    NotModified,
    Purpose,
    Queued,
    Site,
    Source,
    Url,
    UrlDiscovered,
    UrlRecord,
)
from periplus.policy.weights import PageWeights
from periplus.store import MemoryState, SiteState
from periplus.urls import site_of

DAY = 86_400.0
START = 1_000 * DAY
HOME = "http://a.test"


class ChangingPage(Struct):
    """A page that changes every `every` days, the first time after `begins`; each change replaces a share of it.

    `links` returns the paths it links to on a day.
    """

    every: float = 1e9
    replaced: float = 1.0
    begins: float = 0.0
    links: Callable[[float], list[str]] = lambda _day: []
    answers_304: bool = False
    is_copy: bool = False
    fails: bool = False
    blocks: bytes = b""


class Committed(Struct):
    """What a commit leaves on disk."""

    state: MemoryState
    revisits: bytes
    sample: bytes
    random: object


class RevisitedWeb:
    """Pages at one or more sites, and the crawl that visits them."""

    def __init__(
        self,
        pages: dict[str, ChangingPage],
        *,
        visits_per_day: float = 24.0,
        parts: int = 1,
        settings: RefreshSettings | None = None,
        weights: Callable[[], PageWeights] = PageWeights,
    ) -> None:
        self.pages = pages
        self.state = MemoryState()
        self.now = START
        self.visits: Counter[str] = Counter()
        self.lanes: Counter[Lane] = Counter()
        self.urls: dict[Url, None] = {}
        self.random = Random(1)
        self._settings, self._weights = settings, weights
        self.watching: Watching | None = None
        self.budget = Watching(visits_per_day, parts)
        self.saved: RevisitState | None = None
        self.sample: SampleRows | None = None
        self.open()

    # opening and committing

    def open(self, watching: Watching | None = None) -> None:
        """Make `Revisits` from what is committed."""
        self.watching = watching
        self.weights = self._weights()
        for value in (self.saved, self.sample):
            if value is not None:
                self.state.put_meta(value)
        self.sites = SiteRecords(self.state.sites)
        self.revisits = Revisits(
            self.state,
            self.sites,
            self._settings,
            watching=watching,
            weights=self.weights,
            random=self.random,
        )

    def commit(self) -> Committed:
        """Write everything, as a shard does."""
        self.sites.flush()
        self.sample = self.revisits.sample_rows() or self.sample
        self.saved = self.revisits.snapshot()
        encode = msgspec.msgpack.encode
        return Committed(deepcopy(self.state), encode(self.saved), encode(self.sample), self.random.getstate())

    def recover(self, committed: Committed) -> None:
        """Lose everything since a commit."""
        self.state = deepcopy(committed.state)
        self.saved = msgspec.msgpack.decode(committed.revisits, type=RevisitState)
        self.sample = msgspec.msgpack.decode(committed.sample, type=SampleRows | None)
        self.random = Random()
        self.random.setstate(committed.random)  # type: ignore[arg-type]
        self.open(self.watching)

    # inputs

    def crawl(self, *paths: str) -> None:
        """Visit all pages that links lead to once, then begin to watch."""
        self.found([self.url(path) for path in paths], None)
        while self.turn():
            self.now += 1.0
        self.commit()
        self.open(self.budget)

    def watch(self, days: float) -> None:
        """Spend the budget for some days, one visit at a time."""
        until = self.now + days * DAY
        while self.now < until:
            self.turn()
            self.now += DAY / self.revisits.visits_per_day
        self.commit()

    def turn(self) -> bool:
        """Make one visit, if there is one to make."""
        waiting = self.waiting(Lane.REFRESH)
        self.state.queues.push(self.revisits.due(self.now, len(waiting)))
        entry = self._choose()
        if entry is None:
            self.revisits.idle(self.now)
        else:
            self._visit(entry)
        self.revisits.end_of_input()
        return entry is not None

    def waiting(self, lane: Lane) -> list[Queued]:
        """The pages that wait in a lane of any site."""
        sites = [site for site, each, _ in self.state.queues.waiting() if each is lane]
        heads = [head for site in sites for head in self.state.queues.heads(site, lane, 10_000)]
        return [head.entry for head in heads]

    def _choose(self) -> Queued | None:
        for site in dict.fromkeys(site for site, _, _ in self.state.queues.waiting()):
            again = self.state.queues.heads(site, Lane.REFRESH, 1)
            new = self.state.queues.heads(site, Lane.DISCOVERY, 1)
            chosen = again or new
            if again and new:
                is_first = self.revisits.prefers_revisit(self.sites.get(site), again[0].entry, new[0].entry)
                chosen = again if is_first else new
            self.state.queues.remove(chosen)
            return chosen[0].entry
        return None

    def _visit(self, entry: Queued) -> None:
        before = self.record_of(entry.url)
        site = self.sites.get(entry.site)
        is_revisit = entry.lane is Lane.REFRESH
        condition = self.revisits.condition(site, before) if is_revisit else None
        task = FetchTask(entry.url, entry.site, Purpose.PAGE, entry.lane, math.inf, condition)
        self.revisits.granted(before, self.now, is_revisit=is_revisit)
        outcome, reading = self._answer(task)
        reason = "timeout" if isinstance(outcome, Failed) else ""
        after = after_visit(before, outcome, reading, reason)
        self.state.records.put([self.revisits.visited(site, before, after, outcome, reading, self.now)])
        if not is_revisit:
            self.revisits.first_visited(site, entry.lane, is_good=reading is not None and not reading.is_copy)
            self.sites.changed(site)
        if reading is not None:
            self.found([self.url(path) for path in self._page(entry.url).links(self._day)], entry.url)

    def found(self, urls: list[Url], referrer: Url | None) -> None:
        """Discover links."""
        source = Source.SEED if referrer is None else Source.LINK
        urls = list(dict.fromkeys(urls))
        self.urls |= dict.fromkeys(urls)
        found = [Discovery(url, source, self.now, 1, referrer) for url in urls]
        known = self.state.records.add_new([UrlRecord(url, (FirstSeen(source, self.now),)) for url in urls])
        new = [each for each, before in zip(found, known, strict=True) if before is None]
        self.state.queues.push([Queued(each.url, site_of(each.url), Lane.DISCOVERY, 60) for each in new])
        self.revisits.found_new([UrlDiscovered(each, True) for each in new])
        if referrer is not None:
            self.revisits.linked(referrer, urls, self.now)

    def mention(self, path: str, source: Source = Source.SITEMAP, lastmod: float | None = None) -> None:
        """A sitemap, feed or ping mentions a known page."""
        hints = Hints() if lastmod is None else Hints(lastmod=Lastmod(lastmod, Granularity.SECOND))
        discovery = Discovery(self.url(path), source, self.now, hints=hints)
        self.state.records.put([self.revisits.mentioned(discovery, self.record(path))])
        self.state.queues.push([told.entry for told in self.revisits.told() if not told.is_waiting])
        self.revisits.end_of_input()

    # what is known

    def url(self, path: str) -> Url:
        """A path at the first site, or a whole URL."""
        return Url(path if path.startswith("http") else f"{HOME}{path}")

    def record(self, path: str) -> UrlRecord:
        """What is known of a page."""
        return self.record_of(self.url(path))

    def record_of(self, url: Url) -> UrlRecord:
        """What is known of a URL."""
        [record] = self.state.records.get([url])
        assert record is not None
        return record

    def site(self, name: str = "a.test") -> SiteState:
        """What is known of a site."""
        return self.sites.get(Site(name))

    def rows(self) -> tuple[object, ...]:
        """Everything that a commit would write, in a form that compares."""
        state, urls = self.state, list(self.urls)
        sites = [msgspec.msgpack.encode(self.sites.get(site)) for site in dict.fromkeys(site_of(url) for url in urls)]
        calendar = [(url, self.record_of(url).due_at) for url in state.calendar]
        waiting = [self.waiting(lane) for lane in (Lane.REFRESH, Lane.DISCOVERY)]
        records = state.records.get(urls)
        return records, sites, calendar, waiting, self.revisits.snapshot(), self.random.getstate()

    def is_fresh(self, path: str, now: float) -> bool:
        """Whether the copy of a page is its version of now."""
        digests = self.record(path).digests
        return digests is not None and digests.raw == self._version(self.pages[path], now)

    # the pages

    @staticmethod
    def _version(page: ChangingPage, now: float) -> int:
        return math.floor(((now - START) / DAY - page.begins) / page.every) + 1

    @property
    def _day(self) -> float:
        return (self.now - START) / DAY

    def _page(self, url: Url) -> ChangingPage:
        return self.pages.get(url.removeprefix(HOME), ChangingPage())

    def _answer(self, task: FetchTask) -> tuple[FetchOutcome, BodyReading | None]:
        path, page = task.url.removeprefix(HOME), self._page(task.url)
        self.visits[path] += 1
        self.lanes[task.lane] += 1
        if page.fails:
            return Failed(task, "timeout", self.now, 0.0), None
        version = self._version(page, self.now)
        modified = formatdate(START + version, usegmt=True)
        headers = (("Last-Modified", modified), ("ETag", f'"{version}"')) if page.answers_304 else ()
        if page.answers_304 and task.validators is not None and task.validators.etag == f'"{version}"':
            return NotModified(task, headers, self.now, 0.0), None
        return Fetched(task, 200, headers, b"", self.now, 0.0), self._reading(task, path, page, version)

    def _reading(self, task: FetchTask, path: str, page: ChangingPage, version: int) -> BodyReading:
        digests = self.record_of(task.url).digests
        level = None
        if digests is not None:
            level = ChangeLevel.SAME if digests.raw == version else ChangeLevel.MAJOR
        kept = _version(path, version, page.replaced)
        return BodyReading(Digests(version, 0, 0, 0), page.is_copy, True, level, kept, page.blocks)


def unchanging(count: int, **how: object) -> dict[str, ChangingPage]:
    """Pages that do not change, unless `how` says so."""
    return {f"/p{n}": ChangingPage(**how) for n in range(count)}  # type: ignore[arg-type]


@cache
def _version(path: str, version: int, replaced: float) -> bytes:
    """What is kept of a text of 200 words, of which a share is new in every version."""
    words = " ".join(f"{path[1:]}x{version if word < replaced * 200 else 0}y{word}" for word in range(200))
    return version_of(read_page(f"<main><p>{words}</p></main>".encode(), Url(f"{HOME}/page")))
