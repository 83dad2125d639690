"""WACZ packages (Web Archive Collection Zipped 1.1.1, and 1.0.0 as older writers left it), read and checked.

A package is a ZIP file with WARC files in `archive/`, CDXJ in `indexes/`, lists of pages in `pages/`, and
`datapackage.json`, which names every member with its SHA-256 and size. `check_package` reads all of it once, in bounded
memory. `Package.signature` is that of `datapackage.json` (`wacz_auth`): `valid`, `invalid`, `untrusted`; empty if there
is none. It is invalid as well if a member differs from what `datapackage.json` says. Reasons of the problems:

- `not-a-package`: not a ZIP file, or a damaged one;
- `no-datapackage`, `bad-datapackage`: `datapackage.json` is missing, or not JSON of that form; `no-version`;
- `missing-member`, `unlisted-member`: a resource without a member, or a member without a resource;
- `unknown-hash`: a hash that is not SHA-256; `hash-mismatch`, `size-mismatch`: the member differs;
- `bad-digest`: `datapackage-digest.json` does not fit `datapackage.json`;
- `odd-zip`: the directory of the ZIP file is not whole; or something around the members of a signed package that no
  writer leaves there (`zip_layout`);
- `compressed-member`: a WARC file or a compressed index that is not stored as it is, so players cannot seek in it;
- `bad-pages`: a list of pages whose first line or another line is not JSON of that form;
- `bad-index-line`, `unsorted-index`: a line that is not CDXJ, or comes after a later one;
- `bad-block`: a line of `index.idx` that does not lead to a block of the index;
- `dangling`: a line of the index that leads to no record with its URL.
"""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus.model import Problem

from ..wacz_auth import INVALID, PackageSignature, verify_signature
from ..warc import CdxLine, FileSlice, WarcRecord, read_records
from ..warc.cdxj import key_of, read_line
from .files import ARCHIVE_FOLDER, ZIP_ERRORS, slice_of
from .zip_layout import odd_places

PAGES_FORMAT: Final = "json-pages-1.0"
DATAPACKAGE: Final = "datapackage.json"
DIGEST: Final = "datapackage-digest.json"
_MAX_DATAPACKAGE: Final = 64 << 20
"""Bytes of `datapackage.json`: some hundred thousand resources."""
_MAX_LINE: Final = 1 << 20
_MAX_EXAMPLES: Final = 1_000
"""Problems of one kind that are returned; more are not looked for."""
_PIECE: Final = 1 << 20
_OF_MEMBERS: Final = frozenset(
    {"missing-member", "unlisted-member", "unknown-hash", "hash-mismatch", "size-mismatch", "bad-digest", "odd-zip"}
)
"""Problems of a package that is not as it was signed."""


class Package(Struct, frozen=True):
    """What a package says of itself, and how much is in it."""

    title: str
    version: str
    software: str
    created: str
    main_page: str
    archives: int
    pages: int
    captures: int
    bytes: int
    is_signed: bool
    signature: str = ""
    signed_with: str = ""
    """`key` or `domain`."""
    signed_by: str = ""
    """The public key, or the domain."""
    signed_at: str = ""
    """When an authority confirmed it; empty if none did."""
    signature_reason: str = ""
    """Why it is not valid."""


class PackagePage(Struct, frozen=True, rename={"at": "ts"}):
    """A page that a package lists."""

    url: str
    at: str = ""
    title: str | None = ""


class _Stats(Struct):
    hash: str = ""
    bytes: int = -1


class _Resource(Struct):
    path: str
    hash: str = ""
    bytes: int = -1
    stats: _Stats | None = None
    hashing: str = "sha256"


class _Metadata(Struct):
    title: str = ""


class _Datapackage(Struct):
    resources: list[_Resource] = []
    wacz_version: str = ""
    title: str = ""
    software: str = ""
    created: str = ""
    mainPageURL: str = ""  # noqa: N815 - the name in the file
    metadata: _Metadata | None = None


class _Digest(Struct):
    path: str = ""
    hash: str = ""
    signedData: object = None  # noqa: N815 - the name in the file


class _PagesHeader(Struct):
    format: str


class _Block(Struct):
    offset: int
    length: int
    filename: str = ""


def check_package(path: Path, trusted: Sequence[Path] = ()) -> Iterator[Package | PackagePage | Problem]:
    """The pages of a package, its problems, and at the end the package itself if it has a `datapackage.json`.

    `trusted` are files of authorities (PEM) that may vouch for a signature, besides those of the web.
    """
    try:
        with zipfile.ZipFile(path) as package:
            yield from _Check(path, package, trusted).run()
    except ZIP_ERRORS as error:
        yield Problem("not-a-package", str(error)[:200])


