"""The shortcuts of `resolve_all` and `canonical` are the standard's parser in disguise."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.hypothesis_depth import examples

from periplus.urls import canonical, resolve_all
from periplus.urls.canonical import are_canonical, parsed, plain_url

PIECES = [
    *"./\\%?#:@ \t\n\r\0[]|'\"<>^`{}~!$&()*+,;=-_",
    *["..", "../", "./", "//", "...", ".a", "a.", "%2e", "%2E", "%2f", "%%", "%2", "%41", "%7e", "%c3%a9"],
    *["http:", "https:", "HTTP://", "http://", "https://", "//", "mailto:", "javascript:", "http:/", "a:", "1:", "a_:"],
    *[
        "a",
        "b",
        "Z",
        "9",
        "é",
        "例",
        "\u3002",
        "\ud800",
        "index.html",
        "www.example.org",
        "EXAMPLE.org",
        "xn--a",
        "xn--mnchen-3ya",
    ],
    *[
        ":80",
        ":443",
        ":8080",
        ":",
        ":99999",
        "1.2",
        "0x7f",
        "127.1",
        "a..b",
        "[::1]",
        "user@",
        "user:pw@",
        "?",
        "?a=b",
        "#frag",
        " #frag",
    ],
]
links = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)
absolute = st.builds("".join, st.tuples(st.sampled_from(["http://", "https://", "HtTp://"]), links))
bases = st.sampled_from(
    [
        "http://example.org",
        "https://example.org/",
        "http://example.org:8080/a/b/c.html?q=1#f",
        "HTTP://EXAMPLE.org:80/a%7eb/%2e/../x//y/",
        "https://user:pw@example.org/dir/page?x",
        "http://example.org//",
        "http://example.org/a//b//c",
        "http://[::1]:81/x/",
        "http://1.2/a/",
        "http://example.org/%/%2%35/%e9/",
        "mailto:somebody",
        "about:blank",
        "no base",
        "",
        "file:///c:/x",
        "http://example.org/" + "long/" * 2000,
    ]
)


def slowly(href: str, base: str) -> str | None:
    """By the parser alone, with the fragment cut by the parser too."""
    return parsed(href, base)


@settings(max_examples=examples(50))
@given(st.lists(links | absolute | st.text(max_size=6), max_size=8), bases)
@example(["a #x", "a ", "a\t#x", "a", "#x", " #x"], "http://h/d/p?q")
@example(["http://a@b/", "http://a:80", "http://a?x", "http://1.2/y", "http://a/../b", "http://A"], "http://h/")
@example(
    ["..", "../..", "../../../x", "./", "./x/./y", ".", "...", "/..", "/../x", "?", "?x", "a?", "a?b?", ""],
    "http://h/a/b?q",
)
@example(["a\nb", "c", "\n", "d\r\n"], "http://h/a/b?q")
def test_batch_is_the_parser(hrefs: list[str], base: str) -> None:
    """`resolve_all` gives what parsing each link by itself gives, for any mixture on one page."""
    assert resolve_all(hrefs, base) == [slowly(href, base) for href in hrefs]


roots = st.sampled_from(["http://a.org/", "https://a.org/", "http://a.org:80/", "http://A.org/", "http://1.2/", "x:/"])
listed = roots.flatmap(lambda root: st.lists(st.one_of(links, st.just("a/b-1.html?x=1")).map(root.__add__), min_size=1))


@settings(max_examples=examples(50))
@given(listed | st.lists(links | absolute, min_size=1))
@example(["http://a.org/x\nhttp://b.org/y"])
@example(["http://a.org/", "http://a.org/x y", "http://a.org/?", "http://a.org/."])
@example(["http://a.org/x\nhttp://a.org/y", "http://b.org/z"])
def test_a_list_that_needs_no_resolving_does_not(urls: list[str]) -> None:
    """What is taken for canonical at a glance is what parsing each by itself gives."""
    if are_canonical(urls):
        assert urls == [parsed(url) for url in urls]


def test_whole_sitemaps_need_no_resolving() -> None:
    """The shortcut is taken for what programs list, and not where a single URL needs more."""
    urls = [f"https://www.example.org/shop/{number}/product-{number}.html?a=b&c=d" for number in range(500)]
    assert are_canonical(urls)
    assert resolve_all(urls, "http://example.org/sitemap.xml") == urls
    for odd in ("https://www.example.org/%7ea", "https://example.org/", "https://www.example.org", "/x", "", "a\nb"):
        assert not are_canonical([*urls, odd])


@settings(max_examples=examples(50))
@given(absolute | links)
@example("http://a")
@example("http://a?")
@example("http://a/?x#")
@example("http://a:/")
@example("http://a/%2e%2e/b")
def test_shortcut_of_canonical_is_the_parser(url: str) -> None:
    """`canonical` gives what parsing gives, and a shortcut is taken only where it gives the same."""
    assert canonical(url) == parsed(url)
    assert plain_url(url) in (None, parsed(url))


@given(st.lists(links, max_size=6), bases, st.sampled_from(["shift_jis", "windows-1252", "utf-16"]))
def test_batch_follows_the_encoding_of_the_page(hrefs: list[str], base: str, encoding: str) -> None:
    """The encoding reaches every link that it concerns."""
    assert resolve_all(hrefs, base, encoding) == [canonical(href, base, encoding) for href in hrefs]
