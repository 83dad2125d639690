"""Reading sitemaps while they arrive: the same values as at once, never more than was asked for, always an end."""

from __future__ import annotations

import gzip
import time
import tracemalloc
import zlib
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from periplus.crawl.intake import INTAKE_LIMITS, Intake, Part, Value
from periplus.formats.sitemap import Child, Entry, Kind, Limits, read
from periplus.model import EntryColumns, Problem

BASE = "https://example.com/sitemap.xml"
HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def record(number: int) -> bytes:
    return b"<url><loc>https://example.com/%d</loc><lastmod>2026-01-%02d</lastmod></url>\n" % (number, number % 28 + 1)


def urlset(count: int) -> bytes:
    return HEAD + b"".join(map(record, range(count))) + b"</urlset>"


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(marks)]


def values_of(parts: list[Part]) -> list[Value]:
    """Each by itself, those that came by columns, too."""
    values: list[Value] = []
    for part in parts:
        if isinstance(part, EntryColumns):
            values += [Entry(entry.url, entry.lastmod, entry.changefreq, entry.priority) for entry in part]
        else:
            values.append(part)
    return values


def drained(intake: Intake, limit: int = 1_000) -> list[Value]:
    """All that can be had without waiting, so many at a time."""
    values: list[Value] = []
    while intake.is_ready:
        some = values_of(intake.take(limit))
        assert len(some) <= limit
        values += some
    return values


def taken(intake: Intake, chunks: list[bytes], limits: list[int]) -> list[Value]:
    """All values, while chunks arrive; after each, some are taken."""
    values: list[Value] = []
    for number, chunk in enumerate(chunks):
        intake.feed(chunk)
        limit = limits[number % len(limits)]
        some = values_of(intake.take(limit))
        assert len(some) <= limit
        values += some
    intake.close()
    values += drained(intake, max(limits) + 1)
    assert intake.is_over
    assert not intake.is_ready
    assert intake.take(9) == []
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


@given(
    documents,
    packings,
    st.lists(st.integers(0, 300_000), max_size=12),
    st.lists(st.integers(1, 700), min_size=1, max_size=5),
)
@example(b"", bytes, [], [1])
@example(urlset(2_000), gzip.compress, list(range(0, 12_000, 100)), [1_000_000])
def test_neither_portions_nor_limits_matter(
    data: bytes, packing: Callable[[bytes], bytes], places: list[int], limits: list[int]
) -> None:
    """Any cutting into chunks and any number taken at a time give the values that reading at once gives."""
    data = packing(data)
    intake, at_once = Intake(BASE), read(data, BASE, INTAKE_LIMITS)
    assert taken(intake, cut(data, places), limits) == list(at_once)
    assert (intake.kind, intake.lastmod) == (at_once.kind.value if at_once.kind else "", at_once.lastmod)


@given(documents, packings)
def test_every_byte_may_come_alone(data: bytes, packing: Callable[[bytes], bytes]) -> None:
    """However slowly a server sends, and however often the reader is asked meanwhile."""
    data = packing(data[:600])
    chunks = [part for byte in data for part in (bytes([byte]), b"")]
    assert list(read(chunks, BASE)) == list(read(data, BASE))


