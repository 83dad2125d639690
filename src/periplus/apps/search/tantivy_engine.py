"""The engine on tantivy: a compiled full-text index with positions, in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tantivy
from tantivy import Occur, Query

from .engine import Found, IndexEntry, Match, Question, Weights
from .ranking import rarity

_ANALYSER = "terms"
_WRITER_BYTES = 64 << 20
"""Memory in which documents are gathered before a segment is written: twice of it makes indexing 3 % faster."""
_TEXTS = ("all", "title", "anchors", "url_words")
_NAMES = ("site", "domain", "language", "media_type")


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", stored=False, indexed=True, fast=True)
    builder.add_integer_field("time", stored=False, indexed=True, fast=True)
    for name in _TEXTS:
        builder.add_text_field(name, stored=False, tokenizer_name=_ANALYSER, index_option="position")
    for name in _NAMES:
        builder.add_text_field(name, stored=False, tokenizer_name="raw", index_option="basic")
    return builder.build()


class TantivyEngine:
    """An index in a folder. A writer is made at the first change and holds the folder's lock."""

    name = "tantivy"

    def __init__(self, folder: Path, weights: Weights | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._repeats = (weights or Weights()).title_repeats
        self._index = tantivy.Index(_schema(), path=str(folder))
        self._schema = self._index.schema
        self._index.register_tokenizer(_ANALYSER, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
        self._writer: tantivy.IndexWriter | None = None
        self._commit = folder / "meta.json"
        self._seen = self._commit.stat().st_mtime_ns

    def add(self, entries: Sequence[IndexEntry]) -> None:
        """Add documents; one with the same id is replaced."""
        self.delete([entry.id for entry in entries])
        writer = self._opened()
        for entry in entries:
            document = tantivy.Document()
            document.add_integer("id", entry.id)
            document.add_integer("time", entry.time)
            document.add_text("all", " ".join((*[entry.title] * self._repeats, entry.anchors, entry.body)))
            document.add_text("title", entry.title)
            document.add_text("anchors", entry.anchors)
            document.add_text("url_words", entry.url_words)
            for name in _NAMES:
                document.add_text(name, getattr(entry, name))
            writer.add_document(document)

    def delete(self, ids: Sequence[int]) -> None:
        """Remove documents; ids that are not there are ignored."""
        writer = self._opened()
        for id_ in ids:
            writer.delete_documents_by_term("id", id_)

    def commit(self) -> None:
        """Make all changes durable and visible."""
        if self._writer is not None:
            self._writer.commit()

    def find(self, question: Question, weights: Weights) -> Found:
        """The documents that match best.

        Where enough documents have every word, others are not looked at: it is several times faster, and the weight of
        having every word would put them behind. Where that has no weight, all are.
        """
        searcher = self._searcher()
        filters = self._filters(question)
        everything = self._with_all(searcher, question)
        ranked = self._ranked(searcher, question, weights)
        bonus = Query.const_score_query(everything, weights.all_words)
        strict = _all([*filters, (Occur.Must, bonus), *ranked])
        answer = searcher.search(strict, weights.candidates, count=True)
        found, total = answer.hits, _count(answer)
        with_all = {(address.segment_ord, address.doc) for _, address in found}
        is_enough = total >= weights.candidates and weights.all_words > 0
        if question.related or (len(question.words) > 1 and not is_enough):
            loose = Query.boolean_query([(Occur.Should, bonus), *ranked])
            found = searcher.search(_all([*filters, (Occur.Must, loose)]), weights.candidates, count=False).hits
        if not found:
            return Found((), total)
        return Found(
            [
                Match(id_, score, (address.segment_ord, address.doc) in with_all)
                for id_, (score, address) in zip(_ids(searcher, found), found, strict=True)
            ],
            total,
        )

    def count_with(self, term: str) -> int:
        """The number of documents with a term."""
        return self._searcher().doc_freq("all", term)

    def with_word(self, terms: Sequence[str], ids: Sequence[int]) -> set[int]:
        """Those of these documents that have a word: at least one of its terms."""
        searcher = self._searcher()
        either = Query.term_set_query(self._schema, "all", list(terms))
        these = Query.term_set_query(self._schema, "id", list(ids))
        found = searcher.search(_all([(Occur.Must, either), (Occur.Must, these)]), len(ids), count=False).hits
        return set(_ids(searcher, found))

    def close(self) -> None:
        """Release files and locks; changes since the last commit are lost."""
        if self._writer is not None:
            self._writer.rollback()
            self._writer.wait_merging_threads()
            self._writer = None

    def _searcher(self) -> tantivy.Searcher:
        """A view of the last commit, of this process or another."""
        try:
            last = self._commit.stat().st_mtime_ns
        except FileNotFoundError:  # a newer generation took its place: what is open stays readable
            last = self._seen
        if last != self._seen:
            self._index.reload()
            self._seen = last
        return self._index.searcher()

    def _opened(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(_WRITER_BYTES, num_threads=1)
        return self._writer

    def _term(self, field: str, term: str) -> Query:
        return Query.term_query(self._schema, field, term)

    def _word(self, searcher: tantivy.Searcher, field: str, alternatives: tuple[str, ...]) -> Query:
        """A word that may have one of several terms, each weighted as if all of them were one term.

        A term of a language with few documents is rare, and would count more than the same word in the main language.
        """
        if len(alternatives) == 1:
            return self._term(field, alternatives[0])
        numbers = [searcher.doc_freq(field, term) for term in alternatives]
        whole = rarity(sum(numbers), searcher.num_docs)
        return Query.disjunction_max_query(
            [
                _boosted(self._term(field, term), whole / rarity(number, searcher.num_docs))
                for term, number in zip(alternatives, numbers, strict=True)
                if number
            ]
            or [self._term(field, alternatives[0])]
        )

    def _phrase(self, words: tuple[str, ...], slop: int = 0) -> Query:
        if len(words) == 1:
            return self._term("all", words[0])
        return Query.phrase_query(self._schema, "all", list(words), slop)

    def _with_all(self, searcher: tantivy.Searcher, question: Question) -> Query:
        """Documents that have every word."""
        return _all([(Occur.Must, self._word(searcher, "all", word)) for word in question.words])

    def _ranked(self, searcher: tantivy.Searcher, question: Question, weights: Weights) -> list[tuple[Occur, Query]]:
        """What adds to the score of a document."""
        words = question.words
        parts = [self._word(searcher, "all", word) for word in words]
        if question.times:
            parts = [_boosted(part, float(times)) for part, times in zip(parts, question.times, strict=True)]
        parts += [_boosted(self._term("all", term), weight) for term, weight in question.related]
        parts += [_boosted(self._word(searcher, "title", word), weights.title) for word in words if weights.title]
        parts += [_boosted(self._word(searcher, "anchors", word), weights.anchor) for word in words if weights.anchor]
        if weights.phrase:
            phrases = [self._phrase(phrase) for phrase in (*question.joined, *question.phrases)]
            if question.near:
                phrases.append(self._phrase(question.near, weights.slop))
            parts += [_boosted(phrase, weights.phrase) for phrase in phrases]
        if question.names and weights.names:
            together = _all([(Occur.Must, self._phrase(name)) for name in question.names])
            parts.append(Query.const_score_query(together, weights.names))
        return [(Occur.Should, part) for part in parts]

    def _filters(self, question: Question) -> list[tuple[Occur, Query]]:
        """Conditions that add nothing to a score."""
        never: Callable[[Query], tuple[Occur, Query]] = lambda query: (Occur.MustNot, query)  # noqa: E731
        must: Callable[[Query], tuple[Occur, Query]] = lambda query: (  # noqa: E731
            Occur.Must,
            Query.const_score_query(query, 0.0),
        )
        conditions = [must(self._phrase(phrase)) for phrase in question.phrases]
        conditions += [never(self._phrase(phrase)) for phrase in question.without]
        conditions += [must(self._term("title", term)) for term in question.in_title]
        conditions += [must(self._term("url_words", term)) for term in question.in_url]
        if question.site:
            either = [(Occur.Should, self._term(field, question.site)) for field in ("site", "domain")]
            conditions.append(must(Query.boolean_query(either)))
        if question.language:
            conditions.append(must(self._term("language", question.language)))
        if question.media_type:
            conditions.append(must(self._term("media_type", question.media_type)))
        if question.after is not None or question.before is not None:
            first, last = question.after or 0, (question.before or 1 << 62) - 1
            times = Query.range_query(self._schema, "time", tantivy.FieldType.Integer, first, last)
            conditions.append(must(times))
        return conditions


def _all(clauses: list[tuple[Occur, Query]]) -> Query:
    return Query.boolean_query(clauses) if clauses else Query.all_query()


def _boosted(query: Query, weight: float) -> Query:
    return Query.boost_query(query, weight)


def _ids(searcher: tantivy.Searcher, hits: Sequence[tuple[Any, tantivy.DocAddress]]) -> list[int]:
    return [int(value or 0) for value in searcher.fast_field_values("id", [address for _, address in hits])]


def _count(result: Any) -> int:
    """The number of all documents found; the type of results does not declare it."""
    return int(result.count or 0)
