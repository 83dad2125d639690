"""Reading hostile and endless sitemaps: bounded in memory, time and output, and never an exception."""

from __future__ import annotations

import gzip
import random
import sys
import tracemalloc
import zlib
from collections.abc import Iterator
from itertools import count, islice, repeat

import pytest
from tests.each_case import each_case
from tests.formats.linear_time import assert_linear

from periplus.formats.sitemap import Child, Entry, Limits, read, read_columns
from periplus.formats.sitemap.reading import WINDOW
from periplus.model import Problem

HEAD = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def record(number: int) -> bytes:
    return b"<url><loc>http://e.com/%d</loc><lastmod>2005-01-01</lastmod></url>\n" % number


def reasons(values: list[Entry | Child | Problem]) -> list[str]:
    return [value.reason for value in values if isinstance(value, Problem)]


def urls(values: list[Entry | Child | Problem]) -> list[str]:
    return [value.url for value in values if not isinstance(value, Problem)]


class Counted:
    """An endless stream that knows how much of it was asked for."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.taken = 0
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self.taken += len(chunk)
            yield chunk


@each_case("size", [1, 50, 1000])
def test_entries_come_while_bytes_arrive(size: int) -> None:
    """An entry is given as soon as twice its bytes are there, not when a buffer is full."""
    body = HEAD + b"".join(map(record, range(100)))
    stream = Counted(body[start : start + size] for start in range(0, len(body), size))
    next(read(stream))
    assert stream.taken <= 2 * (len(HEAD) + len(record(0))) + size


@pytest.mark.parametrize("chunk", [100, 5000])
def test_an_endless_stream_is_read_as_far_as_it_is_asked_for(chunk: int) -> None:
    """Who stops asking stops the reading, at most a window later."""
    records = (b"".join(record(number + i) for i in range(chunk // 50)) for number in count(0, 1000))
    stream = Counted(records)
    values = list(islice(read(chain_head(stream)), 5_000))
    assert len(urls(values)) == 5_000
    assert stream.taken <= 5_000 * 80 + 2 * WINDOW


def chain_head(stream: Counted) -> Iterator[bytes]:
    yield HEAD
    yield from stream


def test_our_bounds_end_an_endless_stream() -> None:
    """By default nothing is read forever; each bound reports that it was reached."""
    by_urls = list(read(chain_head(Counted(map(record, count()))), limits=Limits(urls=1000)))
    assert len(urls(by_urls)) == 1000
    assert reasons(by_urls) == ["url-limit"]
    by_size = list(read(chain_head(Counted(map(record, count()))), limits=Limits(size=10_000)))
    assert reasons(by_size) == ["size-limit", "truncated"]
    assert 100 < len(urls(by_size)) < 200


def test_protocol_bounds_are_told_and_passed() -> None:
    """A file may break the protocol's bounds: every URL is read, and it is told once where they were passed."""
    values = list(read(HEAD + b"".join(map(record, range(50_010))) + b"</urlset>"))
    assert len(urls(values)) == 50_010
    assert values[50_000] == Problem("too-many-urls", "more than 50000")
    padding = (b" " * 1_000_000 for _ in range(53))
    large = list(read(iter([HEAD, *padding, record(1), b"</urlset>"])))
    assert (urls(large), reasons(large)) == (["http://e.com/1"], ["too-large"])


def test_gzip_bombs() -> None:
    """A bomb is stopped by its ratio, long before it is large; so are bombs in bombs."""
    deflater = zlib.compressobj(9, wbits=31)
    bomb = deflater.compress(HEAD) + b"".join(deflater.compress(b" " * 2**20) for _ in range(24)) + deflater.flush()
    assert reasons(list(read(bomb))) == ["ratio-limit", "truncated"]
    assert reasons(list(read(gzip.compress(bomb)))) == ["ratio-limit", "truncated"]


def test_what_is_not_a_sitemap_is_not_read_on() -> None:
    """A page, or nothing that we know, is seen from its beginning; the rest is not asked for."""
    for body in (b"<!DOCTYPE html><html>", b"\0\1\2\3", b"nothing to see here"):
        stream = Counted(iter([body, *repeat(b" and so on", 100_000)]))
        assert len(list(read(stream))) == 1
        assert stream.taken < 20_000


