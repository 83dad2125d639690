"""The columns of the table `entities`, apart from what fills it: that loads a reader of pages."""

from __future__ import annotations

from periplus.model.rows import Moment, Number, TableRow, Text, Word, WordList


class EntityRow(TableRow, frozen=True):
    """What the last version of each page says of itself in JSON-LD, microdata, RDFa and Open Graph.

    A row is an item that is not a property of another one. The table is made when a query first names it, and kept.
    """

    table = "entities"
    key = ("page", "position")

    page: Text
    """its URL"""
    site: Word
    """its site"""
    read_at: Moment
    """when it was fetched"""
    position: Number
    """place among those of the page, from 0"""
    syntax: Word | None
    """`json-ld` `microdata` `rdfa` `open-graph`"""
    type: Word | None
    """of schema.org, such as `Article`, or of Open Graph, such as `website`"""
    name: Text | None
    """name, headline or title"""
    url: Text | None
    """of what is described"""
    date_published: Moment | None
    """as the page says"""
    date_modified: Moment | None
    """as the page says"""
    breadcrumbs: WordList | None
    """names of a `BreadcrumbList`, from the root of the site down"""
