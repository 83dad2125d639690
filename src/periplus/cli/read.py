"""`periplus read`: shows the content of one file as Periplus parses it.

A terminal gets a table of the first values and a count of all; `--json` prints every value on a line. Memory is
bounded: formats that must be read whole are cut at `LARGEST_WHOLE` bytes, and only the values shown are kept.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from enum import Enum, StrEnum
from itertools import chain
from pathlib import Path
from time import time
from typing import Annotated

import click
import msgspec
from click.exceptions import Exit
from msgspec import Struct
from rich.text import Text

from periplus.content import decode_body
from periplus.formats import access_log, feed, metadata_archive, robots, sitemap
from periplus.model import Granularity, Lastmod, Links, Problem, UsageError
from periplus.store.importing.files import PACKAGE, SUFFIXES
from periplus.store.warc import WarcRecord, read_records
from periplus.view.terminal import print_facts, print_table
from periplus.view.values import Column, FactSheet, Sheet, counts, sheet_of

from .commands import Argument, Option
from .consoles import stdout_console

ROWS = 12
CELL = 72


NAMES: dict[str, str] = {"FeedDocument": "Feed", "LoggedRequest": "Hit", "ParsedPage": "Page"}
"""What readers of the output know values by, where that is not the name of the class."""


def name_of(value: object) -> str:
    """The name of the kind of a value, as it is shown and in JSON."""
    name = type(value).__name__
    return NAMES.get(name, name)


class Digest:
    """What passed by: a count a type, the first few of each, and problems by reason."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.first: dict[str, list[object]] = {}
        self.example: dict[str, Problem] = {}

    def add(self, value: object) -> None:
        """Take note of one value."""
        if isinstance(value, Problem):
            self.reasons[value.reason] += 1
            self.example.setdefault(value.reason, value)
            return
        name = name_of(value)
        self.counts[name] += 1
        kept = self.first.setdefault(name, [])
        if len(kept) < ROWS:
            kept.append(value)

    @property
    def has_content(self) -> bool:
        """Whether anything but problems was read."""
        return bool(self.counts)

    @property
    def is_forged(self) -> bool:
        """Whether the signature of a package is not valid."""
        return any(getattr(value, "signature", "") == "invalid" for kept in self.first.values() for value in kept)


def show(title: str, values: Iterable[object]) -> Digest:
    """Print what was read, for a person; return what there was."""
    digest = Digest()
    for value in values:
        digest.add(value)
    console = stdout_console()
    console.print(Text(title, style="bold"))
    for name, kept in digest.first.items():
        if digest.counts[name] > 1:
            print_table(console, _rows(name, kept, digest.counts[name]))
        else:
            print_facts(console, FactSheet(name, list(_facts(kept[0]).items())))
        if digest.counts[name] > len(kept):
            console.print(Text(f"  and {digest.counts[name] - len(kept):,} more (--json shows all)", style="dim"))
    if digest.reasons:
        print_table(console, problem_table(digest.reasons, digest.example))
    if not digest.has_content:
        console.print(Text("nothing could be read", style="bold red"))
    return digest


def _rows(name: str, values: list[object], count: int) -> Sheet:
    """Many of a kind: one row each, without the columns that are empty in all of them."""
    rows = [_facts(value) for value in values]
    columns = [
        Column(column, kind="url" if column == "url" else "text")
        for column in rows[0]
        if any(row[column] for row in rows)
    ]
    return Sheet(name=name, title=f"{name} ({count:,})", columns=tuple(columns), rows=list(rows))


def problem_table(reasons: Counter[str], example: dict[str, Problem]) -> Sheet:
    """Problems by reason, the commonest first, each with one example."""
    columns = (Column("reason", kind="reason"), counts("count"), Column("for example"))
    cells = [(reason, count, short(example[reason].detail)) for reason, count in reasons.most_common()]
    return sheet_of("Problems", columns, cells)


def _facts(value: object) -> dict[str, str]:
    """The fields of a value, each as a short text."""
    if not isinstance(value, msgspec.Struct):
        return {"value": short(str(value))}
    return {name: short(readable(getattr(value, name))) for name in value.__struct_fields__}


