"""`periplus info`: prints facts about a collection, a site, a URL, or (`--live`) the status of a running crawl.

The live status comes from the crawl's control socket; everything else is read from the collection.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec
from msgspec.structs import asdict, replace
from rich.console import Console

from periplus.collection.collection import existing
from periplus.collection.control import ControlClient
from periplus.collection.facts.lines import collection_lines, site_lines, url_lines
from periplus.collection.facts.lookup import (
    CollectionFacts,
    SiteFacts,
    UrlFacts,
    collection_facts,
    site_facts,
    url_facts,
)
from periplus.collection.facts.tables import balance_table, largest_sites, reason_tables
from periplus.model import UsageError
from periplus.urls import canonical, site_of
from periplus.view.terminal import print_facts, print_line, print_table
from periplus.view.values import Column, FactSheet, Sheet, TableRow, counts
from periplus.view.wording import count, counted, lasting, pace, size, top

from . import options
from .commands import Argument, Option
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
        click.echo(msgspec.json.encode(status))
        return
    console = stdout_console()
    print_facts(
        console, FactSheet(f"{status['collection']}: {status['kind']} in process {status['pid']}", _lines(status))
    )
    if status["sites"]:
        print_table(console, _queues(status["sites"]), indent=2)


def _lines(status: dict[str, Any]) -> list[tuple[str, str]]:
    progress, controls = status["progress"], status["controls"]
    tally = progress["tally"]
    state = "stopping" if status["is_stopping"] else "paused" if controls["is_paused"] else ""
    if not state and (cut_off := progress["cut_off"]):
        state = f"cut off: none of {counted(cut_off['sites'], 'site')} can be reached ({cut_off['reason']})"
    rate = "" if controls["rate"] is None else f"at most {controls['rate']:g} requests a second"
    return [
        ("state", ", ".join(filter(None, (state, rate))) or "running"),
        ("pages", f"{count(tally['pages'])}, {pace(progress['rate'])}, for {lasting(progress['elapsed'])}"),
        ("requests", f"{count(tally['fetches'])}, {size(tally['downloaded'])}"),
        ("known", counted(progress["known"], "URL")),
        ("queue", counted(progress["queued"] - progress["queued_files"], "URL")),
        ("errors", top(tally["errors"])),
        ("left", status["time_left"]),
        ("excluded", ", ".join(status["excluded"])),
        ("preferred", ", ".join(status["preferred"])),
    ]


def _queues(sites: list[dict[str, Any]]) -> Sheet:
    columns = (
        Column("site", kind="site"),
        counts("queued", "queue"),
        counts("pages", "requests"),
        Column("bytes", kind="bytes"),
        Column("stage", " "),
    )
    return Sheet(name="queues", title="longest queues", columns=columns, rows=sites[:_LIVE_SITES_SHOWN])


def info(
    collection: options.Collected,
    what: Annotated[str | None, Argument(metavar="SITE|URL", help="A site or a URL of it.")] = None,
    all_: Annotated[
        bool,
        Option("--all", help="Explain every reason, list more sites, and show each step of a site's budget."),
    ] = False,
    live: Annotated[
        bool, Option("--live", help="Ask the crawl that runs: rates, controls and the longest queues, as of now.")
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
        click.echo(msgspec.json.encode(facts))
        return
    console = stdout_console()
    match facts:
        case CollectionFacts():
            print_collection(console, facts, is_whole=all_)
        case SiteFacts():
            print_facts(console, FactSheet(facts.site, site_lines(facts)))
            if all_ and facts.balance is not None and facts.balance.history:
                print_table(console, balance_table(facts.balance, is_counted=True), indent=2)
        case UrlFacts():
            print_facts(console, FactSheet(facts.url, url_lines(facts, str(collection))))


_SITES_SHOWN = 5
"""Sites listed without `--all`."""


def print_collection(console: Console, facts: CollectionFacts, *, is_whole: bool = False) -> None:
    """Print a collection: totals and the largest sites; if `is_whole`, also every reason with its explanation."""
    print_facts(console, FactSheet(facts.collection, collection_lines(facts, is_whole=is_whole)))
    reasons = reason_tables(facts)
    for table in reasons if is_whole else ():
        print_table(console, replace(table, title=table.name.replace("_", " ")), has_head=False, indent=2)
    if facts.largest:
        print_table(console, _site_table(facts, len(facts.largest) if is_whole else _SITES_SHOWN), indent=2)
    if not is_whole and (facts.sites > _SITES_SHOWN or reasons):
        more = f"periplus info {shlex.quote(facts.collection)} --all explains every reason and lists more sites"
        print_line(console, more, "dim")


def _site_table(facts: CollectionFacts, most: int) -> Sheet:
    """The largest sites, and sums, so that the columns add up."""
    table = largest_sites(facts)
    shown, total = table.rows[:most], facts.total
    title = "sites" if len(shown) == facts.sites else f"the {len(shown)} largest of {count(facts.sites)} sites"
    sums: list[TableRow] = []
    if facts.sites > len(shown):
        others = {name: getattr(total, name) - sum(row[name] for row in shown) for name in ("pages", "queued", "bytes")}
        sums.append({"site": f"{count(facts.sites - len(shown))} other sites", **others})
    if facts.sites > 1:
        notes = [f"queue: {count(total.twice)} in it twice, of two sources"] if total.twice else []
        notes += [f"{counted(total.retries, 'more waits', 'more wait')} for a retry"] if total.retries else []
        notes += [f"{counted(total.pooled, 'more waits', 'more wait')} to be ranked"] if total.pooled else []
        sums.append({"site": "all sites", **asdict(total), "retired": "; ".join(notes)})
    return replace(table, title=title, rows=[*shown, *sums], says="")
