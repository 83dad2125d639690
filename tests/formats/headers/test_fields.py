"""Header fields: what the RFCs write, and what servers do."""

from __future__ import annotations

from tests.each_case import each_case
from tests.reference.header_writing import write_cache_control

from periplus.formats import dates
from periplus.formats.headers import (
    LONGEST_WAIT,
    CacheControl,
    ETag,
    Headers,
    MediaType,
    WebLink,
    fresh_for,
    read_cache_control,
    read_content_type,
    read_directives,
    read_etag,
    read_last_modified,
    read_links,
    read_retry_after,
    read_robots_tag,
    strictest,
    validators_of,
)
from periplus.model import Directives, Validators

NOW = 1_700_000_000.0


def test_headers_are_found_in_any_case() -> None:
    """Field names have no case; several fields of one name keep their order."""
    headers = Headers((("Link", "<a>"), ("LINK", "<b>"), ("eTag", ' "x" ')))
    assert headers.get("link") == "<a>"
    assert headers.all("Link") == ("<a>", "<b>")
    assert headers.get("ETag") == '"x"'
    assert headers.get("Age") is None
    assert headers.all("Age") == ()
    assert "etag" in headers
    assert "age" not in headers


@each_case(
    ("value", "expected"),
    [
        ("text/html", MediaType("text/html")),
        ("text/html; charset=utf-8", MediaType("text/html", "utf-8")),
        ("Text/HTML;Charset=UTF-8;", MediaType("text/html", "utf-8")),
        ('text/html; charset="utf-8"', MediaType("text/html", "utf-8")),
        ("text/html; charset='utf-8'", MediaType("text/html", "utf-8")),
        ("text/html charset=x", MediaType("text/html", "x")),
        ("text/html;; charset = iso-8859-1", MediaType("text/html", "iso-8859-1")),
        ("text/html; charset=utf-8; charset=x", MediaType("text/html", "utf-8")),
        ("text/html, text/html; charset=utf-8", MediaType("text/html", "utf-8")),
        ("text/html; charset=utf-8, text/html", MediaType("text/html", "utf-8")),
        ("text/html; charset=utf-8, text/plain", MediaType("text/plain")),
        ("text/html, */*", MediaType("text/html")),
        ("text/html, */*; charset=utf-8", MediaType("text/html")),
        ('text/html;";charset=utf-8', MediaType("text/html", "utf-8")),
        ('text/html; "x"; <y>; charset=utf-8', MediaType("text/html", "utf-8")),
        ('text/html;x=";charset=a";charset=b', MediaType("text/html", "b")),
        ("charset=utf-8", MediaType("", "utf-8")),
        ("; charset=utf-8", MediaType("", "utf-8")),
        ("application/rss+xml", MediaType("application/rss+xml")),
        ('multipart/mixed; boundary="a b;,c"', MediaType("multipart/mixed", None, "a b;,c")),
        ("text/html; charset=", MediaType("text/html")),
        ('text/html; charset=""; charset=x', MediaType("text/html", "x")),
        ("html", None),
        ("", None),
        (";;;", None),
        ("text/", None),
        ("text/html<script>", None),
    ],
)
def test_content_type(value: str, expected: MediaType | None) -> None:
    """The type and charset that were meant, as Fetch extracts them, and `None` where no type was named."""
    assert read_content_type(value) == expected


def test_content_type_of_several_fields() -> None:
    """The last usable field wins."""
    assert read_content_type(["text/plain", "text/html;charset=x", "junk"]) == MediaType("text/html", "x")
    assert read_content_type(['text/html;x="', "text/plain"]) == MediaType("text/html")


@each_case(
    ("text", "expected"),
    [
        ('"abc"', ETag("abc")),
        ('W/"abc"', ETag("abc", True)),
        ('w/"abc"', ETag("abc", True)),
        ('""', ETag("")),
        ("abc", ETag("abc")),
        ("W/abc", ETag("abc", True)),
        ("'abc'", ETag("abc")),
        ('  "abc"\t', ETag("abc")),
        ('"a b"', None),
        ('"abc', None),
        ("", None),
        ('"' + "x" * 2000 + '"', None),
    ],
)
def test_etag(text: str, expected: ETag | None) -> None:
    """Weak, strong and unquoted tags; nothing that could break a request's lines."""
    assert read_etag(text) == expected


def test_validators_are_sent_back_letter_by_letter() -> None:
    """A server compares what it sent; what cannot be a validator is not one."""
    headers = Headers([("ETag", "abc"), ("Last-Modified", "Sun, 06-Nov-94 08:49:37 GMT")])
    assert validators_of(headers) == Validators("abc", "Sun, 06-Nov-94 08:49:37 GMT")
    assert validators_of(Headers([("ETag", '"a\x01b"'), ("Last-Modified", "never")])) is None
    assert validators_of(Headers()) is None
    assert read_last_modified("1994-11-06T08:49:37Z") == 784111777.0


