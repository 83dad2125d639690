"""Exports a collection as JSON lines, CSV, text, Markdown, Parquet or WARC.

`export_stream` and `export_folder` do it (`exporting` has the list of formats). For pages, `captures` finds the last
good version of every URL in the tables, `exporting` says which of them are wanted, `documents` takes their bytes from
the archive and parses them again, and `records` writes them.
Memory grows with the collection only by a few numbers a fetch.

`markdown` writes the main text of a page from the events of the scanner, as Markdown or as text with lines: `layout`
looks at tables and images first and puts blocks below each other, `marks` writes inline text, cells and single blocks.

`chunks` cuts the main text for retrieval and `kept_chunks` keeps what was cut for the next export, `bulk` writes
documents for other search engines (all for `apps.export.retrieval`), `captures` reads what sites say about the use of
pages.

Nothing here changes what a collection holds.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .documents import markdown_of
    from .exporting import (
        FOLDERS,
        STREAMS,
        ChangedPages,
        Committed,
        Exported,
        PageFilter,
        Selection,
        export_captures,
        export_documents,
        export_folder,
        export_stream,
    )
    from .markdown import to_markdown, to_text
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "FOLDERS",
    "STREAMS",
    "ChangedPages",
    "Committed",
    "Exported",
    "PageFilter",
    "Selection",
    "export_captures",
    "export_documents",
    "export_folder",
    "export_stream",
    "markdown_of",
    "to_markdown",
    "to_text",
]
