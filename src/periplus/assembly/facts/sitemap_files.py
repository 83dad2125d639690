"""The files in which a site lists its URLs: their short names, and the files that list each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from periplus.policy.sitemaps import Origin, SitemapNode, twin_key
from periplus.store import State

_LONGEST_WAY = 64
_FEEDS = ("rss", "atom")
_NO_SITEMAPS = {"html": "html-instead", "unknown": "not-a-sitemap"}
_decode = msgspec.msgpack.Decoder(SitemapNode).decode


class MapFile(Struct, frozen=True):
    """A file. `found_by` is who named it, or the tree that it is in: `robots`, `well-known`, `submitted`.

    `trouble`: why it was not read; empty if it was.
    """

    number: int
    url: str
    parent: str | None
    found_by: str
    kind: str
    entries: int
    trouble: str

    @property
    def source(self) -> str:
        """What its entries are: those of a sitemap, or of a feed."""
        return "feed" if self.kind in _FEEDS else "sitemap"


class MapFiles:
    """The files of a map in the order of their tree: each root, then the files it names. There may be 100,000."""

    def __init__(self, opened: Iterable[State]) -> None:
        nodes = sorted((_decode(row) for state in opened for row in state.forest), key=lambda node: node.first_seen_at)
        self._nodes = {twin_key(node.url): node for node in nodes}
        self._files: dict[str, MapFile] = {}
        for node in _in_order(nodes, self._nodes):
            self._files[twin_key(node.url)] = self._file(node, len(self._files) + 1)

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[MapFile]:
        return iter(self._files.values())

    def get(self, url: str) -> MapFile | None:
        """The file at a URL, whichever of its names that is."""
        return self._files.get(twin_key(url))  # type: ignore[arg-type] # of the table, which holds what was canonical

    def way(self, url: str) -> list[str]:
        """The files above a file, and the file itself at the end."""
        way: list[str] = []
        file = self.get(url)
        while file is not None and file.url not in way and len(way) < _LONGEST_WAY:
            way.append(file.url)
            file = None if file.parent is None else self.get(file.parent)
        return way[::-1] or [url]

    @property
    def read(self) -> int:
        """How many were read."""
        return sum(not file.trouble for file in self)

    def _file(self, node: SitemapNode, number: int) -> MapFile:
        root = self._nodes.get(twin_key(node.tree), node)
        found_by = root.origin if node.origin is Origin.INDEX else node.origin
        return MapFile(number, node.url, node.parent, found_by.value, node.kind, node.entries, _trouble(node))


def _trouble(node: SitemapNode) -> str:
    if node.outcome or node.read_at is None:
        return node.outcome or "not-read"
    return _NO_SITEMAPS.get(node.kind, "")


def _in_order(nodes: list[SitemapNode], known: dict[str, SitemapNode]) -> Iterator[SitemapNode]:
    """Roots in the order in which they were met, each followed by what it leads to; loops are cut."""
    below: dict[str, list[SitemapNode]] = {}
    roots = []
    for node in nodes:
        if node.parent is not None and twin_key(node.parent) in known:
            below.setdefault(twin_key(node.parent), []).append(node)
        else:
            roots.append(node)
    seen: set[str] = set()
    for root in (*roots, *nodes):  # all nodes once more: those that lead to each other have no root
        waiting = [root]
        while waiting:
            node = waiting.pop()
            key = twin_key(node.url)
            if key not in seen:
                seen.add(key)
                yield node
                waiting += below.get(key, [])[::-1]
