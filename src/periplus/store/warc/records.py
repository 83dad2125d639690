"""The records of WARC 1.1 (ISO 28500:2017) as bytes, from an outcome of the wire. Identifiers and dates are given.

One exchange becomes up to three records, each packed by itself (`packing`): the answer (`response`, or `revisit` where
its payload is kept already), the `request` as it was sent, and `metadata` with what only the crawler knows. The last
two name the first in `WARC-Concurrent-To`. So does the `resource` of a page that was rendered: its document after its
scripts ran. `WARC-Protocol` and `WARC-Cipher-Suite` of the answer say what it came over, whatever its status line says.
Digests are SHA-1 in base 32, because that is what every index of archives holds; the payload is the body as stored, its
content coding still on.

Archives name payloads by SHA-1 in base 32 (RFC 4648). There are four digests a page, all of 20 bytes, and
`base64.b32encode` is written for any length. `base32` makes all 32 letters at once, as arithmetic on one integer: the
digest is split in halves that are moved apart, and so are the halves of the halves, until every five bits are in a byte
of their own, which a table turns into its letter.

Names sort by shard and then by time. The serial number counts the files of a shard from 1 and alone decides which of
two is the later one, since clocks may be set back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import sha1
from os import urandom
from pathlib import Path
from time import gmtime, strftime
from typing import Final, TypeGuard

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus.model import DOCUMENT_TYPE, Fetched, FetchTask, NotModified, Payload, Redirected, Rendering
from periplus.urls import site_of

from .http import is_compressed, response_head
from .packing import GZIP, PACKED, Packing

_NO_DIGIT: Final = re.compile(r"\D+", re.ASCII)


class Dates:
    """Times as WARC 1.1 and CDXJ write them, in UTC. Those of one second share all but the fraction."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def date(self, at: float) -> str:
        """A time as WARC writes it, with microseconds: `2026-01-02T03:04:05.678901Z`."""
        second, fraction = divmod(round(at * 1_000_000), 1_000_000)
        if second != self._second:
            self._second, self._text = second, strftime("%Y-%m-%dT%H:%M:%S", gmtime(second))
        return f"{self._text}.{fraction:06d}Z"


def timestamp(date: str) -> str:
    """A date of WARC for CDXJ: the 14 digits down to the second."""
    digits = date[:19].replace("-", "").replace("T", "").replace(":", "")
    return digits if digits.isascii() and digits.isdigit() else _NO_DIGIT.sub("", date)[:14]


def identifier() -> str:
    """A UUID (RFC 9562, version 4) for a record of its own."""
    return identifiers()[0]


def identifiers() -> tuple[str, str, str]:
    """Three UUIDs (RFC 9562, version 4) for the records of one exchange: 116 bits of chance, and the last digit."""
    random = urandom(16).hex()
    stem = f"{random[:8]}-{random[8:12]}-4{random[13:16]}-8{random[17:20]}-{random[20:31]}"
    return stem + "0", stem + "1", stem + "2"


_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)


def _step(bits: int) -> tuple[int, int, int]:
    """The masks of the lower and upper halves when each has `bits` of payload, and how far apart they are moved."""
    room = bits * 8 // 5
    low = sum((1 << bits) - 1 << lane for lane in range(0, 256, 2 * room))
    return low, low << bits, room - bits


_STEPS: Final = tuple(map(_step, (80, 40, 20, 10, 5)))


def base32(digest: bytes) -> str:
    """A digest of 20 bytes as 32 letters, which need no padding."""
    number = int.from_bytes(digest, "big")
    for low, high, apart in _STEPS:
        number = (number & high) << apart | number & low
    return number.to_bytes(32, "big").translate(_LETTERS).decode()


def sha1_base32(*parts: bytes) -> str:
    """The digest of these bytes, one after the other."""
    digest = sha1(parts[0], usedforsecurity=False)
    for part in parts[1:]:
        digest.update(part)
    return base32(digest.digest())


CDXJ: Final = ".cdxj"
_NAME: Final = re.compile(r"periplus-(\d{2,9})-(\d{14})-(\d{5,12})(\.warc\.(?:gz|zst))")


class WarcName(Struct, frozen=True):
    """The parts of a file's name; `timestamp` is UTC, to the second."""

    shard: int
    timestamp: str
    serial: int
    suffix: str = GZIP

    def __str__(self) -> str:
        return f"periplus-{self.shard:02d}-{self.timestamp}-{self.serial:05d}{self.suffix}"


def read_name(name: str) -> WarcName | None:
    """The parts, or `None` where this is not a file of ours."""
    match = _NAME.fullmatch(name)
    return WarcName(int(match[1]), match[2], int(match[3]), match[4]) if match else None


