"""A collection as one WACZ file (Web Archive Collection Zipped 1.1.1), which players open in a browser.

| member | is |
|---|---|
| `archive/*.warc.gz` | the WARC files, as far as they were committed; stored, so that players can seek |
| `indexes/index.cdx` | CDXJ; from `LINES_PER_BLOCK` lines on `index.cdx.gz` in gzip blocks, and `index.idx` over them |
| `pages/pages.jsonl` | seeds and home pages; all other pages are in `extraPages.jsonl` |
| `datapackage.json` | title, dates, and every member with its SHA-256 |
| `datapackage-digest.json` | the SHA-256 of that, and its signature (`wacz_auth`) if one is asked for |

Every byte is read once: it is hashed while it is copied. Captures of pages that ask not to be shown as a copy
(`noarchive`) are in the WARC files, but neither in the index nor in the lists, unless they are asked for. Files of
Zstandard frames become gzip, since no player reads them. Keys have no `www.`, as those of other indexers: players look
pages up by them.
"""

from __future__ import annotations

import re
import zipfile
from array import array
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import ExitStack
from datetime import UTC, datetime
from hashlib import sha256
from heapq import merge
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from periplus.model import Url
from periplus.urls import fingerprint, fingerprints

from ..tables import Spooled, scan
from ..wacz_auth import PackageSigner
from ..warc import CdxLine
from ..warc.cdxj import read_line
from ..warc.copying import as_gzip
from ..warc.index import is_indexed
from ..warc.index import scan as scan_lines
from ..warc.members import deflated
from ..warc.packing import GZIP
from ..warc.records import index_of
from .exporting import Committed, Exported, committed_files

VERSION: Final = "1.1.1"
LINES_PER_BLOCK: Final = 3_000
"""Lines of a gzip block of the index: what all players and Common Crawl use."""
NOARCHIVE: Final = "noarchive"
_COMPRESSION: Final = 2
"""Level of isal for blocks of the index."""
_PIECE: Final = 1 << 20
_LARGE: Final = 1 << 31
"""Bytes from which a member is written with ZIP64 sizes: half of what 32 bits can name, for what may still grow."""
_PAGE_TYPES: Final = ("text/html", "application/xhtml+xml")
_encode = msgspec.json.encode


class PackageFacts(Struct, frozen=True):
    """What a package says of itself."""

    title: str
    software: str
    seeds: tuple[Url, ...]
    description: str = ""
    wants_all: bool = False
    """Whether captures of pages that say `noarchive` are listed, too."""
    signer: PackageSigner | None = None


class _Resource(Struct, frozen=True):
    name: str
    path: str
    hash: str
    bytes: int


class _Moved(NamedTuple):
    """Where the records of a file are that were packed anew: in `name`, from each offset to the next."""

    name: str
    before: NDArray[np.int64]
    after: NDArray[np.int64]

    def place(self, line: CdxLine) -> CdxLine:
        at = int(np.searchsorted(self.before, line.offset))
        offset, end = int(self.after[at]), int(self.after[at + 1])
        return replace(line, offset=offset, length=end - offset, filename=self.name)


class _PageLine(Struct, frozen=True, omit_defaults=True):
    id: str
    url: str
    ts: str
    title: str = ""
    seed: bool = False


def export_wacz(collection: Path, out: BinaryIO, committed: Committed, facts: PackageFacts) -> Exported:
    """Write the package; what is counted are captures in its index."""
    work = _Package(collection, out, committed, facts)
    with work.file:
        work.add_archive()
        written = work.add_index()
        work.add_pages()
        work.finish()
    return Exported(written, {NOARCHIVE: work.left_out} if work.left_out else {})


