"""Whatever a server sends, the archive stays an archive: others read it, digests hold, and bodies come back whole."""

from __future__ import annotations

from base64 import b32encode
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_depth import examples
from warcio.archiveiterator import ArchiveIterator

from periplus.model import Fetched, FetchTask, Lane, Purpose, Site, Url
from periplus.store import MemoryPayloads
from periplus.store.warc import Archive, WarcRecord, WarcSettings, lookup, merge_indexes, read_record, read_records
from periplus.store.warc.http import read_message, response_head
from periplus.store.warc.records import base32

TEXT = st.text(max_size=40) | st.text(alphabet="ab: \r\n\0\t\x85\u2028é", max_size=40)
FIELDS = st.lists(st.tuples(TEXT, TEXT), max_size=6).map(tuple)
NAMED = st.sampled_from(["Content-Type", "Content-Length", "Transfer-Encoding", "Content-Encoding"])
HEADERS = st.builds(lambda some, more: some + more, FIELDS, st.lists(st.tuples(NAMED, TEXT), max_size=3).map(tuple))
BODY = st.binary(max_size=300) | st.sampled_from(
    [b"same", b"WARC/1.1\r\n\r\n", b"\r\n\r\n\r\n\r\n", b"\x1f\x8b" * 40_000]
)
REQUEST = st.sampled_from([b"", b"GET / HTTP/1.1\r\nHost: e.org\r\n\r\n"])
EXCHANGE = st.tuples(st.integers(100, 999), HEADERS, BODY, REQUEST, st.booleans())


def fetched(number: int, status: int, headers: tuple[tuple[str, str], ...], body: bytes, *, cut: bool) -> Fetched:
    url = Url(f"https://e.org/{number}")
    task = FetchTask(url, Site("e.org"), Purpose.PAGE, Lane.DISCOVERY, lease_ends_at=0.0)
    return Fetched(task, status, headers, body, 1.8e9 + number, 0.1, "192.0.2.1", is_truncated=cut)


def warcio_records(path: Path) -> list[tuple[str, int, bytes]]:
    """Type, offset and payload of every record, digests verified."""
    found = []
    with path.open("rb") as file:
        records = ArchiveIterator(file, check_digests="raise")
        for record in records:
            payload = record.raw_stream.read()  # asking for the offset would pass over it
            found.append((record.rec_type, records.get_record_offset(), payload))
    return found


@settings(max_examples=examples(15))
@given(st.lists(EXCHANGE, min_size=1, max_size=4))
def test_hostile_exchanges_round_trip(
    exchanges: list[tuple[int, tuple[tuple[str, str], ...], bytes, bytes, bool]],
) -> None:
    """warcio reads every record with its digests; every body that is not kept elsewhere comes back; all are indexed."""
    with TemporaryDirectory(prefix="warc_properties_") as name:
        folder = Path(name)
        payloads = MemoryPayloads()
        archive = Archive(folder, WarcSettings(), shard=0, software="P", fields={}, end=None, payloads=payloads)
        answers = [
            (fetched(number, status, headers, body, cut=cut), request)
            for number, (status, headers, body, request, cut) in enumerate(exchanges)
        ]
        stored = []
        for answer, request in answers:
            place, payload = archive.write(answer, request)
            stored.append(place)
            if payload is not None:
                payloads.add_new(payload)
        archive.close()
        for place, (answer, _) in zip(stored, answers, strict=True):
            message = read_record(folder, place).message()
            assert message.status == answer.status
            assert message.body == (b"" if place.is_revisit else answer.body)
        (path,) = folder.glob("*.warc.gz")
        ours = list(read_records(path))
        theirs = warcio_records(path)
        assert [(r.type, r.offset) for r in ours if isinstance(r, WarcRecord)] == [(k, at) for k, at, _ in theirs]
        assert len(ours) == len(theirs)
        bodies = [payload for kind, _, payload in theirs if kind in ("response", "revisit")]
        assert bodies == [b"" if s.is_revisit else a.body for s, (a, _) in zip(stored, answers, strict=True)]
        index = merge_indexes(folder)
        for place, (answer, _) in zip(stored, answers, strict=True):
            (line,) = lookup(index, answer.task.url)
            assert (line.offset, line.length, line.filename) == (place.offset, place.length, place.file)


@given(HEADERS)
def test_a_header_section_has_one_line_a_field(headers: tuple[tuple[str, str], ...]) -> None:
    """As many fields come back as went in (and one more where the length was wrong), whatever they hold."""
    head, is_whole = response_head(200, headers, 7)
    assert is_whole
    message = read_message(head + b"payload")
    added = any(name == "X-Archive-Orig-Content-Length" for name, _ in message.fields)
    assert len(message.fields) == len(headers) + added
    assert message.body == b"payload"
    assert "transfer-encoding" not in {name.lower() for name, _ in message.fields}


@given(st.binary(max_size=400))
def test_the_reader_takes_anything(content: bytes) -> None:
    """No bytes make it raise, and it always ends."""
    with TemporaryDirectory(prefix="warc_properties_") as name:
        path = Path(name) / "x.warc"
        for prefix in (b"", b"\x1f\x8b\x08", b"WARC/1.1\r\nContent-Length: 9\r\n\r\n", b"http://e.org/ 1.2.3.4 "):
            path.write_bytes(prefix + content)
            list(read_records(path))


@given(st.binary(min_size=20, max_size=20))
def test_base_32_is_that_of_the_standard(digest: bytes) -> None:
    """All letters at once, or five bytes at a time: the same text."""
    assert base32(digest) == b32encode(digest).decode()
