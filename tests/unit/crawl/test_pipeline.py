"""Which pages are copies: of what was said before, by whom, and until it is gone."""

from __future__ import annotations

from random import Random

import pytest

from periplus.content import version_of
from periplus.crawl.copies import Answer, Copies
from periplus.crawl.reading import PageReader
from periplus.model import (
    ChangeLevel,
    Fetched,
    FetchTask,
    FirstSeen,
    Lane,
    Placement,
    Purpose,
    Reading,
    Redirected,
    Site,
    Source,
    Standing,
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


def read(url: str, said: str, *, head: str = "") -> Answer:
    fetched = Fetched(task(url), 200, (("Content-Type", "text/html"),), f"{head}<p>{said}</p>".encode(), 5.0, 0.5)
    [page] = PageReader().read([fetched])
    return Answer(fetched, 5.0, page)


def gone(url: str, status: int, *, is_known: bool = True) -> Answer:
    return Answer(Fetched(task(url, is_known=is_known), status, (), b"", 6.0, 0.5), 6.0)


def are_copies(copies: Copies, *answers: Answer) -> list[bool | None]:
    return [None if reading is None else reading.is_copy for reading in copies.judge(answers)]


def placed(state: MemoryState, url: str) -> Placement:
    [placement] = state.sketches.get([Url(url)])
    assert placement is not None
    return placement


def test_who_says_nearly_the_same_later_is_a_copy() -> None:
    """In one batch or in several; what has no page gets no reading, and answers keep their places."""
    copies = Copies(MemoryState())
    failed = gone("https://a.test/x", 500, is_known=False)
    assert are_copies(copies, read(ONE, text(1)), failed, read(TWO, text(1, edits=3))) == [False, None, True]
    assert are_copies(copies, read("https://b.test/", text(1)), read("https://b.test/2", text(2))) == [True, False]
    assert are_copies(copies, read(ONE, text(1))) == [False]
    assert are_copies(copies) == []


def test_hardly_a_sentence_is_repeated_only_word_by_word() -> None:
    """And nothing is not repeated at all."""
    copies = Copies(MemoryState())
    assert are_copies(copies, read(ONE, "About us"), read(TWO, "About our site"), read(ONE, "About us")) == [False] * 3
    assert are_copies(copies, read("https://b.test/", "About us")) == [True]
    assert are_copies(copies, read(ONE, ""), read(TWO, "")) == [False, False]


def test_a_reading_says_what_report_must_know() -> None:
    """The digests of the page, whether it may be indexed, and what to keep of it to compare the next with."""
    answer = read(ONE, text(1), head='<meta name="robots" content="noindex">')
    page = answer.page
    assert page is not None
    told = Reading(page.digests, False, is_indexable=False, version=version_of(page))
    assert Copies(MemoryState()).judge([answer]) == [told]


@pytest.mark.parametrize(
    ("after", "level"),
    [(text(1), ChangeLevel.SAME), (text(2), ChangeLevel.MAJOR)],
)
def test_a_page_is_compared_with_what_it_said(after: str, level: ChangeLevel) -> None:
    """By what its record keeps of the last version."""
    state = MemoryState()
    copies = Copies(state)
    [first] = copies.judge([read(ONE, text(1))])
    assert first is not None
    seen = (FirstSeen(Source.SEED, 0.0),)
    state.records.put([UrlRecord(Url(ONE), seen, digests=first.digests, version=first.version, visits=1)])
    [second] = copies.judge([read(ONE, after)])
    assert second is not None
    assert second.level is level


@pytest.mark.parametrize("status", [301, 404, 410])
def test_a_page_that_is_gone_leaves(status: int) -> None:
    """What it said can then be said by another, also later in the same batch, but not before."""
    state = MemoryState()
    copies = Copies(state)
    leaving = gone(ONE, status)
    if status == 301:
        leaving = Answer(Redirected(task(ONE, is_known=True), 301, Url(TWO), (), 6.0, 0.5), 6.0)
    three = "https://a.test/three"
    batch = [read(ONE, text(1)), read(TWO, text(1)), leaving, read(three, text(1))]
    assert are_copies(copies, *batch) == [False, True, None, False]
    assert state.sketches.get([Url(ONE)]) == [None]
    assert placed(state, three).size == 2


@pytest.mark.parametrize("answer", [gone(ONE, 503), gone(ONE, 404, is_known=False)])
def test_a_page_that_may_come_back_stays(answer: Answer) -> None:
    """A server in trouble says nothing of its pages; and of one that never was, nobody need be told."""
    state = MemoryState()
    are_copies(Copies(state), read(ONE, text(1)), answer)
    assert placed(state, ONE).size == 1


def test_one_by_one_is_as_all_at_once() -> None:
    """Whoever goes through the same answers again after a crash, singly, puts every page where it was."""
    random = Random(5)
    urls = [f"https://{site}.test/{number}" for site in "ab" for number in range(8)]
    answers = [read(random.choice(urls), text(random.randrange(3), random.choice((0, 2, 40)))) for _ in range(60)]
    answers += [gone(random.choice(urls), 404) for _ in range(20)]
    random.shuffle(answers)
    together, singly = MemoryState(), MemoryState()
    one, other = Copies(together), Copies(singly)
    readings = one.judge(answers)
    assert readings == [reading for answer in answers for reading in other.judge([answer])]
    assert any(reading is not None and reading.is_copy for reading in readings)
    known = [Url(url) for url in urls]
    assert together.sketches.get(known) == singly.sketches.get(known)


def test_what_speaks_for_a_url_is_told() -> None:
    """A sitemap that lists it before all, then a canonical link of another, then what links make of it."""
    state = MemoryState()
    seen = (FirstSeen(Source.LINK, 1.0), FirstSeen(Source.SITEMAP, 2.0))
    state.records.put([UrlRecord(Url("https://a.test/listed/page"), seen), UrlRecord(Url(ONE), seen[:1])])
    state.standings.put([(Url("https://a.test/worthy/page"), Standing(worth=3.0))])
    copies = Copies(state, knows_worth=True)
    hint = f'<link rel="canonical" href="{TWO}">'
    expected = [
        (read(ONE, text(1)), ONE),
        (read("https://a.test/worthy/page", text(1)), "https://a.test/worthy/page"),
        (read("https://a.test/print", text(1), head=hint), "https://a.test/worthy/page"),
        (read(TWO, text(1)), TWO),
        (read("https://a.test/listed/page", text(1)), "https://a.test/listed/page"),
    ]
    for answer, canonical in expected:
        copies.judge([answer])
        assert placed(state, ONE).canonical == canonical
    forgetful = MemoryState()
    forgetful.standings = state.standings
    Copies(forgetful).judge([answer for answer, _ in expected])
    assert placed(forgetful, ONE).canonical == TWO
