"""Parked domains.

A domain that is parked or for sale shows one short page of a broker's links, the same on many domains. A home page of
few words, most of whose links lead to one other domain, is a suspect. It is parked if at least five other domains show
the same: a small company that mostly links to its shop has a page of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from periplus.model import Domain
from periplus.policy.duplicates import band_keys, brief_of, likenesses, rows_of

from .settings import ParkedSettings

_MAX_COMPARED: Final = 16
"""Suspects that a suspect is compared with directly: groups of parked domains are large and all alike."""


_MENTIONS: Final = 3
"""How often a short page mentions the name of its domain, at most: in title, heading and text."""
_LEAST: Final = 0.35
"""Resemblance below which two pages are never the same, however short."""
_OWN: Final = 0.5
"""Resemblance to the home page, or to the same page of other domains, below which a page has a text of its own."""
_FEWEST_READ: Final = 3
"""Pages besides the home page that must have been read before a domain counts as parked; all if fewer are known."""


class OtherPage(Struct, frozen=True):
    """A page of a domain besides its home page."""

    path: str
    sketch: bytes


class HomePage(Struct, frozen=True):
    """The home page of a domain. `targets` has the domain of each of its links; `None`: its own.

    `others` are pages of the domain that were read besides, `known` the number of its other URLs.
    """

    domain: Domain
    words: int
    sketch: bytes
    targets: Sequence[Domain | None]
    title: str = ""
    others: Sequence[OtherPage] = ()
    known: int = 0


class Parked(Struct, frozen=True):
    """A parked domain: where its links lead, their share, and how many domains show the same."""

    domain: Domain
    target: Domain
    share: float
    alike: int

    @property
    def evidence(self) -> tuple[str, ...]:
        """The reasons in words."""
        return (
            f"{self.share:.0%} of the links of its home page lead to {self.target}",
            f"{self.alike} other domains show the same home page",
        )


def parked_domains(pages: Iterable[HomePage], settings: ParkedSettings | None = None) -> list[Parked]:
    """The domains that are parked, sorted by name."""
    settings = settings or ParkedSettings()
    suspects = [(page, *best) for page in pages if (best := suspicion(page, settings)) is not None]
    suspects.sort(key=lambda each: each[0].domain)
    homes = [page for page, _, _ in suspects]
    groups = _alike(homes, [target for _, target, _ in suspects], settings.least_likeness)
    return [
        Parked(page.domain, target, share, len(group) - 1)
        for (page, target, share), group in zip(suspects, groups, strict=True)
        if len(group) > settings.domains_alike and _is_bare(page, [homes[place] for place in group])
    ]


def suspicion(page: HomePage, settings: ParkedSettings) -> tuple[Domain, float] | None:
    """The domain that most links lead to, and their share; `None` if the page is not suspicious."""
    if page.words >= settings.max_words or not page.sketch or not page.targets:
        return None
    counts = Counter(target for target in page.targets if target is not None)
    if not counts:
        return None
    target, count = min(counts.items(), key=lambda each: (-each[1], each[0]))
    share = count / len(page.targets)
    return (target, share) if share > settings.least_share else None


def _alike(pages: Sequence[HomePage], targets: Sequence[Domain], least: float) -> list[list[int]]:
    """For each page those that show the same, itself included: groups by their first page.

    Pages are compared if they share a band, or a title, without their own names, and the domain that they link to.
    """
    firsts: list[int] = []
    members: dict[int, list[int]] = defaultdict(list)
    near_by: dict[object, list[int]] = defaultdict(list)
    briefs = [brief_of(page.sketch) for page in pages]
    for place, page in enumerate(pages):
        bands: list[object] = list(enumerate(band_keys(rows_of([briefs[place]]))[0].tolist()))
        named = (_without_name(page.title, page.domain), targets[place])
        keys = [*bands, named] if page.title else bands
        near = list(dict.fromkeys(first for key in keys for first in near_by[key]))[:_MAX_COMPARED]
        likeness = likenesses(briefs[place], [briefs[first] for first in near]) if near else []
        found = [
            (value, -first)
            for first, value in zip(near, likeness, strict=True)
            if value >= least or (page.title and first in near_by[named] and value >= _least_with_names(page.words))
        ]
        first = -max(found)[1] if found else place
        if first == place:
            for key in keys:
                near_by[key].append(place)
        firsts.append(first)
        members[first].append(place)
    return [members[first] for first in firsts]


def _without_name(title: str, domain: Domain) -> str:
    """A title without the name of its own domain, however that is written."""
    text, label = title.lower(), domain.partition(".")[0]
    for name in (domain, label, label.replace("-", " ")):
        text = text.replace(name, "*")
    return text


def _least_with_names(words: int) -> float:
    """The least resemblance of two pages that differ by their own names only: each mention is in four shingles."""
    shingles, differing = max(words - 3, 1), 4 * _MENTIONS
    return max((shingles - differing) / (shingles + differing), _LEAST)


def _is_bare(page: HomePage, group: Sequence[HomePage]) -> bool:
    """Whether a domain shows no page of its own: what was read is its home page again, or what the others show.

    Where too little was read to tell, it is not.
    """
    if len(page.others) < min(page.known, _FEWEST_READ):
        return False
    home = brief_of(page.sketch)
    for other in page.others:
        brief = brief_of(other.sketch)
        shown = [
            brief_of(theirs.sketch)
            for each in group
            if each.domain != page.domain
            for theirs in each.others
            if theirs.path == other.path
        ]
        if max(likenesses(brief, [home, *shown[:_MAX_COMPARED]])) < _OWN:
            return False
    return True
