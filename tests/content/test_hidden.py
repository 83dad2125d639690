from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.content.hidden_tricks import PAGES, SECRET, TRICKS, document_of, leaks, page_of
from tests.formats.linear_time import assert_linear

from periplus.content import NOTHING_HIDDEN, HiddenText, without_hidden
from periplus.store.export.chunks import chunks_of

LONG = "The captain wrote down every port that he saw on the way to the south, and what was sold there. " * 8


def seen(html: str) -> str:
    return without_hidden(html.encode())[0].decode()


@pytest.mark.parametrize("kind", PAGES)
@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_does_not_leak(trick: str, kind: str) -> None:
    document = document_of(page_of(kind, trick))
    texts = [document.page.text, document.page.main_text, document.to_markdown(), document.to_text()]
    texts += [chunk.text for chunk in chunks_of(document)]
    assert not any(map(leaks, texts))
    assert "list of the ports and coasts" in document.page.main_text


def test_hidden_text_is_dropped() -> None:
    html = (
        b"<p>seen<span style='font-size:0'>wone</span> <b style=\"visibility: hidden\">wtwo<b>wthree</b></b>"
        b"<div style='display:none'><div>wfour</div></div><i hidden>wfive</i><a hidden=until-found href=x>wsix</a>"
        b"<p data-hidden=no>also seen</p><p class='hidden'>hidden=0</p>"
    )
    kept, hidden = without_hidden(html)
    assert b"seen" in kept
    assert b"also seen" in kept
    for word in (b"wone", b"wtwo", b"wthree", b"wfour", b"wfive", b"wsix"):
        assert word not in kept
    assert hidden == HiddenText(28, ("display", "font-size", "hidden", "visibility"))


@pytest.mark.parametrize(
    "html",
    [
        "<p>plain</p>",
        "<ul style='font-size:0'><li style='font-size:16px'>shown</ul>",
        "<div style='visibility:hidden'><p style='visibility:visible'>shown</p></div>",
        "<p style='font-size:0.8em;color:red;opacity:.5'>shown</p>",
        "<div style='background:#000'><p style='color:#fff'>shown</p></div>",
        "<div style='background:url(x.png)'><p style='color:#fff'>shown</p></div>",
        "<link rel=stylesheet href=x.css><div class=banner><p style='color:#fff'>shown</p></div>",
        "<style>.a{display:none}.a.b{display:block}</style><p class='a b'>shown</p>",
        "<style>@media print{.a{display:none}} .a:hover{opacity:0}</style><p class=a>shown</p>",
        "<style media=print>.a{display:none}</style><p class=a>shown</p>",
        "<style>.menu .a{display:none}</style><p class=a>shown</p>",
        "<script>x = '<div style=\"display:none\">'</script><p>shown</p>",
        "<!-- <div hidden> --><p>shown</p>",
        "<p style='color:transparent;-webkit-background-clip:text;background:linear-gradient(red,blue)'>shown</p>",
        "<p style='margin-left:-100%;position:relative;left:-20px'>shown</p>",
        "<p>\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f \u0645\u06cc\u200c\u062e</p>",
        "<p>\U0001f468\u200d\U0001f469</p>",
        f"<body style='opacity:0'><p>{LONG}</p></body>",
        f"<style>.fade{{opacity:0}}</style><p class=fade>{LONG}</p><p>Menu</p>",
    ],
)
def test_what_is_seen_stays(html: str) -> None:
    assert without_hidden(html.encode()) == (html.encode(), NOTHING_HIDDEN)


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        ("<p hidden>a<p>b", "<p hidden><p>b"),
        ("<ul><li hidden>a<li>b</ul>c", "<ul><li hidden><li>b</ul>c"),
        ("<div><span hidden>a</div>b", "<div><span hidden></div>b"),
        ("<table><tr><td hidden>a<td>b</table>", "<table><tr><td hidden><td>b</table>"),
        ("<p hidden>a<img src=x alt=b>c</p>d", "<p hidden></p>d"),
        ("ig\u200bno\u2060re", "ignore"),
        ("<p hidden>\xe4</p>\xfc", "<p hidden></p>\xfc"),
    ],
)
def test_only_what_is_hidden_goes(html: str, kept: str) -> None:
    assert seen(html) == kept


