"""The shape of a site's tree in numbers, as the Berkeley report counts it: nodes, leaves, depth, and both by level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from periplus.model import Url
from periplus.urls import UriTree


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
    """Of URLs in canonical form. The report counts trees of at most 20,000 URLs."""
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
