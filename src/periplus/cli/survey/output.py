"""What a person sees of a survey: how far it is, what was found, where it lies; and the same as JSON."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct
from rich.console import Console
from rich.text import Text

from periplus.apps.survey import Survey, tables_of
from periplus.apps.survey.tables import SurveyTable, Value
from periplus.collection.collection import CollectionSetup, states, tally_of
from periplus.collection.progress import Progress
from periplus.collection.progress_text import hosts, time_left
from periplus.collection.summary import Summary
from periplus.view.terminal import print_line, print_table
from periplus.view.values import Sheet, sheet_of
from periplus.view.wording import count, counted, lasting, one_line, pace, size

from ..consoles import stdout_console
from ..crawl.live import Row, View, host_rows

if TYPE_CHECKING:
    from .command import DomainList

FOLDER = "survey"
"""Where tables, figures and the report lie in the collection."""
_SHOWN = 8
"""Rows of a longer table on a terminal; all are in its file."""


class SurveySummary(Struct, frozen=True):
    """What `--json` prints at the end. Counts are since the survey began, but for `seconds` and `waited`.

    `ended` is `complete` (nothing is left to ask), `time`, `interrupted`, `unreachable` (no domain could be
    reached), or `counted` where nothing was fetched.
    """

    collection: str
    ended: str
    domains: int
    bad_lines: int
    files: int
    fetches: int
    bytes: int
    queued: int
    sites: int
    workers: int
    seconds: float
    waited: float
    survey: dict[str, Value] = {}


def summary_of_survey(collection: CollectionSetup, crawled: Summary, *, bad_lines: int) -> SurveySummary:
    """What was done."""
    return SurveySummary(
        collection=crawled.collection,
        ended=crawled.ended,
        domains=len(collection.seeds),
        bad_lines=bad_lines,
        files=crawled.files,
        fetches=crawled.fetches,
        bytes=crawled.bytes,
        queued=crawled.queued,
        sites=crawled.sites,
        workers=crawled.workers,
        seconds=crawled.this_run.seconds,
        waited=crawled.this_run.waited,
    )


def counts_of(collection: CollectionSetup) -> SurveySummary:
    """Return what was done so far, in this run and earlier ones."""
    tally = tally_of(collection.layout)
    with states(collection.layout) as opened:
        queued = sum(len(state.queues) for state in opened.values())
        sites = sum(len(state.sites) for state in opened.values())
    return SurveySummary(
        collection=str(collection.folder),
        ended="counted",
        domains=len(collection.seeds),
        bad_lines=0,
        files=tally.files,
        fetches=tally.fetches,
        bytes=tally.downloaded,
        queued=queued,
        sites=sites,
        workers=collection.workers,
        seconds=0.0,
        waited=0.0,
    )


# while it runs


def _rows(progress: Progress) -> list[Row]:
    files = f"robots.txt {count(progress.tally.robots)} · sitemaps {count(progress.tally.files)}"
    asked = Text(f"{pace(progress.rate)}   of files known {count(max(progress.records - progress.queued, 0))} are done")
    return [
        ("asked", count(progress.tally.fetches), asked, Text()),
        ("files", count(progress.records), Text(files), Text(f"queue {count(progress.queued)}")),
        *host_rows(progress),
    ]


def _plain(progress: Progress) -> str:
    parts = [
        f"{lasting(progress.elapsed)}: {counted(progress.tally.fetches, 'request')}, {pace(progress.rate)}",
        f"robots.txt {count(progress.tally.robots)}",
        f"sitemaps {count(progress.tally.files)}",
        f"queue {count(progress.queued)}",
        f"hosts {count(progress.sites)} ({hosts(progress)})",
        size(progress.tally.downloaded),
    ]
    return ", ".join(filter(None, [*parts, time_left(progress)]))


FILES = View(_rows, _plain, lambda tally: tally.fetches)
"""What is shown of a crawl for what sites publish about themselves."""


# what was found


def print_bad_lines(found: DomainList, console: Console) -> None:
    """Lines of the list that name no domain."""
    for line in found.bad:
        text = one_line(line.text[:80])
        print_line(console, f"line {line.number:,} names no domain: {text}", "yellow")
    if found.bad_lines > len(found.bad):
        more = found.bad_lines - len(found.bad)
        print_line(console, f"{more:,} more lines name none; all of them are left out", "yellow")


def print_survey(summary: SurveySummary, surveyed: Survey | None = None, *, is_json: bool) -> None:
    """What was done and found, on stdout."""
    if is_json:
        click.echo(msgspec.json.encode(summary))
        return
    console = stdout_console()
    for line, style in _end_lines(summary):
        print_line(console, line, style)
    if surveyed is not None:
        tables = {table.name: table for table in tables_of(surveyed)}
        for name in ("summary", "robots_outcomes", "fields", "sitemap_outcomes"):
            print_table(console, _sheet(tables[name]))
    for line in _places(summary, is_counted=surveyed is not None):
        print_line(console, line)


_WORDS = {
    "complete": "done: every domain was asked",
    "time": "done: the time is over",
    "interrupted": "stopped: everything is kept",
    "unreachable": "done: no domain could be reached; the same command tries again",
    "counted": "counted what is there; nothing was fetched",
}


def _end_lines(summary: SurveySummary) -> list[tuple[str, str]]:
    files = f"{count(summary.files)} sitemap files came"
    facts = f"{counted(summary.domains, 'domain')}, {files}, {counted(summary.fetches, 'request')}"
    took = f" in {lasting(summary.seconds)}" if summary.seconds else ""
    lines = [(_WORDS[summary.ended], "bold"), (f"  {facts}{took}, {size(summary.bytes)}", "")]
    if summary.bad_lines:
        lines.append((f"  {count(summary.bad_lines)} lines of the list name no domain", "yellow"))
    if summary.queued:
        lines.append((f"  {count(summary.queued)} files wait to be asked for", ""))
    return lines


def _places(summary: SurveySummary, *, is_counted: bool) -> list[str]:
    folder = shlex.quote(summary.collection)
    if not is_counted:
        return ["next:", f"  periplus survey -o {folder}", f"  periplus survey -o {folder} --tables-only"]
    lines = [
        f"  {folder}/{FOLDER}/report.md    all tables and figures, to read",
        f"  {folder}/{FOLDER}/tables/      every table as CSV and Parquet",
        f"  {folder}/{FOLDER}/figures/     every figure as SVG",
    ]
    return [*lines, "next:", f"  periplus survey -o {folder}"] if summary.queued else lines


def _sheet(table: SurveyTable) -> Sheet:
    is_whole = table.name == "summary"
    rows = table.shown(None if is_whole else _SHOWN)
    more = len(table.rows) - len(rows)
    columns = ["<" * (each.kind == "text") + each.name.replace("_", " ") for each in table.columns]
    return sheet_of(table.title, columns, rows, (f"and {more:,} more rows",) if more > 0 else ())
