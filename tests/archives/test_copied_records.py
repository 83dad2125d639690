"""An import copies records as they are: their bytes, fields and digests, whatever their length; memory stays flat."""

from __future__ import annotations

import gzip
import sys
import zlib
from hashlib import sha1
from pathlib import Path
from subprocess import run
from typing import Any

import msgspec
import pytest
import zstandard
from click.testing import CliRunner
from tests.archives.foreign import HOME, Capture, html, write_arc, write_warc

import periplus
from periplus.cli.app import app
from periplus.collection.collection import existing
from periplus.collection.importing import import_archives
from periplus.collection.inspecting import inspect
from periplus.collection.repairing import Repaired, repair
from periplus.store.warc import WarcRecord, read_records

LARGE = 80_000_000
DATE = "2020-01-01T00:00:00Z"
PIECE = bytes(range(256)) * 256

IMPORT = """
import resource, sys
from pathlib import Path
from periplus.collection.importing import import_archives
small, large, folder = map(Path, sys.argv[1:])
import_archives(folder / "small", [small])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
import_archives(folder / "large", [large])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """The answer of a query."""
    return [tuple(row) for row in periplus.open(folder).query(sql)]


def damage(folder: Path) -> tuple[object, ...]:
    """What `periplus repair` would find."""
    found = existing(folder)
    return inspect(found.layout, found.config.crawl.workers).damaged


def repaired(folder: Path) -> Repaired:
    found = existing(folder)
    return repair(found.config, found.layout, found.config.crawl.workers, found.seeds)


def copied(folder: Path, *, max_block: int = 1 << 20) -> list[WarcRecord]:
    """All records of a collection but those that say who wrote them."""
    files = sorted((folder / "warc").glob("*.warc.gz"))
    records = (record for path in files for record in read_records(path, max_block=max_block))
    return [record for record in records if isinstance(record, WarcRecord) and record.type != "warcinfo"]


def foreign_record(block: bytes, url: str = HOME, kind: str = "response", more: str = "") -> bytes:
    """A record with fields that we do not write ourselves."""
    return (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:one>\r\nWARC-Date: {DATE}\r\n"
        f"WARC-Target-URI: {url}\r\nWARC-Payload-Digest: sha256:0123\r\nX-Archivist: Ada\r\n{more}"
        f"Content-Type: application/http; msgtype={kind}\r\nContent-Length: {len(block)}\r\n\r\n"
    ).encode() + block


def answer(body: bytes, content_type: str = "text/html") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n".encode() + body


def write_large(path: Path, size: int) -> tuple[str, int]:
    """A WARC file with one record of a video: the SHA-1 of its block, and the length of that."""
    head = answer(b"", "video/mp4")
    length = len(head) + size
    packer, digest = zlib.compressobj(1, zlib.DEFLATED, 31), sha1(head, usedforsecurity=False)
    fields = foreign_record(b"").replace(b"Content-Length: 0\r\n", b"Content-Length: %d\r\n" % length)
    with path.open("wb") as file:
        file.write(packer.compress(fields + head))
        while size:
            piece = PIECE[:size]
            digest.update(piece)
            file.write(packer.compress(piece))
            size -= len(piece)
        file.write(packer.compress(b"\r\n\r\n") + packer.flush())
    return digest.hexdigest(), length


@pytest.mark.proof
def test_a_record_of_80_megabytes_is_copied_in_flat_memory(tmp_path: Path) -> None:
    """Its bytes, its own digest and its fields stay, and it does not count as truncated."""
    small, large = write_warc(tmp_path / "small.warc.gz", [Capture(HOME, html("a"), DATE)]), tmp_path / "large.warc.gz"
    digest, length = write_large(large, LARGE)
    done = run(
        [sys.executable, "-c", IMPORT, small, large, tmp_path], check=True, capture_output=True, text=True, timeout=300
    )
    assert int(done.stdout) < 64 << 10, "KiB that the second import needed beyond the first"
    [fetch] = rows(tmp_path / "large", "select digest, bytes, is_truncated, purpose from fetches")
    assert fetch == ("sha256:0123", LARGE, False, "file")
    record = copied(tmp_path / "large", max_block=length)[0]
    assert (len(record.block), sha1(record.block, usedforsecurity=False).hexdigest()) == (length, digest)
    assert record.fields["x-archivist"] == "Ada"
    assert "warc-truncated" not in record.fields
    assert not damage(tmp_path / "large")


@pytest.fixture(autouse=True)
def same_garbage_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command sets it for its process, which is that of all tests here."""
    monkeypatch.setattr("periplus.cli.import_.tune_garbage_collection", lambda: None)


