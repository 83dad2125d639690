"""Writing and reading WARC, against the libraries of the field: the same exchanges in, the same records out.

An exchange is a page of 8 KB that came gzipped, or of 28 KB that did not, with its request. Each contestant writes a
response, a request and a metadata record with identifiers, dates and links between them, block and payload digests,
each a gzip member, to a file. Periplus makes its index at the same time. Peers that are not installed do not take part.
"""

from __future__ import annotations

import gzip
import importlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha1
from io import BytesIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import ModuleType
from uuid import uuid4

from periplus.model import Fetched, FetchTask, Lane, Purpose, Site, Url
from periplus.store import MemoryPayloads
from periplus.store.warc import Archive, WarcSettings, read_records

from .harness import Group, Target, race

REQUEST = (
    b"GET /docs/page.html HTTP/1.1\r\nHost: docs.example.org\r\nUser-Agent: Periplus/0.1 (+mailto:me@example.org)\r\n"
    b"Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
)
METADATA = b"fetchTimeMs: 12\r\nhopsFromSeed: 3\r\nsource: link\r\nlane: discovery\r\npurpose: page\r\nredirects: 0\r\n"
FIELDS = (
    ("Server", "nginx"),
    ("Date", "Fri, 15 Jan 2027 08:00:00 GMT"),
    ("Content-Type", "text/html; charset=utf-8"),
    ("Last-Modified", "Fri, 15 Jan 2027 08:00:00 GMT"),
    ("Connection", "keep-alive"),
    ("ETag", '"65cb0b3a-2000"'),
    ("Vary", "Accept-Encoding"),
)
Writer = Callable[[Path, Sequence[Fetched]], None]


def measure(quick: bool) -> list[Group]:
    """Two kinds of pages to write, one of them to read again."""
    count, rounds = (300, 3) if quick else (2000, 7)
    coded, plain = _pages(count, is_coded=True), _pages(count, is_coded=False)
    with TemporaryDirectory(prefix="bench-warc-") as folder:
        return [
            _writing("WARC: write pages of 8 KB that came gzipped", coded, Path(folder), rounds, ratio=3.0),
            _writing("WARC: write pages of 28 KB that came as they are", plain, Path(folder), rounds, ratio=2.0),
            _reading(coded, Path(folder), rounds),
        ]


def _writing(title: str, pages: Sequence[Fetched], folder: Path, rounds: int, *, ratio: float) -> Group:
    writers = _writers()
    files = {name: folder / f"{number}.warc.gz" for number, name in enumerate(writers)}
    runs: dict[str, Callable[[], object]] = {
        name: partial(write, files[name], pages) for name, write in writers.items()
    }
    rates = race(runs, units=len(pages), rounds=rounds)
    sizes = {f"bytes a page, {name}": f"{files[name].stat().st_size / len(pages):,.0f}" for name in writers}
    return Group(title, "pages/s", rates, _targets(rates, ratio), facts={"pages": f"{len(pages):,}", **sizes})


def _reading(pages: Sequence[Fetched], folder: Path, rounds: int) -> Group:
    path = folder / "read.warc.gz"
    _write_periplus(path, pages)
    runs: dict[str, Callable[[], object]] = {"periplus": lambda: sum(1 for _ in read_records(path))}
    if warcio := _peer("warcio.archiveiterator"):
        runs["warcio"] = lambda: _read_warcio(warcio, path)
    if fastwarc := _peer("fastwarc.warc"):
        runs["fastwarc"] = lambda: _read_fastwarc(fastwarc, path)
    records = 3 * len(pages) + 1
    rates = race(runs, units=records, rounds=rounds)
    return Group("WARC: read all records with their blocks", "records/s", rates, facts={"records": f"{records:,}"})


def _targets(rates: dict[str, float], ratio: float) -> tuple[Target, ...]:
    return tuple(Target("periplus", peer, ratio) for peer in ("warcio",) if peer in rates)


def _writers() -> dict[str, Writer]:
    writers: dict[str, Writer] = {"periplus": _write_periplus}
    if warcio := _peer("warcio.warcwriter"):
        writers["warcio"] = lambda path, pages: _write_warcio(warcio, path, pages)
    if fastwarc := _peer("fastwarc.warc"):
        writers["fastwarc"] = lambda path, pages: _write_fastwarc(fastwarc, path, pages)
    return writers


