"""`periplus export`: writes a collection in another format. The work is done by `store.export`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.text import Text

from periplus.assembly.collection import Collection, existing
from periplus.assembly.exporting import committed_of, export_file
from periplus.model import UsageError
from periplus.store.export import STREAMS, Exported, PageFilter, Selection, export_folder, export_stream

from . import options
from .consoles import stderr_console
from .crawl.live import count, top

NOTHING_WRITTEN = 1
_UNITS = {"parquet": "rows", "warc": "WARC files"}


class Form(StrEnum):
    """What a collection can be exported as."""

    JSONL = "jsonl"
    CSV = "csv"
    MARKDOWN = "markdown"
    TEXT = "text"
    PARQUET = "parquet"
    WARC = "warc"


class Purpose(StrEnum):
    """What an export is for."""

    TRAINING = "training"


def export(
    collection: options.Collected,
    form: Annotated[
        Form,
        typer.Option(
            "--format", "-f", help="jsonl, csv and warc are one file; markdown, text and parquet are files in a folder."
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
    for_: Annotated[
        Purpose | None,
        typer.Option("--for", help="training: leave out pages whose sites refuse the training of models."),
    ] = None,
) -> None:
    """Export the last good version of every page, the eight tables, or the whole archive.

    Example: periplus export docs --format markdown -o pages
    """
    selection = Selection(tuple(site or ()), tuple(include or ()), tuple(lang or ()), dedupe, for_ is not None)
    _check(form, selection, is_markdown=markdown)
    found = existing(collection)
    committed = committed_of(found.layout)
    if form.value not in STREAMS:
        folder = out or Path(f"{collection.resolve().name}-{form.value}")
        exported = export_folder(
            found.folder, form.value, folder, committed, wants_markdown=markdown, selection=selection
        )
        _say(form, exported, str(folder))
        return
    write = partial(
        export_stream, found.folder, form.value, committed=committed, wants_markdown=markdown, selection=selection
    )
    if out is None or str(out) == "-":
        _say(form, _to_stdout(found, form, write), "stdout")
    else:
        _say(form, export_file(out, write), str(out))


def _check(form: Form, selection: Selection, *, is_markdown: bool) -> None:
    """Refuse options that the format does not have, before a file is begun."""
    if is_markdown and form not in (Form.JSONL, Form.CSV, Form.PARQUET):
        raise UsageError(
            f"--markdown adds a column to jsonl, csv and parquet, not to {form.value}",
            hint="use --format markdown for files",
        )
    if selection and form is Form.WARC:
        raise UsageError(
            "--site, --include, --lang, --dedupe and --for select pages, and warc is the whole archive",
            hint="use --format jsonl, csv, parquet, markdown or text",
        )
    PageFilter(selection)


def _to_stdout(collection: Collection, form: Form, write: Callable[[BinaryIO], Exported]) -> Exported:
    out = sys.stdout.buffer
    if form is Form.WARC and out.isatty():
        raise UsageError(
            "a WARC file is binary data, and standard output is a terminal",
            hint=f"write it to a file: -o {collection.folder.name}.warc.gz",
        )
    exported = write(out)
    out.flush()
    return exported


def _say(form: Form, exported: Exported, where: str) -> None:
    left = exported.left_out
    aside = f"; left out {count(sum(left.values()))} ({top(left)})" if left else ""
    line = f"{count(exported.written)} {_UNITS.get(form.value, 'pages')} to {where}{aside}"
    stderr_console().print(Text(line), soft_wrap=True)
    if not exported.written:
        raise typer.Exit(NOTHING_WRITTEN)
