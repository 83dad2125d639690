"""Search: an index of documents, queries as people type them, and results in order of relevance.

`Index` (`index`) is the door. A text becomes terms in `analysis` (with `stop_words`); a query becomes a value in
`query`, and terms for the engine. Engines (`engine` is the port, `tantivy_engine` and `sqlite_engine` are behind it)
find candidates; `ranking` orders them; `documents` keeps what is shown, `snippets` cuts texts, `spelling` finds words
that were meant. `evaluation` measures all of it against judgements.
"""

from .documents import id_of
from .engine import Weights
from .evaluation import Judged, Measures, evaluate
from .index import Document, Index
from .query import Query, parse_query
from .results import Hit, Results

__all__ = [
    "Document",
    "Hit",
    "Index",
    "Judged",
    "Measures",
    "Query",
    "Results",
    "Weights",
    "evaluate",
    "id_of",
    "parse_query",
]