def warc_files(folder: Path, after: str = "") -> list[Path]:
    """The WARC files in a folder, in the order of names; `after` stands behind the suffix of those that are meant."""
    return sorted(path for packed in PACKED for path in folder.glob(f"*{packed}{after}"))


def files_of(folder: Path, shard: int) -> Iterator[tuple[WarcName, Path]]:
    """The files of a shard, the earliest first."""
    named = ((read_name(path.name), path) for path in folder.iterdir())
    ours = [(name, path) for name, path in named if name and name.shard == shard]
    yield from sorted(ours, key=lambda item: item[0].serial)


def index_of(path: Path) -> Path:
    """The path of the CDXJ file of a WARC file: beside it."""
    return path.with_name(path.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".warc") + CDXJ)


Answer = Fetched | NotModified | Redirected
CAPTURES: Final = frozenset({"response", "revisit", "resource"})
"""Types of records that hold what a URL answered."""


def can_be_referred_to(answer: Answer) -> TypeGuard[Fetched]:
    """Whether a later answer with the same payload is stored as a reference to this one."""
    return isinstance(answer, Fetched) and answer.status == 200 and bool(answer.body) and not answer.is_truncated


IDENTICAL: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
UNCHANGED: Final = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_CONFORMS_TO: Final = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_CUT: Final = "WARC-Truncated: length\r\n"
_RESPONSE: Final = "application/http; msgtype=response"
_REQUEST: Final = "application/http; msgtype=request"
_FIELDS: Final = "application/warc-fields"
_BREAK: Final = re.compile(r"[\r\n\0]+")
_END: Final = b"\r\n\r\n"
DOCUMENT: Final = "urn:dom:"
"""What stands before the URL of a page in the name of its document: tools that replay archives show the answer."""
KEPT_WITH_DOCUMENT: Final = ("X-Robots-Tag", "Link")
"""Fields of an answer that hold for its document as well."""


class Frame(Struct, frozen=True, gc=False):
    """What the records of one exchange share.

    Identifiers are UUIDs; `answer` is that of the response or revisit, `others` those of request and metadata. `about`
    holds the fields that stand in all three records: date, address, URL, and the `warcinfo` they belong to.
    """

    answer: str
    others: tuple[str, str]
    about: str
    packing: Packing


def frame(answer: Answer, *, date: str, warcinfo: str, ids: tuple[str, str, str], packing: Packing) -> Frame:
    """The frame of the records about `answer`."""
    ip = f"WARC-IP-Address: {answer.ip}\r\n" if answer.ip else ""
    about = (
        f"WARC-Date: {date}\r\nWARC-Target-URI: {answer.task.url}\r\n{ip}WARC-Warcinfo-ID: <urn:uuid:{warcinfo}>\r\n"
    )
    return Frame(ids[0], ids[1:], about, packing)


@lru_cache(256)
def protocol_fields(protocols: str) -> str:
    """The fields for what an answer came over, from higher to lower protocols; few connections differ in that."""
    names = ((word, "Cipher-Suite" if word.startswith("TLS_") else "Protocol") for word in protocols.split())
    return "".join(f"WARC-{name}: {word}\r\n" for word, name in names)


def response(answer: Fetched | Redirected, payload_digest: str, frame: Frame) -> bytes:
    """The whole answer."""
    body = answer.body
    http, is_whole = response_head(answer.status, answer.headers, len(body))
    is_cut = not is_whole or (isinstance(answer, Fetched) and answer.is_truncated)
    fields = (
        f"{frame.about}{protocol_fields(answer.protocols)}"
        f"WARC-Payload-Digest: sha1:{payload_digest}\r\n{_CUT if is_cut else ''}"
        f"WARC-Block-Digest: sha1:{sha1_base32(http, body)}\r\n"
    )
    head = header("response", frame.answer, fields, _RESPONSE, len(http) + len(body)) + http
    record = b"".join((head, body, _END))
    packing = frame.packing
    return packing.dense(record) if is_compressed(answer.headers, body) else packing.text(record)


def identical(answer: Fetched, payload_digest: str, first: Payload, first_date: str, frame: Frame) -> bytes:
    """An answer whose payload is that of an earlier one: its header section, and where the payload lies."""
    http, is_whole = response_head(answer.status, answer.headers, len(answer.body))
    fields = (
        f"WARC-Profile: {IDENTICAL}\r\nWARC-Payload-Digest: sha1:{payload_digest}\r\n"
        f"WARC-Refers-To: <urn:uuid:{first.record_id}>\r\nWARC-Refers-To-Target-URI: {first.url}\r\n"
        f"WARC-Refers-To-Date: {first_date}\r\n{'' if is_whole else _CUT}"
    )
    return _revisit(answer, fields, http, frame)


