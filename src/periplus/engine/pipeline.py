"""Processes answers: reads pages, clusters near-duplicates, compares pages with their last version, and reports them.

Pages are put with those that they resemble as soon as they are read (`Sketches`; `policy.duplicates` decides which
resemble each other), and a page that came after another of its cluster is a copy. A page with hardly a sentence
resembles anything: it is a copy only if its text is exactly that of another URL. One without any text is not a copy. A
page that is gone leaves its cluster. How much a page has changed is decided by the `PageComparer`, which learns from
every visit, also from one that returned no page because nothing changed.

In a crawl for files (`media`), those that were asked for are not read as pages: only their bytes are compared.

Each step is done for all answers before the next: what a step needs is then still in the processor's caches.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from periplus.content import version_of
from periplus.model import (
    BodyReading,
    ChangeLevel,
    ChangeSeen,
    Digests,
    Discovery,
    EventSink,
    Fetched,
    FetchEnded,
    FetchOutcome,
    NotModified,
    PageRead,
    ParsedPage,
    Payload,
    Placement,
    Preference,
    Purpose,
    Redirected,
    Site,
    Sketched,
    Source,
    Url,
    UrlRecord,
    UrlRecords,
)
from periplus.policy.filters import Guard, MediaTypes, type_of_header
from periplus.store import State
from periplus.urls import site_of

from .comparison import Compared, PageComparer
from .inputs import FetchAnswer
from .link_state import LinkState
from .links import CountGains, PageReader, Share

log = logging.getLogger(__name__)

_GONE = frozenset({404, 410})
"""RFC 9110 sections 15.5.5 and 15.5.11: not found, and gone."""


class Processed(NamedTuple):
    """An answer, the page that was read from it, and the result; `None`: there was no page to read."""

    answer: FetchAnswer
    page: ParsedPage | None
    reading: BodyReading | None


class Pipeline(Protocol):
    """Turns answers into pages and links. The simulator has its own, without HTML."""

    def process(self, answers: Sequence[FetchAnswer], at: float) -> list[Processed]:
        """Read, deduplicate and compare; events report what was found."""

    def read(self, answers: Sequence[FetchAnswer], at: float) -> list[Processed]:
        """Only read; events report what was found."""

    def read_probe(self, answer: FetchAnswer) -> ParsedPage | None:
        """The page that a probe returned, if any; no event reports it."""

    def links(self, processed: Processed, at: float, share: Share) -> list[Discovery]:
        """The links of an answer, without those seen recently."""

    max_gaining: int
    """URLs that have gained, beyond which `gains` are passed on without waiting for a commit."""

    def count_again(self, count: CountGains) -> None:
        """Have the links of the last answer counted that were seen before."""

    @property
    def gaining(self) -> int:
        """How many URLs `gains` would return."""

    def gains(self, at: float) -> list[Discovery]:
        """The gains of links that could not be counted, since the last call: one discovery for each URL."""

    def forget_links(self) -> None:
        """Forget links that were seen before: they may be wanted now."""

    def flush(self) -> LinkState | None:
        """Write what changed of the memory of links; the rest of it, to be committed."""


class PagePipeline:
    """The pipeline of a crawl. `worth`: the scores of URLs, if the ordering has them."""

    max_gaining = 50_000  # some megabytes

    def __init__(
        self,
        state: State,
        reader: PageReader,
        comparer: PageComparer,
        *,
        events: EventSink,
        worth: Callable[[Sequence[Url]], list[float]],
        media: MediaTypes | None = None,
        marks: Sequence[Callable[[ParsedPage], ParsedPage]] = (),
    ) -> None:
        """`marks` add what is known of a page besides: what robots.txt says of its use, soft 404, relevance."""
        self._reader = reader
        self._records = state.records
        self._media = media or MediaTypes()
        self._marks = marks
        self._comparer = comparer
        self._deduplicator = Deduplicator(state, comparer, worth=worth)
        self._events = events

    def process(self, answers: Sequence[FetchAnswer], at: float) -> list[Processed]:
        """Read, deduplicate and compare; events report what was found."""
        read = self.read(answers, at)
        readings = self._deduplicator.judge([(each.answer.outcome, each.page) for each in read], at)
        if self._media:
            self._compare_files(answers, readings)
        self._record(_changes(answers, readings, at))
        self._record(ChangeSeen(*revised) for revised in self._comparer.drain_revised())
        return [each._replace(reading=reading) for each, reading in zip(read, readings, strict=True)]

    def read(self, answers: Sequence[FetchAnswer], at: float) -> list[Processed]:
        """Only read; events report what was found."""
        found = [answer if self._is_page(answer.outcome) else None for answer in answers]
        pages = self._read([answer.outcome for answer in found if answer is not None and answer.is_read])
        for url, page in pages.items():
            marked = page
            for mark in self._marks:
                marked = mark(marked)
            pages[url] = marked
        read = [None if answer is None else pages.get(answer.outcome.task.url) for answer in found]
        self._record(FetchEnded(each.outcome, at, each.stored) for each in answers if each.is_request)
        self._record(PageRead(page, at) for page in read if page is not None)
        return [Processed(answer, page, None) for answer, page in zip(answers, read, strict=True)]

    def read_probe(self, answer: FetchAnswer) -> ParsedPage | None:
        """The page that a probe returned, if any; no event reports it."""
        outcome = answer.outcome
        is_there = isinstance(outcome, Fetched) and 200 <= outcome.status < 300 and answer.is_read
        return self._read([outcome]).get(outcome.task.url) if is_there else None

    def _is_page(self, outcome: FetchOutcome) -> bool:
        return is_page(outcome) and not self._is_file(outcome)

    def _is_file(self, outcome: FetchOutcome) -> bool:
        """Whether an answer is a file that the crawl is for; without a type its URL decides."""
        if not self._media or not isinstance(outcome, Fetched) or not is_page(outcome):
            return False
        mime = type_of_header(next((value for name, value in outcome.headers if name.lower() == "content-type"), None))
        return self._media.wants(mime) if mime else self._media.wants_url(outcome.task.url)

    def _compare_files(self, answers: Sequence[FetchAnswer], readings: list[BodyReading | None]) -> None:
        """Put the result for each file in its place: it has changed if its bytes have."""
        places = [place for place, answer in enumerate(answers) if self._is_file(answer.outcome)]
        records = self._records.get([answers[place].outcome.task.url for place in places]) if places else []
        for place, known in zip(places, records, strict=True):
            outcome = answers[place].outcome
            if isinstance(outcome, Fetched):
                readings[place] = _file_reading(outcome.body, None if known is None else known.digests)

    def _record(self, events: Iterable[FetchEnded | PageRead | ChangeSeen]) -> None:
        recorded = list(events)
        if recorded:
            self._events.record(recorded)

    def _read(self, outcomes: Sequence[FetchOutcome]) -> dict[Url, ParsedPage]:
        """Reading never raises for the contents of a page; if it does, that is a bug, and the crawl continues."""
        pages = [outcome for outcome in outcomes if isinstance(outcome, Fetched)]
        try:
            return {answer.task.url: page for answer, page in zip(pages, self._reader.read(pages), strict=True)}
        except Exception:
            log.exception("%s could not be read", ", ".join(answer.task.url for answer in pages))
        return {} if len(pages) < 2 else {url: page for one in pages for url, page in self._read([one]).items()}

    def links(self, processed: Processed, at: float, share: Share) -> list[Discovery]:
        """The links of an answer, without those seen recently."""
        outcome = processed.answer.outcome
        if isinstance(outcome, Redirected) and outcome.task.purpose is Purpose.PAGE:
            return [redirection(outcome, share(1))]
        page = processed.page
        if page is None:
            return []
        found = self._reader.links(page, outcome.task.depth, at, share)
        refresh = page.refresh.url if page.refresh is not None else None
        onward = {page.script_redirect, refresh, page.relations.canonical} - {None, page.url}
        if onward:  # such redirects and canonical links in a row are bounded as redirects of HTTP
            redirects = outcome.task.redirects + 1
            found = [replace(each, redirects=redirects) if each.url in onward else each for each in found]
        return found

    @property
    def gaining(self) -> int:
        """How many URLs `gains` would return."""
        return self._reader.gaining

    def gains(self, at: float) -> list[Discovery]:
        """The gains of links that could not be counted, since the last call."""
        return self._reader.gains(at)

    def count_again(self, count: CountGains) -> None:
        """Have the links of the last answer counted that were seen before."""
        self._reader.count_again(count)

    def forget_links(self) -> None:
        """Forget links that were seen before: they may be wanted now."""
        self._reader.forget()

    def flush(self) -> LinkState:
        """Write what changed of the memory of links."""
        return self._reader.flush()


def is_page(outcome: FetchOutcome) -> bool:
    """Whether there is a page to be read."""
    return isinstance(outcome, Fetched) and outcome.task.purpose is Purpose.PAGE and 200 <= outcome.status < 300


def _file_reading(body: bytes, before: Digests | None) -> BodyReading:
    """The result for a file that is not a page."""
    raw = xxh3_64_intdigest(body)
    level = None if before is None else ChangeLevel.SAME if before.raw == raw else ChangeLevel.MAJOR
    return BodyReading(Digests(raw, raw, raw, 0), level=level)


def with_last_visits(answers: Sequence[FetchAnswer], records: UrlRecords) -> list[FetchAnswer]:
    """Archived answers with the time of the visit before, which tasks have and archives do not."""
    known = records.get([answer.outcome.task.url for answer in answers])
    return [
        answer
        if record is None or answer.outcome.task.purpose is not Purpose.PAGE
        else replace(
            answer, outcome=replace(answer.outcome, task=replace(answer.outcome.task, visited_at=record.kept_at))
        )
        for answer, record in zip(answers, known, strict=True)
    ]


def redirection(outcome: Redirected, gain: float = 0.0) -> Discovery:
    """The target of a redirect. It has the depth of its source, and gains what a single link would."""
    task = outcome.task
    return Discovery(
        outcome.target,
        Source.REDIRECT,
        outcome.started_at + outcome.duration,
        task.depth,
        task.url,
        redirects=task.redirects + 1,
        gain=gain,
    )


def _changes(answers: Sequence[FetchAnswer], readings: Sequence[BodyReading | None], at: float) -> Iterable[ChangeSeen]:
    """The level of change from the version before; none where the server answers 304."""
    for answer, reading in zip(answers, readings, strict=True):
        task = answer.outcome.task
        if reading is not None and reading.level is not None:
            yield ChangeSeen(task.url, at, reading.level)
        elif isinstance(answer.outcome, NotModified) and task.purpose is Purpose.PAGE:
            yield ChangeSeen(task.url, at, ChangeLevel.SAME)


class _Read(NamedTuple):
    """A page, the earlier record of its URL, and their comparison."""

    page: ParsedPage
    record: UrlRecord | None
    compared: Compared


class Deduplicator:
    """Finds near-duplicates of pages."""

    def __init__(self, state: State, comparer: PageComparer, *, worth: Callable[[Sequence[Url]], list[float]]) -> None:
        self._state = state
        self._comparer = comparer
        self._worth = worth

    def judge(self, outcomes: Sequence[tuple[FetchOutcome, ParsedPage | None]], at: float) -> list[BodyReading | None]:
        """The result for each page, aligned with `outcomes`; `None` if there is no page."""
        readings: list[BodyReading | None] = []
        for is_gone, portion in groupby(outcomes, lambda each: _is_gone(each[0])):
            some = list(portion)
            if is_gone:
                self._state.sketches.remove([outcome.task.url for outcome, _ in some])
                readings += [None] * len(some)
            else:
                readings += self._judge(some, at)
        return readings

    def _judge(self, outcomes: Sequence[tuple[FetchOutcome, ParsedPage | None]], at: float) -> list[BodyReading | None]:
        known = [(outcome, page) for outcome, page in outcomes if page is not None or _is_unmodified(outcome)]
        records = self._state.records.get([outcome.task.url for outcome, _ in known]) if known else []
        read = []
        for (outcome, page), record in zip(known, records, strict=True):
            if page is None:
                self._comparer.unmodified(record, _began_at(outcome, at))
            else:
                read.append(_Read(page, record, self._comparer.compare(record, page, _began_at(outcome, at), at)))
        readings = iter(self._readings(read, at))
        return [None if page is None else next(readings) for _, page in outcomes]

    def _readings(self, read: Sequence[_Read], at: float) -> list[BodyReading]:
        if not read:
            return []
        absent = {each.page.url for each in read if each.page.is_soft_404}
        if absent:
            self._state.sketches.remove(list(absent))
        placements = iter(self._placements([each for each in read if each.page.url not in absent]))
        return [
            self._reading(each, next(placements), at) if each.page.url not in absent else _absent(each) for each in read
        ]

    def _reading(self, read: _Read, placement: Placement | None, at: float) -> BodyReading:
        page, _, compared = read
        if placement is None:
            first = self._first_with(b"text", page.digests.main, page, at) if page.main_text else None
            is_copy, text, site = first is not None, page.digests.main, site_of(first) if first is not None else None
        else:
            is_copy, text, site = placement.is_copy, placement.cluster, placement.site
        is_indexable = not page.directives.hides_at(at) and page.preferences.search is not Preference.DISALLOW
        return BodyReading(
            page.digests,
            is_copy,
            is_indexable,
            compared.level,
            version_of(page),
            compared.blocks,
            placement,
            is_copy and self._is_repeated(text, site, page, at),
            page.statistics.words,
        )

    def _placements(self, read: Sequence[_Read]) -> list[Placement | None]:
        if not read:
            return []
        return self._state.sketches.add(self._sketched([each.page for each in read], [e.record for e in read]))

    def _sketched(self, pages: Sequence[ParsedPage], records: Sequence[UrlRecord | None]) -> list[Sketched]:
        worth = self._worth([page.url for page in pages])
        return [
            Sketched(page.url, page.sketch, _is_listed(record), value, page.canonical, page.digests.links)
            for page, record, value in zip(pages, records, worth, strict=True)
        ]

    def _is_repeated(self, text: int, first_site: Site | None, page: ParsedPage, at: float) -> bool:
        """Whether the site of a copy had its text before. The first of each site that copies another is remembered."""
        site = site_of(page.url)
        if site == first_site:
            return True
        return self._first_with(b"site", xxh3_64_intdigest(f"{site} {text}".encode()), page, at) is not None

    def _first_with(self, kind: bytes, key: int, page: ParsedPage, at: float) -> Url | None:
        """The other URL that was the first with a text, by its hash; `None` if it is this page."""
        first = self._state.payloads.add_new(Payload(kind + key.to_bytes(8, "big"), page.url, at, ""))
        return None if first is None or first.url == page.url else first.url


def _absent(read: _Read) -> BodyReading:
    """The result for a soft 404: it is in no cluster, and not to be indexed."""
    page, _, compared = read
    return BodyReading(page.digests, True, False, compared.level, version_of(page), compared.blocks, is_repeated=True)


def _is_gone(outcome: FetchOutcome) -> bool:
    """Whether a page was there and is not any more."""
    if outcome.task.visited_at is None or outcome.task.purpose is not Purpose.PAGE:
        return False
    return isinstance(outcome, Redirected) or (isinstance(outcome, Fetched) and outcome.status in _GONE)


def _is_unmodified(outcome: FetchOutcome) -> bool:
    return isinstance(outcome, NotModified) and outcome.task.purpose is Purpose.PAGE


def _began_at(outcome: FetchOutcome, at: float) -> float:
    """The time to which the answer refers, as the records of earlier visits do."""
    return outcome.started_at if isinstance(outcome, Fetched | NotModified) else at


def _is_listed(record: UrlRecord | None) -> bool:
    return record is not None and any(seen.source is Source.SITEMAP for seen in record.first_seen)


def follow_chains(guard: Guard, processed: Sequence[Processed]) -> None:
    """Note where pages lead, and what they say."""
    for answer, page, reading in processed:
        task = answer.outcome.task
        if page is not None and reading is not None and task.visited_at is None and task.purpose is Purpose.PAGE:
            guard.page_read(task.url, task.depth, page.sketch, page.links.urls)
