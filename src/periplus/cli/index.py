"""`periplus index`: makes the search index of a collection, or brings it up to date."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import click
import msgspec
from rich.text import Text

from periplus.apps.search.indexing import Indexed, follow_index, open_index, update_index, with_vectors
from periplus.collection.collection import CollectionSetup, existing
from periplus.model import UsageError
from periplus.view.terminal import print_line
from periplus.view.wording import count, counted, lasting, size

from . import options
from .commands import Option
from .consoles import stderr_console, stdout_console

FOLLOW_EVERY = 20.0
"""Seconds between two updates with `--follow`: a page that changed is found within a minute."""


def index(
    collection: options.Collected,
    follow: Annotated[
        bool, Option("--follow", help="Keep the index up to date while a crawl or watch runs, until Ctrl-C.")
    ] = False,
    rebuild: Annotated[
        bool, Option("--rebuild", help="Read all pages again into a new index, which then replaces the old one.")
    ] = False,
    static: Annotated[
        Path | None,
        Option("--static", metavar="OUT", help="Then write an index of plain files that a browser can search."),
    ] = None,
    vectors: Annotated[
        str | None,
        Option(
            "--vectors",
            metavar="NAME",
            help="Order results by meaning, too: wordllama, or a function of yours as module:function;"
            " an empty name ends that. The collection keeps it.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Index the pages of a collection for `periplus search`. Run it again after a crawl: only what changed is read.

    Example: periplus index docs
    """
    if follow and static is not None:
        raise UsageError("--follow and --static exclude each other", hint="run --static when the crawl has ended")
    found = with_vectors(existing(collection), vectors)
    began = time.monotonic()
    if not follow:
        with _progress() as (say, tell):
            done = update_index(found, rebuild=rebuild, say=say, tell=tell)
        _print(found, done, time.monotonic() - began, is_json=json)
        if static is not None:
            _write_static(found, static, is_json=json)
        return
    for done in follow_index(found, _wait, rebuild=rebuild, say=lambda _: None):
        _print(found, done, time.monotonic() - began, is_json=json)
        began = time.monotonic()


def _write_static(collection: CollectionSetup, out: Path, *, is_json: bool) -> None:
    from periplus.apps.search.static_index import write_static_index

    with open_index(collection) as opened:
        written = write_static_index(opened, out)
    if is_json:
        click.echo(msgspec.json.encode(written))
        return
    console = stdout_console()
    files = f"{counted(written.files, 'file')}, {size(written.bytes)}"
    print_line(console, f"{counted(written.pages, 'page')} in {out}: {files}")
    print_line(console, f'  <script src="/{out.name}/search.js" data-index defer></script>')


def _wait() -> bool:
    time.sleep(FOLLOW_EVERY)
    return True


def _print(collection: CollectionSetup, done: Indexed, seconds: float, *, is_json: bool) -> None:
    if is_json:
        click.echo(msgspec.json.encode(done))
        sys.stdout.flush()
        return
    facts = f"{count(done.added)} added, {count(done.deleted)} deleted, {count(done.unchanged)} unchanged"
    if done.relinked:
        facts += f", {count(done.relinked)} with new link texts"
    if done.unreadable:
        facts += f", {count(done.unreadable)} without text"
    console = stdout_console()
    print_line(console, f"{counted(done.total, 'page')} in the index: {facts} in {lasting(seconds)}")
    print_line(console, f"  periplus search {collection.folder} WORDS")


@contextmanager
def _progress() -> Iterator[tuple[Callable[[str], None], Callable[[int, int], None]]]:
    """Show on a terminal what is being done."""
    console = stderr_console()
    if not console.is_terminal:
        yield (lambda _: None), (lambda _done, _of: None)
        return
    with console.status("indexing") as status:
        yield (
            lambda what: status.update(Text(what, style="dim")),
            lambda done, of: status.update(Text(f"{count(done)} of {counted(of, 'page')}", style="dim")),
        )
