"""Feeds: every family, the dirt they come with, and what is served in their place."""

from __future__ import annotations

import pytest
from tests.each_case import each_case
from tests.formats.linear_time import assert_linear

from periplus.formats import feed
from periplus.formats.feed import FeedDocument, FeedKind, Item, Tombstone
from periplus.model import Granularity, Lastmod

URL = "https://example.com/news/feed.xml"


def reasons(read: FeedDocument) -> list[str]:
    return [problem.reason for problem in read.problems]


def rss(items: str, channel: str = "", attributes: str = "") -> bytes:
    return f'<?xml version="1.0"?><rss version="2.0" {attributes}><channel>{channel}{items}</channel></rss>'.encode()


def test_rss_2() -> None:
    """A feed as the specification has it, with its WebSub links."""
    body = rss(
        """<item><title>One</title><link>https://example.com/1</link><guid isPermaLink="false">id-1</guid>
           <pubDate>Sat, 07 Sep 2002 00:00:01 GMT</pubDate>
           <description>&lt;p&gt;Some &lt;b&gt;text&lt;/b&gt;</description>
           </item>""",
        """<title>News &amp; more</title><link>https://example.com/</link><ttl>60</ttl>
           <atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="self" href="https://example.com/feed"/>
           <atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="hub" href="https://hub.example/"/>
           <lastBuildDate>Sat, 07 Sep 2002 09:42:31 GMT</lastBuildDate>""",
    )
    assert feed.read(body, URL) == FeedDocument(
        kind=FeedKind.RSS,
        version="2.0",
        url="https://example.com/feed",
        link="https://example.com/",
        title="News & more",
        updated=Lastmod(1031391751.0, Granularity.SECOND),
        ttl=3600.0,
        hubs=("https://hub.example/",),
        items=(
            Item(
                "https://example.com/1", "id-1", "One", Lastmod(1031356801.0, Granularity.SECOND), summary="Some text"
            ),
        ),
    )


def test_rss_1() -> None:
    """RDF: items beside the channel, dates of Dublin Core, the syndication module."""
    body = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
      xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">
      <channel rdf:about="https://example.com/feed"><title>T</title><link>https://example.com/</link>
      <sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency></channel>
      <item rdf:about="https://example.com/1"><title>One</title><dc:date>2002-09-07</dc:date></item></rdf:RDF>"""
    read = feed.read(body)
    assert (read.kind, read.version, read.link, read.ttl) == (FeedKind.RDF, "1.0", "https://example.com/", 43200.0)
    when = Lastmod(1031356800.0, Granularity.DAY)
    assert read.items == (Item("https://example.com/1", "", "One", published=when),)
    assert read.problems == ()


def test_rss_090() -> None:
    """Netscape's first format."""
    body = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
      xmlns="http://my.netscape.com/rdf/simple/0.9/"><channel><title>T</title><link>http://e.com/</link></channel>
      <item><title>One</title><link>http://e.com/1</link></item></rdf:RDF>"""
    read = feed.read(body)
    assert (read.kind, read.version, read.items) == (FeedKind.RDF, "0.90", (Item("http://e.com/1", title="One"),))


