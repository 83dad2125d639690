"""Metadata archives: a site's list of its own pages, cut so that a crawler fetches only what it lacks.

Brandman, Cho, Garcia-Molina and Shivakumar, "Crawler-Friendly Web Servers" (2000), section 3: every page is described
by last-modified date, path and size; descriptions are sorted by date, cut into segments of 2,000, each segment split
by MIME type, groups below 50 merged into "other", each group gzipped into a file whose name has its dates and type.
A reader that wants what changed since a moment fetches only the archives that end at or after it.

A line is as in the paper, `05/Feb/1999:16:01:30 -0800 people/pics/line/colorbars.gif 99999`; in an archive of mixed
types the MIME type follows, since it is not in the name. A name is `FROM-TO.TYPE.gz`, times in UTC to the second:
`19990205T160130Z-19990301T000000Z.text_html.gz` (`FROM-TO~2.TYPE.gz` where one second fills several archives). The
paper's own `1.4.2000-1.22.2000.HTML.gz` is read too. The list of archives is a file with a URL a line, or lines
`Metadata-archive: URL` in robots.txt.

Reasons of `Problem`: `bad-name`, `truncated`, `not-gzip` (damaged; what is not compressed at all is read as it is),
`too-large`, `line-too-long`, `bad-line`, `outside-dates` (a description that is not within the dates of the name),
`more-problems` (nothing more is read).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from math import floor
from urllib.parse import quote

from msgspec import Struct

from periplus.model import Granularity, Lastmod, Problem
from periplus.urls import whatwg

from . import dates

SEGMENT = 2_000
"""The number of descriptions in a segment."""

SMALLEST_GROUP = 50
"""Descriptions of one type below which they are merged into "other"."""

OTHER = "other"
"""The type of an archive of mixed types."""

LARGEST = 8 * 1024 * 1024
"""Bytes of an archive, decompressed, that are looked at: sixty times what the scheme makes of usual paths."""

MOST_LISTED = 100_000
"""Archives of one list that are looked at."""

MOST_PROBLEMS = 1_000
"""Invalid lines of one archive or list after which reading stops: it is something else."""

_LONGEST_LINE = 16_384
_PIECE = 65_536
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME = r"\d{4}(?:0\d|1[0-2])[0-3]\dT[0-2]\d[0-5]\d[0-5]\dZ"
_NAME = re.compile(rf"({_TIME})-({_TIME})(?:~\d{{1,9}})?\.([a-z0-9][a-z0-9.+_-]{{0,127}})\.gz", re.ASCII)
_PAPER_NAME = re.compile(r"(\d{1,2}\.\d{1,2}\.\d{4})-(\d{1,2}\.\d{1,2}\.\d{4})\.([A-Za-z0-9.+_-]{1,128})\.gz", re.ASCII)
_PAPER_TYPES = {
    "html": "text/html",
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "text": "text/plain",
}
_MIME = re.compile(r"[a-z0-9][a-z0-9.+-]{0,62}/[a-z0-9][a-z0-9.+_-]{0,62}")
_LINE = re.compile(r"(\d\d/[A-Za-z]{3}/\d{4}):(\d\d:\d\d:\d\d) ([+-]\d{4}) (\S+) (\d{1,18})(?: (\S+))?", re.ASCII)
_PATH = re.compile(r"[!-~]+")
_IN_PATH = "".join(map(chr, range(0x21, 0x7F)))
_OTHER_FIELD = re.compile(r"[\w-]+\s*:(?!//)")
_ROBOTS_FIELD = re.compile(r"metadata-archive\s*:\s*", re.IGNORECASE)


class ArchiveEntry(Struct, frozen=True, gc=False):
    """One page: its path with the query, when it changed, how many bytes it has, and its type where that is known."""

    path: str
    modified_at: float
    size: int
    mime: str = ""


class ArchiveName(Struct, frozen=True):
    """The contents of a name: the first and the last change within, and the type (`other` for several)."""

    from_at: float
    to_at: float
    mime: str


class MetadataArchive(Struct, frozen=True):
    """A file to publish."""

    name: str
    body: bytes


class ListedArchive(Struct, frozen=True):
    """A file that a site has published."""

    url: str
    name: ArchiveName


def write(
    entries: Iterable[ArchiveEntry], *, segment: int = SEGMENT, smallest_group: int = SMALLEST_GROUP
) -> Iterator[MetadataArchive]:
    """The archives of a whole site, oldest first. The same entries give the same names and, from one zlib, bytes."""
    by_date = sorted(entries, key=lambda entry: (floor(entry.modified_at), entry.path))
    used: dict[str, int] = {}
    for start in range(0, len(by_date), segment):
        for mime, group in _groups(by_date[start : start + segment], smallest_group):
            stem = f"{_stamp(group[0].modified_at)}-{_stamp(group[-1].modified_at)}"
            name = f"{stem}.{mime.replace('/', '_', 1)}.gz"
            used[name] = used.get(name, 0) + 1
            if used[name] > 1:
                name = f"{stem}~{used[name]}.{mime.replace('/', '_', 1)}.gz"
            yield MetadataArchive(name, _compress("".join(_line(entry, mime) for entry in group)))


def write_segment(
    entries: Iterable[ArchiveEntry], from_at: float, to_at: float, *, smallest_group: int = SMALLEST_GROUP
) -> Iterator[MetadataArchive]:
    """The archives of one segment, named by its span: while the span stays, the names do, too."""
    by_date = sorted(entries, key=lambda entry: (floor(entry.modified_at), entry.path))
    stem = f"{_stamp(from_at)}-{_stamp(to_at)}"
    for mime, group in _groups(by_date, smallest_group):
        yield MetadataArchive(
            f"{stem}.{mime.replace('/', '_', 1)}.gz", _compress("".join(_line(entry, mime) for entry in group))
        )


def read(name: str, chunks: bytes | Iterable[bytes]) -> Iterator[ArchiveEntry | Problem]:
    """Every description in an archive, while it arrives. `name` may be its URL."""
    named = read_name(name)
    if named is None:
        yield Problem("bad-name", name[-200:])
    bad_lines = 0
    for line in _lines((chunks,) if isinstance(chunks, bytes) else chunks):
        if isinstance(line, Problem):
            yield line
            continue
        entry = _read_line(line, named)
        if entry is None:
            bad_lines += 1
            if bad_lines > MOST_PROBLEMS:
                yield Problem("more-problems")
                return
            yield Problem("bad-line", line[:200])
            continue
        if named is not None and not named.from_at <= entry.modified_at <= named.to_at:
            yield Problem("outside-dates", line[:200])
        yield entry


def read_name(name: str) -> ArchiveName | None:
    """Parse the name of an archive, or the last part of a URL."""
    name = name.partition("?")[0].rpartition("/")[2]
    match = _NAME.fullmatch(name)
    if match is not None:
        from_at, to_at, mime = _moment(match[1]), _moment(match[2]), match[3].replace("_", "/", 1)
    else:
        match = _PAPER_NAME.fullmatch(name)
        if match is None:
            return None
        from_at, to_at, mime = _paper_day(match[1], 0), _paper_day(match[2], 86399), _paper_type(match[3].lower())
    if from_at is None or to_at is None or from_at > to_at or not (mime == OTHER or _MIME.fullmatch(mime)):
        return None
    return ArchiveName(from_at, to_at, mime)


def needed(names: Iterable[str], since: float, types: Collection[str] | None = None) -> list[str]:
    """Exactly the archives that may contain a change at or after `since` to a page of these types (`None`: of all).

    `image/*` is a type too. At most one archive of each type is only partly of use. Names that are none are not needed.
    """
    wanted = []
    for name in names:
        named = read_name(name)
        if named is not None and named.to_at >= since and (types is None or _is_wanted(named.mime, types)):
            wanted.append(name)
    return wanted


def read_list(body: bytes, url: str = "") -> Iterator[ListedArchive | Problem]:
    """The archives that a list file or a robots.txt at `url` names; other lines of either are passed over."""
    listed = bad_names = 0
    for written in _locations(body[:LARGEST].decode("utf-8", "replace")):
        named = read_name(written)
        resolved = (whatwg(written, url) if url else written) if named is not None else None
        if resolved is None or named is None:
            bad_names += 1
            if bad_names > MOST_PROBLEMS:
                yield Problem("more-problems")
                return
            yield Problem("bad-name", written[:200])
        elif listed >= MOST_LISTED:
            yield Problem("too-large", f"more than {MOST_LISTED} archives")
            return
        else:
            listed += 1
            yield ListedArchive(resolved, named)


def lists_named(body: bytes, url: str = "") -> list[str]:
    """The lists of archives that a robots.txt at `url` names: values of its field that are not an archive's name."""
    named = (_ROBOTS_FIELD.match(line) for line in body[:LARGEST].decode("utf-8", "replace").splitlines())
    values = [found.string[found.end() :].partition("#")[0].strip("<> ") for found in named if found is not None]
    lists = [value for value in values if value and not value.endswith(".gz")]
    resolved = (whatwg(value, url) if url else value for value in lists)
    return list(dict.fromkeys(each for each in resolved if each is not None))


