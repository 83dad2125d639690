"""The nodes of sitemap files, and what each tree has used of its budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from periplus.model import Fetched, Site, SitemapFileRow, SitemapVisited, Stored, TreeUse, Url
from periplus.store import State
from periplus.urls import site_of

from .trees import SitemapNode, TreeSpending, twin_key

_decode = msgspec.msgpack.Decoder(SitemapNode).decode
_MAX_ABOVE = 64
"""Indexes above a file that are looked at: deeper trees are not followed."""
_RESTORABLE = ("gone", "unreachable", "not-a-sitemap", "empty")
"""Why a sitemap was given up that its owner may have fixed since."""


class SitemapStore:
    """Sitemap files by URL; a file and its twin (http and https, with and without `www.`) are one."""

    def __init__(self, state: State) -> None:
        self._forest = state.forest
        self._trees = state.trees

    def get(self, url: Url) -> SitemapNode | None:
        """The node of a file."""
        return self.by_key(twin_key(url))

    def by_key(self, key: str) -> SitemapNode | None:
        """The node of a file, by the key that twins share."""
        row = self._forest.get([key])[0]
        return None if row is None else _decode(row)

    def has(self, key: str) -> bool:
        """Whether there is a node by this key."""
        return self._forest.get([key])[0] is not None

    def put(self, node: SitemapNode) -> None:
        """Keep a node. One that was given up is never due."""
        self._forest.put([_row(node, math.inf if node.retired else node.due_at)])

    def put_queued(self, nodes: Iterable[SitemapNode]) -> None:
        """Keep nodes that wait in a queue: they are not due before they were fetched."""
        self._forest.put([_row(replace(node, due_at=math.inf), math.inf) for node in nodes])

    def due(self, now: float, limit: int) -> list[SitemapNode]:
        """The files that are due."""
        rows = self._forest.get(self._forest.due(now, limit))
        return [_decode(row) for row in rows if row is not None]

    def above(self, node: SitemapNode) -> list[Url]:
        """The indexes above a file, the nearest first."""
        found: list[Url] = []
        parent = node.parent
        while parent is not None and parent not in found and len(found) < _MAX_ABOVE:
            found.append(parent)
            above = self.get(parent)
            parent = None if above is None else above.parent
        return found

    def vouching(self, node: SitemapNode) -> frozenset[Site]:
        """The hosts whose robots.txt names a file, or an index above it."""
        above = (self.get(url) for url in self.above(node))
        return frozenset(site for each in (node, *above) if each is not None for site in each.vouching)

    def below(self, node: SitemapNode) -> list[SitemapNode]:
        """A file, and all files below it at its site."""
        by_parent: dict[Url | None, list[SitemapNode]] = {}
        for each in self.of_site(site_of(node.url)):
            by_parent.setdefault(each.parent, []).append(each)
        found, waiting = [], [node]
        while waiting:
            found.append(waiting.pop())
            waiting += by_parent.pop(found[-1].url, [])
        return found

    def __iter__(self) -> Iterator[SitemapNode]:
        """Every known file."""
        return map(_decode, self._forest)

    def of_site(self, site: Site) -> Iterator[SitemapNode]:
        """The files at a site."""
        return map(_decode, self._forest.of_site(site))

    def children(self, index: SitemapNode) -> list[SitemapNode]:
        """The files below an index at its own site."""
        return [node for node in self.of_site(site_of(index.url)) if node.parent == index.url]

    def spending(self, tree: Url) -> TreeSpending:
        """The part of its budget that a tree has used."""
        kept = self._trees.get(twin_key(tree))
        return TreeSpending() if kept is None else TreeSpending(kept.files, kept.entries, kept.size)

    def put_spending(self, tree: Url, spending: TreeSpending) -> None:
        """Store the part of its budget that a tree has used."""
        self._trees.put([TreeUse(twin_key(tree), spending.files, spending.entries, spending.size)])


def _row(node: SitemapNode, due_at: float) -> SitemapFileRow:
    return SitemapFileRow(twin_key(node.url), site_of(node.url), due_at, msgspec.msgpack.encode(node))


def visit_event(node: SitemapNode, visited_at: float) -> SitemapVisited:
    """The event that reports the state of a file after a visit."""
    return SitemapVisited(
        node.url, visited_at, node.tree, node.parent, node.origin.value, node.depth, node.kind, node.outcome,
        node.status, node.entries, node.children, node.size, node.problems, node.lastmod, node.first_seen_at,
        node.read_at, None if node.retired else node.due_at, node.visits, node.changes, node.failures, node.retired,
    )  # fmt: skip


class UnfinishedFile(Struct, frozen=True, array_like=True):
    """A file that was not read to its end: the answer, where its body lies (or the body), and how far it was read.

    `vouching` are the hosts whose robots.txt names the file; `found_at` is when it arrived; `size` are the bytes of its
    body (0 in states of before).
    """

    outcome: Fetched
    stored: Stored | None
    node: SitemapNode
    vouching: tuple[Site, ...]
    found_at: float
    steps: int
    size: int = 0

    def unfinished(self) -> UnfinishedFile:
        """The part of it that is committed. The body is left out where the archive has it."""
        is_kept = self.stored is not None and not self.stored.is_revisit
        return replace(self, outcome=replace(self.outcome, body=b"")) if is_kept else self


class SitemapState(Struct, array_like=True):
    """The state to commit besides rows: unread files, in the order of their sites' turns, and files to read again.

    `listed` URLs of files wait for their queues; it is for people, and starts from 0 when a collection is resized.
    """

    unfinished: list[UnfinishedFile] = []
    postponed: list[Url] = []
    listed: int = 0


def clamped_to(node: SitemapNode, now: float, latest: float) -> SitemapNode:
    """A file after the clock was set back to `now`: it was visited now at the latest, and is due by `latest`.

    One that waits in a queue, or was given up, is not due (infinity), and stays so.
    """
    visited_at = None if node.visited_at is None else min(node.visited_at, now)
    ahead = 0.0 if node.visited_at is None or visited_at is None else node.visited_at - visited_at
    due_at = node.due_at if node.due_at == math.inf else min(node.due_at - ahead, latest)
    return replace(node, visited_at=visited_at, due_at=due_at)


def saved_in(state: State) -> SitemapState:
    """What a shard has committed besides rows."""
    return state.meta(SitemapState) or SitemapState()


def half_read(state: State) -> list[Stored | None]:
    """Where the files are stored that a shard has not read to their end."""
    return [file.stored for file in saved_in(state).unfinished]


def make_due(state: State, site: Site, *, missing: bool) -> None:
    """Have all files of a site that are read asked for; with `missing`, also those that may be there again."""
    nodes = SitemapStore(state)
    for node in list(nodes.of_site(site)):
        retired = "" if missing and node.retired in _RESTORABLE else node.retired
        nodes.put(replace(node, due_at=0.0, retired=retired))


def copy_spending(source: State, targets: Mapping[int, State], owner: Callable[[Site], int]) -> None:
    """Copy what trees of sitemaps have used of their budgets along with their files: the larger use counts."""
    store = SitemapStore(source)
    for node in store:
        target = targets.get(owner(site_of(node.url)))
        if target is not None:
            there, here = SitemapStore(target).spending(node.tree), store.spending(node.tree)
            most = TreeSpending(*map(max, astuple(there), astuple(here)))
            if most != there:
                SitemapStore(target).put_spending(node.tree, most)


def copy_postponed(source: State, targets: Mapping[int, State], owner: Callable[[Site], int]) -> None:
    """Copy which files are to be read again when there is nothing else to do.

    They are due in an hour in any case, but a crawl may have ended by then. Those that stay behind in the source do no
    harm: a file that a shard does not have is passed over.
    """
    postponed = saved_in(source).postponed
    for number, target in targets.items():
        mine = [url for url in postponed if owner(site_of(url)) == number]
        if mine:
            known = saved_in(target)
            target.put_meta(replace(known, postponed=list(dict.fromkeys([*known.postponed, *mine]))))
