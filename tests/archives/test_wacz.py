"""WACZ packages: what is written passes our own check and others' readers, and whatever is changed is found."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from random import Random

import pytest
from tests.archives.foreign import HOME
from warcio.archiveiterator import ArchiveIterator

from periplus.apps.export.exporting import Export, ExportOptions
from periplus.collection.collection import existing
from periplus.collection.importing import import_archives
from periplus.model import Problem
from periplus.store.export import Committed, wacz
from periplus.store.export.wacz import PackageFacts, export_wacz
from periplus.store.importing import Package, PackagePage, archive_files, check_package, foreign_answers, survey


@pytest.fixture(scope="module")
def package(imported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The imported collection as a package."""
    path = tmp_path_factory.mktemp("package") / "old.wacz"
    exported = Export(existing(imported), ExportOptions("wacz", title="Old")).to_path(path)
    assert exported.written == 9
    assert exported.left_out == {"noarchive": 1}
    return path


def reasons(path: Path) -> list[str]:
    return [found.reason for found in check_package(path) if isinstance(found, Problem)]


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_a_package_passes_its_own_check(package: Path) -> None:
    """Every member is named with its hash, every line of the index leads to its record."""
    found = list(check_package(package))
    [told] = [each for each in found if isinstance(each, Package)]
    assert [each for each in found if isinstance(each, Problem)] == []
    assert (told.title, told.version, told.captures, told.pages) == ("Old", "1.1.1", 9, 2)
    pages = {page.url: page.title for page in found if isinstance(page, PackagePage)}
    assert pages == {HOME: "home, changed", f"{HOME}one": "one"}


def test_members_are_as_the_specification_has_them(package: Path) -> None:
    """WARC files stored unchanged, an index sorted by bytes, seeds first."""
    found = members(package)
    assert set(found) == {
        *(name for name in found if name.startswith("archive/")),
        "indexes/index.cdx",
        "pages/pages.jsonl",
        "pages/extraPages.jsonl",
        "datapackage.json",
        "datapackage-digest.json",
    }
    lines = found["indexes/index.cdx"].splitlines()
    assert lines == sorted(lines)
    assert lines[0].startswith(b"test,old)/ 2020010100000")
    assert json.loads(lines[0].split(b" ", 2)[2])["digest"].startswith("sha1:")
    first, home = map(json.loads, found["pages/pages.jsonl"].splitlines())
    assert first["format"] == "json-pages-1.0"
    assert (home["url"], home["ts"], home["seed"]) == (HOME, "2022-01-01T00:00:00.000Z", True)
    told = json.loads(found["datapackage.json"])
    assert told["profile"] == "data-package"
    assert told["mainPageURL"] == HOME
    assert {resource["path"] for resource in told["resources"]} == set(found) - {
        "datapackage.json",
        "datapackage-digest.json",
    }


