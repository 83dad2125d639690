"""Whether two hosts, or parts of them, show the same pages: common paths compared.

A hundred common paths are chosen by hash. The hosts are mirrors if at least 90 % of those that both answer are
near-duplicates and few are missing on one side. The pages must differ among themselves: two hosts that show one and the
same page everywhere are parked, or send error pages.

The copy may have another root: `/docs/` of one host is `/` of the other. Texts that both hosts have vote for the roots
(`mappings_of`): what remains of two paths without their common last segments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from ...model import Site
from ..duplicates import likenesses
from .settings import MirrorSettings

MAX_MAPPINGS: Final = 8
"""Pairs of roots that are verified for each pair of hosts."""


class SitePage(Struct, frozen=True, gc=False):
    """What a host showed at a path: the brief and the digest of its main text. `is_absent`: it answered 404 or 410."""

    brief: bytes = b""
    main: int = 0
    is_absent: bool = False


class MirrorFound(Struct, frozen=True):
    """Two hosts show the same below these roots, with the counts that prove it."""

    one: Site
    other: Site
    one_root: str
    other_root: str
    compared: int
    alike: int
    absent: int

    @property
    def is_whole(self) -> bool:
        """Whether all of both hosts is the same, not only a part."""
        return self.one_root == self.other_root == "/"

    @property
    def score(self) -> float:
        """The share of near-duplicates."""
        return self.alike / self.compared

    @property
    def evidence(self) -> tuple[str, ...]:
        """The reasons in words."""
        places = "" if self.is_whole else f" below {self.one_root} of {self.one} and {self.other_root} of {self.other}"
        return (
            f"{self.alike} of {self.compared} pages with the same path are near-duplicates{places}",
            f"{self.absent} of {self.compared + self.absent} paths are missing on one host",
        )


def mappings_of(shared: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs of roots to verify, from pairs of paths with the same text: the most frequent first.

    Where the paths are the same, the roots are `/` and, if that fails, their first directories.
    """
    votes: Counter[tuple[str, str]] = Counter()
    for one, other in shared:
        roots = _roots(one, other)
        votes[roots] += 1
        if roots == ("/", "/") and "/" in one[1:]:
            directory = one[: one.index("/", 1) + 1]
            votes[directory, directory] += 1
    ranked = sorted(votes.items(), key=lambda each: (-each[1], len(each[0][0]), each[0]))
    return [roots for roots, _ in ranked[:MAX_MAPPINGS]]


def verify(
    one: tuple[Site, Mapping[str, SitePage]],
    other: tuple[Site, Mapping[str, SitePage]],
    roots: tuple[str, str],
    settings: MirrorSettings,
) -> MirrorFound | None:
    """Compare the pages of two hosts below two roots; `None` if they are not mirrors, or too few were read."""
    theirs = other[1]
    common = [
        (page, found)
        for path, page in _sampled(one[1], roots[0], settings.sample, lambda rest: roots[1] + rest in theirs)
        if (found := theirs.get(roots[1] + path)) is not None
    ]
    present = [(page, found) for page, found in common if not page.is_absent and not found.is_absent]
    absent = sum(page.is_absent != found.is_absent for page, found in common)
    alike = [page for page, found in present if _are_alike(page, found, settings)]
    if len(present) < settings.fewest_compared or len({page.main for page in alike}) < settings.fewest_texts:
        return None
    if len(alike) < settings.least_alike * len(present) or absent > settings.max_absent * (len(present) + absent):
        return None
    return MirrorFound(one[0], other[0], roots[0], roots[1], len(present), len(alike), absent)


def _sampled(
    pages: Mapping[str, SitePage], root: str, count: int, is_common: Callable[[str], bool]
) -> list[tuple[str, SitePage]]:
    """Common paths without their root, chosen by hash, and their pages."""
    below = [(path[len(root) :], page) for path, page in pages.items() if path.startswith(root)]
    common = [(rest, page) for rest, page in below if is_common(rest)]
    return sorted(common, key=lambda each: xxh3_64_intdigest(each[0].encode()))[:count]


def _are_alike(one: SitePage, other: SitePage, settings: MirrorSettings) -> bool:
    if one.main == other.main:
        return True
    return likenesses(one.brief, [other.brief])[0] >= settings.least_likeness


def _roots(one: str, other: str) -> tuple[str, str]:
    """What two paths begin with before their common last segments; each ends with a slash."""
    ones, others = one.split("/"), other.split("/")
    same = 0
    while same < min(len(ones), len(others)) - 1 and ones[-1 - same] == others[-1 - same]:
        same += 1
    return "/".join(ones[: len(ones) - same]) + "/", "/".join(others[: len(others) - same]) + "/"
