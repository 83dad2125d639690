"""`periplus changes`: what appeared, changed and vanished in a collection, for people, programs and readers of feeds.

The work is done by `apps.changes`. With a URL it shows one page: all visits to it, and what differs between two of
its versions.
"""

from __future__ import annotations

import heapq
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.text import Text

from periplus.apps.changes import (
    Beginning,
    Change,
    ChangeKind,
    Detail,
    PageVisit,
    Passage,
    Version,
    changes_since,
    compare,
    detail_of,
    usual_beginning,
    version_at,
    versions,
)
from periplus.collection.readable import layout_of
from periplus.collection.typed_values import moment_of
from periplus.model import Url, UsageError
from periplus.store.layout import Layout
from periplus.view.terminal import print_line
from periplus.view.wording import moment, one_line

from .. import options
from ..closed_pipe import unless_closed
from ..commands import Argument, Option
from ..consoles import stderr_console, stdout_console
from .output import Asked, VersionPlace, iso, nothing_of, place_of, print_json, share_of, write_feed
from .terminal import counted_links, percent, print_changes, print_difference, print_first, print_since

_SHOWN: Final = 20
_PROBLEM: Final = "the versions cannot be compared"


class VisitLine(Struct, frozen=True):
    """A visit, as `--json` prints it. `version` is what the page was then; null: it was not there."""

    at: str
    outcome: str
    status: int | None
    reason: str | None
    target: str | None
    digest: str | None
    version: VersionPlace | None


class PageLine(Struct, frozen=True):
    """A page, as `--json` prints it; the other keys are those of a change."""

    url: str
    visits: list[VisitLine]
    before: VersionPlace | None = None
    after: VersionPlace | None = None
    size: float | None = None
    title: str | None = None
    title_before: str | None = None
    links_added: tuple[Url, ...] = ()
    links_removed: tuple[Url, ...] = ()
    diff: tuple[Passage, ...] | None = None
    problem: str | None = None


def print_page(
    layout: Layout,
    text: str,
    since: float | None,
    until: float | None,
    *,
    limit: int | None,
    is_json: bool,
    is_diff: bool,
) -> None:
    """All visits, and the difference between the versions of two times; by default between the last two."""
    from periplus.collection.seeds import possible_urls  # only one page needs it

    of_forms = [(url, versions(layout.folder, url, spooled=layout.spooled)) for url in possible_urls(text)]
    known = [(url, visits) for url, visits in of_forms if visits]
    if not known:
        hint = f"periplus info {layout.folder} {text} says what is known of it"
        raise UsageError(f"{layout.folder} has no version of {text}", hint=hint)
    url, visits = known[0]
    before, after = _pair(visits, since, until)
    has_both = before is not None and after is not None
    detail = compare(layout.folder, url, before, after) if is_diff and has_both else None
    if is_json:
        line = _line(url, visits[-limit:] if limit else visits, before, after, detail)
        sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
        sys.stdout.buffer.flush()
    else:
        console = stdout_console()
        _print_visits(console, url, visits, limit or _SHOWN)
        if before is not None and after is not None and detail is not None:
            _print_difference(console, before, after, detail)
        elif is_diff:
            console.print(Text("there are no two versions to compare", style="dim"))


def _pair(
    visits: Sequence[PageVisit], since: float | None, until: float | None
) -> tuple[Version | None, Version | None]:
    """The versions of two times; where none is given, the last two that differ in their bytes.

    A page that was first seen after `since` is compared with its first version.
    """
    known = [visit for visit in visits if visit.version is not None and (until is None or visit.at <= until)]
    if not known:
        return None, None
    after = known[-1]
    if since is not None:
        first = known[0].version if known[0] is not after else None
        return version_at(visits, since) or first, after.version
    others = [visit.version for visit in known if visit.digest != after.digest]
    return (others[-1] if others else None), after.version