@pytest.mark.parametrize("how", ["gzip", "plain", "zstd", "whole"])
def test_records_keep_their_bytes_in_every_packing(tmp_path: Path, how: str) -> None:
    """Also where several records share a member, or none is compressed."""
    body = html("one") + b"<!-- " + PIECE * 20 + b" -->"
    records = [
        foreign_record(answer(body), more="WARC-Truncated: length\r\n"),
        foreign_record(answer(html("two")), f"{HOME}two").replace(b"uuid:one", b"uuid:two"),
    ]
    ended = [record + b"\r\n\r\n" for record in records]
    path = tmp_path / {"gzip": "a.warc.gz", "plain": "a.warc", "zstd": "a.warc.zst", "whole": "b.warc.gz"}[how]
    packed = {
        "gzip": b"".join(map(gzip.compress, ended)),
        "plain": b"".join(ended),
        "zstd": b"".join(map(zstandard.ZstdCompressor().compress, ended)),
        "whole": gzip.compress(b"".join(ended)),
    }
    path.write_bytes(packed[how])
    done = import_archives(tmp_path / "new", [path])
    assert (done.captures, done.pages, done.lost) == (2, 2, 0)
    found = [record for record in copied(tmp_path / "new", max_block=4 << 20) if record.type == "response"]
    assert [record.head + record.block for record in found] == records
    facts = rows(tmp_path / "new", "select digest, bytes, is_truncated from fetches order by url")
    assert facts == [("sha256:0123", len(body), True), ("sha256:0123", len(html("two")), False)]
    assert not damage(tmp_path / "new")


def test_a_record_of_an_arc_file_gets_fields_and_digests(tmp_path: Path) -> None:
    """The block stays; there was nothing else."""
    import_archives(tmp_path / "new", [write_arc(tmp_path / "old.arc", HOME, html("arc"))])
    record = copied(tmp_path / "new")[0]
    assert record.block == b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + html("arc")
    [(digest,)] = rows(tmp_path / "new", "select digest from fetches")
    assert digest == record.fields["warc-payload-digest"]
    assert not damage(tmp_path / "new")


def test_files_of_pages_are_not_pages(tmp_path: Path) -> None:
    """Style sheets and images are fetches with a purpose of their own."""
    captures = [
        Capture(HOME, html("home"), DATE),
        Capture(f"{HOME}a.css", b"p { color: red }", DATE, headers=(("Content-Type", "text/css"),)),
        Capture(f"{HOME}a.png", b"\x89PNG", DATE, headers=(("Content-Type", "image/png"),)),
    ]
    done = import_archives(tmp_path / "new", [write_warc(tmp_path / "a.warc.gz", captures)])
    assert (done.captures, done.pages) == (3, 1)
    assert rows(tmp_path / "new", "select url from pages") == [(HOME,)]
    assert rows(tmp_path / "new", "select purpose, count(*) from fetches group by 1 order by 1") == [
        ("file", 2),
        ("page", 1),
    ]
    assert rows(tmp_path / "new", "select count(*) from urls where visits > 0") == [(1,)]


