"""Reading sitemaps: nothing raises, portions do not matter, and the fast readers say what the careful one says."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from itertools import chain, pairwise
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from periplus.formats.dates import read_w3c
from periplus.formats.sitemap import Entry, Kind, Limits, cells, read, read_columns, regular
from periplus.formats.sitemap.cells import read_moments
from periplus.formats.sitemap.fields import Fields
from periplus.formats.sitemap.outbox import Outbox, Part
from periplus.formats.sitemap.records import Records
from periplus.formats.sitemap.regular import RegularRecords
from periplus.model import EntryColumns, Problem

BASE = "https://example.com/maps/sitemap.xml"

fragments = st.sampled_from(
    [
        "<?xml version='1.0' encoding='UTF-8'?>",
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
        "<urlset>",
        "</urlset>",
        "<sitemapindex>",
        "<sitemap>",
        "</sitemap>",
        "<url>",
        "</url>",
        "<loc>",
        "</loc>",
        "<lastmod>",
        "</lastmod>",
        "<changefreq>daily</changefreq>",
        "<priority>0.5</priority>",
        "<priority>",
        "<image:image>",
        "</image:image>",
        "<image:loc>",
        "<video:video>",
        "</video:video>",
        "<news:news><news:publication>",
        "</news:news>",
        '<xhtml:link rel="alternate" hreflang="de" href="/de">',
        "<title>",
        "<rss><channel>",
        "<item>",
        "</item>",
        "<link>",
        "</link>",
        "<feed>",
        "<entry>",
        "<html>",
        "<!DOCTYPE x [<!ENTITY a 'b'>]>",
        "<!DOCTYPE x>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?",
        "?>",
        "&amp;",
        "&a;",
        "&#65;",
        "&",
        "<",
        ">",
        '"',
        "'",
        "/>",
        "http://example.com/a",
        "/relative",
        "2005-01-01",
        "2005-01-01T10:00:00Z",
        "\n",
        " ",
        "\u00a0",
        "\ufeff",
        "x",
        "é",
    ]
)
soup = st.lists(fragments, max_size=40).map("".join)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(marks)]


@given(st.binary(max_size=500))
def test_any_bytes_are_read(data: bytes) -> None:
    """No bytes make the reader raise, plain or behind the head of a gzip member."""
    list(read(data, BASE))
    list(read(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + data, BASE))


@given(soup, st.sampled_from(["utf-8", "utf-16", "latin-1"]))
def test_any_soup_is_read(text: str, encoding: str) -> None:
    """No order of tags makes the reader raise, and what comes out is whole."""
    for value in read(text.encode(encoding, "replace"), BASE):
        assert isinstance(value, Problem) or value.url == value.url.strip() != ""


@given(soup, st.lists(st.integers(0, 2000), max_size=12))
def test_portions_do_not_matter(text: str, places: list[int]) -> None:
    """The same bytes give the same values however they arrive."""
    data = text.encode()
    assert list(read(cut(data, places), BASE)) == list(read(data, BASE))


@given(soup, st.lists(st.integers(0, 2000), max_size=5), st.integers(1, 3))
def test_compression_does_not_matter(text: str, places: list[int], layers: int) -> None:
    """Gzipped, in several members, several times: the same values."""
    data = b"".join(gzip.compress(part, 1) for part in cut(text.encode(), places))
    for _ in range(layers - 1):
        data = gzip.compress(data, 1)
    assert list(read(data, BASE)) == list(read(text.encode(), BASE))


@given(st.binary(max_size=300), st.data())
def test_damaged_gzip_is_read(content: bytes, data: st.DataObject) -> None:
    """One wrong byte, or fewer bytes, in a gzip member never raise, and are told."""
    packed = bytearray(gzip.compress(b"http://example.com/\n" + content))
    del packed[data.draw(st.integers(3, len(packed) - 1)) :]
    assert any(isinstance(value, Problem) for value in read(bytes(packed), BASE))


urls = st.sampled_from(
    [
        "http://example.com/",
        "https://example.com/a?b=1&amp;c=2",
        " https://example.com/c\n",
        "https://example.com/é",
        "https://example.com/a b",
        "https://example.com/&#65;",
        "https://example.com/a&b",
        "https://example.com/\u200b",
        "https://example.com/\u00a0",
        "<![CDATA[https://example.com/cdata]]>",
        "<![CDATA[https://example.com/cdata?a&b]]>",
        "HTTP://EXAMPLE.COM/",
        "/relative",
        "",
    ]
)
plain_urls = st.integers(0, 99).map("https://example.com/item/{}".format)
lastmods = st.sampled_from(
    [
        "2005-01-01",
        "2005-02-31",
        "",
        " 2005-01-01 ",
        "2005-01-01T10:00:00+01:00",
        "Sat, 01 Jan 2005 00:00:00 GMT",
        "&lt;",
    ]
)
times = st.integers(0, 59).map("2005-01-01T10:00:{:02}Z".format)
frequencies = st.sampled_from(["daily", "WEEKLY", " monthly", "sometimes", "", "never&amp;"])
priorities = st.sampled_from(["0.5", "1.0", "0,8", "2", "", ".5", "high", " 0.1 "])
extras = st.sampled_from(
    ["", "", "<title>t</title>", "<mobile:mobile/>", "<!-- c -->", "text", "<image:image/>", "<x>"]
)


def field(name: str, values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return values.map(lambda value: f"<{name}>{value}</{name}>")


clean_record = st.builds(
    "<url>{}{}{}</url>".format, field("loc", plain_urls), field("lastmod", times), field("priority", st.just("0.5"))
)
any_record = st.builds(
    "<url>{}{}</url>".format,
    field("loc", urls),
    st.lists(
        st.one_of(
            field("lastmod", lastmods | times),
            field("changefreq", frequencies),
            field("priority", priorities),
            extras,
            field("loc", urls),
        ),
        max_size=4,
    ).map("".join),
)
extensions = st.sampled_from(
    [
        "<image:image><image:loc>http://example.com/1.png</image:loc></image:image>",
        "<image:image>\n<image:loc> http://example.com/2.png </image:loc><image:title>T &amp; t</image:title></image:image>",  # noqa: E501
        "<image:image><image:caption>c</image:caption><image:loc>http://example.com/3.png</image:loc></image:image>",
        "<image:image><image:loc>http://example.com/a</image:loc><image:loc>http://example.com/b</image:loc></image:image>",
        "<image:image><image:loc>http://example.com/4.png</image:loc><image:title></image:title></image:image>",
        "<image:image><image:loc>/relative.png</image:loc></image:image>",
        "<image:image><image:loc>http://example.com/&unknown;</image:loc></image:image>",
        "<image:image><image:loc>http://example.com/5.png</image:loc>",
        "</image:image>",
        "<image:image></image:image>",
        "<news:news><news:publication><news:name>N</news:name><news:language>en</news:language></news:publication>"
        "<news:publication_date>2005-01-01</news:publication_date><news:title>A\rB</news:title></news:news>",
        "<news:news><news:publication><news:name>&quot;N&#34;</news:name></news:publication>"
        "<news:keywords>a, b,,c</news:keywords><news:publication_date>1 Jan 2005</news:publication_date></news:news>",
        "<news:news><news:publication></news:publication><news:publication_date>soon</news:publication_date></news:news>",
        "<news:news><news:title>no publication</news:title></news:news>",
        '<xhtml:link rel="alternate" hreflang="de" href="http://example.com/de?a&amp;b"/>',
        '<xhtml:link rel="alternate" href="http://example.com/fr>" hreflang=" fr "/>\n',
        '<xhtml:link rel="alternate" hreflang="it" href="/it"/>',
        '<xhtml:link rel="canonical" hreflang="es" href="http://example.com/es"/>',
        "<xhtml:link rel='alternate' hreflang='en' href='http://example.com/en' />",
        "<video:video><video:title>v</video:title></video:video>",
        "<mobile:mobile/>",
        "<!-- <url> -->",
        "<![CDATA[http://example.com/bare?a&b]]>",
        "<lastmod>2005-01-01</lastmod>",
        "<loc>http://example.com/again</loc>",
        "bare &amp; text",
        "<",
    ]
)
extended_record = st.builds(
    "<url>{}{}\n{}</url>".format,
    field("loc", plain_urls | urls),
    st.just("") | field("lastmod", times | lastmods),
    st.lists(extensions, min_size=1, max_size=3).map("".join),
)
between = st.sampled_from(["", "\n", "<!-- x -->", "<!--", "-->", "<url>", "</url>", "<url><loc>http://example.com/z"])
documents = st.lists(
    st.one_of(clean_record, clean_record, any_record, extended_record, between),
    max_size=14,
).map("\n".join)
uniform = st.lists(clean_record, min_size=2, max_size=8).map("\n ".join)
extended = st.lists(extended_record, min_size=2, max_size=5).map("\n ".join)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A document as programs write it, with some of it overwritten."""
    text = draw(uniform | extended)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        text = text[:start] + draw(fragments | st.just("")) + text[start + draw(st.integers(0, 12)) :]
    return text