def readable(value: object) -> str:
    """A value as a person would write it; nothing for nothing."""
    match value:
        case None | "" | () | b"" | False:
            return ""
        case True:
            return "yes"
        case Lastmod():
            return _date(value)
        case Enum():
            return str(value.value)
        case bytes():
            return f"{len(value)} bytes"
        case dict():
            return ", ".join(f"{key} {count}" for key, count in value.items())
        case tuple() | list():
            return _listed(value)
        case msgspec.Struct():
            return " ".join(f"{name}={text}" for name, text in _facts(value).items() if text)
        case _:
            return str(value)


def _listed(values: tuple[object, ...] | list[object]) -> str:
    if len(values) > 1 and isinstance(values[0], msgspec.Struct):
        return f"{len(values):,}: {readable(values[0])} ..."
    return ", ".join(readable(value) for value in values[:ROWS])


def _date(lastmod: Lastmod) -> str:
    """A date with the granularity with which it was written."""
    at = datetime.fromtimestamp(lastmod.at, UTC)
    forms = {Granularity.YEAR: "%Y", Granularity.MONTH: "%Y-%m", Granularity.DAY: "%Y-%m-%d"}
    return at.strftime(forms.get(lastmod.granularity, "%Y-%m-%d %H:%M:%S"))


def short(text: str) -> str:
    """A text in one line, cut to the length of a cell."""
    folded = " ".join(text.split())
    return folded if len(folded) <= CELL else folded[: CELL - 1] + "…"


CHUNK = 1 << 16
LARGEST_WHOLE = 64 << 20
"""Formats that are read whole are read up to here; the others are streamed, whatever their size."""

NOTHING_READ = 1


class FileKind(StrEnum):
    """What a file can be read as."""

    ROBOTS = "robots"
    SITEMAP = "sitemap"
    FEED = "feed"
    PAGE = "page"
    LOG = "log"
    ARCHIVE = "archive"
    WARC = "warc"
    WACZ = "wacz"
    KEYS = "keys"
    CARD = "card"
    REGISTRY = "registry"
    RANGES = "ranges"


class SitemapLine(msgspec.Struct, frozen=True):
    """A `Sitemap:` line of a robots.txt, resolved."""

    url: str


class AgentKey(msgspec.Struct, frozen=True):
    """A usable key of a directory."""

    keyid: str
    algorithm: str


class CardUrl(msgspec.Struct, frozen=True):
    """The place of a card that a registry lists."""

    url: str


class AddressRange(msgspec.Struct, frozen=True):
    """A range that an operator publishes."""

    prefix: str
    service: str


class Fields(msgspec.Struct, frozen=True):
    """How often each field name stands in a robots.txt."""

    counts: dict[str, int]


def read(
    file: Annotated[str, Argument(help="The file to read; - reads standard input.")],
    as_: Annotated[FileKind | None, Option("--as", help="Read it as this kind, without guessing.")] = None,
    url: Annotated[str, Option(help="Its address: relative URLs are resolved against it.")] = "",
    json: Annotated[bool, Option("--json", help="Print every value as a JSON line.")] = False,
    markdown: Annotated[bool, Option("--markdown", help="Print the main text of a page in Markdown.")] = False,
    trust: Annotated[
        list[Path] | None,
        Option("--trust", metavar="FILE", help="For wacz: authorities that may vouch for a signature (PEM)."),
    ] = None,
) -> None:
    """Show what Periplus reads from a file: sitemap, robots.txt, feed, page, access log, metadata archive, archive.

    Example: periplus read sitemap.xml.gz
    """
    chunks, head = _opened(file)
    kind = as_ or guess(Path(file).name, head)
    if kind is None:
        raise UsageError(
            f"{file}: cannot tell what this is", hint=f"name it: --as {'|'.join(k.value for k in FileKind)}"
        )
    url = url or f"https://{Path(file).name}.invalid/"
    if markdown:
        _print_markdown(kind, chunks, url)
        return
    if kind in FILE_READERS and file == "-":
        raise UsageError(f"{kind.value} is read from a file, not from standard input", hint="give the path of a file")
    if trust and kind is not FileKind.WACZ:
        raise UsageError(f"--trust is for wacz, and this is a {kind.value}", hint="leave it out")
    values: Iterable[msgspec.Struct]
    if kind in FILE_READERS:
        values = _package(Path(file), trust or ()) if kind is FileKind.WACZ else read_captures(Path(file))
    else:
        values = READERS[kind](chunks, url, Path(file).name)
    found = _as_json(values) if json else show(f"{file}: read as {kind.value}", values)
    if not found.has_content or (kind is FileKind.WACZ and (found.reasons or found.is_forged)):
        raise Exit(NOTHING_READ)


