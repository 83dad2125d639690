"""`periplus import`: a collection of what others archived, or of seeds that others collected."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from periplus.assembly.collection import held, planned
from periplus.assembly.importing import Imported, import_archives
from periplus.assembly.seeds import read_seeds
from periplus.assembly.wording import count, top
from periplus.crawl.sharding import tune_garbage_collection
from periplus.model import UsageError

from . import options
from .consoles import stderr_console

_EVERY = 10_000
"""Captures between two lines of progress."""

Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The collection; archives need a new one.")]


def import_(
    out: Out,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", show_default=False, help="WARC, ARC and WACZ files, or folders of them."),
    ] = None,
    seeds: Annotated[
        list[str] | None,
        typer.Option(
            "--seeds",
            metavar="LIST",
            help="Add URLs of text, CSV, JSON lines, bookmarks or OPML as seeds instead. May be repeated.",
        ),
    ] = None,
    seed: Annotated[
        list[str] | None,
        typer.Option("--seed", metavar="URL", help="A seed of the collection; by default a page of each site."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Make a collection of archives: search, audit, compare, report and watch it like one that was crawled.

    Example: periplus import crawl.wacz old-*.warc.gz -o old
    """
    if bool(files) == bool(seeds):
        raise UsageError(
            "give archives to import, or lists of seeds with --seeds",
            hint=f"periplus import crawl.warc.gz -o {out}, or periplus import --seeds bookmarks.html -o {out}",
        )
    if seeds:
        _import_seeds(out, [*(seed or ()), *(url for each in seeds for url in read_seeds(each))], is_json=json)
        return
    tune_garbage_collection()
    done = import_archives(out, files or [], seeds=seed or (), say=_say_progress)
    _say_end(done, out, is_json=json)


def _import_seeds(out: Path, urls: list[str], *, is_json: bool) -> None:
    with held(out):
        collection = planned(out, seeds=urls, options={})
        collection.save()
    if is_json:
        typer.echo(msgspec.json.encode({"seeds": len(collection.seeds), "collection": str(out)}))
        return
    console = stderr_console()
    console.print(Text(f"{count(len(collection.seeds))} seeds in {out}"), soft_wrap=True)
    console.print(Text(f"  periplus crawl -o {out} begins with them"), soft_wrap=True)


def _say_progress(done: int, captures: int) -> None:
    if captures >= _EVERY and done % _EVERY < _EVERY // 5:
        stderr_console().print(Text(f"{count(done)} of {count(captures)} captures", style="dim"), soft_wrap=True)


def _say_end(done: Imported, out: Path, *, is_json: bool) -> None:
    if is_json:
        typer.echo(msgspec.json.encode(done))
        return
    console = stderr_console()
    left = f"; left out {count(sum(done.problems.values()))} ({top(done.problems)})" if done.problems else ""
    console.print(Text(f"{count(done.captures)} captures of {count(done.files)} files to {out}{left}"), soft_wrap=True)
    for reason, detail in list(done.examples.items())[:5]:
        console.print(Text(f"  {reason}: {detail}", style="dim"), soft_wrap=True)