def test_atom_1() -> None:
    """RFC 4287: typed texts, alternates among links, xml:base."""
    body = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://example.com/blog/">
      <title type="text">A &lt; B</title>
      <link rel="self" href="atom.xml"/><link href="."/><link rel="hub" href="https://hub.example/"/>
      <updated>2003-12-13T18:30:02Z</updated>
      <entry xml:base="2003/"><title type="html">&lt;i&gt;One&lt;/i&gt; &amp;amp; all</title><id>urn:1</id>
        <link rel="edit" href="edit/1"/><link rel="alternate" type="application/pdf" href="1.pdf"/>
        <link rel="alternate" type="text/html" href="1.html"/>
        <published>2003-12-13T08:29:29-04:00</published><updated>2003-12-13T18:30:02.25Z</updated>
        <summary type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Some <b>text</b></div></summary>
      </entry></feed>"""
    read = feed.read(body, URL)
    assert (read.kind, read.version, read.title) == (FeedKind.ATOM, "1.0", "A < B")
    assert (read.url, read.link) == ("https://example.com/blog/atom.xml", "https://example.com/blog/")
    assert read.hubs == ("https://hub.example/",)
    assert read.items == (
        Item(
            "https://example.com/blog/2003/1.html",
            "urn:1",
            "One & all",
            Lastmod(1071318569.0, Granularity.SECOND),
            Lastmod(1071340202.25, Granularity.FRACTION),
            "Some text",
        ),
    )


def test_atom_03() -> None:
    """The draft that many still serve."""
    body = b"""<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>T</title><entry><title>One</title>
      <link rel="alternate" type="text/html" href="http://e.com/1"/><modified>2003-12-13T18:30:02Z</modified>
      <issued>2003-12-13T08:29:29-04:00</issued></entry></feed>"""
    read = feed.read(body)
    assert (read.kind, read.version) == (FeedKind.ATOM, "0.3")
    assert [(item.url, item.lastmod) for item in read.items] == [
        ("http://e.com/1", Lastmod(1071340202.0, Granularity.SECOND))
    ]


@each_case(
    ("item", "url"),
    [
        ("<link>https://e.com/1</link>", "https://e.com/1"),
        ("<link> \n https://e.com/1 \n</link>", "https://e.com/1"),
        ("<link>/1</link>", "https://example.com/1"),
        ("<link>1?a=1&amp;b=2</link>", "https://example.com/news/1?a=1&b=2"),
        ("<link>1?a=1&b=2&lang=3</link>", "https://example.com/news/1?a=1&b=2&lang=3"),
        ("<link><![CDATA[https://e.com/?a&b;c]]></link>", "https://e.com/?a&b;c"),
        ('<link href="https://e.com/1"/>', "https://e.com/1"),
        ("<link/><guid>https://e.com/g</guid>", "https://e.com/g"),
        ('<guid isPermaLink="false">https://e.com/g</guid>', "https://e.com/g"),
        ("<guid>tag:1</guid>", ""),
        ("<link>javascript:alert(1)</link>", ""),
        ('<link>https://proxy/1</link><feedburner:origLink xmlns:feedburner='
         '"http://rssnamespace.org/feedburner/ext/1.0">https://e.com/1</feedburner:origLink>', "https://e.com/1"),
        ("<link>https://proxy/1</link><feedburner:origLink>https://e.com/1</feedburner:origLink>", "https://e.com/1"),
        ('<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="alternate" href="https://e.com/1"/>', "https://e.com/1"),
        ('<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="replies" href="https://e.com/1"/>', ""),
    ],
)  # fmt: skip
def test_where_an_item_leads(item: str, url: str) -> None:
    """The original before the proxy, the link before the guid, resolved where the feed lives."""
    read = feed.read(rss(f"<item><title>x</title>{item}</item>"), URL)
    assert [item.url for item in read.items] == [url]
    assert bool(url) != bool({"bad-link", "no-link"} & set(reasons(read)))


@each_case(
    ("title", "plain"),
    [
        ("<![CDATA[A <b>bold</b> &amp; clear]]>", "A bold & clear"),
        ("AT&amp;T", "AT&T"),
        ("AT&T", "AT&T"),
        ("caf&eacute;&nbsp;&hellip;", "café …"),
        ("a &lt; b", "a < b"),
        ("  two\n words ", "two words"),
        ("A <b>bold</b> word", "A bold word"),
        ("&unknown; &#8217;", "&unknown; \u2019"),
        ("bell\x07", "bell"),
        ("bell&#7; half&#55296; far&#1114112; &#xDFFF;", "bell\ufffd half\ufffd far\ufffd \ufffd"),
        ("1990&#150;95 &#x93;so&#x94; &#x1F600; &#38;amp;", "1990\u201395 \u201cso\u201d \U0001f600 &"),
        ("x" * 5000, "x" * 1000),
    ],
)
def test_titles_are_plain(title: str, plain: str) -> None:
    """HTML in text, HTML's names in XML, stray ampersands, forbidden characters."""
    assert feed.read(rss("", f"<title>{title}</title>")).title == plain


@each_case(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"<!DOCTYPE html><html><head><title>rss</title></head>", "html"),
        (b"<html><body><rss></rss></body></html>", "html"),
        (b"not found", "not-a-feed"),
        (b"<?xml version='1.0'?><urlset><url/></urlset>", "not-a-feed"),
        (b"{}", "not-a-feed"),
    ],
)
def test_what_is_not_a_feed(body: bytes, reason: str) -> None:
    """Something else in its place is told apart."""
    read = feed.read(body)
    assert (read.kind, read.items, reasons(read)) == (None, (), [reason])


