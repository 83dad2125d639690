"""`periplus map`: lists every URL a site publishes, its source, what would refuse it, and how long a crawl takes.

A map is a crawl that fetches no pages (`sitemaps.only`) of one site: its robots.txt, the sitemaps and feeds that this
names or that are in the usual places, and the files these name. They go to a folder of their own, which is deleted
unless `-o` names it. Then every URL is judged as a crawl would judge it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from periplus.assembly.collection import Collection, held, planned, states
from periplus.assembly.facts.listed_urls import Judging, MapFiles, Verdict
from periplus.assembly.mapping import map_folder, map_settings
from periplus.assembly.options import wire_settings
from periplus.assembly.summary import Summary
from periplus.insight.listed import Listed, listed_urls

from .. import NOTHING_FETCHED, options
from ..app import INTERRUPTED
from ..closed_pipe import unless_closed
from ..consoles import stderr_console, stdout_console
from ..crawl.running import run
from ..survey.output import FILES
from .output import SHOWN, Counts, MapSummary, say_files, say_json, say_lines, say_rows, say_summary, summary_of_map

_SCRATCH = "map.scratch"

Site = Annotated[str, typer.Argument(metavar="SITE", show_default=False, help="A site; https:// may be left out.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="DIR", help="Keep what was fetched in this collection; by default it is deleted."
    ),
]
All = Annotated[bool, typer.Option("--all", help="Show every file and URL, also on a terminal.")]


def map(  # noqa: A001 - the verb
    site: Site,
    out: Out = None,
    all_: All = False,
    sitemap: options.Sitemap = None,
    scope: options.Scope = None,
    include: options.Include = None,
    exclude: options.Exclude = None,
    media: options.Media = None,
    delay: options.Delay = None,
    contact: options.Contact = None,
    config: options.SettingsFile = None,
    resolve: options.Resolve = None,
    allow_private: options.AllowPrivate = None,
    proxy: options.Proxy = None,
    ca_file: options.CaFile = None,
    json: options.Json = False,
) -> None:
    """List every URL a site publishes, with its source and what would refuse it, without fetching pages.

    Example: periplus map docs.example.org
    """
    with map_folder(out) as folder:
        chosen = map_settings(
            folder,
            sitemap=sitemap,
            scope=scope.value if scope else None,
            include=include,
            exclude=exclude,
            media=media,
        )
        asked = {**chosen, **wire_settings(contact, delay, resolve, allow_private, proxy, ca_file)}
        collection = planned(folder, seeds=[site], settings=config, options=asked)
        with held(folder):
            collection.save()
            title = f"periplus map {site}" + (f" -o {out}" if out else "")
            crawled = run(collection, stderr_console(), title=title, view=FILES)
            with unless_closed():
                summary = _say(collection, crawled, is_json=json, is_whole=all_)
    if summary.ended == "interrupted":
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if summary.urls else NOTHING_FETCHED)


def _say(collection: Collection, crawled: Summary, *, is_json: bool, is_whole: bool) -> MapSummary:
    """Print everything on stdout."""
    console = stdout_console()
    scratch = Path(mkdtemp(prefix=_SCRATCH, dir=collection.folder))
    spooled = collection.layout.spooled
    try:
        with states(collection.layout) as opened:
            files, judging, counts = MapFiles(opened.values()), Judging(collection, opened), Counts()
            listed = listed_urls(collection.layout.tables, scratch, judging.names, spooled=spooled)
            judged = _judged(listed, judging, counts)
            most = None if is_whole else SHOWN
            if is_json:
                say_json(judged, files)
            elif console.is_terminal:
                say_files(console, files, most=most)
                say_rows(console, judged, files, most=most)
            else:
                say_lines(judged)
            summary = summary_of_map(
                collection.seeds, crawled.ended, files, counts, judging, fetches=crawled.fetches, size=crawled.bytes
            )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _say_end(summary, console, is_json=is_json)
    return summary


def _judged(listed: Iterator[Listed], judging: Judging, counts: Counts) -> Iterator[tuple[Listed, Verdict]]:
    for each in listed:
        verdict = judging.judge(each)
        counts.add(verdict)
        yield each, verdict


def _say_end(summary: MapSummary, console: Console, *, is_json: bool) -> None:
    """Print the summary: after the rows, or on stderr if the rows are for a program."""
    if is_json:
        sys.stdout.buffer.write(msgspec.json.encode({"summary": summary}) + b"\n")
        sys.stdout.buffer.flush()
        return
    sys.stdout.flush()
    say_summary(console if console.is_terminal else stderr_console(), summary)
