"""The tables, as Parquet: what happened, one row a fact, for queries after the crawl.

A live crawl and a simulation write the same tables from the same events: `discoveries` (where each URL was found, and
what was refused), `fetches` (each request, its result, and where that is stored), `pages` (what a page says of
itself), `links` (from where to where), `sitemaps` (visits to sitemaps and feeds),
`sitemap_entries` (what those say of pages), `changes` (what was different at the next visit) and `verdicts` (what
judges concluded); parts have tables of their own. `declared` has every column with its type and meaning, `schemas` what
follows for Arrow, and docs/tables.md shows them.

Rows take three steps. They wait in memory (`rows`, which makes them of events; `single_rows`); at a checkpoint they
become record batches (`columns`, and `links` for the most numerous) in an append-only `spool`; when there are enough of
them, row groups of a Parquet file. `table` and `writer` move them along so that a crash anywhere leaves exactly the
rows of the last committed mark. `manifest` lists the finished files, `verifying` compares them with their digests
before they are first read, `files` says which there are; `reader` gives rows back, those still in a spool too, and
names files that are missing, and saves what it can of damaged ones. `verdicts` has what jobs over the tables concluded.
`pandas_import` keeps pyarrow from importing pandas.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ..settings import TableSettings
    from .manifest import Spooled
    from .reader import count_rows, read, scan
    from .schemas import SCHEMAS
    from .writer import Tables
else:
    __getattr__ = lazy_exports(__name__)

__all__ = ["SCHEMAS", "Spooled", "TableSettings", "Tables", "count_rows", "read", "scan"]
