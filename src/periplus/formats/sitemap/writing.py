"""Writing sitemaps: records in, one document out, the same bytes for the same records.

`plain_records` is the fast path for entries of an address and a date; `elements` writes all
others. Which entries belong in which document is decided by those who publish.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import floor

from isal import isal_zlib

from periplus.formats.dates import write_w3c
from periplus.model import Granularity, Lastmod

from .elements import INDEX, INDEX_END, URLSET_END, escaped, sitemap_record, urlset_head
from .values import Child

_DAY = 86_400
_TIMES = tuple(f"T{minute // 60:02}:{minute % 60:02}:" for minute in range(_DAY // 60))
_SECONDS = tuple(f"{second:02}Z" for second in range(60))


def plain_records(entries: Sequence[tuple[str, float | None]]) -> Iterator[str]:
    """The `<url>` of addresses, each with the time of its last change, to the second, if that is known."""
    if _needs_escapes("".join([url for url, _ in entries])):
        entries = [(escaped(url), at) for url, at in entries]
    for url, at in entries:
        if at is None:
            yield f"<url><loc>{url}</loc></url>\n"
        else:
            yield f"<url><loc>{url}</loc><lastmod>{moment(at)}</lastmod></url>\n"


def moment(at: float) -> str:
    """A time in UTC to the second, as `lastmod` wants it."""
    day, second = divmod(floor(at), _DAY)
    return _date(day) + _TIMES[second // 60] + _SECONDS[second % 60]


def _needs_escapes(text: str) -> bool:
    return not (text.isascii() and text.isprintable()) or any(character in text for character in '&<>"')


def write_urlset(records: Iterable[str], *, gzip: bool, prefixes: Iterable[str] = ()) -> bytes:
    """A sitemap of `<url>` records; `prefixes` are those of the extensions that they use (`image`, `news`, ...)."""
    return _document(urlset_head(prefixes), records, URLSET_END, gzip=gzip)


def write_index(children: Iterable[Child], *, gzip: bool = False) -> bytes:
    """A sitemap index."""
    return _document(INDEX, map(sitemap_record, children), INDEX_END, gzip=gzip)


def _document(head: str, records: Iterable[str], end: str, *, gzip: bool) -> bytes:
    document = "".join((head, *records, end)).encode()
    if not gzip:
        return document
    deflater = isal_zlib.compressobj(3, wbits=31)  # a header without time or name: the same bytes every time
    return deflater.compress(document) + deflater.flush()


@lru_cache(maxsize=4096)
def _date(day: int) -> str:
    return write_w3c(Lastmod(day * float(_DAY), Granularity.DAY))
