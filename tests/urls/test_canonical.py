"""The canonical form: what is folded, and what is not."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.urls import MAX_LENGTH, canonical, whatwg


@each_case(
    ("url", "form"),
    [
        ("HTTP://EXAMPLE.org", "http://example.org/"),
        ("http://example.org:80/", "http://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("https://example.org:80/", "https://example.org:80/"),
        ("http://example.org/a#b?c", "http://example.org/a"),
        ("http://example.org/a?", "http://example.org/a"),
        ("http://example.org/a?#", "http://example.org/a"),
        ("http://example.org/%7euser/%2D%5f%2e%41", "http://example.org/~user/-_.A"),
        ("http://example.org/%e9%2f%3a?%e9%26", "http://example.org/%E9%2F%3A?%E9%26"),
        ("http://example.org/a/%2e%2E/b/.%2e/c", "http://example.org/c"),
        ("http://bücher.example/ü?ü", "http://xn--bcher-kva.example/%C3%BC?%C3%BC"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http:\\\\example.org\\a\\..\\b", "http://example.org/b"),
        ("  http://exa\tmple.org/\n", "http://example.org/"),
    ],
)
def test_what_no_server_can_tell_apart_is_folded(url: str, form: str) -> None:
    """One spelling for each resource."""
    assert canonical(url) == form


@each_case(
    "url",
    [
        "http://example.org/a/",
        "http://example.org//a//",
        "http://example.org/index.html",
        "http://example.org/A?B=C",
        "http://example.org/?b=2&a=1&b=1",
        "http://example.org/?a=&b&&c=",
        "http://example.org/?a=1;b=2+3",
        "http://example.org/??",
        "http://example.org/%2C,%21!",
        "http://www.example.org/",
        "http://example.org./",
        "http://user:secret@example.org/",
        "http://example.org/[a]|b",
    ],
)
def test_what_a_server_may_tell_apart_stays(url: str) -> None:
    """Two pages never share a name: order, blanks, slashes, case, reserved characters and credentials are kept."""
    assert canonical(url) == url


@each_case(
    ("url", "form"),
    [
        ("http://h/%", "http://h/%"),
        ("http://h/%zz%4", "http://h/%zz%4"),
        ("http://h/%2%35", "http://h/%2%35"),
        ("http://h/%%35%42", "http://h/%%35B"),
        ("http://h/%%c3", "http://h/%%C3"),
        ("http://h/%2541", "http://h/%2541"),
        ("http://h/%7%45", "http://h/%7%45"),
    ],
)
def test_a_stray_percent_sign_never_becomes_an_escape(url: str, form: str) -> None:
    """Decoding must not complete what a server reads as a bare percent sign."""
    assert canonical(url) == form


@each_case(
    "url",
    [
        "mailto:a@b",
        "ftp://h/",
        "javascript:void(0)",
        "data:,x",
        "a/b",
        "",
        "//h",
        "http://",
        "http://a b/",
        "http://h:99999/",
        "ws://h/",
    ],
)
def test_what_we_do_not_fetch_is_none(url: str) -> None:
    """Other schemes, relative references without a base, and what is not a URL."""
    assert canonical(url) is None


def test_relative_references_follow_the_standard() -> None:
    """RFC 3986's own base, by the WHATWG rules."""
    base = "http://a/b/c/d;p?q"
    found = {
        href: canonical(href, base)
        for href in ("g", "./g/", "/g", "//g", "?y", "", "#s", "../..", "../../../g", "g;x=1/../y", "http:g")
    }
    assert found == {
        "g": "http://a/b/c/g",
        "./g/": "http://a/b/c/g/",
        "/g": "http://a/g",
        "//g": "http://g/",
        "?y": "http://a/b/c/d;p?y",
        "": "http://a/b/c/d;p?q",
        "#s": "http://a/b/c/d;p?q",
        "../..": "http://a/",
        "../../../g": "http://a/g",
        "g;x=1/../y": "http://a/b/c/y",
        "http:g": "http://a/b/c/g",
    }


def test_white_space_before_a_fragment_is_not_at_the_end() -> None:
    """The parser strips what is outside; a space before `#` is inside."""
    assert canonical("http://h/a #b") == "http://h/a%20"
    assert canonical("http://h/a ") == "http://h/a"


def test_length_is_bounded_before_and_after_escaping() -> None:
    """What is too long is not a URL of ours, and fragments do not count."""
    room = MAX_LENGTH - len("http://h/")
    assert canonical("http://h/" + "a" * room) is not None
    assert canonical("http://h/" + "a" * (room + 1)) is None
    assert canonical("http://h/" + "é" * (room // 4)) is None
    assert canonical("http://h/#" + "a" * MAX_LENGTH) == "http://h/"
    assert canonical("a", "http://h/" + "a" * MAX_LENGTH) is None


@each_case(
    ("encoding", "query", "escaped"),
    [
        ("gbk", "€你", "%80%C4%E3"),
        ("gbk", "\U0001f600", "%26%23128512%3B"),
        ("gb18030", "€", "%A2%E3"),
        ("shift_jis", "¥‾−あ", "\\~%81|%82%A0"),
        ("euc-jp", "①～あ", "%AD%A1%A1%C1%A4%A2"),
        ("euc-jp", "丂\U0001f600", "%26%2319970%3B%26%23128512%3B"),
    ],
)
def test_encoders_of_the_standard(encoding: str, query: str, escaped: str) -> None:
    """Where Python's encoders differ from those that browsers use."""
    assert canonical(f"http://h/?{query}", None, encoding) == f"http://h/?{escaped}"


def test_queries_are_in_the_encoding_of_the_page() -> None:
    """Path in UTF-8, query as the page's server expects it, and UTF-8 where the encoding is Unicode or unknown."""
    url = "http://h/é?é=\u20ac\u2603#é"
    assert canonical(url, None, "windows-1252") == "http://h/%C3%A9?%E9=%80%26%239731%3B"
    assert canonical("?é", "http://h/p", "Windows-1251") == "http://h/p?%26%23233%3B"
    assert canonical(url, None, "utf-16") == canonical(url) == canonical(url, None, "nonsense")
    assert whatwg("mailto:a?é", None, "windows-1252") == "mailto:a?%C3%A9"
    assert whatwg("http://h/?é#é", None, "windows-1252") == "http://h/?%E9#%C3%A9"


def test_the_standard_joins_and_replaces_surrogates() -> None:
    """A pair is one character, a lone half is U+FFFD, in the URL as in the base."""
    assert whatwg("http://h/\ud83d\ude00\ud83d") == "http://h/%F0%9F%98%80%EF%BF%BD"
    assert whatwg("x", "http://h/\ude00/") == "http://h/%EF%BF%BD/x"


def test_a_base_that_is_none_spoils_an_absolute_url() -> None:
    """As `new URL(url, base)` throws in a browser."""
    assert whatwg("http://h/", "no base") is None
    assert whatwg("#f", "mailto:x") == "mailto:x#f"
    assert whatwg("a", "mailto:x") is None
