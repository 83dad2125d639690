"""A collection as a program reads it: its pages, its tables in SQL, and what happened to it.

Everything is read as of the last commit of each shard, also while a crawl or watch writes the collection. Nothing here
changes it, except that the results of long computations are kept in its folder `insight`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from periplus.assembly import collection as plans
from periplus.assembly.exporting import committed_of, export_file
from periplus.config import Config
from periplus.model import CollectionInUse, Url, UsageError
from periplus.store.export import STREAMS, Committed, Exported, export_folder, export_stream
from periplus.store.export.captures import find_original, latest_captures
from periplus.store.tables import Spooled
from periplus.urls import site_of

from .page import Page
from .running_here import running_crawl

if TYPE_CHECKING:
    from .answer import Answer

log = logging.getLogger("periplus")


class Collection:
    """The folder of a collection: `periplus.open(folder)`."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self._found = plans.existing(Path(folder))
        self._layout = self._found.layout

    def __repr__(self) -> str:
        return f"Collection({str(self.folder)!r})"

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self._found.folder

    @property
    def seeds(self) -> tuple[Url, ...]:
        """Where its crawl began."""
        return self._found.seeds

    @property
    def config(self) -> Config:
        """Its settings: what `periplus.toml` says."""
        return self._found.config

    def _spooled(self) -> tuple[Spooled, ...]:
        """How far each shard has committed, asked of the crawl itself if it runs in this process."""
        running = running_crawl(self.folder)
        return self._layout.spooled if running is None else running.spooled

    # pages

    def pages(self, site: str | None = None) -> Iterator[Page]:
        """The last good version of every page, in the order of fetching; of one site (`docs.example.org`), if named."""
        spooled = self._spooled()
        for capture in latest_captures(self._layout.tables, spooled):
            if site is None or site_of(capture.url) == site:
                yield Page(capture, self._layout.warc, lambda each: find_original(self._layout.tables, spooled, each))

    def __iter__(self) -> Iterator[Page]:
        return self.pages()

    # tables

    def query(self, sql: str) -> Answer:
        """Ask in SQL: one `select` over the tables and views of `docs/tables.md` and `docs/measures.md`.

        The answer is a DuckDB relation: `.df()`, `.pl()`, `.arrow()`, `.fetchall()`, or iterate over its rows.
        """
        from periplus.insight.views import Views  # loads DuckDB, which takes a moment

        from .answer import Answer

        return Answer.to(sql, Views(self.folder, spooled=self._spooled(), say=log.info))

    # for others

    def export(self, format: str, path: str | PathLike[str], *, markdown: bool = False) -> Exported:  # noqa: A002
        """Write the collection as `jsonl`, `markdown`, `text`, `parquet` or `warc` to a file or folder that is new.

        `markdown` adds the main text in Markdown to each line of `jsonl`. The result counts what was written.
        """
        target = Path(path)
        if markdown and format != "jsonl":
            raise UsageError(f"markdown=True adds a field to jsonl, not to {format}", hint='use format "markdown"')
        if format not in STREAMS:
            return export_folder(self.folder, format, target, self._committed(format))
        committed = self._committed(format)
        return export_file(
            target,
            lambda file: export_stream(self.folder, format, file, committed=committed, wants_markdown=markdown),
        )

    def _committed(self, form: str) -> Committed:
        running = running_crawl(self.folder)
        if running is None:
            return committed_of(self._layout)
        if form == "warc":
            raise CollectionInUse(f"{self.folder} is crawled by this process", hint="export it after the `with` block")
        return Committed(running.spooled)
