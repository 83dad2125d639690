"""Terms and languages."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given
from tests.each_case import each_case

from periplus.apps.search.analysis import WORD, is_stop_word, language_of, places_of, terms_of, words_of


def test_words_are_lower_case_and_split_at_punctuation() -> None:
    """Scripts without blanks give characters."""
    assert words_of("Read the_docs: C++11, é") == ["read", "the", "docs", "c", "11", "é"]
    assert words_of("日本 text ไทย") == ["日", "本", "text", "ไ", "ท", "ย"]


@given(st.text(max_size=300) | st.text(st.sampled_from("aBéÉß“—_ .日ー๏İK1²\ud800"), max_size=60))
def test_words_are_what_the_pattern_finds(text: str) -> None:
    """The fast ways give the same words."""
    assert words_of(text) == WORD.findall(text.lower())


@each_case(
    ("text", "language", "terms"),
    [
        ("Crawling crawlers crawled", "en", ["crawl", "crawler", "crawl"]),
        ("Häuser Haus", "de", ["haus", "haus"]),
        ("été", "fr", ["ete"]),
        ("år", "sv", ["år"]),
        ("running", "xx", ["running"]),
        ("x" * 65 + " y", "en", ["y"]),
    ],
)
def test_terms(text: str, language: str, terms: list[str]) -> None:
    """Words without endings, and without accents where these are not letters of their own."""
    assert terms_of(text, language) == terms


def test_places_are_those_of_the_words() -> None:
    """For marking them in a snippet."""
    assert places_of("A crawl, crawled", "en", {"crawl"}) == [(2, 7, "crawl"), (9, 16, "crawl")]


ENGLISH = "The crawler reads the pages of a site and follows the links that it finds in them, as it should."
GERMAN = "Der Crawler liest die Seiten und folgt den Verweisen, die er auf ihnen findet, wie es sein soll."


@each_case(
    ("text", "declared", "language"),
    [
        (ENGLISH, None, "en"),
        (ENGLISH, "en-US", "en"),
        (GERMAN, "en", "de"),
        (GERMAN, None, "de"),
        ("これは日本語の文章です。", "en", "ja"),
        ("Это русский текст о поиске.", None, "ru"),
        ("Це український текст.", "uk", "uk"),
        ("x = 1; y = 2; z = 3", None, "xx"),
        ("", "fr", "fr"),
        ("", None, "xx"),
    ],
)
def test_the_language_of_a_text(text: str, declared: str | None, language: str) -> None:
    """A declared language is believed if the text agrees."""
    assert language_of(text, declared) == language


def test_stop_words() -> None:
    """In any of the languages asked about."""
    assert is_stop_word("the", ["de", "en"])
    assert not is_stop_word("the", ["de"])
