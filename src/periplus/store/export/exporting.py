"""A collection in other formats: which format goes where, and the loop over its pages.

| format | goes to | is |
|---|---|---|
| `jsonl` | a stream | one object a page: URL, time, title, language, text, main text, ... |
| `csv` | a stream | the same, one row a page |
| `text` | a folder | `host/path.txt`: the main text with its lines |
| `markdown` | a folder | `host/path.md`: the main text with headings, lists, links, code, tables |
| `parquet` | a folder | `documents.parquet`, one row a page as in `jsonl`; and the tables, one file each |
| `warc` | a stream | all WARC files as one, in gzip |

Pages are the last good version of every URL, or of those that a `Selection` selects by site, URL and language, each
text once. Bodies come from the archive and are parsed again, with the present parsers. A table is not selected from:
with a selection, `parquet` is only the pages. An export of what changed (`ChangedPages`) has only pages that appeared
or changed, and a line for each page that was deleted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, Protocol, TypeVar

import pyarrow as pa
from msgspec import Struct, field
from msgspec.structs import replace

from periplus.content.text_language import primary_language
from periplus.model import Directives, Preference, Preferences, Url, UsageError, UseLimit
from periplus.policy.filters.patterns import compiled
from periplus.policy.permissions import DISALLOW, UNEXPLAINED, Permitted, refusal
from periplus.urls import is_below, site_of
from periplus.view.notebook import Displayed

from ..tables import SCHEMAS, Spooled, scan
from ..tables.files import check_digests
from ..tables.table import ParquetFile
from ..warc import WarcEnd
from ..warc.copying import as_gzip
from ..warc.packing import GZIP
from ..warc.records import read_name, warc_files
from .captures import Capture, latest_captures
from .documents import DecodedCapture, read_document
from .records import (
    DELETED,
    MARKDOWN,
    TEXT,
    CsvWriter,
    DocumentTable,
    PageRecord,
    prepare_folder,
    record_of,
    tombstone_line,
    write_file,
    write_line,
)

OTHER_LANGUAGE, UNKNOWN_LANGUAGE, DUPLICATE = "other-language", "unknown-language", "duplicate"
NEAR_DUPLICATE, NOT_INDEXABLE, GONE = "near-duplicate", "not-indexable", "gone"
OTHER_SITE, NOT_INCLUDED = "other-site", "not-included"
"""Pages whose URL was not selected."""
RefusesUse = Callable[[Url, datetime], str]
"""Tells why a page is left out because of what the export is for; an empty string if it is not.

