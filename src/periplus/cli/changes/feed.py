"""Changes as an Atom feed (RFC 4287): an entry for each, with what differs as HTML in `<ins>` and `<del>`.

Identifiers are made from what an entry tells, so that the same change has the same one whenever the feed is written,
and a reader shows it once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from periplus import __version__
from periplus.assembly.collection import Collection
from periplus.formats import feed
from periplus.insight.changes import Change, Detail, Kind, Mark, Passage
from periplus.model import Granularity, Lastmod, UsageError

from .json_lines import iso
from .request import Asked
from .terminal import about, counted_links, percent, why_vanished

_MOST_PASSAGES: Final = 100
_TAGS: Final = {Mark.KEPT: ("", ""), Mark.REMOVED: ("<del>", "</del>"), Mark.ADDED: ("<ins>", "</ins>")}


def write_feed(
    told: Iterable[tuple[Change, Detail | None]], collection: Collection, where: str, *, updated_at: float, asked: Asked
) -> None:
    """Write the feed to a file, under its name only when it is whole; `-` is standard output."""
    body = feed.write(feed_of(told, collection, updated_at, asked))
    if where == "-":
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return
    path = Path(where)
    draft = path.with_name(path.name + ".part")
    try:
        draft.write_bytes(body)
        draft.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="give a file in a folder that is there") from error
    finally:
        draft.unlink(missing_ok=True)


def feed_of(
    told: Iterable[tuple[Change, Detail | None]], collection: Collection, updated_at: float, asked: Asked
) -> feed.Feed:
    """The feed as a value. Who asks for the same of the same collection gets the same feed, at another time."""
    which = [*asked.sites, *asked.paths, *(kind.value for kind in asked.kinds if set(asked.kinds) != set(Kind))]
    name = collection.folder.resolve().name
    return feed.Feed(
        feed.Kind.ATOM,
        link=collection.seeds[0] if collection.seeds else "",
        title=f"Changes in {name}" + (f": {', '.join(which)}" if which else ""),
        updated=Lastmod(updated_at, Granularity.SECOND),
        items=tuple(_item(change, detail) for change, detail in told),
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
    if change.kind is Kind.APPEARED:
        return detail.excerpt or about(change, detail)
    return about(change, detail)


def _content(change: Change, detail: Detail) -> Iterator[str]:
    yield f'<p><a href="{escape(change.url)}">{escape(change.url)}</a></p>'
    if change.kind is Kind.VANISHED:
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
