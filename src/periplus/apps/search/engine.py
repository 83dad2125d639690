"""The port to a full-text engine: it keeps terms, and finds the documents that a question matches best.

Engines know nothing of languages, pages or ranks: they get terms (`analysis`) and give numbers of documents with a
score. `tantivy` is fast and needs the extra `search`; `sqlite` needs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class IndexEntry(Struct, frozen=True):
    """The terms of one document, each field as terms with blanks between them, and what it can be filtered by."""

    id: int
    title: str
    anchors: str
    body: str
    url_words: str
    site: str
    domain: str
    language: str
    media_type: str
    time: int


class Reranking(Struct, frozen=True):
    """How much each part counts in the order of the first results (`reranking`); fitted on book indexes and questions.

    Change one, measure again.
    """

    results: int = 30
    """Results that are ordered so; 0 for none."""
    near: float = 17.0
    passage: float = 16.5
    definition: float = 10.7
    title: float = 10.8
    anchor: float = 6.2
    anchors: float = 7.0
    length: float = 1.5
    coverage: float = 15.0
    every_word: float = -12.0
    meaning: float = 60.0
    """Of how near the best passage is to the query, where an index has vectors (`vectors`)."""
    rank: float = 1.2
    """Of ln(1 + PageRank times the number of pages), instead of `Weights.rank`."""


class Weights(Struct, frozen=True):
    """How much each part of a match counts. Chosen by experiment (see docs/search.md); change one, measure again."""

    title_repeats: int = 5
    """A term of the title counts as this many in the text."""
    title: float = 0.2
    anchor: float = 0.2
    phrase: float = 0.6
    """Of words typed as one, and of the whole query as a phrase with gaps."""
    names: float = 10.0
    """For a document in which the words of every name (`os.path`, `log_hostname`) are beside each other."""
    all_words: float = 10.0
    """For a document that has every word of a short query: it outweighs most scores. Sentences have words to spare."""
    short: int = 5
    """Words of a short query, without stop words."""
    long: int = 12
    """Words of a query above which a word that is typed twice counts twice."""
    rank: float = 0.3
    """Of ln(1 + PageRank times the number of pages)."""
    spam: float = 2.0
    fresh: float = 0.0
    """Of a page modified now; half of it after `fresh_days`. For collections of news 0.5."""
    fresh_days: float = 30.0
    home: float = 3.0
    """For the home page of a site whose name the query is."""
    listing: float = 5.0
    """Taken from a page that mostly lists others, which comes after what it lists (see `reranking`)."""
    slop: int = 3
    """Words that may lie between the words of the query in the phrase."""
    max_phrase: int = 6
    """Words of a query that is looked up as a phrase, too; longer ones are sentences."""
    candidates: int = 200
    """Documents that the engine gives for ranking, if not more are asked for."""
    reranking: Reranking = Reranking()


class Question(Struct, frozen=True):
    """A query in terms. A word is a tuple of alternatives (the term of each language); one of them must match."""

    words: tuple[tuple[str, ...], ...]
    times: tuple[int, ...] = ()
    """How often each word counts; empty: once."""
    related: tuple[tuple[str, float], ...] = ()
    """Terms that count if they match, each with a weight: words of the best pages (`expansion`)."""
    phrases: tuple[tuple[str, ...], ...] = ()
    """Each must match."""
    joined: tuple[tuple[str, ...], ...] = ()
    """Each counts if it matches."""
    names: tuple[tuple[str, ...], ...] = ()
    """Those of `joined` that are names; a document that has all of them counts more."""
    near: tuple[str, ...] = ()
    """The whole query as a phrase with gaps."""
    without: tuple[tuple[str, ...], ...] = ()
    in_title: tuple[str, ...] = ()
    in_url: tuple[str, ...] = ()
    site: str = ""
    language: str = ""
    media_type: str = ""
    after: int | None = None
    before: int | None = None


class Match(Struct, frozen=True):
    """A document, its score, and whether it has every word."""

    id: int
    score: float
    has_all_words: bool


class Found(Struct, frozen=True):
    """The best matches, best first, and the number of all documents with every word."""

    matches: Sequence[Match]
    total: int


class SearchEngine(Protocol):
    """What an engine does. Changes are seen by searches after `commit`, and survive a crash from then on."""

    name: str

    def add(self, entries: Sequence[IndexEntry]) -> None:
        """Add documents; one with the same id is replaced."""

    def delete(self, ids: Sequence[int]) -> None:
        """Remove documents; ids that are not there are ignored."""

    def commit(self) -> None:
        """Make all changes durable and visible."""

    def find(self, question: Question, weights: Weights) -> Found:
        """The documents that match best."""

    def count_with(self, term: str) -> int:
        """The number of documents with a term."""

    def with_word(self, terms: Sequence[str], ids: Sequence[int]) -> set[int]:
        """Those of these documents that have a word: at least one of its terms."""

    def close(self) -> None:
        """Release files and locks; changes since the last commit are lost."""