def _line(
    url: Url, visits: Sequence[PageVisit], before: Version | None, after: Version | None, detail: Detail | None
) -> PageLine:
    known = detail or Detail()
    difference = known.difference
    return PageLine(
        url=url,
        visits=[
            VisitLine(
                iso(visit.at), visit.outcome, visit.status, visit.reason or None, visit.target or None,
                visit.digest or None, place_of(visit.version),
            )
            for visit in visits
        ],
        before=place_of(before),
        after=place_of(after),
        size=None if difference is None else round(difference.size, 4),
        title=known.title or None,
        title_before=known.title_before or None,
        links_added=known.links.new,
        links_removed=known.links.gone,
        diff=None if difference is None else difference.passages,
        problem=known.problem or None,
    )  # fmt: skip


def _print_visits(console: Console, url: Url, visits: Sequence[PageVisit], most: int) -> None:
    print_line(console, one_line(url), "bold")
    if len(visits) > most:
        console.print(Text(f"  the last {most} of {len(visits):,} visits", style="dim"))
    digest = ""
    for visit in visits[-most:]:
        console.print(_visit_line(visit, is_other=bool(visit.digest) and visit.digest != digest), soft_wrap=True)
        digest = visit.digest or digest


def _print_difference(console: Console, before: Version, after: Version, detail: Detail) -> None:
    console.print(Text(f"from {moment(before.at)} to {moment(after.at)}: {_summary(detail)}", style="bold"))
    if detail.title_before:
        print_line(console, f"    title: {one_line(detail.title_before)} -> {one_line(detail.title)}")
    if detail.difference is not None:
        print_difference(console, detail.difference, most=None)


def _visit_line(visit: PageVisit, *, is_other: bool) -> Text:
    status = "" if visit.status is None else str(visit.status)
    what = visit.reason or (f"leads to {visit.target}" if visit.target else visit.outcome)
    line = Text(f"  {moment(visit.at)}  {status:3}  {one_line(what)}")
    if visit.digest:
        line.append(f"  {visit.digest.removeprefix('sha1:')[:12]}", style="yellow" if is_other else "dim")
    body = None if visit.version is None else visit.version.body
    if body is not None:
        line.append(f"  {body.file}:{body.offset}", style="dim")
    return line


def _summary(detail: Detail) -> str:
    if detail.problem:
        return f"{_PROBLEM}: {detail.problem}"
    size = detail.size or 0.0
    links = counted_links(detail)
    return (f"{percent(size)} of the text differs" if size else "the text is the same") + (
        f", {links}" if links else ""
    )


SHOWN = 20
"""Changes shown on a terminal without `--limit`."""
FED = 500
"""Entries of a feed."""
_WHICH = "Which changes"
_HOW = "Output"

Page = Annotated[
    str | None,
    Argument(metavar="URL", help="Show only this page: its versions, and a diff."),
]
Since = Annotated[
    str | None,
    Option(
        "--since",
        metavar="TIME",
        panel=_WHICH,
        help="2026-11-14, 2026-11-14T10:30Z, or how long ago: 2d, 1h. By default the last run that found something.",
    ),
]
Until = Annotated[
    str | None,
    Option("--until", metavar="TIME", panel=_WHICH, help="Until when, written likewise; by default now."),
]
Sites = Annotated[
    list[str] | None,
    Option("--site", metavar="SITE", panel=_WHICH, help="Only this host and its subdomains. May be repeated."),
]
Paths = Annotated[
    list[str] | None,
    Option(
        "--path",
        metavar="PATTERN",
        panel=_WHICH,
        help="Only URLs like /docs/*, */docs/* or re:REGEX. May be repeated.",
    ),
]
Kinds = Annotated[
    list[ChangeKind] | None,
    Option(
        "--kind",
        metavar="KIND",
        panel=_WHICH,
        help="Only appeared, changed, vanished, or elsewhere: outside of the main text. May be repeated.",
    ),
]
Least = Annotated[
    str | None,
    Option(
        "--least",
        metavar="SHARE",
        panel=_WHICH,
        help="Only pages of which at least this share of the text changed: 5%.",
    ),
]
Limit = Annotated[
    int | None,
    Option(
        "--limit",
        metavar="N",
        min=1,
        panel=_WHICH,
        help="Maximum number, newest first; by default 20, in a feed 500.",
    ),
]
Diff = Annotated[bool, Option("--diff/--no-diff", panel=_HOW, help="Show what differs; --no-diff is faster.")]
Atom = Annotated[
    str | None,
    Option("--atom", metavar="FILE", panel=_HOW, help="Write an Atom feed; - is standard output."),
]