def _locations(text: str) -> Iterator[str]:
    """The URL of an archive in a line of a list or a robots.txt: the whole line, or the value of our field."""
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if field := _ROBOTS_FIELD.match(line):
            yield line[field.end() :].strip("<> ")
        elif line.endswith(".gz") and not _OTHER_FIELD.match(line):
            yield line


def _groups(segment: list[ArchiveEntry], smallest: int) -> Iterator[tuple[str, list[ArchiveEntry]]]:
    """A segment by type, each group by date, and what is too few of a type together at the end."""
    by_type = sorted(segment, key=lambda entry: _archive_type(entry.mime))
    other: list[ArchiveEntry] = []
    for mime, entries in groupby(by_type, key=lambda entry: _archive_type(entry.mime)):
        group = list(entries)
        if mime != OTHER and len(group) >= smallest:
            yield mime, group
        else:
            other += group
    if other:
        yield OTHER, sorted(other, key=lambda entry: (floor(entry.modified_at), entry.path))


@lru_cache(maxsize=1024)
def _archive_type(mime: str) -> str:
    """A type that can be part of a name; any other is "other"."""
    mime = mime.lower()
    return mime if _MIME.fullmatch(mime) else OTHER


def _line(entry: ArchiveEntry, mime: str) -> str:
    path = entry.path if _PATH.fullmatch(entry.path) else quote(entry.path or "/", safe=_IN_PATH, errors="replace")
    own_type = f" {_archive_type(entry.mime)}" if mime == OTHER and _archive_type(entry.mime) != OTHER else ""
    day, second = divmod(floor(entry.modified_at), 86400)
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"{_day(day)}:{clock} +0000 {path} {max(entry.size, 0)}{own_type}\n"