What is known of a version that was fetched before the given time does not count.
"""


class ReadCapture(Protocol):
    """A version of a page that was read, as far as an export selects by it."""

    @property
    def capture(self) -> Capture:
        """Its place and time."""

    @property
    def language(self) -> str:
        """The language tag of its text; empty if it is unknown."""

    @property
    def preferences(self) -> Preferences:
        """What it states on its use."""

    @property
    def directives(self) -> Directives:
        """What it asks of crawlers."""

    @property
    def text_digest(self) -> bytes:
        """A digest of its text, by which pages are the same; empty without text."""

    @property
    def no_text(self) -> str:
        """Why there is no text, if there is none."""


R = TypeVar("R", bound=ReadCapture)


class Selection(Struct, frozen=True):
    """Which pages to export; an empty field selects all pages.

    `sites` are hosts, subdomains included; without a port, with all ports. `include` are URL patterns as of a
    crawl. `languages` are tags of what texts are in: `de` selects `de-AT`, too. `dedupe`: of pages with the same main
    text, only the one that was fetched first. `purpose` is one of `policy.permissions.PURPOSES`: only pages that may be
    used for it; `unknown`: whether pages of which nothing is stated are (`keep`, `drop`).
    """

    sites: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    dedupe: bool = False
    purpose: str = ""
    unknown: str = "keep"

    def __bool__(self) -> bool:
        return self != Selection()


class PageFilter:
    """Applies a selection to the pages of one export, in their order.

    `refuses` knows what pages may be used for; without it nothing is known but what a page says itself.
    """

    def __init__(self, selection: Selection, refuses: RefusesUse | None = None) -> None:
        self._sites = tuple(site.lower() for site in selection.sites)
        self._patterns: list[Callable[[str], object]] = [compiled(pattern) for pattern in selection.include]
        self._languages = tuple(language.lower().replace("_", "-") for language in selection.languages)
        self._purpose, self._refuses = selection.purpose, refuses or _is_unexplained
        self._seen: set[bytes] | None = set() if selection.dedupe else None

    def url_refusal(self, url: Url) -> str:
        """Why a URL is not selected, by its site and its form; empty if it is."""
        if self._sites and not is_below(site_of(url), self._sites):
            return OTHER_SITE
        return NOT_INCLUDED if self._patterns and not any(fits(url) for fits in self._patterns) else ""

    def refusal(self, page: ReadCapture) -> str:
        """Why a page with a selected URL is left out; empty if it is not."""
        if self._languages and not self._is_in_language(language := page.language):
            return OTHER_LANGUAGE if language else UNKNOWN_LANGUAGE
        if self._purpose:
            if _refuses_itself(page, self._purpose):
                return refusal(Permitted(DISALLOW), self._purpose)
            if reason := self._refuses(page.capture.url, page.capture.fetched_at):
                return reason
        return DUPLICATE if self._seen is not None and self._is_known(page, self._seen) else ""

    def _is_in_language(self, language: str) -> bool:
        tag = language.lower().replace("_", "-")
        primary = primary_language(tag)
        return any(wanted in (tag, primary) or tag.startswith(f"{wanted}-") for wanted in self._languages)

    @staticmethod
    def _is_known(page: ReadCapture, seen: set[bytes]) -> bool:
        """Whether the text of a page was exported before; a page without text is like no other."""
        digest = page.text_digest
        if not digest:
            return False
        is_known = digest in seen
        seen.add(digest)
        return is_known


def _is_unexplained(_url: Url, _fetched_at: datetime) -> str:
    return UNEXPLAINED


def _refuses_itself(page: ReadCapture, purpose: str) -> bool:
    """Whether a page or its headers refuse a use, whatever else is known of it."""
    said, directives = page.preferences, page.directives
    if purpose == "retrieval":
        return said.ai_input is Preference.DISALLOW
    if said.use is UseLimit.IMMEDIATE:
        return True
    if purpose == "training":
        return said.forbids_training
    if purpose == "search":
        return said.search is Preference.DISALLOW or directives.hides_at(time.time())
    return directives.noarchive


STREAMS: Final = ("jsonl", "csv", "warc")
FOLDERS: Final = ("text", "markdown", "parquet")
_ROWS_PER_GROUP: Final = 100_000
_COMPRESSION: Final = 2
"""Level of isal for records that are packed anew."""


class Committed(Struct, frozen=True):
    """The positions of the shards of a collection at their last commits. Empty: the crawl has ended, all rows count."""

    spooled: tuple[Spooled, ...] = ()
    archive: tuple[WarcEnd, ...] = ()


class Exported(Displayed, frozen=True):
    """What an export did: pages, rows or files written, in how many `chunks`, and pages left out, by reason.

    `deleted` are deletions of pages that an earlier export had; `refused` of the written URLs were never requested,
    because filters or robots.txt refused them.
    """

    written: int
    left_out: dict[str, int] = field(default_factory=dict)
    deleted: int = 0
    refused: int = 0
    chunks: int = 0


class ChangedPages(Struct):
    """The pages of an export of what changed: those that `appeared` or `changed`, and those that were `deleted`.

    Times are POSIX; `since` is when the first of it happened. A changed page that the export leaves out now (by its
    language, by what its site permits, because it has no text any more) joins the deleted ones while pages are written.
    """

    since: float
    appeared: set[Url]
    changed: dict[Url, float]
    deleted: dict[Url, float]

    def leave_out(self, url: Url) -> None:
        """The export does not have this page; an earlier one may have had it."""
        if url in self.changed:
            self.deleted[url] = self.changed[url]

    def keep(self, wants: Callable[[Url], bool]) -> None:
        """Drop deletions of URLs that the export would not have."""
        self.deleted = {url: at for url, at in self.deleted.items() if wants(url)}

    def write_deleted(self, out: BinaryIO) -> None:
        """Write a JSON object for each deletion, in a line of its own."""
        out.writelines(tombstone_line(url, at) for url, at in self.deleted.items())


def export_stream(
    collection: Path,
    form: str,
    out: BinaryIO,
    committed: Committed | None = None,
    *,
    wants_markdown: bool = False,
    selection: Selection | None = None,
    changes: ChangedPages | None = None,
    refuses: RefusesUse | None = None,
) -> Exported:
    """Write a collection as `jsonl`, `csv` or `warc`. `wants_markdown` adds the main text of each page in Markdown.

    With `changes`, `jsonl` has only these pages, and then a line for each that was deleted.
    """
    committed, selection = committed or Committed(), selection or Selection()
    if form == "warc":
        if selection:
            raise UsageError("warc is the whole archive", hint="select pages in jsonl, csv, parquet, markdown or text")
        return Exported(_copy_archive(collection / "warc", out, committed.archive))
    write: Callable[[PageRecord], None]
    if form == "jsonl":
        write = partial(write_line, out=out)
    elif form == "csv":
        write = CsvWriter(out, wants_markdown=wants_markdown).add
    else:
        raise _unknown(form, STREAMS)
    exported = export_documents(
        collection,
        committed,
        selection,
        lambda document: write(record_of(document, wants_markdown=wants_markdown)),
        changes=changes,
        refuses=refuses,
    )
    if changes is not None:
        changes.write_deleted(out)
    return exported


def export_folder(
    collection: Path,
    form: str,
    folder: Path,
    committed: Committed | None = None,
    *,
    wants_markdown: bool = False,
    selection: Selection | None = None,
    changes: ChangedPages | None = None,
    refuses: RefusesUse | None = None,
) -> Exported:
    """Write a collection as `text`, `markdown` or `parquet`, into a folder that is new or empty.

    `wants_markdown` adds a column to `parquet`. With `changes` there are only these pages, and the file `DELETED` has a
    line for each that was deleted.
    """
    committed, selection = committed or Committed(), selection or Selection()
    if form not in FOLDERS:
        raise _unknown(form, FOLDERS)
    prepare_folder(folder)
    if form == "parquet":
        has_tables = not selection and changes is None
        rows = _export_tables(collection / "tables", folder, committed.spooled) if has_tables else 0
        table = DocumentTable(folder, wants_markdown=wants_markdown)
        pages = export_documents(
            collection,
            committed,
            selection,
            lambda document: table.add(record_of(document, wants_markdown=wants_markdown)),
            changes=changes,
            refuses=refuses,
        )
        table.finish()
        exported = replace(pages, written=rows + pages.written)
    else:
        suffix = MARKDOWN if form == "markdown" else TEXT
        exported = export_documents(
            collection,
            committed,
            selection,
            lambda document: write_file(document, folder, suffix),
            changes=changes,
            refuses=refuses,
        )
    if changes is not None:
        with (folder / DELETED).open("wb") as out:
            changes.write_deleted(out)
    return exported


def _export_tables(tables: Path, folder: Path, spooled: Sequence[Spooled]) -> int:
    check_digests(tables, SCHEMAS)
    return sum(_compact(tables, table, folder, spooled) for table in SCHEMAS)


def export_documents(
    collection: Path,
    committed: Committed,
    selection: Selection,
    write: Callable[[DecodedCapture], bool | None],
    *,
    unwanted: Callable[[Url], str] = lambda _url: "",
    changes: ChangedPages | None = None,
    refuses: RefusesUse | None = None,
) -> Exported:
    """Write every selected page in turn, read from the archive (`export_captures`)."""
    read = partial(read_document, collection / "warc", texts_only=True)
    return export_captures(
        collection, committed, selection, read, write, unwanted=unwanted, changes=changes, refuses=refuses
    )


def export_captures(
    collection: Path,
    committed: Committed,
    selection: Selection,
    read: Callable[[Capture], R | str],
    write: Callable[[R], bool | None],
    *,
    unwanted: Callable[[Url], str] = lambda _url: "",
    changes: ChangedPages | None = None,
    refuses: RefusesUse | None = None,
) -> Exported:
    """Every selected page in turn. One that is not written is counted by reason, and the others go on.

    `unwanted` returns the reason why a URL is left out, `read` a page, or the reason why there is none, and `write`
    whether the page had something to write. With `changes`, only pages that appeared or changed; the caller writes
    those that were deleted, afterwards. `refuses` knows what pages may be used for.
    """
    check_digests(collection / "tables", ("fetches",))
    written, left_out = 0, Counter[str]()
    pages = PageFilter(selection, refuses)
    for capture in latest_captures(collection / "tables", committed.spooled):
        url, why = capture.url, ""
        if changes is not None and url not in changes.changed and url not in changes.appeared:
            continue
        if not_selected := pages.url_refusal(url):
            left_out[not_selected] += 1
            continue
        document = unwanted(url) or read(capture)
        if isinstance(document, str):
            why = document
        elif not (why := pages.refusal(document)) and write(document) is False:
            why = document.no_text
        if not why:
            written += 1
            continue
        left_out[why] += 1
        if changes is not None:
            changes.leave_out(url)
    if changes is not None:
        changes.keep(lambda url: not pages.url_refusal(url))
    return Exported(written, dict(left_out), deleted=len(changes.deleted) if changes is not None else 0)


def _compact(tables: Path, table: str, folder: Path, spooled: Sequence[Spooled]) -> int:
    """Write a whole table to one file, a row group in memory at a time."""
    file = ParquetFile(folder / f"{table}.parquet", SCHEMAS[table])
    group: list[pa.RecordBatch] = []
    rows = 0
    for batch in scan(tables, table, spooled=spooled):
        group.append(batch.cast(SCHEMAS[table]))
        rows += batch.num_rows
        if rows >= _ROWS_PER_GROUP:
            file.write(group)
            group, rows = [], 0
    if group:
        file.write(group)
    file.finish()
    return file.rows


def committed_files(warc: Path, ends: Sequence[WarcEnd]) -> Iterator[tuple[Path, int]]:
    """The WARC files of a collection with their committed lengths, in the order of names."""
    lengths = {end.file: end.length for end in ends if end.file}
    last = {name.shard: name.serial for name in map(read_name, lengths) if name}
    for path in warc_files(warc):
        name = read_name(path.name)
        if name and name.serial > last.get(name.shard, name.serial):
            continue
        yield path, lengths.get(path.name, path.stat().st_size)


def _copy_archive(folder: Path, out: BinaryIO, ends: Sequence[WarcEnd]) -> int:
    """Copy the committed part of every file into one: gzip members can be concatenated, so files can, too."""
    copied = 0
    for path, length in committed_files(folder, ends):
        if path.name.endswith(GZIP):
            _copy(path, out, length)
        else:
            for _, pieces in as_gzip(path, length, _COMPRESSION):
                out.writelines(pieces)
        copied += 1
    return copied


def _copy(path: Path, out: BinaryIO, length: int) -> None:
    with path.open("rb") as file:
        while length > 0 and (piece := file.read(min(length, 1 << 20))):
            out.write(piece)
            length -= len(piece)


def _unknown(form: str, known: Sequence[str]) -> UsageError:
    return UsageError(f"{form!r} is not a format of this kind", hint=f"one of {', '.join(known)}")
