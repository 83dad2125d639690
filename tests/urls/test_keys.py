"""Keys of archive indexes, as the readers of such indexes compute them."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.urls import canonical, surt

SESSION = "0123456789abcdefghijklmnopqrstuv"


@each_case(
    ("url", "key"),
    [
        ("http://example.org/", "org,example)/"),
        ("https://www.example.org/", "org,example)/"),
        ("http://www34.example.org/", "org,example)/"),
        ("http://www2foo.org/", "org,www2foo)/"),
        ("http://a.b.example.co.uk:8080/", "uk,co,example,b,a:8080)/"),
        ("http://example.org./", "org,example)/"),
        ("http://user:pw@example.org/", "org,example)/"),
        ("http://192.0.2.1:81/x", "1,2,0,192:81)/x"),
        ("http://[2001:db8::1]/", "[2001:db8::1])/"),
        ("http://bücher.example/", "example,xn--bcher-kva)/"),
        ("http://example.org/Path/File.HTML", "org,example)/path/file.html"),
        ("http://example.org/a/", "org,example)/a"),
        ("http://example.org//a//b/", "org,example)/a/b"),
        ("http://example.org/a/?b&a", "org,example)/a?a&b"),
        ("http://example.org/?a=2&b&a=1&a-b=3", "org,example)/?a=1&a=2&a-b=3&b"),
        ("http://example.org/?X=Y", "org,example)/?x=y"),
        ("http://example.org/%C3%A9%20%28x%29", "org,example)/%c3%a9%20(x)"),
        ("http://example.org/%2525252525", "org,example)/%25"),
        ("http://example.org/%25%32%35x", "org,example)/%25x"),
        ("http://example.org/a/%252e%252e/b", "org,example)/b"),
        ("http://example.org/%23%3F", "org,example)/%23?"),
        (f"http://example.org/i.php?PHPSESSID={SESSION}&u=1", "org,example)/i.php?u=1"),
        (f"http://example.org/i?sid={SESSION}", "org,example)/i"),
        (f"http://example.org/i?sid={SESSION}0", f"org,example)/i?sid={SESSION}0"),
        ("http://example.org/i?CFID=1&CFTOKEN=2&x=y", "org,example)/i?x=y"),
        ("http://example.org/(S(4hqa0555fwsecu455xqckv45))/m.aspx", "org,example)/m.aspx"),
        ("http://example.org/(4hqa0555fwsecu455xqckv45)/m.html", "org,example)/(4hqa0555fwsecu455xqckv45)/m.html"),
    ],
)
def test_key(url: str, key: str) -> None:
    """The foldings of the Wayback Machine, one by one."""
    form = canonical(url)
    assert form is not None
    assert surt(form) == key


def test_hostile_urls_have_keys_in_bounded_time() -> None:
    """Nested escapes and near-sessions do not make the key slow."""
    for part in (
        "%25" * 20_000,
        "%2525" * 12_000,
        "cfid=" * 12_000,
        "/(" + "a" * 24 + ")" + "/(a(" * 10_000,
        "&a=" * 20_000,
    ):
        for url in (f"http://h/{part}.aspx", f"http://h/?{part}"):
            form = canonical(url)
            assert form is not None
            assert surt(form).startswith("h)/")
