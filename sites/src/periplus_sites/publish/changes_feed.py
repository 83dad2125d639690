"""The Atom feed of what is new, changed and gone, from the events of a ledger."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import unquote, urlsplit

from periplus.formats.feed import FeedDocument, FeedKind, Item, Tombstone, write
from periplus.model import Granularity, Lastmod
from periplus_sites.ledger import FIRST_SCAN, Ledger

from .settings import FeedSettings

NAME: Final = "changes.atom"
MOST: Final = 500
"""Changes that the feed shows: several days of a site that changes often, in about 200 KB."""


def changes_feed(ledger: Ledger, base_url: str, settings: FeedSettings, types: Collection[str]) -> bytes:
    """The feed as a file: each page of these types once, with the last that happened to it since the first scan.

    What the first scan found was there before, and has not changed.
    """
    marks = ",".join("?" * len(types))
    events = ledger.db.execute(
        "select url, title, kind, at, coalesce(lastmod, at) from events where id in"  # noqa: S608 - only marks are put in
        " (select max(events.id) from events join resources using (url)"
        f" where events.id > ? and mime in ({marks})"
        " group by url order by max(events.id) desc limit ?) order by id desc",
        (ledger.note(FIRST_SCAN) or 0, *types, MOST),
    ).fetchall()
    items = tuple(
        Item(url, url, title or _file_name(url), updated=_second(lastmod))
        for url, title, kind, _, lastmod in events
        if kind != "removed"
    )
    gone = tuple(Tombstone(url, _second(at)) for url, _, kind, at, _ in events if kind == "removed")
    updated = _second(max((at for _, _, _, at, _ in events), default=0.0))
    title = settings.title or f"Changes of {base_url}"
    hubs = (settings.hub,) if settings.hub else ()
    return write(
        FeedDocument(FeedKind.ATOM, url=base_url + NAME, link=base_url, title=title, updated=updated, hubs=hubs,
                     items=items, author=title, tombstones=gone)
    )  # fmt: skip


def _file_name(url: str) -> str:
    """The title of what has none, such as a PDF: the last segment of its path."""
    return unquote(urlsplit(url).path.rstrip("/").rpartition("/")[2]) or url


def _second(at: float) -> Lastmod:
    return Lastmod(float(at // 1), Granularity.SECOND)
