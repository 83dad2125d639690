"""The contents of a feed: the channel and its items, the same for RSS and Atom.

Titles and summaries are plain text, whether the feed has text, HTML in text, or XHTML.
"""

from __future__ import annotations

import re
from enum import Enum
from html import unescape

from msgspec import Struct

from periplus.model import Lastmod, Problem

_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--[^<>]*-->")


def plain(text: str, longest: int) -> str:
    """Text that may be HTML, without its markup, white space folded, of at most `longest` characters.

    RSS does not specify whether a title is HTML; most that look like it are.
    """
    text = text[: longest * 16]
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = unescape(text)
    return folded(text, longest)


def folded(text: str, longest: int) -> str:
    """White space folded, of at most `longest` characters."""
    return " ".join(text[: longest * 16].split())[:longest].rstrip()


class FeedKind(Enum):
    """The three families of feeds: RSS 0.91 to 2.0, RSS 0.90 and 1.0 (which are RDF), Atom."""

    RSS = "rss"
    RDF = "rdf"
    ATOM = "atom"


class Item(Struct, frozen=True):
    """One item of a feed. `url` is absolute, empty if the item has no link; texts are plain, folded and bounded.

    `content` is HTML for feed readers; it is written, and not read.
    """

    url: str = ""
    id: str = ""
    title: str = ""
    published: Lastmod | None = None
    updated: Lastmod | None = None
    summary: str = ""
    content: str = ""

    @property
    def lastmod(self) -> Lastmod | None:
        """The time of its last change by its own dates."""
        return self.updated or self.published


class Tombstone(Struct, frozen=True):
    """An entry of an Atom feed that is gone (RFC 6721), by its id."""

    ref: str
    at: Lastmod


class FeedDocument(Struct, frozen=True):
    """A feed as a whole.

    `url` is where it says it lives (`rel=self`), `link` its site, `hubs` where WebSub subscribes, and
    `ttl` the seconds for which it asks not to be fetched again. `kind` is `None` for what was no feed. `id` (by default
    the URL) and `author` are written, and not read.
    """

    kind: FeedKind | None
    version: str = ""
    url: str = ""
    link: str = ""
    title: str = ""
    updated: Lastmod | None = None
    ttl: float | None = None
    hubs: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    problems: tuple[Problem, ...] = ()
    id: str = ""
    author: str = ""
    tombstones: tuple[Tombstone, ...] = ()
