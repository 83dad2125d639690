"""What is known of a page beside others that say the same, for `periplus info`: the facts, and how they are said.

Each shard knows the copies among its own pages. What is told here is what the shard of the page knows; clusters over
all shards come from the tables (`insight.duplicates.clusters`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from periplus.crawl.placement import owner_of
from periplus.model import Placement, Url, UrlRecord
from periplus.policy.duplicates import Belief, Hint, HintKind, Target, believe
from periplus.store import State
from periplus.urls import site_of

BELIEFS: Final = {
    "names-itself": "it is this page",
    "same-text": "it says the same",
    "not-read-yet": "it was not read yet, and nothing speaks against it",
    "other-text": "it says something else",
    "target-is-gone": "there is no page",
    "target-points-on": "it names another URL itself",
    "names-home-page": "it was not read yet, and naming the home page is mostly a template's mistake",
    "elsewhere": "it was not read yet, and is of another site, which would have to agree",
}
"""Why what a page says of its own name is believed or not; `policy.duplicates.hints` has the rules."""
_PAGE_STATUSES: Final = frozenset({200, 203, 304})


class CopyFacts(Struct, frozen=True):
    """Of a page among those that say the same: `pages` of them, itself included, best known by `canonical`.

    `names` is the URL by which the page says it should be known. Whether that is believed, and why, is not known
    (`None`) where another shard has that URL.
    """

    canonical: Url
    pages: int
    likeness: float
    is_copy: bool
    names: Url | None = None
    is_believed: bool | None = None
    why: str = ""


def of_page(opened: Mapping[int, State], shards: int, url: Url) -> CopyFacts | None:
    """Of one URL; `None` if no page was read there, or one that says too little to be compared."""
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


def lines(facts: CopyFacts | None, url: Url) -> list[tuple[str, str]]:
    """The same in words."""
    if facts is None:
        return []
    said = []
    if facts.pages > 1:
        others = "another page" if facts.pages == 2 else f"{facts.pages - 1:,} other pages"
        name = "this URL" if facts.canonical == url else facts.canonical
        said.append(("says the same", f"as {others}; all are best known by {name}"))
    if facts.is_copy:
        said.append(("copy", f"yes: another said it before ({facts.likeness:.0%} alike)"))
    if facts.names is not None:
        said.append(("canonical", f"names {facts.names}{_judgement(facts)}"))
    return said


def _judgement(facts: CopyFacts) -> str:
    if facts.is_believed is None:
        return ", which another shard knows"
    return f": {'believed' if facts.is_believed else 'not believed'}, because {BELIEFS[facts.why]}"
