"""Cut pages that are kept between exports: the same as read again, whatever happens to the files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow as pa
import pytest
import zstandard
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from periplus.content import read_texts
from periplus.model import Stored, Url
from periplus.store.durable import draft_of
from periplus.store.export import kept_chunks
from periplus.store.export.captures import Capture
from periplus.store.export.chunks import ChunkShape, CutPage, chunks_of, chunks_of_cut, cut_page
from periplus.store.export.documents import DecodedCapture
from periplus.store.export.kept_chunks import MAX_RULES, KeptChunks, cutting_rule

AT = datetime(2026, 1, 1, tzinfo=UTC)
RULE = "rule"


def capture(number: int, **place: object) -> Capture:
    given = {"file": "f.warc.gz", "offset": number, "length": 9, "digest": f"d{number}", "is_revisit": False, **place}
    return Capture(Url(f"https://example.org/{number}"), 200, AT, "text/html", Stored(**given))  # type: ignore[arg-type]


def page(number: int, text: str = "") -> CutPage:
    body = f"<html lang=de><title>{number}</title><meta name=robots content=noai><main><p>{text or number}</p></main>"
    at = capture(number)
    document = DecodedCapture(at, read_texts(body.encode("utf-8", "surrogatepass"), at.url, "text/html"), body.encode())
    kept = cut_page(document, ChunkShape())
    assert list(chunks_of_cut(at, kept)) == list(chunks_of(document))
    return kept


PAGES = {number: page(number, f"{number} " * 50) for number in range(60)}


@contextmanager
def opened(folder: Path, rule: str = RULE, *, is_whole: bool) -> Iterator[KeptChunks]:
    """The kept pages in a folder, of an archive beside it with a file that is long enough."""
    archive = folder.parent / f"{folder.name}-warc"
    archive.mkdir(exist_ok=True)
    for name in ("f.warc.gz", "g.warc.gz"):
        (archive / name).write_bytes(bytes(100))
    with KeptChunks.opened(folder, rule, archive, is_whole=is_whole) as kept:
        yield kept


def keep(folder: Path, numbers: range, *, is_whole: bool = False) -> None:
    with opened(folder, is_whole=is_whole) as kept:
        for number in numbers:
            if kept.get(capture(number)) is None:
                kept.add(capture(number), PAGES[number])


def found(folder: Path) -> dict[int, CutPage]:
    with opened(folder, is_whole=False) as kept:
        pages = {number: kept.get(capture(number)) for number in PAGES}
    return {number: page for number, page in pages.items() if page is not None}


def files(folder: Path) -> list[Path]:
    return sorted((folder / RULE).glob("*.arrow"))


def test_pages_come_back(tmp_path: Path) -> None:
    """What was kept is found by its URL and place, in several files; another body of the same URL is not."""
    keep(tmp_path, range(30))
    keep(tmp_path, range(20, 50))
    assert found(tmp_path) == {number: PAGES[number] for number in range(50)}
    assert len(files(tmp_path)) == 2
    with opened(tmp_path, is_whole=False) as kept:
        for other in ({"offset": 7}, {"file": "g.warc.gz"}, {"digest": "x"}, {"length": 8}, {"is_revisit": True}):
            assert kept.get(capture(3, **other)) is None
    with opened(tmp_path, "another", is_whole=False) as kept:
        assert kept.get(capture(3)) is None


def test_damage_is_as_if_nothing_was_kept(tmp_path: Path) -> None:
    """Whatever byte is changed, and wherever a file ends: a page comes back as it was, or not at all."""
    keep(tmp_path, range(40))
    [path] = files(tmp_path)
    whole = path.read_bytes()
    chance = Random(5)
    for _ in range(300):
        data = bytearray(whole)
        if chance.random() < 0.2:
            del data[chance.randrange(len(data)) :]
        else:
            for _ in range(chance.choice((1, 1, 8))):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        back = found(tmp_path)
        assert all(back[number] == PAGES[number] for number in back)
        path.write_bytes(whole)
    path.write_bytes(b"")
    keep(tmp_path, range(40))
    assert path not in files(tmp_path)
    assert len(found(tmp_path)) == 40


def _made_by_others(kind: str) -> tuple[Any, Any, Any]:
    """A row that this program does not write, with the checksum that belongs to it."""
    key = kept_chunks._key_of(capture(3).url, capture(3).stored)
    page = msgspec.msgpack.encode(PAGES[3])
    header_of_64_terabytes = b"\x28\xb5\x2f\xfd\xe0" + (1 << 46).to_bytes(8, "little") + b"\1\0\0"
    value = {
        "no text": None,
        "no key": zstandard.compress(page),
        "not utf-8": zstandard.compress(page.replace(b"3 3", b"\xff \xff")),
        "huge": header_of_64_terabytes,
        "bomb": zstandard.compress(bytes(kept_chunks.MAX_PAGE_BYTES + 1)),
        "deep": zstandard.compress(b"\x91" * 100_000),
        "another type": zstandard.compress(msgspec.msgpack.encode(["title", 3])),
    }[kind]
    return None if kind == "no key" else key, xxh3_64_intdigest(key + (value or b"")), value


@pytest.mark.parametrize("kind", ["no text", "no key", "not utf-8", "huge", "bomb", "deep", "another type"])
def test_files_of_other_programs(tmp_path: Path, kind: str) -> None:
    """Whatever a file holds, its pages are read again; it is written again, or removed, without an error."""
    (tmp_path / RULE).mkdir()
    schema = kept_chunks._SCHEMA
    row = _made_by_others(kind)
    with pa.ipc.new_file(str(tmp_path / RULE / "x.arrow"), schema) as file:
        columns = [pa.array([value] * 30, field.type) for value, field in zip(row, schema, strict=True)]
        file.write_batch(pa.record_batch(columns, schema=schema))
    assert found(tmp_path) == {}
    keep(tmp_path, range(4), is_whole=True)
    assert found(tmp_path) == {number: PAGES[number] for number in range(4)}


def test_an_export_that_is_cut_short_drops_nothing(tmp_path: Path) -> None:
    """It has not asked for all that it needs: `periplus export ... | head`."""
    keep(tmp_path, range(40))
    with suppress(BrokenPipeError), opened(tmp_path, is_whole=True) as kept:
        assert kept.get(capture(0)) == PAGES[0]
        raise BrokenPipeError
    assert len(found(tmp_path)) == 40


@pytest.mark.parametrize("after", [0, 3])
def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Files that cannot be written again stay as they are; nothing half written is left."""
    keep(tmp_path, range(40))
    written = 0

    def add(self: kept_chunks._Writer, key: bytes, value: bytes) -> None:
        nonlocal written
        written += 1
        if written == after + 1:
            raise OSError(28, "No space left on device")
        write(self, key, value)

    write = kept_chunks._Writer.add
    monkeypatch.setattr(kept_chunks._Writer, "add", add)
    keep(tmp_path, range(10), is_whole=True)
    monkeypatch.undo()
    assert len(found(tmp_path)) == 40
    assert {path.name for path in (tmp_path / RULE).iterdir()} == {"writer", *(path.name for path in files(tmp_path))}


