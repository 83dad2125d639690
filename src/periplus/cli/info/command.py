"""`periplus info`: what is known of a collection, a site or a URL, in words, with the reasons."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from periplus.assembly.collection import existing
from periplus.assembly.facts import duplicates as copies
from periplus.assembly.facts.lookup import (
    CollectionFacts,
    RobotsFacts,
    SiteFacts,
    UrlFacts,
    of_collection,
    of_site,
    of_url,
)
from periplus.insight.reasons import explained
from periplus.model import UrlRecord, UsageError
from periplus.urls import canonical, site_of

from .. import options
from ..crawl.live import count, size
from .freshness import fresh_words, page_lines, site_lines
from .sources import balance_line, balance_table, source_lines


def info(
    collection: options.Collected,
    what: Annotated[
        str | None, typer.Argument(metavar="[SITE|URL]", show_default=False, help="A site or a URL of it.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Say what is known of a collection, of a site, or of a URL, and why. Works while a crawl runs.

    Example: periplus info docs docs.example.org
    """
    found = existing(collection)
    facts: CollectionFacts | SiteFacts | UrlFacts | None
    if what is None:
        facts = of_collection(found)
    elif "/" in what or "?" in what:
        facts = of_url(found, what)
    else:
        url = canonical(f"http://{what}/")
        facts = of_site(found, site_of(url)) if url is not None else None
        if facts is None:
            raise UsageError(f"{collection} knows no site {what}", hint=f"periplus info {collection} lists the largest")
    if json:
        typer.echo(msgspec.json.encode(facts))
        return
    console = Console()
    match facts:
        case CollectionFacts():
            say_collection(console, facts)
        case SiteFacts():
            _say(console, f"{facts.site}", _site_lines(facts))
            if facts.balance is not None and facts.balance.history:
                console.print(balance_table(facts.balance))
        case UrlFacts():
            _say(console, facts.url, _url_lines(facts, str(collection)))


Lines = list[tuple[str, str]]
_SITES_SHOWN = 12


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


def say_collection(console: Console, facts: CollectionFacts) -> None:
    """The whole in words: numbers, reasons, sites."""
    tally = facts.tally
    told = ", ".join(f"{name} {count(number)}" for name, number in _ranked(tally.sources))
    seen = f"{count(tally.new)} new, {count(tally.changed)} changed, {count(tally.same)} the same again"
    _say(
        console,
        facts.collection,
        [
            ("pages", f"{count(tally.pages)}: {seen}; {count(tally.copies)} with the text of another"),
            ("fresh", fresh_words(facts.freshness)),
            ("requests", f"{count(tally.fetches)}, {size(tally.downloaded)}; {count(tally.redirects)} were redirects"),
            ("known", f"{count(facts.known)} URLs (told by {told})" if told else count(facts.known)),
            ("queue", f"{count(facts.queued)} wait"),
            ("sites", f"{count(facts.sites)}, from {_some(facts.seeds, 'seed')}, in {_some(facts.shards, 'shard')}"),
        ],
    )
    for title, reasons in (
        ("errors", tally.errors),
        ("excluded", tally.excluded),
        ("refused by filters", tally.refused),
        ("sites given up", facts.retired),
    ):
        if reasons:
            console.print(reason_table(title, reasons))
    if facts.largest:
        console.print(_site_table(facts))