@pytest.mark.proof
def test_the_validator_of_others_accepts_it(package: Path) -> None:
    """`wacz validate` of py-wacz: names, hashes, and an index that has what it finds in the WARC files."""
    program = Path(sys.executable).with_name("wacz")
    checked = subprocess.run([program, "validate", "-f", package], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_another_reader_finds_the_same_payloads(package: Path, imported: Path) -> None:
    """The WARC inside is the WARC of the collection, byte by byte, and warcio reads it."""
    [inside] = [data for name, data in members(package).items() if name.startswith("archive/")]
    [path] = (imported / "warc").glob("*.warc.gz")
    assert inside == path.read_bytes()
    titles = [
        record.content_stream().read()
        for record in ArchiveIterator(BytesIO(inside))
        if record.rec_type == "response" and record.rec_headers.get_header("WARC-Target-URI") == f"{HOME}one"
    ]
    assert b"<title>one</title>" in titles[0]


def test_long_indexes_are_in_blocks(imported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compressed blocks, and a second level that leads to each; with `--all`, everything is listed."""
    monkeypatch.setattr(wacz, "LINES_PER_BLOCK", 4)
    path = tmp_path / "x.wacz"
    with path.open("wb") as out:
        facts = PackageFacts("x", "test", existing(imported).seeds, wants_all=True)
        assert export_wacz(imported, out, Committed(), facts).written == 10
    assert reasons(path) == []
    found = members(path)
    assert len(found["indexes/index.idx"].splitlines()) == 1 + 3
    assert "indexes/index.cdx.gz" in found


def test_a_package_becomes_the_same_collection(package: Path, imported: Path, tmp_path: Path) -> None:
    """Export, import: the same fetches."""
    done = import_archives(tmp_path / "again", [package])
    assert (done.captures, done.problems) == (10, {})
    assert set(existing(tmp_path / "again").seeds) == set(existing(imported).seeds)


Change = Callable[[dict[str, bytes]], None]


def _drop(name: str) -> Change:
    return lambda found: found.__delitem__(name)


def _replace(name: str, old: bytes, new: bytes) -> Change:
    def change(found: dict[str, bytes]) -> None:
        assert old in found[name]
        found[name] = found[name].replace(old, new)

    return change


def _reverse(found: dict[str, bytes]) -> None:
    found["indexes/index.cdx"] = b"".join(reversed(found["indexes/index.cdx"].splitlines(keepends=True)))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_drop("datapackage.json"), {"no-datapackage"}),
        (_drop("pages/pages.jsonl"), {"missing-member"}),
        (lambda found: found.update({"pages/other.txt": b"x"}), {"unlisted-member"}),
        (_replace("pages/pages.jsonl", b'"home', b'"gnome'), {"hash-mismatch", "size-mismatch"}),
        (_replace("pages/pages.jsonl", b"{", b"["), {"hash-mismatch", "bad-pages"}),
        (_reverse, {"hash-mismatch", "unsorted-index"}),
        (
            _replace("indexes/index.cdx", b'"offset": "', b'"offset": "9999'),
            {"hash-mismatch", "size-mismatch", "dangling"},
        ),
        (_replace("indexes/index.cdx", b"http://", b"mttp://"), {"hash-mismatch"}),
        (_replace("indexes/index.cdx", b'{"url"', b'{"uri"'), {"hash-mismatch", "bad-index-line"}),
        (_replace("datapackage.json", b"sha256:", b"sha999:"), {"bad-digest", "unknown-hash"}),
        (_replace("datapackage.json", b"wacz_version", b"version"), {"bad-digest", "no-version"}),
        (_replace("datapackage.json", b"{", b""), {"bad-datapackage"}),
    ],
)
def test_changes_are_found(package: Path, tmp_path: Path, change: Change, expected: set[str]) -> None:
    """Each by its reason."""
    found = members(package)
    change(found)
    with zipfile.ZipFile(tmp_path / "x.wacz", "w") as file:
        for name, data in found.items():
            file.writestr(name, data)
    assert set(reasons(tmp_path / "x.wacz")) == expected


def test_compressed_archives_and_damaged_files_are_found(package: Path, tmp_path: Path) -> None:
    """Players could not seek in the first, nor open the second."""
    with zipfile.ZipFile(tmp_path / "x.wacz", "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members(package).items():
            file.writestr(name, data)
    assert set(reasons(tmp_path / "x.wacz")) == {"compressed-member", "dangling"}
    whole = package.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 5):
        (tmp_path / "cut.wacz").write_bytes(whole[:length])
        assert reasons(tmp_path / "cut.wacz") == ["not-a-package"]


def test_no_package_makes_the_check_fail(package: Path, tmp_path: Path) -> None:
    """Whatever bytes are wrong, there is an answer, and an import reads what it can."""
    whole, chance = package.read_bytes(), Random(3)
    path = tmp_path / "x.wacz"
    found_wrong = 0
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 12)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data)
        found_wrong += bool(reasons(path))
        files, _ = archive_files([path], tmp_path / "scratch")
        for _answer in foreign_answers(files, survey(files)):
            pass
    assert found_wrong > 50


@pytest.mark.slow
def test_more_members_than_16_bits_count(tmp_path: Path) -> None:
    """70,000 WARC files in one package: the directory at the end is that of ZIP64."""
    warc = tmp_path / "collection" / "warc"
    warc.mkdir(parents=True)
    (tmp_path / "collection" / "tables").mkdir()
    for number in range(70_000):
        (warc / f"periplus-00-20260101000000-{number:05d}.warc.gz").write_bytes(b"")
    with (tmp_path / "x.wacz").open("wb") as out:
        export_wacz(tmp_path / "collection", out, Committed(), PackageFacts("x", "test", ()))
    with zipfile.ZipFile(tmp_path / "x.wacz") as file:
        assert len(file.namelist()) > 70_000
    assert reasons(tmp_path / "x.wacz") == []


@pytest.mark.slow
def test_more_than_four_gibibytes(tmp_path: Path) -> None:
    """One WARC file of 4.5 GiB, which is a hole in the file system: sizes and offsets need more than 32 bits."""
    warc = tmp_path / "collection" / "warc"
    warc.mkdir(parents=True)
    (tmp_path / "collection" / "tables").mkdir()
    with (warc / "periplus-00-20260101000000-00001.warc.gz").open("wb") as file:
        file.truncate((4 << 30) + (1 << 29))
    with (tmp_path / "x.wacz").open("wb") as out:
        export_wacz(tmp_path / "collection", out, Committed(), PackageFacts("x", "test", ()))
    assert reasons(tmp_path / "x.wacz") == []
