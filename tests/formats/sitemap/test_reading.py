"""Reading sitemaps: every form, every field, and the dirt of the web."""

from __future__ import annotations

import gzip

from tests.each_case import each_case

from periplus.formats.sitemap import Alternate, Child, Entry, Image, Kind, Limits, read
from periplus.model import ChangeFreq, Granularity, Lastmod, Problem

URL = "https://example.com/maps/sitemap.xml"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
DAY = Lastmod(1104537600.0, Granularity.DAY)


def urlset(inside: str) -> bytes:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NS}>{inside}</urlset>'.encode()


def values(body: bytes, url: str = URL) -> list[Entry | Child | Problem]:
    return list(read(body, url))


def urls(body: bytes) -> list[str]:
    return [value.url for value in values(body) if not isinstance(value, Problem)]


def reasons(body: bytes) -> list[str]:
    return [value.reason for value in values(body) if isinstance(value, Problem)]


@each_case(
    ("body", "kind"),
    [
        (urlset(""), Kind.URLSET),
        (f"<sitemapindex {NS}></sitemapindex>".encode(), Kind.INDEX),
        (b"http://example.com/\n", Kind.TEXT),
        (b"<rss version='0.91'></rss>", Kind.RSS),
        (b'<rdf:RDF xmlns:rdf="r"></rdf:RDF>', Kind.RSS),
        (b"<feed></feed>", Kind.ATOM),
        (b"<!DOCTYPE html><title>Not found</title>", Kind.HTML),
        (b"<HTML><body>Not found</body></HTML>", Kind.HTML),
        (b"<br><b>Fatal error</b>: out of memory", Kind.HTML),
        (b"", Kind.UNKNOWN),
        (b"\x89PNG\r\n\x1a\n\0\0\0", Kind.UNKNOWN),
        (b'{"urls": []}', Kind.UNKNOWN),
    ],
)
def test_kind_is_told_from_content(body: bytes, kind: Kind) -> None:
    """What a document is does not depend on what anybody says of it."""
    reading = read(body, URL)
    found = list(reading)
    assert reading.kind is kind
    packed = read(gzip.compress(body), URL)
    assert list(packed) == found
    assert packed.kind is kind


def test_all_fields() -> None:
    """The four fields of the protocol, as values."""
    record = "<url><loc>http://example.com/</loc><lastmod>2005-01-01</lastmod><changefreq>monthly</changefreq>"
    assert values(urlset(record + "<priority>0.8</priority></url>")) == [
        Entry("http://example.com/", DAY, ChangeFreq.MONTHLY, 0.8)
    ]


def test_fields_in_any_order_and_case() -> None:
    """Order and letter case of elements say nothing."""
    record = "<URL><Priority>1</Priority><LOC>http://example.com/</LOC><lastMod>2005-01-01</lastMod></URL>"
    assert values(urlset(record)) == [Entry("http://example.com/", DAY, None, 1.0)]


@each_case(
    ("field", "expected", "reason"),
    [
        ("<lastmod>2005-13-01</lastmod>", Entry("http://example.com/"), "bad-lastmod"),
        ("<lastmod>Sat, 01 Jan 2005</lastmod>", Entry("http://example.com/", DAY), "odd-lastmod"),
        ("<changefreq>Daily</changefreq>", Entry("http://example.com/", None, ChangeFreq.DAILY), None),
        ("<changefreq>often</changefreq>", Entry("http://example.com/"), "bad-changefreq"),
        ("<priority>0,8</priority>", Entry("http://example.com/", priority=0.8), "bad-priority"),
        ("<priority>1.5</priority>", Entry("http://example.com/"), "bad-priority"),
        ("<priority>-1</priority>", Entry("http://example.com/"), "bad-priority"),
        ("<priority>nan</priority>", Entry("http://example.com/"), "bad-priority"),
        ("<lastmod></lastmod><priority> </priority><changefreq/>", Entry("http://example.com/"), None),
    ],
)
def test_fields_are_validated(field: str, expected: Entry, reason: str | None) -> None:
    """A field that cannot be is a problem and no value; one that can be understood is a value."""
    found = values(urlset(f"<url><loc>http://example.com/</loc>{field}</url>"))
    assert found[-1] == expected
    assert [value.reason for value in found if isinstance(value, Problem)] == ([reason] if reason else [])


