"""The order of results, from values alone."""

from __future__ import annotations

import pytest
from tests.each_case import each_case

from periplus.apps.search.engine import Match, Weights
from periplus.apps.search.evaluation import Judged, average_precision, evaluate, ndcg
from periplus.apps.search.ranking import (
    Candidate,
    Ranked,
    grouped,
    is_name_of,
    rank,
    rounded,
    site_looked_for,
    sitelinks,
)
from periplus.apps.search.snippets import snippet_of
from periplus.apps.search.spelling import corrected

DAY = 86_400


def page(name: str, score: float, **facts: object) -> Candidate:
    site = str(facts.pop("site", "a.test"))
    return Candidate(Match(hash(name), score, True), f"https://{site}/{name}", site, **facts)  # type: ignore[arg-type]


def order(*pages: Candidate, words: tuple[str, ...] = (), weights: Weights | None = None) -> list[str]:
    found = rank(pages, words, now=100 * DAY, weights=weights or Weights())
    return [one.candidate.url.rpartition("/")[2] for one in found]


def test_links_spam_and_age_move_pages() -> None:
    """Each in the direction its weight says."""
    assert order(page("plain", 5.0), page("linked", 5.0, page_rank=400.0)) == ["linked", "plain"]
    assert order(page("spam", 5.5, spam=0.9), page("plain", 5.0)) == ["plain", "spam"]
    news = Weights(fresh=0.5)
    assert order(page("old", 5.1, time=1), page("new", 5.0, time=99 * DAY), weights=news) == ["new", "old"]


@each_case(("page_rank", "part"), [(0.15, 0.042), (1.0, 0.208), (10.0, 0.719), (400.0, 1.798)])
def test_what_pagerank_adds(page_rank: float, part: float) -> None:
    """Three tenths of the logarithm."""
    one = rank([page("x", 0.0, page_rank=page_rank)], (), now=0, weights=Weights())[0]
    assert one.parts["rank"] == pytest.approx(part, abs=5e-4)


def test_of_equals_the_shorter_url_comes_first() -> None:
    """Then the alphabet decides."""
    assert order(page("bb", 1.0), page("c", 1.0), page("a", 1.0)) == ["a", "c", "bb"]


def test_a_name_finds_the_home_page() -> None:
    """A query that is the name of a site means its home page."""
    home = page("", 4.0, site="www.example.org", is_home=True)
    assert order(page("x", 5.0, site="b.test"), home, words=("example",)) == ["", "x"]
    assert is_name_of("example", "www.example.org")
    assert is_name_of("mysite", "my-site.test:8080")
    assert not is_name_of("org", "www.example.org")
    assert not is_name_of("www", "www.example.org")
    assert not is_name_of("", "a.test")


def test_a_site_has_two_places_until_others_run_out() -> None:
    """And says how many more it has."""
    pages = [page(str(number), 9.0 - number) for number in range(4)] + [page("b", 1.0, site="b.test")]
    ranked = rank(pages, (), now=0, weights=Weights())
    shown, more = grouped(ranked, 3)
    assert [one.candidate.url for one in shown] == ["https://a.test/0", "https://a.test/1", "https://b.test/b"]
    assert more == {"a.test": 2}
    assert len(grouped(ranked, 10)[0]) == 5


def test_sitelinks_belong_to_a_site_that_was_looked_for() -> None:
    """The home page comes first, and leads clearly or has the name that was typed."""
    home, other = page("", 6.0, site="www.example.org", is_home=True), page("x", 5.5, site="b.test")

    def ranked(*pages: Candidate) -> list[Ranked]:
        return rank(pages, (), now=0, weights=Weights())

    assert site_looked_for(ranked(home, other), ("example",)) == "www.example.org"
    assert site_looked_for(ranked(home, other), ("words",)) == ""
    assert site_looked_for(ranked(home, page("x", 3.0, site="b.test")), ("words",)) == "www.example.org"
    assert site_looked_for(ranked(page("x", 9.0, site="b.test"), home), ("example",)) == ""
    assert site_looked_for([], ("example",)) == ""


def test_sitelinks_are_few_and_not_results_already() -> None:
    """A link without a title is shown by its URL."""
    links = [(f"https://a.test/{number}", "") for number in range(9)]
    found = sitelinks(links, ["https://a.test/0"])
    assert [link.url for link in found] == [f"https://a.test/{number}" for number in range(1, 7)]
    assert found[0].title == "https://a.test/1"


@each_case(("total", "shown"), [(0, 0), (999, 999), (1000, 1000), (1234, 1200), (1_987_654, 2_000_000)])
def test_large_counts_are_rounded(total: int, shown: int) -> None:
    """Exact to a thousand."""
    assert rounded(total) == shown


def test_a_snippet_shows_the_words() -> None:
    """The stretch with the most of them, cut at words, with their places."""
    text = "Nothing here. " * 50 + "The crawler visits a page and visits it again. " + "More follows. " * 50
    snippet = snippet_of(text, {"crawler", "visit"}, "en")
    assert "crawler visits a page and visits" in snippet.text
    assert [snippet.text[start:end] for start, end in snippet.marks] == ["crawler", "visits", "visits"]
    assert snippet.text.startswith("… ")
    assert len(snippet.text) <= 204
    assert snippet_of("Short text.", {"none"}, "en").text == "Short text."
    assert snippet_of("", {"none"}, "en").text == ""
    assert snippet_of("İstanbul crawl", {"crawl"}, "en").marks


def test_spelling() -> None:
    """The most frequent word one edit away, if it is much more frequent."""
    known = {"crawler": 50, "crawlers": 9, "trawler": 3}
    use_of = lambda words: {word: known[word] for word in words if word in known}  # noqa: E731
    words_like = lambda word: {other: use for other, use in known.items() if other[0] == word[0]}  # noqa: E731
    for typed in ("crawlre", "crawlr", "crawlers", "crwlre"):
        assert corrected(typed, use_of, words_like) == "crawler"
    for typed in ("crawler", "zebra", "crtrwlre"):
        assert corrected(typed, use_of, words_like) is None


def test_measures() -> None:
    """Against values worked out by hand."""
    assert average_precision([1, 3], 2) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([], 0) == 0
    assert ndcg([0, 1], [1]) == pytest.approx(0.63093, abs=1e-5)
    told = {"a": ["x", "y"], "b": ["z", "q"]}
    found = evaluate([Judged("a", {"y": 1}), Judged("b", {"z": 1, "w": 1})], told.__getitem__)
    assert (found.reciprocal_rank, found.success_1, found.success_10) == (0.75, 0.5, 1.0)
    assert found.mean_average_precision == pytest.approx(0.5)
