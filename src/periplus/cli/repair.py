"""`periplus repair`: check every part of a collection, and rebuild what can be rebuilt. The work is in `collection`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import click
import msgspec
from click.exceptions import Exit
from rich.console import Console

from periplus.collection.collection import CollectionSetup, existing, held
from periplus.collection.inspecting import InspectedPart
from periplus.collection.repairing import Repaired
from periplus.collection.repairing import repair as repair_collection
from periplus.collection.resizing import check_whole
from periplus.model import CollectionDamaged
from periplus.view.terminal import print_line
from periplus.view.wording import count

from . import options
from .commands import Option
from .consoles import stderr_console, stdout_console

_NAMES = {"state": "state", "table": "tables", "spool": "tables", "archive": "archive", "index": "indexes"}
"""What the kinds of parts are called in the summary."""

OnlyCheck = Annotated[bool, Option("--dry-run", help="Only report what is damaged; change nothing.")]


def repair(collection: options.Collected, dry_run: OnlyCheck = False, json: options.Json = False) -> None:
    """Check every part of a collection, set damaged files aside and rebuild what the archive still holds.

    Example: periplus repair docs
    """
    found = existing(collection)
    found.check_trusted()
    check_whole(found.layout)
    console = stderr_console()
    with held(found.folder):
        repaired = repair_collection(
            found.config,
            found.layout,
            _shards(found),
            found.seeds,
            is_dry=dry_run,
            say=lambda what: print_line(console, what, "dim"),
        )
    if json:
        click.echo(msgspec.json.encode(repaired))
    else:
        _show(stdout_console(), collection, repaired, is_dry=dry_run)
    if repaired.remaining:
        raise Exit(CollectionDamaged.exit_code)


def _shards(found: CollectionSetup) -> int:
    """The number of shards that the collection was begun with, whatever folders are left of them."""
    return found.config.crawl.workers or found.layout.shards or 1


def _show(console: Console, folder: Path, repaired: Repaired, *, is_dry: bool) -> None:
    for kind in dict.fromkeys(_NAMES.values()):
        parts = [part for part in repaired.parts if _NAMES[part.kind] == kind]
        damaged = [part for part in parts if part.problem]
        state = f"{len(damaged)} of {len(parts)} damaged" if damaged else f"whole ({len(parts)})"
        print_line(console, f"  {kind:10}{state}", "yellow" if damaged else "")
        for part in damaged:
            print_line(console, f"    {_words(part)}")
    for verb, rows in (("saved", repaired.saved), ("rebuilt", repaired.rebuilt), ("lost", repaired.lost)):
        numbers = ", ".join(f"{table} {count(number)}" for table, number in rows.items() if number)
        if numbers:
            print_line(console, f"  rows {verb}: {numbers}")
    for shard in repaired.new_states:
        line = f"  shard {shard} has a new state, made from the archive: the next crawl continues with it"
        print_line(console, line)
    if repaired.set_aside:
        print_line(console, f"  damaged files are in {repaired.set_aside}")
    print_line(console, _verdict(folder, repaired, is_dry=is_dry), "bold")


def _words(part: InspectedPart) -> str:
    return part.problem if part.path in part.problem else f"{part.path} {part.problem}"


def _verdict(folder: Path, repaired: Repaired, *, is_dry: bool) -> str:
    if not repaired.remaining:
        return "everything is whole" if not any(part.problem for part in repaired.parts) else "repaired"
    if is_dry:
        return f"damaged; nothing was changed: periplus repair {shlex.quote(str(folder))} repairs it"
    return "not everything could be repaired; restore these files from a backup:\n" + "\n".join(
        f"  {_words(part)}" for part in repaired.remaining
    )