@each_case(
    ("loc", "url", "problems"),
    [
        ("\n \u00a0http://example.com/a\u3000 \ufeff", "http://example.com/a", []),
        ("http://example.com/?a=1&amp;b=2", "http://example.com/?a=1&b=2", []),
        ("http://example.com/&#x41;&#66;&apos;", "http://example.com/AB'", []),
        ("http://example.com/?a=1&b=2", "http://example.com/?a=1&b=2", ["bare-ampersand"]),
        ("http://example.com/?a&copy=2", "http://example.com/?a&copy=2", ["bare-ampersand"]),
        ("http://example.com/caf&eacute;", "http://example.com/café", ["bad-entity"]),
        ("http://example.com/&nosuch;", "http://example.com/&nosuch;", ["bad-entity"]),
        ("http://example.com/&#0;", "http://example.com/\ufffd", ["bad-entity"]),
        ("<![CDATA[http://example.com/?a&amp;b]]>", "http://example.com/?a&amp;b", []),
        ("http://example.com<!-- no -->/a<![CDATA[?b]]>", "http://example.com/a?b", []),
        ("<url>http://example.com/</url>", "http://example.com/", []),
        ("/a/../b", "https://example.com/b", ["relative-url"]),
        ("//other.example/b", "https://other.example/b", ["relative-url"]),
        ("c?d", "https://example.com/maps/c?d", ["relative-url"]),
        ("www.example.org/c", "https://www.example.org/c", ["relative-url"]),
        ("Example.com/c", "https://Example.com/c", ["relative-url"]),
        ('"http://example.com/c"', "http://example.com/c", ["bad-value"]),
        ("&lt; http://example.com/c &gt;", "http://example.com/c", ["bad-value"]),
        ("\u201chttp://example.com/c\u201d", "http://example.com/c", ["bad-value"]),
    ],
)
def test_urls_as_they_are_written(loc: str, url: str, problems: list[str]) -> None:
    """A URL is decoded, stripped and made absolute, and otherwise left as it is."""
    body = urlset(f"<url><loc>{loc}</loc></url>")
    assert urls(body) == [url]
    assert reasons(body) == problems


def test_relative_urls_without_a_base() -> None:
    """A relative URL without a known base is reported as a problem and not returned."""
    assert values(urlset("<url><loc>/a</loc></url>"), "") == [Problem("relative-url", "/a")]


@each_case(
    ("inside", "expected", "problems"),
    [
        ("<url><loc>http://e/1<lastmod>2005-01-01</lastmod></url>", ["http://e/1"], ["bad-markup"]),
        ("<url><loc>http://e/1</loc><url><loc>http://e/2</loc></url>", ["http://e/1", "http://e/2"], ["bad-markup"]),
        ("<loc>http://e/1</loc></url><loc>http://e/2</loc>", ["http://e/1", "http://e/2"], ["bad-markup"] * 3),
        ("<url><loc>http://e/1</loc><loc>http://e/2</loc></url>", ["http://e/1", "http://e/2"], ["repeated-loc"]),
        ("<url></url><url><loc></loc></url>", [], ["missing-loc", "missing-loc"]),
        ("<url>http://e.com/?a&amp;b</url>", ["http://e.com/?a&b"], ["missing-loc"]),
        ("<!-- <url><loc>http://e.com/0</loc></url> --><url><loc>http://e/1</loc></url>", ["http://e/1"], []),
        ("<url><loc>http://e/1</loc></url>\n<!--\n<url><loc>http://e/2</loc></url>\n-->", ["http://e/1"], []),
        ("<url><loc>http://e/1</loc> < </url>", ["http://e/1"], ["bad-markup"]),
        ('<url a=">"><loc b=\'"\'>http://e/1</loc></url>', ["http://e/1"], []),
        ('<url a="><loc>http://e/1</loc></url>', ["http://e/1"], []),
        ("<url><foo><loc>http://e.com/0</loc></foo><loc>http://e/1</loc></url>", ["http://e/1"], []),
        ("<url><image:loc>http://e.com/i</image:loc><loc>http://e/1</loc></url>", ["http://e/1"], []),
    ],
)  # fmt: skip
def test_broken_markup_costs_little(inside: str, expected: list[str], problems: list[str]) -> None:
    """What can be read is read, and what is wrong is told."""
    body = urlset(inside)
    assert urls(body) == expected
    assert reasons(body) == problems


