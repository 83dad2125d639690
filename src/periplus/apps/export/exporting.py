"""Every format that a collection can be exported in: its options, what refuses them, and which function writes it.

The command line and the library go through `Export`. An export contains everything up to the last commit of each shard,
also while a crawl runs.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from msgspec import Struct
from msgspec.structs import force_setattr

from periplus import __version__
from periplus.collection.collection import CollectionSetup
from periplus.collection.typed_values import moment_of
from periplus.model import UsageError
from periplus.policy.permissions import PURPOSES
from periplus.store.durable import replace_file
from periplus.store.export import FOLDERS as PAGE_FOLDERS
from periplus.store.export import (
    ChangedPages,
    Committed,
    Exported,
    PageFilter,
    Selection,
    export_folder,
    export_stream,
)
from periplus.store.export.bulk import mapping
from periplus.store.export.chunks import DEFAULT_SIZE, WORDS, ChunkShape
from periplus.store.export.exporting import (
    GONE,
    NEAR_DUPLICATE,
    NOT_INCLUDED,
    NOT_INDEXABLE,
    OTHER_LANGUAGE,
    OTHER_SITE,
    UNKNOWN_LANGUAGE,
)
from periplus.store.layout import Layout
from periplus.store.tables import Spooled

from .retrieval import DEFAULT_INDEX, check_index_name, export_bulk, export_chunks

if TYPE_CHECKING:
    from periplus.store.export.exporting import RefusesUse
    from periplus.store.wacz_auth import PackageSigner

    from .changed import ExportMark

FORMATS: Final = {
    "jsonl": ".jsonl",
    "csv": ".csv",
    "markdown": "-markdown",
    "text": "-text",
    "parquet": "-parquet",
    "warc": ".warc.gz",
    "wacz": ".wacz",
    "cc-index": "-cc-index",
    "urls": ".urls.txt",
    "chunks": ".chunks.jsonl",
    "bulk": ".ndjson",
}
"""All formats, with what follows the name of the collection in the name of a file or folder without `--out`."""
FOLDERS: Final = (*PAGE_FOLDERS, "cc-index")
"""Formats that are folders."""
_SHORT: Final = {"md": "markdown"}
UNKNOWN: Final = ("keep", "drop")
"""What becomes of pages of which nothing is stated."""
WITH_CHANGES: Final = ("jsonl", "markdown", "text", "parquet", "chunks", "bulk")
"""Formats that can have only what changed."""
WHILE_CRAWLED: Final = ("jsonl", "csv", "markdown", "text", "parquet")
"""Formats that can be written while a crawl of the same process writes the collection."""
MAPPING: Final = ".mapping.json"
"""Behind the name of a bulk file: the types of its fields."""
_WHOLE: Final = ("warc", "wacz", "cc-index", "urls")
_NOT_SELECTED: Final = {OTHER_SITE, NOT_INCLUDED, OTHER_LANGUAGE, UNKNOWN_LANGUAGE, NEAR_DUPLICATE, NOT_INDEXABLE, GONE}
"""Reasons that say nothing about whether a page has the selected sites, patterns or languages, or deny it."""


class ExportOptions(Struct, frozen=True):
    """What is asked of an export; `docs/export.md` explains each option."""

    form: str
    selection: Selection = Selection()
    markdown: bool = False
    where: str = ""
    title: str = ""
    wants_all: bool = False
    sign: Path | None = None
    timestamp: str = ""
    index: str = DEFAULT_INDEX
    since: str | float | None = None
    changed: bool = False
    name: str = ""
    size: int = DEFAULT_SIZE
    unit: str = WORDS
    overlap: int = 0

    def __post_init__(self) -> None:
        """Replace a short name of a format."""
        force_setattr(self, "form", _SHORT.get(self.form, self.form))

    def check(self, *, is_sent: bool = False) -> None:
        """Refuse options that the format does not have, before a file is begun. `is_sent`: to a server."""
        form = self.form
        if form not in FORMATS:
            raise UsageError(f"{form!r} is not a format of exports", hint=f"one of {', '.join(FORMATS)}")
        self._check_purpose()
        if self.markdown and form not in ("jsonl", "csv", "parquet"):
            raise UsageError(
                f"--markdown adds a column to jsonl, csv and parquet, not to {form}",
                hint="use --format markdown for files",
            )
        if self.selection and form in _WHOLE:
            raise UsageError(
                f"--site, --include, --lang, --dedupe and --for select pages, and {form} is the whole archive",
                hint="use --format jsonl, csv, parquet, markdown or text",
            )
        PageFilter(self.selection)
        if self.where and form != "urls":
            raise UsageError(f"--where selects URLs for urls, not for {form}", hint="use --site or --include")
        self._check_package()
        if form != "bulk" and (is_sent or self.index != DEFAULT_INDEX):
            raise UsageError(
                f"--index and --to are of bulk, not of {form}", hint="use --format bulk, or leave them out"
            )
        check_index_name(self.index)
        if form != "chunks" and (self.size, self.unit, self.overlap) != (DEFAULT_SIZE, WORDS, 0):
            raise UsageError(
                f"--size, --unit and --overlap are of chunks, not of {form}",
                hint="use --format chunks, or leave them out",
            )
        self._check_changes()

    def _check_purpose(self) -> None:
        purpose, unknown = self.selection.purpose, self.selection.unknown
        if purpose not in ("", *PURPOSES):
            raise UsageError(f"--for: {purpose!r} is not a use", hint=f"one of {', '.join(PURPOSES)}")
        if unknown not in UNKNOWN:
            raise UsageError(f"--unknown: {unknown!r} is not known", hint=f"one of {', '.join(UNKNOWN)}")
        if unknown != "keep" and not purpose:
            raise UsageError("--unknown is of --for", hint="add --for training, or leave it out")

    def _check_package(self) -> None:
        if (self.title or self.wants_all) and self.form != "wacz":
            raise UsageError(f"--title and --all are for wacz, not for {self.form}", hint="leave them out")
        if (self.sign is not None or self.timestamp) and self.form != "wacz":
            raise UsageError(f"--sign and --timestamp are for wacz, not for {self.form}", hint="leave them out")
        if self.timestamp and self.sign is None:
            raise UsageError("--timestamp is of a signature", hint="add --sign KEY, or leave it out")

    def _check_changes(self) -> None:
        if (self.since is not None or self.changed) and self.form not in WITH_CHANGES:
            raise UsageError(
                f"--since and --changed are of {', '.join(WITH_CHANGES)}, not of {self.form}",
                hint="use one of these formats, or leave them out",
            )
        if self.since is not None and self.changed:
            raise UsageError("--since and --changed exclude each other", hint="leave one of them out")
        if self.name and not self.changed:
            raise UsageError("--name is of --changed", hint="add --changed, or leave it out")
        if self.name:
            from .changed import check_export_name

            check_export_name(self.name)


def committed_of(layout: Layout) -> Committed:
    """How far the shards have come: also of a crawl that runs, or was killed."""
    commits = layout.commits()
    ends = (commit.archive for commit in commits if commit.archive is not None)
    spooled = (Spooled(commit.shard, layout.spool(commit.shard), commit.tables) for commit in commits)
    return Committed(tuple(spooled), tuple(ends))


class Export:
    """One export of a collection. `finish` is called when what was written is safe."""

    def __init__(self, found: CollectionSetup, asked: ExportOptions, committed: Committed | None = None) -> None:
        asked.check()
        self._found, self._asked = found, asked
        self._committed = committed_of(found.layout) if committed is None else committed
        self._shape = ChunkShape(asked.size, asked.unit, asked.overlap)
        self._now = time.time()
        self._since = moment_of(asked.since, self._now) if isinstance(asked.since, str) else asked.since
        self._signer = None if asked.sign is None else _signer_of(found, asked.sign, asked.timestamp)
        self._mark: ExportMark | None = None
        if asked.changed:
            from .changed import saved_mark

            self._mark = saved_mark(found.layout, self._name, asked.form, asked.selection)

    @property
    def _name(self) -> str:
        return self._asked.name or self._asked.form

    @property
    def usual_place(self) -> Path:
        """The file or folder to write if none is given: beside the collection's name, in the working directory."""
        return Path(self._found.folder.resolve().name + FORMATS[self._asked.form])

    @property
    def is_stream(self) -> bool:
        """Whether standard output can have it; a package is finished at its beginning."""
        return self._asked.form not in (*FOLDERS, "wacz")

    def check_stream(self, *, is_terminal: bool) -> None:
        """Refuse standard output for what is not a stream, and a terminal for binary data."""
        form = self._asked.form
        if not self.is_stream or (is_terminal and form == "warc"):
            what = "a folder" if form in FOLDERS else "binary data"
            raise UsageError(
                f"-o -: {form} is {what}, not for {'a terminal' if self.is_stream else 'standard output'}",
                hint=f"leave it out to write {self.usual_place}",
            )

    def to_path(self, path: Path) -> Exported:
        """Write a new file or folder, and finish. Of a selection that fits no page nothing is left."""
        if self._asked.form in FOLDERS:
            exported = self._to_folder(path)
            if self.fits_nothing(exported):
                shutil.rmtree(path, ignore_errors=True)
        else:
            exported = _to_file(path, self.to_stream)
            if self.fits_nothing(exported):
                path.unlink()
            elif self._asked.form == "bulk":
                path.with_name(path.name + MAPPING).write_bytes(mapping())
        self.finish()
        return exported

    def fits_nothing(self, exported: Exported) -> bool:
        """Whether no page has the selected sites, patterns or languages. Pages left out for another reason have them.

        An export of what changed may well be empty.
        """
        asked, selected = self._asked, self._asked.selection
        if asked.since is not None or asked.changed or exported.written or exported.left_out.keys() - _NOT_SELECTED:
            return False
        return bool(selected.sites or selected.include or selected.languages)

    def _to_folder(self, folder: Path) -> Exported:
        found, asked = self._found, self._asked
        if asked.form == "cc-index":
            from periplus.store.export.columns import export_columns

            return export_columns(found.folder, folder, found.folder.resolve().name, self._committed)
        return export_folder(
            found.folder,
            asked.form,
            folder,
            self._committed,
            wants_markdown=asked.markdown,
            selection=asked.selection,
            changes=self._changes(),
            refuses=self._refuses(),
        )

    def to_stream(self, out: BinaryIO) -> Exported:
        """Write the bytes of a format that is one file."""
        found, asked, committed = self._found, self._asked, self._committed
        match asked.form:
            case "wacz":
                from periplus.store.export.wacz import PackageFacts, export_wacz

                title = asked.title or found.folder.resolve().name
                software = f"Periplus {__version__}"
                facts = PackageFacts(title, software, found.seeds, wants_all=asked.wants_all, signer=self._signer)
                return export_wacz(found.folder, out, committed, facts)
            case "urls":
                return _write_urls(found, out, asked.where)
            case "chunks":
                write = partial(export_chunks, found, committed, asked.selection, shape=self._shape)
            case "bulk":
                write = partial(export_bulk, found, committed, asked.selection, index=asked.index)
            case form:
                write = partial(
                    export_stream,
                    found.folder,
                    form,
                    committed=committed,
                    wants_markdown=asked.markdown,
                    selection=asked.selection,
                )
        return write(out, changes=self._changes(), refuses=self._refuses())

    def _refuses(self) -> RefusesUse | None:
        """What tells which pages may not be used for what the export is for."""
        from .explaining import refusals  # only for the few exports that are for a use

        return refusals(self._found, self._committed, self._asked.selection) if self._asked.selection.purpose else None

    def finish(self) -> None:
        """Remember how far this export came, if it is one of a series."""
        if self._asked.changed:
            from .changed import new_mark, save_mark

            mark = new_mark(self._asked.form, self._asked.selection, self._now, self._committed.spooled)
            save_mark(self._found.layout, self._name, mark)

    def _changes(self) -> ChangedPages | None:
        """What changed, if only that is asked for; `None`: all pages."""
        if self._since is None and self._mark is None:
            return None
        from .changed import changed_pages, unseen_since

        since, spooled = self._since, self._committed.spooled
        if self._mark is not None:
            since = unseen_since(self._found.layout.tables, self._mark, spooled)
        return changed_pages(self._found.folder, self._now if since is None else since, spooled)