def reason_table(title: str, reasons: Mapping[str, int]) -> Table:
    """Reasons, the commonest first, each explained."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 2, 0, 0)
    )
    table.add_column(style="yellow", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for reason, number in _ranked(reasons):
        table.add_row(f"  {reason}", count(number), explained(reason))
    return table


def _site_table(facts: CollectionFacts) -> Table:
    shown = facts.largest[:_SITES_SHOWN]
    title = "sites" if len(shown) == facts.sites else f"the {len(shown)} largest of {count(facts.sites)} sites"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    table.add_column("  site", style="cyan", overflow="fold")
    for name in ("pages", "queue", "bytes"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", overflow="fold", style="yellow")
    for line in shown:
        note = f"given up: {line.retired}" if line.retired else ""
        if not note and line.failures:
            note = f"{line.failures} failures in a row"
        table.add_row(f"  {line.site}", count(line.pages), count(line.queued), size(line.bytes), note)
    return table


def _ranked(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(reasons.items(), key=lambda item: (-item[1], item[0]))


# a site


def _site_lines(facts: SiteFacts) -> Lines:
    waits = ", ".join(f"{number:,} by {lane}" for lane, number in facts.queued.items()) or "nothing"
    return [
        ("pages", f"{count(facts.pages)}, {size(facts.bytes)}"),
        ("queue", waits),
        *(source_lines(facts.sources) if facts.sources else ()),
        ("budget", balance_line(facts.balance)),
        *site_lines(facts.freshness),
        ("address", facts.ip or "not asked for yet"),
        ("robots.txt", _robots(facts.robots)),
        ("home page", f"may not be fetched: {facts.home_refused}" if facts.home_refused else ""),
        ("rests", f"{facts.delay:g} s after each visit"),
        ("failures", f"{facts.failures} in a row" if facts.failures else ""),
        ("given up", _reason(facts.retired)),
        ("next visit", f"not before {moment(facts.ready_at)}" if facts.queued and not facts.retired else ""),
        ("shard", str(facts.shard)),
    ]


def _robots(facts: RobotsFacts | None) -> str:
    if facts is None:
        return "not asked for yet"
    said = {
        "rules": f"{count(facts.bytes)} bytes, obeyed",
        "all": "there is none: everything is allowed",
        "none": "cannot be asked for: nothing is fetched",
    }[facts.access]
    why = f" ({_reason(facts.reason)})" if facts.reason else ""
    asks = f"; asks for {facts.crawl_delay:g} s between requests" if facts.crawl_delay else ""
    return f"{said}{why}{asks}; read {moment(facts.fetched_at)}, asked for again after {moment(facts.expires_at)}"


def _some(number: int, what: str) -> str:
    return f"{count(number)} {what}{'s' if number != 1 else ''}"


# a URL


def _url_lines(facts: UrlFacts, folder: str) -> Lines:
    lines = _record_lines(facts.record) if facts.record else [("known", "no: nobody has told us of it")]
    robots = "allows it" if facts.site and facts.site.robots and not facts.robots else ""
    rule = f" by the rule {facts.robots_rule}" if facts.robots_rule and facts.robots == "robots" else ""
    says = "forbids it" if facts.robots == "robots" else "cannot be read"
    filtered = f"refuse it: {facts.filtered} ({facts.filter_rule}); {explained(facts.filtered)}"
    return [
        *lines,
        *page_lines(facts.freshness, time.time(), shlex.quote(folder)),
        *copies.lines(facts.copies, facts.url),
        ("robots.txt", f"{says}{rule}: {explained(facts.robots)}" if facts.robots else robots),
        ("filters", filtered if facts.filtered else "accept it"),
        ("known as", facts.known_as or ""),
        ("site", f"given up: {_reason(facts.site.retired)}" if facts.site and facts.site.retired else ""),
    ]


def _record_lines(record: UrlRecord) -> Lines:
    first = min(record.first_seen, key=lambda seen: seen.at)
    told = ", ".join(f"{seen.source.value} ({moment(seen.at)})" for seen in record.first_seen)
    return [
        ("known", f"since {moment(first.at)}, told by {told}"),
        (
            "distance",
            f"{record.depth} links from a seed" + (f", {record.redirects} redirects" if record.redirects else ""),
        ),
        ("visits", f"{record.visits}, {record.changes} changes" if record.visits else "none yet"),
        ("last visit", moment(record.fetched_at) if record.fetched_at is not None else ""),
        ("status", str(record.status) if record.status is not None else ""),
        ("reason", _reason(record.reason)),
        ("failures", f"{record.failures} in a row" if record.failures else ""),
        ("next", _next(record) if not record.evidence else ""),
    ]


def _next(record: UrlRecord) -> str:
    """Of a page that was never seen."""
    if record.due_at is not None:
        return moment(record.due_at)
    return "when its turn comes" if not record.visits and not record.reason else ""


def _reason(reason: str) -> str:
    meaning = explained(reason)
    return f"{reason}: {meaning}" if reason and meaning else reason


def moment(at: float) -> str:
    """A time, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if at > 0 else "now"
