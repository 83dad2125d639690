"""The archive: every answer of the web as it came, in files that the tools of web archives read.

WARC 1.1 (ISO 28500:2017) with one gzip member or Zstandard frame a record (`packing`), and CDXJ beside it. `Archive`
appends: an exchange becomes the records `response` or `revisit`, `request` and `metadata`, all in one write, and `end`
is how far the files go. The state of the crawl keeps that end; after a crash the archive is opened there again, and
what lies beyond is gone.
`read_records` reads a file from end to end in bounded memory, ours or another's, and reports what is wrong with it;
`read_record` reads one by its place; a `FileSlice` is a file inside another, such as a member of a ZIP archive.
`write_index`, `merge_indexes` and `lookup` find captures by URL, and `original` the payload of a revisit.
`archived_answers` gives back what the wire once returned, in the order of writing.

Fetching is done elsewhere, and so is the memory of which payloads were seen before: that is a port, `Payloads`. Bodies
are kept as they came, their content codings on; `content` takes those off.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ..settings import WarcSettings
    from .answers import ArchivedAnswer, archived_answers
    from .archive import Archive
    from .cdxj import CdxLine
    from .end import WarcEnd
    from .http import HttpMessage
    from .index import INDEX, lookup, merge_indexes, original, write_index
    from .reading import MAX_BLOCK, FileSlice, WarcRecord, read_heads, read_record, read_records
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "INDEX",
    "MAX_BLOCK",
    "Archive",
    "ArchivedAnswer",
    "CdxLine",
    "FileSlice",
    "HttpMessage",
    "WarcEnd",
    "WarcRecord",
    "WarcSettings",
    "archived_answers",
    "lookup",
    "merge_indexes",
    "original",
    "read_heads",
    "read_record",
    "read_records",
    "write_index",
]
