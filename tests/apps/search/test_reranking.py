"""The first results read closely, their sections, and names in code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.each_case import each_case

from periplus.apps.search.documents import shared_ending
from periplus.apps.search.expansion import related_terms
from periplus.apps.search.listings import is_listing
from periplus.apps.search.names import (
    beginnings_of,
    defined_name,
    names_in,
    parts_of_name,
    typed_names,
    with_capitals_apart,
    without_number,
)
from periplus.apps.search.reranking import PARTS, AskedTerms, name_matches, parts_of
from periplus.apps.search.sections import BestSection, ReadPage, best_sections, best_stretch, read_pages
from periplus.apps.search.spelling import slips_between, with_replaced
from periplus.apps.search.term_numbers import NO_TERMS, Numbers, PageTerms, as_bytes, from_bytes, names_of, numbers_of
from periplus.content.text_language import UNKNOWN
from periplus.model import PageSection


def asked(text: str) -> AskedTerms:
    words = text.split()
    return AskedTerms([(word,) for word in words], [1.0] * len(words))


def names(given: Sequence[str]) -> Numbers:
    return names_of(given, UNKNOWN)[0]


def page(body: str, title: str = "", anchors: tuple[str, ...] = (), ids: tuple[str, ...] = ()) -> PageTerms:
    return PageTerms(
        title=names([title]),
        sections=names([""] * len(ids)),
        ids=names(ids),
        anchors=names(anchors),
        levels=np.full(len(ids), 7, np.uint32),
        starts=np.zeros(0, np.uint32),
        body=numbers_of(body.split(), UNKNOWN),
    )


def read(text: str, terms: PageTerms) -> ReadPage:
    return read_pages(asked(text), [page("x"), terms, page("join")])[1]


def best(text: str, terms: PageTerms, sections: list[PageSection], typed: str) -> list[BestSection]:
    return best_sections(asked(text), read(text, terms), sections, typed)


def parts(text: str, *pages: PageTerms) -> list[dict[str, float]]:
    return [dict(zip(PARTS, row, strict=True)) for row in parts_of(asked(text), pages)]


def test_terms_are_kept_as_bytes() -> None:
    """And come back as they were."""
    terms = page("a b c", "t", ("x y", "z"), ("p q",))
    again = from_bytes(as_bytes(terms))
    for name in PageTerms.__struct_fields__:
        assert getattr(again, name).tolist() == getattr(terms, name).tolist()


@each_case(
    ("body", "near"),
    [
        ("one two", 1.0),
        ("two one", 1.0),
        ("one x x two", 0.5),
        ("one x x x x x x two", 0.2),
        ("one " + "x " * 20 + "two", 0.0),
        ("one", 0.0),
    ],
)
def test_neighbouring_words(body: str, near: float) -> None:
    """The closer they come, the more it counts; pages beside each other share nothing."""
    first, _, third = parts("one two", page(body), page(""), page("two"))
    assert first["near"] == pytest.approx(near)
    assert third["near"] == 0
    assert parts("one", page(body))[0]["near"] == 1


def test_one_passage_has_the_words_or_many_have() -> None:
    """A share of the query in forty words; in the whole text it is coverage."""
    far = "one " + "x " * 200 + "two"
    near, apart = parts("one two", page("x " * 100 + "one " + "x " * 20 + "two"), page(far))
    assert (near["passage"], apart["passage"]) == (1.0, 0.5)
    assert (near["coverage"], apart["coverage"]) == (1.0, 1.0)
    assert parts("one two", NO_TERMS)[0]["coverage"] == 0


def test_names_that_are_what_was_typed() -> None:
    """A word that was not typed takes from a name; the title, links and definitions are names."""
    found = name_matches(asked("one two"), names(["one two", "one x", "", "two"]))
    assert found.tolist() == pytest.approx([1.0, 0.2, 0.0, 0.5])
    [told] = parts("dict get", page("", "dict", ("get it", "dict get"), ("dict get",)))
    assert told["title"] == pytest.approx(0.5)
    assert told["anchor"] == told["anchors"] == told["definition"] == told["near"] == 1


def test_a_result_leads_to_the_best_section() -> None:
    """The one that is called so before one that has the words; the first heading is the page."""
    sections = [
        PageSection(0, "paths", 1, "Paths"),
        PageSection(20, "os.path.join", 7, "os.path.join(path, *paths)"),
        PageSection(60, "os.path.joins", 7, "os.path.joins(path)"),
        PageSection(90, "", 2, "Notes"),
    ]
    terms = page("path x x x path join x x path join x x join path x")
    terms = PageTerms(
        terms.title,
        names(["path", "os path join", "os.path.join", "note"]),
        names(["", "os.path.join", "os.path.join", ""]),
        terms.anchors,
        np.array([1, 7, 7, 2], np.uint32),
        np.array([0, 4, 8, 12], np.uint32),
        terms.body,
    )
    assert best("os path join", terms, sections, "os.path.joins")[0].section.anchor == "os.path.joins"
    found = best("os path join", terms, sections, "os.path.join")
    assert [one.section.anchor for one in found] == ["os.path.join", "os.path.joins"]
    assert (found[0].end, found[0].is_page) == (60, False)
    assert best("path", terms, sections, "path")[0].is_page
    assert best("zebra", terms, sections, "zebra") == []
    assert best_stretch(asked("join"), read("join", terms), sections) == (20, 60)
    assert best_stretch(asked("zebra"), read("zebra", terms), sections) == (0, None)


def test_names_in_code() -> None:
    """Found as written, in parts, and by their beginnings."""
    assert defined_name("class http.server.HTTPServer(server_address)") == "http.server.HTTPServer"
    assert defined_name("(nothing)") == "(nothing)"
    assert names_in("Use os.path.join, lru_cache or HTTPServer; not words.") == [
        "os.path.join",
        "lru_cache",
        "HTTPServer",
    ]
    assert parts_of_name("http.server.HTTPServer") == ["http", "server"]
    assert parts_of_name("lru_cache") == ["lrucache"]
    assert with_capitals_apart("ThreadPoolExecutor") == "Thread Pool Executor"
    assert with_capitals_apart("word") == "word"
    assert set(beginnings_of(["os.path.Join"])) == {"os.path.join", "path.join", "join"}
    assert typed_names("the std::vector of x") == ["std.vector"]
    assert [without_number(title) for title in ("11.8. Partial Indexes", "Chapter 3. On", "A Word")] == [
        "Partial Indexes",
        "On",
        "A Word",
    ]


def test_slips() -> None:
    """Letters more, less, others and swapped; within names, too."""
    assert [slips_between("crawler", other) for other in ("crawler", "crawlre", "crwlre", "trawled", "x")] == [
        0,
        1,
        2,
        2,
        3,
    ]
    assert with_replaced("os.path.jion Jion adjion", {"jion": "join"}) == "os.path.join join adjion"


def test_what_titles_share() -> None:
    """From a separator on, if most have it."""
    assert shared_ending(["A — Site docs", "B — Site docs", "C - D — Site docs"]) == " — Site docs"
    assert shared_ending(["A — x", "B — y", "C"]) == ""
    assert shared_ending(["A | Site"]) == ""


def test_a_listing_is_made_of_links() -> None:
    """Navigation before a text is none."""
    anchors = [f"page {number}" for number in range(12)]
    assert is_listing("Index " + ", ".join(anchors), ["home", *anchors])
    assert not is_listing("A text about something else altogether. " * 9 + " ".join(anchors), anchors)
    assert not is_listing(" ".join(anchors[:4]), anchors[:4])


def test_related_terms_weigh_as_much_as_the_words() -> None:
    """The likeliest first."""
    found = related_terms([(2.0, ["ship", "ship", "sea", "7"]), (1.0, ["sea"])], 3)
    assert dict(found) == pytest.approx({"ship": 4 / 3, "sea": 5 / 3})
    assert related_terms([], 2) == ()
