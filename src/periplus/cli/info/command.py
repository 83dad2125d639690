"""`periplus info`: prints what is known of a collection, a site or a URL, with the reasons."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from periplus.assembly.collection import existing
from periplus.assembly.facts import (
    CollectionFacts,
    RobotsFacts,
    SiteFacts,
    SiteLine,
    UrlFacts,
    collection_facts,
    site_facts,
    url_facts,
)
from periplus.insight.reasons import explained
from periplus.model import UrlRecord, UsageError
from periplus.urls import canonical, site_of

from .. import options
from ..consoles import stdout_console
from ..crawl.live import by_source, count, counted, size, top
from .duplicates import duplicate_lines
from .freshness import fresh_words, page_lines, site_lines
from .live import say_live
from .sources import balance_line, balance_table, source_lines


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
        say_live(collection, what, is_json=json)
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
            say_collection(console, facts, is_whole=all_)
        case SiteFacts():
            _say(console, f"{facts.site}", _site_lines(facts))
            if all_ and facts.balance is not None and facts.balance.history:
                console.print(balance_table(facts.balance))
        case UrlFacts():
            _say(console, facts.url, _url_lines(facts, str(collection)))


Lines = list[tuple[str, str]]
_SITES_SHOWN = 5
"""Sites listed without `--all`."""
_REASONS_SHOWN = 4
"""Reasons named in a line without `--all`."""


def _say(console: Console, title: str, lines: Lines) -> None:
    console.print(Text(title, style="bold"), soft_wrap=True)
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, said in lines:
        if said:
            grid.add_row(f"  {name}", Text(said))
    console.print(grid)


# a collection


def say_collection(console: Console, facts: CollectionFacts, *, is_whole: bool = False) -> None:
    """Print a collection: totals and the largest sites; if `is_whole`, also every reason with its explanation."""
    _say(console, facts.collection, _collection_lines(facts, is_whole=is_whole))
    for title, reasons in _reasons(facts) if is_whole else ():
        if reasons:
            console.print(reason_table(title, reasons))
    if facts.largest:
        console.print(_site_table(facts, len(facts.largest) if is_whole else _SITES_SHOWN))
    if not is_whole and (facts.sites > _SITES_SHOWN or any(reasons for _, reasons in _reasons(facts))):
        more = f"periplus info {shlex.quote(facts.collection)} --all explains every reason and lists more sites"
        console.print(Text(more, style="dim"), soft_wrap=True)


def _collection_lines(facts: CollectionFacts, *, is_whole: bool) -> Lines:
    tally = facts.tally
    seen = f"{count(tally.new)} new, {count(tally.changed)} changed, {count(tally.same)} unchanged"
    sources = by_source(tally.sources, facts.known)
    lines = [
        ("pages", f"{count(tally.pages)}: {seen}; {counted(tally.copies, 'near-duplicate')}"),
        ("fresh", fresh_words(facts.freshness)),
        ("requests", f"{count(tally.fetches)}, {size(tally.downloaded)}; {counted(tally.redirects, 'redirect')}"),
        ("known", counted(facts.known, "URL") + (f" ({sources})" if sources else "")),
        ("queue", counted(facts.queued, "URL")),
        ("sites", f"{count(facts.sites)}, from {counted(facts.seeds, 'seed')}, in {counted(facts.shards, 'shard')}"),
    ]
    if is_whole:
        return lines
    return [
        *lines,
        *(
            (title, f"{count(sum(reasons.values()))} ({top(reasons, _REASONS_SHOWN)})")
            for title, reasons in _reasons(facts)
            if reasons
        ),
    ]


def _reasons(facts: CollectionFacts) -> tuple[tuple[str, Mapping[str, int]], ...]:
    return (
        ("errors", facts.tally.errors),
        ("excluded", facts.tally.excluded),
        ("filtered out", facts.tally.refused),
        ("sites given up", facts.retired),
    )


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
    note = "with URLs of two sources counted twice, and without retries" if total.queued != facts.queued else ""
    table.add_row("  all sites", count(total.pages), count(total.queued), size(total.bytes), note)


def _ranked(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(reasons.items(), key=lambda item: (-item[1], item[0]))


# a site


def _site_lines(facts: SiteFacts) -> Lines:
    waiting = ", ".join(f"{number:,} by {lane}" for lane, number in facts.queued.items()) or "nothing"
    return [
        ("pages", f"{count(facts.pages)}, {size(facts.bytes)}"),
        ("queue", waiting),
        *(source_lines(facts.sources) if facts.sources else ()),
        ("budget", balance_line(facts.balance)),
        *site_lines(facts.freshness),
        ("address", facts.ip or "not looked up yet"),
        ("robots.txt", _robots(facts.robots)),
        ("home page", f"may not be fetched: {facts.home_refused}" if facts.home_refused else ""),
        ("politeness", f"{facts.delay:g} s after each visit"),
        ("failures", f"{facts.failures} in a row" if facts.failures else ""),
        ("given up", _reason(facts.retired)),
        ("next visit", f"not before {moment(facts.ready_at)}" if facts.queued and not facts.retired else ""),
        ("shard", str(facts.shard)),
    ]


def _robots(facts: RobotsFacts | None) -> str:
    if facts is None:
        return "not fetched yet"
    said = {
        "rules": f"{counted(facts.bytes, 'byte')}, obeyed",
        "all": "there is none: everything is allowed",
        "none": "cannot be fetched: no page is requested",
    }[facts.access]
    why = f" ({_reason(facts.reason)})" if facts.reason else ""
    asks = f"; asks for {facts.crawl_delay:g} s between requests" if facts.crawl_delay else ""
    return f"{said}{why}{asks}; read {moment(facts.fetched_at)}, fetched again after {moment(facts.expires_at)}"


# a URL


def _url_lines(facts: UrlFacts, folder: str) -> Lines:
    lines = _record_lines(facts.record) if facts.record else [("known", "no: not discovered yet")]
    robots = "allows it" if facts.site and facts.site.robots and not facts.robots else ""
    rule = f" by the rule {facts.robots_rule}" if facts.robots_rule and facts.robots == "robots" else ""
    says = "forbids it" if facts.robots == "robots" else "cannot be read"
    filtered = f"refuse it: {facts.filtered} ({facts.filter_rule}); {explained(facts.filtered)}"
    return [
        *lines,
        *page_lines(facts.freshness, time.time(), shlex.quote(folder)),
        *duplicate_lines(facts.copies, facts.url),
        ("robots.txt", f"{says}{rule}: {explained(facts.robots)}" if facts.robots else robots),
        ("filters", filtered if facts.filtered else "accept it"),
        ("known as", facts.known_as or ""),
        ("site", f"given up: {_reason(facts.site.retired)}" if facts.site and facts.site.retired else ""),
    ]


def _record_lines(record: UrlRecord) -> Lines:
    first = min(record.first_seen, key=lambda seen: seen.at)
    sources = ", ".join(f"{seen.source.value} ({moment(seen.at)})" for seen in record.first_seen)
    return [
        ("known", f"since {moment(first.at)}, discovered by {sources}"),
        (
            "distance",
            f"{counted(record.depth, 'link')} from a seed"
            + (f", {counted(record.redirects, 'redirect')}" if record.redirects else ""),
        ),
        ("visits", f"{record.visits}, {counted(record.changes, 'change')}" if record.visits else "none yet"),
        ("last visit", moment(record.fetched_at) if record.fetched_at is not None else ""),
        ("status", str(record.status) if record.status is not None else ""),
        ("reason", _reason(record.reason)),
        ("failures", f"{record.failures} in a row" if record.failures else ""),
        ("next", _next(record) if not record.evidence else ""),
    ]


def _next(record: UrlRecord) -> str:
    """Return when a page that was never fetched is next visited."""
    if record.due_at is not None:
        return moment(record.due_at)
    return "when its turn comes" if not record.visits and not record.reason else ""


def _reason(reason: str) -> str:
    meaning = explained(reason)
    return f"{reason}: {meaning}" if reason and meaning else reason


def moment(at: float) -> str:
    """Return a time in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if at > 0 else "now"
