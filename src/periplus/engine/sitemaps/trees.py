"""The forest: every known sitemap file as a node, the trees that indexes make of them, and the choice of children.

A `SitemapNode` is what is stored of a file between two visits: its place, the result of the last visit, how often it
changes. `follow` selects the children of an index that become nodes; `visits` decides whose pages a file may list and
what follows from a visit; `revisit` decides when the next visit is due.

A file has one node, which ends loops: an index that names itself, or an index above it, names a known node. `x.xml` and
`x.xml.gz` are twins, one file under two names, since servers offer both and some indexes name both: `twin_key` is the
name that they share, and the key of the node.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import Annotated

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.formats.sitemap import Child
from periplus.model import ConfigError, Lastmod, Site, Url, Validators
from periplus.model.flags import FAR, Flag
from periplus.urls import canonical, site_of

from .revisit import FIRST_RATE, NO_TRUST, IndexTrust, Rate

WELL_KNOWN = ("/sitemap.xml", "/sitemap_index.xml", "/sitemap-index.xml", "/sitemap.xml.gz", "/sitemap.txt")
"""The usual places of sitemaps. A twin of one that was found need not be requested."""


class Origin(Enum):
    """How a file was found."""

    ROBOTS = "robots"
    WELL_KNOWN = "well-known"
    SUBMITTED = "submitted"
    PING = "ping"
    INDEX = "index"
    PAGE = "page"


class SitemapNode(Struct, frozen=True):
    """One file of the forest: the row of `sitemapinfo` of the Berkeley survey, kept up to date."""

    url: Url
    tree: Url
    """The file that its tree grows from: itself, if no other file lists it."""
    origin: Origin
    """How its tree was found."""
    first_seen_at: float
    parent: Url | None = None
    """The index that names it."""
    depth: int = 0
    """The number of indexes above it."""
    lastmod: Lastmod | None = None
    """The date of the file in its index."""
    redirects: int = 0
    """How often it was elsewhere."""
    vouching: tuple[Site, ...] = ()
    """Hosts whose robots.txt names it."""

    kind: str = ""
    """What it turned out to be: urlset, index, text, rss, atom, html, unknown; empty until it was read."""
    outcome: str = ""
    """The reason for which the last visit failed; empty if it did not."""
    status: int | None = None
    entries: int = 0
    children: int = 0
    size: int = 0
    """Bytes as sent, of the last reading."""
    problems: tuple[tuple[str, int], ...] = ()
    """Reasons of problems of the last reading, and how often."""
    digest: int = 0
    validators: Validators | None = None

    visited_at: float | None = None
    """When it last answered, if only that nothing changed."""
    read_at: float | None = None
    """When it was last read to its end."""
    read_lastmod: Lastmod | None = None
    """The date in its index at the last visit."""
    due_at: float = 0.0
    """When it is to be visited next; infinity: it waits in a queue already."""
    visits: int = 0
    changes: int = 0
    failures: int = 0
    """Visits that failed since the last that did not."""
    fruitless: int = 0
    """Readings since the last one with anything that is wanted."""
    rate: Rate = FIRST_RATE
    trust: IndexTrust = NO_TRUST
    """Of an index: the reliability of the dates of its children."""
    retired: str = ""
    """Why it is no longer visited."""

    @property
    def is_hinted(self) -> bool:
        """Whether its date in the index is newer than our last visit."""
        if self.lastmod is None or self.read_lastmod is None:
            return False
        return self.lastmod.at > self.read_lastmod.at


def twin_key(url: Url) -> str:
    """The name of a file without the `.gz` that its path may end with."""
    path, mark, query = url.partition("?")
    return (path[:-3] if path[-3:].lower() == ".gz" else path) + mark + query


_SPOKEN_FOR = (Origin.ROBOTS, Origin.SUBMITTED)


class TreeLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """How far trees of sitemaps are followed."""

    max_depth: int = 50
    """Maximum indexes above a file."""
    max_redirects: int = 5
    """Maximum redirects of a file."""
    max_children: int = 50_000
    """Maximum children of one index: the limit of the protocol."""
    sample_least: Annotated[
        int,
        Flag("--sample-least", "Minimum number of files read of a sitemap index...", "N", FAR, ("survey",), least=0),
    ] = 0
    """Minimum children of an index that are read in a sample (n0)."""
    sample_share: Annotated[
        float,
        Flag(
            "--sample-share",
            "...and this share of them. By default all are read.",
            "SHARE",
            FAR,
            ("survey",),
            least=0,
            most=1,
        ),
    ] = 1.0
    """Share of an index's children that is read (alpha)."""
    sample_seed: int = 0
    """Seed of the sample."""
    max_files: int = 100_000
    """Maximum files of one tree."""
    max_entries: int = 1_000_000_000
    """Maximum entries of one tree."""
    max_bytes: int = 1 << 40
    """Maximum bytes of one tree, over all readings."""
    max_foreign_hosts: int = 20
    """Maximum other hosts whose files one index or robots.txt may name."""
    follows_foreign: bool = False
    """Let an index found only by a page, a ping or a guess name files of other hosts."""

    def __post_init__(self) -> None:
        """Reject an invalid share."""
        if not 0.0 <= self.sample_share <= 1.0 or self.sample_least < 0:
            raise ConfigError(
                f"sample_share is {self.sample_share} and sample_least is {self.sample_least}",
                hint="sample_share must be from 0 to 1, and sample_least at least 0",
            )

    def sample_of(self, count: int) -> int:
        """How many of `count` children are read."""
        return min(count, max(self.sample_least, math.ceil(self.sample_share * count - 1e-9)))