def listed_pages(path: Path, member: str = "pages/pages.jsonl") -> Iterator[PackagePage]:
    """The pages of one list of a package, as far as they can be read; nothing if there is no such list."""
    try:
        with zipfile.ZipFile(path) as package, package.open(member) as lines:
            for page in read_pages(cast("BinaryIO", lines)):
                if isinstance(page, PackagePage):
                    yield page
    except (*ZIP_ERRORS, KeyError):
        return


def read_pages(lines: Iterable[bytes]) -> Iterator[PackagePage | Problem]:
    """The pages of a list: a line of JSON with the format, then one for each page."""
    is_first = True
    for number, line in enumerate(lines):
        if len(line) > _MAX_LINE:
            yield Problem("bad-pages", f"line {number + 1} has {len(line)} bytes")
            continue
        if not line.strip():
            continue
        try:
            if is_first:
                header = msgspec.json.decode(line, type=_PagesHeader)
                if header.format != PAGES_FORMAT:
                    yield Problem("bad-pages", f"the format is {header.format[:40]}")
            else:
                yield msgspec.json.decode(line, type=PackagePage)
        except msgspec.MsgspecError as error:
            yield Problem("bad-pages", f"line {number + 1}: {error}"[:200])
        is_first = False


class _Check:
    def __init__(self, path: Path, package: zipfile.ZipFile, trusted: Sequence[Path]) -> None:
        self._path = path
        self._package = package
        self._trusted = trusted
        self._is_changed = False
        self._members = {member.filename: member for member in package.infolist() if not member.is_dir()}
        self._slices: dict[str, FileSlice | None] = {}
        self._pages = 0
        self._captures = 0

    def run(self) -> Iterator[Package | PackagePage | Problem]:
        package = self._datapackage()
        if isinstance(package, Problem):
            yield package
            return
        if not package.wacz_version:
            yield Problem("no-version", DATAPACKAGE)
        signature = None
        for problem in chain(self._check_members(package), self._check_digest()):
            self._is_changed = self._is_changed or problem.reason in _OF_MEMBERS
            yield problem
        if (signed := self._signed_data()) is not None:
            signature = verify_signature(signed, f"sha256:{self._hash(DATAPACKAGE)[0]}", self._trusted)
            if signature.state != INVALID and self._is_changed:
                signature = replace(signature, state=INVALID, reason="the package is not as it was signed")
        for name in self._members:
            if name.startswith("pages/") and name.endswith(".jsonl"):
                yield from self._check_pages(name)
        for name in self._members:
            if name.startswith("indexes/"):
                yield from self._check_index(name)
        yield self._summary(package, signature)

    def _summary(self, package: _Datapackage, signature: PackageSignature | None) -> Package:
        archives = [member for name, member in self._members.items() if name.startswith(ARCHIVE_FOLDER)]
        title = package.title or (package.metadata.title if package.metadata else "")
        found = Package(
            title, package.wacz_version, package.software, package.created, package.mainPageURL,
            len(archives), self._pages, self._captures, sum(member.file_size for member in archives), bool(signature),
        )  # fmt: skip
        if signature is None:
            return found
        return replace(
            found,
            signature=signature.state,
            signed_with=signature.kind,
            signed_by=signature.identity or signature.public_key or "",
            signed_at=signature.signed_at,
            signature_reason=signature.reason,
        )

    def _datapackage(self) -> _Datapackage | Problem:
        member = self._members.get(DATAPACKAGE)
        if member is None or member.file_size > _MAX_DATAPACKAGE:
            return Problem("no-datapackage", DATAPACKAGE)
        try:
            return msgspec.json.decode(self._package.read(member), type=_Datapackage)
        except msgspec.MsgspecError as error:
            return Problem("bad-datapackage", str(error)[:200])

    def _check_digest(self) -> Iterator[Problem]:
        if DIGEST in self._members:
            digest = self._digest()
            if digest is None or digest.hash != f"sha256:{self._hash(DATAPACKAGE)[0]}":
                yield Problem("bad-digest", DIGEST)
        is_signed = self._signed_data() is not None
        for place in odd_places(self._path, self._package, is_signed=is_signed):
            yield Problem("odd-zip", place)

    def _signed_data(self) -> object | None:
        digest = self._digest()
        return digest.signedData if digest is not None else None

    def _digest(self) -> _Digest | None:
        member = self._members.get(DIGEST)
        if member is None or member.file_size >= _PIECE:
            return None
        try:
            return msgspec.json.decode(self._package.read(member), type=_Digest)
        except msgspec.MsgspecError:
            return None

    def _check_members(self, package: _Datapackage) -> Iterator[Problem]:
        listed = {resource.path for resource in package.resources}
        for resource in package.resources:
            if resource.path not in self._members:
                yield Problem("missing-member", resource.path[:200])
            else:
                yield from self._check_resource(resource)
        for name, member in self._members.items():
            if name not in listed and name not in (DATAPACKAGE, DIGEST):
                yield Problem("unlisted-member", name[:200])
            has_offsets = name.startswith(ARCHIVE_FOLDER) or name.endswith(".cdx.gz")
            if has_offsets and member.compress_type != zipfile.ZIP_STORED:
                yield Problem("compressed-member", name[:200])

    def _check_resource(self, resource: _Resource) -> Iterator[Problem]:
        stats = resource.stats
        digest = resource.hash or (f"{resource.hashing}:{stats.hash}" if stats else "")
        size = resource.bytes if stats is None else stats.bytes
        if not digest.startswith("sha256:"):
            yield Problem("unknown-hash", f"{resource.path}: {digest}"[:200])
            return
        found, length = self._hash(resource.path)
        if f"sha256:{found}" != digest:
            yield Problem("hash-mismatch", resource.path[:200])
        if size not in (length, -1):
            yield Problem("size-mismatch", f"{resource.path}: {length} bytes, not {size}"[:200])

    def _hash(self, name: str) -> tuple[str, int]:
        """SHA-256 and length of a member; a checksum that fails while it is read ends the check of the package."""
        digest, length = sha256(), 0
        with self._package.open(name) as member:
            while piece := member.read(_PIECE):
                digest.update(piece)
                length += len(piece)
        return digest.hexdigest(), length

    def _check_pages(self, name: str) -> Iterator[PackagePage | Problem]:
        with self._package.open(name) as lines:
            for page in read_pages(cast("BinaryIO", lines)):
                self._pages += isinstance(page, PackagePage)
                yield page

    # indexes

    def _check_index(self, name: str) -> Iterator[Problem]:
        if name.endswith(".idx"):
            yield from _some(self._check_blocks(name))
        elif name.endswith((".cdx", ".cdxj", ".cdx.gz")):
            yield from _some(self._check_lines(name))

    def _check_lines(self, name: str) -> Iterator[Problem]:
        last = b""
        with self._package.open(name) as raw, gzip.open(raw) if name.endswith(".gz") else nullcontext(raw) as lines:
            for line in lines:
                if line.startswith(b"!"):
                    continue
                if line < last:
                    yield Problem("unsorted-index", f"{name}: {line[:100]!r}")
                last = line
                read = read_line(line)
                if read is None:
                    yield Problem("bad-index-line", f"{name}: {line[:100]!r}")
                    continue
                self._captures += 1
                if not self._leads_to(read):
                    yield Problem("dangling", f"{read.url} at {read.offset} of {read.filename}"[:300])

    def _leads_to(self, line: CdxLine) -> bool:
        """Whether there is a record with the URL of a line at its place."""
        source = self._slice(ARCHIVE_FOLDER + line.filename)
        if source is None or line.offset >= source.length:
            return False
        record = next(read_records(source, offset=line.offset, max_block=1), None)
        if not isinstance(record, WarcRecord):
            return False
        return record.url == line.url or key_of(record.url) == line.key or line.url.startswith(record.url)

    def _slice(self, name: str) -> FileSlice | None:
        if name not in self._slices:
            member = self._members.get(name)
            is_stored = member is not None and member.compress_type == zipfile.ZIP_STORED
            self._slices[name] = slice_of(self._path, member) if member is not None and is_stored else None
        return self._slices[name]

    def _check_blocks(self, name: str) -> Iterator[Problem]:
        """Check that each line of the second level points to a block of the first that begins with the same key."""
        with self._package.open(name) as lines:
            for line in lines:
                if line.startswith(b"!"):
                    continue
                key, _, rest = line.partition(b" ")
                try:
                    block = msgspec.json.decode(rest.partition(b" ")[2], type=_Block)
                except msgspec.MsgspecError:
                    yield Problem("bad-block", f"{name}: {line[:100]!r}")
                    continue
                index = self._slice(f"indexes/{block.filename or 'index.cdx.gz'}")
                if index is None or not _begins(index, block, key):
                    yield Problem("bad-block", f"{name}: {line[:100]!r}")


def _begins(index: FileSlice, block: _Block, key: bytes) -> bool:
    if not 0 <= block.offset < block.offset + block.length <= index.length:
        return False
    part = FileSlice(index.path, index.start + block.offset, block.length, index.name)
    try:
        with part.open() as file, gzip.open(file) as lines:
            return lines.readline(_MAX_LINE).startswith(key)
    except ZIP_ERRORS:
        return False


def _some(problems: Iterator[Problem]) -> Iterator[Problem]:
    for number, problem in enumerate(problems, 1):
        yield problem
        if number >= _MAX_EXAMPLES:
            yield Problem("more-problems", f"{number} so far")
            return