def test_nested_gzip() -> None:
    """Twice is dirt, more than thrice is play."""
    body = HEAD + record(1) + b"</urlset>"
    for _ in range(3):
        body = gzip.compress(body)
        assert reasons(list(read(body))) == []
    assert reasons(list(read(gzip.compress(body))))[0] == "gzip-nested"


@each_case(
    ("damage", "reason"),
    [
        (lambda packed: packed[:-9], "gzip-truncated"),
        (lambda packed: packed[:-8], "gzip-truncated"),
        (lambda packed: packed[:-2], "gzip-truncated"),
        (lambda packed: packed[:-8] + bytes(8), "gzip-checksum"),
        (lambda packed: packed + b"garbage", "gzip-trailing"),
        (lambda packed: packed + packed[:5], "gzip-truncated"),
    ],
)
def test_damaged_gzip(damage: object, reason: str) -> None:
    """Everything that can be inflated is read, to the last byte."""
    packed = gzip.compress(HEAD + b"".join(map(record, range(9))) + b"</urlset>")
    values = list(read(damage(packed)))  # type: ignore[operator]
    assert len(urls(values)) == 9
    assert reasons(values) == [reason]


def test_many_small_gzip_members_cost_little() -> None:
    """Members of nothing, all in one chunk: time is linear in their number."""
    member = gzip.compress(b"")

    def read_members(count: int) -> None:
        assert reasons(list(read(member * count))) == ["empty"]

    assert_linear(read_members, 4_000)


def test_a_list_that_is_cut_off_loses_its_last_line() -> None:
    """Half a URL is another URL: what a bound of ours or a broken stream cut in two is not given."""
    body = b"".join(b"http://e.com/%d.html\n" % number for number in range(20))
    packed = gzip.compress(body)
    for values in (
        list(read(body, limits=Limits(size=110))),
        list(read(packed, limits=Limits(size=110))),
        list(read(packed[:-12])),
    ):
        assert 1 < len(urls(values)) < 20
        assert all(url.endswith(".html") for url in urls(values))
        assert reasons(values)[-1] == "truncated"
    assert len(urls(list(read(gzip.compress(body.rstrip())[:-4])))) == 20
    assert reasons(list(read(body, limits=Limits(size=len(body))))) == []


def test_gzip_padding_and_headers() -> None:
    """Zeros after the last member are padding; names and comments in a header are passed over."""
    packed = gzip.compress(HEAD + record(1) + b"</urlset>")
    named = packed[:3] + b"\x1e" + packed[4:10] + b"\x03\0abc" + b"name\0comment\0" + b"\0\0" + packed[10:]
    assert list(read(packed + bytes(512))) == list(read(packed)) == list(read(named))
    assert reasons(list(read(named))) == []


