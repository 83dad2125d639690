"""A collection for others: what was crawled, as JSON lines, text, Markdown, Parquet or WARC.

`export_stream` and `export_folder` do it (`exporting` has the list of formats). For pages, `captures` finds the last
good version of every URL in the tables, `documents` takes its bytes from the archive and reads them again, and `jsonl`
or `files` write them; `paths` says where the file of a URL lies. Memory does not grow with the size of the collection
but for a few numbers a fetch.

`markdown` writes the main text of a page from the events of the scanner, as Markdown or as text with lines: `layout`
looks at tables and images first, `marks` writes inline text and single blocks, `blocks` puts them below each other.

Nothing here changes a collection.
"""

from .documents import markdown_of
from .exporting import FOLDERS, FORMATS, STREAMS, Committed, Exported, export_folder, export_stream
from .markdown import to_markdown, to_text

__all__ = [
    "FOLDERS",
    "FORMATS",
    "STREAMS",
    "Committed",
    "Exported",
    "export_folder",
    "export_stream",
    "markdown_of",
    "to_markdown",
    "to_text",
]