@pytest.mark.parametrize("packing", [bytes, gzip.compress])
def test_entries_are_had_before_the_file_ends(packing: Callable[[bytes], bytes]) -> None:
    """That is what it is for: most of what has arrived is told before the rest has."""
    data: bytes = packing(urlset(20_000))
    intake = Intake(BASE)
    for start in range(0, len(data) * 9 // 10, 5_000):
        intake.feed(data[start : start + 5_000])
    values = drained(intake)
    assert len(values) > 10_000
    assert all(isinstance(value, Entry) for value in values)
    assert (intake.kind, intake.is_over, intake.is_ready) == (Kind.URLSET.value, False, False)
    assert intake.take(9) == []


def test_children_come_as_entries_do() -> None:
    """An index is read in the same way."""
    intake = Intake(BASE)
    intake.feed(b"<sitemapindex><sitemap><loc>http://example.com/a.xml</loc></sitemap></sitemapindex>")
    intake.close()
    [child] = [value for value in drained(intake) if not isinstance(value, Problem)]
    assert child == Child("http://example.com/a.xml")
    assert intake.kind == Kind.INDEX.value


def test_what_is_not_worth_it_waits_for_more() -> None:
    """A few bytes are not read alone; when there will be no more, they are."""
    intake = Intake(BASE)
    intake.feed(urlset(3))
    assert (intake.is_ready, intake.take(9), intake.waiting) == (False, [], len(urlset(3)))
    intake.close()
    assert (intake.is_ready, len(values_of(intake.take(9))), intake.waiting) == (True, 3, 0)


def test_nothing_is_an_empty_file() -> None:
    """A file of which nothing arrives ends, too, and says that it is empty."""
    intake = Intake(BASE)
    assert (intake.is_ready, intake.is_over) == (False, False)
    intake.close()
    assert [value.reason for value in drained(intake) if isinstance(value, Problem)] == ["empty"]
    assert intake.is_over


def test_an_abort_ends_it_at_once() -> None:
    """Nothing is told any more, nothing is kept, and what still arrives does not matter."""
    intake = Intake(BASE)
    intake.feed(urlset(20_000))
    assert len(values_of(intake.take(1))) == 1
    intake.abort()
    assert (intake.is_over, intake.is_ready, intake.take(9), intake.waiting) == (True, False, [], 0)
    intake.feed(urlset(20_000))
    intake.close()
    intake.abort()
    assert (intake.is_over, intake.take(9), intake.waiting) == (True, [], 0)


def test_what_is_no_sitemap_is_not_read_to_its_end() -> None:
    """A page in its place is known by its first bytes, and the rest of it is not kept."""
    intake = Intake(BASE)
    intake.feed(b"<!DOCTYPE html><html>" + b" " * 40_000)
    assert [value.reason for value in drained(intake) if isinstance(value, Problem)] == ["html"]
    assert intake.is_over
    intake.feed(b"x" * 100_000)
    assert intake.waiting == 0


def test_a_turn_is_short_where_there_is_nothing_to_find() -> None:
    """Megabytes without an entry are not read in one go: others have their turn in between."""
    intake = Intake(BASE)
    intake.feed(HEAD + b"<!-- " + b"x" * 20_000_000)
    turns = 0
    while intake.is_ready:
        assert intake.take(100) == []
        turns += 1
    assert turns > 10


def bomb(size: int, filling: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([packer.compress(filling * (2**20 // len(filling))) for _ in range(size)]) + packer.flush()


@pytest.mark.parametrize(
    ("filling", "reason"),
    [(b"\0", "not-a-sitemap"), (b" ", "empty"), (b"<url><loc>http://a/</loc></url>", "ratio-limit")],
)
def test_a_bomb_ends_in_a_problem(filling: bytes, reason: str) -> None:
    """What unpacks to far more than was sent is given up, within bounded memory."""
    data = bomb(4, filling)
    tracemalloc.start()
    intake = Intake(BASE, replace(INTAKE_LIMITS, ratio_from=2**20))
    intake.feed(data)
    intake.close()
    found = set()
    while not intake.is_over:
        some = intake.take(500)
        found |= {value.reason for value in some if isinstance(value, Problem)}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reason in found
    assert peak < 8 * 2**20


def test_a_file_that_lists_too_much_ends_there() -> None:
    """Bytes and URLs of one file have a bound."""
    for limits, reason in ((Limits(size=50_000), "size-limit"), (Limits(urls=700), "url-limit")):
        intake = Intake(BASE, limits)
        values = taken(intake, cut(urlset(2_000), [50_000]), [10_000])
        assert reason in {value.reason for value in values if isinstance(value, Problem)}
        assert 0 < sum(isinstance(value, Entry) for value in values) <= 700


def test_fifty_thousand_entries_cost_little_more_than_at_once() -> None:
    """By CPU time, in packets as they come from afar; generous, for machines are noisy."""
    data = urlset(50_000)
    packets = [data[start : start + 1_448] for start in range(0, len(data), 1_448)]

    def at_once() -> int:
        return len(list(read(data, BASE, INTAKE_LIMITS)))

    def by_packets() -> int:
        intake, count = Intake(BASE), 0
        for packet in packets:
            intake.feed(packet)
            count += len(drained(intake))
        intake.close()
        return count + len(drained(intake))

    best: dict[Callable[[], int], float] = {}
    for run in (at_once, by_packets) * 4:
        started = time.process_time()
        assert run() == 50_000
        best[run] = min(best.get(run, 99.0), time.process_time() - started)
    assert best[by_packets] < 3 * best[at_once]