def _signer_of(found: CollectionSetup, key: Path, authority: str) -> PackageSigner:
    from periplus.store.wacz_auth import PackageSigner  # only signatures need these

    if not authority:
        return PackageSigner(key)
    from .timestamps import stamping

    return PackageSigner(key, stamping(found, authority))


def _to_file(path: Path, write: Callable[[BinaryIO], Exported]) -> Exported:
    """Write a new file, which has its name only when it is complete."""
    if path.exists():
        raise UsageError(f"{path} exists already", hint="give another name, or remove it")
    draft = path.with_name(path.name + ".part")
    try:
        with _opened(draft, path) as file:
            exported = write(file)
        replace_file(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return exported


def _opened(draft: Path, path: Path) -> BinaryIO:
    try:
        return draft.open("wb")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="give a file in a folder that exists") from error


def _write_urls(found: CollectionSetup, out: BinaryIO, where: str) -> Exported:
    """Every URL that was found and fits a condition in SQL over the view `urls`, one a line."""
    from periplus.insight.views import Views  # loads DuckDB, which takes a moment

    condition = where or "true"
    question = f"select url, refused is not null from urls where ({condition}) order by url"  # noqa: S608 - `select` checks it
    written = refused = 0
    with Views(found.folder, spooled=found.layout.spooled) as views:
        for url, is_refused in views.select(question).rows:
            out.write(f"{url}\n".encode())
            written += 1
            refused += is_refused
        others = views.rows("select count(*) as urls from urls")[0]["urls"] - written if where else 0
    return Exported(written, {NOT_INCLUDED: others} if others else {}, refused=refused)
