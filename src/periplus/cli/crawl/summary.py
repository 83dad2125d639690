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


class Plan(Struct, frozen=True):
    """What `--dry-run --json` says."""

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
    """What was done, on stdout."""
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


_WORDS = {
    "complete": "done: nothing is left to fetch",
    "limit": "done: as many pages as were asked for",
    "time": "done: the time is over",
    "interrupted": "stopped: everything is kept",
}


def _end_lines(summary: Summary) -> list[tuple[str, str]]:
    run = summary.this_run
    errors = sum(summary.errors.values())
    facts = f"{counted(run.pages, 'page')} in {lasting(run.seconds)} ({pace(run.pages_per_second)})"
    if run.pages != summary.pages:
        facts += f", {count(summary.pages)} in all"
    facts += f"; {counted(summary.sites, 'site')}, {size(summary.bytes)}"
    lines = [(_WORDS[summary.ended], "bold"), (f"  {facts}", "")]
    if summary.sources:
        lines.append((f"  {counted(summary.known, 'URL')} known: {by_source(summary.sources, summary.known)}", ""))
    if errors:
        lines.append((f"  {counted(errors, 'error')}: {top(summary.errors, 5)}", "yellow"))
    if private := summary.excluded.get(_PRIVATE):
        lines.append((f"  {counted(private, 'URL')} not fetched: {_PRIVATE}, {explained(_PRIVATE)}", "yellow"))
    if summary.queued:
        lines.append((f"  {count(summary.queued)} URLs wait in the queue", ""))
    return lines


def _further(summary: Summary, folder: str) -> str:
    if summary.ended == "complete":
        return f"watch {folder}   (comes back when it pays)"
    return f"crawl -o {folder}" + (f" --limit {2 * summary.pages}" if summary.ended == "limit" else "")


def _nothing_lines(summary: Summary) -> list[tuple[str, str]]:
    """Why there is nothing, and what to try."""
    reasons = {**summary.errors, **summary.excluded, **summary.refused}
    why, folder = top(reasons, 5), shlex.quote(summary.collection)
    said = [(f"  {reason}: {explained(reason)}", "") for reason in reasons if explained(reason)]
    return [
        ("nothing could be fetched" + (f": {why}" if why else ": no server answered in time"), "bold red"),
        *said[:5],
        (f"  periplus info {folder} says more; a seed typed without http:// is taken for https://", ""),
    ]
