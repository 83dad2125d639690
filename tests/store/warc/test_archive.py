"""The archive as others read it: warcio goes through every file, and every digest holds."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from periplus.model import Fetched, FetchTask, Lane, NotModified, Purpose, Redirected, Site, Stored, Url
from periplus.store import MemoryPayloads
from periplus.store.warc import Archive, WarcEnd, WarcSettings, merge_indexes, original, read_record, read_records
from periplus.store.warc.reading import WarcRecord
from periplus.store.warc.records import Answer

REQUEST = b"GET /a HTTP/1.1\r\nHost: example.org\r\nUser-Agent: Periplus/0.1 (+mailto:me@example.org)\r\n\r\n"
HTML = (("Content-Type", "text/html; charset=utf-8"), ("Server", "nginx"))
AT = 1_800_000_000.25


def task(path: str = "/a", **facts: Any) -> FetchTask:
    url = Url(f"https://example.org{path}")
    return FetchTask(url, Site("example.org"), Purpose.PAGE, Lane.DISCOVERY, lease_ends_at=AT + 60.0, **facts)


def page(body: bytes = b"<p>hello</p>", path: str = "/a", **facts: Any) -> Fetched:
    usual: dict[str, Any] = {"status": 200, "headers": HTML, "started_at": AT, "duration": 0.125, "ip": "192.0.2.7"}
    return Fetched(task=task(path), body=body, **usual | facts)


def open_archive(folder: Path, end: WarcEnd | None = None, *, shard: int = 0, **settings: Any) -> Archive:
    fields = {"http-header-user-agent": "Periplus/0.1", "robots": "obey", "operator": "me\r\nEvil: yes"}
    return Archive(
        folder,
        WarcSettings(**settings),
        shard=shard,
        software="Periplus/0.1",
        fields=fields,
        end=end,
        payloads=MemoryPayloads(),
    )


def archived(folder: Path, *answers: Answer, **settings: Any) -> list[Stored]:
    archive = open_archive(folder, **settings)
    stored = [archive.write(answer, REQUEST)[0] for answer in answers]
    archive.close()
    return stored


def warcio_records(path: Path) -> list[tuple[str, Any, Any, bytes, int]]:
    """Every record as warcio sees it, digests verified: type, WARC headers, HTTP headers, payload, offset."""
    found = []
    with path.open("rb") as file:
        records = ArchiveIterator(file, check_digests="raise")
        for record in records:
            content = record.raw_stream.read()
            offset = records.get_record_offset()
            found.append((record.rec_type, record.rec_headers, record.http_headers, content, offset))
    return found


def warcs(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.warc.gz"))


def test_an_exchange_is_three_records_behind_a_warcinfo(tmp_path: Path) -> None:
    """Each names the response it belongs to, the URL, the date with its fraction, and the file's warcinfo."""
    archived(tmp_path, page())
    (path,) = warcs(tmp_path)
    (info, response, request, metadata) = warcio_records(path)
    assert [record[0] for record in (info, response, request, metadata)] == [
        "warcinfo",
        "response",
        "request",
        "metadata",
    ]
    response_id = response[1]["WARC-Record-ID"]
    for record in (request, metadata):
        assert record[1]["WARC-Concurrent-To"] == response_id
    for record in (response, request, metadata):
        assert record[1]["WARC-Target-URI"] == "https://example.org/a"
        assert record[1]["WARC-Date"] == "2027-01-15T08:00:00.250000Z"
        assert record[1]["WARC-IP-Address"] == "192.0.2.7"
        assert record[1]["WARC-Warcinfo-ID"] == info[1]["WARC-Record-ID"]
        assert record[1]["WARC-Block-Digest"]
    assert response[1]["Content-Type"] == "application/http; msgtype=response"
    assert request[1]["Content-Type"] == "application/http; msgtype=request"
    assert (response[2].statusline, response[3]) == ("200 OK", b"<p>hello</p>")
    assert request[2].get_header("User-Agent") == "Periplus/0.1 (+mailto:me@example.org)"
    assert metadata[3] == (
        b"fetchTimeMs: 125\r\nhopsFromSeed: 0\r\nsource: link\r\nlane: discovery\r\npurpose: page\r\nredirects: 0\r\n"
        b"attempt: 1\r\nseconds: 0.125\r\n"
    )


