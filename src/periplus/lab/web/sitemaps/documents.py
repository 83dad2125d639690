"""A sitemap document as a value, and its bytes.

Gzip is written without compression (stored blocks, RFC 1951 section 3.2.4), because the same seed must give the same
bytes on every machine, and compressors differ from one version to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from zlib import crc32

from msgspec import Struct

from periplus.formats.sitemap import Child, Entry
from periplus.formats.sitemap.writing import INDEX, INDEX_END, URLSET, URLSET_END, sitemap_record, url_record

_CHUNK = 500
_STORED = 0xFFFF
_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_LATIN = "<!-- r\xe9serv\xe9 aux moteurs de recherche -->\n".encode("latin-1")


class Document(Struct, frozen=True):
    """One file: an index of `children`, or a list of what `entries` gives.

    `modified` is the tick at which it was last written, where the site knows. `coat` is how it is dressed: "" as the
    protocol wants it, "gzip", "cut" (gzip that ends too early), "latin-1" (bytes that are not the UTF-8 it claims).
    """

    path: str
    modified: int | None = None
    children: tuple[Child, ...] = ()
    entries: Callable[[], Iterable[Entry]] | None = None
    coat: str = ""


def entries_of(document: Document) -> Iterable[Entry]:
    """What the document lists."""
    return document.entries() if document.entries is not None else ()


def body_of(document: Document) -> bytes | Iterator[bytes]:
    """The bytes; of a plain list as they are made."""
    if document.coat in ("gzip", "cut"):
        packed = stored_gzip(b"".join(_plain(document)))
        return packed if document.coat == "gzip" else packed[: len(packed) * 4 // 5]
    if document.entries is None:
        return b"".join(_plain(document))
    chunks = _plain(document)
    start = b"".join(islice(chunks, 4))
    rest = next(chunks, None)
    return start if rest is None else _chained(start, rest, chunks)


def _chained(first: bytes, second: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield second
    yield from rest


def _plain(document: Document) -> Iterator[bytes]:
    if document.entries is None:
        yield (INDEX + "".join(map(sitemap_record, document.children)) + INDEX_END).encode()
        return
    yield URLSET.encode() + (_LATIN if document.coat == "latin-1" else b"")
    entries = iter(document.entries())
    while chunk := "".join(map(url_record, islice(entries, _CHUNK))):
        yield chunk.encode()
    yield URLSET_END.encode()


def stored_gzip(data: bytes) -> bytes:
    """A gzip file that holds `data` as it is."""
    parts = [_GZIP_HEAD]
    for start in range(0, max(len(data), 1), _STORED):
        block = data[start : start + _STORED]
        is_last = start + _STORED >= len(data)
        size = len(block)
        parts += (bytes((is_last,)), size.to_bytes(2, "little"), (size ^ _STORED).to_bytes(2, "little"), block)
    parts.append(crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little"))
    return b"".join(parts)