def test_small_files_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports of what changed add a file each, and drop nothing: many small ones become one."""
    monkeypatch.setattr(kept_chunks, "MAX_SMALL_FILES", 5)
    for number in range(17):
        keep(tmp_path, range(number, number + 1))
        assert len(files(tmp_path)) <= 6
    assert found(tmp_path) == {number: PAGES[number] for number in range(17)}


def test_a_program_that_was_replaced_while_it_ran_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pages were read by code that is not in the files any more; another version of Python is another rule."""
    monkeypatch.setattr(kept_chunks, "LOADED_AT", 0.0)
    kept_chunks._program.cache_clear()
    assert cutting_rule("400 words 0") is None
    monkeypatch.undo()
    kept_chunks._program.cache_clear()
    rule = cutting_rule("400 words 0")
    monkeypatch.setattr(sys, "version", "3.99")
    kept_chunks._program.cache_clear()
    assert cutting_rule("400 words 0") not in (None, rule)
    monkeypatch.undo()
    kept_chunks._program.cache_clear()


def test_only_one_export_writes(tmp_path: Path) -> None:
    """A second one at the same time reads, and keeps nothing; what a killed one left is removed."""
    keep(tmp_path, range(5))
    leftover = draft_of(tmp_path / RULE / "x.arrow")
    with opened(tmp_path, is_whole=True) as first:
        leftover.write_bytes(b"x")
        keep(tmp_path, range(20), is_whole=True)
        assert leftover.exists()
        assert len(files(tmp_path)) == 1
        assert first.get(capture(4)) == PAGES[4]
    keep(tmp_path, range(20))
    assert not leftover.exists()
    assert len(found(tmp_path)) == 20


