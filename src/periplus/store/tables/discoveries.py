"""Rows of `discoveries`: every URL that was found, where, and whether it was accepted.

Made column by column from the events themselves, as a page offers many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pyarrow as pa

from periplus.model import NO_HINTS, Discovered, Discovery, Hints, Refused

from .columns import batch_of, lastmod_values, sites
from .schemas import DISCOVERIES

Column = Sequence[Any]


def discoveries_batch(events: Sequence[Discovered | Refused]) -> pa.RecordBatch:
    """The rows of these events, in their order."""
    found = [event.discovery for event in events]
    is_new, refused, rules = _fates(events)
    return batch_of(DISCOVERIES, [*_facts(found), is_new, *_hints([one.hints for one in found]), refused, rules])


def _fates(events: Sequence[Discovered | Refused]) -> tuple[Column, Column, Column]:
    """Whether it was new, why it was refused, by which rule. Whether a refused URL was new is not known."""
    if set(map(type, events)) == {Discovered}:
        nothing = [None] * len(events)
        return [event.is_new for event in cast("Sequence[Discovered]", events)], nothing, nothing
    return (
        [event.is_new if isinstance(event, Discovered) else None for event in events],
        [event.reason if isinstance(event, Refused) else None for event in events],
        [event.rule if isinstance(event, Refused) else None for event in events],
    )


def _facts(found: Sequence[Discovery]) -> Iterator[Column]:
    urls = [one.url for one in found]
    yield urls
    yield sites(urls)
    yield [one.source._value_ for one in found]
    yield [one.found_at for one in found]
    yield [one.depth for one in found]
    yield [one.redirects for one in found]
    yield [one.referrer for one in found]


def _hints(hints: Sequence[Hints]) -> Iterator[Column]:
    if hints.count(NO_HINTS) == len(hints):
        yield from _nothing(hints, 6)
        return
    lastmods = [one.lastmod for one in hints]
    if lastmods.count(None) == len(hints):
        yield from _nothing(hints, 2)
    else:
        yield from zip(*map(lastmod_values, lastmods), strict=True)
    yield [one.changefreq and one.changefreq._value_ for one in hints]
    yield [one.priority for one in hints]
    yield [one.anchor for one in hints]
    yield [one.title for one in hints]


def _nothing(rows: Sequence[object], columns: int) -> list[Column]:
    return [[None] * len(rows)] * columns