def test_damage_in_the_middle_costs_what_follows() -> None:
    """What was inflated before the damage is read."""
    noise = random.Random(5)
    packed = bytearray(gzip.compress(HEAD + b"".join(record(noise.randrange(10**9)) for _ in range(3000))))
    packed[len(packed) // 2 :] = noise.randbytes(len(packed) // 2)
    values = list(read(bytes(packed)))
    assert len(urls(values)) > 1000
    assert {"gzip-damaged", "gzip-checksum", "gzip-truncated"} & set(reasons(values))


def test_entities_are_never_expanded() -> None:
    """A billion laughs, and a file that was asked for: refused, the rest read."""
    laughs = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
    body = f"<!DOCTYPE urlset [<!ENTITY l0 'ha'>{laughs}<!ENTITY f SYSTEM 'file:///etc/passwd'>]>".encode() + HEAD
    for name in (b"l9", b"f"):
        values = list(read(body + b"<url><loc>http://e.com/&%s;</loc></url>" % name + record(2) + b"</urlset>"))
        assert urls(values) == ["http://e.com/2"]
        assert reasons(values) == ["entity-refused", "missing-loc"]
    hidden = b"<!DOCTYPE urlset [<!-- ]> --><!ENTITY f SYSTEM 'file:///etc/passwd'>]>" + HEAD
    assert urls(list(read(hidden + b"<url><loc>&f;</loc></url>" + record(2), "http://e.com/"))) == ["http://e.com/2"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(HEAD + b"<a>" * 7_000, id="nested"),
        pytest.param(HEAD + b"<url><loc>" * 3_000, id="nested records"),
        pytest.param(HEAD + b"<url><loc>http://e.com/" + b"a" * 1_000_000, id="endless URL"),
        pytest.param(HEAD + b"<url><loc>" + b"&" * 15_000, id="ampersands"),
        pytest.param(HEAD + b"<url " + b"a=' " * 250_000, id="endless tag"),
        pytest.param(HEAD + b"<" * 15_000, id="less-than signs"),
        pytest.param(HEAD + b"<!--" * 500_000, id="comments in a comment"),
        pytest.param(HEAD + b"<![CDATA[" * 200_000, id="CDATA in CDATA"),
        pytest.param(HEAD + b"<![CDATA[]" * 200_000, id="brackets in CDATA"),
        pytest.param(b"<!DOCTYPE x [" + b"] " * 1_000_000, id="document type"),
        pytest.param(b"<!-- -->" * 2_500, id="comments before the root"),
        pytest.param(b" " * 1_000_000, id="white space"),
        pytest.param(b"\xff" * 1_000_000, id="bytes of no charset"),
        pytest.param(b"http://e.com/" + b"a" * 1_000_000, id="endless line"),
        pytest.param(b"x\n" * 200_000, id="lines that are nothing"),
        pytest.param(b"http://e.com/\n" + b"x\n" * 10_000, id="lines that are not URLs"),
        pytest.param(HEAD + b"<url><loc>http://e.com/</loc>" + b"<lastmod></lastmod>" * 3_000 + b"</url>", id="fields"),
        pytest.param(HEAD + b"<url><loc>http://e.com/</loc>" + b"<image:image>" * 4_000 + b"</url>", id="images"),
        pytest.param(HEAD + b"<url><loc>http://e.com/</loc><image:image><image:loc>" * 900, id="images without end"),
        pytest.param(
            HEAD + b"<url><loc>http://e.com/</loc>" + b'<xhtml:link rel="alternate" hreflang="' * 10_000 + b"</url>",
            id="links without end",
        ),
        pytest.param(HEAD + b"<url><loc><![CDATA[http://e.com/?a&b" * 20_000, id="sections of URLs without end"),
        pytest.param(
            HEAD + (b"<url><loc>http://e.com/</loc></url>" * 9 + b"<url><loc>/</loc></url>") * 60,
            id="one URL in ten is relative",
        ),
        pytest.param(HEAD + b"<url>" + b"\n " * 1_000_000 + b"</url>", id="white space in a record"),
        pytest.param(HEAD + b"<url>" + b"a<x/>" * 5_000 + b"</url>", id="bare texts"),
        pytest.param(HEAD + b"<url><loc>" + b"<![CDATA[]]>" * 2_500 + b"</loc></url>", id="empty sections"),
        pytest.param(HEAD + b"".join(b"<%d-%s/>" % (n, b"n" * 5000) for n in range(100)), id="long names"),
        pytest.param(HEAD + b"</url>" * 7_000, id="ends without beginning"),
        pytest.param(b"<rss>" + b"<item><link>" * 1_500, id="nested items"),
    ],
)
def test_hostile_documents_cost_little(body: bytes) -> None:
    """Time is linear in the input and memory does not follow it, whatever it is made of."""

    def read_start(size: int) -> None:
        for value in read((body[start : min(start + 65536, size)] for start in range(0, size, 65536)), "http://e.com/"):
            assert isinstance(value, Problem) or len(value.url) < 40_000

    assert_linear(read_start, len(body))
    tracemalloc.start()
    read_start(len(body))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000


