"""The plan of a crawl before it starts, and the summary when it ends: for people, and as JSON."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct
from rich.console import Console

from periplus.collection.collection import CollectionSetup, tally_of
from periplus.collection.progress_text import expected, expected_seconds
from periplus.collection.summary import Summary
from periplus.collection.wording import by_source
from periplus.insight.reasons import explained
from periplus.view.terminal import print_line
from periplus.view.wording import count, counted, lasting, pace, size, top

from ..consoles import stdout_console

if TYPE_CHECKING:
    from periplus.apps.mapping.cost import CrawlCost

_SEEDS_SHOWN = _SITES_SHOWN = 10
_FAILURES_SHOWN = 3
_MOST_LINES = 15
"""Lines at the end of a crawl: `periplus info` has everything else."""
_SCHEME_HINT = "; a seed typed without http:// is taken for https://"
"""Added where an https URL failed: its seed may have been meant as http."""
_PRIVATE = "private-address"
_MEDIA = "select * from media"
"""What is worth asking after a crawl for files."""
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
    media: tuple[str, ...] = ()
    max_bytes: int = 0
    cost: CrawlCost | None = None
    expected_seconds: float | None = None


def plan_of(collection: CollectionSetup, cost: CrawlCost | None = None) -> Plan:
    """What would be done, and what it would cost, if that was estimated."""
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
        user_agent=config.crawler_identity.agent,
        media=config.media.types,
        max_bytes=config.crawl.max_bytes,
        cost=cost,
        expected_seconds=expected_seconds(collection, tally_of(collection.layout)),
    )


def print_plan(collection: CollectionSetup, cost: CrawlCost | None = None, *, is_json: bool) -> None:
    """What would be done, on stdout."""
    plan = plan_of(collection, cost)
    if is_json:
        click.echo(msgspec.json.encode(plan))
        return
    console = stdout_console()
    for line in (*_plan_lines(plan), f"  {expected(collection, tally_of(collection.layout))}"):
        print_line(console, line)


def _plan_lines(plan: Plan) -> list[str]:
    what = "would begin" if plan.is_new else "would continue"
    more = len(plan.seeds) - _SEEDS_SHOWN
    done = "only lists of URLs were fetched" if plan.cost is not None else "nothing was fetched"
    lines = [f"{what} the collection {plan.collection}; {done}, nothing was written"]
    lines += [f"  {'media':12}{kind}" for kind in plan.media]
    lines += [f"  {'seeds' if not index else '':12}{seed}" for index, seed in enumerate(plan.seeds[:_SEEDS_SHOWN])]
    lines += [f"  {'':12}and {more:,} more"] if more > 0 else []
    lines.append(f"  {'scope':12}{plan.scope}, at most {counted(plan.max_depth, 'link')} from a seed")
    lines += [f"  {'include':12}{pattern}" for pattern in plan.include]
    lines += [f"  {'exclude':12}{pattern}" for pattern in plan.exclude]
    bounds = [counted(plan.limit, "page")] if plan.limit else []
    bounds += [size(plan.max_bytes)] if plan.max_bytes else []
    bounds += [lasting(plan.seconds)] if plan.seconds else []
    lines.append(f"  {'until':12}{' or '.join([*bounds, 'nothing is left'])}")
    rate = f", at most {plan.rate:g} pages a second in all" if plan.rate else ""
    lines.append(f"  {'politeness':12}{plan.delay:g} s between requests to a host, robots.txt obeyed{rate}")
    lines.append(f"  {'workers':12}{plan.workers}")
    lines.append(f"  {'User-Agent':12}{plan.user_agent}")
    if "(+" not in plan.user_agent:
        lines.append(f"  {'':12}(--contact tells owners of sites how to reach you)")
    return lines + (_cost_lines(plan.cost) if plan.cost is not None else [])


def _cost_lines(cost: CrawlCost) -> list[str]:
    """What sites list, and what it costs to fetch it."""
    if not cost.urls:
        return [f"  {'cost':12}not known: the sites list no such file; their pages would be crawled"]
    total = f"{size(cost.bytes)}, " if cost.sized else ""
    some = f" (the size of {count(cost.sized)} is known)" if 0 < cost.sized < cost.urls else ""
    lines = [f"  {'cost':12}{counted(cost.urls, 'file')}, {total}about {lasting(cost.seconds)}{some}"]
    if len(cost.sites) > 1:
        for site in cost.sites[:_SITES_SHOWN]:
            known = f"{size(site.bytes)}, " if site.sized else ""
            lines.append(f"  {'':12}{site.site}: {counted(site.urls, 'file')}, {known}{lasting(site.seconds)}")
    if cost.within is not None:
        lines.append(f"  {'':12}{count(cost.within)} of {count(cost.urls)} files fit into --max-bytes")
    return lines


def print_end(summary: Summary, *, is_json: bool) -> None:
    """Print what was done, why the crawl ended, what is left and what to type next, on stdout."""
    if is_json:
        click.echo(msgspec.json.encode(summary))
        return
    console = stdout_console()
    if summary.pages or summary.ended == "interrupted":
        places = _places(summary)
        _print(console, [*_end_lines(summary)[: _MOST_LINES - len(places)], *places])
    else:
        _print(console, _nothing_lines(summary))


def print_places(console: Console, summary: Summary) -> None:
    """Print where the results are, and the commands to try next."""
    _print(console, _places(summary))


def _places(summary: Summary) -> list[tuple[str, str]]:
    folder = shlex.quote(summary.collection)
    return [
        (f"  in {folder}: WARC files, Parquet tables, and periplus.toml, which you can edit to continue", "dim"),
        ("next:", "bold"),
        (f"  periplus info {folder}", ""),
        (f"  periplus {_look_at(summary, folder)}", ""),
        *((f"  periplus {work.command.format(folder=folder)}", "") for work in summary.open_work),
        (f"  periplus {_further(summary, folder)}", ""),
    ]


def _look_at(summary: Summary, folder: str) -> str:
    if summary.media is not None:
        return f"query {folder} {shlex.quote(_MEDIA)}"
    return f"export {folder} --format markdown -o {shlex.quote(_free_name(f'{summary.collection}-markdown'))}"


def _free_name(name: str) -> str:
    """The name, or with a number if something has it: an export asks for a new folder."""
    names = (f"{name}-{number}" if number > 1 else name for number in itertools.count(1))
    return next(free for free in names if not Path(free).exists())


def _print(console: Console, lines: list[tuple[str, str]]) -> None:
    for line, style in lines:
        print_line(console, line, style)


def _why_ended(summary: Summary) -> str:
    """Why the crawl ended, with the option that bounded it."""
    match summary.ended:
        case "complete" if summary.open_work:
            return f"no URL waits, but {' and '.join(work.what for work in summary.open_work)}"
        case "complete":
            return "done: every URL in scope was visited"
        case "limit":
            return f"done: the limit of {counted(summary.limit, 'page')} is reached (--limit)"
        case "bytes":
            return f"done: {size(summary.max_bytes)} were downloaded (--max-bytes)"
        case "time":
            return f"done: the time is over (--for {lasting(summary.duration)})"
        case _:
            return "stopped: everything is kept"


def _left_lines(summary: Summary) -> list[tuple[str, str]]:
    """What was not fetched: URLs that wait, and those beyond a bound."""
    lines = []
    pages, is_open = max(summary.queued - summary.queued_files, 0), summary.ended != "complete"
    if pages or (is_open and (summary.listed or summary.has_unread)):
        more = f", and sitemaps list up to {count(summary.listed)} more" if summary.listed else ""
        more += f"{', and some' if more else ', and sitemaps'} are not read to their end" if summary.has_unread else ""
        lines.append((f"  left in the queue: {counted(pages, 'URL')}{more}", ""))
    if deep := summary.refused.get(_TOO_DEEP):
        bound = f"pages more than {summary.max_depth} links from a seed (--depth)"
        lines.append((f"  not followed: {counted(deep, 'link')} to {bound}", ""))
    return lines


def _end_lines(summary: Summary) -> list[tuple[str, str]]:
    run = summary.this_run
    errors = sum(summary.errors.values())
    what = "page" if summary.media is None else "answer"
    facts = f"{counted(run.pages, what)} in {lasting(run.seconds)} ({pace(run.pages_per_second)})"
    if run.pages != summary.pages:
        facts += f", {count(summary.pages)} in all"
    facts += f"; {counted(summary.sites, 'site')}, {size(summary.bytes)}"
    lines = [(_why_ended(summary), "bold"), (f"  {facts}", "")]
    if (media := summary.media) is not None:
        what = f"{counted(media.files, 'file')} ({', '.join(media.types)}), {size(media.bytes)}"
        lines.append(
            (f"  {what}; pages were {media.request_share:.0%} of requests, {media.byte_share:.0%} of bytes", "")
        )
    if (topic := summary.topic) is not None:
        shares = f"{topic.harvest:.0%}, {topic.recent_harvest:.0%} of the last"
        lines.append((f"  {counted(topic.relevant, 'page')} on the topic ({shares})", ""))
    if summary.sources:
        lines.append((f"  {counted(summary.known, 'URL')} known: {by_source(summary.sources, summary.known)}", ""))
    if errors:
        lines.append((f"  {counted(errors, 'error')}: {top(summary.errors, 5)}", "yellow"))
    lines += _failure_lines(summary)
    if private := run.excluded.get(_PRIVATE):
        lines.append((f"  {counted(private, 'URL')} not fetched: {_PRIVATE}, {explained(_PRIVATE)}", "yellow"))
    return lines + _left_lines(summary)


def _further(summary: Summary, folder: str) -> str:
    if summary.ended == "complete" and not summary.open_work:
        return f"watch {folder}   (visits pages again when they have probably changed)"
    larger = f" --limit {2 * summary.limit}" if summary.ended == "limit" else ""
    return f"crawl -o {folder}{larger}   (continues)"


def _failure_lines(summary: Summary) -> list[tuple[str, str]]:
    """Sites that could not be reached, what is wrong there, and what to do."""
    lines = []
    for failure in summary.failures[:_FAILURES_SHOWN]:
        step = f"; {failure.next_step}" if failure.next_step else ""
        lines.append((f"  {failure.url}: {failure.problem}{step}", "yellow"))
    more = len(summary.failures) - _FAILURES_SHOWN
    return [*lines, (f"  and {counted(more, 'site')} more", "yellow")] if more > 0 else lines


def _nothing_lines(summary: Summary) -> list[tuple[str, str]]:
    """Why there is nothing, and what to try."""
    reasons = {**summary.errors, **summary.excluded, **summary.refused}
    why, folder = top(reasons, 5), shlex.quote(summary.collection)
    explained_already = {failure.reason for failure in summary.failures}
    lines = [
        (f"  {reason}: {explained(reason)}", "")
        for reason in reasons
        if reason not in explained_already and explained(reason)
    ]
    is_unreachable = summary.ended == "unreachable"
    is_secure = any(failure.url.startswith("https://") for failure in summary.failures)
    default = "no seed could be reached" if is_unreachable else "no server answered in time"
    return [
        (f"nothing could be fetched: {why or default}", "bold red"),
        *_failure_lines(summary),
        *lines[:5],
        *([("  the crawl ended without a retry; the same command tries again", "")] if is_unreachable else []),
        (f"  periplus info {folder} shows more{_SCHEME_HINT if is_secure else ''}", ""),
    ]
