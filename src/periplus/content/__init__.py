"""From the bytes of a page to a `Page`: what a page says, worked out once and never again.

A body comes off the wire in content codings. `decode_body` takes them off under a cap. `read_page` does the rest, and
`read_pages` does it for several pages, which cost less together, in this order, each step in a file of its own:

1. `charset` finds the encoding as a browser would (a mark, the header, a declaration, a guess) with the labels of
   `formats.encodings`; `mime` says whether this is a page at all. What is none becomes an empty `Page` with the reason.
2. `tags` looks at the bytes, all at once; `nesting` cuts off what would make a parser suffer.
3. `elements` parses, once, and walks the tree for what the readers want: `facts` (title, description, language, base,
   directives for crawlers), `links` (and resources), `relations` (canonical, alternates, feeds), `redirects`, `forms`.
   All that is a `draft`: what the page has written, from which `html` makes the `Page`.
4. `text` takes the text of the tree, and of that what is not navigation.
5. `words` turns the main text into numbers; `sketch` makes of them what tells near-duplicates, `digests` what tells
   whether the page has changed since, after `volatile` has masked clocks and counters. What else is different at every
   visit `churn` learns, site by site, from the `blocks` of pages that were visited again.

The web's dirt is a value: a page never makes `read_page` raise, and what was wrong with it is in `Page.problems`, each
with a reason from a small set that the module which gives it documents. Everything is bounded: bytes, tags, depth,
links, texts, forms, options. Links are made canonical by `urls`; header grammars are those of `formats.headers`.

Not here: fetching, deciding what to follow, and clusters of near-duplicates (those are `crawl` and `policy`).
"""

from .blocks import blocks_of
from .charset import Charset, sniff_charset
from .churn import NO_CHURN, Churn, ChurnRecord, ChurnSettings, settled_level
from .decode import decode_body
from .digests import Snapshot, change_level, change_since, is_heading_same, is_same_body, likeness, snapshot, version_of
from .draft import RawPage
from .html import read_page, read_pages
from .mime import Kind, Mime, sniff_mime
from .redirects import read_refresh
from .sketch import resemblance, shingles_of, sketch_of, sketches_of

__all__ = [
    "NO_CHURN",
    "Charset",
    "Churn",
    "ChurnRecord",
    "ChurnSettings",
    "Kind",
    "Mime",
    "RawPage",
    "Snapshot",
    "blocks_of",
    "change_level",
    "change_since",
    "decode_body",
    "is_heading_same",
    "is_same_body",
    "likeness",
    "read_page",
    "read_pages",
    "read_refresh",
    "resemblance",
    "settled_level",
    "shingles_of",
    "sketch_of",
    "sketches_of",
    "snapshot",
    "sniff_charset",
    "sniff_mime",
    "version_of",
]
