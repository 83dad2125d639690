"""The copy of a state on a path that several machines reach: an image of it, and what each commit since has changed.

    NUMBER.base     the whole state as of a commit: an LMDB file
    NUMBER.delta    the rows that this commit has written and removed

A file is written once, under its final name only when it is whole, and never changed: that is all that network file
systems and mounted buckets can be trusted with. Each begins with its writer (`Stamp`) and with the length and the
checksum of the rest, which is compressed.

**Numbers are taken, not given.** A delta gets its name by a hard link, which fails if there is one of that name, on one
machine as on NFS: of two processes that both believe to hold a shard exactly one writes the next commit, and the other
learns that it was deposed (`CollectionInUse`). Old deltas are removed only after the image that they started from, and
a process that has written one checks that its image is still there: so a number that was taken and removed meanwhile
misleads no process. Where there are no hard links (most mounted buckets) a file is created exclusively under its final
name; there the last delta may be torn, and leases must keep two from writing at once.

Rows are logged, not blocks: a changed row of 100 bytes is 40 compressed bytes here and a page of 4 KB in LMDB's file,
and nothing depends on how LMDB lays out its pages. (ARIES calls it logical redo; Mohan et al., TODS 17(1), 1992.)
What is decided from these files, and when an image is written, is in `replica`.
"""

from __future__ import annotations

import errno
import os
import secrets
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec
import zstandard
from msgspec import Struct
from xxhash import xxh3_64, xxh3_64_intdigest

from periplus.model import CollectionDamaged, CollectionError, CollectionInUse

from ..durable import replace_file

Changes = dict[str, dict[bytes, bytes | None]]
"""By table and key: the new value of a row; `None`: it was removed."""

FOLDER = "copy"
"""Its name in the folder of a shard."""

_BASE, _DELTA, _PART = ".base", ".delta", ".part"
_MAGIC = b"periplu1"
_HEAD = struct.Struct("<8sQQ8sQQ")
_CHUNK = 1 << 22
_LEVEL = 1
_LISTINGS, _BETWEEN_LISTINGS = 5, 0.02
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES, errno.EINVAL})


class Stamp(Struct, frozen=True, array_like=True):
    """The number of a commit and the epoch of its holder; `token` distinguishes it from others with this number."""

    commit: int
    epoch: int
    token: bytes

    @classmethod
    def new(cls, commit: int, epoch: int) -> Stamp:
        """Another than any before."""
        return cls(commit, epoch, secrets.token_bytes(8))


class Contents(Struct, frozen=True):
    """What is there to build on: an image, and the numbers of the deltas after it, without a gap."""

    base: int
    deltas: range

    @property
    def last(self) -> int:
        """The last commit."""
        return self.deltas[-1] if self.deltas else self.base


