"""Archives of Zstandard frames: as the specification has them, in every use that gzip has, and after a crash."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
import zstandard
from msgspec.structs import replace

from periplus.model import Fetched, FetchTask, Lane, Problem, Purpose, Site, Stored, Url
from periplus.store import MemoryPayloads
from periplus.store.warc import Archive, WarcEnd, WarcRecord, WarcSettings, merge_indexes, read_record, read_records
from periplus.store.warc.copying import SourceRecord
from periplus.store.warc.frames import MAGIC, dictionary_in
from periplus.store.warc.index import scan
from periplus.store.warc.packing import SAMPLES, GzipPacking, ZstdPacking, trained
from periplus.store.warc.reading import block_pieces
from periplus.store.warc.records import index_of, warc_files

AT = 1_800_000_000.0
WORDS = ("crawler", "archive", "record", "frame", "page", "answer", "server", "dictionary", "sitemap", "robots", "link")
SENT = b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: Periplus\r\n\r\n"
FULL = SAMPLES // 3 + 20
"""Exchanges after which the first file is full: each has three records."""


def page(number: int) -> Fetched:
    chance = Random(number)
    body = f"<title>{number}</title>{' '.join(chance.choices(WORDS, k=200))}".encode()
    url = Url(f"https://example.org/{number}")
    task = FetchTask(url, Site("example.org"), Purpose.PAGE, Lane.DISCOVERY, lease_ends_at=AT + 60.0)
    return Fetched(task, 200, (("Content-Type", "text/html"),), body, AT + number, 0.1, "192.0.2.7")


def opened(folder: Path, end: WarcEnd | None = None, compression: str = "zstd", size: int = 500_000_000) -> Archive:
    settings = WarcSettings(compression=compression, max_file_size=size)  # type: ignore[arg-type]
    return Archive(folder, settings, shard=0, software="Periplus", fields={}, end=end, payloads=MemoryPayloads())


def write(archive: Archive, first: int, end: int) -> list[Stored]:
    return [stored for stored, _ in archive.write_all([(page(number), SENT) for number in range(first, end)])]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Stored]]:
    """600 pages: some in a first file without a dictionary, the others in one with it."""
    folder = tmp_path_factory.mktemp("zstd")
    archive = opened(folder)
    stored = [each for first in range(0, 600, 50) for each in write(archive, first, first + 50)]
    archive.close()
    return folder, stored


def records_of(path: Path) -> list[WarcRecord]:
    found = list(read_records(path))
    assert not [each for each in found if isinstance(each, Problem)]
    return [each for each in found if isinstance(each, WarcRecord)]


def test_every_record_is_a_frame_with_size_checksum_and_dictionary(written: tuple[Path, list[Stored]]) -> None:
    """And the window is within what every reader supports."""
    first, second = warc_files(written[0])
    assert first.name.endswith("00001.warc.zst")
    data = second.read_bytes()
    assert data[:4] == bytes.fromhex("5d2a4d18")
    for path in (first, second):
        number = zstandard.ZstdCompressionDict(known).dict_id() if (known := dictionary_in(path)) else 0
        assert bool(number) is (path == second)
        data = path.read_bytes()
        for record in records_of(path):
            about = zstandard.get_frame_parameters(data[record.offset : record.offset + record.length])
            assert about.content_size == len(record.head) + record.size + 4
            assert about.has_checksum
            assert about.window_size <= 8 << 20
            assert about.dict_id == number


def test_the_first_file_is_what_the_dictionary_is_made_of(written: tuple[Path, list[Stored]]) -> None:
    """It ends after so many records, and the second is much smaller than it would be without."""
    first, second = warc_files(written[0])
    assert SAMPLES <= len(records_of(first)) < SAMPLES + 3
    assert second.stat().st_size < 0.5 * first.stat().st_size


def test_records_are_found_by_place_and_by_index(written: tuple[Path, list[Stored]]) -> None:
    """In the first file and in the second."""
    folder, stored = written
    for number, place in enumerate(stored):
        if number % 7 == 0:
            assert read_record(folder, place).message().body == page(number).body
    for path in warc_files(folder):
        assert index_of(path).read_bytes() == b"".join(sorted(line.encode() for line in scan(path)))
    merged = merge_indexes(folder).read_bytes().splitlines()
    assert len(merged) == len(stored)


def test_zstds_own_tool_reads_it(written: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    """With the dictionary that the file begins with, it unpacks to a WARC file."""
    tool = shutil.which("zstd")
    if tool is None:
        pytest.skip("zstd is not installed")
    path = warc_files(written[0])[1]
    (tmp_path / "dictionary").write_bytes(dictionary_in(path))
    command = [tool, "-d", "-D", str(tmp_path / "dictionary"), str(path), "-o", str(tmp_path / "x.warc")]
    subprocess.run(command, check=True, capture_output=True)
    plain = records_of(tmp_path / "x.warc")
    assert [(each.id, each.block) for each in plain] == [(each.id, each.block) for each in records_of(path)]


def test_fastwarc_reads_it(written: tuple[Path, list[Stored]]) -> None:
    """The same records in the same order; warcio does not read Zstandard."""
    fastwarc = pytest.importorskip("fastwarc")
    path = warc_files(written[0])[0]
    with path.open("rb") as file:
        found = [record.headers["WARC-Record-ID"] for record in fastwarc.ArchiveIterator(file, parse_http=False)]
    assert found == [f"<urn:uuid:{each.id}>" for each in records_of(path)]


@pytest.mark.proof
@pytest.mark.parametrize("committed", [10, 200, FULL, FULL + 100])
@pytest.mark.parametrize("cut", [1, 40, 3_000])
def test_a_crash_loses_only_what_was_not_committed(tmp_path: Path, committed: int, cut: int) -> None:
    """Killed before, while and after the second file begins: continued, it is as if nothing had happened."""
    archive = opened(tmp_path)
    places = write(archive, 0, committed)
    archive.sync()
    end = archive.end
    write(archive, committed, committed + 60)
    archive._open = None  # the process is gone
    last = warc_files(tmp_path)[-1]
    with last.open("r+b") as file:
        file.truncate(max(end.length if last.name == end.file else 0, last.stat().st_size - cut))
    archive = opened(tmp_path, end)
    places += write(archive, committed, committed + 60)
    archive.close()
    assert [read_record(tmp_path, place).message().body for place in places] == [
        page(number).body for number in range(committed + 60)
    ]
    urls = [each.url for path in warc_files(tmp_path) for each in records_of(path) if each.type == "response"]
    assert urls == [page(number).task.url for number in range(committed + 60)]
    assert SAMPLES <= len(records_of(warc_files(tmp_path)[0])) < SAMPLES + 3 or committed + 60 < FULL


@pytest.mark.proof
def test_a_crawl_may_change_from_one_to_the_other(tmp_path: Path) -> None:
    """A file that is begun is continued as it is; the next is as the settings say, with a dictionary at once."""
    archive = opened(tmp_path, compression="gzip", size=150_000)
    places = write(archive, 0, FULL)
    archive.sync()
    end = archive.end
    archive.close()
    archive = opened(tmp_path, end, size=150_000)
    places += write(archive, FULL, 2 * FULL)
    archive.sync()
    end = archive.end
    archive.close()
    archive = opened(tmp_path, end, "gzip", size=150_000)
    places += write(archive, 2 * FULL, 3 * FULL)
    archive.close()
    suffixes = [path.suffix for path in warc_files(tmp_path)]
    assert set(suffixes) == {".gz", ".zst"}
    for number, place in enumerate(places):
        assert read_record(tmp_path, place).message().body == page(number).body


def test_records_of_either_kind_are_copied_into_the_other(written: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    """The same fields and bytes, and a long one as well."""
    long = replace(page(0), body=Random(1).randbytes(700_000))
    for compression, other in (("gzip", ZstdPacking(1)), ("zstd", GzipPacking(1))):
        archive = opened(tmp_path / compression, compression=compression)
        archive.write(long, SENT)
        archive.close()
        [path] = warc_files(tmp_path / compression)
        target = tmp_path / f"copied{other.suffix}"
        records = records_of(path)
        target.write_bytes(b"".join(piece for each in records for piece in SourceRecord(path, each).packed(other)))
        assert [(each.head, each.block) for each in records_of(target)] == [(each.head, each.block) for each in records]


def test_a_dictionary_needs_enough_records(tmp_path: Path) -> None:
    """Without them there is none, and files are written without one."""
    archive = opened(tmp_path, size=20_000)
    places = [each for number in range(100) for each in write(archive, number, number + 1)]
    archive.close()
    files = warc_files(tmp_path)
    assert len(files) > 3
    assert [trained(path) for path in files] == [b""] * len(files)
    assert len({place.file for place in places}) == len(files)


@pytest.mark.proof
@pytest.mark.parametrize("size", [1, 7, 60, 400, 5_000])
def test_a_record_may_have_several_frames(tmp_path: Path, size: int) -> None:
    """As the specification allows, with empty frames and frames of other kinds between them."""
    archive = opened(tmp_path / "plain")
    write(archive, 0, 5)
    archive.close()
    [path] = warc_files(tmp_path / "plain")
    whole = records_of(path)
    packing, other = ZstdPacking(1), bytes.fromhex("502a4d1803000000616263")
    data = b""
    for record in whole:
        plain = record.head + record.block + b"\r\n\r\n"
        pieces = [plain[:5], *(plain[at : at + size] for at in range(5, len(plain), size))]
        data += b"".join(packing.text(piece) + other + packing.text(b"") for piece in pieces)
    target = tmp_path / path.name
    target.write_bytes(data)
    found = records_of(target)
    assert [(each.head, each.block) for each in found] == [(each.head, each.block) for each in whole]
    for record in found:
        assert read_record(tmp_path, Stored(path.name, record.offset, record.length, "")).block == record.block
    cut = [each for each in read_records(target, max_block=50) if isinstance(each, WarcRecord)]
    assert [b"".join(block_pieces(target, each)) for each in cut] == [each.block for each in whole]
    target.write_bytes(data[:-30])
    assert [each.reason for each in read_records(target) if isinstance(each, Problem)][-1] == "torn"


@pytest.mark.proof
def test_no_file_makes_the_reader_fail(written: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    """Whatever bytes are wrong: what is read is what was written, and the rest is told."""
    path = warc_files(written[0])[1]
    whole, chance = path.read_bytes()[:200_000], Random(5)
    blocks = {each.id: each.block for each in records_of(path)}
    target = tmp_path / path.name
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        target.write_bytes(data)
        found = list(read_records(target))
        records = [each for each in found if isinstance(each, WarcRecord)]
        assert all(blocks[each.id] == each.block for each in records)
        assert len(records) < len(blocks) or len(found) == len(records)


@pytest.mark.parametrize("size", [(16 << 20) + 1, 1 << 46])
def test_a_dictionary_that_is_too_large_is_not_unpacked(tmp_path: Path, size: int) -> None:
    """Whether a few bytes unpack to so much, or only say so."""
    frame = MAGIC + b"\xe0" + size.to_bytes(8, "little") + b"\x01\0\0"
    if size < 1 << 30:
        frame = zstandard.ZstdCompressor(level=1).compress(bytes(size))
    path = tmp_path / "x.warc.zst"
    path.write_bytes(b"\x5d\x2a\x4d\x18" + len(frame).to_bytes(4, "little") + frame + zstandard.compress(b"WARC/1.1"))
    assert dictionary_in(path) == b""
    assert all(isinstance(each, Problem) for each in read_records(path))