@each_case(
    ("text", "seconds"),
    [
        ("120", 120.0),
        (" 120 ", 120.0),
        ("0", 0.0),
        ("-5", None),
        ("1.5", 1.0),
        ("60s", 60.0),
        ("999999999999", LONGEST_WAIT),
        ("9" * 40, LONGEST_WAIT),
        ("9" * 400, None),
        (dates.write_http(NOW + 90), 90.0),
        (dates.write_http(NOW - 90), 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_WAIT),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after(text: str, seconds: float | None) -> None:
    """Seconds or a date, never negative, never more than we would believe."""
    assert read_retry_after(text, NOW) == seconds


@each_case(
    ("value", "expected"),
    [
        ("max-age=3600", CacheControl(max_age=3600)),
        ("No-Store, NO-CACHE", CacheControl(no_store=True, no_cache=True)),
        ('no-cache="Set-Cookie, X", max-age="60"', CacheControl(no_cache=True, max_age=60)),
        ("max-age=60, max-age=10", CacheControl(max_age=10)),
        ("max-age=soon", CacheControl(max_age=0)),
        ("max-age=-1", CacheControl(max_age=0)),
        ("max-age", CacheControl(max_age=0)),
        ("max-age=99999999999", CacheControl(max_age=2**31)),
        ("max-age=" + "9" * 40, CacheControl(max_age=2**31)),
        ("max-age=" + "9" * 9000, CacheControl(max_age=0)),
        ("public,,s-maxage=5 , immutable;x", CacheControl(public=True, s_maxage=5)),
        ("unknown=1, stale-while-revalidate=7", CacheControl(stale_while_revalidate=7)),
        ("", CacheControl()),
    ],
)
def test_cache_control(value: str, expected: CacheControl) -> None:
    """RFC 9111 section 5.2, and section 4.2.1 for what is repeated or wrong: the shorter life."""
    assert read_cache_control(value) == expected
    assert read_cache_control(write_cache_control(expected)) == expected


@each_case(
    ("fields", "seconds"),
    [
        ({}, None),
        ({"Cache-Control": "public"}, None),
        ({"Cache-Control": "max-age=100"}, 100.0),
        ({"Cache-Control": "max-age=100", "Age": "30"}, 70.0),
        ({"Cache-Control": "max-age=100", "Age": "300"}, 0.0),
        ({"Cache-Control": "max-age=100", "Date": dates.write_http(NOW - 40)}, 60.0),
        ({"Cache-Control": "max-age=100, no-cache"}, 0.0),
        ({"Cache-Control": "max-age=100", "Expires": "0"}, 100.0),
        ({"Cache-Control": "s-maxage=100"}, None),
        ({"Expires": dates.write_http(NOW + 50)}, 50.0),
        ({"Expires": dates.write_http(NOW + 50), "Date": dates.write_http(NOW - 10)}, 50.0),
        ({"Expires": "0"}, 0.0),
        ({"Expires": "-1"}, 0.0),
    ],
)
def test_fresh_for(fields: dict[str, str], seconds: float | None) -> None:
    """RFC 9111 section 4.2: max-age before Expires, less the age; nothing is guessed."""
    assert fresh_for(Headers(fields.items()), NOW) == seconds


def test_of_several_ages_the_first_counts() -> None:
    """RFC 9111 section 5.1."""
    assert fresh_for(Headers((("Cache-Control", "max-age=60"), ("Age", "20, 50"))), NOW) == 40


BASE = "https://example.com/a/b"


@each_case(
    ("value", "links"),
    [
        ("<c>; rel=canonical", [WebLink("https://example.com/a/c", ("canonical",))]),
        ('</>; rel="Next START"', [WebLink("https://example.com/", ("next", "start"))]),
        (
            '<a,b;c>; rel="alternate"; hreflang=de; hreflang="en-GB"; title="x, \\"y\\""; type=text/HTML',
            [WebLink("https://example.com/a/a,b;c", ("alternate",), ("de", "en-gb"), type="text/html", title='x, "y"')],
        ),
        (
            '<https://hub.example/>; rel="hub", <https://example.com/feed>; rel="self"',
            [WebLink("https://hub.example/", ("hub",)), WebLink("https://example.com/feed", ("self",))],
        ),
        ("<c>;rel=prev;rel=next", [WebLink("https://example.com/a/c", ("prev",))]),
        ("<c>; title*=UTF-8'de'n%c3%a4chstes; title=x", [WebLink("https://example.com/a/c", title="nächstes")]),
        ("<c>; anchor='#x'; rel=x", [WebLink("https://example.com/a/c", ("x",), anchor="https://example.com/a/'#x'")]),
        ("<c> rel=canonical", [WebLink("https://example.com/a/c", ("canonical",))]),
        ("<>; rel=self", [WebLink("https://example.com/a/b", ("self",))]),
        ("c; rel=canonical, <d>", [WebLink("https://example.com/a/d")]),
        ("<http://[>; rel=x, <d>", [WebLink("https://example.com/a/d")]),
        ('<c>; rel="canonical', [WebLink("https://example.com/a/c", ("canonical",))]),
        ("<c; rel=canonical", []),
        ("", []),
        (",,<c>,", [WebLink("https://example.com/a/c")]),
    ],
)
def test_links(value: str, links: list[WebLink]) -> None:
    """RFC 8288: commas in quotes and in targets divide nothing, the first rel holds, targets are resolved."""
    assert read_links(value, BASE) == links


def test_links_of_several_fields_and_their_bound() -> None:
    """All fields count, up to a bound; without a base targets stay as they are."""
    assert [link.url for link in read_links(["<a>, <b>", "<c>"])] == ["a", "b", "c"]
    assert len(read_links("<a>," * 16_000)) == 1_000


@each_case(
    ("text", "expected"),
    [
        ("noindex", Directives(noindex=True)),
        ("NoIndex , NOFOLLOW", Directives(noindex=True, nofollow=True)),
        ("noindex nofollow;noarchive", Directives(noindex=True, nofollow=True, noarchive=True)),
        ("none", Directives(noindex=True, nofollow=True)),
        ("all, index, follow, noodp", Directives()),
        ("nocache", Directives(noarchive=True)),
        ("max-snippet:20, max-image-preview: Large", Directives(max_snippet=20, max_image_preview="large")),
        ("max-snippet:-1, max-video-preview:0", Directives(max_snippet=-1, max_video_preview=0)),
        ("max-snippet:20, max-snippet:-1, max-snippet:30", Directives(max_snippet=20)),
        ("max-snippet:many, max-image-preview:huge, max-snippet:-7", Directives()),
        ("noindex, indexifembedded", Directives(noindex=True, indexifembedded=True)),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", Directives(unavailable_after=1277506800.0)),
        (
            "noindex, unavailable_after: Friday, 25-Jun-10 15:00:00 PST, nofollow",
            Directives(noindex=True, nofollow=True, unavailable_after=1277506800.0),
        ),
        ("unavailable_after: 2010-06-25, nofollow", Directives(nofollow=True, unavailable_after=1277424000.0)),
        ("unavailable_after: never, nofollow", Directives(nofollow=True)),
        ("", Directives()),
        (":::,;", Directives()),
    ],
)
def test_directives(text: str, expected: Directives) -> None:
    """The words of meta robots and X-Robots-Tag, and their usual dirt."""
    assert read_directives(text) == expected
    assert read_robots_tag(text, "periplus") == expected


@each_case(
    ("values", "expected"),
    [
        (["googlebot: noindex"], Directives()),
        (["Periplus: noindex"], Directives(noindex=True)),
        (["googlebot: noindex", "nofollow"], Directives(nofollow=True)),
        (["googlebot: nofollow, periplus: noindex, noarchive"], Directives(noindex=True, noarchive=True)),
        (["noindex", "periplus: all"], Directives(noindex=True)),
        (["otherbot: noindex, unavailable_after: 25 Jun 2010 15:00:00 PST"], Directives()),
        (["*: nosnippet"], Directives(nosnippet=True)),
        (["periplus/1.0: noindex", "other/2: nofollow"], Directives(noindex=True)),
        (["periplus: unavailable_after: 2010-06-25"], Directives(unavailable_after=1277424000.0)),
    ],
)
def test_robots_tag_speaks_to_agents(values: list[str], expected: Directives) -> None:
    """A name before the words binds them to that agent, until the next name or field."""
    assert read_robots_tag(values, "Periplus/1.0") == expected


def test_the_strictest_voice_wins() -> None:
    """Of two limits the smaller, of two dates the earlier, of two wishes both."""
    a = Directives(noindex=True, max_snippet=-1, max_image_preview="large", unavailable_after=5.0)
    b = Directives(nofollow=True, max_snippet=9, max_image_preview="none", unavailable_after=4.0)
    both = Directives(noindex=True, nofollow=True, max_snippet=9, max_image_preview="none", unavailable_after=4.0)
    assert strictest(a, b) == strictest(b, a) == both
