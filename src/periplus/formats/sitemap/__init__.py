"""Sitemaps: the pages a site lists itself (https://www.sitemaps.org/protocol.html).

`read` takes bytes while they arrive and gives `Entry`, `Child` and `Problem` values in constant memory, whatever the
form: XML urlset or index, plain text list, RSS or Atom; plain, gzipped, or gzipped several times; by content alone. It
never raises for what a site sent and never looks anything up. `read_columns` returns the same by columns. `writing`
writes records as XML. `in_scope` is the protocol's location rule, which nothing here enforces. What entries mean for a
crawl is in `policy`.

The path of a byte: `inflate` (gzip) -> `charset` (text) -> `sniff` (what is it?) -> one of `regular` (urlset and index;
it tries columns for speed, in `cells`, and leaves to `records` what needs care), `feeds` (and plain lists) ->
`outbox`. All readers share `fields`, where texts become values, and cut XML with `markup`.

Reasons of problems, stable words that tables count:

* the stream: gzip-truncated gzip-damaged gzip-checksum gzip-trailing gzip-nested; bounds of ours that end the reading:
  size-limit ratio-limit url-limit; bounds of the protocol that do not: too-large too-many-urls;
* the document: empty html not-a-sitemap unknown-root leading-garbage bad-namespace bad-encoding unknown-encoding
  bad-markup truncated;
* a record: missing-loc repeated-loc relative-url not-a-url too-long too-many-items bare-ampersand bad-entity
  entity-refused bad-lastmod odd-lastmod bad-changefreq bad-priority bad-value;
* more-problems: how many of a reason were not reported one by one.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .reading import Reading, read, read_columns
    from .values import TITLE_NS, Alternate, Child, Entry, Image, Kind, Limits, News, Restriction, Video, in_scope
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "TITLE_NS",
    "Alternate",
    "Child",
    "Entry",
    "Image",
    "Kind",
    "Limits",
    "News",
    "Reading",
    "Restriction",
    "Video",
    "in_scope",
    "read",
    "read_columns",
]