def test_what_cannot_be_copied_is_said_with_exit_1(tmp_path: Path) -> None:
    """The rest is imported; what was never a page costs nothing."""
    captures = [Capture("dns:old.test", b"", DATE), Capture(HOME, html("a"), DATE)]
    good = write_warc(tmp_path / "good.warc.gz", captures)
    assert CliRunner().invoke(app, ["import", str(good), "-o", str(tmp_path / "good")]).exit_code == 0
    whole = write_warc(tmp_path / "torn.warc.gz", [*captures, Capture(f"{HOME}b", html("b"), DATE)])
    whole.write_bytes(whole.read_bytes()[:-200])
    segment = tmp_path / "segment.warc"
    segment.write_bytes(
        foreign_record(answer(b"a"), more="WARC-Segment-Number: 1\r\n")
        + b"\r\n\r\n"
        + foreign_record(b"b", kind="continuation")
        + b"\r\n\r\n"
    )
    for path, reason in ((whole, "torn"), (segment, "continuation")):
        out = tmp_path / reason
        result = CliRunner().invoke(app, ["import", str(path), "-o", str(out)])
        assert result.exit_code == 1
        assert f"{reason}: " in result.stderr
        assert "1 record could not be copied" in result.stderr
        assert rows(out, "select count(*) from fetches where status = 200")[0][0] >= 1
    assert rows(tmp_path / "continuation", "select is_truncated from fetches") == [(True,)]


def test_a_revisit_is_copied_and_its_body_found(tmp_path: Path) -> None:
    """By queries, and by a repair after the state was lost."""
    later = "2021-01-01T00:00:00Z"
    captures = [Capture(HOME, html("a"), DATE), Capture(HOME, html("a"), later, repeats=DATE)]
    import_archives(tmp_path / "new", [write_warc(tmp_path / "a.warc.gz", captures)])
    sql = "select started_at, status, bytes, digest, is_revisit from fetches order by 1"
    before = rows(tmp_path / "new", sql)
    assert [row[-1] for row in before] == [False, True]
    assert before[0][2] == before[1][2] == len(html("a"))
    for state in (tmp_path / "new" / "state").glob("shard-*/data.mdb"):
        state.unlink()
    assert repaired(tmp_path / "new").new_states == (0,)
    assert rows(tmp_path / "new", sql) == before


@pytest.mark.proof
@pytest.mark.parametrize(
    "claimed",
    [
        "attempt: " + "9" * 30,
        "seconds: nan",
        "purpose: probe",
        "lane: fast",
        "hopsFromSeed: -1",
        "site: another.test",
        "redirects: many",
    ],
)
def test_metadata_that_pretends_to_be_ours_is_not_believed(tmp_path: Path, claimed: str) -> None:
    """It is copied, and neither the import nor a repair reads a task in it."""
    fields = {"purpose": "page", "lane": "discovery", "source": "link", "seconds": "1.0"}
    name, _, value = claimed.partition(": ")
    block = "".join(f"{key}: {text}\r\n" for key, text in {**fields, name: value}.items()).encode()
    beside = foreign_record(block, kind="metadata", more="WARC-Concurrent-To: <urn:uuid:one>\r\n")
    beside = beside.replace(b"WARC-Record-ID: <urn:uuid:one>", b"WARC-Record-ID: <urn:uuid:two>")
    path = tmp_path / "a.warc"
    path.write_bytes(foreign_record(answer(html("a"))) + b"\r\n\r\n" + beside + b"\r\n\r\n")
    import_archives(tmp_path / "new", [path])
    sql = "select purpose, lane, site, attempt, redirects from fetches"
    assert rows(tmp_path / "new", sql) == [("page", "discovery", "old.test", 1, 0)]
    assert [record.type for record in copied(tmp_path / "new")] == ["response", "metadata"]
    for state in (tmp_path / "new" / "state").glob("shard-*/data.mdb"):
        state.unlink()
    assert repaired(tmp_path / "new").adopted == 1
    assert rows(tmp_path / "new", sql) == [("page", "discovery", "old.test", 1, 0)]


