"""All links of a page at once."""

from __future__ import annotations

from periplus.urls import canonical, resolve_all
from periplus.urls.canonical import split_plain


def test_answers_are_aligned_with_the_links() -> None:
    """One answer for each link, in order, repeats and refusals included."""
    hrefs = [
        "b",
        "mailto:x",
        "b#1",
        "/c",
        "b",
        "",
        "#top",
        "//h/d",
        "?q=1",
        "HTTPS://H:443/%7e",
        "../../e",
        "http://%/",
    ]
    assert resolve_all(hrefs, "http://a/x/y?z#f") == [
        "http://a/x/b",
        None,
        "http://a/x/b",
        "http://a/c",
        "http://a/x/b",
        "http://a/x/y?z",
        "http://a/x/y?z",
        "http://h/d",
        "http://a/x/y?q=1",
        "https://h/~",
        "http://a/e",
        None,
    ]


def test_any_iterable_will_do() -> None:
    """Links may come from a generator; none is an answer too."""
    assert resolve_all((href for href in ("a", "b")), "http://h/") == ["http://h/a", "http://h/b"]
    assert resolve_all([], "http://h/") == []
    assert resolve_all([""], "http://h/") == ["http://h/"]


def test_a_base_we_do_not_fetch_still_resolves_absolute_links() -> None:
    """The base decides nothing but what links are relative to; one that is not a URL spoils all, as in the standard."""
    assert resolve_all(["http://h/a", "b"], "about:blank") == ["http://h/a", None]
    assert resolve_all(["http://h/a", "b"], "ftp://h/x") == ["http://h/a", None]
    assert resolve_all(["http://h/a", "b"], "no base") == [None, None]


def test_white_space_and_line_ends_inside_links() -> None:
    """Dirt in one link does not disturb its neighbours."""
    hrefs = ["a\nb", " c ", "d #x", "d ", "d", "e\r\n", "\n"]
    base = "http://h/p"
    assert resolve_all(hrefs, base) == [canonical(href, base) for href in hrefs]
    assert resolve_all(hrefs, base)[:4] == ["http://h/ab", "http://h/c", "http://h/d%20", "http://h/d"]


def test_hostile_lengths_take_the_long_way_round_in_bounded_time() -> None:
    """Huge links, climbs and bases give what the parser gives, and no pattern runs wild on them."""
    long = ["../" * 20_000 + "x", "a" * 70_000, "http://" + "a." * 30_000, "data:," + "x" * 1_000_000, "a:" * 50_000]
    long += ["%2e" * 20_000, "?" * 60_000, "http://h/" + "/." * 30_000, "h" * 60_000 + ":", "\n" * 60_000]
    for base in ("http://h/a/b", "http://h/" + "d/" * 10_000):
        assert resolve_all(long, base) == [canonical(href, base) for href in long]


def test_links_are_split_where_no_parser_is_needed() -> None:
    """The shapes that are taken apart, and some that only look like them."""
    plain = ["a", "../a?b", "/a:b", "?a=b", "http://h", "http://h?x", "HTTP://H:80/a", "a_:b"]
    assert split_plain(plain) == [
        ("", "a"),
        ("../", "a?b"),
        ("/", "a:b"),
        ("?", "a=b"),
        ("http://h", ""),
        ("http://h", "?x"),
        ("HTTP://H:80/", "a"),
        ("", "a_:b"),
    ]
    odd = ["a:b", "//h/a", "..", ".a", "/.a", "http://u@h/", "http:a", "a b", "a\\b", "é", "?a='b'", "?", "a?", "a<b"]
    assert split_plain(odd) == [("", "")] * len(odd)
