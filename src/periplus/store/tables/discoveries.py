"""Rows of `discoveries`: every URL that was offered, by whom, and what became of the offer.

Made column by column, as a page offers many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from periplus.model import NO_HINTS, Discovered, Discovery, Hints, Refused

from .columns import batch_of, lastmod_values, sites
from .schemas import DISCOVERIES

Column = Sequence[Any]


class Offer(NamedTuple):
    """A discovery and what became of it. Whether a refused URL was new nobody asked."""

    discovery: Discovery
    is_new: bool | None
    refused: str | None
    rule: str | None


def offer_of(event: Discovered | Refused) -> Offer:
    """All that is kept of either event."""
    if isinstance(event, Discovered):
        return Offer(event.discovery, event.is_new, None, None)
    return Offer(event.discovery, None, event.reason, event.rule)


def discoveries_batch(offers: Sequence[Offer]) -> pa.RecordBatch:
    """The rows of these offers, in their order."""
    found, is_new, refused, rules = zip(*offers, strict=True)
    return batch_of(DISCOVERIES, [*_facts(found), is_new, *_hints([one.hints for one in found]), refused, rules])


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
        yield from [[None] * len(hints)] * 6
        return
    yield from zip(*(lastmod_values(one.lastmod) for one in hints), strict=True)
    yield [one.changefreq and one.changefreq._value_ for one in hints]
    yield [one.priority for one in hints]
    yield [one.anchor for one in hints]
    yield [one.title for one in hints]