def test_pages_that_are_not_needed_are_dropped(tmp_path: Path) -> None:
    """An export of all pages writes the needed ones again once most are not; a partial one drops nothing."""
    keep(tmp_path, range(40))
    keep(tmp_path, range(1))
    assert len(found(tmp_path)) == 40
    keep(tmp_path, range(15), is_whole=True)
    assert len(files(tmp_path)) == 1
    assert found(tmp_path) == {number: PAGES[number] for number in range(15)}


def test_records_that_the_archive_has_lost(tmp_path: Path) -> None:
    """A page whose file was removed from the archive, or cut off before the end of its record, is not found."""
    archive = tmp_path / "warc"
    archive.mkdir()
    path = archive / "f.warc.gz"
    for length, count in ((None, 0), (0, 0), (28, 20), (29, 21), (100, 30)):
        path.unlink(missing_ok=True)
        if length is not None:
            path.write_bytes(bytes(length))
        with KeptChunks.opened(tmp_path / "kept", RULE, archive, is_whole=False) as kept:
            for number in range(30):
                kept.add(capture(number), PAGES[number])
        with KeptChunks.opened(tmp_path / "kept", RULE, archive, is_whole=False) as kept:
            assert sum(kept.get(capture(number)) is not None for number in range(30)) == count


def test_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are closed at a size, nothing is kept beyond another, and only the newest rules stay."""
    monkeypatch.setattr(kept_chunks, "SEGMENT_BYTES", 2_000)
    monkeypatch.setattr(kept_chunks, "MAX_BYTES", 5_000)
    keep(tmp_path, range(60))
    assert 1 < len(files(tmp_path)) < 6
    assert 5 < len(found(tmp_path)) < 59
    for number in range(MAX_RULES + 2):
        with opened(tmp_path, f"rule{number}", is_whole=False):
            os.utime(tmp_path / f"rule{number}", times=(number, number))
    assert {path.name for path in tmp_path.iterdir()} >= {f"rule{MAX_RULES + 1}"}
    assert len(list(tmp_path.iterdir())) <= MAX_RULES


def test_texts_that_utf8_cannot_hold(tmp_path: Path) -> None:
    """Lone surrogates are read again each time."""
    odd = replace(PAGES[1], title="\ud800")
    with opened(tmp_path, is_whole=False) as kept:
        kept.add(capture(1), odd)
        kept.add(capture(2), PAGES[2])
    assert found(tmp_path) == {2: PAGES[2]}


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """Without a folder nothing is kept, and nothing fails."""
    (tmp_path / "file").write_bytes(b"")
    keep(tmp_path / "file", range(3))
    assert found(tmp_path / "file") == {}


def test_rules_differ_by_shape() -> None:
    """Chunks of another size are other chunks; tokens are counted by a program that we do not know."""
    names = [ChunkShape(*shape).name for shape in ((400, "words", 0), (300,), (400, "characters"), (400, "words", 9))]
    assert len({cutting_rule(name) for name in names}) == 4
    assert cutting_rule(names[0]) == cutting_rule(names[0])