class TreeSpending(Struct, frozen=True, array_like=True, gc=False):
    """The part of its budget that a tree has used."""

    files: int = 0
    entries: int = 0
    size: int = 0

    def read(self, entries: int, size: int) -> TreeSpending:
        """The spending after `entries` more entries and `size` more bytes."""
        return TreeSpending(self.files, self.entries + entries, self.size + size)

    def refusal(self, settings: TreeLimits) -> str:
        """Why the tree may not grow further; empty if it may."""
        if self.files >= settings.max_files:
            return "tree-files"
        if self.entries >= settings.max_entries:
            return "tree-entries"
        return "tree-bytes" if self.size >= settings.max_bytes else ""


class Followed(Struct, frozen=True):
    """The children of an index: new nodes, hints about known ones, and the reasons why others were refused."""

    new: tuple[SitemapNode, ...]
    known: tuple[tuple[str, Child], ...]
    """By `twin_key`: their `lastmod` is a hint."""
    refused: tuple[tuple[str, int], ...]
    spent: TreeSpending


def follow(
    index: SitemapNode,
    children: Iterable[Child],
    *,
    above: Collection[str],
    is_known: Callable[[str], bool],
    spent: TreeSpending,
    settings: TreeLimits,
    now: float,
) -> Followed:
    """Decide on the children that an index names, while they arrive.

    `above` are the keys of the index and of the indexes above it; `is_known` returns whether a key has a node. A sample
    is of max(n0, alpha n) of an index's n children: known ones, then those with the smallest hashes, so that later
    readings keep the files that were chosen before. Reasons for which a child is not followed, stable words that tables
    count:

    * `sitemap-not-a-url`: the index names something that is not a URL to crawl
    * `sitemap-loop`: an index above it, or the index itself; `sitemap-repeated`: the index names it twice, or its twin
    * `sitemap-depth`: too many indexes above it
    * `sitemap-foreign`: a file of another host, in a tree that no robots.txt or user named, or of one host too many
    * `sitemap-not-sampled`: not in the sample; `index-too-long`: beyond the maximum number of children of an index
    * `tree-files`, `tree-entries`, `tree-bytes`: the tree has used up its budget
    """
    refused: Counter[str] = Counter()
    named = _named(children, above, settings.max_children, refused)
    new: list[SitemapNode] = []
    known: list[tuple[str, Child]] = []
    hosts = {site_of(index.url)}
    for key in _sampled(named, is_known, settings, refused):
        url, child = named[key]
        if is_known(key):
            known.append((key, child))
            continue
        hosts.add(site_of(url))
        reason = _refusal(index, url, settings) or spent.refusal(settings)
        if len(hosts) > settings.max_foreign_hosts + 1:
            hosts.discard(site_of(url))
            reason = reason or "sitemap-foreign"
        if reason:
            refused[reason] += 1
            continue
        spent = TreeSpending(spent.files + 1, spent.entries, spent.size)
        new.append(
            SitemapNode(url, index.tree, index.origin, now, index.url, index.depth + 1, child.lastmod, due_at=now)
        )
    return Followed(tuple(new), tuple(known), tuple(sorted(refused.items())), spent)


def _named(
    children: Iterable[Child], above: Collection[str], limit: int, refused: Counter[str]
) -> dict[str, tuple[Url, Child]]:
    """Each file that is named, by its key, in the order of the index."""
    named: dict[str, tuple[Url, Child]] = {}
    for child in children:
        if len(named) >= limit:
            refused["index-too-long"] += 1
            continue
        url = canonical(child.url)
        if url is None:
            refused["sitemap-not-a-url"] += 1
        elif (key := twin_key(url)) in above:
            refused["sitemap-loop"] += 1
        elif key in named:
            refused["sitemap-repeated"] += 1
        else:
            named[key] = url, child
    return named


def _sampled(
    named: Collection[str], is_known: Callable[[str], bool], settings: TreeLimits, refused: Counter[str]
) -> list[str]:
    """The keys of those in the sample, in the order of the index."""
    size = settings.sample_of(len(named))
    if size == len(named):
        return list(named)
    refused["sitemap-not-sampled"] += len(named) - size
    seed = settings.sample_seed & (1 << 64) - 1
    ranked = sorted(named, key=lambda key: (not is_known(key), xxh3_64_intdigest(key.encode(), seed)))
    chosen = set(ranked[:size])
    return [key for key in named if key in chosen]


def _refusal(index: SitemapNode, url: Url, settings: TreeLimits) -> str:
    if index.depth + 1 > settings.max_depth:
        return "sitemap-depth"
    is_foreign = site_of(url) != site_of(index.url)
    if is_foreign and index.origin not in _SPOKEN_FOR and not settings.follows_foreign:
        return "sitemap-foreign"
    return ""