@each_case(
    ("body", "expected"),
    [
        (urlset("<url><loc>http://e/1</loc></url><url><loc>http://e/2</lo")[:-9], ["http://e/1", "http://e/2"]),
        (urlset("<url><loc>http://e/1</loc></url><url><loc>http://e.com/2")[:-9], ["http://e/1"]),
        (urlset("<url><loc>http://e/1</loc><lastmod>2005-01-0")[:-9], ["http://e/1"]),
        (urlset("<url><loc>http://e/1</loc><image:image><image:loc>http://e.com/i")[:-9], ["http://e/1"]),
        (urlset("<url><loc>http://e/1</loc></url>")[:-9], ["http://e/1"]),
        (urlset("<url><loc>http://e/1</loc></url><!-- ")[:-9], ["http://e/1"]),
    ],
)  # fmt: skip
def test_truncated_documents(body: bytes, expected: list[str]) -> None:
    """A document that ends early gives every URL that is surely whole, and says that it is truncated."""
    assert urls(body) == expected
    assert reasons(body) == ["truncated"]


def test_namespaces_may_be_anything() -> None:
    """Prefixes are free, and a wrong or missing namespace is told but does not matter."""
    record = "<s:url><s:loc>http://e.com/</s:loc><s:lastmod>2005-01-01</s:lastmod></s:url>"
    right = f'<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9">{record * 2}</s:urlset>'
    assert values(right.encode()) == [Entry("http://e.com/", DAY)] * 2
    wrong = right.replace("http://www.sitemaps.org/schemas", "https://sitemap.org")
    assert values(wrong.encode()) == [
        Problem("bad-namespace", "https://sitemap.org/sitemap/0.9"),
        *[Entry("http://e.com/", DAY)] * 2,
    ]


def test_extensions() -> None:
    """Images, alternates and titles are read whatever their prefixes; what is not known is passed over."""
    record = """<url><loc>http://e.com/</loc>
      <i:image><i:loc>/i.png</i:loc><i:title>A &amp; B</i:title><i:unknown>x</i:unknown></i:image>
      <image:image><image:caption>nothing to see</image:caption></image:image>
      <xhtml:link rel="alternate" hreflang="de" href="http://e.com/de?a&amp;b"/>
      <xhtml:link rel='alternate' media='print' href='/print'></xhtml:link>
      <xhtml:link rel="stylesheet" href="/style.css">
      <p:title xmlns:p="urn:periplus:sitemap-title:1">The front page</p:title>
      <PageMap><DataObject><loc>http://e.com/no</loc></DataObject></PageMap><mobile:mobile/></url>"""
    assert values(urlset(record)) == [
        Problem("relative-url", "/i.png"),
        Problem("missing-loc", "image"),
        Problem("relative-url", "/print"),
        Entry(
            "http://e.com/",
            title="The front page",
            images=(Image("https://example.com/i.png", title="A & B"),),
            alternates=(Alternate("http://e.com/de?a&b", "de"), Alternate("https://example.com/print", "", "print")),
        ),
    ]


@each_case(
    ("text", "count"),
    [("1234", 1234), ("1,234", 1234), ("1,234,567", 1234567), ("12.0", 12), ("1,23", 1), ("many", None)],
)
def test_counts_of_videos(text: str, count: int | None) -> None:
    """People write commas between the thousands; a thousand is not one."""
    record = f"<url><loc>http://e.com/</loc><v:video><v:view_count>{text}</v:view_count></v:video></url>"
    entry = values(urlset(record))[-1]
    assert isinstance(entry, Entry)
    assert entry.videos[0].view_count == count


def test_index() -> None:
    """An index names children with their dates."""
    body = f"<sitemapindex {NS}><sitemap><loc>http://e.com/1.xml</loc><lastmod>2005-01-01</lastmod></sitemap></sitemapindex>"
    assert values(body.encode()) == [Child("http://e.com/1.xml", DAY)]


@each_case(
    "body",
    [
        f"<urlset {NS}><sitemap><loc>http://e.com/1.xml</loc></sitemap><url><loc>http://e.com/2</loc></url></urlset>",
        f"<sitemapindex {NS}><sitemap><loc>http://e.com/1.xml</loc></sitemap><url><loc>http://e.com/2</loc></url></sitemapindex>",
        f"<sitemapindex {NS}><sitemap><loc>http://e.com/1.xml</loc></sitemap></sitemapindex>"
        f"<?xml version='1.0'?><urlset {NS}><url><loc>http://e.com/2</loc></url></urlset>",
        f"<sitemap {NS}><sitemap><loc>http://e.com/1.xml</loc></sitemap><url><loc>http://e.com/2</loc></url></sitemap>",
    ],
)
def test_a_record_is_what_it_says(body: str) -> None:
    """A page is not a sitemap because it stands in an index, nor the other way round."""
    found = [value for value in values(body.encode()) if not isinstance(value, Problem)]
    assert found == [Child("http://e.com/1.xml"), Entry("http://e.com/2")]
    assert "bad-markup" in reasons(body.encode())


