"""The next page of a list, by its links."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.content import read_page
from periplus.content.pagination import next_page
from periplus.model import Link, Links, Url

LIST = Url("http://a.test/list/")


def links(*pairs: tuple[str, str]) -> Links:
    return Links.of(Link(Url(f"http://a.test{path}"), text) for path, text in pairs)


@each_case("text", ["Next", "next »", "Weiter", "Suivant ›", "下一页", "Следующая", ">", "›"])
def test_a_link_says_it(text: str) -> None:
    assert next_page(LIST, links(("/about", "About"), ("/list/page/2", text))) == "http://a.test/list/page/2"


def test_a_link_to_elsewhere_is_not_the_next_page() -> None:
    """What is next of another list, or on another host, does not continue this one."""
    assert next_page(LIST, links(("/story/what-comes-next", "Next"))) is None
    assert next_page(LIST, Links.of([Link(Url("http://b.test/list/2"), "Next")])) is None


def test_the_number_after_the_missing_one() -> None:
    numbered = links(*((f"/list/{number}", str(number)) for number in (1, 2, 4, 5)))
    assert next_page(Url("http://a.test/list/3"), numbered) == "http://a.test/list/4"
    assert next_page(LIST, links(("/list/2", "2"), ("/list/3", "3"))) == "http://a.test/list/2"


def test_the_last_page_has_no_next_one() -> None:
    assert next_page(Url("http://a.test/list/4"), links(*((f"/list/{n}", str(n)) for n in (1, 2, 3)))) is None


def test_the_days_of_a_calendar_are_not_pages() -> None:
    days = links(*((f"/list/2016-03-{day:02}", str(day)) for day in (2, 3, 4)))
    assert next_page(LIST, days) is None


def test_a_declaration_wins() -> None:
    html = b"<link rel=next href=/declared><a href=/list/2>Next</a>"
    assert read_page(html, LIST, "text/html").relations.next == "http://a.test/declared"
    found = read_page(html[html.index(b"<a") :], LIST, "text/html").relations
    assert (found.next, found.is_next_declared) == ("http://a.test/list/2", False)
