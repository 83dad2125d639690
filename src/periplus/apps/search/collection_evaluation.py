"""How well a collection's own pages are found: known-item queries made from its links and titles.

A link text that exactly one page uses, and that links to one page only, is a query whose answer is known; so is a title
that one page has. The text is withheld from the index that answers. The pages are indexed twice, in a temporary folder:
once for plain BM25 of their texts, once as `periplus search` does it. Where `serve` keeps a log of queries, these are
asked again, too: what people look for and do not find.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from periplus.collection.collection import CollectionSetup
from periplus.content.text_language import words_of
from periplus.model import UsageError
from periplus.view.notebook import Displayed

from . import PLAIN, Document, Index, Judged, Measures, Weights, evaluate
from .indexing import EMPTY_ANCHORS, open_index
from .query_log import read_queries

QUERIES = 500
"""Half from links, half from titles: enough to distinguish two rankings that differ by a few hundredths."""
MAX_PAGES = 10_000
"""Pages that are indexed for the evaluation, sampled from larger collections: about half a minute."""
MAX_LOGGED = 10_000
"""Different queries of the log that are asked again: some minutes at most."""
MAX_MISSING = 50
"""Queries without a result that are named."""
_TITLE_WORDS = 4
"""Words of a title that make a query: people type few."""
_ANCHORS = """\
with texts as (
    select lower(trim(anchor)) as text, any_value(target) as target, count(distinct target) as targets,
        count(distinct page) as pages
    from current_links where target <> page and length(trim(anchor)) between 4 and 100 group by text)
select text, target from texts where targets = 1 and pages = 1 order by text"""


class AskedByPeople(Struct, frozen=True):
    """What the index says today to the queries of the log: how many have results, and those that have none."""

    queries: int
    """Different ones."""
    found: int
    """With all words."""
    corrected: int
    """Found with another word in place of one that is on no page."""
    partly: int
    """On no page with all words."""
    not_found: tuple[tuple[str, int], ...]
    """With how often each was asked, the most frequent first."""


class SearchEvaluation(Displayed, frozen=True):
    """Measures of each ranking over the same queries and pages; and what people asked, where that is logged."""

    pages: int
    queries: int
    rankings: Mapping[str, Measures]
    asked: AskedByPeople | None = None


def evaluate_search(collection: CollectionSetup, queries: int = QUERIES) -> SearchEvaluation:
    """Measure plain BM25 and our ranking on queries made from an indexed collection."""
    with open_index(collection) as index:
        documents = {document.url: document for document in index.documents(MAX_PAGES)}
        logged = _asked_by_people(collection, index)
    chance = random.Random(1)  # noqa: S311 - a sample, not a secret
    anchors = _anchors(collection, documents)
    titles = _titles(documents)
    asked = [*_some(anchors, queries // 2, chance), *_some(titles, queries - queries // 2, chance)]
    if not asked:
        raise UsageError(
            f"{collection.folder} has no link texts or titles to make queries of", hint="Crawl more pages first."
        )
    withheld = {target: text for text, target in asked}
    ours = [
        replace(one, anchors=tuple(text for text in one.anchors if text != withheld.get(one.url)))
        for one in documents.values()
    ]
    bare = [replace(one, title="", anchors=()) for one in documents.values()]
    judged = [Judged(text, {target: 1.0}) for text, target in asked]
    rankings = {
        "BM25 of the text": _measured(bare, PLAIN, judged),
        "periplus": _measured(ours, Weights(), judged),
    }
    return SearchEvaluation(len(documents), len(judged), rankings, logged)


def _asked_by_people(collection: CollectionSetup, index: Index) -> AskedByPeople | None:
    """Ask the queries of the log again, the most frequent if there are very many; None if there is no log."""
    times = Counter(" ".join(logged.query.lower().split()) for logged in read_queries(collection.folder))
    if not times:
        return None
    answers = {query: index.search(query, 1) for query, _ in times.most_common(MAX_LOGGED)}
    corrected = [query for query, found in answers.items() if found and found.showing]
    partly = [query for query, found in answers.items() if found and not found.showing and not found.total]
    missing = [(query, times[query]) for query, found in answers.items() if not found]
    return AskedByPeople(
        queries=len(answers),
        found=len(answers) - len(corrected) - len(partly) - len(missing),
        corrected=len(corrected),
        partly=len(partly),
        not_found=tuple(missing[:MAX_MISSING]),
    )


def _anchors(collection: CollectionSetup, documents: Mapping[str, Document]) -> list[tuple[str, str]]:
    from periplus.insight.views import Views  # imports DuckDB: only where it is used

    with Views(collection.folder, spooled=collection.layout.spooled, say=lambda _: None) as views:
        rows = [(str(row["text"]), str(row["target"])) for row in views.rows(_ANCHORS)]
    return [(text, target) for text, target in rows if target in documents and text not in EMPTY_ANCHORS]


def _titles(documents: Mapping[str, Document]) -> list[tuple[str, str]]:
    """The first words of titles that begin so only once."""
    begun = {url: words_of(one.title)[:_TITLE_WORDS] for url, one in documents.items()}
    queries = {url: " ".join(words) for url, words in begun.items() if len(words) > 1}
    times = Counter(queries.values())
    return sorted((text, url) for url, text in queries.items() if times[text] == 1)


def _some(rows: Sequence[tuple[str, str]], number: int, chance: random.Random) -> list[tuple[str, str]]:
    return chance.sample(rows, min(number, len(rows)))


def _measured(documents: Sequence[Document], weights: Weights, judged: Sequence[Judged]) -> Measures:
    with (
        tempfile.TemporaryDirectory(prefix="periplus-search-") as folder,
        Index.open(Path(folder) / "index", weights=weights) as index,
    ):
        index.add(documents)
        index.commit()
        return evaluate(judged, partial(_urls, index))


def _urls(index: Index, query: str) -> list[str]:
    return [one.url for one in index.rank(query, 100)]
