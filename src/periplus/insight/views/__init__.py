"""A collection as something to ask in SQL: the tables, one row for every URL, and views with the measures on top.

`Views` opens a folder; `VIEWS` has every name with a sentence on it; `MEASURES` has every measure as an expression over
`urls`; `QUESTIONS` has what is worth asking of any collection, to be shown beside the numbers. What each means and what
to do about it is in `docs/measures.md`.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .catalogue import DERIVED, ENTITIES, ITEMS, MADE, TABLES, VIEWS
    from .connection import Answer, Views, ViewSettings
    from .measured import MEASURES, Measure, columns_of
    from .questions import QUESTIONS
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "DERIVED",
    "ENTITIES",
    "ITEMS",
    "MADE",
    "MEASURES",
    "QUESTIONS",
    "TABLES",
    "VIEWS",
    "Answer",
    "Measure",
    "ViewSettings",
    "Views",
    "columns_of",
]