def calls(record: bytes) -> int:
    """How many calls reading some thousands of such records takes."""
    counted = 0

    def count_call(*_: object) -> None:
        nonlocal counted
        counted += 1

    reading = read_columns(HEAD + record * (300_000 // len(record)) + b"</urlset>", "http://e.com/")
    sys.setprofile(count_call)
    try:
        for _ in reading.portions:
            pass
    finally:
        sys.setprofile(None)
    return counted


@each_case("reference", [b"&lt;", b"&#97;", b"&#x61;", b"&amp;&quot;&#97;"])
def test_references_cost_what_letters_cost(reference: bytes) -> None:
    """The work does not grow with their number, and a URL that is full of them is read once."""
    few, many = (calls(b"<url><loc>http://e.com/" + reference * count + b"</loc></url>") for count in (10, 400))
    assert many < few


def test_records_that_are_all_dirty_are_read_once() -> None:
    """Where every record needs care, the fast readers soon stop trying."""
    irregular = calls(b'<url><loc a="">http://e.com/?a=1</loc></url>')
    assert calls(b"<url><loc>http://e.com/?a=1&b</loc></url>") < 2 * irregular


@pytest.mark.parametrize(
    ("body", "drops"),
    [(HEAD + b"<url><loc>http://e.com/", 90_000), (b"http://e.com/", 200_000), (b"<rss><item><link>", 90_000)],
)
def test_tiny_portions_of_something_endless(body: bytes, drops: int) -> None:
    """A server that drips an endless field byte by byte gains nothing."""

    def read_drops(count: int) -> None:
        assert urls(list(read(iter([body, *repeat(b"a", count)])))) == []

    assert_linear(read_drops, drops)


def test_long_fields_are_cut() -> None:
    """A title that is too long is cut, a URL that is too long is not an entry; the record after it is read."""
    long = b"<url><loc>http://e.com/" + b"a" * 200_000 + b"</loc></url>"
    title = b"<url><loc>http://e.com/t</loc><title>" + b"t" * 200_000 + b"</title></url>"
    values = list(read(HEAD + long + title + record(3) + b"</urlset>"))
    assert urls(values) == ["http://e.com/t", "http://e.com/3"]
    assert reasons(values) == ["too-long", "too-long"]
    entries = [value for value in values if isinstance(value, Entry)]
    assert entries[0].title == "t" * 32_768


def test_a_line_that_is_too_long_is_passed_over() -> None:
    """A list goes on behind a line that no URL is as long as."""
    body = b"http://e.com/1\nhttp://e.com/" + b"a" * 200_000 + b"\r\nhttp://e.com/2\nhttp://e.com/3"
    for size in (len(body), 1000):
        values = list(read(body[start : start + size] for start in range(0, len(body), size)))
        assert urls(values) == ["http://e.com/1", "http://e.com/2", "http://e.com/3"]
        assert reasons(values) == ["too-long"]


def test_items_of_an_entry_are_bounded() -> None:
    """An entry holds at most `limits.items` images."""
    image = b"<image:image><image:loc>http://e.com/i</image:loc></image:image>"
    values = list(
        read(HEAD + b"<url><loc>http://e.com/</loc>" + image * 30 + b"</url></urlset>", limits=Limits(items=10))
    )
    assert reasons(values) == ["too-many-items"] * 20
    assert isinstance(values[-1], Entry)
    assert len(values[-1].images) == 10


@pytest.mark.parametrize(
    "item",
    [
        b"<video:video>" + b"<video:tag>" + b"t" * 30_000 + b"</video:tag></video:video>",
        b"<image:image><image:loc>http://e.com/</image:loc><image:title>" + b"&amp;" * 6_000 + b"</image:title>"
        b"</image:image>",
        b"<xhtml:link rel='alternate' hreflang='" + b"a" * 30_000 + b"' href='http://e.com/'/>",
    ],
)
def test_texts_of_an_entry_are_bounded_together(item: bytes) -> None:
    """A thousand items with the longest texts would be gigabytes in one entry."""
    tracemalloc.start()
    values = list(read(iter([HEAD, b"<url><loc>http://e.com/</loc>", *repeat(item, 400), b"</url></urlset>"])))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert urls(values) == ["http://e.com/"]
    assert "too-many-items" in reasons(values)
    assert peak < 6_000_000


def test_many_urls_take_no_more_memory_than_a_few() -> None:
    """Memory is that of a window, not that of the file (the large runs are in bench)."""

    def peak(records: int) -> int:
        block = b"".join(map(record, range(1000)))
        tracemalloc.start()
        assert sum(1 for _ in read(chain_head(Counted(repeat(block, records // 1000))))) >= records
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    assert peak(16_000) < peak(3_000) + 1_000_000
