"""`periplus changes DIR URL`: all visits to one page, and what differs between two of its versions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.text import Text

from periplus.assembly.collection import Collection
from periplus.insight.changes import Detail, PageVisit, Passage, Version, compare, version_at, versions
from periplus.model import Url, UsageError
from periplus.urls import canonical

from ..consoles import stdout_console
from .json_lines import VersionPlace, iso, place_of
from .terminal import clean, counted_links, moment, percent, say_difference

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


def say_page(
    collection: Collection,
    text: str,
    since: float | None,
    until: float | None,
    *,
    limit: int | None,
    is_json: bool,
    is_diff: bool,
) -> None:
    """All visits, and the difference between the versions of two times; by default between the last two."""
    url = canonical(text if "://" in text else f"https://{text}")
    visits = versions(collection.folder, url, spooled=collection.layout.spooled) if url is not None else []
    if url is None or not visits:
        hint = f"periplus info {collection.folder} {text} says what is known of it"
        raise UsageError(f"{collection.folder} has no version of {text}", hint=hint)
    before, after = _pair(visits, since, until)
    has_both = before is not None and after is not None
    detail = compare(collection.folder, url, before, after) if is_diff and has_both else None
    if is_json:
        line = _line(url, visits[-limit:] if limit else visits, before, after, detail)
        sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
        sys.stdout.buffer.flush()
    else:
        console = stdout_console()
        _say_visits(console, url, visits, limit or _SHOWN)
        if before is not None and after is not None and detail is not None:
            _say_difference(console, before, after, detail)
        elif is_diff:
            console.print(Text("there are no two versions to compare", style="dim"))


def _pair(
    visits: Sequence[PageVisit], since: float | None, until: float | None
) -> tuple[Version | None, Version | None]:
    """The versions of two times; where none is given, the last two that differ in their bytes."""
    known = [visit for visit in visits if visit.version is not None and (until is None or visit.at <= until)]
    if not known:
        return None, None
    after = known[-1]
    if since is not None:
        return version_at(visits, since), after.version
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


def _say_visits(console: Console, url: Url, visits: Sequence[PageVisit], most: int) -> None:
    console.print(Text(clean(url), style="bold"), soft_wrap=True)
    if len(visits) > most:
        console.print(Text(f"  the last {most} of {len(visits):,} visits", style="dim"))
    digest = ""
    for visit in visits[-most:]:
        console.print(_visit_line(visit, is_other=bool(visit.digest) and visit.digest != digest), soft_wrap=True)
        digest = visit.digest or digest


def _say_difference(console: Console, before: Version, after: Version, detail: Detail) -> None:
    console.print(Text(f"from {moment(before.at)} to {moment(after.at)}: {_summary(detail)}", style="bold"))
    if detail.title_before:
        console.print(Text(f"    title: {clean(detail.title_before)} -> {clean(detail.title)}"), soft_wrap=True)
    if detail.difference is not None:
        say_difference(console, detail.difference, most=None)


def _visit_line(visit: PageVisit, *, is_other: bool) -> Text:
    status = "" if visit.status is None else str(visit.status)
    what = visit.reason or (f"leads to {visit.target}" if visit.target else visit.outcome)
    line = Text(f"  {moment(visit.at)}  {status:3}  {clean(what)}")
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
