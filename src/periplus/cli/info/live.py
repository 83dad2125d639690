"""`periplus info --live`: the status of a running crawl, from its control socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from periplus.assembly.control import ControlClient
from periplus.model import UsageError

from ..consoles import stdout_console
from ..crawl.live import count, counted, lasting, pace, size, top

_SITES_SHOWN = 10
"""Sites on a terminal; `--json` has up to 50."""


def say_live(collection: Path, what: str | None, *, is_json: bool) -> None:
    """Print the status of the crawl that runs in a collection."""
    if what is not None:
        raise UsageError(f"--live is about the whole crawl, got {what}", hint="leave out the site, or --live")
    with ControlClient(collection) as crawl:
        status = crawl.ask("status")
    if is_json:
        typer.echo(msgspec.json.encode(status))
        return
    console = stdout_console()
    console.print(Text(f"{status['collection']}: {status['kind']} in process {status['pid']}", "bold"), soft_wrap=True)
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, said in _lines(status):
        if said:
            grid.add_row(f"  {name}", Text(said))
    console.print(grid)
    if status["sites"]:
        console.print(_table(status["sites"]))


def _lines(status: dict[str, Any]) -> list[tuple[str, str]]:
    progress, controls = status["progress"], status["controls"]
    tally = progress["tally"]
    state = "stopping" if status["is_stopping"] else "paused" if controls["is_paused"] else ""
    rate = "" if controls["rate"] is None else f"at most {controls['rate']:g} requests a second"
    return [
        ("state", ", ".join(filter(None, (state, rate))) or "running"),
        ("pages", f"{count(tally['pages'])}, {pace(progress['rate'])}, for {lasting(progress['elapsed'])}"),
        ("requests", f"{count(tally['fetches'])}, {size(tally['downloaded'])}"),
        ("known", counted(progress["known"], "URL")),
        ("queue", counted(progress["queued"], "URL")),
        ("errors", top(tally["errors"])),
        ("left", "" if progress["left"] is None else f"about {lasting(progress['left'])}"),
        ("excluded", ", ".join(status["excluded"])),
        ("preferred", ", ".join(status["preferred"])),
    ]


def _table(sites: list[dict[str, Any]]) -> Table:
    table = Table(title="longest queues", title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    table.add_column("  site", style="cyan", overflow="fold")
    for name in ("queue", "requests", "bytes"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", style="dim")
    for site in sites[:_SITES_SHOWN]:
        table.add_row(
            f"  {site['site']}", count(site["queued"]), count(site["pages"]), size(site["bytes"]), site["stage"]
        )
    return table