@pytest.mark.parametrize(("claimed", "seconds"), [("1500", 1.5), ("9" * 400, 0.0), ("-1", 0.0), ("soon", 0.0)])
def test_a_duration_that_cannot_be_is_left_out(tmp_path: Path, claimed: str, seconds: float) -> None:
    """Whatever number an archive claims, its capture is imported."""
    block = f"fetchTimeMs: {claimed}\r\n".encode()
    beside = foreign_record(block, kind="metadata", more="WARC-Concurrent-To: <urn:uuid:one>\r\n")
    path = tmp_path / "a.warc"
    path.write_bytes(foreign_record(answer(html("a"))) + b"\r\n\r\n" + beside + b"\r\n\r\n")
    import_archives(tmp_path / "new", [path])
    assert rows(tmp_path / "new", "select duration from fetches") == [(seconds,)]


NAMES_ANSWER = "WARC-Concurrent-To: <urn:uuid:answer>\r\n"
NAMES_REQUEST = "WARC-Concurrent-To: <urn:uuid:request>\r\n"


def record(kind: str, name: str, block: bytes, more: str = "", url: str = HOME, date: str = DATE) -> bytes:
    """A record as most programs write it; an HTTP message if the block is one."""
    message = f"application/http; msgtype={kind}" if kind in ("request", "response", "revisit") else "text/plain"
    about = "" if kind == "warcinfo" else f"WARC-Target-URI: {url}\r\n"
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{name}>\r\nWARC-Date: {date}\r\n{about}{more}"
    fields = f"{head}Content-Type: {message}\r\nContent-Length: {len(block)}\r\n\r\n"
    return fields.encode() + block


SENT = b"GET / HTTP/1.1\r\nHost: old.test\r\n\r\n"
INFO = record("warcinfo", "info", b"software: Crawler/1.0\r\noperator: Ada\r\nisPartOf: spring\r\n")
PAGE = answer(html("home"))
OTHER = f"{HOME}other"
WRITERS = {
    "wget": [
        INFO,
        record("request", "request", SENT),
        record("response", "answer", PAGE, NAMES_REQUEST),
        record("metadata", "manifest", b"<urn:uuid:info>", url="metadata://gnu.org/software/wget/warc/MANIFEST.txt"),
        record("resource", "log", b"saved", url="metadata://gnu.org/software/wget/warc/wget.log"),
    ],
    "wpull": [
        INFO,
        record("request", "request", SENT),
        record("request", "second", SENT, url=OTHER),
        record("response", "answer", PAGE, NAMES_REQUEST),
        record("response", "third", PAGE, NAMES_REQUEST.replace("request", "second"), OTHER),
        record("resource", "log", b"fetched", url="urn:X-wpull:log"),
    ],
    "heritrix": [
        INFO,
        record("response", "dns", b"20200101000000\nold.test. 300 IN A 192.0.2.1\n", url="dns:old.test"),
        record("response", "answer", PAGE),
        record("request", "request", SENT, NAMES_ANSWER),
        record("metadata", "fetch", b"hopsFromSeed: LL\r\nfetchTimeMs: 1500\r\n", NAMES_ANSWER),
    ],
    "browsertrix": [
        INFO,
        record("response", "answer", PAGE),
        record("request", "request", SENT, NAMES_ANSWER),
        record("resource", "text", b"home", url=f"urn:text:{HOME}"),
        record("resource", "screenshot", b"\x89PNG", url=f"urn:view:{HOME}"),
        record("resource", "page", b"{}", url=f"urn:pageinfo:{HOME}"),
    ],
    "commoncrawl": [
        INFO,
        record("request", "request", SENT),
        record("response", "answer", PAGE, NAMES_REQUEST),
        record("metadata", "fetch", b"fetchTimeMs: 1500\r\n", NAMES_ANSWER),
        record("conversion", "text", b"home", "WARC-Refers-To: <urn:uuid:answer>\r\n"),
    ],
    "two of each": [
        INFO.replace(b"uuid:info", b"uuid:first").replace(b"Ada", b"Bob"),
        record("request", "alone", SENT, url=OTHER),
        INFO,
        record("response", "answer", PAGE, "WARC-Concurrent-To: <urn:uuid:other>\r\n" + NAMES_REQUEST),
        record("request", "request", SENT),
        record("metadata", "nowhere", b"via: somewhere\r\n"),
        record("unknown", "future", b"?"),
    ],
}


