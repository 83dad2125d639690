"""Which pages need their scripts, what can be read without them, and what is learnt of templates."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from tests.each_case import each_case
from tests.formats.linear_time import assert_linear

from periplus.content import RawPage, read_page, read_pages
from periplus.model import ConfigError, Fetched, FetchTask, Lane, ParsedPage, Purpose, ReadFrom, Render, Rendering, Url
from periplus.parts.render.pages import completed, escaped, hash_routes, script_data, script_need, unescaped
from periplus.parts.render.settings import RenderSettings
from periplus.parts.render.templates import (
    MAX_TEMPLATES,
    SiteRendering,
    TemplateDecision,
    TemplateTest,
    count_flagged,
    count_rendered,
    decision_for,
    forget_decision,
    gains,
)
from periplus.urls import site_of

URL = Url("https://app.example/item/1")
NOTE = "<noscript>You need to enable JavaScript to run this app.</noscript>"
SHELL = f'<title>App</title><body>{NOTE}<div id="root"></div><script src="/a.js"></script>'
SENTENCE = "Sails were furled before the storm came over the island. "
DAY = 86_400.0
WHEN_NEEDED = RenderSettings(mode="when-needed")


def points(html: str) -> int:
    return script_need(read_page(html.encode(), URL, "text/html; charset=utf-8"), html).score


def test_a_bare_shell_has_six_points() -> None:
    """Hardly any text, an empty element that scripts fill, a note, no links."""
    assert points(SHELL) == 6
    assert script_need(read_page(SHELL.encode(), URL), SHELL).is_needed


@each_case(
    ("html", "expected"),
    [
        (SHELL.replace('<script src="/a.js"></script>', ""), -9),
        (SHELL.replace(NOTE, ""), 5),
        (SHELL.replace('"root"', '"banner"'), 4),
        (SHELL.replace('<div id="root"></div>', '<div id="root"><div>Loading</div></div>'), 6),
        (SHELL.replace('<div id="root"></div>', f'<div id="root"><div>{SENTENCE}</div></div>'), 4),
        (SHELL.replace('"root"></div>', f'"root"><div><p>{SENTENCE * 5}</p></div></div>'), 3),
        (SHELL + f"<p>{SENTENCE * 10}", 4),
        (SHELL + f"<p>{SENTENCE * 10}" + "".join(f'<a href="/{n}">{n}</a>' for n in range(3)), 3),
        (SHELL + '<meta http-equiv="refresh" content="0; url=/other">', 4),
        (SHELL + '<form><input type="password" name="p"></form>', 4),
        ("<app-root></app-root><script>1</script>", 5),
    ],
)
def test_each_sign_adds_its_points(html: str, expected: int) -> None:
    """The table of the module, sign by sign."""
    assert points(html) == expected


def test_data_in_scripts_are_read_as_text_and_links() -> None:
    """Three kinds of data; files of the application are not links."""
    state = {"props": {"title": SENTENCE, "href": "/item/2", "image": "/logo.png", "code": "x" * 40}}
    page = json.dumps(state)
    for html in (
        f'<script id="__NEXT_DATA__" type="application/json">{page}</script>',
        f'<script type="application/ld+json">{page}</script>',
        f"<script>var a = 1; window.__INITIAL_STATE__ = {page}; start();</script>",
    ):
        found = script_data(html)
        assert found.texts == (SENTENCE.strip(),)
        assert found.links == ("/item/2",)
        assert not found.is_enough


@each_case("broken", ["{", "[1, 2", '{"a": }', "[" * 100_000, ""])
def test_broken_data_are_passed_over(broken: str) -> None:
    """Whatever stands there, nothing is raised and nothing is found."""
    assert script_data(f'<script id="__NEXT_DATA__">{broken}</script>').texts == ()
    assert script_data(f"<script>window.__INITIAL_STATE__ = {broken}</script>").texts == ()


def answer(html: str, render: Render, rendering: Rendering | None = None) -> Fetched:
    task = FetchTask(URL, site_of(URL), Purpose.PAGE, Lane.DISCOVERY, 0.0, render=render)
    return Fetched(task, 200, (("Content-Type", "text/html"),), html.encode(), 0.0, 0.1, rendering=rendering)


def read(html: str, render: Render, rendering: Rendering | None = None) -> ParsedPage:
    raw = RawPage(html.encode(), URL, "text/html; charset=utf-8")
    return completed(read_pages([raw])[0], raw, answer(html, render, rendering))


def test_a_shell_with_its_data_is_read_with_them() -> None:
    """Its text and its links are those of the data, and it is marked as read from them."""
    data = json.dumps({"body": [f"{number} {SENTENCE}" for number in range(12)], "next": "/item/2"})
    html = SHELL + f'<script id="__NEXT_DATA__" type="application/json">{data}</script>'
    page = read(html, Render.TEST)
    assert SENTENCE.strip() in page.main_text
    assert "https://app.example/item/2" in page.links.urls
    assert page.read_from is ReadFrom.DATA
    assert page.title == "App"
    assert read(html, Render.NEVER).read_from is ReadFrom.SERVER
    assert read(SHELL, Render.TEST).read_from is ReadFrom.SERVER


def test_a_rendered_page_has_routes_target_and_problem() -> None:
    """What only the browser knows is part of the page."""
    html = '<a href="/a">a</a><a href="#!/note/7">note</a><a href="#top">top</a>'
    rendering = Rendering(is_rendered=True, reason="render-timeout", target=Url("https://app.example/next"))
    page = read(html, Render.ALWAYS, rendering)
    assert "https://app.example/item/1?_escaped_fragment_=/note/7" in page.links.urls
    assert page.read_from is ReadFrom.BROWSER
    assert page.script_redirect == "https://app.example/next"
    assert [problem.reason for problem in page.problems] == ["render-timeout"]


@each_case(
    ("link", "url", "opened"),
    [
        ("#!/note/7", f"{URL}?_escaped_fragment_=/note/7", f"{URL}#!/note/7"),
        ("/x?a=1#!b c", "https://app.example/x?a=1&_escaped_fragment_=b%20c", "https://app.example/x?a=1#!b c"),
        (
            "/?q=a#!/a?b=c&d",
            "https://app.example/?q=a&_escaped_fragment_=/a%3Fb%3Dc%26d",
            "https://app.example/?q=a#!/a?b=c&d",
        ),
    ],
)
def test_routes_behind_a_hash_have_urls(link: str, url: str, opened: str) -> None:
    """There and back: the URL of the crawl, and the one that the browser opens."""
    made = escaped(link, URL)
    assert made == url
    assert unescaped(Url(url)) == opened


def test_only_routes_count() -> None:
    """Links within a page are not pages, and a URL without a route is opened as it is."""
    assert escaped("#top", URL) is None
    assert escaped("#!", URL) is None
    assert unescaped(URL) == URL
    html = "<a class=x href='#!/a'>1</a><a href=\"/b#!/c&amp;d\">2</a><p>#!/e</p>"
    assert len(hash_routes(html, URL)) == 2


def test_three_pages_decide_a_template() -> None:
    """Two of three pages gain: the template needs scripts until it is tested again."""
    known = SiteRendering()
    assert decision_for(known, 1, WHEN_NEEDED, 0.0) is Render.TEST
    test = known.changing(1)
    assert [count_rendered(test, has_gained=gain, settings=WHEN_NEEDED, now=DAY) for gain in (True, False, True)] == [
        False,
        False,
        True,
    ]
    assert test.decision is TemplateDecision.NEEDED
    assert decision_for(known, 1, WHEN_NEEDED, 2 * DAY) is Render.NEEDED
    assert decision_for(known, 2, WHEN_NEEDED, 2 * DAY) is Render.TEST
    assert decision_for(known, 1, WHEN_NEEDED, 92 * DAY) is Render.TEST
    assert decision_for(known, 1, RenderSettings(), 2 * DAY) is Render.NEVER
    assert decision_for(known, 1, RenderSettings(mode="always"), 2 * DAY) is Render.ALWAYS
    forget_decision(test)
    assert decision_for(known, 1, WHEN_NEEDED, 2 * DAY) is Render.TEST


def test_pages_that_do_not_gain_are_not_rendered_again() -> None:
    """One of three gains: no; after 90 days the count begins again."""
    known = SiteRendering()
    test = known.changing(1)
    for gain in (True, False, False):
        count_rendered(test, has_gained=gain, settings=WHEN_NEEDED, now=DAY)
    assert decision_for(known, 1, WHEN_NEEDED, DAY) is Render.NEVER
    assert not count_rendered(test, has_gained=True, settings=WHEN_NEEDED, now=100 * DAY)
    assert (test.rendered, test.gained, test.decision) == (1, 1, TemplateDecision.UNKNOWN)


def test_templates_of_a_site_are_bounded() -> None:
    """Beyond the bound, all further templates share one decision."""
    known = SiteRendering()
    for template in range(1, 10 * MAX_TEMPLATES):
        known.changing(template)
    assert len(known.templates) <= MAX_TEMPLATES + 1
    assert known.changing(10_000) is known.changing(10_001)


def test_a_template_is_flagged_once() -> None:
    """The first page that seems to need scripts is a verdict, later ones are counted."""
    test = TemplateTest()
    assert [count_flagged(test) for _ in range(3)] == [True, False, False]
    assert test.flagged == 3


def test_gains_are_text_or_links() -> None:
    """Three times the text, or ten more links."""
    assert gains(100, 5, 300, 5)
    assert not gains(100, 5, 299, 14)
    assert gains(100, 5, 100, 15)
    assert not gains(0, 0, 0, 0)


@each_case("wrong", [{"mode": "sometimes"}, {"timeout": 0.0}, {"max_requests": 0}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    """The error names the setting."""
    with pytest.raises(ConfigError, match=rf"render\.{next(iter(wrong))}"):
        replace(RenderSettings(), **wrong)


@pytest.mark.parametrize(
    "piece",
    [
        "<noscript ", "<noscript>", "<script ", "<script>", "<template>", "<!--", "<a ", "<", "<div id=root>",
        "<div id=root ", "<div id=root>text that is longer than a note", "<app-root><script>", "<noscript>java",
    ],
)  # fmt: skip
def test_pages_take_linear_time(piece: str) -> None:
    """Whatever begins in them and does not end."""
    page = read_page(b"<p>Short", URL, "text/html")

    def look(size: int) -> None:
        html = "<script>" + piece * (size // len(piece))
        script_need(page, html)
        script_data(html)
        hash_routes(html, URL)

    assert_linear(look, 120_000)


def test_a_page_that_ends_in_a_script_has_an_empty_element() -> None:
    """What is in the script is not text of the element that it fills."""
    need = script_need(read_page(b"", URL, "text/html"), '<div id=root><script>var text = "no text of the page";')
    assert "an empty element that scripts fill" in need.signs
