"""Exports a collection as JSON lines, CSV, text, Markdown, Parquet or WARC.

`export_stream` and `export_folder` do it (`exporting` has the list of formats). For pages, `captures` finds the last
good version of every URL in the tables, `selection` says which of them are wanted, `documents` takes their bytes from
the archive and parses them again, and `records` or `files` write them; `paths` says where the file of a URL lies.
Memory grows with the collection only by a few numbers a fetch.

`markdown` writes the main text of a page from the events of the scanner, as Markdown or as text with lines: `layout`
looks at tables and images first, `spans` finds the columns of cells, `marks` writes inline text and single blocks,
`blocks` puts them below each other.

Nothing here changes a collection.
"""

from .documents import markdown_of
from .exporting import FOLDERS, FORMATS, STREAMS, Committed, Exported, export_folder, export_stream
from .markdown import to_markdown, to_text
from .selection import PageFilter, Selection

__all__ = [
    "FOLDERS",
    "FORMATS",
    "STREAMS",
    "Committed",
    "Exported",
    "PageFilter",
    "Selection",
    "export_folder",
    "export_stream",
    "markdown_of",
    "to_markdown",
    "to_text",
]
