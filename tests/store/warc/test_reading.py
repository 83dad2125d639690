"""The reader on malformed files."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from random import Random

import pytest
import zstandard

from periplus.model import CollectionDamaged, Problem, Stored
from periplus.store.warc import WarcRecord, read_record, read_records
from periplus.store.warc.members import stored
from periplus.store.warc.reading import MAX_PROBLEMS


def record(block: bytes, *, length: str | None = None, kind: str = "resource") -> bytes:
    length = str(len(block)) if length is None else length
    head = f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://e.org/\r\nContent-Length: {length}\r\n\r\n"
    return head.encode() + block + b"\r\n\r\n"


def read(path: Path, content: bytes, **limits: int) -> tuple[list[bytes], list[str]]:
    """The blocks of the records, and the reasons of the problems."""
    path.write_bytes(content)
    found = list(read_records(path, **limits))
    blocks = [item.block for item in found if isinstance(item, WarcRecord)]
    return blocks, [item.reason for item in found if isinstance(item, Problem)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.warc"


def test_an_empty_file_has_no_records(path: Path) -> None:
    """Nor is anything wrong with it."""
    assert read(path, b"") == ([], [])


@pytest.mark.parametrize("pack", [gzip.compress, bytes], ids=["gzip", "plain"])
def test_a_file_may_end_anywhere(path: Path, pack: type[bytes]) -> None:
    """Cut at every byte: records before the cut are whole, half ones are not given, and no cut goes unnoticed."""
    pieces = [pack(record(b"first")), pack(record(b"second"))]
    content = b"".join(pieces)
    for cut in range(len(content)):
        blocks, problems = read(path, content[:cut])
        assert blocks in ([], [b"first"], [b"first", b"second"])
        is_complete = (
            cut in (0, len(pieces[0])) or content[cut:].strip() == b"" or content[:cut].strip() == pieces[0].strip()
        )
        assert is_complete == (problems == []), f"cut at {cut}"


def test_damage_in_the_middle_is_told(path: Path) -> None:
    """Gzip data with a flipped bit are told with a reason; what came before was read."""
    content = bytearray(gzip.compress(record(b"first")) + gzip.compress(record(bytes(range(256)) * 8)))
    content[-300] ^= 0x55
    blocks, problems = read(path, bytes(content))
    assert blocks[:1] == [b"first"]
    assert problems in (["damaged"], ["torn"], ["damaged", "damaged"])


@pytest.mark.parametrize("checksum", [-8, -3], ids=["gzip", "zstd"])
@pytest.mark.parametrize("size", [2, 700, 300_000], ids=["short", "some reads", "several pieces"])
def test_a_record_counts_only_with_its_checksum(path: Path, checksum: int, size: int) -> None:
    """Also one behind whose block there is more in its member than two line breaks."""
    pack = gzip.compress if checksum == -8 else zstandard.ZstdCompressor(write_checksum=True).compress
    block = Random(3).randbytes(size)
    sound = pack(record(block, length=str(size - 1)))
    assert read(path, sound + pack(record(b"next"))) == ([block[:-1], b"next"], ["not-a-record"])
    damaged = bytearray(sound)
    damaged[checksum] ^= 1
    assert read(path, bytes(damaged) + pack(record(b"next"))) == ([b"next"], ["damaged"])


def test_records_behind_damage_are_found(path: Path) -> None:
    """A member that cannot be unpacked, or bytes that are none, cost what lies there; zeros cost nothing at all."""
    pieces = [gzip.compress(record(block)) for block in (b"a", b"b", b"c")]
    bad = pieces[1][:20] + b"\xff" * 8 + pieces[1][28:]
    assert read(path, pieces[0] + bad + pieces[2]) == ([b"a", b"c"], ["damaged"])
    assert read(path, pieces[0] + b"what is this?" + pieces[2]) == ([b"a", b"c"], ["damaged"])
    assert read(path, pieces[0] + bytes(70_000) + pieces[1] + bytes(512)) == ([b"a", b"b"], [])
    assert read(path, bad + b"x" * 65_530 + pieces[2]) == ([b"c"], ["damaged"])


def test_frames_of_zstandard(path: Path) -> None:
    """A frame a record, also with a dictionary at the beginning of the file; and from any offset."""
    records = [record(f"block number {number}".encode()) for number in range(400)]
    dictionary = zstandard.train_dictionary(1_024, [*records])
    plain, learned = zstandard.ZstdCompressor(), zstandard.ZstdCompressor(dict_data=dictionary)
    assert read(path, b"".join(map(plain.compress, records[:2]))) == ([b"block number 0", b"block number 1"], [])
    for data in (dictionary.as_bytes(), plain.compress(dictionary.as_bytes())):
        content = b"\x5d\x2a\x4d\x18" + len(data).to_bytes(4, "little") + data
        offset = len(content) + len(learned.compress(records[0]))
        content += b"".join(map(learned.compress, records[:3]))
        blocks = [b"block number 0", b"block number 1", b"block number 2"]
        assert read(path, content) == (blocks, [])
        assert read(path, content, offset=offset) == (blocks[1:], [])
        assert read(path, content[:-5]) == (blocks[:2], ["torn"])


def test_a_bomb_of_zstandard_takes_no_memory(path: Path) -> None:
    """An eighth of a gigabyte of zeros in a few kilobytes."""
    stream = zstandard.ZstdCompressor().compressobj()
    packed = stream.compress(record(b"", length=str(1 << 27))[:-4])
    packed += b"".join(stream.compress(bytes(1 << 20)) for _ in range(128)) + stream.flush()
    path.write_bytes(packed)
    tracemalloc.start()
    found = [type(item) for item in read_records(path, max_block=1_000)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == [WarcRecord, Problem]
    assert peak < 80_000_000


@pytest.mark.parametrize(
    "line",
    [
        b"http://e.org/a 192.0.2.7 20200102030405 text/html 2",
        b"http://e.org/a 192.0.2.7 20200102030405 text/html; charset=utf-8 2",
        b"http://e.org/a 192.0.2.7 20200102030405123 text/html 200 3I42H3S6 - 1024 a-20200102030405.arc 2",
    ],
)
def test_lines_of_arc(path: Path, line: bytes) -> None:
    """Both versions of the format, and a type with a parameter."""
    path.write_bytes(line + b"\nab\n")
    (found,) = read_records(path)
    assert isinstance(found, WarcRecord)
    assert (found.type, found.url, found.block) == ("response", "http://e.org/a", b"ab")
    assert found.fields["warc-date"] == "2020-01-02T03:04:05Z"


def test_something_else_is_not_a_record(path: Path) -> None:
    """In its own gzip member it costs only itself; without compression the next record is found behind it."""
    pieces = [record(b"a"), b"<html>what?</html>", record(b"b")]
    assert read(path, b"".join(map(gzip.compress, pieces))) == ([b"a", b"b"], ["not-a-record"])
    assert read(path, b"".join([pieces[0], pieces[1] + b"\n", pieces[2]])) == ([b"a", b"b"], ["not-a-record"])


@pytest.mark.parametrize("length", ["-1", "many", "", "1" * 30, "٣"])
def test_a_length_must_be_a_number(path: Path, length: str) -> None:
    """A record that does not say how long it is is passed over."""
    content = gzip.compress(record(b"a", length=length)) + gzip.compress(record(b"b"))
    assert read(path, content) == ([b"b"], ["bad-length"])


def test_a_length_beyond_the_member_is_told(path: Path) -> None:
    """Nothing of the next record is taken for the block of this one."""
    content = gzip.compress(record(b"a", length="999999999999999999")) + gzip.compress(record(b"b"))
    blocks, problems = read(path, content)
    assert [block.strip() for block in blocks] == [b"a", b"b"]
    assert problems == ["bad-length"]


def test_a_long_block_is_cut(path: Path) -> None:
    """Memory is what the caller allows; the next record is read as if nothing were."""
    content = gzip.compress(record(b"x" * 5000)) + gzip.compress(record(b"b"))
    assert read(path, content, max_block=100) == ([b"x" * 100, b"b"], ["cut-block"])


def test_a_bomb_takes_no_memory(path: Path) -> None:
    """40 MB of zeros in 40 KB, announced or not."""
    zeros = gzip.compress(record(bytes(40_000_000)), compresslevel=1)
    path.write_bytes(zeros + gzip.compress(bytes(30_000_000), compresslevel=1))
    tracemalloc.start()
    found = [type(item) for item in read_records(path, max_block=1000)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == [WarcRecord, Problem, Problem]
    assert peak < 8_000_000


def test_endless_garbage_is_given_up(path: Path) -> None:
    """Reading a file of nothing but false starts ends after a bounded number."""
    _, problems = read(path, b"\nhttp no\nWARC/no\n" * 20_000)
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == "more-problems"


def test_headers_in_other_hands(path: Path) -> None:
    """Bare line feeds, folded lines, repeated fields, names in any case, brackets around the URL."""
    head = b"WARC/1.0\nwarc-TYPE: resource\nWARC-Target-URI:\n <http://e.org/a>\nX: 1\n 2\nX: 3\nContent-Length: 1\n\n"
    path.write_bytes(head + b"x\n\n")
    (found,) = read_records(path)
    assert isinstance(found, WarcRecord)
    assert (found.type, found.url, found.fields["x"], found.block) == ("resource", "http://e.org/a", "1 2", b"x")


def test_a_stored_member_is_plain_gzip() -> None:
    """Any gunzip reads it, around every border of a stored block."""
    for size in (0, 1, 65_534, 65_535, 65_536, 131_070, 131_071):
        data = (bytes(range(256)) * (size // 256 + 1))[:size]
        assert gzip.decompress(stored(data)) == data


def test_a_place_that_does_not_hold_is_damage(tmp_path: Path) -> None:
    """What we stored and cannot find again is said aloud."""
    (tmp_path / "x.warc.gz").write_bytes(gzip.compress(record(b"x")))
    for place in (Stored("x.warc.gz", 5, 10, ""), Stored("x.warc.gz", 10**6, 10, ""), Stored("y.warc.gz", 0, 10, "")):
        with pytest.raises(CollectionDamaged):
            read_record(tmp_path, place)
