"""The WARC and ARC files that an import reads: given one by one, in folders, or inside WACZ packages."""

from __future__ import annotations

import lzma
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from periplus.model import Problem, UsageError

from ..warc import FileSlice

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
        if not path.is_dir():
            yield path
            continue
        inside = sorted(each for each in path.rglob("*") if each.name.lower().endswith((*SUFFIXES, PACKAGE)))
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
    """Where the bytes of a stored member lie in its package."""
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
