"""The next page of a list, by its links."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.content import read_page
from periplus.content.pagination import Evidence, evidence_of, next_page
from periplus.model import Url

LIST = "http://a.test/list/"


def found(html: str, url: str = LIST) -> str | None:
    """The next page of a page."""
    return read_page(html.encode(), url, "text/html; charset=utf-8").relations.next


def links(*pairs: tuple[str, str]) -> str:
    """Links of a page: where they lead, and what they say."""
    return "".join(f"<p><a href='{path}'>{text}</a>" for path, text in pairs)


@each_case("text", ["Next", "next »", "Weiter", "Suivant ›", "下一页", "Следующая", ">", "›", "Older posts", "Next 20"])
def test_a_link_says_it(text: str) -> None:
    assert found(links(("/about", "About"), ("/list/page/2", text))) == "http://a.test/list/page/2"


@each_case(
    "markup",
    [
        "<a class=nextpostslink href=page/2>+</a>",
        "<a title='Next page' href=page/2><i class=icon></i></a>",
        "<a aria-label=Next href=page/2><svg></svg></a>",
        "<ul><li class=pager-next><a href=page/2>Fortfahren</a></ul>",
        "<ul><li id=next><span><a href=page/2></a></span></ul>",
        "<a href=page/2><img src=x alt=Next></a>",
    ],
)
def test_markup_says_it(markup: str) -> None:
    """Where the text of the link is unknown, or there is none."""
    assert found(markup) == "http://a.test/list/page/2"


def test_a_class_alone_is_too_little() -> None:
    """It may be about the next slide, step or article."""
    assert found("<a class=next href=page/7>Story</a><div class=next><a href=/news/another>Story</a></div>") is None


def test_older_posts_may_be_the_previous_ones() -> None:
    """As the page calls them."""
    older, newer = "<a href=/blog/page/3>Older posts</a>", "<a href=/blog/>Newer posts</a>"
    page = f"<div class=nav-previous>{older}</div><div class=nav-{{}}>{newer}</div>"
    assert found(page.format("next"), "http://a.test/blog/page/2") == "http://a.test/blog/"
    assert found(page.format("newer"), "http://a.test/blog/page/2") is None
    assert found(older + newer, "http://a.test/blog/page/2") == "http://a.test/blog/page/3"


def test_a_link_to_elsewhere_is_not_the_next_page() -> None:
    """What is next of another list, or on another host, does not continue this one."""
    assert found(links(("/story/what-comes-next", "Next"))) is None
    assert found(links(("http://b.test/list/2", "Next"))) is None
    assert found("<a rel=next href=http://b.test/list/2>2</a>") is None


def test_a_list_may_go_on_elsewhere() -> None:
    """Under another path, if a link is numbered; without "www." and over https."""
    assert (
        found(links(("/node?page=1", "2"), ("/node?page=1", "next ›")), "http://a.test/") == "http://a.test/node?page=1"
    )
    assert found(links(("https://www.a.test/list/2", "Next"))) == "https://www.a.test/list/2"


def test_the_number_after_the_missing_one() -> None:
    numbered = links(*((f"/list/{number}", str(number)) for number in (1, 2, 4, 5)))
    assert found(numbered, "http://a.test/list/3") == "http://a.test/list/4"
    assert found(links(("/list/2", "2"), ("/list/3", "3"))) == "http://a.test/list/2"


def test_the_last_page_has_no_next_one() -> None:
    assert found(links(*((f"/list/{n}", str(n)) for n in (1, 2, 3))), "http://a.test/list/4") is None


def test_the_days_of_a_calendar_are_not_pages() -> None:
    assert found(links(*((f"/list/2016-03-{day:02}", str(day)) for day in (2, 3, 4)))) is None


@each_case(
    ("here", "there", "is_step"),
    [
        ("/list", "/list/page/2", True),
        ("/list/", "/list?page=1", True),
        ("/list/index.php", "/list/?start=20", True),
        ("/list.html", "/list_p2.html", True),
        ("/list.html", "/list-2.html", True),
        ("/reviews-le-a.html", "/reviews-or10-le-a.html", True),
        ("/list/page/2", "/list/page/3", True),
        ("/list?q=a&start=20", "/list?q=a&start=40", True),
        ("/list?s=1f&page=2", "/list?page=3", True),
        ("/", "/page/2", True),
        ("/list/page/3", "/list/page/2", False),
        ("/list/page/2", "/list/page/9", False),
        ("/list?page=2", "/list?page=2&sort=1999", False),
        ("/list?start=20", "/list?start=27", False),
        ("/list", "/list/a-story-of-2-men", False),
        ("/2014/03/01/one", "/2014/03/02/two", False),
    ],
)
def test_steps_of_urls(here: str, there: str, is_step: bool) -> None:
    """One more page, as many items as stand on one more, or the second page where the first has no number."""
    target = Url(f"http://a.test{there}")
    evidence = evidence_of(Url(f"http://a.test{here}"), [target, target], ["2", "Next"], {})
    assert evidence == {target: Evidence(says_next=True, is_step=is_step)}


paths = st.text(st.sampled_from("ab12/?&=.-_p\u0664"), max_size=12).map(lambda path: Url(f"http://a.test/{path}"))
rows = st.lists(
    st.tuples(paths | st.none(), st.sampled_from(["2", "3", "Next", "»", "", "a"]), st.integers(0, 7)), max_size=8
)


@given(paths, rows)
def test_any_links_are_judged(url: Url, links: list[tuple[Url | None, str, int]]) -> None:
    """The next page is one of those that links lead to, and not the page itself."""
    urls, anchors, marks = ([row[column] for row in links] for column in range(3))
    target = next_page(url, urls, anchors, {}, dict(enumerate(marks)))  # type: ignore[arg-type]
    assert target is None or (target in urls and target != url)


def test_a_declaration_wins() -> None:
    html = "<link rel=next href=/declared><a href=/list/2>Next</a>"
    assert found(html) == "http://a.test/declared"
    relations = read_page(html[html.index("<a") :].encode(), LIST, "text/html").relations
    assert (relations.next, relations.is_next_declared) == ("http://a.test/list/2", False)
    assert found("<a href=/list/2>Next</a><a rel='nofollow Next' href=/list/b>b</a>") == "http://a.test/list/b"
