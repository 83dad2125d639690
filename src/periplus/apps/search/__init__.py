"""Search: an index of documents, queries as people type them, and results in order of relevance.

`Index` (`index`) is the door. A text becomes terms in `analysis`; a query becomes a value in `query`, and terms for the
engine. Engines (`engine` is the port, `tantivy_engine` and `sqlite_engine` are behind it) find candidates; `ranking`
orders them and has what is returned; `documents` keeps what is shown, `snippets` cuts texts. `evaluation` measures all
of it.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .documents import hash_of, id_of
    from .engine import Reranking, Weights
    from .evaluation import PLAIN, TITLE_BOOST, Judged, Measures, evaluate
    from .index import Document, Index, IndexOutdated
    from .many import search_many
    from .query import Query, parse_query
    from .ranking import Hit, Results, SectionHit, Sitelink
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "PLAIN",
    "TITLE_BOOST",
    "Document",
    "Hit",
    "Index",
    "IndexOutdated",
    "Judged",
    "Measures",
    "Query",
    "Reranking",
    "Results",
    "SectionHit",
    "Sitelink",
    "Weights",
    "evaluate",
    "hash_of",
    "id_of",
    "parse_query",
    "search_many",
]
