"""A tree of prefixes that can be folded: every node with its weight, its pages, and whether it counts as a leaf.

The report's algorithm leaves a huge list unfolded where folding it would leave too few leaves (its example of
mp3va.com). Lists are known here by the shapes of names instead, and fold whatever is left:

* 20 children or more, at least 80 % of them leaves of one shape: digits, hexadecimal, a date, words with a number,
  or the same parameters of a query;
* 3 children or more, all of them leaves of one shape that has figures in it;
* 20 leaves or more that weigh nearly the same (normalised entropy above .95) and have hardly anything below.

`tree_statistics` gives the shape of a site's tree in numbers, as the Berkeley report counts it: nodes, leaves, depth,
and both by level.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from periplus.model import Url
from periplus.urls import UriTree

_MANY, _FEW, _MOST = 20, 3, 0.8
_EVEN: Final = 0.95
_ITEM: Final = 4
"""Pages that an item may have below it: its reviews, its pictures."""
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_SHAPES: Final = (
    ("digits", re.compile(r"\d+")),
    ("date", re.compile(r"\d{4}[-_.]\d{1,2}(?:[-_.]\d{1,2})?|\d{1,2}[-_.]\d{1,2}[-_.]\d{4}")),
    ("hex", re.compile(r"(?=.*\d)(?:(?:[0-9a-fA-F]{8}){1,16}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})")),
    ("slug-digits", re.compile(r".*\D\d+|\d+[-_.,~].*|[A-Za-z]{0,3}\d[0-9A-Za-z]*")),
)


def shape_of(name: str) -> str:
    """The shape of a component; empty for words, which are names of places."""
    if name.startswith("?"):
        return "?" + "&".join(sorted(pair.partition("=")[0] for pair in name[1:].split("&")))
    bare = _EXTENSION.sub("", name)
    return next((shape for shape, pattern in _SHAPES if pattern.fullmatch(bare)), "")


def has_figures(name: str) -> bool:
    """Whether a component has a shape with digits, such as the number of an item."""
    return bool(shape_of(name)) and any(letter.isdigit() for letter in name)


def is_number(name: str) -> bool:
    """Whether a component is a mere number, date or hash: the name of an item, or of a shelf of an archive."""
    return shape_of(name) in ("digits", "date", "hex")


def is_list(branch: Branch) -> bool:
    """Whether the children are a list of items."""
    children = branch.children
    flat = [name for name, child in children.items() if child.is_leaf]
    if len(children) >= _MANY:
        shapes = Counter(filter(None, map(shape_of, flat)))
        if shapes and shapes.most_common(1)[0][1] >= _MOST * len(children):
            return True
    if len(flat) < len(children):
        return False
    if len(children) >= _FEW and len({shape_of(name) for name in children}) == 1 and all(map(has_figures, children)):
        return True
    return len(children) >= _MANY and _are_small(branch) and _evenness(branch) > _EVEN


def _are_small(branch: Branch) -> bool:
    sizes = sorted(child.pages for child in branch.children.values())
    return sizes[len(sizes) // 2] <= _ITEM


def _evenness(branch: Branch) -> float:
    """The entropy of the children's weights, as a share of what it could be at most."""
    weights = [child.weight for child in branch.children.values() if child.weight > 0.0]
    total = math.fsum(weights)
    if len(weights) < 2:
        return 0.0
    return -math.fsum(w / total * math.log(w / total) for w in weights) / math.log(len(weights))


def fold_lists(root: Branch) -> None:
    """Fold every list of items, the deepest first, so that a list of folded things may be one itself."""
    for branch in sorted(root.below(), key=lambda branch: -len(branch.path)):
        if branch.children and not branch.is_site and is_list(branch):
            branch.is_folded = True


class TreeStatistics(Struct, frozen=True):
    """Level 0 are the hosts. `deeper`: URLs that were cut off at the 32nd level."""

    urls: int
    nodes: int
    leaves: int
    depth: int
    nodes_by_level: tuple[int, ...]
    leaves_by_level: tuple[int, ...]
    deeper: int = 0


def tree_statistics(urls: Iterable[str]) -> TreeStatistics:
    """Statistics of the tree of some canonical URLs. The report counts trees of at most 20,000 URLs."""
    tree = UriTree()
    total = 0
    for url in urls:
        tree.add(Url(url))
        total += 1
    nodes: Counter[int] = Counter()
    leaves: Counter[int] = Counter()
    for path, node in tree.walk():
        nodes[len(path) - 1] += 1
        leaves[len(path) - 1] += node.is_leaf
    levels = range(max(nodes, default=-1) + 1)
    return TreeStatistics(
        urls=total,
        nodes=nodes.total(),
        leaves=leaves.total(),
        depth=max(nodes, default=0),
        nodes_by_level=tuple(nodes[level] for level in levels),
        leaves_by_level=tuple(leaves[level] for level in levels),
        deeper=tree.cut,
    )


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
