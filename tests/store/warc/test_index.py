"""CDXJ: lines that archive tools read, sorted, complete, and found again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random

import pytest
from tests.each_case import each_case
from warcio.archiveiterator import ArchiveIterator
from warcio.timeutils import iso_date_to_timestamp

from periplus.model import CollectionDamaged, Fetched, FetchTask, Lane, NotModified, Purpose, Redirected, Site, Url
from periplus.store import MemoryPayloads
from periplus.store.warc import Archive, CdxLine, WarcSettings, lookup, merge_indexes, write_index
from periplus.store.warc import index as index_module
from periplus.store.warc.cdxj import read_line
from periplus.store.warc.records import Answer
from periplus.urls import canonical, surt

AT = 1_800_000_000.0
HTML = (("Server", "x"), ("content-type", "Text/HTML; charset=utf-8"))


def task(url: str, **facts: float) -> FetchTask:
    return FetchTask(
        Url(url),
        Site("example.org"),
        Purpose.PAGE,
        Lane.DISCOVERY,
        lease_ends_at=AT,
        visited_at=facts.get("visited_at"),
    )


def page(url: str, at: float = AT, body: bytes | None = None, **facts: int) -> Fetched:
    body = os.urandom(300) if body is None else body
    return Fetched(task(url), facts.get("status", 200), HTML, body, at, 0.1)


def archived(folder: Path, *answers: Answer, captures: int = 10**6, shard: int = 0) -> None:
    archive = Archive(
        folder,
        WarcSettings(max_file_captures=captures),
        shard=shard,
        software="Periplus",
        fields={},
        end=None,
        payloads=MemoryPayloads(),
    )
    for answer in answers:
        archive.write(answer, b"GET / HTTP/1.1\r\n\r\n")
    archive.close()


def every_kind() -> list[Answer]:
    return [
        page("https://example.org/b", AT + 1, b"same"),
        page("https://www.example.org/a", AT + 2, b"same"),
        NotModified(task("https://example.org/b", visited_at=AT + 1), (), AT + 3, 0.1),
        Redirected(task("https://example.org/old"), 302, Url("https://example.org/b"), (), AT + 4, 0.1),
        page("https://example.org/none", AT + 5, b"", status=404),
        page('https://example.org/odd?q="\\&x=%22', AT + 6),
    ]


def expected_lines(path: Path) -> list[bytes]:
    """What an indexer on warcio makes of the file."""
    lines = []
    with path.open("rb") as file:
        records = ArchiveIterator(file)
        for record in records:
            if record.rec_type not in ("response", "revisit"):
                continue
            url = record.rec_headers["WARC-Target-URI"]
            mime = (record.http_headers.get_header("Content-Type") or "unk").split(";")[0].lower()
            told = {"url": url, "mime": "warc/revisit" if record.rec_type == "revisit" else mime}
            told["status"] = record.http_headers.get_statuscode()
            if digest := record.rec_headers["WARC-Payload-Digest"]:
                told["digest"] = digest.removeprefix("sha1:")
            record.raw_stream.read()
            offset = records.get_record_offset()
            told |= {"length": str(records.get_record_length()), "offset": str(offset), "filename": path.name}
            date = iso_date_to_timestamp(record.rec_headers["WARC-Date"])
            lines.append(f"{surt(Url(url))} {date} {json.dumps(told)}\n".encode())
    return sorted(lines)


def test_the_index_is_what_an_indexer_on_warcio_makes(tmp_path: Path) -> None:
    """Byte by byte: keys, times, values, their order and their spelling."""
    archived(tmp_path, *every_kind())
    (path,) = tmp_path.glob("*.warc.gz")
    (index,) = tmp_path.glob("*.cdxj")
    assert index.read_bytes() == b"".join(expected_lines(path))


def test_the_index_made_while_writing_is_that_of_reading(tmp_path: Path) -> None:
    """Both ways to an index end in the same lines."""
    archived(tmp_path, *every_kind())
    (path,) = tmp_path.glob("*.warc.gz")
    (index,) = tmp_path.glob("*.cdxj")
    written = index.read_bytes()
    assert write_index(path) == index
    assert index.read_bytes() == written


def test_lines_say_where_a_capture_lies(tmp_path: Path) -> None:
    """One line, field by field."""
    archived(tmp_path, page("https://www.example.org/a/?b=1", body=b"x"))
    (index,) = tmp_path.glob("*.cdxj")
    line = read_line(index.read_bytes())
    assert line is not None
    assert (line.key, line.timestamp, line.status) == ("org,example)/a?b=1", "20270115080000", "200")
    assert (line.mime, line.is_revisit, line.digest) == ("text/html", False, "CH3K3DWFFIUYJK5K7V6DWULFAN4FYIDS")
    assert line.filename == "periplus-00-20270115080000-00001.warc.gz"


@each_case(
    "line",
    [
        b"",
        b"key",
        b"key 20200101000000",
        b"key 2020 {}",
        b'k 2 {"url": 1}',
        b"\xff 2 {}",
        b'k 2 {"url":"u","filename":"f","length":"x","offset":"1"}',
    ],
)
def test_what_is_not_a_line_is_none(line: bytes) -> None:
    """An index of others may hold anything."""
    assert read_line(line) is None


def test_a_line_survives_writing_and_reading() -> None:
    """Quotes and backslashes of a query, an unknown status and digest."""
    line = CdxLine("org,e)/", "20200101000000", 'http://e.org/?"\\', "text/html", "", "", 12, 34, "x.warc.gz")
    assert read_line(line.encode()) == line


def test_merging_sorts_all_lines(tmp_path: Path) -> None:
    """All lines of all files of all shards, once, in the order of bytes."""
    for shard in range(3):
        archived(tmp_path, *(page(f"https://e{n % 3}.org/{n}") for n in range(20)), captures=6, shard=shard)
    singles = [line for path in tmp_path.glob("periplus-*.cdxj") for line in path.read_bytes().splitlines()]
    index = merge_indexes(tmp_path)
    assert index.name == "index.cdxj"
    assert index.read_bytes().splitlines() == sorted(singles)
    assert len(singles) == 60


def test_merging_more_files_than_may_be_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several passes, which leave nothing behind."""
    monkeypatch.setattr(index_module, "_FAN_IN", 3)
    archived(tmp_path, *(page(f"https://e{n % 3}.org/{n}") for n in range(23)), captures=1)
    index = merge_indexes(tmp_path)
    lines = index.read_bytes().splitlines()
    assert (len(lines), lines) == (23, sorted(lines))
    assert {path.suffix for path in tmp_path.iterdir()} == {".gz", ".cdxj"}
    assert len(list(tmp_path.iterdir())) == 23 * 2 + 1


