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
from periplus.model import UsageError
from periplus.store.export import STREAMS, Committed, Exported, export_folder, export_stream
from periplus.store.tables import Spooled

from . import options
from .consoles import stderr_console
from .crawl.live import count, top

NOTHING_WRITTEN = 1
_UNITS = {"parquet": "rows", "warc": "WARC files"}


class Form(StrEnum):
    """What a collection can be exported as."""

    JSONL = "jsonl"
    MARKDOWN = "markdown"
    TEXT = "text"
    PARQUET = "parquet"
    WARC = "warc"


def export(
    collection: options.Collected,
    form: Annotated[
        Form,
        typer.Option(
            "--format", "-f", help="jsonl and warc are one stream; markdown, text and parquet are files in a folder."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="OUT", help="A file or a folder that is not there yet; else stdout or DIR-FORMAT."
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Add the main text of each page in Markdown to jsonl.")
    ] = False,
) -> None:
    """Write a collection for others: the last good version of every page, the seven tables, or all of the archive.

    Example: periplus export docs --format markdown -o pages
    """
    if markdown and form is not Form.JSONL:
        raise UsageError(
            f"--markdown adds a field to jsonl, not to {form.value}", hint="use --format markdown for files"
        )
    found = existing(collection)
    committed = _committed(found)
    if form.value not in STREAMS:
        folder = out or Path(f"{collection.resolve().name}-{form.value}")
        _say(form, export_folder(found.folder, form.value, folder, committed), str(folder))
        return
    write = partial(export_stream, found.folder, form.value, committed=committed, wants_markdown=markdown)
    if out is None or str(out) == "-":
        _say(form, _to_stdout(found, form, write), "stdout")
    else:
        _say(form, _to_file(out, write), str(out))


def _committed(collection: Collection) -> Committed:
    """How far the shards had come: also of a crawl that runs, or was killed."""
    layout = collection.layout
    commits = layout.commits()
    ends = (commit.archive for commit in commits if commit.archive is not None)
    spooled = (Spooled(commit.shard, layout.spool(commit.shard), commit.tables) for commit in commits)
    return Committed(tuple(spooled), tuple(ends))


def _to_stdout(collection: Collection, form: Form, write: Callable[[BinaryIO], Exported]) -> Exported:
    out = sys.stdout.buffer
    if form is Form.WARC and out.isatty():
        raise UsageError(
            "a WARC is nothing to look at", hint=f"write it to a file: -o {collection.folder.name}.warc.gz"
        )
    exported = write(out)
    out.flush()
    return exported


def _to_file(path: Path, write: Callable[[BinaryIO], Exported]) -> Exported:
    """Write a file that has its name only when it is complete."""
    if path.exists():
        raise UsageError(f"{path} is there already", hint="give another name, or remove it")
    draft = path.with_name(path.name + ".part")
    try:
        with _opened(draft) as file:
            exported = write(file)
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)
    return exported


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="give a file in a folder that is there") from error


def _say(form: Form, exported: Exported, where: str) -> None:
    left = exported.left_out
    aside = f"; left out {count(sum(left.values()))} ({top(left)})" if left else ""
    line = f"{count(exported.written)} {_UNITS.get(form.value, 'pages')} to {where}{aside}"
    stderr_console().print(Text(line), soft_wrap=True)
    if not exported.written:
        raise typer.Exit(NOTHING_WRITTEN)