def test_a_wrong_root_costs_no_url() -> None:
    """Some call the root of their pages a sitemap."""
    body = f"<sitemap {NS}><url><loc>http://e.com/1</loc></url><url><loc>http://e.com/2</loc></url></sitemap>"
    found = [value for value in values(body.encode()) if not isinstance(value, Problem)]
    assert found == [Entry("http://e.com/1"), Entry("http://e.com/2")]


@each_case(
    "body",
    [
        "\ufeffhttp://e.com/é\r\nhttp://e.com/2".encode(),
        "http://e.com/é\nhttp://e.com/2\n".encode("utf-16"),
        "http://e.com/é\nhttp://e.com/2\n".encode("utf-16-le"),
        "http://e.com/é\nhttp://e.com/2\n".encode("utf-16-be"),
        "http://e.com/é\nhttp://e.com/2\n".encode("utf-32"),
        "# list\n\n  http://e.com/é http://e.com/2".encode(),
        "http://e.com/é\tTitle\thttp://no.example/\nhttp://e.com/2".encode(),
    ],
)
def test_text_lists(body: bytes) -> None:
    """One URL a line, or nearly, in any encoding that Unicode has."""
    assert values(body) == [Entry("http://e.com/é"), Entry("http://e.com/2")]


def test_dirty_text_lists() -> None:
    """A line that is not a URL is told; a URL with white space in it is one URL; a path is relative."""
    assert values(b"http://e.com/a b\nhello world\n/c\n") == [
        Entry("http://e.com/a b"),
        Problem("not-a-url", "hello world"),
        Problem("relative-url", "/c"),
        Entry("https://example.com/c"),
    ]
    assert values(b"http://e.com/\n<http://e.com/a>\n'http://e.com/b'\nwww.e.com/c\n\"no\n<p>\n") == [
        Entry("http://e.com/"),
        Problem("bad-value", "<http://e.com/a>"),
        Entry("http://e.com/a"),
        Problem("bad-value", "'http://e.com/b'"),
        Entry("http://e.com/b"),
        Problem("relative-url", "www.e.com/c"),
        Entry("https://www.e.com/c"),
        Problem("not-a-url", '"no'),
        Problem("not-a-url", "<p>"),
    ]


@each_case(
    ("declared", "real", "problems"),
    [
        ("UTF-8", "utf-8", []),
        ("ISO-8859-1", "cp1252", []),
        ("windows-1251", "cp1251", []),
        ("Shift_JIS", "cp932", []),
        ("UTF-16", "utf-16", []),
        ("UTF-8", "utf-16", []),
        ("UTF-8", "cp1252", ["bad-encoding"]),
        ("ISO-8859-1", "utf-8", ["bad-encoding"]),
        ("UTF-16", "utf-8", ["bad-encoding"]),
        ("zlib", "utf-8", ["unknown-encoding"]),
        ("no-such-thing", "utf-8", ["unknown-encoding"]),
    ],
)
def test_encodings(declared: str, real: str, problems: list[str]) -> None:
    """What the bytes are wins over what they are said to be."""
    word = {"cp1251": "мир", "cp932": "世界"}.get(real, "é")
    body = f'<?xml version="1.0" encoding="{declared}"?><urlset {NS}><url><loc>http://e.com/{word}</loc></url></urlset>'
    assert urls(body.encode(real)) == [f"http://e.com/{word}"]
    assert reasons(body.encode(real)) == problems


def test_garbage_before_the_document() -> None:
    """What a program said before it wrote the document is passed over."""
    document = urlset("<url><loc>http://e.com/</loc></url>")
    assert values(b"\n\n \xef\xbb\xbf" + document) == [Entry("http://e.com/")]
    for garbage in (b"Warning: no such file in /srv/x.php\n", b"<br />\n<b>Warning</b>: no such file<br />\n"):
        assert reasons(garbage + document) == ["leading-garbage"]
        assert urls(garbage + document) == ["http://e.com/"]


