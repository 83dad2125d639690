"""Search for programs: an index of documents of any origin, queries as people type them, measured ranking.

    with periplus.search.Index.open("notes") as index:
        index.add([periplus.search.Document(...)])

A thin public module: `periplus.apps.search` does the work, `docs/search.md` describes it.
"""

from periplus.apps.search import (
    PLAIN,
    TITLE_BOOST,
    Document,
    Hit,
    Index,
    IndexOutdated,
    Judged,
    Measures,
    Query,
    Reranking,
    Results,
    SectionHit,
    Sitelink,
    Weights,
    evaluate,
    parse_query,
    search_many,
)
from periplus.model import PageSection

__all__ = [
    "PLAIN",
    "TITLE_BOOST",
    "Document",
    "Hit",
    "Index",
    "IndexOutdated",
    "Judged",
    "Measures",
    "PageSection",
    "Query",
    "Reranking",
    "Results",
    "SectionHit",
    "Sitelink",
    "Weights",
    "evaluate",
    "parse_query",
    "search_many",
]
