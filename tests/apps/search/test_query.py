"""Queries as people type them."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from periplus.apps.search.query import MAX_LENGTH, MAX_PHRASES, MAX_WORDS, Query, parse_query


def test_words_phrases_and_conditions() -> None:
    """Each part of a query is found."""
    query = parse_query(
        'crawl "change rate" -spam -"link farm" site:Example.org lang:de-AT intitle:web after:2026-01-02'
    )
    assert query.words == ("crawl", "change", "rate")
    assert query.phrases == (("change", "rate"),)
    assert query.without == (("spam",), ("link", "farm"))
    assert (query.site, query.language, query.in_title) == ("example.org", "de", ("web",))
    assert query.after == 1767312000
    assert query.notes == ()


def test_what_is_not_understood_becomes_words_and_notes() -> None:
    """Nothing fails, and a person learns what was left out."""
    assert parse_query("std::vector http://a.test/x").words == ("std", "vector", "http", "a", "test", "x")
    assert parse_query('"open').words == ("open",)
    assert "not a date" in parse_query("after:yesterday x").notes[0]
    assert "cannot be excluded" in parse_query("-site:a.test x").notes[0]


def test_words_joined_by_punctuation_belong_together() -> None:
    """So do characters of scripts without blanks."""
    assert parse_query("os.path data-type").joined == (("os", "path"), ("data", "type"))
    assert parse_query("os.path data-type --no-color").names == (("os", "path"), ("no", "color"))
    assert parse_query("検索").joined == (("検", "索"),)
    assert parse_query("plain words").joined == ()


def test_options_of_programs_are_words() -> None:
    """Two dashes, or a single letter, are not an exclusion."""
    query = parse_query("command line option --enable-shared -x -spam")
    assert query.words == ("command", "line", "option", "enable", "shared", "x")
    assert query.joined == (("enable", "shared"),)
    assert query.without == (("spam",),)


def test_bounds() -> None:
    """A long query is cut, and says so."""
    query = parse_query(" ".join(f"w{number}" for number in range(200)))
    assert len(query.words) == MAX_WORDS
    assert len(query.text) <= MAX_LENGTH
    assert len(query.notes) == 2


@given(st.text(max_size=800))
def test_any_text_is_a_query(text: str) -> None:
    """Within the bounds."""
    query = parse_query(text)
    assert isinstance(query, Query)
    assert len(query.words) <= MAX_WORDS
    assert len(query.phrases) <= MAX_PHRASES
