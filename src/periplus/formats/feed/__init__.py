"""Feeds: RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0, with the WebSub hubs that they name.

A feed lists what is new on a site, and may state how often to poll it. `read` takes whatever the server sent and
returns a `FeedDocument` with every item that can be read; `write` produces RSS 2.0 or Atom 1.0. Feeds are small, so a
body is read as a whole, up to `LONGEST`; the tree of an item is dropped as soon as the item is read.

`source` turns bytes into XML that a parser accepts: charset, junk before the root, stray ampersands, entities of HTML.
The document type is never passed to the parser, so that a feed has no entities to expand and nothing to fetch.
It adds missing end tags to feeds that are not well-formed; `reading` makes values of elements, `values`
plain text of titles and summaries, `writing` writes feeds.

Reasons of `Problem`: `empty`, `html` (a page in place of a feed), `not-a-feed`, `too-large` (cut at `LONGEST` or
`MOST_TAGS`), `too-many-items` (cut at `MOST_ITEMS`), `junk-before-root`, `entity-declarations` (not used),
`unknown-charset`, `wrong-charset` (not what it claims), `not-well-formed`, `truncated`, `bad-date`, `bad-link`,
`no-link` (an item that leads nowhere).
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .reading import MOST_ITEMS, MOST_PROBLEMS, read
    from .source import LONGEST, MOST_TAGS
    from .values import FeedDocument, FeedKind, Item, Tombstone
    from .writing import write
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "LONGEST",
    "MOST_ITEMS",
    "MOST_PROBLEMS",
    "MOST_TAGS",
    "FeedDocument",
    "FeedKind",
    "Item",
    "Tombstone",
    "read",
    "write",
]