def test_pages_in_other_encodings_are_read() -> None:
    html = page_of("article", "display:none").decode().replace("<meta charset=utf-8>", "")
    document = document_of(b"\xff\xfe" + html.encode("utf-16-le"))
    assert document.hidden_text == HiddenText(len(SECRET), ("display",))
    assert not leaks(document.to_markdown())
    assert "captain" in document.to_markdown()


def test_texts_of_pictures_are_written_where_the_page_says_them() -> None:
    page = "<h1>T</h1><p>A ship of {} sails <img src=/a.png alt='ship of Tyre'> over the sea and comes home again.</p>"
    assert "![ship of Tyre](" in document_of(page.format("Tyre").encode()).to_markdown()
    assert "![](https://example.org/a.png)" in document_of(page.format("old").encode()).to_markdown()


def rules(count: int) -> str:
    return "".join(f".a{number} p{{color:red}}" for number in range(count))


@pytest.mark.proof
@pytest.mark.parametrize(
    "page_of_size",
    [
        *(
            pytest.param(lambda size, piece=piece: "<p hidden>a</p>" + piece * size, id=piece)
            for piece in (
                '<a "', "<p style='", "<!--", "<title", "<div hidden>", "<style>.a{", "&#x200b;", "<p hidden ",
                "<style", "style=", " hidden ", "<body", "<a'\"", "<script></script", "{", "/*",
            )
        ),
        pytest.param(lambda size: "<b hidden>" * 500 + "</i>" * size, id="end tags in open elements"),
        pytest.param(lambda size: f"<style>{'a,' * size}a{{color:red}}</style><a>", id="selectors"),
        pytest.param(lambda size: f"<style>{'{' * size}{'}' * size}</style><a hidden>", id="nested rules"),
        pytest.param(
            lambda size: f"<style>@media {'a' * size}{{{'a{top:0}' * size}}}</style><a hidden>", id="rules in a group"
        ),
        pytest.param(lambda size: f"<style>{rules(size // 10)}</style>{'<p>' * size}", id="rules for elements"),
        pytest.param(
            lambda size: f"<style>{rules(99)}</style>{'<b>' * 400}{'<i><p></i>' * size}", id="rules for deep elements"
        ),
    ],
)  # fmt: skip
def test_time_grows_with_the_bytes(page_of_size: Callable[[int], str]) -> None:
    """Whatever a page is made of."""
    assert_linear(lambda size: without_hidden(page_of_size(size).encode()), 9000)


@pytest.mark.parametrize(
    "media", ["", "all", "screen", " Screen ", "only screen", "print, screen", "speech,all", "&#97;ll"]
)
def test_sheets_for_all_screens_hide(media: str) -> None:
    sheet = f'<style media="{media}" data-media=print>.a{{display:none}}</style>'
    assert "secret" not in seen(f"{sheet}<p class=a>secret</p>")


@pytest.mark.parametrize(
    "media",
    [
        "print", "speech", "screen and (max-width: 600px)", "(max-width:600px)", "not screen", "not all",
        "screenreader", "print, (min-width: 1px)", ",", "allow",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "sheet",
    [
        '<style media="{}">.a{{display:none}}</style>',
        "<style media = '{}'>.a{{display:none}}</style>",
        "<style>@media {}{{.b{{top:0}} .a{{display:none}}}}</style>",
        "<style>@layer x{{@media {} {{.a{{display:none}}}}}}</style>",
    ],
)
def test_sheets_for_some_only_hide_nothing(sheet: str, media: str) -> None:
    html = f"{sheet.format(media)}<p class=a>shown</p>"
    assert seen(html) == html


def test_rules_for_groups_of_all_screens_hide() -> None:
    groups = (
        "@media screen",
        "@media all, print",
        "@layer x",
        "@supports (display: grid)",
        "@layer x{@media only screen",
    )
    for group in groups:
        sheet = f"<style>{group}{{.b{{top:0}} .a{{display:none}}}}{'}' * group.count('{')}</style>"
        assert "secret" not in seen(f"{sheet}<p class=a>secret</p>"), group
    html = "<style>@supports not (display:grid){.a{display:none}}</style><p class=a>shown</p>"
    assert seen(html) == html


def test_numbers_of_any_length_are_read() -> None:
    """A colour of more figures than a number can have is not one."""
    html = f"<p style='color:rgb({'9' * 400},0,0);left:{'9' * 400}px;opacity:{'9' * 400}'>shown</p>"
    assert seen(html) == html