def read_carefully(text: str, kind: Kind) -> list[Part]:
    outbox = Outbox(Limits())
    Records(kind, Fields(BASE, outbox, Limits()), outbox).feed(text, is_last=True)
    return outbox.drain()


def read_fast(text: str, kind: Kind, *, by_columns: bool = False) -> list[Part]:
    """By whichever reader takes it first, though the text is shorter than what they are worth it for."""
    outbox = Outbox(Limits())
    with patch.object(regular, "_WORTH_COLUMNS", 0), patch.object(cells, "_WORTH_ARRAYS", 0):
        fields = Fields(BASE, outbox, Limits())
        RegularRecords(kind, "", fields, outbox, by_columns=by_columns).feed(text, is_last=True)
    return one_by_one(outbox.drain())


def one_by_one(parts: Iterable[Part]) -> list[Part]:
    """Columns as the entries that they are."""
    values: list[Part] = []
    for part in parts:
        if isinstance(part, EntryColumns):
            values += [Entry(entry.url, entry.lastmod, entry.changefreq, entry.priority) for entry in part]
        else:
            values.append(part)
    return values


@given(documents | uniform | extended | mutated())
@example("<url><loc>http://e.com/</loc><priority>1</priority><priority>0</priority></url>" * 2)
@example(
    "<url><loc>http://e.com/</loc><priority>1</priority><priority>0</priority></url>"
    "<url><loc>http://e.com/</loc><lastmod>2005</lastmod><priority>0</priority></url>"
)
def test_fast_readers_agree_with_the_careful_one(text: str) -> None:
    """Values, problems and their order do not depend on which reader read a record."""
    document = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{text}</urlset>'
    carefully = read_carefully(document, Kind.URLSET)
    assert read_fast(document, Kind.URLSET) == carefully
    assert read_fast(document, Kind.URLSET, by_columns=True) == carefully


