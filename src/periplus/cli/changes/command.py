"""`periplus changes`: what appeared, changed and vanished in a collection, for people, programs and readers of feeds.

The work is done by `insight.changes`; `changes_show` says it on a terminal, `changes_lines` as JSON, `changes_feed` as
Atom. With a URL it shows one page: all visits to it, and what differs between two of its versions.
"""

from __future__ import annotations

import heapq
import shlex
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from periplus.assembly.collection import Collection, existing
from periplus.assembly.options import moment_of
from periplus.insight.changes import Beginning, Change, Detail, Kind, changes_since, detail_of, usual_beginning
from periplus.model import UsageError

from .. import options
from ..closed_pipe import unless_closed
from ..consoles import stderr_console, stdout_console
from .feed import write_feed
from .json_lines import say_json
from .page import say_page
from .request import Asked, nothing_of, share_of
from .terminal import say_changes, say_first, say_since

SHOWN = 50
"""Changes shown on a terminal without `--limit`."""
FED = 500
"""Entries of a feed."""
_WHICH = "Which changes"
_HOW = "Output"

Page = Annotated[
    str | None,
    typer.Argument(metavar="[URL]", show_default=False, help="Show only this page: its versions, and a diff."),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        rich_help_panel=_WHICH,
        help="2026-11-14, 2026-11-14T10:30Z, or how long ago: 2d, 1h. By default the last run that found something.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until", metavar="TIME", rich_help_panel=_WHICH, help="Until when, written likewise; by default now."
    ),
]
Sites = Annotated[
    list[str] | None,
    typer.Option(
        "--site", metavar="SITE", rich_help_panel=_WHICH, help="Only this host and its subdomains. May be repeated."
    ),
]
Paths = Annotated[
    list[str] | None,
    typer.Option(
        "--path",
        metavar="PATTERN",
        rich_help_panel=_WHICH,
        help="Only URLs like /docs/*, */docs/* or re:REGEX. May be repeated.",
    ),
]
Kinds = Annotated[
    list[Kind] | None, typer.Option("--kind", rich_help_panel=_WHICH, help="Only this kind. May be repeated.")
]
Least = Annotated[
    str | None,
    typer.Option(
        "--least",
        metavar="SHARE",
        rich_help_panel=_WHICH,
        help="Only pages of which at least this share of the text changed: 5%.",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        rich_help_panel=_WHICH,
        help="Maximum number, newest first; by default 50, in a feed 500.",
    ),
]
Diff = Annotated[
    bool, typer.Option("--diff/--no-diff", rich_help_panel=_HOW, help="Show what differs; --no-diff is faster.")
]
Atom = Annotated[
    str | None,
    typer.Option("--atom", metavar="FILE", rich_help_panel=_HOW, help="Write an Atom feed; - is standard output."),
]

Told = tuple[Change, Detail | None]


class Counts:
    """Changes as they pass by: how many of each kind, and of each site."""

    def __init__(self) -> None:
        self.kinds: Counter[Kind] = Counter()
        self.sites: Counter[str] = Counter()

    def passing(self, told: Iterable[Told]) -> Iterator[Told]:
        """The same, counted."""
        for change, detail in told:
            self.kinds[change.kind] += 1
            self.sites[change.site] += 1
            yield change, detail


def changes(
    collection: options.Collected,
    url: Page = None,
    since: Since = None,
    until: Until = None,
    site: Sites = None,
    path: Paths = None,
    kind: Kinds = None,
    least: Least = None,
    limit: Limit = None,
    diff: Diff = True,
    json: options.Json = False,
    atom: Atom = None,
) -> None:
    """Show what appeared, changed and vanished, with diffs. Works while a crawl runs.

    Example: periplus changes docs --since 2d --path '/docs/*'
    """
    found = existing(collection)
    now = time.time()
    if json and atom is not None:
        raise UsageError("--json and --atom exclude each other", hint="use one of them")
    if url is not None:
        if site or path or kind or least or atom is not None:
            raise UsageError(
                "these options do not apply to a single page",
                hint="leave out --site, --path, --kind, --least and --atom",
            )
        with unless_closed():
            say_page(found, url, moment_of(since, now), moment_of(until, now), limit=limit, is_json=json, is_diff=diff)
        return
    begin = _beginning(found, since, now)
    asked = Asked(
        begin.at,
        moment_of(until, now),
        tuple(site or ()),
        tuple(path or ()),
        tuple(kind or Kind),
        share_of(least),
        diff,
    )
    say_since(stderr_console(), begin.at, begin.why)
    with unless_closed():
        _say(found, asked, now, limit=limit, is_json=json, atom=atom, begin=begin)


def _beginning(found: Collection, since: str | None, now: float) -> Beginning:
    """Return since when to show changes, and why if it was not given."""
    begin = moment_of(since, now)
    if begin is not None:
        return Beginning(begin, "")
    return usual_beginning(found.folder, now, spooled=found.layout.spooled)


def _say(
    found: Collection,
    asked: Asked,
    now: float,
    *,
    limit: int | None,
    is_json: bool,
    atom: str | None,
    begin: Beginning,
) -> None:
    counts = Counts()
    if is_json:
        say_json(_told(found, asked, limit, counts))
    elif atom is not None:
        newest = reversed(list(_told(found, asked, limit or FED, counts)))
        write_feed(newest, found, atom, updated_at=now if asked.until is None else min(asked.until, now), asked=asked)
    else:
        shown = list(_told(found, asked, limit or SHOWN, counts))
        if begin.why == "first-run" and counts.kinds.keys() == {Kind.APPEARED}:
            folder, pages = shlex.quote(str(found.folder)), counts.kinds[Kind.APPEARED]
            say_first(stdout_console(), pages, len(counts.sites), folder, begin.asked_at)
            return
        say_changes(
            stdout_console(), shown, counts.kinds, counts.sites, nothing=nothing_of(asked), is_diff=asked.is_detailed
        )


def _told(found: Collection, asked: Asked, limit: int | None, counts: Counts) -> Iterator[Told]:
    """What was asked for; with a limit the newest, in the order of time.

    Texts are compared only where that is needed: of all to know which are large enough, else of those that are shown.
    """
    stream = changes_since(
        found.folder,
        asked.since,
        asked.until,
        sites=asked.sites,
        paths=asked.paths,
        kinds=asked.kinds,
        spooled=found.layout.spooled,
    )
    told = counts.passing(_large(found.folder, stream, asked.least))
    if limit is not None:
        newest = heapq.nlargest(limit, told, key=lambda each: (each[0].seen_at, each[0].url))
        told = reversed(newest)
    for change, detail in told:
        yield change, detail or (detail_of(found.folder, change) if asked.is_detailed else None)


def _large(folder: Path, stream: Iterable[Change], least: float) -> Iterator[Told]:
    """Keep pages that appeared or vanished, and those of which at least a share of the text changed."""
    for change in stream:
        if not least or change.kind is not Kind.CHANGED:
            yield change, None
            continue
        detail = detail_of(folder, change)
        if detail.size is None or detail.size >= least:
            yield change, detail
