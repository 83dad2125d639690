"""Writes changes for programs: as JSON lines, and as an Atom feed (RFC 4287) with differences in `<ins>` and `<del>`.

Identifiers in the feed are derived from the content of an entry, so that the same change has the same identifier
whenever the feed is written, and feed readers show it once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec import Struct

from periplus import __version__
from periplus.apps.changes import Change, ChangeKind, Detail, Passage, RunStatus, Version
from periplus.formats import feed
from periplus.model import Granularity, Lastmod, UsageError
from periplus.store.durable import write_file

from .terminal import about, counted_links, percent, why_vanished

if TYPE_CHECKING:
    from periplus.collection.collection import CollectionSetup


class VersionPlace(Struct, frozen=True):
    """When a version was fetched, and where its bytes lie in `warc/`."""

    at: str
    file: str | None = None
    offset: int | None = None


class ChangeLine(Struct, frozen=True):
    """One change, as `--json` prints it. `docs/commands.md` describes every key."""

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


def print_json(changes: Iterable[tuple[Change, Detail | None]]) -> None:
    """A JSON line for each."""
    encode = msgspec.json.Encoder().encode
    for change, detail in changes:
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


class Asked(Struct, frozen=True):
    """Which changes, and whether to show what each is about."""

    since: float
    until: float | None
    sites: tuple[str, ...]
    paths: tuple[str, ...]
    kinds: tuple[ChangeKind, ...]
    least: float
    is_detailed: bool


def share_of(text: str | None) -> float:
    """`5%` or `0.05`."""
    if text is None:
        return 0.0
    try:
        share = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"{text!r} is not a share", hint="write 5% or 0.05")
    return share


def nothing_of(asked: Asked) -> str:
    """The message if nothing was found."""
    said = ChangeKind.ELSEWHERE if ChangeKind.CHANGED in asked.kinds else None
    words = [kind.value for kind in ChangeKind if kind in asked.kinds and kind is not said]
    listed = " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    is_part = asked.sites or asked.paths or asked.least
    return f"nothing {listed}" + (", of what was asked for" if is_part else "")


_MOST_PASSAGES: Final = 100
_TAGS: Final = {RunStatus.KEPT: ("", ""), RunStatus.REMOVED: ("<del>", "</del>"), RunStatus.ADDED: ("<ins>", "</ins>")}


def write_feed(
    changes: Iterable[tuple[Change, Detail | None]],
    collection: CollectionSetup,
    where: str,
    *,
    updated_at: float,
    asked: Asked,
) -> None:
    """Write the feed to a file, under its name only when it is whole; `-` is standard output."""
    body = feed.write(feed_of(changes, collection, updated_at, asked))
    if where == "-":
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return
    path = Path(where)
    try:
        write_file(path, body)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="give a file in a folder that is there") from error


def feed_of(
    changes: Iterable[tuple[Change, Detail | None]], collection: CollectionSetup, updated_at: float, asked: Asked
) -> feed.FeedDocument:
    """The feed as a value. The same query of the same collection gives the same feed, at another time."""
    which = [*asked.sites, *asked.paths, *(kind.value for kind in asked.kinds if set(asked.kinds) != set(ChangeKind))]
    name = collection.folder.resolve().name
    return feed.FeedDocument(
        feed.FeedKind.ATOM,
        link=collection.seeds[0] if collection.seeds else "",
        title=f"Changes in {name}" + (f": {', '.join(which)}" if which else ""),
        updated=Lastmod(updated_at, Granularity.SECOND),
        items=tuple(_item(change, detail) for change, detail in changes),
        id=_urn("feed", *collection.seeds[:100], *which, f"{asked.least:g}"),
        author=f"Periplus {__version__}",
    )


def _item(change: Change, detail: Detail | None) -> feed.Item:
    known = detail or Detail()
    return feed.Item(
        change.url,
        _urn(change.url, change.kind.value, iso(change.seen_at)),
        f"{change.kind.value}: {known.title or change.url}",
        updated=Lastmod(change.seen_at, Granularity.SECOND),
        summary=_summary(change, known),
        content="".join(_content(change, known)),
    )


def _summary(change: Change, detail: Detail) -> str:
    if change.kind is ChangeKind.APPEARED:
        return detail.excerpt or about(change, detail)
    return about(change, detail)


def _content(change: Change, detail: Detail) -> Iterator[str]:
    yield f'<p><a href="{escape(change.url)}">{escape(change.url)}</a></p>'
    if change.kind is ChangeKind.VANISHED:
        yield f"<p>{escape(why_vanished(change))}</p>"
    if detail.excerpt:
        yield f"<p>{escape(detail.excerpt)}</p>"
    if detail.title_before:
        yield f"<p>title: <del>{escape(detail.title_before)}</del> <ins>{escape(detail.title)}</ins></p>"
    if links := counted_links(detail):
        yield f"<p>{escape(links)}</p>"
    difference = detail.difference
    if difference is None:
        return
    yield f"<p>{percent(difference.size)} of the words differ</p>" if difference.size else ""
    for passage in difference.passages[:_MOST_PASSAGES]:
        yield _html(passage)
    if len(difference.passages) > _MOST_PASSAGES or difference.is_cut:
        yield "<p>and more</p>"


def _html(passage: Passage) -> str:
    words = "".join(f"{_TAGS[run.mark][0]}{escape(run.text)}{_TAGS[run.mark][1]}" for run in passage.runs)
    return f"<p>{words}</p>" if passage.follows else f"<p>[…]</p><p>{words}</p>"


def _urn(*parts: str) -> str:
    return uuid5(NAMESPACE_URL, "periplus changes\n" + "\n".join(parts)).urn