class RedoLog:
    """The files of one shard's copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._has_links = True

    # what is there

    def contents(self) -> Contents | None:
        """The newest image and what follows it; `None`: nothing was copied yet.

        A listing that was drawn while an image replaced others may miss something; one drawn later does not.
        """
        for _ in range(_LISTINGS):
            try:
                names = [path.name for path in self.folder.iterdir()]
            except FileNotFoundError:
                return None
            bases = [_number(name) for name in names if name.endswith(_BASE)]
            if not bases:
                return None
            base = max(bases)
            deltas = sorted(number for name in names if name.endswith(_DELTA) and (number := _number(name)) > base)
            if deltas == list(range(base + 1, base + 1 + len(deltas))):
                return Contents(base, range(base + 1, base + 1 + len(deltas)))
            time.sleep(_BETWEEN_LISTINGS)
        raise _damaged(self.folder, "a commit is missing")

    def stamp(self, number: int) -> Stamp:
        """The writer of this commit; an image of it names it, too."""
        for suffix in (_DELTA, _BASE):
            with suppress(FileNotFoundError), self._path(number, suffix).open("rb") as file:
                return _read_head(file, self.folder)[0]
        raise FileNotFoundError(self._path(number, _DELTA))

    def sizes(self) -> tuple[int, dict[int, int]]:
        """Bytes of the newest image, and of each delta after it."""
        contents = self.contents()
        if contents is None:
            raise FileNotFoundError(self.folder)
        deltas = {number: self._path(number, _DELTA).stat().st_size for number in contents.deltas}
        return self._path(contents.base, _BASE).stat().st_size, deltas

    def changes(self, number: int) -> tuple[Stamp, Changes] | None:
        """The changes of a commit; `None`: it was not written completely."""
        data = self._path(number, _DELTA).read_bytes()
        if len(data) < _HEAD.size:
            return None
        stamp, length, checksum = _unpack(data, self.folder)
        if len(data) - _HEAD.size < length:
            return None
        body = data[_HEAD.size :]
        if len(body) != length or xxh3_64_intdigest(body) != checksum:
            raise _damaged(self.folder, f"commit {number} is not as it was written")
        return stamp, msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(body), type=Changes)

    def restore(self, number: int, target: Path) -> None:
        """Write the image of a commit to a file, which gets its name when all of it is right."""
        draft = target.with_name(target.name + _PART)
        with self._path(number, _BASE).open("rb") as file, draft.open("wb") as out:
            _, length, checksum = _read_head(file, self.folder)
            body = _Checked(file)
            try:
                zstandard.ZstdDecompressor().copy_stream(body, out, read_size=_CHUNK, write_size=_CHUNK)  # type: ignore[arg-type]
            except zstandard.ZstdError as error:
                raise _damaged(self.folder, f"the image {number} is not as it was written") from error
            if (body.length, body.checksum) != (length, checksum):
                raise _damaged(self.folder, f"the image {number} is not as it was written")
        replace_file(draft, target)

    # what is written

    def append(self, stamp: Stamp, changes: Changes) -> int:
        """Take the next number for these changes, durable when this returns; how many bytes that took."""
        body = zstandard.ZstdCompressor(level=_LEVEL).compress(msgspec.msgpack.encode(changes))
        head = _pack(stamp, len(body), xxh3_64_intdigest(body))
        self._publish(stamp, _DELTA, lambda: [head + body])
        return len(head) + len(body)

    def put_base(self, stamp: Stamp, image: Path) -> int:
        """Keep an image of a commit; how many bytes that took. Beside `image` there is room for a compressed one."""
        squeezed = image.with_name(image.name + ".zst")
        try:
            with image.open("rb") as file, squeezed.open("wb+") as out:
                zstandard.ZstdCompressor(level=_LEVEL).copy_stream(file, out, read_size=_CHUNK, write_size=_CHUNK)
                out.seek(0)
                body = _Checked(out)
                while body.read(_CHUNK):
                    pass
                head = _pack(stamp, body.length, body.checksum)

                def parts() -> Iterator[bytes]:
                    yield head
                    out.seek(0)
                    while chunk := out.read(_CHUNK):
                        yield chunk

                self._publish(stamp, _BASE, parts)
            return len(head) + body.length
        finally:
            squeezed.unlink(missing_ok=True)

    def has_base(self, base: int) -> bool:
        """Whether this image still exists; it is opened, so that the server answers and not a cache of names."""
        try:
            os.close(os.open(self._path(base, _BASE), os.O_RDONLY | os.O_CLOEXEC))
        except FileNotFoundError:
            return False
        return True

    def remove_before(self, base: int) -> None:
        """Remove what an image replaces, older images first: their absence shows a process that it was deposed."""
        for suffix in (_BASE, _DELTA):
            for path in sorted(self.folder.glob(f"*{suffix}")):
                if _number(path.name) < base + (suffix == _DELTA):
                    path.unlink(missing_ok=True)

    def remove(self, number: int) -> None:
        """A delta that was never written to its end."""
        self._path(number, _DELTA).unlink(missing_ok=True)

    def remove_drafts(self) -> None:
        """Remove unfinished files of earlier holders. One that is still alive cannot commit any more."""
        for path in self.folder.glob(f"*{_PART}"):
            path.unlink(missing_ok=True)

    def _publish(self, stamp: Stamp, suffix: str, parts: Callable[[], Iterable[bytes]]) -> None:
        path = self._path(stamp.commit, suffix)
        try:
            if not (self._has_links and self._link(path, stamp, parts)):
                _write(path, parts())
            _sync_names(self.folder)
        except FileExistsError as error:
            raise taken_over(self.folder) from error
        except FileNotFoundError as error:  # the draft, or the folder, was removed by the process that holds it now
            raise taken_over(self.folder) from error
        except OSError as error:
            raise CollectionError(
                f"{self.folder} cannot be written: {error.strerror}",
                hint="free space there, or fix the mount; the last commit is safe",
            ) from error

    def _link(self, path: Path, stamp: Stamp, parts: Callable[[], Iterable[bytes]]) -> bool:
        """Write under another name, then take the final one; whether there are links here."""
        draft = path.with_name(f"{path.name}.{stamp.token.hex()}{_PART}")
        _write(draft, parts())
        try:
            os.link(draft, path)
        except FileExistsError:
            if draft.stat().st_nlink != 2:  # else an answer of the server got lost, and the link was made twice
                raise
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._has_links = False
        finally:
            draft.unlink(missing_ok=True)
        return self._has_links

    def _path(self, number: int, suffix: str) -> Path:
        return self.folder / f"{number:012d}{suffix}"


class _Checked:
    """Reads from a file, and tracks the length and checksum of the data."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = xxh3_64()
        self.length = 0

    def read(self, size: int = -1) -> bytes:
        chunk = self._file.read(size)
        self._digest.update(chunk)
        self.length += len(chunk)
        return chunk

    @property
    def checksum(self) -> int:
        return self._digest.intdigest()


def taken_over(folder: Path) -> CollectionInUse:
    """Raised when another process has taken over the shard."""
    return CollectionInUse(
        f"another process has taken over {folder}", hint="this one must end: what it had committed is kept"
    )


def _damaged(folder: Path, what: str) -> CollectionDamaged:
    return CollectionDamaged(f"{folder}: {what}", hint="restore it from a backup, or begin a new crawl")


def _number(name: str) -> int:
    stem = name.partition(".")[0]
    return int(stem) if stem.isascii() and stem.isdigit() else -1


def _pack(stamp: Stamp, length: int, checksum: int) -> bytes:
    return _HEAD.pack(_MAGIC, stamp.commit, stamp.epoch, stamp.token, length, checksum)


def _unpack(data: bytes, folder: Path) -> tuple[Stamp, int, int]:
    magic, commit, epoch, token, length, checksum = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise CollectionDamaged(
            f"{folder} holds something of another format", hint="use the version of Periplus that wrote it"
        )
    return Stamp(commit, epoch, token), length, checksum


def _read_head(file: BinaryIO, folder: Path) -> tuple[Stamp, int, int]:
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise _damaged(folder, "a file is torn")
    return _unpack(head, folder)


def _write(path: Path, parts: Iterable[bytes]) -> None:
    """Write a new file durably; it must not exist."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        for part in parts:
            view = memoryview(part)
            while view:
                view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_names(folder: Path) -> None:
    """Sync the folder so that new names survive a power loss. Some mounts do not support this and report an error."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
