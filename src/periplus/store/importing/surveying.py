"""One pass over archives before they are imported: when each file begins, and what an import has to know beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from periplus.model import Site, Url
from periplus.urls import canonical, site_of

from ..warc import WarcRecord, read_heads
from .dates import seconds_of
from .files import ArchiveFile

_HEAD: Final = 8_192
"""Bytes of each block that are read: enough for the fields of nearly every answer."""
MAX_SITES: Final = 1_000_000
"""Maximum number of sites that become seeds."""
_CAPTURES: Final = frozenset({"response", "revisit", "resource"})


class Survey(Struct):
    """What some files hold.

    `begins` has the time of the first capture of each file, which is 0.0 for a file without any. `seeds` has for each
    site the shortest URL of a page. `referred` are the digests of bodies that revisits refer to.
    """

    begins: list[float]
    captures: int = 0
    seeds: dict[Site, Url] = {}
    referred: set[str] = set()


def survey(files: Sequence[ArchiveFile]) -> Survey:
    """Pass over the heads of all records."""
    found = Survey([], 0, {}, set())
    for file in files:
        begins = 0.0
        for record in read_heads(file.source, size=_HEAD):
            if record.type not in _CAPTURES:
                continue
            begins = begins or seconds_of(record.fields.get("warc-date", "")) or 0.0
            found.captures += 1
            if record.type == "revisit":
                found.referred.add(record.fields.get("warc-payload-digest", ""))
            else:
                _note_seed(found.seeds, record)
        found.begins.append(begins)
    return found


def _note_seed(seeds: dict[Site, Url], record: WarcRecord) -> None:
    url = canonical(record.url) if _is_page(record) else None
    if url is None:
        return
    site = site_of(url)
    known = seeds.get(site)
    if known is None and len(seeds) >= MAX_SITES:
        return
    if known is None or (len(url), url) < (len(known), known):
        seeds[site] = url


def _is_page(record: WarcRecord) -> bool:
    """Whether it is HTML that was there."""
    if not record.is_http:
        return record.fields.get("content-type", "").startswith("text/html")
    message = record.message()
    return message.status == 200 and "html" in (message.headers.get("content-type") or "")