def test_warcinfo_says_who_wrote_the_file(tmp_path: Path) -> None:
    """Software, format, and the fields given, each on one line whatever it holds; the name of the file."""
    archived(tmp_path, page())
    (path,) = warcs(tmp_path)
    info = warcio_records(path)[0]
    lines = info[3].decode().splitlines()
    assert "software: Periplus/0.1" in lines
    assert "format: WARC File Format 1.1" in lines
    assert "operator: me Evil: yes" in lines
    assert info[1]["WARC-Filename"] == path.name


def test_one_gzip_member_a_record(tmp_path: Path) -> None:
    """Every place that was answered is a member of its own, which gunzips to a record alone."""
    packed = gzip.compress(b"<p>packed</p>" * 900)
    coded = page(packed, headers=(*HTML, ("Content-Encoding", "gzip")), path="/b")
    for stored in archived(tmp_path, page(), coded):
        with (tmp_path / stored.file).open("rb") as file:
            file.seek(stored.offset)
            record = gzip.decompress(file.read(stored.length))
        assert record.startswith(b"WARC/1.1\r\nWARC-Type: response\r\n")
        assert record.count(b"WARC/1.1") == 1


@pytest.mark.parametrize("size", [0, 1, 65_530, 65_531, 65_532, 65_535, 65_536, 200_000])
def test_compressed_bodies_are_stored_as_they_are(tmp_path: Path, size: int) -> None:
    """Stored blocks end at 65,535 bytes: bodies around that length come out whole, and cost only their own bytes."""
    body = b"\x1f\x8b" + bytes(range(256)) * (size // 256) + b"x" * (size % 256) if size else b""
    (stored,) = archived(tmp_path, page(body, headers=(*HTML, ("Content-Encoding", "gzip"))))
    assert read_record(tmp_path, stored).message().body == body
    assert warcio_records(warcs(tmp_path)[0])[1][3] == body
    assert stored.length < len(body) + 700


def test_text_is_compressed(tmp_path: Path) -> None:
    """A body that came without coding is deflated."""
    (stored,) = archived(tmp_path, page(b"<p>again and again</p>" * 1000))
    assert stored.length < 2000


def test_the_same_payload_twice_is_a_revisit(tmp_path: Path) -> None:
    """It holds the headers, names the first by URL, date and identifier, and its payload is found through the index."""
    first, second = archived(tmp_path, page(path="/a"), page(path="/b", started_at=AT + 9.0))
    assert (first.is_revisit, second.is_revisit) == (False, True)
    assert first.digest == second.digest
    records = warcio_records(warcs(tmp_path)[0])
    (response,) = [record for record in records if record[0] == "response"]
    (revisit,) = [record for record in records if record[0] == "revisit"]
    assert revisit[1]["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert revisit[1]["WARC-Refers-To"] == response[1]["WARC-Record-ID"]
    assert revisit[1]["WARC-Refers-To-Target-URI"] == "https://example.org/a"
    assert revisit[1]["WARC-Refers-To-Date"] == response[1]["WARC-Date"]
    assert revisit[1]["WARC-Payload-Digest"] == response[1]["WARC-Payload-Digest"]
    assert (revisit[2].get_header("Server"), revisit[3]) == ("nginx", b"")
    merge_indexes(tmp_path)
    found = original(tmp_path, read_record(tmp_path, second))
    assert found is not None
    assert (found.url, found.message().body) == ("https://example.org/a", b"<p>hello</p>")


def test_not_modified_is_a_revisit(tmp_path: Path) -> None:
    """A 304 refers to the same URL at the time of the version we have, and leads to it."""
    first = page()
    again = NotModified(
        task=task(visited_at=AT), headers=(("ETag", '"x"'),), started_at=AT + 86400, duration=0.1, ip="192.0.2.7"
    )
    _, stored = archived(tmp_path, first, again)
    revisit = next(record for record in warcio_records(warcs(tmp_path)[0]) if record[0] == "revisit")
    assert revisit[1]["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert revisit[1]["WARC-Refers-To-Target-URI"] == "https://example.org/a"
    assert revisit[1]["WARC-Refers-To-Date"] == "2027-01-15T08:00:00.250000Z"
    assert (revisit[2].statusline, stored.digest, stored.is_revisit) == ("304 Not Modified", "", True)
    merge_indexes(tmp_path)
    found = original(tmp_path, read_record(tmp_path, stored))
    assert found is not None
    assert found.message().body == b"<p>hello</p>"


def test_a_revisit_of_a_revisit_leads_to_the_payload(tmp_path: Path) -> None:
    """A 304 for a version that was itself kept as a revisit of another URL."""
    again = NotModified(task=task("/b", visited_at=AT + 5), headers=(), started_at=AT + 9, duration=0.1)
    *_, stored = archived(tmp_path, page(path="/a"), page(path="/b", started_at=AT + 5), again)
    merge_indexes(tmp_path)
    found = original(tmp_path, read_record(tmp_path, stored))
    assert found is not None
    assert found.url == "https://example.org/a"


def test_a_revisit_without_its_original_leads_nowhere(tmp_path: Path) -> None:
    """A payload whose file is gone, or was never there, is `None` and no error."""
    lost = NotModified(task=task(visited_at=AT - 9), headers=(), started_at=AT, duration=0.1)
    (stored,) = archived(tmp_path, lost)
    merge_indexes(tmp_path)
    assert original(tmp_path, read_record(tmp_path, stored)) is None
    *_, second = archived(tmp_path, page(path="/a"), page(path="/b"), max_file_captures=1)
    merge_indexes(tmp_path)
    revisit = read_record(tmp_path, second)
    warcs(tmp_path)[0].unlink()
    assert original(tmp_path, revisit) is None


@pytest.mark.parametrize(
    "answer",
    [
        page(b"", path="/empty"),
        page(b"not found", path="/missing", status=404),
        page(b"cut", path="/cut", is_truncated=True),
        Redirected(
            task=task("/old"),
            status=301,
            target=Url("https://example.org/new"),
            headers=(("Location", "/new"),),
            started_at=AT,
            duration=0.1,
            body=b"moved",
        ),
    ],
    ids=lambda answer: answer.task.url,
)
def test_only_whole_pages_become_revisits(tmp_path: Path, answer: Answer) -> None:
    """Nothing, errors, redirects and what was cut off are kept as they are, each time."""
    first, second = archived(tmp_path, answer, answer)
    assert not first.is_revisit
    assert not second.is_revisit
    assert first.digest == second.digest


def test_a_cut_body_says_so(tmp_path: Path) -> None:
    """`WARC-Truncated: length`, and a Content-Length that is that of what is there."""
    cut = page(b"half", headers=(("Content-Length", "8"),), is_truncated=True)
    archived(tmp_path, cut)
    response = warcio_records(warcs(tmp_path)[0])[1]
    assert response[1]["WARC-Truncated"] == "length"
    assert response[2].headers == [("X-Archive-Orig-Content-Length", "8"), ("Content-Length", "4")]


def test_missing_request_is_left_out(tmp_path: Path) -> None:
    """Without bytes there is no request record; the other two are there."""
    archive = open_archive(tmp_path)
    archive.write(page(), b"")
    archive.close()
    assert [record[0] for record in warcio_records(warcs(tmp_path)[0])] == ["warcinfo", "response", "metadata"]


def test_places_hold_for_reading(tmp_path: Path) -> None:
    """What `write` answers is what `read_record` needs, in any order."""
    answers = [page(f"<p>{number}</p>".encode(), path=f"/{number}") for number in range(20)]
    stored = archived(tmp_path, *answers)
    for place, answer in reversed(list(zip(stored, answers, strict=True))):
        record = read_record(tmp_path, place)
        message = record.message()
        assert (record.url, message.status, message.body) == (answer.task.url, 200, answer.body)
        assert (record.offset, record.length) == (place.offset, place.length)
        assert record.fields["warc-payload-digest"] == place.digest


def test_our_reader_and_warcio_agree(tmp_path: Path) -> None:
    """Same records, same offsets, same blocks."""
    archived(tmp_path, page(), page(path="/b"), page(b"x" * 70_000, path="/c"))
    (path,) = warcs(tmp_path)
    ours = [record for record in read_records(path) if isinstance(record, WarcRecord)]
    theirs = warcio_records(path)
    assert [(r.type, r.offset) for r in ours] == [(kind, offset) for kind, _, _, _, offset in theirs]
    assert sum(record.length for record in ours) == path.stat().st_size
    assert BytesIO(ours[-1].block).read() == theirs[-1][3]
