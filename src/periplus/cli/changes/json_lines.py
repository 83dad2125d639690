"""Changes as JSON lines, for programs. `docs/commands.md` describes every key."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from periplus.insight.changes import Change, Detail, Passage, Version


class VersionPlace(Struct, frozen=True):
    """When a version was fetched, and where its bytes lie in `warc/`."""

    at: str
    file: str | None = None
    offset: int | None = None


class ChangeLine(Struct, frozen=True):
    """One change, as `--json` prints it."""

    url: str
    site: str
    kind: str
    seen_at: str
    level: str | None
    size: float | None
    removed: int | None
    added: int | None
    title: str | None
    title_before: str | None
    canonical: str | None
    canonical_before: str | None
    excerpt: str | None
    links_added: int | None
    links_removed: int | None
    is_back: bool
    reason: str | None
    target: str | None
    before: VersionPlace | None
    after: VersionPlace | None
    diff: tuple[Passage, ...] | None
    problem: str | None


def say_json(told: Iterable[tuple[Change, Detail | None]]) -> None:
    """A JSON line for each."""
    encode = msgspec.json.Encoder().encode
    for change, detail in told:
        sys.stdout.buffer.write(encode(line_of(change, detail)) + b"\n")
    sys.stdout.buffer.flush()


def line_of(change: Change, detail: Detail | None) -> ChangeLine:
    """The line of a change; what it is about, if that was looked at."""
    known = detail or Detail()
    difference = known.difference
    return ChangeLine(
        url=change.url,
        site=change.site,
        kind=change.kind.value,
        seen_at=iso(change.seen_at),
        level=change.level or None,
        size=None if difference is None else round(difference.size, 4),
        removed=None if difference is None else difference.removed,
        added=None if difference is None else difference.added,
        title=known.title or None,
        title_before=known.title_before or None,
        canonical=known.canonical or None,
        canonical_before=known.canonical_before or None,
        excerpt=known.excerpt or None,
        links_added=None if difference is None else known.links.added,
        links_removed=None if difference is None else known.links.removed,
        is_back=change.is_back,
        reason=change.reason or None,
        target=change.target or None,
        before=place_of(change.before),
        after=place_of(change.after),
        diff=None if difference is None else difference.passages,
        problem=known.problem or None,
    )


def place_of(version: Version | None) -> VersionPlace | None:
    """When and where."""
    if version is None:
        return None
    body = version.body
    return VersionPlace(iso(version.at)) if body is None else VersionPlace(iso(version.at), body.file, body.offset)


def iso(at: float) -> str:
    """A time in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
