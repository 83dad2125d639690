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


class HomePage(Struct, frozen=True):
    """The home page of a domain. `targets` has the domain of each of its links; `None`: its own."""

    domain: Domain
    words: int
    sketch: bytes
    targets: Sequence[Domain | None]


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
    suspects = [(page, *best) for page in pages if (best := _suspicion(page, settings)) is not None]
    suspects.sort(key=lambda each: each[0].domain)
    alike = _alike([page for page, _, _ in suspects], settings.least_likeness)
    return [
        Parked(page.domain, target, share, alike[place])
        for place, (page, target, share) in enumerate(suspects)
        if alike[place] >= settings.domains_alike
    ]


def _suspicion(page: HomePage, settings: ParkedSettings) -> tuple[Domain, float] | None:
    """The domain that most links lead to, and their share; `None` if the page is not suspicious."""
    if page.words >= settings.max_words or not page.sketch or not page.targets:
        return None
    counts = Counter(target for target in page.targets if target is not None)
    if not counts:
        return None
    target, count = min(counts.items(), key=lambda each: (-each[1], each[0]))
    share = count / len(page.targets)
    return (target, share) if share > settings.least_share else None


def _alike(pages: Sequence[HomePage], least: float) -> list[int]:
    """For each page the number of other domains that show the same: groups by their first page, through bands."""
    firsts: list[int] = []
    members: dict[int, set[Domain]] = defaultdict(set)
    by_band: dict[tuple[int, int], list[int]] = defaultdict(list)
    briefs = [brief_of(page.sketch) for page in pages]
    for place, page in enumerate(pages):
        bands = list(enumerate(band_keys(rows_of([briefs[place]]))[0].tolist()))
        near = list(dict.fromkeys(first for band in bands for first in by_band[band]))[:_MAX_COMPARED]
        found = (
            [
                (likeness, -first)
                for first, likeness in zip(
                    near, likenesses(briefs[place], [briefs[first] for first in near]), strict=True
                )
                if likeness >= least
            ]
            if near
            else []
        )
        first = -max(found)[1] if found else place
        if first == place:
            for band in bands:
                by_band[band].append(place)
        firsts.append(first)
        members[first].add(page.domain)
    return [len(members[first] - {page.domain}) for first, page in zip(firsts, pages, strict=True)]
