"""The front door for programs: crawl, open a collection, map a site. `periplus` exports what is here.

`commands` has the functions, whose keywords are the options of the command line (`keywords` has their types,
`signature` shows them); both go through `collection`, so a collection made here is a collection there and the other way
round. A `Crawl` (`crawling`) runs in a thread of its own or in worker processes and hands pages over once they are
stored; and remembers which were handled. A `Collection` (`collection`) reads what is stored, a `Watch` (`watching`)
hands over changes as they are found, a `Page` (`page`) is one version of a page, an `Answer` is what SQL returns.
`mapping` lists what a site publishes; `reading` reads single pages; `serving` shows collections in a browser.
`credentials` turns passwords, cookies and header fields into those of single sites. `docs/library.md` shows how all of
it is used.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .collection import Answer, Collection, KnownPage
    from .commands import crawl, open  # noqa: A004 - as `gzip.open` and `dbm.open`
    from .crawling import Crawl
    from .mapping import MappedUrl, map  # noqa: A004 - the command has this name, too
    from .page import Page
    from .page_change import PageChange
    from .reading import to_markdown
    from .serving import serve
    from .watching import Watch
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "Answer",
    "Collection",
    "Crawl",
    "KnownPage",
    "MappedUrl",
    "Page",
    "PageChange",
    "Watch",
    "crawl",
    "map",
    "open",
    "serve",
    "to_markdown",
]
