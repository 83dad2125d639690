"""The forest: every sitemap file that is known, as a node, and the trees that indexes make of them.

A `SitemapNode` is what is known of a file between two visits: where it stands, what came of the last visit, how often
it changes. Its life is told elsewhere: which children of an index become nodes (`following`), whose pages it may list
(`authority`), what follows from a visit (`visits`), when the next one is due (`revisit`).

A file has one node. Loops end there: an index that names itself, or one above it, names what is known. `x.xml` and
`x.xml.gz` are twins, one file under two names, since servers offer both and some indexes name both: `twin_key` is the
name that they share, and the key of the node.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from ...model import Lastmod, Site, Url, Validators
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
    """Indexes above it."""
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