def _opened(file: str) -> tuple[Iterator[bytes], bytes]:
    """The chunks of a file, and its first bytes beside them."""
    try:
        chunks = _chunks(file)
        head = next(chunks, b"")
    except OSError as error:
        raise UsageError(
            f"{file}: {error.strerror or error}", hint="give the path of a file, or - for stdin"
        ) from error
    return chain([head], chunks), head


def _chunks(file: str) -> Iterator[bytes]:
    with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as stream:
        yield from iter(lambda: stream.read(CHUNK), b"")


_MARKUP = re.compile(rb"<\s*(?:\w+:)?(urlset|sitemapindex|rss|feed|rdf|html|!doctype html|head|body)\b", re.IGNORECASE)
_BY_TAG = {
    b"urlset": FileKind.SITEMAP,
    b"sitemapindex": FileKind.SITEMAP,
    b"rss": FileKind.FEED,
    b"feed": FileKind.FEED,
    b"rdf": FileKind.FEED,
}
_ROBOTS_LINE = re.compile(rb"^\s*(?:user-agent|disallow|allow|sitemap)\s*:", re.IGNORECASE | re.MULTILINE)
_LOG_LINE = re.compile(rb"^\S+ .*\[\d\d/\w{3}/\d{4}:|^#Fields: ", re.MULTILINE)
_URL_LINE = re.compile(rb"^\s*https?://", re.IGNORECASE | re.MULTILINE)


def guess(name: str, head: bytes) -> FileKind | None:
    """Guess the kind of a file: by the name of an archive, then by the first bytes, then by the name robots.txt."""
    if metadata_archive.read_name(name) is not None:
        return FileKind.ARCHIVE
    if name.lower().endswith(PACKAGE):
        return FileKind.WACZ
    if name.lower().endswith(SUFFIXES):
        return FileKind.WARC
    if head.startswith(b"\x1f\x8b"):
        head, _ = decode_body(head, "gzip")
    if head.startswith(b"WARC/"):
        return FileKind.WARC
    if head.startswith(b"%PDF-"):
        return FileKind.PAGE
    markup = _MARKUP.search(head)
    if markup:
        return _BY_TAG.get(markup[1].lower(), FileKind.PAGE)
    for pattern, kind in ((_ROBOTS_LINE, FileKind.ROBOTS), (_LOG_LINE, FileKind.LOG), (_URL_LINE, FileKind.SITEMAP)):
        if pattern.search(head):
            return kind
    return FileKind.ROBOTS if name == "robots.txt" else None


def _whole(chunks: Iterable[bytes]) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > LARGEST_WHOLE:
            break
    return bytes(body[:LARGEST_WHOLE])


def _robots(chunks: Iterable[bytes], url: str, _: str) -> Iterator[msgspec.Struct]:
    found = robots.parse(_whole(chunks))
    yield from found.groups
    yield from (SitemapLine(line) for line in found.sitemap_urls(url))
    if found.fields:
        yield Fields(dict(found.fields))
    yield from found.problems


def _keys(chunks: Iterable[bytes], url: str, _: str) -> Iterator[msgspec.Struct]:
    from periplus.formats.web_bot_auth import SignaturePolicy, SignedMessage, needs_cryptography, read_directory

    needs_cryptography()
    response = SignedMessage("GET", url, (), _whole(chunks), is_response=True)
    found = read_directory(response, 200, time(), SignaturePolicy())
    yield from (AgentKey(key.thumbprint, key.algorithm) for key in found.keys.values())
    yield from map(Problem, found.problems)


def _card(chunks: Iterable[bytes], url: str, _: str) -> Iterator[msgspec.Struct]:
    from periplus.formats.web_bot_auth import read_card

    yield read_card(_whole(chunks), url) or Problem("bad-card", url)


def _registry(chunks: Iterable[bytes], _url: str, _: str) -> Iterator[msgspec.Struct]:
    from periplus.formats.web_bot_auth import read_registry

    yield from map(CardUrl, read_registry(_whole(chunks).decode("utf-8", "replace")))


def _ranges(chunks: Iterable[bytes], _url: str, _: str) -> Iterator[msgspec.Struct]:
    from periplus.formats.address_ranges import read_address_ranges

    found = read_address_ranges(_whole(chunks))
    yield from (AddressRange(str(network), service) for network, service in found.ranges)
    if found.problem:
        yield Problem(found.problem)


