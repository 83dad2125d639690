"""What is known of the near-duplicates of a page, and whether the canonical URL that it declares is accepted.

Each shard knows the near-duplicates among its own pages, and this is what the shard of the page knows; clusters over
all shards come from the tables (`insight.duplicates.clusters`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from periplus.crawl.router import owner_of
from periplus.model import Placement, Url, UrlRecord
from periplus.policy.duplicates import Belief, Hint, HintKind, Target, believe
from periplus.store import State
from periplus.urls import site_of

_PAGE_STATUSES: Final = frozenset({200, 203, 304})


class CopyFacts(Struct, frozen=True):
    """A page among its near-duplicates: `pages` of them, itself included, of which `canonical` is preferred.

    `names` is the canonical URL that the page declares. Whether that is accepted, and why, is not known (`None`) where
    another shard has that URL.
    """

    canonical: Url
    pages: int
    likeness: float
    is_copy: bool
    names: Url | None = None
    is_believed: bool | None = None
    why: str = ""


def page_duplicates(opened: Mapping[int, State], shards: int, url: Url) -> CopyFacts | None:
    """Return what is known of a URL; `None` if no page was read there, or one with too little text to compare."""
    number = owner_of(site_of(url), shards)
    placement = opened[number].sketches.get([url])[0] if number in opened else None
    if placement is None:
        return None
    facts = CopyFacts(placement.canonical, placement.size, placement.likeness, placement.is_copy, placement.names)
    names = placement.names
    if names is None or owner_of(site_of(names), shards) != number:
        return facts
    belief = _belief(opened[number], url, placement, names)
    return replace(facts, is_believed=belief.is_believed, why=belief.reason)


def _belief(state: State, url: Url, placement: Placement, names: Url) -> Belief:
    record, other = state.records.get([names])[0], state.sketches.get([names])[0]
    is_asked = record is not None and bool(record.visits or record.reason)
    target = Target(
        is_asked=is_asked,
        is_like=None if other is None else other.cluster == placement.cluster,
        is_gone=is_asked and not _is_page(record),
        names=None if other is None else other.names,
    )
    return believe(Hint(url, names, HintKind.CANONICAL), target)


def _is_page(record: UrlRecord | None) -> bool:
    return record is not None and not record.reason and record.status in _PAGE_STATUSES