@pytest.mark.proof
@pytest.mark.parametrize("writer", WRITERS)
def test_every_record_of_every_writer_is_copied(tmp_path: Path, writer: str) -> None:
    """Whether a request comes before or after its answer, and whichever of them names the other; none is added."""
    records = WRITERS[writer]
    path = tmp_path / "a.warc"
    path.write_bytes(b"".join(each + b"\r\n\r\n" for each in records))
    done = import_archives(tmp_path / "new", [path])
    assert (done.problems, done.records) == ({}, len(records))
    files = sorted((tmp_path / "new" / "warc").glob("*.warc.gz"))
    found = [each for file in files for each in read_records(file) if isinstance(each, WarcRecord)]
    assert sorted(each.head + each.block for each in found[1:]) == sorted(records), "the first is that of our file"
    sql = "select url, purpose, source, depth, duration, status, warc_offset from fetches order by url"
    before = rows(tmp_path / "new", sql)
    assert len(before) == done.captures
    assert not damage(tmp_path / "new")
    for state in (tmp_path / "new" / "state").glob("shard-*/data.mdb"):
        state.unlink()
    for table in (tmp_path / "new" / "tables").glob("fetches/*.parquet"):
        table.unlink()
    assert repaired(tmp_path / "new").adopted == done.captures
    assert rows(tmp_path / "new", sql) == before


def test_a_request_before_its_answer_shows_what_was_asked(tmp_path: Path) -> None:
    """The answer to a POST is not a page, and what is beside it is counted as well."""
    path = tmp_path / "a.warc"
    post = record("request", "request", SENT.replace(b"GET", b"POST"))
    page = record("response", "page", PAGE, url=OTHER)
    path.write_bytes(b"\r\n\r\n".join([post, record("response", "answer", PAGE, NAMES_REQUEST), page, b""]))
    done = import_archives(tmp_path / "new", [path])
    assert (done.records, done.problems, done.lost) == (1, {"not-get": 1, "capture-left-out": 1}, 0)


def test_the_files_and_who_wrote_them_are_known(tmp_path: Path) -> None:
    """In `info` and in SQL, with the whole `warcinfo`; a file without one has a row."""
    path, old = tmp_path / "a.warc", write_arc(tmp_path / "old.arc", f"{HOME}arc", html("arc"))
    path.write_bytes(b"".join(each + b"\r\n\r\n" for each in WRITERS["two of each"]))
    bare = write_warc(tmp_path / "bare.warc.gz", [Capture(f"{HOME}bare", html("bare"), DATE)])
    import_archives(tmp_path / "new", [path, old, bare])
    sql = "select file, warcinfo_id, software, operator, part_of, records, captures from imported_files order by all"
    assert rows(tmp_path / "new", sql) == [
        (str(path), "first", "Crawler/1.0", "Bob", "spring", 2, 0),
        (str(path), "info", "Crawler/1.0", "Ada", "spring", 5, 1),
        (str(bare), None, None, None, None, 2, 1),
        (str(old), None, None, None, None, 2, 1),
    ]
    [(text,)] = rows(tmp_path / "new", "select warcinfo from imported_files where operator = 'Ada'")
    assert text == "software: Crawler/1.0\r\noperator: Ada\r\nisPartOf: spring\r\n"
    shown = CliRunner().invoke(app, ["info", str(tmp_path / "new"), "--all"]).stdout
    assert f"{path}: 5 records, by Crawler/1.0, operator Ada, written 2020-01-01 00:00:00 UTC" in shown
    facts = msgspec.json.decode(CliRunner().invoke(app, ["info", str(tmp_path / "new"), "--json"]).stdout)
    assert [each["operator"] for each in facts["imported"]] == ["Bob", "Ada", None, None]
