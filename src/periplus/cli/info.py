"""`periplus info`: prints facts about a collection, a site, a URL, or (`--live`) the status of a running crawl.

The live status comes from the crawl's control socket; everything else is read from the collection.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from periplus.collection.collection import existing
from periplus.collection.control import ControlClient
from periplus.collection.facts.lines import MOVES_BY_WORD, Lines, collection_lines, reasons_of, site_lines, url_lines
from periplus.collection.facts.lookup import (
    CollectionFacts,
    SiteFacts,
    SiteLine,
    UrlFacts,
    collection_facts,
    site_facts,
    url_facts,
)
from periplus.collection.facts.sources import BalanceFacts, EpochFacts
from periplus.insight.reasons import explained
from periplus.model import UsageError
from periplus.urls import canonical, site_of
from periplus.view.wording import count, counted, lasting, pace, size, top

from . import options
from .consoles import stdout_console

_LIVE_SITES_SHOWN = 10
"""Sites on a terminal; `--json` has up to 50."""


def print_live(collection: Path, what: str | None, *, is_json: bool) -> None:
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
    for name, value in _lines(status):
        if value:
            grid.add_row(f"  {name}", Text(value))
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
    for site in sites[:_LIVE_SITES_SHOWN]:
        table.add_row(
            f"  {site['site']}", count(site["queued"]), count(site["pages"]), size(site["bytes"]), site["stage"]
        )
    return table


def balance_table(facts: BalanceFacts) -> Table:
    """How the budget moved, epoch by epoch, and why."""
    table = Table(
        title="how the budget moved, and why",
        title_justify="left",
        title_style="bold",
        caption="  worth: of the lowest-scored pages of an epoch, those unique and indexable",
        caption_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for name in ("  epoch", "to sitemaps", "worth", "to links", "worth"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("then", overflow="fold", style="dim")
    for number, epoch in enumerate(facts.history, facts.epochs - len(facts.history) + 1):
        table.add_row(f"  {count(number)}", *_cells(epoch), Text(MOVES_BY_WORD[epoch.move]))
    return table


def _cells(epoch: EpochFacts) -> tuple[str, str, str, str]:
    return (
        count(epoch.sitemaps),
        _worth(epoch.sitemaps_good, epoch.sitemaps_known),
        count(epoch.links),
        _worth(epoch.links_good, epoch.links_known),
    )


def _worth(good: int, known: int) -> str:
    """Words for how many of the evaluated pages are unique and indexable."""
    return f"{good} of {known}" if known else "-"


def info(
    collection: options.Collected,
    what: Annotated[
        str | None, typer.Argument(metavar="[SITE|URL]", show_default=False, help="A site or a URL of it.")
    ] = None,
    all_: Annotated[
        bool,
        typer.Option("--all", help="Explain every reason, list more sites, and show each step of a site's budget."),
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Ask the crawl that runs: rates, controls and the longest queues, as of now.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Show what is known of a collection, a site or a URL, and why. Works while a crawl runs.

    Example: periplus info docs docs.example.org
    """
    found = existing(collection)
    if live:
        print_live(collection, what, is_json=json)
        return
    facts: CollectionFacts | SiteFacts | UrlFacts | None
    if what is None:
        facts = collection_facts(found)
    elif "/" in what or "?" in what:
        facts = url_facts(found, what)
    else:
        url = canonical(f"http://{what}/")
        facts = site_facts(found, site_of(url)) if url is not None else None
        if facts is None:
            raise UsageError(
                f"{collection} has no site {what}", hint=f"periplus info {collection} lists the largest sites"
            )
    if json:
        typer.echo(msgspec.json.encode(facts))
        return
    console = stdout_console()
    match facts:
        case CollectionFacts():
            print_collection(console, facts, is_whole=all_)
        case SiteFacts():
            _print(console, f"{facts.site}", site_lines(facts))
            if all_ and facts.balance is not None and facts.balance.history:
                console.print(balance_table(facts.balance))
        case UrlFacts():
            _print(console, facts.url, url_lines(facts, str(collection)))


_SITES_SHOWN = 5
"""Sites listed without `--all`."""


def _print(console: Console, title: str, lines: Lines) -> None:
    console.print(Text(title, style="bold"), soft_wrap=True)
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in lines:
        if value:
            grid.add_row(f"  {name}", Text(value))
    console.print(grid)


# a collection


def print_collection(console: Console, facts: CollectionFacts, *, is_whole: bool = False) -> None:
    """Print a collection: totals and the largest sites; if `is_whole`, also every reason with its explanation."""
    _print(console, facts.collection, collection_lines(facts, is_whole=is_whole))
    for title, reasons in reasons_of(facts) if is_whole else ():
        if reasons:
            console.print(reason_table(title, reasons))
    if facts.largest:
        console.print(_site_table(facts, len(facts.largest) if is_whole else _SITES_SHOWN))
    if not is_whole and (facts.sites > _SITES_SHOWN or any(reasons for _, reasons in reasons_of(facts))):
        more = f"periplus info {shlex.quote(facts.collection)} --all explains every reason and lists more sites"
        console.print(Text(more, style="dim"), soft_wrap=True)


def reason_table(title: str, reasons: Mapping[str, int]) -> Table:
    """Return a table of reasons with explanations, the most frequent first."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 2, 0, 0)
    )
    table.add_column(style="yellow", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for reason, number in _ranked(reasons):
        table.add_row(f"  {reason}", count(number), explained(reason))
    return table


def _site_table(facts: CollectionFacts, most: int) -> Table:
    shown = facts.largest[:most]
    title = "sites" if len(shown) == facts.sites else f"the {len(shown)} largest of {count(facts.sites)} sites"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    table.add_column("  site", style="cyan", overflow="fold")
    for name in ("requests", "queue", "bytes"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", overflow="fold", style="yellow")
    for line in shown:
        note = f"given up: {line.retired}" if line.retired else ""
        if not note and line.failures:
            note = f"{counted(line.failures, 'failure')} in a row"
        table.add_row(f"  {line.site}", count(line.pages), count(line.queued), size(line.bytes), note)
    if facts.sites > 1:
        _add_totals(table, facts, shown)
    return table


def _add_totals(table: Table, facts: CollectionFacts, shown: Sequence[SiteLine]) -> None:
    """Add the sums, so that the columns add up."""
    total = facts.total
    if facts.sites > len(shown):
        others = [
            count(total.pages - sum(line.pages for line in shown)),
            count(total.queued - sum(line.queued for line in shown)),
            size(total.bytes - sum(line.bytes for line in shown)),
        ]
        table.add_row(f"  {count(facts.sites - len(shown))} other sites", *others, "")
    notes = [f"queue: {count(total.twice)} in it twice, of two sources"] if total.twice else []
    notes += [f"{counted(total.retries, 'more waits', 'more wait')} for a retry"] if total.retries else []
    table.add_row("  all sites", count(total.pages), count(total.queued), size(total.bytes), "; ".join(notes))


def _ranked(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