def test_charsets() -> None:
    """Declared, marked, missing, unknown and wrong."""
    text = '<?xml version="1.0" encoding="{}"?><rss><channel><title>Žluťoučký</title></channel></rss>'
    for encoding in ("utf-8", "iso-8859-2", "windows-1250", "utf-16"):
        read = feed.read(text.format(encoding).encode(encoding))
        assert (read.title, read.problems) == ("Žluťoučký", ())
    assert feed.read(text.format("utf-16").encode()).title == "Žluťoučký"
    assert feed.read(b"\xef\xbb\xbf\n" + text.format("x").encode()).title == "Žluťoučký"
    unknown = feed.read(text.format("klingon").encode())
    assert (unknown.title, reasons(unknown)) == ("Žluťoučký", ["unknown-charset"])
    wrong = feed.read("<rss><channel><title>café</title></channel></rss>".encode("latin-1"))
    assert (wrong.title, reasons(wrong)) == ("café", ["wrong-charset"])
    mostly = feed.read(("<rss><channel><title>" + "ж" * 50).encode() + b"\xff</title></channel></rss>")
    assert (mostly.title, reasons(mostly)) == ("ж" * 50 + "\ufffd", ["wrong-charset"])


def test_a_truncated_feed_gives_its_whole_items() -> None:
    """The item that was cut may lead to half an address: it is not given."""
    body = rss("<item><link>https://e.com/1</link></item><item><link>https://e.com/23</link></item>")
    read = feed.read(body[: body.index(b"23") + 1])
    assert [item.url for item in read.items] == ["https://e.com/1"]
    assert reasons(read) == ["truncated"]
    later = feed.read(body[: body.rindex(b"</channel>")])
    assert len(later.items) == 2


def test_broken_xml_gives_what_it_can() -> None:
    """Elements that are not closed, prefixes that are not declared, junk around the feed."""
    body = rss("<item><link>https://e.com/1</link><b>x</item><item><dc:date>2002-09-07</dc:date><link>/2</link></item>")
    read = feed.read(body, "https://e.com/")
    assert {item.url: item.published for item in read.items} == {
        "https://e.com/1": None,
        "https://e.com/2": Lastmod(1031356800.0, Granularity.DAY),
    }
    assert reasons(read) == ["not-well-formed"]
    warned = feed.read(b"<b>Warning</b>: oops in /feed.php\n" + rss("<item><link>https://e.com/1</link></item>"))
    assert (len(warned.items), reasons(warned)) == (1, ["junk-before-root"])


def test_items_within_items() -> None:
    """An item that was not closed costs no other item, and an empty one in another is nothing."""
    unclosed = feed.read(rss("<item><link>https://e.com/1</link><item><link>https://e.com/2</link></item>"))
    assert [item.url for item in unclosed.items] == ["https://e.com/1", "https://e.com/2"]
    empty = feed.read(rss("<item><title>x</title><item /><link>https://e.com/1</link></item>"))
    assert empty.items == (Item("https://e.com/1", title="x"),)


@pytest.mark.parametrize(
    "item",
    [
        "<item><link>https://e.com/{}</link>",
        "<item><title>x</title><link>https://e.com/{}</link><description><p>a<p>b<li>c<b>d</description></item>",
        "<item><title>x<link>https://e.com/{}</link></item>",
        "<item><description><div></p></span>x</description></channels><link>https://e.com/{}</link></item>",
        "<item><link>https://e.com/{}</LINK></Item>",
        "<item><a:b><![CDATA[</item><item>]]><!-- <item> --><link>https://e.com/no</link></item><link>https://e.com/no",
    ],
)
def test_unclosed_element_ends_with_its_item(item: str) -> None:
    """Naked HTML or a forgotten end tag in hundreds of items costs none of them, nor their order."""
    read = feed.read(rss("".join(item.format(number) for number in range(400))))
    urls = [found.url for found in read.items if found.url != "https://e.com/no"]
    assert urls == ([f"https://e.com/{number}" for number in range(400)] if "{}" in item else [""] * 400)
    assert "not-well-formed" in reasons(read)


@each_case("reference", ["&#xD800;", "&#x0000DFFF;", "&#0055296;", "&#1114112;", "&#xFFFE;", "&#1;"])
@each_case("around", ["{}", "<!{}", "<a b='<![CDATA[{}", "<![CDATA[{}]]>", "]]>{}", "<![CDATA[ <!-- {}", "<x:y{}"])
def test_references_to_invalid_characters_do_not_raise(reference: str, around: str) -> None:
    """Whatever the parser takes for markup, no reference to half a character gets through to where it would raise."""
    read = feed.read(rss(f"<item><title>{around.format(reference)}</title><link href='/{reference}'/></item>"), URL)
    assert read.kind is FeedKind.RSS


