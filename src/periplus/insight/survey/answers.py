"""The answers of a crawl to its requests for robots.txt files and sitemaps, from its tables and archive.

Of several fetches of one URL the last successful one counts, else the last: a file that was read once is not lost by a
later failure. Bodies are read from the archive when they are needed, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from sys import intern
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from periplus.content import decode_body
from periplus.formats.headers import Headers
from periplus.formats.robots import MAX_BYTES
from periplus.model import CollectionDamaged, Stored
from periplus.store.tables import Spooled, scan
from periplus.store.warc import MAX_BLOCK, read_record

from ..columns import plain

_COLUMNS: Final = (
    "url", "purpose", "outcome", "status", "reason", "bytes", "target",
    "digest", "warc_file", "warc_offset", "warc_length", "is_revisit",
)  # fmt: skip
_PLACES: Final = ("digest", "warc_file", "warc_offset", "warc_length", "is_revisit")
_ROWS_AT_ONCE: Final = 4_096
_HEAD: Final = 256 << 10
"""Bytes of a record that are enough to recognise a kind of sitemap."""


class Asked(Struct, frozen=True, gc=False):
    """The result of a request for a URL."""

    url: str
    outcome: str
    status: int | None = None
    reason: str = ""
    size: int = 0
    target: str | None = None
    stored: Stored | None = None

    @property
    def is_found(self) -> bool:
        """Whether there was something."""
        return self.outcome == "fetched" and self.status is not None and 200 <= self.status < 300

    @property
    def is_good(self) -> bool:
        """Whether it leads anywhere."""
        return self.is_found or self.outcome == "redirected"

    @property
    def trouble(self) -> str:
        """The reason why there is no body."""
        if self.outcome == "fetched":
            return f"http-{self.status}"
        return self.reason or self.outcome


class Answers:
    """The answers of a collection, for robots.txt files by URL, for sitemaps by the key that `key_of` gives a URL."""

    def __init__(self, folder: Path, spooled: Sequence[Spooled], key_of: Callable[[str], str]) -> None:
        self.robots: dict[str, Asked] = {}
        self.sitemaps: dict[str, Asked] = {}
        self._archive = folder / "warc"
        for row in _rows(folder / "tables", spooled):
            asked = _asked(row)
            if row["purpose"] == "robots":
                _keep(self.robots, asked.url, asked)
            else:
                _keep(self.sitemaps, key_of(asked.url), asked)
        self._originals = _originals(folder / "tables", spooled, self._references())

    def robots_body(self, asked: Asked) -> bytes:
        """The robots.txt, without content codings; as much as a reader would look at."""
        return self._body(asked, MAX_BLOCK, MAX_BYTES)[0]

    def beginning(self, asked: Asked) -> tuple[bytes, bool]:
        """The first bytes of a sitemap, empty if they are not kept; and whether a content coding was removed."""
        return self._body(asked, _HEAD, _HEAD)

    def _body(self, asked: Asked, most_read: int, most: int) -> tuple[bytes, bool]:
        place = asked.stored
        if place is not None and place.is_revisit:
            place = self._originals.get(place.digest)
        if place is None:
            return b"", False
        try:
            message = read_record(self._archive, place, max_block=most_read).message()
        except CollectionDamaged:
            return b"", False
        codings = ",".join(Headers(message.fields).all("content-encoding"))
        return (decode_body(message.body, codings, max_size=most)[0], True) if codings else (message.body[:most], False)

    def _references(self) -> set[str]:
        """Digests of bodies that are stored with another answer."""
        kept = (asked.stored for answers in (self.robots, self.sitemaps) for asked in answers.values())
        return {stored.digest for stored in kept if stored is not None and stored.is_revisit and stored.digest}


def _rows(tables: Path, spooled: Sequence[Spooled]) -> Iterator[dict[str, Any]]:
    for batch in scan(tables, "fetches", spooled=spooled, columns=_COLUMNS):
        is_ours = pc.is_in(plain(batch["purpose"]), pa.array(["robots", "sitemap"]))
        ours = batch.filter(is_ours)
        for start in range(0, ours.num_rows, _ROWS_AT_ONCE):
            yield from ours.slice(start, _ROWS_AT_ONCE).to_pylist()


def _keep(answers: dict[str, Asked], key: str, asked: Asked) -> None:
    before = answers.get(key)
    if before is None or (asked.outcome != "not-modified" and (asked.is_good or not before.is_good)):
        answers[key] = asked


def _asked(row: dict[str, Any]) -> Asked:
    """Repeated strings are stored once: there may be a million rows."""
    stored = None if row["warc_file"] is None else _stored(row)
    outcome, reason = intern(row["outcome"]), intern(row["reason"] or "")
    return Asked(row["url"], outcome, row["status"], reason, row["bytes"] or 0, row["target"], stored)


def _stored(row: dict[str, Any]) -> Stored:
    """The location of a body; the digest only if the body is stored with another answer."""
    is_revisit = bool(row["is_revisit"])
    digest = (row["digest"] or "") if is_revisit else ""
    return Stored(intern(row["warc_file"]), row["warc_offset"], row["warc_length"], digest, is_revisit)


def _originals(tables: Path, spooled: Sequence[Spooled], digests: set[str]) -> dict[str, Stored]:
    """The locations of the bodies with these digests."""
    found: dict[str, Stored] = {}
    if not digests:
        return found
    wanted = pa.array(sorted(digests))
    for batch in scan(tables, "fetches", spooled=spooled, columns=_PLACES):
        is_first = pc.and_(pc.is_in(batch["digest"], wanted), pc.invert(pc.fill_null(batch["is_revisit"], True)))
        for row in batch.filter(is_first).to_pylist():
            found.setdefault(row["digest"], _stored(row))
    return found
