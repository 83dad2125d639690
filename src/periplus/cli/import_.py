"""`periplus import`: a collection of what others archived, or of seeds that others collected."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec
from click.exceptions import Exit
from rich.console import Console

from periplus.collection.collection import held, planned
from periplus.collection.importing import Imported, import_archives
from periplus.collection.seeds import read_seeds
from periplus.engine.sharding import tune_garbage_collection
from periplus.model import UsageError
from periplus.view.terminal import print_line
from periplus.view.wording import count, counted, top

from . import INTERRUPTED, options
from .commands import Argument, Option
from .consoles import stderr_console
from .setting_options import takes_settings, typed_settings

_INTERVAL = 5.0
"""Seconds between two lines of progress, at least."""

Out = Annotated[Path, Option("--out", "-o", metavar="DIR", help="The collection; archives need a new one.")]


@takes_settings("import")
def import_(
    out: Out,
    files: Annotated[
        list[Path] | None,
        Argument(metavar="FILE...", help="WARC, ARC and WACZ files, or folders of them."),
    ] = None,
    seeds: Annotated[
        list[str] | None,
        Option(
            "--seeds",
            metavar="LIST",
            help="Add URLs of text, CSV, JSON lines, bookmarks or OPML as seeds instead. May be repeated.",
        ),
    ] = None,
    seed: Annotated[
        list[str] | None,
        Option("--seed", metavar="URL", help="A seed of the collection; by default a page of each site."),
    ] = None,
    *,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Make a collection of archives: search, audit, compare, report and watch it like one that was crawled.

    Example: periplus import crawl.wacz old-*.warc.gz -o old
    """
    if bool(files) == bool(seeds):
        raise UsageError(
            "give archives to import, or lists of seeds with --seeds",
            hint=f"periplus import crawl.warc.gz -o {out}, or periplus import --seeds bookmarks.html -o {out}",
        )
    asked = typed_settings("import", given)
    if seeds:
        _import_seeds(out, seed or [], [url for each in seeds for url in read_seeds(each)], asked, is_json=json)
        return
    tune_garbage_collection()
    console = stderr_console()
    paths = files or []
    more = f" and {count(len(paths) - 1)} more" if len(paths) > 1 else ""
    print_line(console, f"reading {paths[0]}{more}", "dim")
    try:
        done = import_archives(out, paths, seeds=seed or (), settings=asked, say=_progress(console))
    except KeyboardInterrupt:
        print_line(console, f"interrupted: {out} was not made")
        raise Exit(INTERRUPTED) from None
    _print_end(done, out, is_json=json)
    if done.lost:
        raise Exit(1)


def _import_seeds(out: Path, typed: list[str], found: list[str], asked: dict[str, Any], *, is_json: bool) -> None:
    with held(out):
        collection = planned(out, typed=typed, found=found, options=asked)
        collection.save()
    if is_json:
        click.echo(msgspec.json.encode({"seeds": len(collection.seeds), "collection": str(out)}))
        return
    console = stderr_console()
    print_line(console, f"{counted(len(collection.seeds), 'seed')} in {out}")
    print_line(console, f"  periplus crawl -o {out} begins with them")


def _progress(console: Console) -> Callable[[int, int], None]:
    """A function that prints how many captures are done, every few seconds."""
    said_at = time.monotonic()

    def say(done: int, captures: int) -> None:
        nonlocal said_at
        if done < captures and time.monotonic() - said_at >= _INTERVAL:
            said_at = time.monotonic()
            print_line(console, f"{count(done)} of {count(captures)} captures", "dim")

    return say


def _print_end(done: Imported, out: Path, *, is_json: bool) -> None:
    if is_json:
        click.echo(msgspec.json.encode(done))
        return
    console = stderr_console()
    left_out = {reason: number for reason, number in done.problems.items() if reason != "shared-member"}
    left = f"; left out {count(sum(left_out.values()))} ({top(left_out, len(left_out))})" if left_out else ""
    captures, files = counted(done.captures, "capture"), counted(done.files, "file")
    print_line(console, f"{captures} of {files} to {out}: {counted(done.records, 'record')} copied{left}")
    for reason, detail in list(done.examples.items())[:5]:
        print_line(console, f"  {reason}: {detail}", "dim")
    if done.lost:
        print_line(console, f"{counted(done.lost, 'record')} could not be copied; all others were")