ChangeWithDetail = tuple[Change, Detail | None]


class Counts:
    """Changes as they pass by: how many of each kind, and of each site."""

    def __init__(self) -> None:
        self.kinds: Counter[ChangeKind] = Counter()
        self.sites: Counter[str] = Counter()

    def passing(self, changes: Iterable[ChangeWithDetail]) -> Iterator[ChangeWithDetail]:
        """The same, counted."""
        for change, detail in changes:
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
    layout = layout_of(collection)
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
            print_page(
                layout, url, moment_of(since, now), moment_of(until, now), limit=limit, is_json=json, is_diff=diff
            )
        return
    begin = _beginning(layout, since, now)
    asked = Asked(
        begin.at,
        moment_of(until, now),
        tuple(site or ()),
        tuple(path or ()),
        tuple(kind or ChangeKind),
        share_of(least),
        diff,
    )
    print_since(stderr_console(), begin.at, begin.why)
    with unless_closed():
        _print(layout, asked, now, limit=limit, is_json=json, atom=atom, begin=begin)


def _beginning(layout: Layout, since: str | None, now: float) -> Beginning:
    """Return since when to show changes, and why if it was not given."""
    begin = moment_of(since, now)
    if begin is not None:
        return Beginning(begin, "")
    return usual_beginning(layout.folder, now, spooled=layout.spooled)


def _print(
    layout: Layout,
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
        print_json(_changes(layout, asked, limit, counts))
    elif atom is not None:
        from periplus.collection.collection import existing  # its settings, for the seeds

        newest = reversed(list(_changes(layout, asked, limit or FED, counts)))
        write_feed(
            newest,
            existing(layout.folder),
            atom,
            updated_at=now if asked.until is None else min(asked.until, now),
            asked=asked,
        )
    else:
        found = list(_found(layout, asked, limit or SHOWN, counts))
        if begin.why == "first-run" and counts.kinds.keys() == {ChangeKind.APPEARED}:
            folder, pages = shlex.quote(str(layout.folder)), counts.kinds[ChangeKind.APPEARED]
            print_first(stdout_console(), pages, len(counts.sites), folder, begin.asked_at)
            return
        shown = list(_detailed(layout, asked, found))
        print_changes(
            stdout_console(), shown, counts.kinds, counts.sites, nothing=nothing_of(asked), is_diff=asked.is_detailed
        )


def _changes(layout: Layout, asked: Asked, limit: int | None, counts: Counts) -> Iterator[ChangeWithDetail]:
    """The changes that were asked for; with a limit the newest, in the order of time."""
    return _detailed(layout, asked, _found(layout, asked, limit, counts))


def _detailed(layout: Layout, asked: Asked, changes: Iterable[ChangeWithDetail]) -> Iterator[ChangeWithDetail]:
    for change, detail in changes:
        yield change, detail or (detail_of(layout.folder, change) if asked.is_detailed else None)


def _found(layout: Layout, asked: Asked, limit: int | None, counts: Counts) -> Iterable[ChangeWithDetail]:
    """The changes; their texts are compared here only to know which are large enough."""
    stream = changes_since(
        layout.folder,
        asked.since,
        asked.until,
        sites=asked.sites,
        paths=asked.paths,
        kinds=asked.kinds,
        spooled=layout.spooled,
    )
    changes = counts.passing(_large(layout.folder, stream, asked.least))
    if limit is None:
        return changes
    return reversed(heapq.nlargest(limit, changes, key=lambda each: (each[0].seen_at, each[0].url)))


def _large(folder: Path, stream: Iterable[Change], least: float) -> Iterator[ChangeWithDetail]:
    """Keep pages that appeared or vanished, and those of which at least a share of the text changed."""
    for change in stream:
        if not least or change.kind not in (ChangeKind.CHANGED, ChangeKind.ELSEWHERE):
            yield change, None
            continue
        detail = detail_of(folder, change)
        if detail.size is None or detail.size >= least:
            yield change, detail
