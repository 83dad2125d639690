"""Writing sitemaps: entries in, named documents out, split where the protocol says, with an index over them.

The document to announce always has the plain name (`sitemap.xml`): the only sitemap if one suffices, else the index of
the others (`sitemap-1.xml`, ...). More sitemaps than an index may name get indexes of their own below it
(`sitemap-index-1.xml`, ...), which the protocol does not forbid and readers follow. The same entries give the same
bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterable, Iterator

from msgspec import Struct

from periplus.formats.sitemap.values import PROTOCOL_BYTES, PROTOCOL_URLS, Child, Entry
from periplus.formats.sitemap.writing import INDEX, INDEX_END, URLSET, URLSET_END, sitemap_record, url_record
from periplus.model import Lastmod


class _Press(Struct, frozen=True):
    """How documents are made: where they will be, in which form, and how large."""

    base: str
    suffix: str
    max_urls: int
    max_bytes: int

    def documents(
        self, records: Iterable[tuple[str, Lastmod | None]], head: str, end: str
    ) -> Iterator[tuple[bytes, Lastmod | None, bool]]:
        """Full documents, the latest date in each, and whether it is the last."""
        room = self.max_bytes - len(head) - len(end)
        texts: list[bytes] = []
        size = 0
        latest: Lastmod | None = None
        for text, lastmod in records:
            record = text.encode()
            if len(record) > room:
                raise ValueError(f"a record of {len(record)} bytes, where a document has {self.max_bytes}")
            if len(texts) >= self.max_urls or size + len(record) > room:
                yield self._bound(head, texts, end), latest, False
                texts, size, latest = [], 0, None
            texts.append(record)
            size += len(record)
            latest = _later(latest, lastmod)
        yield self._bound(head, texts, end), latest, True

    def _bound(self, head: str, texts: list[bytes], end: str) -> bytes:
        document = b"".join((head.encode(), *texts, end.encode()))
        if not self.suffix.endswith(".gz"):
            return document
        deflater = zlib.compressobj(wbits=31)  # a header without time or name: the same bytes every time
        return deflater.compress(document) + deflater.flush()


def write(
    entries: Iterable[Entry],
    *,
    base: str,
    name: str = "sitemap",
    gzip: bool = False,
    max_urls: int = PROTOCOL_URLS,
    max_bytes: int = PROTOCOL_BYTES,
) -> Iterator[tuple[str, bytes]]:
    """The documents that tell of `entries`, each as (name, bytes), made one at a time; the one to announce comes last.

    `base` is the URL of the folder they will be served from; `max_bytes` bounds a document before compression. Raises
    `ValueError` for an entry that no sitemap can hold: a priority outside 0 to 1, a date outside the calendar, a record
    larger than a document; and for `max_urls` below 2, with which no index would ever hold all.
    """
    if max_urls < 2:
        raise ValueError(f"documents of {max_urls} URLs")
    press = _Press(base if base.endswith("/") else base + "/", ".xml.gz" if gzip else ".xml", max_urls, max_bytes)
    records = ((url_record(entry), entry.lastmod) for entry in entries)
    children = yield from _write_level(press, name, name, press.documents(records, URLSET, URLSET_END))
    stem = f"{name}-index"
    while children:
        records = ((sitemap_record(child), child.lastmod) for child in children)
        children = yield from _write_level(press, name, stem, press.documents(records, INDEX, INDEX_END))
        stem += "-index"


def _write_level(
    press: _Press, name: str, stem: str, documents: Iterator[tuple[bytes, Lastmod | None, bool]]
) -> Generator[tuple[str, bytes], None, list[Child]]:
    """Name the documents of one level: plainly if there is only one, else by number; what an index must tell of."""
    children: list[Child] = []
    for number, (document, latest, is_last) in enumerate(documents, 1):
        if is_last and number == 1:
            yield name + press.suffix, document
            return []
        numbered = f"{stem}-{number}{press.suffix}"
        yield numbered, document
        children.append(Child(press.base + numbered, latest))
    return children


def _later(one: Lastmod | None, other: Lastmod | None) -> Lastmod | None:
    if one is None or other is None:
        return one or other
    return other if other.at > one.at else one