def test_dates_that_are_none_are_told() -> None:
    """A bad date costs the date, not the item."""
    read = feed.read(rss("<item><link>https://e.com/1</link><pubDate>yesterday</pubDate></item>"))
    assert (read.items[0].published, reasons(read)) == (None, ["bad-date"])


def test_nothing_is_expanded_or_fetched() -> None:
    """The document type is never shown to the parser: no bombs, no files."""
    bomb = "".join(f'<!ENTITY b{i + 1} "{f"&b{i};" * 10}">' for i in range(12))
    body = f"""<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY b0 "lol">{bomb}<!ENTITY x SYSTEM "file:///etc/hostname">]>
    <rss><channel><title>&b12;|&x;</title><item><link>https://e.com/1</link></item></channel></rss>"""
    read = feed.read(body.encode())
    assert (read.title, len(read.items), reasons(read)) == ("&b12;|&x;", 1, ["entity-declarations"])


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Size, items and problems of a feed have a bound each; chunks are as good as a body."""
    big = feed.read([b"<rss><channel>"] + [b"<item>" + b" " * 20_000 + b"<link>https://e.com/</link></item>"] * 600)
    assert reasons(big)[0] == "too-large"
    assert 20_000 * len(big.items) < feed.LONGEST < 20_000 * 600
    linkless = feed.read(rss("<item><title>x</title></item>" * 1000))
    assert (len(linkless.items), len(linkless.problems)) == (1000, feed.MOST_PROBLEMS)
    monkeypatch.setattr("periplus.formats.feed.reading.MOST_ITEMS", 1_000)
    many = feed.read(rss("<item><link>https://e.com/</link></item>" * 1_009))
    assert (len(many.items), reasons(many)) == (1_000, ["too-many-items"])
    monkeypatch.setattr("periplus.formats.feed.source.MOST_TAGS", 2_000)
    assert "too-large" in reasons(feed.read(rss("<item><link>https://e.com/</link></item>" * 1_009)))


@pytest.mark.parametrize(
    "piece",
    [
        "<![CDATA[",
        "<!a>",
        "<!--",
        "<?x?>",
        "&",
        "&a",
        "<item>",
        "<a ",
        "<a b='",
        "<rss>",
        "<!DOCTYPE [",
        "]]>",
        "<x:rss",
    ],
)
def test_feeds_take_linear_time(piece: str) -> None:
    """No repetition leads a reader into a maze."""

    def read(size: int) -> None:
        text = piece * (size // len(piece))
        feed.read(text.encode())
        feed.read(f"<rss><channel>{text}".encode())
        feed.read(f"<rss><channel><item><title>{text}".encode())

    assert_linear(read, 18_000)


def test_names_and_bases_do_not_multiply() -> None:
    """A namespace of megabytes, and bases within bases, cost what they weigh and no more."""

    def read(items: int) -> None:
        space = "x" * (100 * items)
        named = f'<rss xmlns:a="{space}"><channel>{"<item><a:b/></item>" * items}</channel></rss>'
        assert len(feed.read(named.encode()).items) == items
        nested = "<a xml:base='x/'>" * (items // 100) + "<item><link>y</link></item>" * (items // 4)
        assert len(feed.read(f"<rss><channel>{nested}".encode(), URL).items) == items // 4
        based = f"<rss xml:base='/{space}'><channel>{'<item><link>y</link></item>' * items}"
        found = feed.read(based.encode(), URL).items
        assert (len(found), found[0].url) == (items, "https://example.com/news/y")

    assert_linear(read, 2_500)


def test_markup_that_nothing_closes() -> None:
    """A `<br>` or `<img>` out of HTML costs no item; XHTML and CDATA are left as they are."""
    dirty = rss(
        "<item><title>a<br>b</title><link>http://e.com/1</link><description>c <IMG src='i.png'></description></item>"
        "<item><title><![CDATA[a<br>b]]></title><link>http://e.com/2</link></item>"
        "<item><title>a<br/>b<hr></hr></title><link>http://e.com/3</link></item>"
    )
    items = feed.read(dirty).items
    assert [item.url for item in items] == ["http://e.com/1", "http://e.com/2", "http://e.com/3"]
    assert (items[1].title, items[0].summary) == ("a b", "c")


@each_case(
    "space",
    [
        "http://www.w3.org/2005/Atom",
        "https://www.w3.org/2005/Atom",
        " http://www.w3.org/2005/Atom/ ",
        "http://purl.org/atom/ns#",
        "https://example.com/our-own",
    ],
)
def test_any_namespace_may_be_the_one_of_the_feed(space: str) -> None:
    """An item is read by the words of its own namespace, right, nearly right or made up; others stay others."""
    atom = f"""<feed xmlns="{space}" xmlns:x="https://other.example/"><title type="text">A &lt;b&gt;</title>
      <entry><x:title>No</x:title><title>One</title><link href="/1"/><updated>2002-09-07</updated></entry></feed>"""
    day = Lastmod(1031356800.0, Granularity.DAY)
    read = feed.read(atom.encode(), URL)
    assert (read.title, read.items) == ("A <b>", (Item("https://example.com/1", title="One", updated=day),))
    rss = f"""<rss xmlns="{space}"><channel><item><title>One</title><link>/1</link><pubDate>Sat, 07 Sep 2002</pubDate>
      <d:date xmlns:d="http://purl.org/dc/elements/1.1">2001</d:date></item></channel></rss>"""
    assert feed.read(rss.encode(), URL).items == (Item("https://example.com/1", title="One", published=day),)


@each_case("name", ["item", "Item", "ITEM"])
def test_items_in_any_letter_case(name: str) -> None:
    """Old programs shout."""
    items = feed.read(f"<RSS><CHANNEL><{name}><LINK>http://e.com/1</LINK></{name}></CHANNEL></RSS>".encode()).items
    assert [item.url for item in items] == ["http://e.com/1"]


def test_links_that_lead_off_the_web_are_bad() -> None:
    """A link to something else is another problem than no link."""
    body = rss("<item><link>ftp://e.com/1</link></item><item><link>mailto:a@e.com</link></item><item/>")
    assert reasons(feed.read(body)) == ["bad-link", "bad-link", "no-link"]


def test_relations_may_be_addresses() -> None:
    """RFC 4287: a registered word and its address are the same."""
    rel = "http://www.iana.org/assignments/relation/"
    body = f"""<feed xmlns="http://www.w3.org/2005/Atom"><link rel="{rel}self" href="http://e.com/f"/>
      <entry><link rel="{rel}alternate" href="http://e.com/1"/></entry></feed>"""
    read = feed.read(body.encode())
    assert (read.url, read.items[0].url) == ("http://e.com/f", "http://e.com/1")


def test_written_atom_is_complete() -> None:
    """Atom demands an id and a date of the feed and of every entry."""
    when = Lastmod(1031356800.0, Granularity.DAY)
    items = (Item("https://e.com/1", title="A <b> & c", published=when), Item("https://e.com/2"))
    body = feed.write(FeedDocument(FeedKind.ATOM, link="https://e.com/", items=items)).decode()
    assert body.count("<updated>2002-09-07T00:00:00Z</updated>") == 3
    assert body.count("<id>") == 3
    assert feed.read(body.encode()).items[0].title == "A <b> & c"


def test_written_atom_has_an_author_and_content_as_html() -> None:
    """RFC 4287 demands an author of a feed whose entries have none; HTML is escaped as a whole."""
    item = Item("https://e.com/1", "urn:x:1", content="<p>1 &lt; <ins>2</ins></p>")
    body = feed.write(
        FeedDocument(FeedKind.ATOM, link="https://e.com/", id="urn:x:0", author="A & B", items=(item,))
    ).decode()
    assert "<author><name>A &amp; B</name></author>" in body
    assert "<id>urn:x:0</id>" in body
    assert '<content type="html">&lt;p&gt;1 &amp;lt; &lt;ins&gt;2&lt;/ins&gt;&lt;/p&gt;</content>' in body
    assert feed.read(body.encode()).problems == ()


def test_tombstones_are_read_as_written() -> None:
    """RFC 6721: an id and a time; one that lacks either is not valid."""
    gone = (Tombstone("https://e.com/1?a&b", Lastmod(1031356800.0, Granularity.SECOND)),)
    body = feed.write(FeedDocument(FeedKind.ATOM, link="https://e.com/", tombstones=gone))
    assert feed.read(body).tombstones == gone
    spoilt = body.replace(b' when="', b' then="').replace(b"</feed>", b'<at:deleted-entry when="2002-09-07"/></feed>')
    assert feed.read(spoilt).tombstones == ()
