"""A tree of prefixes that can be folded: every node with its weight, its pages, and whether it counts as a leaf."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

Path = tuple[str, ...]
"""Site, segments of the path, and the query with its `?`, if there is one."""

MAX_DEPTH: Final = 32
"""Deeper levels do not show a site's structure: real sitemaps had paths of 402 segments."""


class Branch:
    """One prefix. `weight` is what its URLs weigh, `pages` how many they are; of itself alone: `own`.

    A branch that is folded is a leaf, and keeps what was below it, to find a page there. `members` are
    the branches that a facet was put together from.
    """

    __slots__ = ("children", "is_folded", "members", "own", "pages", "parent", "path", "weight")

    def __init__(self, path: Path, parent: Branch | None = None) -> None:
        self.path = path
        self.parent = parent
        self.children: dict[str, Branch] = {}
        self.members: list[Branch] = []
        self.weight = 0.0
        self.pages = 0
        self.own = 0
        self.is_folded = False

    @property
    def is_leaf(self) -> bool:
        """Whether there is no branch below, or none that is still shown."""
        return self.is_folded or not self.children

    @property
    def is_site(self) -> bool:
        """Whether it is a host, or the root above them: these never fold."""
        return len(self.path) <= 1

    def child(self, part: str) -> Branch:
        """The branch one component further, made if need be."""
        found = self.children.get(part)
        if found is None:
            found = self.children[part] = Branch((*self.path, part), self)
        return found

    def below(self) -> Iterator[Branch]:
        """The branch and all branches below it, folded or not, parents first."""
        waiting = [self]
        while waiting:
            branch = waiting.pop()
            yield branch
            waiting.extend(branch.children.values())


def grown(urls: Iterable[tuple[Path, float]]) -> Branch:
    """The tree of some paths with their weights, under a virtual root."""
    root = Branch(())
    for path, weight in urls:
        branch = root
        branch.weight += weight
        branch.pages += 1
        for part in path[:MAX_DEPTH]:
            branch = branch.child(part)
            branch.weight += weight
            branch.pages += 1
        branch.own += 1
    return root


def shown(root: Branch) -> Iterator[Branch]:
    """Every branch that is not below a folded one."""
    waiting = [root]
    while waiting:
        branch = waiting.pop()
        yield branch
        if not branch.is_leaf:
            waiting.extend(branch.children.values())
