"""Exports of what changed: since a time, or since the last export of the same name.

Such a series of exports has a mark in the collection: the format and the selection, and how far each shard had
committed. A visit that was committed later counts as new, however long ago it was made, so an export beside a running
crawl misses nothing; what two shards did at the same time may be exported twice. The mark is written after the export
is complete: one that was killed is repeated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import pyarrow.compute as pc
from msgspec import Struct

from periplus.apps.changes import ChangeKind, changes_since
from periplus.model import CollectionDamaged, UsageError
from periplus.store.durable import write_file
from periplus.store.export import ChangedPages, Selection
from periplus.store.export.captures import TABLE, Positions, ends, valid_positions
from periplus.store.layout import Layout
from periplus.store.tables import Spooled
from periplus.store.tables.tail import Position, Tail

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_COMMITTED_WITHIN: Final = 600.0
"""Seconds between a visit and its commit, at most: for shards that are not there any more."""


class ExportMark(Struct, frozen=True):
    """How far a series of exports has come. `at` is when the last one began, in POSIX time."""

    form: str
    selection: Selection
    at: float
    positions: Positions


def new_mark(form: str, selection: Selection, at: float, spooled: Sequence[Spooled]) -> ExportMark:
    """The mark of an export of everything that is committed now."""
    return ExportMark(form, selection, at, ends(spooled))


def check_export_name(name: str) -> None:
    """Refuse what is not a plain name of a file."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name: {name!r} is not a name", hint="use letters, digits, - and _")


def saved_mark(layout: Layout, name: str, form: str, selection: Selection) -> ExportMark | None:
    """The mark of the last export of this name. Raises `UsageError` if that had another format or other pages."""
    path = layout.export_mark(name)
    try:
        mark = msgspec.json.decode(path.read_bytes(), type=ExportMark)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise CollectionDamaged(f"{path} is damaged", hint="remove it: the next export has all pages") from error
    if (mark.form, mark.selection) != (form, selection):
        raise UsageError(
            f"the last export of the name {name} had another format, or selected other pages",
            hint="give this one another --name",
        )
    return mark


def save_mark(layout: Layout, name: str, mark: ExportMark) -> None:
    """Remember how far an export came."""
    path = layout.export_mark(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, msgspec.json.encode(mark))


def first_unseen(tables: Path, seen: Positions, spooled: Sequence[Spooled]) -> float | None:
    """When the earliest visit ended that was committed behind these positions; `None` if there is none."""
    tail, known = Tail(tables, TABLE, ("ended_at",)), valid_positions(seen, spooled)
    times = (
        pc.min(batch["ended_at"]).as_py()
        for shard in spooled
        for batch, _ in tail.read(shard, known.get(shard.shard, Position()))
    )
    return min((at.timestamp() for at in times if at is not None), default=None)


def unseen_since(tables: Path, mark: ExportMark, spooled: Sequence[Spooled]) -> float | None:
    """The time of the first visit that an export with this mark did not have; `None` if there is none."""
    first = first_unseen(tables, mark.positions, spooled)
    if mark.positions.keys() <= {shard.shard for shard in spooled}:
        return first
    before = mark.at - _COMMITTED_WITHIN  # what shards that are not there any more committed since then
    return before if first is None else min(first, before)


def changed_pages(folder: Path, since: float, spooled: Sequence[Spooled]) -> ChangedPages:
    """What appeared, changed and vanished since a time; of several changes of a page the last counts."""
    found = ChangedPages(since, set(), {}, {})
    last: dict[str, float] = {}
    kinds = (ChangeKind.APPEARED, ChangeKind.CHANGED, ChangeKind.VANISHED)
    for change in changes_since(folder, since, kinds=kinds, spooled=spooled):
        url = change.url
        if last.get(url, since) > change.seen_at:
            continue
        last[url] = change.seen_at
        found.appeared.discard(url)
        found.changed.pop(url, None)
        found.deleted.pop(url, None)
        if change.kind is ChangeKind.APPEARED:
            found.appeared.add(url)
        else:
            (found.changed if change.kind is ChangeKind.CHANGED else found.deleted)[url] = change.seen_at
    return found
