"""The WARC and ARC files that an import reads: given one by one, in folders, or inside WACZ packages."""

from __future__ import annotations

import lzma
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from periplus.model import Problem, Site, Url, UsageError
from periplus.urls import canonical, site_of

from ..tables.declared import ImportedFileRow
from ..warc import FileSlice, WarcRecord, read_heads
from ..warc.answers import fields_in
from ..warc.records import CAPTURES

SUFFIXES: Final = (".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz")
"""Names of files with records."""
PACKAGE: Final = ".wacz"
ARCHIVE_FOLDER: Final = "archive/"
_LOCAL_HEADER: Final = 30
"""Bytes of a member's header in a ZIP file, before its name and extra field (APPNOTE 4.3.7)."""
MAX_UNPACKED: Final = 4 << 30
"""Maximum bytes of a compressed member that is unpacked to disk; WACZ asks for stored ones."""
ZIP_ERRORS: Final = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
)
"""What `zipfile` raises for archives that are damaged, encrypted, or of a kind it does not know."""


class ArchiveFile(Struct, frozen=True):
    """A file with records. `name` is for people: its path, or package and member."""

    name: str
    source: Path | FileSlice


def archive_files(paths: Sequence[Path], scratch: Path) -> tuple[list[ArchiveFile], dict[str, Problem]]:
    """The files below these paths in order, and what is wrong with packages by name.

    Members of packages that are compressed are unpacked into the folder `scratch`, which the caller removes.
    """
    found: list[ArchiveFile] = []
    problems: dict[str, Problem] = {}
    for path in _flat(paths):
        if not path.name.lower().endswith(PACKAGE):
            found.append(ArchiveFile(str(path), path))
            continue
        try:
            with zipfile.ZipFile(path) as package:
                for member in _members(path, package, scratch):
                    if isinstance(member, Problem):
                        problems[str(path)] = member
                    else:
                        found.append(member)
        except ZIP_ERRORS as error:
            problems[str(path)] = Problem("not-a-package", str(error)[:200])
    return found, problems


def _flat(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist", hint="give WARC, ARC or WACZ files, or folders of them")
        if path.is_file():
            yield path
            continue
        if not path.is_dir():  # a pipe is read twice, and waits for a writer
            raise UsageError(f"{path} is neither a file nor a folder", hint="write it to a file first")
        inside = sorted(
            each for each in path.rglob("*") if each.name.lower().endswith((*SUFFIXES, PACKAGE)) and each.is_file()
        )
        if not inside:
            raise UsageError(f"{path} has no WARC, ARC or WACZ files", hint="give another folder, or files by name")
        yield from inside


def _members(path: Path, package: zipfile.ZipFile, scratch: Path) -> Iterator[ArchiveFile | Problem]:
    for member in package.infolist():
        if member.filename.startswith(ARCHIVE_FOLDER) and member.filename.lower().endswith(SUFFIXES):
            name = f"{path}!{member.filename}"
            if member.compress_type == zipfile.ZIP_STORED:
                yield ArchiveFile(name, slice_of(path, member))
            elif member.file_size <= MAX_UNPACKED:
                yield ArchiveFile(name, _unpacked(package, member, scratch))
            else:
                yield Problem("too-large", f"{member.filename}: {member.file_size:,} bytes, compressed"[:300])


def slice_of(path: Path, member: zipfile.ZipInfo) -> FileSlice:
    """The slice of a package that holds the bytes of a stored member."""
    with path.open("rb") as file:
        file.seek(member.header_offset)
        header = file.read(_LOCAL_HEADER)
    lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    start = member.header_offset + _LOCAL_HEADER + lengths
    return FileSlice(path, start, member.file_size, Path(member.filename).name)


def _unpacked(package: zipfile.ZipFile, member: zipfile.ZipInfo, scratch: Path) -> Path:
    scratch.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=scratch))
    target = folder / Path(member.filename).name
    with package.open(member) as source, target.open("wb") as out:
        shutil.copyfileobj(source, out, 1 << 20)
    return target


EARLIEST: Final = 631_152_000.0
"""1990: there are no captures of the web from before."""


def seconds_of(date: str) -> float | None:
    """A date as POSIX seconds; `None` if it is not one, or before there was a web."""
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return None
    at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return at if at >= EARLIEST else None


_HEAD: Final = 8_192
"""Bytes of each block that are read: enough for the fields of nearly every answer."""
MAX_SITES: Final = 1_000_000
"""Maximum number of sites that become seeds."""


class SourceInfo(Struct):
    """How many records, and captures among them, follow a `warcinfo` record in a file, itself included."""

    file: str
    warcinfo: WarcRecord | None
    records: int = 0
    captures: int = 0

    def row(self, imported_at: float) -> ImportedFileRow:
        """The row of the table for it."""
        record, fields = self.warcinfo, dict[str, str]()
        name = at = text = None
        if record is not None:
            name, at = record.id or None, seconds_of(record.fields.get("warc-date", ""))
            fields, text = fields_in(record), record.block.decode("utf-8", "replace")
        software, operator, part_of = (fields.get(each) for each in ("software", "operator", "ispartof"))
        counts = (self.records, self.captures)
        return ImportedFileRow(self.file, *counts, name, at, software, operator, part_of, text, imported_at)


class FilesSurvey(Struct):
    """What some files hold.

    `begins` has the time of the first capture of each file, which is 0.0 for a file without any. `seeds` has for each
    site the shortest URL of a page. `referred` are the digests of bodies that revisits refer to. `sources` says who
    wrote the files.
    """

    begins: list[float]
    captures: int = 0
    seeds: dict[Site, Url] = {}
    referred: set[str] = set()
    sources: list[SourceInfo] = []


def survey(files: Sequence[ArchiveFile]) -> FilesSurvey:
    """Pass over the heads of all records."""
    found = FilesSurvey([])
    for file in files:
        begins, source = 0.0, None
        for record in read_heads(file.source, size=_HEAD):
            if source is None or record.type == "warcinfo":
                source = SourceInfo(file.name, record if record.type == "warcinfo" else None)
                found.sources.append(source)
            source.records += 1
            if record.type not in CAPTURES:
                continue
            source.captures += 1
            begins = begins or seconds_of(record.fields.get("warc-date", "")) or 0.0
            found.captures += 1
            if record.type == "revisit":
                found.referred.add(record.fields.get("warc-payload-digest", ""))
            else:
                _note_seed(found.seeds, record)
        if source is None:
            found.sources.append(SourceInfo(file.name, None))
        found.begins.append(begins)
    return found


def _note_seed(seeds: dict[Site, Url], record: WarcRecord) -> None:
    url = canonical(record.url) if _is_page(record) else None
    if url is None:
        return
    site = site_of(url)
    known = seeds.get(site)
    if known is None and len(seeds) >= MAX_SITES:
        return
    if known is None or (len(url), url) < (len(known), known):
        seeds[site] = url


def _is_page(record: WarcRecord) -> bool:
    """Whether it is HTML that was there."""
    if not record.is_http:
        return record.fields.get("content-type", "").startswith("text/html")
    message = record.message()
    return message.status == 200 and "html" in (message.headers.get("content-type") or "")
