"""Exports a collection as a WACZ file, as Common Crawl's columnar index, or as a list of URLs.

An export contains everything up to the last commit of each shard, also while a crawl runs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from periplus import __version__
from periplus.model import UsageError
from periplus.store.durable import replace_file
from periplus.store.export import Committed, Exported
from periplus.store.export.columns import export_columns
from periplus.store.export.wacz import PackageFacts, export_wacz
from periplus.store.layout import Layout
from periplus.store.tables import Spooled

from .collection import CollectionSetup


def committed_of(layout: Layout) -> Committed:
    """How far the shards have come: also of a crawl that runs, or was killed."""
    commits = layout.commits()
    ends = (commit.archive for commit in commits if commit.archive is not None)
    spooled = (Spooled(commit.shard, layout.spool(commit.shard), commit.tables) for commit in commits)
    return Committed(tuple(spooled), tuple(ends))


def export_file(path: Path, write: Callable[[BinaryIO], Exported]) -> Exported:
    """Write a new file, which has its name only when it is complete."""
    if path.exists():
        raise UsageError(f"{path} exists already", hint="give another name, or remove it")
    draft = path.with_name(path.name + ".part")
    try:
        with _opened(draft) as file:
            exported = write(file)
        replace_file(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return exported


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="give a file in a folder that exists") from error


ARCHIVE_FORMATS = ("wacz", "cc-index", "urls")
"""The formats of this module."""


def export_archive_format(
    found: CollectionSetup, form: str, out: Path | None, *, title: str = "", where: str = "", wants_all: bool = False
) -> tuple[Exported, Path]:
    """Write a collection as one of `ARCHIVE_FORMATS`, and return what was written, and where."""
    name = found.folder.resolve().name
    if form == "cc-index":
        folder = out or Path(f"{name}-cc-index")
        return export_columns(found.folder, folder, name, committed_of(found.layout)), folder
    if form == "wacz":
        path = out or Path(f"{name}.wacz")
        facts = PackageFacts(title or name, f"Periplus {__version__}", found.seeds, wants_all=wants_all)
        committed = committed_of(found.layout)
        return export_file(path, lambda file: export_wacz(found.folder, file, committed, facts)), path
    if form != "urls":
        raise UsageError(f"{form!r} is not a format of archives", hint=f"one of {', '.join(ARCHIVE_FORMATS)}")
    path = out or Path(f"{name}.txt")
    return export_file(path, lambda file: write_urls(found, file, where)), path


def write_urls(found: CollectionSetup, out: BinaryIO, where: str = "") -> Exported:
    """Every URL that was found and fits a condition in SQL over the view `urls`, one a line."""
    from periplus.insight.views import Views  # loads DuckDB, which takes a moment

    condition = where or "true"
    question = f"select url, refused is not null from urls where ({condition}) order by url"  # noqa: S608 - `select` checks it
    written = refused = 0
    with Views(found.folder, spooled=found.layout.spooled) as views:
        for url, is_refused in views.select(question).rows():
            out.write(f"{url}\n".encode())
            written += 1
            refused += is_refused
    return Exported(written, refused=refused)
