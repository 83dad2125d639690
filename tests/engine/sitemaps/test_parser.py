"""Reading sitemaps a little at a time: the same values as at once, never more than the limit, always an end."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.formats.linear_time import assert_linear

from periplus.engine.sitemaps.parser import ARCHIVE, PARSER_LIMITS, IncrementalSitemapParser, Part, Value
from periplus.formats import metadata_archive
from periplus.formats.metadata_archive import ArchiveEntry
from periplus.formats.sitemap import Child, Entry, Kind, Limits, read
from periplus.model import EntryColumns, Problem

BASE = "https://example.com/sitemap.xml"
HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def record(number: int) -> bytes:
    return b"<url><loc>https://example.com/%d</loc><lastmod>2026-01-%02d</lastmod></url>\n" % (number, number % 28 + 1)


def urlset(count: int) -> bytes:
    return HEAD + b"".join(map(record, range(count))) + b"</urlset>"


def values_of(parts: list[Part]) -> list[Value]:
    """Each value by itself, also those in columns."""
    values: list[Value] = []
    for part in parts:
        if isinstance(part, EntryColumns):
            values += [Entry(entry.url, entry.lastmod, entry.changefreq, entry.priority) for entry in part]
        else:
            values.append(part)
    return values


def taken(parser: IncrementalSitemapParser, limits: list[int]) -> list[Value]:
    """All values; at each `take` at most the next of these limits."""
    values: list[Value] = []
    turns = 0
    while not parser.is_over:
        limit = limits[turns % len(limits)]
        some = values_of(parser.take(limit))
        assert len(some) <= limit
        values += some
        turns += 1
    assert parser.take(9) == []
    return values


documents = st.one_of(
    st.integers(0, 3_000).map(urlset),
    st.integers(0, 3_000).map(lambda count: urlset(count)[: -count - 1]),
    st.integers(0, 3_000).map(
        lambda count: b"<sitemapindex>%s" % urlset(count)[len(HEAD) :].replace(b"url>", b"sitemap>")
    ),
    st.integers(0, 900).map(lambda count: b"".join(b"http://example.com/%d\n" % number for number in range(count))),
    st.integers(0, 50).map(
        lambda count: (
            b"<rss><channel><pubDate>Mon, 05 Jan 2026 00:00:00 GMT</pubDate>"
            + b"<item><link>http://example.com/</link></item>" * count
            + b"</channel></rss>"
        )
    ),
    st.just(
        "<?xml version='1.0' encoding='UTF-16'?><urlset><url><loc>http://é.example/</loc></url></urlset>".encode(
            "utf-16"
        )
    ),
    st.just(
        "<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>http://x/é</loc></url>".encode("latin-1") * 2
    ),
    st.just("<?xml version='1.0' encoding='Shift_JIS'?><urlset><url><loc>http://x/日</loc></url>".encode("shift_jis")),
    st.just(b"<!DOCTYPE html><html><body>404</body></html>" * 9),
    st.binary(max_size=200),
)
packings = st.sampled_from(
    [
        lambda data: data,
        gzip.compress,
        lambda data: gzip.compress(gzip.compress(data)),
        lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:]) + b"\0" * 20,
        lambda data: gzip.compress(data)[:-5],
        lambda data: gzip.compress(data) + b"behind the end",
    ]
)


@given(documents, packings, st.lists(st.integers(1, 5_000), min_size=1, max_size=5))
@example(b"", bytes, [1])
@example(urlset(2_000), gzip.compress, [1_000_000])
def test_limits_do_not_matter(data: bytes, packing: Callable[[bytes], bytes], limits: list[int]) -> None:
    """Any number taken at a time gives the values that reading at once gives."""
    data = packing(data)
    parser, at_once = IncrementalSitemapParser(BASE, data), read(data, BASE, PARSER_LIMITS)
    assert taken(parser, limits) == list(at_once)
    assert (parser.kind, parser.lastmod) == (at_once.kind.value if at_once.kind else "", at_once.lastmod)


@given(documents, packings)
def test_every_byte_may_come_alone(data: bytes, packing: Callable[[bytes], bytes]) -> None:
    """However a body is cut into chunks."""
    data = packing(data[:600])
    chunks = [part for byte in data for part in (bytes([byte]), b"")]
    assert list(read(chunks, BASE)) == list(read(data, BASE))


@pytest.mark.parametrize("packing", [bytes, gzip.compress])
def test_entries_are_taken_before_all_is_read(packing: Callable[[bytes], bytes]) -> None:
    """A long file is not parsed at once: other sites have their turn in between."""
    parser = IncrementalSitemapParser(BASE, packing(urlset(25_000)))
    values = values_of(parser.take(1_000))
    assert len(values) == 1_000
    assert (parser.kind, parser.is_over) == (Kind.URLSET.value, False)
    assert parser._length < 20_000


def test_children_come_as_entries_do() -> None:
    """An index is read in the same way."""
    body = b"<sitemapindex><sitemap><loc>http://example.com/a.xml</loc></sitemap></sitemapindex>"
    parser = IncrementalSitemapParser(BASE, body)
    [child] = [value for value in taken(parser, [9]) if not isinstance(value, Problem)]
    assert child == Child("http://example.com/a.xml")
    assert parser.kind == Kind.INDEX.value


def test_empty_file_has_a_problem() -> None:
    """It ends, too, and says that it is empty."""
    parser = IncrementalSitemapParser(BASE, b"")
    assert not parser.is_over
    assert [value.reason for value in taken(parser, [9]) if isinstance(value, Problem)] == ["empty"]


def test_web_page_is_not_read_to_its_end() -> None:
    """A page in place of a sitemap is recognised by its first bytes."""
    parser = IncrementalSitemapParser(BASE, b"<!DOCTYPE html><html>" + b" " * 10_000_000)
    assert [value.reason for value in values_of(parser.take(9)) if isinstance(value, Problem)] == ["html"]
    assert values_of(parser.take(9)) == []
    assert parser.is_over


def test_take_is_short_where_there_is_nothing_to_find() -> None:
    """Megabytes without an entry are not read by one `take`."""
    parser = IncrementalSitemapParser(BASE, HEAD + b"<!-- " + b"x" * 20_000_000)
    turns = 0
    while not parser.is_over:
        assert [value for value in parser.take(100) if not isinstance(value, Problem)] == []
        turns += 1
    assert turns > 10


def test_archive_of_metadata_goes_by_its_name() -> None:
    """The pages that it describes are entries, as if a sitemap had listed them."""
    described = [ArchiveEntry(f"p{number:04}.html", 1_700_000_000.0 + number, 100) for number in range(1_200)]
    [archive] = metadata_archive.write(described, segment=2_000)
    parser = IncrementalSitemapParser(f"https://example.com/{archive.name}", archive.body)
    values = taken(parser, [700])
    assert parser.kind == ARCHIVE
    assert [value.url for value in values if isinstance(value, Entry)] == [f"/{each.path}" for each in described]


def bomb(size: int, filling: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([packer.compress(filling * (2**20 // len(filling))) for _ in range(size)]) + packer.flush()


@pytest.mark.parametrize(
    ("filling", "reason"),
    [(b"\0", "not-a-sitemap"), (b" ", "empty"), (b"<url><loc>http://a/</loc></url>", "ratio-limit")],
)
def test_a_bomb_ends_in_a_problem(filling: bytes, reason: str) -> None:
    """A body that unpacks to far more than was sent is given up, within bounded memory."""
    data = bomb(4, filling)
    tracemalloc.start()
    parser = IncrementalSitemapParser(BASE, data, replace(PARSER_LIMITS, ratio_from=2**20))
    found = set()
    while not parser.is_over:
        some = parser.take(500)
        found |= {value.reason for value in some if isinstance(value, Problem)}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reason in found
    assert peak < 8 * 2**20


def test_a_file_that_lists_too_much_ends_there() -> None:
    """Bytes and URLs of one file are bounded."""
    for limits, reason in ((Limits(size=50_000), "size-limit"), (Limits(urls=700), "url-limit")):
        values = taken(IncrementalSitemapParser(BASE, urlset(2_000), limits), [10_000])
        assert reason in {value.reason for value in values if isinstance(value, Problem)}
        assert 0 < sum(isinstance(value, Entry) for value in values) <= 700


def test_many_turns_take_linear_time() -> None:
    """What was read before costs nothing at the next turn."""

    def by_turns(entries: int) -> None:
        assert len(taken(IncrementalSitemapParser(BASE, urlset(entries)), [400])) == entries

    assert_linear(by_turns, 12_000)
