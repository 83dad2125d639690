"""`periplus export`: writes a collection in another format. The work is done by `store.export`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO, cast
from urllib.parse import urlsplit

import typer

from periplus.apps.search.retrieval import DEFAULT_INDEX, check_index_name, export_bulk, export_chunks
from periplus.bridges.bulk import BulkTarget
from periplus.collection.collection import CollectionSetup, existing
from periplus.collection.exporting import ARCHIVE_FORMATS, committed_of, export_archive_format, export_file, write_urls
from periplus.collection.typed_values import moment_of
from periplus.model import PeriplusError, UsageError
from periplus.store.export import FOLDERS, Exported, PageFilter, Selection, export_folder, export_stream
from periplus.store.export.bulk import mapping
from periplus.store.export.chunks import DEFAULT_SIZE, WORDS, ChunkShape
from periplus.view.terminal import print_line
from periplus.view.wording import count, top

from . import options
from .consoles import stderr_console

NOTHING_WRITTEN = 1
MAPPING = ".mapping.json"
"""Behind the name of a bulk file: the types of its fields."""
_UNITS = {
    "parquet": "rows",
    "warc": "WARC files",
    "wacz": "captures",
    "cc-index": "captures",
    "urls": "URLs",
}


class ExportForm(StrEnum):
    """What a collection can be exported as."""

    JSONL = "jsonl"
    CSV = "csv"
    MARKDOWN = "markdown"
    TEXT = "text"
    PARQUET = "parquet"
    WARC = "warc"
    WACZ = "wacz"
    CC_INDEX = "cc-index"
    URLS = "urls"
    CHUNKS = "chunks"
    BULK = "bulk"


class ExportPurpose(StrEnum):
    """What an export is for."""

    TRAINING = "training"
    RETRIEVAL = "retrieval"


def export(
    collection: options.Collected,
    form: Annotated[
        ExportForm,
        typer.Option(
            "--format",
            "-f",
            help="markdown, text, parquet and cc-index are folders; all others are one file.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="OUT", help="A file or a folder that is not there yet; else stdout or DIR-FORMAT."
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Add the main text of each page in Markdown to jsonl, csv or parquet.")
    ] = False,
    site: Annotated[
        list[str] | None,
        typer.Option("--site", metavar="HOST", help="Export pages of this site and its subdomains. May be repeated."),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="PATTERN", help="Export URLs like /docs/* or re:REGEX. May be repeated."),
    ] = None,
    lang: Annotated[
        list[str] | None,
        typer.Option("--lang", metavar="TAG", help="Export pages that declare this language: de. May be repeated."),
    ] = None,
    dedupe: Annotated[bool, typer.Option("--dedupe", help="Export pages with the same main text only once.")] = False,
    where: Annotated[
        str, typer.Option("--where", metavar="SQL", help="For urls: a condition over the view urls.")
    ] = "",
    title: Annotated[str, typer.Option("--title", help="For wacz: what the package is called.")] = "",
    wants_all: Annotated[
        bool, typer.Option("--all", help="For wacz: list captures of pages that say noarchive, too.")
    ] = False,
    for_: Annotated[
        ExportPurpose | None,
        typer.Option("--for", help="Leave out pages whose sites refuse it: training of models, retrieval for them."),
    ] = None,
    index: Annotated[
        str, typer.Option("--index", metavar="NAME", help="With bulk, the index that documents go to.")
    ] = DEFAULT_INDEX,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="With bulk, only what is new or gone since a date, or 2d ago."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="URL", help="With bulk, send documents to this OpenSearch or Elasticsearch."),
    ] = None,
    size: Annotated[
        int, typer.Option("--size", metavar="N", help="With chunks, how long they are at most.")
    ] = DEFAULT_SIZE,
    unit: Annotated[
        str,
        typer.Option("--unit", metavar="UNIT", help="With chunks: words, characters, or tokens:NAME of a tokenizer."),
    ] = WORDS,
    overlap: Annotated[
        int, typer.Option("--overlap", metavar="N", help="With chunks, how much of one the next begins with.")
    ] = 0,
) -> None:
    """Export the last good version of every page, the tables, or the whole archive.

    Example: periplus export docs --format markdown -o pages
    """
    selection = Selection(tuple(site or ()), tuple(include or ()), tuple(lang or ()), dedupe, for_ or "")
    _check(form, selection, is_markdown=markdown)
    _check_archive_options(form, where=where, title=title, wants_all=wants_all)
    _check_bulk(form, index, since, to)
    shape = _chunk_shape(form, size, unit, overlap)
    found = existing(collection)
    if form.value in ARCHIVE_FORMATS:
        if form is ExportForm.URLS and (out is None or str(out) == "-"):
            _print(form, write_urls(found, sys.stdout.buffer, where), "stdout")
            return
        exported, place = export_archive_format(found, form.value, out, title=title, where=where, wants_all=wants_all)
        _print(form, exported, str(place))
        return
    committed = committed_of(found.layout)
    if form.value in FOLDERS:
        folder = out or Path(f"{collection.resolve().name}-{form.value}")
        exported = export_folder(
            found.folder, form.value, folder, committed, wants_markdown=markdown, selection=selection
        )
        _print(form, exported, str(folder))
        return
    write: Callable[[BinaryIO], Exported]
    if form is ExportForm.CHUNKS:
        write = partial(export_chunks, found, committed, selection, shape=shape)
    elif form is ExportForm.BULK:
        write = partial(export_bulk, found, committed, selection, index=index, since=moment_of(since, time.time()))
    else:
        write = partial(
            export_stream, found.folder, form.value, committed=committed, wants_markdown=markdown, selection=selection
        )
    if to is not None:
        _send(write, to, index)
        return
    if form is ExportForm.BULK and out is not None and str(out) != "-":
        out.with_name(out.name + MAPPING).write_bytes(mapping())
    if out is None or str(out) == "-":
        _print(form, _to_stdout(found, form, write), "stdout")
    else:
        _print(form, export_file(out, write), str(out))


def _check(form: ExportForm, selection: Selection, *, is_markdown: bool) -> None:
    """Refuse options that the format does not have, before a file is begun."""
    if is_markdown and form not in (ExportForm.JSONL, ExportForm.CSV, ExportForm.PARQUET):
        raise UsageError(
            f"--markdown adds a column to jsonl, csv and parquet, not to {form.value}",
            hint="use --format markdown for files",
        )
    if selection and (form is ExportForm.WARC or form.value in ARCHIVE_FORMATS):
        raise UsageError(
            f"--site, --include, --lang, --dedupe and --for select pages, and {form.value} is the whole archive",
            hint="use --format jsonl, csv, parquet, markdown or text",
        )
    PageFilter(selection)


def _chunk_shape(form: ExportForm, size: int, unit: str, overlap: int) -> ChunkShape:
    shape = (size, unit, overlap)
    if form is not ExportForm.CHUNKS and shape != (DEFAULT_SIZE, WORDS, 0):
        raise UsageError(
            f"--size, --unit and --overlap are of chunks, not of {form.value}",
            hint="use --format chunks, or leave them out",
        )
    return ChunkShape(*shape)


def _check_archive_options(form: ExportForm, *, where: str, title: str, wants_all: bool) -> None:
    if where and form is not ExportForm.URLS:
        raise UsageError(f"--where selects URLs for urls, not for {form.value}", hint="use --site or --include")
    if (title or wants_all) and form is not ExportForm.WACZ:
        raise UsageError(f"--title and --all are for wacz, not for {form.value}", hint="leave them out")


def _check_bulk(form: ExportForm, index: str, since: str | None, to: str | None) -> None:
    if form is not ExportForm.BULK and (since is not None or to is not None or index != DEFAULT_INDEX):
        raise UsageError(
            f"--index, --since and --to are of bulk, not of {form.value}", hint="use --format bulk, or leave them out"
        )
    check_index_name(index)


def _send(write: Callable[[BinaryIO], Exported], to: str, index: str) -> None:
    target = BulkTarget(to, index)
    target.make_index(mapping())
    exported = write(cast("BinaryIO", target))
    sent = target.finish()
    _print(ExportForm.BULK, exported, urlsplit(to).hostname or to)
    if sent.refused:
        raise PeriplusError(f"{count(sent.refused)} documents were refused", hint="\n".join(sent.errors))


def _to_stdout(collection: CollectionSetup, form: ExportForm, write: Callable[[BinaryIO], Exported]) -> Exported:
    out = sys.stdout.buffer
    if form is ExportForm.WARC and out.isatty():
        raise UsageError(
            "a WARC file is binary data, and standard output is a terminal",
            hint=f"write it to a file: -o {collection.folder.name}.warc.gz",
        )
    exported = write(out)
    out.flush()
    return exported


def _print(form: ExportForm, exported: Exported, where: str) -> None:
    left = exported.left_out
    aside = f"; left out {count(sum(left.values()))} ({top(left)})" if left else ""
    deleted = f" and {count(exported.deleted)} deletions" if exported.deleted else ""
    if exported.refused:
        aside = f"; {count(exported.refused)} of them were refused by filters or robots.txt, and not requested"
    line = f"{count(exported.written)} {_UNITS.get(form.value, 'pages')}{deleted} to {where}{aside}"
    print_line(stderr_console(), line)
    if not exported.written and not exported.deleted:
        raise typer.Exit(NOTHING_WRITTEN)
