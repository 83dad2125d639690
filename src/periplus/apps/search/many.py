"""One search of several indexes: the words of all of them decide what is rare, so that their scores can be compared."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from .index import Index
from .query import Query, parse_query
from .ranking import EXACT_COUNT, Results, rounded


def search_many(
    indexes: Mapping[str, Index],
    query: str | Query,
    k: int = 10,
    *,
    skip: int = 0,
    by_time: bool = False,
    expand: bool = False,
    exact: bool = False,
) -> Results:
    """The `k` best documents of several indexes after the first `skip`; `Hit.collection` is the name of the index.

    A word is corrected if no index has it. A document that several have is shown once, as the best of them.
    """
    asked = parse_query(query) if isinstance(query, str) else query
    all_of_them = list(indexes.values())
    showing = "" if exact else next(filter(None, (one.correction_of(asked, all_of_them) for one in all_of_them)), "")
    found = {
        name: index.search(showing or asked, skip + k, by_time=by_time, expand=expand, exact=True, beside=all_of_them)
        for name, index in indexes.items()
    }
    hits = [replace(hit, collection=name) for name, results in found.items() for hit in results]
    hits.sort(key=lambda hit: -(hit.modified_at or hit.fetched_at) if by_time else -hit.score)
    once = list({hit.url: hit for hit in reversed(hits)}.values())[::-1]
    total = sum(results.total for results in found.values())
    suggestions = [showing, *(results.suggestion for results in found.values())]
    return Results(
        query=asked.text,
        hits=tuple(once[skip : skip + k]),
        total=rounded(total),
        is_exact=total <= EXACT_COUNT and all(results.is_exact for results in found.values()),
        notes=tuple(dict.fromkeys(note for results in found.values() for note in results.notes)),
        suggestion=next(filter(None, suggestions), ""),
        showing=showing,
    )
