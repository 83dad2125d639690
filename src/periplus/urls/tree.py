"""URLs as a tree of their prefixes: the structure of a site.

Under a virtual root stand the sites, below them the segments of their paths, and a query, with its `?`, as the last
component. The weight of a node is the sum of the weights of the URLs that pass through it or end there, so with the
default weight it is their number. This is the tree on which ulinks are folded (the Berkeley report on web site
metadata); the folding is not done here.

`http` and `https` share one tree, and so do `/books` and `/books/`: a slash at the end names the same node. Doubled
slashes elsewhere are components of their own, because they are in the URL.

The tree is bounded in both directions, because the web is not: components beyond `max_depth` are cut off, and once
there are `max_nodes` nodes no more are made. In both cases the URL counts up to the last node it reaches and ends
there; `cut` says how often that happened, so weights stay true and only detail is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from periplus.model import Url

from .site import site_of

MAX_DEPTH = 32
"""Levels below the virtual root. Real sitemaps held paths of 402 levels, which say nothing about a site's shape."""

MAX_NODES = 1_000_000


class Node(Struct, gc=False):
    """One prefix. `weight` counts the URLs at and below it, `own` those that end here."""

    weight: float = 0.0
    own: float = 0.0
    _children: dict[str, Node] | None = None

    @property
    def children(self) -> Mapping[str, Node]:
        """The nodes one component further, by that component."""
        return self._children or _NONE

    @property
    def is_leaf(self) -> bool:
        """Whether there is nothing below."""
        return not self._children


_NONE: Mapping[str, Node] = {}


def components(url: Url) -> list[str]:
    """Site, path segments, and the query with its `?` if there is one."""
    path, mark, query = url[url.index("/", 8) + 1 :].partition("?")
    parts = [str(site_of(url)), *path.split("/")]
    if not parts[-1]:
        parts.pop()
    if mark:
        parts.append(mark + query)
    return parts


def _component(item: tuple[str, Node]) -> str:
    return item[0]


class UriTree:
    """The prefixes of many URLs, with weights."""

    __slots__ = ("_max_depth", "_max_nodes", "cut", "nodes", "root")

    def __init__(self, *, max_depth: int = MAX_DEPTH, max_nodes: int = MAX_NODES) -> None:
        self.root = Node()
        self.nodes = 0
        self.cut = 0
        self._max_depth = max_depth
        self._max_nodes = max_nodes

    def add(self, url: Url, weight: float = 1.0) -> None:
        """Count a URL in all its prefixes."""
        node = self.root
        node.weight += weight
        for depth, part in enumerate(components(url)):
            child = self._child(node, part) if depth < self._max_depth else None
            if child is None:
                self.cut += 1
                break
            child.weight += weight
            node = child
        node.own += weight

    def _child(self, node: Node, part: str) -> Node | None:
        """The child of that name, made if there is room for it."""
        child = node.children.get(part)
        if child is None and self.nodes < self._max_nodes:
            child = Node()
            self.nodes += 1
            if node._children is None:
                node._children = {part: child}
            else:
                node._children[part] = child
        return child

    def find(self, prefix: Url) -> Node | None:
        """The node of a URL, if any URL of the tree passes through it."""
        node: Node | None = self.root
        for part in components(prefix)[: self._max_depth]:
            node = node.children.get(part) if node is not None else None
        return node

    def weight(self, prefix: Url) -> float:
        """The weight at and below a prefix."""
        node = self.find(prefix)
        return 0.0 if node is None else node.weight

    def walk(self) -> Iterator[tuple[tuple[str, ...], Node]]:
        """Every node but the root with its components, parents first and siblings in order."""
        pending: list[tuple[tuple[str, ...], Node]] = [((), self.root)]
        while pending:
            path, node = pending.pop()
            if path:
                yield path, node
            pending.extend(
                ((*path, part), child) for part, child in sorted(node.children.items(), key=_component, reverse=True)
            )
