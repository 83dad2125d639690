"""Every table that can be asked in SQL: its name, a sentence on what a row of it is, and how it is made.

The tables come as the crawl wrote them (`docs/tables.md`). `urls` and `site_ranks` are computed once and kept
(`making`); all others are views on these, in `catalogue.sql` or in the module `rows` of a part, and shown in
`docs/measures.md`.

The words are those of Schonfeld & Shivakumar (2009). *Sitemaps* stands for all that sites say of themselves (sitemaps,
feeds, pings, archives), *Discovery* for all else (seeds, links, redirects, forms). *Seen* is a URL that was discovered
in a source, within the scope of the crawl; *crawled*, one that was requested; *unique*, one page of each cluster of
near-duplicates; *indexed*, one page of each cluster that may be indexed: it is there (200), does not forbid it
(noindex, or a preference against search), and names no other URL as its canonical that is believed. That stands in for
the index of a search engine, which we do not have.
"""

from __future__ import annotations

import re
from typing import Final

from periplus.model.rows import TableView, modules_of_parts, summary
from periplus.model.statements import Statements
from periplus.store.tables.declared import ROWS

from ..entity_rows import EntityRow
from .measured import MEASURES, columns_of

MAX_HOPS: Final = 20
"""Redirects that are followed from one URL: browsers stop at 20."""


TABLES: Final = tuple(TableView(name, summary(row)) for name, row in ROWS.items())
"""As the crawl wrote them."""

ITEMS: Final = TableView("items", "Items that an extractor made of the last version of each page; fields are columns.")
ITEM_VERSIONS: Final = TableView("item_versions", "Every item that an extractor returned, of all versions of pages.")
"""Both are written by the program that hands pages over (`store.items`)."""

ENTITIES: Final = TableView(EntityRow.table, summary(EntityRow))
"""Made from the archive when it is first asked for, and kept in the folder `insight` (`insight.entities`)."""

MADE: Final = (
    TableView("urls", "Every URL once, with everything known about it; the measures are over this table."),
    TableView("site_ranks", "PageRank of every site over links between sites, and the sum over its pages."),
)
"""Computed once, and kept in the folder `insight` of the collection until the tables grow."""

_OF_EVERY_CRAWL: Final = Statements(__file__).declared(TableView, measures=columns_of(MEASURES), max_hops=MAX_HOPS)

DERIVED: Final = (*_OF_EVERY_CRAWL, *(view for module in modules_of_parts() for view in getattr(module, "VIEWS", ())))
"""On the tables above, and on each other; last those of parts."""

VIEWS: Final = {view.name: view for view in (*TABLES, ITEMS, ITEM_VERSIONS, ENTITIES, *MADE, *DERIVED)}
"""Everything by its name, in the order in which to show it."""

_NAMES: Final = re.compile(r"\w+")
_TEXTS: Final = re.compile(r"'[^']*'")
"""Literals, whose words are not names of tables; one with a quotation mark in it counts as two."""


def names_in(sql: str) -> list[str]:
    """The tables and views that are named in some SQL."""
    return sorted(set(_NAMES.findall(_TEXTS.sub("", sql).lower())) & VIEWS.keys())


def tables_in(sql: str) -> set[str]:
    """The tables of the crawl that a query reads, by itself or through views."""
    found: set[str] = set()
    for name in names_in(sql):
        found |= {name} if VIEWS[name] in TABLES else tables_in(VIEWS[name].sql)
    return found


def needs_computed(sql: str) -> bool:
    """Whether a query rests on the computed tables, by itself or through a view."""
    return any(VIEWS[name] in (*MADE, ENTITIES) or needs_computed(VIEWS[name].sql) for name in names_in(sql))
