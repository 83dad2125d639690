"""Words of texts, and the language of a page."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given
from tests.each_case import each_case

from periplus.content import read_page
from periplus.content.text_language import WORD, is_stop_word, language_of, page_language, words_of


def test_words_are_lower_case_and_split_at_punctuation() -> None:
    """Scripts without blanks give characters."""
    assert words_of("Read the_docs: C++11, é") == ["read", "the", "docs", "c", "11", "é"]
    assert words_of("日本 text ไทย") == ["日", "本", "text", "ไ", "ท", "ย"]


@given(st.text(max_size=300) | st.text(st.sampled_from("aBéÉß“—_ .日ー๏İK1²\ud800"), max_size=60))
def test_words_are_what_the_pattern_finds(text: str) -> None:
    """The fast ways give the same words."""
    assert words_of(text) == WORD.findall(text.lower())


ENGLISH = "The crawler reads the pages of a site and follows the links that it finds in them, as it should."
GERMAN = "Der Crawler liest die Seiten und folgt den Verweisen, die er auf ihnen findet, wie es sein soll."


@each_case(
    ("text", "declared", "language"),
    [
        (ENGLISH, "", "en"),
        (ENGLISH, "en-US", "en"),
        (GERMAN, "en", "de"),
        (GERMAN, "", "de"),
        ("これは日本語の文章です。", "en", "ja"),
        ("Это русский текст о поиске.", "", "ru"),
        ("Це український текст.", "uk", "uk"),
        ("x = 1; y = 2; z = 3", "", "xx"),
        ("", "fr", "fr"),
        ("", "", "xx"),
    ],
)
def test_the_language_of_a_text(text: str, declared: str, language: str) -> None:
    """A declared language is believed if the text agrees."""
    assert language_of(text, declared) == language


def test_stop_words() -> None:
    """In any of the languages asked about."""
    assert is_stop_word("the", ["de", "en"])
    assert not is_stop_word("the", ["de"])


@each_case(
    ("html", "tag"),
    [
        (f"<main>{ENGLISH}</main>", "en"),
        (f"<html lang=en-GB><main>{ENGLISH}</main>", "en-GB"),
        (f"<html lang=en><main>{GERMAN}</main>", "de"),
        ("<html lang=nb><main>Og det er en til på som med</main>", "nb"),
        ("<main>x = 1; y = 2</main>", ""),
    ],
)
def test_the_language_of_a_page(html: str, tag: str) -> None:
    """The tag that it declares, if its text agrees; else what its text is in, if that is known."""
    assert page_language(read_page(html.encode(), "https://example.org/", "text/html; charset=utf-8")) == tag
