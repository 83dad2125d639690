"""All versions of one page, and the difference between any two of them.

A collection keeps every version in its archive; one that was the same as an earlier one is kept as a reference to it (a
revisit record, WARC 1.1 section 6.7), which is followed here. The table `fetches` is read from end to end, a batch at a
time: seconds for ten million visits.

A version that cannot be read is a value with a reason: `not-kept` (a simulation, or an archive that was deleted), and
those of `store.export.documents`: `damaged`, `no-original`.

What a change is about (titles, links, what differs in the main text) is read from the archive, a page at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from periplus.model import ParsedPage, Stored, Url, UsageError
from periplus.store.export.captures import Capture
from periplus.store.tables import Spooled, scan

from .difference import MAX_TEXT, Difference, diff
from .visits import GOOD, SAME, Change, ChangeKind, Version, states_of

if TYPE_CHECKING:
    from periplus.store.export.documents import DecodedCapture

NOT_KEPT: Final = "not-kept"


def document_of(archive: Path, url: Url, version: Version | None) -> DecodedCapture | str:
    """A version as it was fetched, or the reason why it cannot be read."""
    if version is None or version.stored is None:
        return NOT_KEPT
    original = version.body if version.stored.is_revisit else None
    at = datetime.fromtimestamp(version.at, UTC)
    from periplus.store.export.documents import read_document  # loads the readers of pages, which few calls need

    return read_document(archive, Capture(url, 200, at, None, version.stored, original))


_EXCERPT: Final = 300
_MOST_LINKS: Final = 50


class LinkChange(Struct, frozen=True):
    """The links that a page gained and lost: how many of each, and the first of them."""

    added: int = 0
    removed: int = 0
    new: tuple[Url, ...] = ()
    gone: tuple[Url, ...] = ()


class Detail(Struct, frozen=True):
    """What a change is about.

    `title` is that of the later version, or of the only one that can be read, `title_before` the earlier one if it
    differs; `excerpt` is the beginning of a page that appeared; `difference` compares the two main texts of a page that
    changed, or all its text if it changed elsewhere. `problem`: why some of that is missing.
    """

    title: str = ""
    title_before: str = ""
    canonical: str = ""
    canonical_before: str = ""
    excerpt: str = ""
    links: LinkChange = LinkChange()
    difference: Difference | None = None
    problem: str = ""

    @property
    def size(self) -> float | None:
        """The share of words that differ, of the main text or else of all text; `None` where no texts were compared."""
        return None if self.difference is None else self.difference.size


def detail_of(folder: Path, change: Change) -> Detail:
    """What a change in a collection is about."""
    if change.kind in (ChangeKind.CHANGED, ChangeKind.ELSEWHERE):
        is_elsewhere = change.kind is ChangeKind.ELSEWHERE
        return compare(folder, change.url, change.before, change.after, is_elsewhere=is_elsewhere)
    found = document_of(folder / "warc", change.url, change.after or change.before)
    if isinstance(found, str):
        return Detail(problem=found)
    excerpt = found.page.main_text[:_EXCERPT] if change.kind is ChangeKind.APPEARED else ""
    return Detail(title=found.page.title, excerpt=excerpt)


def compare(
    folder: Path, url: Url, before: Version | None, after: Version | None, *, is_elsewhere: bool = False
) -> Detail:
    """What differs between two versions of a page: in their main texts or, of a change elsewhere, in all text."""
    old, new = (document_of(folder / "warc", url, version) for version in (before, after))
    if isinstance(new, str):
        return Detail(title="" if isinstance(old, str) else old.page.title, problem=new)
    if isinstance(old, str):
        return Detail(title=new.page.title, problem=old)
    return _compared(old, new, is_elsewhere=is_elsewhere)


def _compared(old: DecodedCapture, new: DecodedCapture, *, is_elsewhere: bool) -> Detail:
    is_renamed = old.page.title != new.page.title
    is_moved = old.page.canonical != new.page.canonical
    before, after = (each.page.text[:MAX_TEXT] if is_elsewhere else each.to_text(MAX_TEXT) for each in (old, new))
    return Detail(
        title=new.page.title,
        title_before=old.page.title if is_renamed else "",
        canonical=(new.page.canonical or "") if is_moved else "",
        canonical_before=(old.page.canonical or "") if is_moved else "",
        links=_links(old.page, new.page),
        difference=diff(before, after),
    )


def _links(old: ParsedPage, new: ParsedPage) -> LinkChange:
    before = dict.fromkeys(old.links.to_others().urls)
    after = dict.fromkeys(new.links.to_others().urls)
    added, removed = _without(after, before), _without(before, after)
    return LinkChange(len(added), len(removed), tuple(added[:_MOST_LINKS]), tuple(removed[:_MOST_LINKS]))


def _without(urls: Iterable[Url], others: dict[Url, None]) -> list[Url]:
    return [url for url in urls if url not in others]


MAX_VISITS: Final = 10_000
"""Versions of one page that are read, at most: the last ones."""
_COLUMNS: Final = (
    "url", "purpose", "outcome", "status", "reason", "target", "ended_at", "digest", "warc_file", "warc_offset",
    "warc_length", "is_revisit",
)  # fmt: skip


class PageVisit(Struct, frozen=True):
    """A visit that shows whether the page exists.

    `version` is the version it found; `None`: the page does not exist.
    """

    at: float
    outcome: str
    status: int | None = None
    reason: str = ""
    target: str = ""
    digest: str = ""
    version: Version | None = None


def versions(folder: Path, url: Url, *, spooled: Sequence[Spooled] = ()) -> list[PageVisit]:
    """Every visit to a page that shows whether it exists, the earliest first."""
    rows = deque(_visits_to(folder / "tables", url, spooled), MAX_VISITS)
    ordered = sorted(rows, key=lambda row: row["ended_at"])
    originals = _originals(folder / "tables", ordered, spooled)
    return list(_page_visits(ordered, originals))


def version_at(visits: Sequence[PageVisit], at: float) -> Version | None:
    """The version that a page had at a time: that of the last visit until then that found it there."""
    found = [visit.version for visit in takewhile(lambda visit: visit.at <= at, visits) if visit.version is not None]
    return found[-1] if found else None


def diff_of(folder: Path, url: Url, before: float, after: float, *, spooled: Sequence[Spooled] = ()) -> Detail:
    """What differs between the versions that a page had at two times."""
    visits = versions(folder, url, spooled=spooled)
    old, new = version_at(visits, before), version_at(visits, after)
    if old is None or new is None:
        raise UsageError(
            f"{url} has no version of that time", hint=f"the first version is of {visits[0].at}" if visits else ""
        )
    return compare(folder, url, old, new)


def _visits_to(tables: Path, url: Url, spooled: Sequence[Spooled]) -> Iterator[dict[str, Any]]:
    wanted = pa.scalar(str(url))
    for batch in scan(tables, "fetches", spooled=spooled, columns=_COLUMNS):
        some = batch.filter(pc.equal(batch["url"], wanted))
        if some.num_rows:
            states = states_of(some)
            for row, state in zip(some.to_pylist(), states.tolist(), strict=True):
                if state:
                    yield row | {"state": state}


def _originals(tables: Path, rows: Sequence[dict[str, Any]], spooled: Sequence[Spooled]) -> dict[str, Stored]:
    """The locations of bodies that other records refer to."""
    found = {row["digest"]: _stored(row) for row in rows if row["digest"] and not row["is_revisit"]}
    missing = {row["digest"] for row in rows if row["digest"]} - found.keys()
    if missing:
        asked = pa.array(sorted(missing))
        for batch in scan(tables, "fetches", spooled=spooled, columns=_COLUMNS[-5:]):
            is_it = pc.and_(pc.is_in(batch["digest"], asked), pc.invert(pc.fill_null(batch["is_revisit"], True)))
            for row in batch.filter(is_it).to_pylist():
                found.setdefault(row["digest"], _stored(row))
    return {digest: stored for digest, stored in found.items() if stored is not None}


def _page_visits(rows: Sequence[dict[str, Any]], originals: dict[str, Stored]) -> Iterator[PageVisit]:
    last: Version | None = None
    digest = ""
    for row in rows:
        at, stored = row["ended_at"].timestamp(), _stored(row)
        version: Version | None = None
        if row["state"] == GOOD:
            body = originals.get(row["digest"] or "") if stored and stored.is_revisit else stored
            last, digest = Version(at, stored, body), row["digest"] or ""
            version = last
        elif row["state"] == SAME and last is not None:
            version = replace(last, at=at)
        content = digest if version is not None else ""
        yield PageVisit(at, row["outcome"], row["status"], row["reason"] or "", row["target"] or "", content, version)


def _stored(row: dict[str, Any]) -> Stored | None:
    if row["warc_file"] is None:
        return None
    return Stored(
        row["warc_file"], row["warc_offset"], row["warc_length"], row["digest"] or "", bool(row["is_revisit"])
    )