def _feed(chunks: Iterable[bytes], url: str, _: str) -> Iterator[msgspec.Struct]:
    found = feed.read(_whole(chunks), url)
    yield from found.items
    yield msgspec.structs.replace(found, items=(), problems=())
    yield from found.problems


def _body(chunks: Iterable[bytes]) -> tuple[bytes, tuple[Problem, ...]]:
    """A body without gzip."""
    body = _whole(chunks)
    return decode_body(body, "gzip") if body.startswith(b"\x1f\x8b") else (body, ())


def _print_markdown(kind: FileKind, chunks: Iterable[bytes], url: str) -> None:
    if kind is not FileKind.PAGE:
        raise UsageError(f"--markdown is for pages, and this is a {kind.value}", hint="read it with --as page")
    from periplus.store.export.documents import markdown_of, read_body

    body, _ = _body(chunks)
    page, made_html, shown, _ = read_body(body, url)
    text = markdown_of(page, made_html or body, shown)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n" * bool(text))
    for problem in page.problems if made_html else ():
        click.echo(f"{problem.reason}: {problem.detail}".rstrip(": "), err=True)
    if not text:
        raise Exit(NOTHING_READ)


def _page(chunks: Iterable[bytes], url: str, _: str) -> Iterator[msgspec.Struct]:
    from periplus.store.export.documents import read_body  # loads numpy, which no other kind of file needs

    body, problems = _body(chunks)
    page = read_body(body, url).page
    yield from page.links
    yield from page.forms
    yield msgspec.structs.replace(page, links=Links(), forms=(), problems=())
    yield from (*problems, *page.problems)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines out of chunks; a line longer than a chunk comes in pieces, which its reader will call a problem."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        if len(rest) > CHUNK:
            yield rest
            rest = b""
    if rest:
        yield rest


Reader = Callable[[Iterable[bytes], str, str], Iterable[msgspec.Struct]]
"""Chunks, the URL they came from, and the name of the file."""

READERS: dict[FileKind, Reader] = {
    FileKind.ROBOTS: _robots,
    FileKind.SITEMAP: lambda chunks, url, _: sitemap.read(chunks, url=url),
    FileKind.FEED: _feed,
    FileKind.PAGE: _page,
    FileKind.LOG: lambda chunks, _url, _name: access_log.read(_lines(chunks)),
    FileKind.ARCHIVE: lambda chunks, _, name: metadata_archive.read(name, chunks),
    FileKind.KEYS: _keys,
    FileKind.CARD: _card,
    FileKind.REGISTRY: _registry,
    FileKind.RANGES: _ranges,
}


def _package(path: Path, trusted: Sequence[Path]) -> Iterable[msgspec.Struct]:
    from periplus.store.importing import check_package

    return check_package(path, trusted)


FILE_READERS = (FileKind.WARC, FileKind.WACZ)
"""Kinds that are read from a file, because they are not read from end to end."""


def _as_json(values: Iterable[msgspec.Struct]) -> Digest:
    """Every value as a line of JSON that begins with its type."""
    digest = Digest()
    encode = msgspec.json.Encoder().encode
    for value in values:
        digest.add(value)
        line = {"type": name_of(value), **msgspec.structs.asdict(value)}
        sys.stdout.buffer.write(encode(line) + b"\n")
    sys.stdout.buffer.flush()
    return digest


_MAX_BLOCK = 64 << 10
"""Bytes of a block that are looked at: the fields of an answer. A longer one is not a problem here."""


class Record(Struct, frozen=True):
    """A record of a WARC or ARC file."""

    kind: str
    url: str
    date: str
    status: int | None
    offset: int
    length: int
    protocols: tuple[str, ...] = ()
    cipher_suite: str = ""


def read_captures(path: Path) -> Iterator[Record | Problem]:
    """Every record of a file, and what is wrong with it."""
    for record in read_records(path, max_block=_MAX_BLOCK):
        if isinstance(record, WarcRecord):
            status = record.message().status if record.is_http else None
            date = record.fields.get("warc-date", "")
            place, sent = (record.offset, record.length), (record.protocols, record.cipher_suite)
            yield Record(record.type, record.url, date, status, *place, *sent)
        elif record.reason != "cut-block":
            yield record
