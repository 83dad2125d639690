"""A collection whose archive is in Zstandard: exported, packaged, served and repaired as any other."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from tests.archives.foreign import Capture, html, write_warc
from warcio.archiveiterator import ArchiveIterator

import periplus
from periplus.apps.export.exporting import Export, ExportOptions
from periplus.collection.collection import existing
from periplus.collection.importing import import_archives
from periplus.model import Problem
from periplus.store.importing import Package, check_package
from periplus.store.warc import archive, packing, read_records
from periplus.store.warc.frames import dictionary_in
from periplus.store.warc.records import warc_files

PAGES = 120
HOME = "http://old.test/"


def words(number: int) -> str:
    return " ".join(f"word{number * place % 97} and some text of page {number}" for place in range(1, 60))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of another program, with enough records for a dictionary."""
    captures = [
        Capture(f"{HOME}{number}", html(f"page {number} {words(number)}", f"/{number + 1}"), f"2020-01-01T{at}Z")
        for number in range(PAGES)
        for at in [f"{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}"]
    ]
    return write_warc(tmp_path_factory.mktemp("source") / "old.warc.gz", captures)


@pytest.fixture(scope="module")
def imported(source: Path) -> Path:
    """The collection of it, whose second file has a dictionary."""
    folder = source.parent / "zstd"
    patch = pytest.MonkeyPatch()
    for module in (archive, packing):
        patch.setattr(module, "SAMPLES", 80)
    import_archives(folder, [source], settings={"archive.compression": "zstd"})
    patch.undo()
    return folder


def exported(folder: Path, form: str, path: Path) -> Path:
    Export(existing(folder), ExportOptions(form)).to_path(path)
    return path


@pytest.fixture(scope="module")
def plain(source: Path) -> Path:
    """The same collection in gzip."""
    import_archives(source.parent / "gzip", [source])
    return source.parent / "gzip"


def test_its_files_are_frames_with_a_dictionary(imported: Path) -> None:
    """All but the first, which the dictionary is made of."""
    files = warc_files(imported / "warc")
    assert [path.suffix for path in files] == [".zst"] * len(files)
    assert [bool(dictionary_in(path)) for path in files] == [False] + [True] * (len(files) - 1)
    assert len(files) > 1


@pytest.mark.proof
def test_exports_are_those_of_gzip(imported: Path, plain: Path, tmp_path: Path) -> None:
    """But for the places of the records."""
    found = []
    for folder in (imported, plain):
        lines = map(json.loads, exported(folder, "jsonl", tmp_path / folder.name).read_bytes().splitlines())
        found.append([{name: value for name, value in line.items() if "warc" not in name} for line in lines])
    assert found[0] == found[1]
    assert len(found[0]) >= PAGES


def test_one_file_of_all_is_gzip(imported: Path, plain: Path, tmp_path: Path) -> None:
    """Which warcio reads; the records of both are the same."""
    found = []
    for folder in (imported, plain):
        path = exported(folder, "warc", tmp_path / f"{folder.name}.warc.gz")
        with path.open("rb") as file:
            records = ArchiveIterator(file, check_digests="raise")
            found.append(
                [
                    (record.rec_type, record.rec_headers["WARC-Record-ID"], record.content_stream().read())
                    for record in records
                    if record.rec_type in ("response", "request")
                ]
            )
    assert found[0] == found[1]
    assert len(found[0]) >= PAGES


@pytest.mark.proof
def test_its_package_is_for_players(imported: Path, tmp_path: Path) -> None:
    """gzip inside, every line of the index leads to its record, and others accept it."""
    path = exported(imported, "wacz", tmp_path / "x.wacz")
    found = list(check_package(path))
    assert [each for each in found if isinstance(each, Problem)] == []
    [package] = [each for each in found if isinstance(each, Package)]
    assert package.captures == PAGES
    program = Path(sys.executable).with_name("wacz")
    checked = subprocess.run([program, "validate", "-f", path], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.proof
def test_pages_are_read_in_the_library(imported: Path, plain: Path) -> None:
    """By their places."""
    texts = [{page.url: page.text for page in periplus.open(folder).pages()} for folder in (imported, plain)]
    assert texts[0] == texts[1]
    assert len(texts[0]) == PAGES


def repaired(folder: Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "periplus", "repair", str(folder)]
    return subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.proof
def test_indexes_and_states_are_made_again(imported: Path, tmp_path: Path) -> None:
    """From the frames alone."""
    folder = Path(shutil.copytree(imported, tmp_path / "copied"))
    before = {path: path.read_bytes() for path in (folder / "warc").glob("*.cdxj")}
    for path in before:
        path.write_bytes(b"")
    shutil.rmtree(folder / "state")
    done = repaired(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path: path.read_bytes() for path in before} == before
    assert (
        exported(folder, "jsonl", tmp_path / "a").read_bytes()
        == exported(imported, "jsonl", tmp_path / "b").read_bytes()
    )


@pytest.mark.proof
def test_a_torn_file_is_cut(imported: Path, tmp_path: Path) -> None:
    """Where its last whole record ends; what follows is gone, and the rest is there."""
    folder = Path(shutil.copytree(imported, tmp_path / "copied"))
    last = warc_files(folder / "warc")[-1]
    data = last.read_bytes()
    last.write_bytes(data[: len(data) * 3 // 4])
    done = repaired(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert repaired(folder).returncode == 0
    lines = exported(folder, "jsonl", tmp_path / "x").read_bytes().splitlines()
    assert PAGES // 2 < len(lines) < PAGES
    assert all(json.loads(line)["text"] for line in lines)


def test_a_damaged_record_is_passed_over(imported: Path, tmp_path: Path) -> None:
    """The checksum of its frame does not fit; those after it are read."""
    last = warc_files(imported / "warc")[-1]
    [first, second, *_] = [each for each in read_records(last) if not isinstance(each, Problem)][10:]
    data = bytearray(last.read_bytes())
    data[first.offset + first.length - 2] ^= 1
    (tmp_path / last.name).write_bytes(data)
    found = list(read_records(tmp_path / last.name))
    assert [each.reason for each in found if isinstance(each, Problem)] == ["damaged"]
    assert second.id in [each.id for each in found if not isinstance(each, Problem)]


def test_gzip_records_in_the_archive_have_the_new_fields(tmp_path: Path) -> None:
    """warcio reads both lines of the protocol and the cipher suite."""
    from msgspec.structs import replace
    from tests.store.warc.test_packing import SENT, opened, page

    files = opened(tmp_path, compression="gzip")
    files.write(replace(page(1), protocols="h2 tls/1.3 TLS_AES_128_GCM_SHA256"), SENT)
    files.close()
    [path] = warc_files(tmp_path)
    records = {each.rec_type: each.rec_headers for each in ArchiveIterator(BytesIO(path.read_bytes()))}
    assert [value for name, value in records["response"].headers if name == "WARC-Protocol"] == ["h2", "tls/1.3"]
    assert records["response"]["WARC-Cipher-Suite"] == "TLS_AES_128_GCM_SHA256"
    assert "WARC-Protocol" not in dict(records["request"].headers)
