"""`periplus map`: lists every URL a site publishes, its source, what would refuse it, and how long a crawl takes.

A map is a crawl of one site that fetches no pages (`sitemaps.only`): its robots.txt, the sitemaps and feeds named there
or found in the usual places, and the files these name. It is stored in a temporary folder unless `-o` names one; then
every URL goes through the checks of a crawl. Output is aligned on a terminal, one URL a line elsewhere, or JSON.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from heapq import nlargest
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Any

import msgspec
from click.exceptions import Exit
from msgspec import Struct
from rich.console import Console
from rich.text import Text

from periplus.apps.mapping.cost import map_folder, map_settings
from periplus.apps.mapping.listed_urls import FetchVerdict, Judging, MapFile, MapFiles, SiteCost
from periplus.collection.collection import CollectionSetup, held, planned, states
from periplus.collection.summary import Summary
from periplus.insight.listed import ListedUrl, listed_urls
from periplus.insight.reasons import explained
from periplus.model import Url
from periplus.urls import site_of
from periplus.view.terminal import print_line
from periplus.view.wording import count, counted, lasting, one_line, size, top

from . import NOTHING_FETCHED, options
from .app import INTERRUPTED
from .closed_pipe import unless_closed
from .commands import Argument, Option
from .consoles import stderr_console, stdout_console
from .crawl.running import run
from .setting_options import takes_settings, typed_settings
from .survey.output import FILES

SHOWN = 50
"""Files, and URLs, shown on a terminal without `--all`."""
_FORMS = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d"}
_FOUND_BY = {"robots": "robots.txt", "well-known": "usual place", "page": "a page"}
_REASONS = 8
_SITES = 10
"""Sites whose cost is shown one by one."""


class MapUrl(Struct, frozen=True):
    """A URL, as `--json` prints it. `path` are the files from the first to the one that lists it."""

    url: str
    source: str
    found_by: str
    path: list[str]
    files: int
    lastmod: str | None
    changefreq: str | None
    priority: float | None
    refused: str
    rule: str
    size: int | None = None


class MapSummary(Struct, frozen=True):
    """What `--json` prints last, under the key `summary`.

    `seconds`: how long a polite crawl of all that is allowed takes, because of `slowest`, which rests `rest` seconds
    between two visits. `sites` has the most expensive ones with URLs, bytes and seconds; `listed_bytes` is what all
    allowed URLs have together, as far as archives of metadata say (of `sized` URLs). `unasked`: hosts whose robots.txt
    is not known, since they have no files here. `trouble`: why the robots.txt of the site itself was not read.
    """

    seeds: tuple[str, ...]
    ended: str
    trouble: str
    files: int
    files_read: int
    urls: int
    allowed: int
    refused: dict[str, int]
    hosts: int
    unasked: int
    seconds: float
    slowest: str
    rest: float
    fetches: int
    bytes: int
    sized: int = 0
    listed_bytes: int = 0
    sites: tuple[SiteCost, ...] = ()


class Counts:
    """URLs as they pass by."""

    def __init__(self) -> None:
        self.urls = 0
        self.refused: Counter[str] = Counter()

    def add(self, verdict: FetchVerdict) -> None:
        """Count a URL."""
        self.urls += 1
        if verdict.reason:
            self.refused[verdict.reason] += 1


def summary_of_map(
    seeds: tuple[Url, ...], ended: str, files: MapFiles, counts: Counts, judging: Judging, *, fetches: int, size: int
) -> MapSummary:
    """The numbers of a map."""
    pace, costs = judging.pace(), judging.costs()
    return MapSummary(
        seeds=seeds,
        ended=ended,
        trouble=judging.trouble(site_of(seeds[-1])),
        files=len(files),
        files_read=files.read,
        urls=counts.urls,
        allowed=counts.urls - counts.refused.total(),
        refused=dict(counts.refused.most_common()),
        hosts=len(judging.pages),
        unasked=len(judging.unasked),
        seconds=round(pace.seconds, 3),
        slowest=pace.site,
        rest=round(pace.rest, 3),
        fetches=fetches,
        bytes=size,
        sized=sum(cost.sized for cost in costs),
        listed_bytes=sum(cost.bytes for cost in costs),
        sites=tuple(nlargest(_SITES, costs, key=lambda cost: cost.seconds)),
    )


# URLs


def print_json(judged: Iterable[tuple[ListedUrl, FetchVerdict]], files: MapFiles) -> None:
    """A JSON line for each URL."""
    encode = msgspec.json.Encoder().encode
    sitemap, file, way = "", None, [""]
    for listed, verdict in judged:
        if listed.sitemap != sitemap:
            sitemap, file, way = listed.sitemap, files.get(listed.sitemap), files.way(listed.sitemap)
        line = MapUrl(
            listed.url,
            "sitemap" if file is None else file.source,
            "" if file is None else file.found_by,
            way,
            listed.files,
            written(listed) or None,
            listed.changefreq,
            listed.priority,
            verdict.reason,
            verdict.rule,
            listed.size,
        )
        sys.stdout.buffer.write(encode(line) + b"\n")


def print_lines(judged: Iterable[tuple[ListedUrl, FetchVerdict]]) -> None:
    """Print a line for each URL, with tabs between the values: for output that is not a terminal."""
    for listed, verdict in judged:
        priority = "" if listed.priority is None else f"{listed.priority:g}"
        cells = (listed.url, written(listed), priority, _refused(verdict), listed.sitemap, str(listed.files))
        sys.stdout.write("\t".join([one_line(cell) for cell in cells]) + "\n")


def print_rows(
    console: Console, judged: Iterable[tuple[ListedUrl, FetchVerdict]], files: MapFiles, *, most: int | None
) -> None:
    """On a terminal: aligned, the URL at the end of the line; the rest is counted."""
    number = 0
    for listed, verdict in judged:
        if number == 0:
            console.print(Text(f"{'lastmod':10}  {'prio':>4}  {'file':>8}  {'refused by':28}  URL", style="dim"))
        number += 1
        if most is None or number <= most:
            file = files.get(listed.sitemap)
            where = ("" if file is None else str(file.number)) + (f" +{listed.files - 1}" if listed.files > 1 else "")
            priority = "" if listed.priority is None else f"{listed.priority:g}"
            refused = one_line(_refused(verdict))
            refused = refused if len(refused) <= 28 else refused[:27] + "…"
            line = f"{written(listed)[:10]:10}  {priority[:4]:>4}  {where:>8}  {refused:28}  {one_line(listed.url)}"
            print_line(console, line, "yellow" if verdict.reason else "")
    if most is not None and number > most:
        console.print(Text(f"and {number - most:,} more URLs; --all shows them", style="dim"))


def print_files(console: Console, files: MapFiles, *, most: int | None) -> None:
    """The files, by the numbers that the lines of URLs have."""
    console.print(Text(f"{'file':>5}  {'found by':14}  {'kind':13}  {'entries':>9}  where", style="dim"))
    for file in files:
        if most is not None and file.number > most:
            console.print(Text(f"and {len(files) - most:,} more files; --all shows them", style="dim"))
            break
        what, entries = file.trouble or file.kind, f"{file.entries:,}" if file.entries else ""
        line = f"{file.number:>5}  {_found_by(file, files):14}  {what:13}  {entries:>9}  {one_line(file.url)}"
        print_line(console, line, "yellow" if file.trouble else "")


def _found_by(file: MapFile, files: MapFiles) -> str:
    parent = None if file.parent is None else files.get(file.parent)
    return _FOUND_BY.get(file.found_by, file.found_by) if parent is None else f"file {parent.number}"


# all in all


def print_summary(console: Console, summary: MapSummary) -> None:
    """Print how many URLs there are, what would refuse them, and how long the rest would take."""
    if not summary.urls:
        print_line(console, f"the site lists nothing that could be read{_why(summary)}", "bold red")
        return
    lines = [
        (f"{counted(summary.urls, 'URL')} in {counted(summary.files_read, 'file')}, each URL once", "bold"),
        (f"  {count(summary.allowed)} may be fetched, from {count(summary.hosts)} {_hosts(summary.hosts)}", ""),
    ]
    lines += [
        (f"  {count(number)} refused: {reason}" + (f" ({why})" if (why := explained(reason)) else ""), "yellow")
        for reason, number in list(summary.refused.items())[:_REASONS]
    ]
    if len(summary.refused) > _REASONS:
        rest = dict(list(summary.refused.items())[_REASONS:])
        lines.append((f"  others: {top(rest, _REASONS)}", "yellow"))
    if summary.allowed:
        lines.append((f"  a polite crawl of them takes about {lasting(summary.seconds)}: {_because(summary)}", ""))
    if summary.sized:
        lines.append((f"  {sized_words(summary.listed_bytes, summary.sized, summary.allowed)}", ""))
    if summary.hosts > 1:
        lines += [(f"  {line}", "") for line in cost_lines(summary.sites)]
    if summary.unasked:
        whose = f"{count(summary.unasked)} {_hosts(summary.unasked)}"
        lines.append((f"  robots.txt of {whose} was not asked for: no file lies there", "dim"))
    lines.append((f"  {counted(summary.fetches, 'request')}, {size(summary.bytes)}; no page was fetched", "dim"))
    for line, style in lines:
        print_line(console, line, style)


def sized_words(total: int, sized: int, urls: int) -> str:
    """How many bytes URLs have, and of how many of them that is known."""
    some = "" if sized == urls else f", those of {count(sized)} of {count(urls)} URLs"
    return f"they have {size(total)}{some} (by archives of metadata)"


def cost_lines(sites: Sequence[SiteCost]) -> list[str]:
    """Number, bytes and time of each site."""
    return [
        f"{cost.site}: {counted(cost.urls, 'URL')}, {size(cost.bytes) if cost.sized else 'size not known'}, "
        f"{lasting(cost.seconds)}"
        for cost in sites
    ]


def _why(summary: MapSummary) -> str:
    if not summary.trouble:
        return ""
    why = explained(summary.trouble)
    return f"; robots.txt: {summary.trouble}" + (f" ({why})" if why else "")


def _hosts(number: int) -> str:
    return "host" if number == 1 else "hosts"


def _because(summary: MapSummary) -> str:
    return f"{summary.slowest} is left alone for {summary.rest:g} s between two requests"


def written(listed: ListedUrl) -> str:
    """When a URL was last changed, as finely as that was written."""
    return "" if listed.lastmod is None else _date(listed.lastmod, listed.granularity or "")


@lru_cache(maxsize=4096)
def _date(at: float, granularity: str) -> str:
    """Dates repeat from URL to URL."""
    return datetime.fromtimestamp(at, UTC).strftime(_FORMS.get(granularity, "%Y-%m-%dT%H:%M:%SZ"))


def _refused(verdict: FetchVerdict) -> str:
    return f"{verdict.reason} {verdict.rule}".strip()


_SCRATCH = "map.scratch"

Site = Annotated[str, Argument(metavar="SITE", help="A site; https:// may be left out.")]
Out = Annotated[
    Path | None,
    Option("--out", "-o", metavar="DIR", help="Keep what was fetched in this collection; by default it is deleted."),
]
All = Annotated[bool, Option("--all", help="Show every file and URL, also on a terminal.")]


@takes_settings("map")
def map(  # noqa: A001 - the verb
    site: Site,
    out: Out = None,
    all_: All = False,
    *,
    config: options.SettingsFile = None,
    json: options.Json = False,
    **given: Any,
) -> None:
    """List every URL a site publishes, with its source and what would refuse it, without fetching pages.

    Example: periplus map docs.example.org
    """
    with map_folder(out) as folder:
        asked = map_settings(folder, typed_settings("map", given))
        collection = planned(folder, typed=[site], settings=config, options=asked)
        with held(folder):
            collection.save()
            title = f"periplus map {site}" + (f" -o {out}" if out else "")
            crawled = run(collection, stderr_console(), title=title, view=FILES)
            with unless_closed():
                summary = _print(collection, crawled, is_json=json, is_whole=all_)
    if summary.ended == "interrupted":
        raise Exit(INTERRUPTED)
    raise Exit(0 if summary.urls else NOTHING_FETCHED)


def _print(collection: CollectionSetup, crawled: Summary, *, is_json: bool, is_whole: bool) -> MapSummary:
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
                print_json(judged, files)
            elif console.is_terminal:
                print_files(console, files, most=most)
                print_rows(console, judged, files, most=most)
            else:
                print_lines(judged)
            summary = summary_of_map(
                collection.seeds, crawled.ended, files, counts, judging, fetches=crawled.fetches, size=crawled.bytes
            )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _print_end(summary, console, is_json=is_json)
    return summary


def _judged(listed: Iterator[ListedUrl], judging: Judging, counts: Counts) -> Iterator[tuple[ListedUrl, FetchVerdict]]:
    for each in listed:
        verdict = judging.judge(each)
        counts.add(verdict)
        yield each, verdict


def _print_end(summary: MapSummary, console: Console, *, is_json: bool) -> None:
    """Print the summary: after the rows, or on stderr if the rows are for a program."""
    if is_json:
        sys.stdout.buffer.write(msgspec.json.encode({"summary": summary}) + b"\n")
        sys.stdout.buffer.flush()
        return
    sys.stdout.flush()
    print_summary(console if console.is_terminal else stderr_console(), summary)