@lru_cache(maxsize=1024)
def _day(days: int) -> str:
    stamp = _stamp(days * 86400.0)
    return f"{stamp[6:8]}/{_MONTHS[int(stamp[4:6]) - 1]}/{stamp[:4]}"


def _stamp(at: float) -> str:
    return dates.write_w3c(Lastmod(at, Granularity.SECOND)).replace("-", "").replace(":", "")


def _moment(stamp: str) -> float | None:
    read = dates.read_w3c(stamp)
    return None if read is None else read.at


def _paper_day(text: str, offset: int) -> float | None:
    month, day, year = text.split(".")
    read = dates.read_w3c(f"{year}-{month}-{day}")
    return None if read is None else read.at + offset


def _paper_type(word: str) -> str:
    return _PAPER_TYPES.get(word, word.replace("_", "/", 1))


def _is_wanted(mime: str, types: Collection[str]) -> bool:
    return mime == OTHER or mime in types or f"{mime.partition('/')[0]}/*" in types


def _compress(text: str) -> bytes:
    """Without the time that gzip likes to write into its header: the same list is the same file."""
    gzip = zlib.compressobj(9, zlib.DEFLATED, 31)
    return gzip.compress(text.encode()) + gzip.flush()


def _read_line(line: str, archive: ArchiveName | None) -> ArchiveEntry | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    day, clock, zone, path, size, own_type = match.groups()
    at = dates.read_http(f"{day.replace('/', ' ')} {clock} {zone}")
    if at is None:
        return None
    mime = archive.mime if archive is not None and archive.mime != OTHER else own_type or ""
    return ArchiveEntry(path, at, int(size), mime)


def _lines(chunks: Iterable[bytes]) -> Iterator[str | Problem]:
    """Complete lines, as they arrive; one that is too long is reported once and skipped."""
    rest, is_skipping = b"", False
    for piece in _inflate(chunks):
        if isinstance(piece, Problem):  # the last thing there is; a line that was cut may look whole
            yield piece
            return
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if not is_skipping and line.strip():
                yield line.decode("utf-8", "replace").strip()
            is_skipping = False
        if len(rest) > _LONGEST_LINE:
            if not is_skipping:
                yield Problem("line-too-long", f"more than {_LONGEST_LINE} bytes")
            rest, is_skipping = b"", True
    if rest.strip() and not is_skipping:
        yield rest.decode("utf-8", "replace").strip()


def _inflate(chunks: Iterable[bytes]) -> Iterator[bytes | Problem]:
    """Decompressed pieces of bounded size, up to `LARGEST` in all; what does not begin as gzip passes unchanged."""
    total = 0
    for piece in _pieces(chunks):
        if isinstance(piece, Problem):
            yield piece
            return
        total += len(piece)
        if total > LARGEST:
            yield Problem("too-large", f"more than {LARGEST} bytes", LARGEST)
            return
        yield piece


def _pieces(chunks: Iterable[bytes]) -> Iterator[bytes | Problem]:
    inflater = None
    is_plain = False
    for data in (chunk[at : at + _PIECE] for chunk in chunks for at in range(0, len(chunk), _PIECE)):
        if inflater is None:
            inflater, is_plain = zlib.decompressobj(31), data[:1] != b"\x1f"
        if is_plain:
            yield data
            continue
        try:
            while data:
                if inflater.eof:  # an archive that was appended to has several members (RFC 1952 section 2.2)
                    if data[:1] != b"\x1f":
                        return
                    inflater = zlib.decompressobj(31)
                yield inflater.decompress(data, _PIECE)
                data = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
        except zlib.error as error:
            yield Problem("not-gzip", str(error)[:200])
            return
    if inflater is not None and not is_plain and not inflater.eof:
        yield Problem("truncated")
