"""A collection in the forms of web archives: one WACZ file, Common Crawl's columnar index, a list of URLs."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from periplus import __version__
from periplus.model import UsageError
from periplus.store.export import Exported
from periplus.store.export.columns import export_columns
from periplus.store.export.wacz import PackageFacts, export_wacz

from .collection import Collection
from .exporting import committed_of, export_file

ARCHIVE_FORMATS = ("wacz", "cc-index", "urls")
"""The formats of this module."""


def export_archive_format(
    found: Collection, form: str, out: Path | None, *, title: str = "", where: str = "", wants_all: bool = False
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


def write_urls(found: Collection, out: BinaryIO, where: str = "") -> Exported:
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