def _peer(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _pages(count: int, *, is_coded: bool) -> list[Fetched]:
    """Text of made-up words, as compressible as prose in HTML is; every page another."""
    rng = Random(28500)
    words = ["".join(rng.choices("aeioulnrstdm", k=rng.randint(2, 9))) for _ in range(4000)]
    fields = (*FIELDS, ("Content-Encoding", "gzip")) if is_coded else FIELDS
    pages = []
    for number in range(count):
        text = " ".join(rng.choices(words, k=60)) + "<p><a href='/docs/page.html'>"
        body = "".join(f"<li>{' '.join(rng.choices(words, k=12))}</li>\n" for _ in range(330)) + text
        raw = body.encode()
        url = Url(f"https://docs.example.org/docs/page-{number}.html")
        task = FetchTask(url, Site("docs.example.org"), Purpose.PAGE, Lane.DISCOVERY, lease_ends_at=1.8e9)
        sent = gzip.compress(raw, 6)[:8192] if is_coded else raw
        pages.append(Fetched(task, 200, fields, sent, 1.8e9 + number / 700, 0.012, "192.0.2.7"))
    return pages


def _write_periplus(path: Path, pages: Sequence[Fetched]) -> None:
    with TemporaryDirectory(dir=path.parent) as name:
        folder = Path(name)
        archive = Archive(
            folder, WarcSettings(), shard=0, software="bench", fields={}, end=None, payloads=MemoryPayloads()
        )
        for page in pages:
            archive.write(page, REQUEST)
        archive.close()
        (written,) = folder.glob("*.warc.gz")
        written.replace(path)


def _write_warcio(warcio: ModuleType, path: Path, pages: Sequence[Fetched]) -> None:
    headers = importlib.import_module("warcio.statusandheaders").StatusAndHeaders
    with path.open("wb") as file:
        writer = warcio.WARCWriter(file, gzip=True, warc_version="1.1")
        for page in pages:
            url, told = page.task.url, {"WARC-IP-Address": page.ip, "WARC-Date": _date(page)}
            http = headers("200 OK", list(page.headers), protocol="HTTP/1.1")
            response = writer.create_warc_record(
                url, "response", payload=BytesIO(page.body), http_headers=http, warc_headers_dict=dict(told)
            )
            beside = {"WARC-Concurrent-To": response.rec_headers.get_header("WARC-Record-ID"), **told}
            writer.write_record(response)
            asked = headers(
                "GET /docs/page.html HTTP/1.1", [("Host", "docs.example.org"), *_sent()], is_http_request=True
            )
            writer.write_record(
                writer.create_warc_record(url, "request", http_headers=asked, warc_headers_dict=dict(beside))
            )
            writer.write_record(
                writer.create_warc_record(
                    url,
                    "metadata",
                    payload=BytesIO(METADATA),
                    warc_content_type="application/warc-fields",
                    warc_headers_dict=dict(beside),
                )
            )


def _sent() -> list[tuple[str, str]]:
    lines = REQUEST.decode().strip().split("\r\n")[2:]
    return [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]


def _write_fastwarc(fastwarc: ModuleType, path: Path, pages: Sequence[Fetched]) -> None:
    stream = importlib.import_module("fastwarc.stream_io").GzipWriter(str(path), compression_level=1)
    kinds = fastwarc.WarcRecordType
    for page in pages:
        head = "HTTP/1.1 200 OK\r\n" + "".join(f"{name}: {value}\r\n" for name, value in page.headers) + "\r\n"
        ids = [f"uuid:{uuid4()}" for _ in range(3)]
        for kind, identifier, content_type, block in (
            (kinds.response, ids[0], "application/http; msgtype=response", head.encode() + page.body),
            (kinds.request, ids[1], "application/http; msgtype=request", REQUEST),
            (kinds.metadata, ids[2], "application/warc-fields", METADATA),
        ):
            record = fastwarc.WarcRecord()
            record.init_headers(kind, identifier.encode())
            record.headers["WARC-Target-URI"] = page.task.url
            record.headers["WARC-Date"] = _date(page)
            record.headers["WARC-IP-Address"] = str(page.ip)
            record.headers["Content-Type"] = content_type
            if kind == kinds.response:
                digest = sha1(page.body).digest()
            else:
                record.headers["WARC-Concurrent-To"] = f"<urn:{ids[0]}>"
                digest = None
            record.set_bytes_content(block)
            record.write(stream, checksum_data=True, payload_digest=digest)
            stream.finish()
    stream.close()


def _date(page: Fetched) -> str:
    return datetime.fromtimestamp(page.started_at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _read_warcio(warcio: ModuleType, path: Path) -> int:
    with path.open("rb") as file:
        return sum(len(record.raw_stream.read()) for record in warcio.ArchiveIterator(file))


def _read_fastwarc(fastwarc: ModuleType, path: Path) -> int:
    with path.open("rb") as file:
        return sum(len(record.reader.read()) for record in fastwarc.ArchiveIterator(file, parse_http=False))