def test_merging_makes_indexes_that_are_missing_or_old(tmp_path: Path) -> None:
    """After a crash a file may have none, or one from before its last records."""
    archived(tmp_path, *(page(f"https://e.org/{n}") for n in range(4)), captures=2)
    first, second = sorted(tmp_path.glob("*.cdxj"))
    first.unlink()
    second.write_bytes(b"")
    os.utime(second, (1, 1))
    assert merge_indexes(tmp_path).read_bytes().count(b"\n") == 4


def test_merging_nothing(tmp_path: Path) -> None:
    """An archive without files has an empty index, and nothing is found in it."""
    assert merge_indexes(tmp_path).read_bytes() == b""
    assert list(lookup(tmp_path / "index.cdxj", "https://e.org/")) == []


def test_an_index_that_is_missing_is_said_to_be(tmp_path: Path) -> None:
    """A collection without `index.cdxj` is not one without pages."""
    with pytest.raises(CollectionDamaged, match="missing"):
        list(lookup(tmp_path / "index.cdxj", "https://e.org/"))


@pytest.mark.proof
def test_lookup_agrees_with_a_linear_scan(tmp_path: Path) -> None:
    """For every URL that is there, and for some that are not; several captures come out in the order of time."""
    rng = Random(28500)
    urls = [f"https://{'www.' * (n % 2)}e{rng.randrange(9)}.org/{'x' * rng.randrange(40)}?{n % 7}" for n in range(300)]
    archived(tmp_path, *(page(url, AT + n) for n, url in enumerate(urls)))
    index = merge_indexes(tmp_path)
    lines = [line for line in map(read_line, index.read_bytes().splitlines()) if line]
    assert len(lines) == 300
    for url in [*urls, "https://a.org/", "https://zz.org/", "https://e1.org/nowhere", "https://e1.org/x"]:
        known = canonical(url)
        assert known is not None
        assert list(lookup(index, url)) == [line for line in lines if line.key == surt(known)]


def test_lookup_takes_any_spelling(tmp_path: Path) -> None:
    """A person types a URL; the key is the same."""
    archived(tmp_path, page("https://example.org/a?x=1&y=2"))
    index = merge_indexes(tmp_path)
    for spelling in ("HTTP://WWW.Example.ORG:80/A/?y=2&x=1#top", "https://example.org/a?x=1&y=2"):
        assert [line.url for line in lookup(index, spelling)] == ["https://example.org/a?x=1&y=2"]
    assert list(lookup(index, "no url at all")) == []