class _Package:
    def __init__(self, collection: Path, out: BinaryIO, committed: Committed, facts: PackageFacts) -> None:
        self._tables = collection / "tables"
        self._committed = committed
        self._facts = facts
        self._files = list(committed_files(collection / "warc", committed.archive))
        self._moved: dict[str, _Moved] = {}
        self._hidden = frozenset() if facts.wants_all else _noarchive(self._tables, committed.spooled)
        self._resources: list[_Resource] = []
        self._now = datetime.now(UTC)
        self._main_date = ""
        self.file = zipfile.ZipFile(out, "w")
        self.left_out = 0

    # archive

    def add_archive(self) -> None:
        """Copy the WARC files."""
        for path, length in self._files:
            if not path.name.endswith(GZIP):
                self._add_as_gzip(path, length)
                continue
            with self._member(f"archive/{path.name}", size=length) as member, path.open("rb") as file:
                while length > 0 and (piece := file.read(min(length, _PIECE))):
                    member.write(piece)
                    length -= len(piece)

    def _add_as_gzip(self, path: Path, length: int) -> None:
        """Pack the records of a file anew, and note where they are then."""
        name = path.with_suffix(".gz").name
        before, after = array("q"), array("q", [0])
        with self._member(f"archive/{name}", size=_LARGE) as member:
            for record, pieces in as_gzip(path, length, _COMPRESSION):
                size = 0
                for piece in pieces:
                    member.write(piece)
                    size += len(piece)
                before.append(record.offset)
                after.append(after[-1] + size)
        self._moved[path.name] = _Moved(name, np.asarray(before), np.asarray(after))

    # index

    def add_index(self) -> int:
        """Write the index: a plain one if it is short."""
        with ExitStack() as stack:
            lines = self._lines(stack)
            first = list(islice(lines, LINES_PER_BLOCK))
            if len(first) < LINES_PER_BLOCK:
                with self._member("indexes/index.cdx", is_packed=True) as member:
                    member.write(b"".join(first))
                return len(first)
            return self._add_blocks(chain(first, lines))

    def _lines(self, stack: ExitStack) -> Iterator[bytes]:
        """All lines of the index in order, in the form that packages use."""
        hidden = self._hidden
        for line in merge(*(_index_lines(path, length, stack) for path, length in self._files)):
            read = read_line(line)
            if read is None:
                continue
            if hidden and fingerprint(Url(read.url)) in hidden:
                self.left_out += 1
                continue
            moved = self._moved.get(read.filename)
            if moved is None and not _is_sha1(read.digest):
                yield line
                continue
            digest = f"sha1:{read.digest}" if _is_sha1(read.digest) else read.digest
            yield replace(read if moved is None else moved.place(read), digest=digest).encode()

    def _add_blocks(self, lines: Iterator[bytes]) -> int:
        """Blocks of gzip one after another, and for each a line with its first key and its place."""
        places = [b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n']
        offset = written = 0
        large = sum(index_of(path).stat().st_size for path, _ in self._files if index_of(path).exists()) > _LARGE
        with self._member("indexes/index.cdx.gz", size=_LARGE if large else 0) as member:
            while block := list(islice(lines, LINES_PER_BLOCK)):
                packed = deflated(b"".join(block), _COMPRESSION)
                member.write(packed)
                key, at, _ = block[0].split(b" ", 2)
                place = {
                    "offset": offset,
                    "length": len(packed),
                    "digest": f"sha256:{sha256(packed).hexdigest()}",
                    "filename": "index.cdx.gz",
                }
                places.append(b"%s %s %s\n" % (key, at, _encode(place)))
                offset += len(packed)
                written += len(block)
        with self._member("indexes/index.idx", is_packed=True) as member:
            member.write(b"".join(places))
        return written

    # pages

    def add_pages(self) -> None:
        """Write both lists."""
        seeds = {fingerprint(seed) for seed in self._facts.seeds}
        times = _FetchTimes(self._tables, self._committed.spooled)
        with self._member("pages/pages.jsonl", is_packed=True) as member:
            member.write(_header("pages", "Seeds and home pages"))
            for page, is_first in self._pages(times, seeds):
                if is_first:
                    member.write(_encode(page) + b"\n")
                    if page.seed and not self._main_date and page.url == self._facts.seeds[0]:
                        self._main_date = page.ts
        with self._member("pages/extraPages.jsonl", is_packed=True) as member:
            member.write(_header("extra", "Other pages"))
            member.writelines(_encode(page) + b"\n" for page, is_first in self._pages(times, seeds) if not is_first)

    def _pages(self, times: _FetchTimes, seeds: Set[int]) -> Iterator[tuple[_PageLine, bool]]:
        """The last good version of every page, and whether it belongs on the first list."""
        columns = ["url", "read_at", "title", "mime"]
        for batch in scan(self._tables, "pages", spooled=self._committed.spooled, columns=columns):
            for row in _rows(batch):
                key = fingerprint(row["url"])
                started = times.last_started(key, row["read_at"])
                if started is None or row["mime"] not in _PAGE_TYPES or key in self._hidden:
                    continue
                is_seed = key in seeds
                ts = datetime.fromtimestamp(started / 1e6, UTC).isoformat(timespec="milliseconds")
                page = _PageLine(f"{key:016x}", row["url"], ts.replace("+00:00", "Z"), row["title"] or "", is_seed)
                yield page, is_seed or (row["url"].endswith("/") and row["url"].count("/") == 3)

    # the end

    def finish(self) -> None:
        """Write what names all members."""
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        facts = self._facts
        package = {
            "profile": "data-package",
            "wacz_version": VERSION,
            "title": facts.title,
            "description": facts.description,
            "created": now,
            "modified": now,
            "software": facts.software,
            "mainPageURL": facts.seeds[0] if facts.seeds else "",
            "mainPageDate": self._main_date,
            "resources": self._resources,
        }
        data = msgspec.json.format(_encode({name: value for name, value in package.items() if value != ""}), indent=2)
        with self._member("datapackage.json", is_packed=True) as member:
            member.write(data)
        told = f"sha256:{sha256(data).hexdigest()}"
        digest: dict[str, Any] = {"path": "datapackage.json", "hash": told}
        if facts.signer is not None:
            digest["signedData"] = facts.signer.sign(told, now, facts.software)
        with self._member("datapackage-digest.json", is_packed=True) as member:
            member.write(msgspec.json.format(_encode(digest), indent=2))

    def _member(self, path: str, *, size: int = 0, is_packed: bool = False) -> _Member:
        info = zipfile.ZipInfo(path, self._now.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED if is_packed else zipfile.ZIP_STORED
        info.external_attr = 0o100644 << 16
        return _Member(self.file.open(info, "w", force_zip64=size >= _LARGE), path, self._resources)


_NOT_IN_NAMES: Final = re.compile(r"[^-a-z0-9._/]")
"""What names of resources may not have: `pages/extraPages.jsonl` is that of the path alone."""


class _Member:
    """A member that is hashed while it is written, and then listed."""

    def __init__(self, opened: IO[bytes], path: str, resources: list[_Resource]) -> None:
        self._opened, self._path, self._resources = opened, path, resources
        self._digest, self._length = sha256(), 0

    def __enter__(self) -> _Member:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()
        name = _NOT_IN_NAMES.sub("-", self._path.rpartition("/")[2].lower())
        digest = f"sha256:{self._digest.hexdigest()}"
        self._resources.append(_Resource(name, self._path, digest, self._length))

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        self._length += len(data)
        self._opened.write(data)

    def writelines(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self.write(line)


class _FetchTimes:
    """When pages were fetched, and whether well: 17 bytes a fetch."""

    def __init__(self, tables: Path, spooled: Sequence[Spooled]) -> None:
        keys, times, good = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
        columns = ["url", "purpose", "outcome", "status", "started_at"]
        for batch in scan(tables, "fetches", spooled=spooled, columns=columns):
            rows = batch.filter(
                pc.and_(pc.equal(batch["purpose"].cast(pa.string()), "page"), pc.is_valid(batch["status"]))
            )
            status = rows["status"].to_numpy(zero_copy_only=False)
            keys.append(np.array(fingerprints(rows["url"].to_pylist()), np.uint64))
            times.append(rows["started_at"].cast(pa.int64()).to_numpy(zero_copy_only=False))
            good.append((status >= 200) & (status < 300))
        key, time, is_good = np.concatenate(keys), np.concatenate(times), np.concatenate(good)
        order = np.lexsort((time, key))
        self._keys: NDArray[np.uint64] = key[order]
        self._times: NDArray[np.int64] = time[order]
        self._good: NDArray[np.bool_] = is_good[order]

    def last_started(self, key: int, read_at: datetime) -> int | None:
        """When the version that was read then was fetched, if it is the last good one of its URL."""
        first = int(np.searchsorted(self._keys, np.uint64(key), "left"))
        end = int(np.searchsorted(self._keys, np.uint64(key), "right"))
        good = first + np.flatnonzero(self._good[first:end])
        if not len(good):
            return None
        last = int(good[-1])
        moment = round(read_at.timestamp() * 1e6)
        following = int(self._times[last + 1]) if last + 1 < end else 1 << 62
        started = int(self._times[last])
        return started if started <= moment < following else None


def _is_sha1(digest: str) -> bool:
    """Whether it is a digest without its name; others keep theirs."""
    return bool(digest) and ":" not in digest


def _noarchive(tables: Path, spooled: Sequence[Spooled]) -> frozenset[int]:
    """Fingerprints of pages of which a version has `noarchive`."""
    found: set[int] = set()
    for batch in scan(tables, "pages", spooled=spooled, columns=["url", "noarchive"]):
        some = batch.filter(pc.fill_null(batch["noarchive"], False))
        found.update(fingerprints(some["url"].to_pylist()))
    return frozenset(found)


def _index_lines(path: Path, length: int, stack: ExitStack) -> Iterable[bytes]:
    """The sorted index of a WARC file as far as it was committed."""
    if is_indexed(path) and length == path.stat().st_size:
        return stack.enter_context(index_of(path).open("rb"))
    return sorted(line.encode() for line in scan_lines(path, length))


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    yield from batch.to_pylist()


def _header(name: str, title: str) -> bytes:
    return _encode({"format": "json-pages-1.0", "id": name, "title": title}) + b"\n"
