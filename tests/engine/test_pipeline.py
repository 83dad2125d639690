"""What is made of answers: which pages are copies, how they compare with their last version, what is reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest
from tests.each_case import each_case
from tests.reference.event_sink import MemoryEventSink

from periplus.content import version_of
from periplus.engine.comparison import PageComparer
from periplus.engine.frontier import SiteRecords
from periplus.engine.inputs import FetchAnswer
from periplus.engine.links import PageReader
from periplus.engine.pipeline import Deduplicator, PagePipeline
from periplus.model import (
    BodyReading,
    ChangeLevel,
    ChangeSeen,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    FirstSeen,
    Lane,
    Located,
    NotModified,
    PageRead,
    ParsedPage,
    Placement,
    Purpose,
    Redirected,
    Site,
    Source,
    Url,
    UrlRecord,
)
from periplus.store import MemoryState

ONE, TWO = ("https://a.test/one", "https://a.test/two")


def task(url: str, *, is_known: bool = False) -> FetchTask:
    return FetchTask(Url(url), Site("a.test"), Purpose.PAGE, Lane.DISCOVERY, 0.0, visited_at=1.0 if is_known else None)


def text(seed: int, edits: int = 0) -> str:
    """Three hundred words, some of them replaced."""
    words = [f"word{Random(seed).random():.9f}{number}" for number in range(300)]
    for place in Random(edits).sample(range(300), edits):
        words[place] = f"other{place}"
    return " ".join(words)


Outcome = tuple[FetchOutcome, ParsedPage | None]


def fetched(url: str, said: str, *, head: str = "") -> Fetched:
    return Fetched(task(url), 200, (("Content-Type", "text/html"),), f"{head}<p>{said}</p>".encode(), 5.0, 0.5)


def read(url: str, said: str, *, head: str = "") -> Outcome:
    outcome = fetched(url, said, head=head)
    return outcome, PageReader().read([outcome])[0]


def gone(url: str, status: int, *, is_known: bool = True) -> Outcome:
    return Fetched(task(url, is_known=is_known), status, (), b"", 6.0, 0.5), None


def deduplicator(state: MemoryState, worth: Callable[[Sequence[Url]], list[float]] | None = None) -> Deduplicator:
    comparer = PageComparer(SiteRecords(state.sites))
    return Deduplicator(state, comparer, worth=worth or (lambda urls: [0.0] * len(urls)))


def are_copies(pages: Deduplicator, *outcomes: Outcome) -> list[bool | None]:
    return [None if reading is None else reading.is_copy for reading in pages.judge(outcomes, 5.0)]


def placed(state: MemoryState, url: str) -> Placement:
    [placement] = state.sketches.get([Url(url)])
    assert placement is not None
    return placement


def test_later_page_with_nearly_the_same_text_is_a_copy() -> None:
    """In one batch or in several; an answer without a page has no reading, and readings keep their order."""
    pages = deduplicator(MemoryState())
    failed = gone("https://a.test/x", 500, is_known=False)
    assert are_copies(pages, read(ONE, text(1)), failed, read(TWO, text(1, edits=3))) == [False, None, True]
    assert are_copies(pages, read("https://b.test/", text(1)), read("https://b.test/2", text(2))) == [True, False]
    assert are_copies(pages, read(ONE, text(1))) == [False]
    assert are_copies(pages) == []


def test_very_short_page_is_a_copy_only_word_for_word() -> None:
    """A page without any text is not a copy."""
    pages = deduplicator(MemoryState())
    assert are_copies(pages, read(ONE, "About us"), read(TWO, "About our site"), read(ONE, "About us")) == [False] * 3
    assert are_copies(pages, read("https://b.test/", "About us")) == [True]
    assert are_copies(pages, read(ONE, ""), read(TWO, "")) == [False, False]


def test_reading_of_a_page() -> None:
    """The digests of the page, whether it may be indexed, and what is kept to compare the next version with."""
    outcome = read(ONE, text(1), head='<meta name="robots" content="noindex">')
    page = outcome[1]
    assert page is not None
    placement = Placement(0, Url(ONE), 1, 1.0, False, site=Site("a.test"))
    words = page.statistics.words
    expected = BodyReading(
        page.digests, False, is_indexable=False, version=version_of(page), placement=placement, words=words
    )
    assert deduplicator(MemoryState()).judge([outcome], 5.0) == [expected]


@pytest.mark.parametrize(("at", "is_indexable"), [(1277424000.0, False), (1277423999.0, True)])
def test_a_page_is_indexable_until_its_date(at: float, is_indexable: bool) -> None:
    """That of `unavailable_after`; from then on it is like one with `noindex`."""
    outcome = read(ONE, text(1), head='<meta name="robots" content="unavailable_after: 2010-06-25">')
    [reading] = deduplicator(MemoryState()).judge([outcome], at)
    assert reading is not None
    assert reading.is_indexable is is_indexable


@pytest.mark.parametrize(
    ("after", "level"),
    [(text(1), ChangeLevel.SAME), (text(2), ChangeLevel.MAJOR)],
)
def test_page_is_compared_with_its_last_version(after: str, level: ChangeLevel) -> None:
    """By what its record keeps of the last version."""
    state = MemoryState()
    pages = deduplicator(state)
    [first] = pages.judge([read(ONE, text(1))], 5.0)
    assert first is not None
    seen = (FirstSeen(Source.SEED, 0.0),)
    state.records.put([UrlRecord(Url(ONE), seen, digests=first.digests, version=first.version, visits=1)])
    [second] = pages.judge([read(ONE, after)], 6.0)
    assert second is not None
    assert second.level is level


@each_case("status", [301, 404, 410])
def test_a_page_that_is_gone_leaves(status: int) -> None:
    """Another page may then have its text without being a copy, also later in the same batch, but not before."""
    state = MemoryState()
    pages = deduplicator(state)
    leaving = gone(ONE, status)
    if status == 301:
        leaving = Redirected(task(ONE, is_known=True), 301, Url(TWO), (), 6.0, 0.5), None
    three = "https://a.test/three"
    batch = [read(ONE, text(1)), read(TWO, text(1)), leaving, read(three, text(1))]
    assert are_copies(pages, *batch) == [False, True, None, False]
    assert state.sketches.get([Url(ONE)]) == [None]
    assert placed(state, three).size == 2


@pytest.mark.parametrize("outcome", [gone(ONE, 503), gone(ONE, 404, is_known=False)])
def test_page_that_may_come_back_stays(outcome: Outcome) -> None:
    """An error of the server says nothing of the page; and a page that was never fetched cannot leave."""
    state = MemoryState()
    are_copies(deduplicator(state), read(ONE, text(1)), outcome)
    assert placed(state, ONE).size == 1


def test_one_by_one_is_as_all_at_once() -> None:
    """Replaying the same answers one by one gives the same clusters."""
    random = Random(5)
    urls = [f"https://{site}.test/{number}" for site in "ab" for number in range(8)]
    answers = [read(random.choice(urls), text(random.randrange(3), random.choice((0, 2, 40)))) for _ in range(60)]
    answers += [gone(random.choice(urls), 404) for _ in range(20)]
    random.shuffle(answers)
    together, singly = MemoryState(), MemoryState()
    one, other = deduplicator(together), deduplicator(singly)
    readings = one.judge(answers, 5.0)
    assert readings == [reading for answer in answers for reading in other.judge([answer], 5.0)]
    assert any(reading is not None and reading.is_copy for reading in readings)
    known = [Url(url) for url in urls]
    assert together.sketches.get(known) == singly.sketches.get(known)


def test_canonical_url_of_a_cluster() -> None:
    """The one in a sitemap, before one that a canonical link names, before the one that links make worth most."""
    state = MemoryState()
    seen = (FirstSeen(Source.LINK, 1.0), FirstSeen(Source.SITEMAP, 2.0))
    state.records.put([UrlRecord(Url("https://a.test/listed/page"), seen), UrlRecord(Url(ONE), seen[:1])])
    pages = deduplicator(state, worth=lambda urls: [3.0 if "worthy" in url else 0.0 for url in urls])
    hint = f'<link rel="canonical" href="{TWO}">'
    expected = [
        (read(ONE, text(1)), ONE),
        (read("https://a.test/worthy/page", text(1)), "https://a.test/worthy/page"),
        (read("https://a.test/print", text(1), head=hint), "https://a.test/worthy/page"),
        (read(TWO, text(1)), TWO),
        (read("https://a.test/listed/page", text(1)), "https://a.test/listed/page"),
    ]
    for outcome, canonical in expected:
        pages.judge([outcome], 5.0)
        assert placed(state, ONE).canonical == canonical
    unlisted = MemoryState()
    deduplicator(unlisted).judge([outcome for outcome, _ in expected], 5.0)
    assert placed(unlisted, ONE).canonical == TWO


def story(number: int, quote: int, edition: int = 0) -> bytes:
    """A page with a story that has editions, and a quotation that differs at every visit."""
    words = " ".join(f"word{number}x{edition}x{place}." for place in range(80))
    return f"<article><p>{words}</p><div class=q>Saying {quote * 7919 % 10_007}</div></article>".encode()


def test_one_by_one_teaches_as_all_at_once() -> None:
    """Replaying the same answers one by one finds the same levels and teaches the site the same."""
    random, reader, day = Random(3), PageReader(watches=True), 86_400.0
    outcomes: list[Outcome] = []
    before = []
    for number in range(40):
        url = f"https://a.test/{number}"
        first = Fetched(task(url), 200, (), story(number, number), 10.0, 0.5)
        [page] = reader.read([first])
        seen = (FirstSeen(Source.SEED, 0.0),)
        before.append(
            UrlRecord(
                Url(url),
                seen,
                digests=page.digests,
                version=version_of(page),
                kept_at=10.0,
                blocks=page.blocks,
                visits=1,
            )
        )
        known = task(url, is_known=True)
        again = Fetched(known, 200, (), story(number, number + 300, random.randrange(3) // 2), day, 0.5)
        is_unmodified = random.random() < 0.3
        outcomes.append((NotModified(known, (), day, 0.5), None) if is_unmodified else (again, reader.read([again])[0]))
    results = []
    for portion in (1, 7, 40):
        state = MemoryState()
        state.records.put(before)
        sites = SiteRecords(state.sites)
        pages = Deduplicator(state, PageComparer(sites), worth=lambda urls: [0.0] * len(urls))
        parts = [outcomes[start : start + portion] for start in range(0, 40, portion)]
        readings = [reading for part in parts for reading in pages.judge(part, day)]
        results.append((readings, sites.get(Site("a.test")).churn))
    assert results[0] == results[1] == results[2]
    levels = {reading.level for reading in results[0][0] if reading is not None}
    assert {ChangeLevel.RAW_ONLY, ChangeLevel.MAJOR} <= levels
    assert results[0][1].compared == 40


class BrokenReader(PageReader):
    """A reader with a bug: it raises at one page."""

    def read(self, answers: Sequence[Fetched]) -> list[ParsedPage]:
        if any(b"bug" in answer.body for answer in answers):
            raise RuntimeError("a bug")
        return super().read(answers)


def pipeline(reader: PageReader | None = None) -> tuple[PagePipeline, MemoryEventSink]:
    state, events = MemoryState(), MemoryEventSink()
    comparer = PageComparer(SiteRecords(state.sites))
    return (
        PagePipeline(state, reader or PageReader(), comparer, events=events, worth=lambda urls: [0.0] * len(urls)),
        events,
    )


def test_pipeline_reports_requests_pages_and_changes() -> None:
    """Every request ended, every page that was read, and whether it changed; a DNS lookup is not a request."""
    pages, events = pipeline()
    known = task(TWO, is_known=True)
    located = Located(FetchTask(Url(ONE), Site("a.test"), Purpose.ROBOTS, Lane.DISCOVERY, 0.0), "192.0.2.1", 9.0)
    outcomes: list[FetchOutcome] = [fetched(ONE, text(1)), NotModified(known, (), 5.0, 0.5), gone(ONE, 500)[0], located]
    processed = pages.process([FetchAnswer(outcome) for outcome in outcomes], 7.0)
    assert [event.outcome for event in events.events if isinstance(event, FetchEnded)] == outcomes[:3]
    assert [event.page.url for event in events.events if isinstance(event, PageRead)] == [ONE]
    changes = [(event.url, event.level) for event in events.events if isinstance(event, ChangeSeen)]
    assert changes == [(TWO, ChangeLevel.SAME)]
    assert [each.page is not None for each in processed] == [True, False, False, False]


def test_answer_that_is_not_to_be_read_is_a_request_without_a_page() -> None:
    """Processes died of reading it."""
    pages, events = pipeline()
    [processed] = pages.process([FetchAnswer(fetched(ONE, text(1)), is_read=False)], 7.0)
    assert (processed.page, processed.reading) == (None, None)
    assert [type(event) for event in events.events] == [FetchEnded]
    assert pages.links(processed, 7.0, lambda _links: 0.0) == []


def test_bug_at_one_page_spares_the_others(caplog: pytest.LogCaptureFixture) -> None:
    """Pages of one input are read together; when that raises, each is read by itself."""
    pages, _ = pipeline(BrokenReader())
    processed = pages.process([FetchAnswer(fetched(url, said)) for url, said in ((ONE, text(1)), (TWO, "bug"))], 7.0)
    assert [each.page is not None for each in processed] == [True, False]
    assert f"{TWO} could not be read" in caplog.text
