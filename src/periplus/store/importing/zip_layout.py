"""Whether every byte of a ZIP file says what it must: in a signed package, none may be different without being found.

Digests and checksums cover what members hold, but not all that is around it: a ZIP file says most things twice, in
front of a member and in the directory at the end, readers believe one of them, and there are dates, modes and the
unused bits at the end of compressed data. `odd_places` compares all that is said twice, finds bytes that belong to
nothing, and wants what is said only once (modes and versions) to be the same for all members, as one program writes
them.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from struct import Struct as Layout
from typing import BinaryIO, Final, NamedTuple

_ENTRY: Final = Layout("<4sHHHHHHLLLHHHHHLL")
_HEADER: Final = Layout("<4sHHHHHLLLHH")
_END: Final = Layout("<4sHHHHLLH")
_END64: Final = Layout("<4sQHHLLQQQQ")
_LOCATOR: Final = Layout("<4sLQL")
_EXTRA: Final = Layout("<HH")
_ZIP64: Final = 1
_STREAMED: Final = 0x08
_MANY, _FAR = 0xFFFF, 0xFFFFFFFF
"""What stands for a number that is in the fields of ZIP64."""
_PIECE: Final = 1 << 20
_ARCHIVE: Final = b"archive/"


class _Entry(NamedTuple):
    """A line of the directory: what the header of the member repeats, and what it does not."""

    name: bytes
    repeated: tuple[int, ...]
    crc: int
    packed: int
    size: int
    offset: int
    extra: bytes
    alone: tuple[int, ...]


def odd_places(path: Path, package: zipfile.ZipFile, *, is_signed: bool) -> Iterator[str]:
    """What is odd about a ZIP file that could be read, in words.

    If it is not signed, only whether its directory is whole: a signature may be missing there.
    """
    with path.open("rb") as file:
        length = file.seek(0, 2)
        file.seek(package.start_dir)
        directory = file.read(length - package.start_dir)
        try:
            entries, rest = _read_directory(directory)
            if not is_signed:
                yield from _odd_count(directory, rest, len(entries))
                return
            yield from _odd_end(directory, rest, len(entries), package.start_dir)
            yield from _odd_modes(entries)
            yield from _odd_members(file, entries, package.start_dir)
        except (struct.error, ValueError, zlib.error) as error:
            yield f"the directory cannot be read: {error}"


def _read_directory(data: bytes) -> tuple[list[_Entry], int]:
    """The lines of the directory, and where they end."""
    entries, at = [], 0
    while data[at : at + 4] == b"PK\x01\x02":
        (_, made_by, needed, flags, method, time, date, crc, packed, size, names, extras, comments, disk, inside, mode,
         offset) = _ENTRY.unpack_from(data, at)  # fmt: skip
        at += _ENTRY.size
        name, extra = data[at : at + names], data[at + names : at + names + extras]
        at += names + extras + comments
        large, extra = _split_extra(extra)
        wanted = [value == _FAR for value in (size, packed, offset)]
        if len(large) != 8 * sum(wanted):
            raise ValueError(f"the sizes of {name!r}")
        numbers = [int.from_bytes(large[start : start + 8], "little") for start in range(0, len(large), 8)]
        size, packed, offset = (
            numbers.pop(0) if is_large else value
            for is_large, value in zip(wanted, (size, packed, offset), strict=True)
        )
        repeated, alone = (needed, flags, method, time, date), (made_by, inside, mode, disk, comments)
        entries.append(_Entry(name, repeated, crc, packed, size, offset, extra, alone))
    return entries, at


def _split_extra(extra: bytes) -> tuple[bytes, bytes]:
    """The field of ZIP64 among the extra fields, and the others."""
    large, others, at = b"", b"", 0
    while at < len(extra):
        kind, size = _EXTRA.unpack_from(extra, at)
        field = extra[at : at + _EXTRA.size + size]
        if len(field) < _EXTRA.size + size or (kind == _ZIP64 and large):
            raise ValueError("an extra field")
        large, others = (field[_EXTRA.size :], others) if kind == _ZIP64 else (large, others + field)
        at += len(field)
    return large, others


def _odd_count(directory: bytes, at: int, count: int) -> Iterator[str]:
    if directory[at : at + 4] == b"PK\x06\x06":
        at += _END64.size + _LOCATOR.size
    if _END.unpack_from(directory, at)[4] not in (count, _MANY):
        yield "the end"


def _odd_end(directory: bytes, at: int, count: int, start: int) -> Iterator[str]:
    """The end must say where the directory is and how many lines it has, and nothing else may be there."""
    size, has_large = at, directory[at : at + 4] == b"PK\x06\x06"
    if has_large:
        end = (b"PK\x06\x06", _END64.size - 12, 45, 45, 0, 0, count, count, size, start)
        locator = (b"PK\x06\x07", 0, start + size, 1)
        if _END64.unpack_from(directory, at) != end or _LOCATOR.unpack_from(directory, at + _END64.size) != locator:
            yield "the end of ZIP64"
        at += _END64.size + _LOCATOR.size
    mark, disk, first, here, total, told, offset, comment = _END.unpack_from(directory, at)
    counts, places = {count, _MANY} if has_large else {count}, {size, _FAR} if has_large else {size}
    is_right = mark == b"PK\x05\x06" and not disk and not first and not comment and here == total and total in counts
    offsets = {start, _FAR} if has_large else {start}
    if not is_right or told not in places or offset not in offsets or len(directory) != at + _END.size:
        yield "the end"


def _odd_modes(entries: list[_Entry]) -> Iterator[str]:
    """What is said only once must be the same for all, but some writers copy modes of the WARC files from the disk."""
    usual = {entry.alone for entry in entries if not entry.name.startswith(_ARCHIVE)}
    copied = {entry.alone for entry in entries if entry.name.startswith(_ARCHIVE)}
    is_told = len(usual) == 1 and len(copied) <= 1 and all(not any(alone[3:]) for alone in usual | copied)
    if is_told and copied and copied != usual:
        (made_by, inside, mode, *_), (other_made_by, other_inside, other_mode, *_) = *copied, *usual
        is_told = (made_by, inside) == (other_made_by, other_inside) and _is_file(mode) and not _is_file(other_mode)
    if not is_told:
        yield "what the directory says of members"


def _is_file(mode: int) -> bool:
    """Whether a mode says that this is a file: those that are made in memory say nothing."""
    return mode >> 28 == 8


def _odd_members(file: BinaryIO, entries: list[_Entry], end: int) -> Iterator[str]:
    at = 0
    for entry in sorted(entries, key=lambda each: each.offset):
        if entry.offset != at:
            yield f"bytes before {entry.name!r}"
        file.seek(entry.offset)
        begin = _odd_header(file, entry)
        if begin is None:
            yield f"the header of {entry.name!r}"
            return
        if entry.repeated[2] == zipfile.ZIP_DEFLATED and not _is_minimal(file, begin, entry.packed):
            yield f"the end of the compressed data of {entry.name!r}"
        at = begin + entry.packed
        if entry.repeated[1] & _STREAMED:
            file.seek(at)
            found = file.read(24)
            kept = (b"PK\x07\x08", entry.crc, entry.packed, entry.size)
            forms = [Layout(form).pack(*kept) for form in ("<4sLLL", "<4sLQQ") if form[-1] == "Q" or _fits(entry)]
            told = next((form for form in forms if found.startswith(form)), None)
            if told is None:
                yield f"what follows {entry.name!r}"
                return
            at += len(told)
    if at != end:
        yield "bytes before the directory"


def _fits(entry: _Entry) -> bool:
    return max(entry.packed, entry.size) <= _FAR


def _odd_header(file: BinaryIO, entry: _Entry) -> int | None:
    """Where the data of a member begin; `None` if its header does not say what the directory says."""
    mark, *repeated, crc, packed, size, names, extras = _HEADER.unpack(file.read(_HEADER.size))
    name = file.read(names)
    large, extra = _split_extra(file.read(extras))
    kept = (0, 0, 0) if entry.repeated[1] & _STREAMED else (entry.crc, entry.packed, entry.size)
    told = (crc, packed, size)
    if large:
        told = (crc, int.from_bytes(large[8:], "little"), int.from_bytes(large[:8], "little"))
        if len(large) != 16 or (packed, size) != (_FAR, _FAR):
            return None
    is_same = mark == b"PK\x03\x04" and tuple(repeated) == entry.repeated and name == entry.name
    return file.tell() if is_same and told == kept and extra == entry.extra else None


def _is_minimal(file: BinaryIO, begin: int, length: int) -> bool:
    """Whether compressed data end with their last byte, and all bits of it that mean nothing are 0."""
    file.seek(begin)
    stream, left = zlib.decompressobj(-zlib.MAX_WBITS), length - 1
    while left > 0 and (piece := file.read(min(left, _PIECE))):
        left -= len(piece)
        while piece:
            stream.decompress(piece, _PIECE)
            piece = stream.unconsumed_tail
    last = file.read(1)
    if stream.eof or not last:
        return False
    whole, output = _ended(stream.copy(), last[0])
    return whole and not any(
        _ended(stream.copy(), last[0] ^ (1 << bit)) == (True, output) for bit in range(8) if last[0] >> bit & 1
    )


def _ended(stream: zlib._Decompress, last: int) -> tuple[bool, bytes]:
    """Whether data end with this byte, and the last bytes that they unpack to."""
    try:
        output = stream.decompress(bytes([last]))
    except zlib.error:
        return False, b""
    return stream.eof, output
