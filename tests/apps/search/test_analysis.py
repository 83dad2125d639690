"""Terms."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.apps.search.analysis import places_of, terms_of


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