def test_feeds() -> None:
    """Of a feed, each item's own link, date and title; the link of the channel is not an entry."""
    rss = b"""<rss version="2.0"><channel><link>http://e.com/</link><title>Channel</title>
      <lastBuildDate>Sat, 01 Jan 2005 00:00:00 GMT</lastBuildDate>
      <item><media:title>No</media:title><title>One</title><link>/1</link><source><link>http://no.example/</link></source>
        <enclosure url="http://e.com/1.mp3"/><dc:date>2005-01-01</dc:date></item>
      <item><guid>http://e.com/2</guid></item><item><title>Nowhere</title></item></channel></rss>"""
    reading = read(rss, URL)
    assert list(reading) == [
        Problem("relative-url", "/1"),
        Entry("https://example.com/1", DAY, title="One"),
        Entry("http://e.com/2"),
        Problem("missing-loc", "Nowhere"),
    ]
    assert reading.lastmod == Lastmod(1104537600.0, Granularity.SECOND)


def test_atom() -> None:
    """Of an Atom entry, the first link to an alternate; other links, sources and contents are passed over."""
    atom = b"""<feed><link href="http://e.com/"/><entry><link rel="self" href="http://e.com/self"/>
      <link href="http://e.com/1?a&amp;b"/><link rel="alternate" href="http://e.com/no"/>
      <title>One</title><published>2004-01-01</published><updated>2005-01-01</updated>
      <source><title>No</title><updated>2006-01-01</updated></source></entry></feed>"""
    assert values(atom) == [Entry("http://e.com/1?a&b", DAY, title="One")]


@each_case(
    ("item", "expected"),
    [
        ("<link/><link>http://e.com/1</link>", Entry("http://e.com/1")),
        ("<title>a<br>b</title><link>http://e.com/1</link>", Entry("http://e.com/1", title="ab")),
        ("<description><p>a<p>b</description><link>http://e.com/1</link>", Entry("http://e.com/1")),
        ("<content><div><div><link>no</link></div></div></content><link>http://e.com/1</link>", Entry("http://e.com/1")),
        ("<link>http://e.com/1</link><pubDate>?</pubDate><dc:date>2005-01-01</dc:date>", Entry("http://e.com/1", DAY)),
    ],
)  # fmt: skip
def test_dirty_items(item: str, expected: Entry) -> None:
    """A tag that nothing closes, an empty link or a date that is none costs the item nothing else."""
    assert values(f"<rss><channel><item>{item}</item></channel></rss>".encode())[-1] == expected


def test_tombstones() -> None:
    """Entries that are gone are none of those listed; ids that are no URLs lead nowhere."""
    atom = b"""<feed xmlns:at="http://purl.org/atompub/tombstones/1.0"><entry><link href="http://e.com/1"/></entry>
      <at:deleted-entry ref="http://e.com/2?a&amp;b" when="2005-01-01"/>
      <at:deleted-entry ref="urn:uuid:3" when="2005-01-01"><at:comment>Spam</at:comment></at:deleted-entry>
      <at:deleted-entry ref="http://e.com/4"/></feed>"""
    reading = read(atom, "http://e.com/feed")
    assert [each for each in reading if isinstance(each, Entry)] == [Entry("http://e.com/1")]
    assert [(each.url, each.lastmod) for each in reading.gone] == [("http://e.com/2?a&b", DAY)]


def test_atom_bases_and_relations() -> None:
    """RFC 4287: links are relative to `xml:base`, and a relation may be written as its address."""
    atom = b"""<feed xml:base="http://e.com/a/"><entry xml:base="b/"><link href="1"/></entry>
      <entry><link rel="http://www.iana.org/assignments/relation/alternate" href="2"/></entry>
      <entry><link xml:base="/c/" href="3?d&amp;e"/></entry></feed>"""
    assert urls(atom) == ["http://e.com/a/b/1", "http://e.com/a/2", "http://e.com/c/3?d&e"]


def test_problems_are_bounded() -> None:
    """The first problems of a reason are told, the others counted; other reasons have their own count."""
    record = "<url><loc>http://e.com/</loc><lastmod>never</lastmod></url>"
    found = [
        value for value in read(urlset(record * 30 + "<url/>"), URL, Limits(problems=10)) if isinstance(value, Problem)
    ]
    assert [problem.reason for problem in found] == ["bad-lastmod"] * 10 + ["missing-loc", "more-problems"]
    assert found[-1].detail == "bad-lastmod: 20 more"