def unchanged(answer: NotModified, first_date: str | None, frame: Frame) -> bytes:
    """A 304: the version that the server still has was fetched at `first_date`, where that is known."""
    http, is_whole = response_head(304, answer.headers, None)
    date = f"WARC-Refers-To-Date: {first_date}\r\n" if first_date else ""
    fields = (
        f"WARC-Profile: {UNCHANGED}\r\nWARC-Refers-To-Target-URI: {answer.task.url}\r\n{date}{'' if is_whole else _CUT}"
    )
    return _revisit(answer, fields, http, frame)


def _revisit(answer: Fetched | NotModified, fields: str, http: bytes, frame: Frame) -> bytes:
    about = f"{frame.about}{protocol_fields(answer.protocols)}{fields}"
    return _small("revisit", frame.answer, about, _RESPONSE, http, frame.packing)


def request(sent: bytes, frame: Frame) -> bytes:
    """The request as it went out."""
    return _small("request", frame.others[0], frame.about + _beside(frame), _REQUEST, sent, frame.packing)


def document(answer: Fetched, identifier: str, digest: str, frame: Frame) -> bytes:
    """A page after its scripts ran, beside the answer that it was made from, with the directives of that."""
    body, url = answer.body, answer.task.url
    about = frame.about.replace(f"WARC-Target-URI: {url}\r\n", f"WARC-Target-URI: {DOCUMENT}{url}\r\n", 1)
    fields = (
        f"{about}{_beside(frame)}WARC-Refers-To: <urn:uuid:{frame.answer}>\r\n"
        f"WARC-Payload-Digest: sha1:{digest}\r\nWARC-Block-Digest: sha1:{digest}\r\n"
        f"{''.join(_of_answer(name, answer) for name in KEPT_WITH_DOCUMENT)}"
    )
    head = header("resource", identifier, fields, DOCUMENT_TYPE, len(body))
    return frame.packing.text(b"".join((head, body, _END)))


def metadata(task: FetchTask, duration: float, frame: Frame, rendering: Rendering | None = None) -> bytes:
    """What only the crawler knows of the fetch. The first two names are those of Heritrix, which tools know."""
    block = (
        f"fetchTimeMs: {round(duration * 1000)}\r\nhopsFromSeed: {task.depth}\r\nsource: {task.source.value}\r\n"
        f"lane: {task.lane.value}\r\npurpose: {task.purpose.value}\r\nredirects: {task.redirects}\r\n"
        f"attempt: {task.attempt}\r\nseconds: {duration!r}\r\n{_wanted_by(task)}{_rendered(rendering)}"
    ).encode()
    return _small("metadata", frame.others[1], frame.about + _beside(frame), _FIELDS, block, frame.packing)


def _of_answer(name: str, answer: Fetched) -> str:
    """A field of the answer that also counts for its document; nothing if it has none."""
    values = [_line(value) for each, value in answer.headers if each.lower() == name.lower()]
    return f"{name}: {', '.join(values)}\r\n" if values else ""


def _rendered(rendering: Rendering | None) -> str:
    """The result of opening the page in a browser, as a line of JSON; empty if there is none."""
    if rendering is None:
        return ""
    kept = replace(rendering, document=b"", responses=())
    return f"rendering: {msgspec.json.encode(kept).decode()}\r\n"


def _wanted_by(task: FetchTask) -> str:
    """The site for which the robots.txt of another was fetched."""
    return f"site: {task.site}\r\n" if task.site != site_of(task.url) else ""


def warcinfo(
    identifier: str, date: str, file: str, software: str, fields: Mapping[str, str], packing: Packing
) -> bytes:
    """The first record of a file: the software that wrote it, and its settings."""
    named = {"software": software, "format": "WARC File Format 1.1", "conformsTo": _CONFORMS_TO, **fields}
    block = "".join(f"{_line(name)}: {_line(value)}\r\n" for name, value in named.items()).encode("utf-8", "replace")
    about = f"WARC-Date: {date}\r\nWARC-Filename: {file}\r\n"
    return _small("warcinfo", identifier, about, _FIELDS, block, packing)


def _beside(frame: Frame) -> str:
    return f"WARC-Concurrent-To: <urn:uuid:{frame.answer}>\r\n"


def _line(text: str) -> str:
    return _BREAK.sub(" ", text)


def _small(kind: str, identifier: str, fields: str, content_type: str, block: bytes, packing: Packing) -> bytes:
    fields = f"{fields}WARC-Block-Digest: sha1:{sha1_base32(block)}\r\n"
    return packing.dense(b"".join((header(kind, identifier, fields, content_type, len(block)), block, _END)))


def header(kind: str, identifier: str, fields: str, content_type: str, length: int) -> bytes:
    """The fields of a record, up to the empty line before its block."""
    return (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{identifier}>\r\n{fields}"
        f"Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()