@given(documents | uniform | extended | mutated())
@example(
    "<url><loc>http://e.com/</loc><priority>1</priority></url><url><loc>http://e.com/</loc><lastmod>2005</lastmod></url>"
)
def test_fast_readers_agree_on_indexes(text: str) -> None:
    """The same for the children of an index."""
    document = f"<sitemapindex>{text}</sitemapindex>".replace("url>", "sitemap>")
    assert read_fast(document, Kind.INDEX) == read_carefully(document, Kind.INDEX)


@given(documents | mutated() | soup, st.lists(st.integers(0, 2000), max_size=12))
def test_portions_do_not_matter_to_records(text: str, places: list[int]) -> None:
    """Nor does it matter where a window ends, whichever reader is at work then."""
    document = f"<urlset>{text}</urlset>"
    with patch.object(regular, "_TAIL", 0), patch.object(regular, "_WORTH_COLUMNS", 0):
        assert list(read(cut(document.encode(), places), BASE)) == read_carefully(document, Kind.URLSET)


@given(soup)
def test_fast_readers_agree_on_soup(text: str) -> None:
    """And for what is not a document at all."""
    assert read_fast(text, Kind.URLSET) == read_carefully(text, Kind.URLSET)


forms = st.builds(
    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{}".format,
    st.integers(0, 9999),
    st.integers(0, 13),
    st.integers(0, 32),
    st.integers(0, 25),
    st.integers(0, 61),
    st.integers(0, 61),
    st.sampled_from(["", "", ".5", ".25", ".123", ".999", ".000001", ".123456"]),
    st.sampled_from(["Z", "+00:00", "-05:30", "+24:00", "+00:60", "z", "+0a:00"]),
)


@given(st.lists(forms, min_size=1, max_size=4))
def test_dates_read_together_are_those_read_alone(texts: list[str]) -> None:
    """Where dates are read as arrays, they are the dates that are read one by one."""
    moments = read_moments([f"<lastmod>{text}" for text in texts], "<lastmod>")
    if moments is not None:
        dates = [read_w3c(text) for text in texts]
        assert [date and (date.at, date.granularity) for date in dates] == [
            (seconds, moments.granularity) for seconds in moments.seconds.tolist()
        ]


@given(
    documents | uniform | extended,
    st.integers(1, 60),
    st.integers(0, 200),
    st.lists(st.integers(0, 20_000), max_size=8),
)
def test_columns_say_what_entries_say(text: str, times: int, most: int, places: list[int]) -> None:
    """The two ways to read give the same values in the same order, up to the same bound."""
    data = f"<urlset>{text * times}</urlset>".encode()
    limits = Limits(urls=most)
    parts = chain.from_iterable(read_columns(cut(data, places), BASE, limits).portions)
    assert one_by_one(parts) == list(read(cut(data, places), BASE, limits))
