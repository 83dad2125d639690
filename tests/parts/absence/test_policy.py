"""Soft 404s by the answers of a site, and parked domains by their home pages."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.content import sketch_of
from periplus.model import Url
from periplus.parts.absence.policy import (
    ReadPage,
    SiteAbsence,
    accept_group,
    begin_probe,
    impossible_url,
    is_error_target,
    is_short_apology,
    learn_honest,
    learn_target,
    learn_template,
    may_probe,
    soft_404,
    suspect_page,
    suspect_redirect,
)
from periplus.parts.absence.settings import AbsenceSettings
from periplus.parts.absence.words import LANGUAGES, says_not_found

SETTINGS = AbsenceSettings(enabled=True)
SORRY = "We are sorry, but the page that you are looking for is not on this site any more, please use the search"


def page(path: str, text: str = SORRY, title: str = "Oops", *, cluster: int = 1, is_copy: bool = True) -> ReadPage:
    sketch = sketch_of(text)
    return ReadPage(Url(f"http://a.org{path}"), title, sketch, hash(text) & 0xFFFF, 20, cluster, is_copy)


@each_case(
    "title",
    [
        "404 Not Found",
        "Seite nicht gefunden",
        "Page introuvable",
        "ページが見つかりません",
        "找不到页面",
        "Страница не найдена",
    ],
)
def test_titles_that_say_so(title: str) -> None:
    assert says_not_found(title)


@each_case("title", ["Lost and found", "Chapter 1404", "Version 4.0.4", "Weather in Berlin"])
def test_titles_that_do_not(title: str) -> None:
    assert not says_not_found(title)


def test_there_are_forty_languages() -> None:
    assert len(LANGUAGES) >= 40


def test_three_pages_of_different_templates_are_suspicious() -> None:
    known = SiteAbsence()
    assert not suspect_page(known, page("/news/a.html"), SETTINGS)  # with the one that it copies: two
    assert suspect_page(known, page("/shop/item?id=3"), SETTINGS)


def test_pages_of_one_template_are_suspicious_when_there_are_eight() -> None:
    known = SiteAbsence()
    results = [suspect_page(known, page(f"/item/{number}.html"), SETTINGS) for number in range(7)]
    assert results == [False] * 6 + [True]


def test_a_template_finds_earlier_and_later_pages() -> None:
    known = SiteAbsence()
    suspect_page(known, page("/x/1.html"), SETTINGS)
    begin_probe(known, Url("http://a.org/x/1.html"), SETTINGS, 0.0)
    assert learn_template(known, page("/x/abcd.html"), None, SETTINGS, 0.0) == ["http://a.org/x/1.html"]
    assert soft_404(known, page("/y/2.html"), SETTINGS) is not None
    assert soft_404(known, page("/y/3.html", "All about sailing ships and how to build them"), SETTINGS) is None
    assert soft_404(known, page("/"), SETTINGS) is None


def test_a_site_that_shows_its_home_page_everywhere_has_no_template() -> None:
    known = SiteAbsence()
    shown = page("/abcd")
    learn_template(known, shown, shown.main, SETTINGS, 0.0)
    assert not known.templates
    learn_template(SiteAbsence(), page("/abcd", ""), None, SETTINGS, 0.0)
    assert soft_404(known, page("/y"), SETTINGS) is None


def test_an_honest_site_is_trusted_for_a_month_and_others_are_asked_twice() -> None:
    known = SiteAbsence()
    begin_probe(known, Url("http://a.org/x"), SETTINGS, 0.0)
    learn_honest(known, SETTINGS, 0.0)
    assert not may_probe(known, SETTINGS, 29 * 86400.0)
    assert may_probe(known, SETTINGS, 31 * 86400.0)
    liar = SiteAbsence()
    for _ in range(2):
        assert may_probe(liar, SETTINGS, 10.0)
        begin_probe(liar, Url("http://a.org/x"), SETTINGS, 10.0)
        learn_template(liar, page("/abcd"), None, SETTINGS, 10.0)
    assert not may_probe(liar, SETTINGS, 20.0)


def test_a_known_liar_needs_no_probe_for_its_next_template() -> None:
    known = SiteAbsence()
    learn_template(known, page("/abcd"), None, SETTINGS, 0.0)
    other = "No guide by that name exists in our library of guides, look at the list of all guides instead of this"
    found = [page(f"/guides/{number}", other, "Guide not found", cluster=7) for number in range(3)]
    for each in found:
        suspect_page(known, each, SETTINGS)
    assert accept_group(known, found[-1], SETTINGS)
    assert soft_404(known, page("/guides/9", other, cluster=7), SETTINGS) is not None


def test_redirects_home_are_soft_404s_if_an_impossible_url_redirects_too() -> None:
    known, home = SiteAbsence(), Url("http://a.org/")
    assert suspect_redirect(known, Url("http://a.org/old"), home)
    asked = begin_probe(known, Url("http://a.org/old"), SETTINGS, 0.0)
    assert learn_target(known, Url(asked.replace("a.org", "www.a.org"))) == []  # a move of the whole site
    assert not known.targets
    begin_probe(known, Url("http://a.org/old"), SETTINGS, 0.0)
    assert learn_target(known, home) == ["http://a.org/old"]
    assert is_error_target(known, Url("http://a.org/older"), home)
    assert not is_error_target(known, Url("http://a.org/index.html"), home)


def test_impossible_urls_resemble_the_suspect() -> None:
    assert impossible_url(Url("http://a.org/x/y.html")).startswith("http://a.org/x/")
    assert impossible_url(Url("http://a.org/x/y.html")).endswith(".html")
    assert impossible_url(Url("http://a.org/x/y/")).endswith("/")
    assert impossible_url(Url("http://a.org/i?id=7")).startswith("http://a.org/i?id=")
    assert impossible_url(Url("http://a.org/x/y.html")) == impossible_url(Url("http://a.org/x/y.html"))


def test_a_long_page_is_not_an_apology_and_estimates_are_not_trusted_near_the_bound() -> None:
    settings, title = AbsenceSettings(max_words=10), "Not found"
    assert is_short_apology(title, "word " * 5, settings)
    assert is_short_apology(title, "word " * 5, settings, estimated_words=19)
    assert not is_short_apology(title, "word " * 50, settings)
    assert not is_short_apology(title, "word " * 50, settings, estimated_words=50)
    assert not is_short_apology("Welcome", "word " * 5, settings)
