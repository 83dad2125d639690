"""Feeds of a collection that name WebSub hubs, read from its tables and its archive.

A feed names its hub and itself in its own text (`rel=hub`, `rel=self`) or in the Link field of its answer, which goes
first (WebSub section 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from periplus.assembly.collection import Collection
from periplus.content import decode_body
from periplus.formats import feed, headers
from periplus.model import CollectionDamaged, Stored, Url
from periplus.store.tables import scan
from periplus.store.warc import read_record
from periplus.urls import canonical

from .subscriptions import FeedHubs

MAX_FEEDS: Final = 2_000
"""Feeds of a collection that are looked at: more than it may have subscriptions, since few name a hub."""
MAX_HUBS: Final = 3
"""Hubs of a feed that are tried."""
_MAX_BLOCK: Final = 16 * 1024 * 1024
_KINDS: Final = ("rss", "atom")
_COLUMNS: Final = ["url", "status", "warc_file", "warc_offset", "warc_length", "digest", "is_revisit"]


def feeds_with_hubs(collection: Collection) -> Iterator[FeedHubs]:
    """Feeds whose last version in the archive names a hub."""
    for url, stored in _versions(collection, _feed_urls(collection)).items():
        try:
            message = read_record(collection.layout.warc, stored, max_block=_MAX_BLOCK).message()
        except CollectionDamaged:  # the record may lie in a file that the crawl has not finished
            continue
        fields = headers.Headers(message.fields)
        body, _ = decode_body(message.body, fields.get("content-encoding") or "")
        if found := hubs_of(url, body, fields.all("link")):
            yield found


def hubs_of(url: str, body: bytes, links: Sequence[str]) -> FeedHubs | None:
    """The topic and the hubs of a feed that was served at `url` with these Link fields; `None` without a hub."""
    stated = headers.read_links(links, url)
    read = feed.read(body, url)
    hubs = [link.url for link in stated if "hub" in link.rel] or list(read.hubs)
    selves = [link.url for link in stated if "self" in link.rel] or [read.url or url]
    found = tuple(dict.fromkeys(hub for each in hubs if (hub := canonical(each)) is not None))
    return FeedHubs(selves[0], found[:MAX_HUBS]) if found else None


def _feed_urls(collection: Collection) -> set[str]:
    layout = collection.layout
    found: set[str] = set()
    for batch in scan(layout.tables, "sitemaps", spooled=layout.spooled, columns=["url", "kind"]):
        is_feed = pc.is_in(_plain(batch["kind"]), value_set=pa.array(_KINDS))
        found.update(batch.filter(is_feed)["url"].to_pylist())
        if len(found) >= MAX_FEEDS:
            break
    return found


def _versions(collection: Collection, urls: set[str]) -> dict[Url, Stored]:
    """Where the last version of each feed is stored."""
    layout = collection.layout
    found: dict[Url, Stored] = {}
    wanted = pa.array(sorted(urls), pa.string())
    for batch in scan(layout.tables, "fetches", spooled=layout.spooled, columns=_COLUMNS) if urls else ():
        is_stored = pc.and_(pc.equal(batch["status"], 200), pc.is_valid(batch["warc_file"]))
        for row in batch.filter(pc.and_(pc.is_in(batch["url"], value_set=wanted), is_stored)).to_pylist():
            if not row["is_revisit"]:
                place = row["warc_file"], row["warc_offset"], row["warc_length"], row["digest"]
                found[Url(row["url"])] = Stored(*place)
    return found


def _plain(column: pa.Array) -> pa.Array:
    """A column of repeated texts as texts."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
