"""The plan of a crawl before it starts, and the summary when it ends: for people, and as JSON."""

from __future__ import annotations

import shlex

import msgspec
import typer
from msgspec import Struct
from rich.console import Console
from rich.text import Text

from periplus.assembly.collection import Collection
from periplus.assembly.summary import Summary
from periplus.insight.reasons import explained

from ..consoles import stdout_console
from .live import by_source, count, counted, lasting, pace, size, top

_SEEDS_SHOWN = 10
_PRIVATE = "private-address"
_TOO_DEEP = "link-depth"


class Plan(Struct, frozen=True):
    """What `--dry-run --json` prints."""

    collection: str
    is_new: bool
    seeds: tuple[str, ...]
    scope: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    limit: int
    max_depth: int
    seconds: float
    delay: float
    rate: float
    workers: int
    user_agent: str


def plan_of(collection: Collection) -> Plan:
    """What would be done."""
    config = collection.config
    return Plan(
        collection=str(collection.folder),
        is_new=collection.is_new,
        seeds=collection.seeds,
        scope=config.scope.kind,
        include=config.patterns.include,
        exclude=config.patterns.exclude,
        limit=config.crawl.limit,
        max_depth=config.budgets.max_depth,
        seconds=config.crawl.duration,
        delay=config.politeness.delay,
        rate=config.crawl.rate,
        workers=collection.workers,
        user_agent=config.identity.agent,
    )


def say_plan(collection: Collection, *, is_json: bool) -> None:
    """What would be done, on stdout."""
    plan = plan_of(collection)
    if is_json:
        typer.echo(msgspec.json.encode(plan))
        return
    console = stdout_console()
    for line in _plan_lines(plan):
        console.print(Text(line), soft_wrap=True)


def _plan_lines(plan: Plan) -> list[str]:
    what = "would begin" if plan.is_new else "would continue"
    more = len(plan.seeds) - _SEEDS_SHOWN
    lines = [f"{what} the collection {plan.collection}; nothing was fetched or written"]
    lines += [f"  {'seeds' if not index else '':12}{seed}" for index, seed in enumerate(plan.seeds[:_SEEDS_SHOWN])]
    lines += [f"  {'':12}and {more:,} more"] if more > 0 else []
    lines.append(f"  {'scope':12}{plan.scope}, at most {counted(plan.max_depth, 'link')} from a seed")
    lines += [f"  {'include':12}{pattern}" for pattern in plan.include]
    lines += [f"  {'exclude':12}{pattern}" for pattern in plan.exclude]
    bounds = [counted(plan.limit, "page")] if plan.limit else []
    bounds += [lasting(plan.seconds)] if plan.seconds else []
    lines.append(f"  {'until':12}{' or '.join([*bounds, 'nothing is left'])}")
    rate = f", at most {plan.rate:g} pages a second in all" if plan.rate else ""
    lines.append(f"  {'politeness':12}{plan.delay:g} s between requests to a host, robots.txt obeyed{rate}")
    lines.append(f"  {'workers':12}{plan.workers}")
    lines.append(f"  {'User-Agent':12}{plan.user_agent}")
    if "(+" not in plan.user_agent:
        lines.append(f"  {'':12}(--contact tells owners of sites how to reach you)")
    return lines


def say_end(summary: Summary, *, is_json: bool) -> None:
    """Print what was done, why the crawl ended, what is left and what to type next, on stdout."""
    if is_json:
        typer.echo(msgspec.json.encode(summary))
        return
    console = stdout_console()
    if summary.pages or summary.ended == "interrupted":
        _say(console, _end_lines(summary))
        say_places(console, summary)
    else:
        _say(console, _nothing_lines(summary))


def say_places(console: Console, summary: Summary) -> None:
    """Where things lie, and what is worth typing next."""
    folder = shlex.quote(summary.collection)
    lines = [
        (f"  {folder}/warc/           every answer, as it came (WARC 1.1, with a CDXJ index)", "dim"),
        (f"  {folder}/tables/         what happened (Parquet)", "dim"),
        (f"  {folder}/periplus.toml   what was asked; edit it and continue", "dim"),
        ("next:", "bold"),
        (f"  periplus info {folder}", ""),
        (f"  periplus export {folder} --format markdown -o pages", ""),
        (f"  periplus {_further(summary, folder)}", ""),
    ]
    _say(console, lines)


def _say(console: Console, lines: list[tuple[str, str]]) -> None:
    for line, style in lines:
        console.print(Text(line, style=style), soft_wrap=True)


def _why_ended(summary: Summary) -> str:
    """Why the crawl ended, with the option that bounded it."""
    match summary.ended:
        case "complete":
            return "done: every URL in scope was visited"
        case "limit":
            return f"done: the limit of {count(summary.limit)} pages is reached (--limit)"
        case "time":
            return f"done: the time is over (--for {lasting(summary.duration)})"
        case _:
            return "stopped: everything is kept"


def _left_lines(summary: Summary) -> list[tuple[str, str]]:
    """What was not fetched: URLs that wait, and those beyond a bound."""
    lines = []
    if summary.queued or (summary.has_unread and summary.ended != "complete"):
        more = ", and sitemaps list more" if summary.has_unread else ""
        lines.append((f"  left in the queue: {counted(summary.queued, 'URL')}{more}", ""))
    if deep := summary.refused.get(_TOO_DEEP):
        bound = f"pages more than {summary.max_depth} links from a seed (--depth)"
        lines.append((f"  not followed: {counted(deep, 'link')} to {bound}", ""))
    return lines


def _end_lines(summary: Summary) -> list[tuple[str, str]]:
    run = summary.this_run
    errors = sum(summary.errors.values())
    facts = f"{counted(run.pages, 'page')} in {lasting(run.seconds)} ({pace(run.pages_per_second)})"
    if run.pages != summary.pages:
        facts += f", {count(summary.pages)} in all"
    facts += f"; {counted(summary.sites, 'site')}, {size(summary.bytes)}"
    lines = [(_why_ended(summary), "bold"), (f"  {facts}", "")]
    if summary.sources:
        lines.append((f"  {counted(summary.known, 'URL')} known: {by_source(summary.sources, summary.known)}", ""))
    if errors:
        lines.append((f"  {counted(errors, 'error')}: {top(summary.errors, 5)}", "yellow"))
    if private := summary.excluded.get(_PRIVATE):
        lines.append((f"  {counted(private, 'URL')} not fetched: {_PRIVATE}, {explained(_PRIVATE)}", "yellow"))
    return lines + _left_lines(summary)


def _further(summary: Summary, folder: str) -> str:
    if summary.ended == "complete":
        return f"watch {folder}   (visits pages again when they have probably changed)"
    larger = f" --limit {2 * summary.pages}" if summary.ended == "limit" else ""
    return f"crawl -o {folder}{larger}   (continues)"


def _nothing_lines(summary: Summary) -> list[tuple[str, str]]:
    """Why there is nothing, and what to try."""
    reasons = {**summary.errors, **summary.excluded, **summary.refused}
    why, folder = top(reasons, 5), shlex.quote(summary.collection)
    said = [(f"  {reason}: {explained(reason)}", "") for reason in reasons if explained(reason)]
    return [
        ("nothing could be fetched" + (f": {why}" if why else ": no server answered in time"), "bold red"),
        *said[:5],
        (f"  periplus info {folder} shows more; a seed typed without http:// is taken for https://", ""),
    ]
