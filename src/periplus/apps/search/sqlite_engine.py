"""The engine on SQLite's full-text search: part of every Python, slower than tantivy, and enough for small crawls.

The table keeps no text of its own; what was added is kept beside it, because a row can only be removed by naming the
terms it was added with.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import zstandard

from .engine import Found, IndexEntry, Match, Question, Weights

_SCHEMA = """
create table if not exists entries (id integer primary key, site text, domain text, language text, media_type text,
    time integer, packed blob);
create virtual table if not exists terms using fts5(title, anchors, body, url_words, content='',
    tokenize='unicode61 remove_diacritics 0');
create virtual table if not exists vocabulary using fts5vocab(terms, row);
"""
_COLUMNS = ("title", "anchors", "body", "url_words")
_CONDITIONS = """
    and (:site = '' or entries.site = :site or entries.domain = :site)
    and (:language = '' or entries.language = :language)
    and (:media_type = '' or entries.media_type = :media_type)
    and (:after is null or entries.time >= :after) and (:before is null or entries.time < :before)"""


class SqliteEngine:
    """An index in one file."""

    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(folder / "terms.sqlite", check_same_thread=False)
        self._database.executescript("pragma journal_mode = wal; pragma synchronous = normal;" + _SCHEMA)

    def add(self, entries: Sequence[IndexEntry]) -> None:
        """Add documents; one with the same id is replaced."""
        self.delete([entry.id for entry in entries])
        pack = zstandard.ZstdCompressor(level=1).compress
        for entry in entries:
            texts = [getattr(entry, name) for name in _COLUMNS]
            row = (entry.id, entry.site, entry.domain, entry.language, entry.media_type, entry.time)
            self._database.execute(
                "insert into entries values (?, ?, ?, ?, ?, ?, ?)", (*row, pack("\n".join(texts).encode()))
            )
            self._database.execute(
                "insert into terms (rowid, title, anchors, body, url_words) values (?, ?, ?, ?, ?)", (entry.id, *texts)
            )

    def delete(self, ids: Sequence[int]) -> None:
        """Remove documents; ids that are not there are ignored."""
        unpack = zstandard.ZstdDecompressor().decompress
        for id_ in ids:
            kept = self._database.execute("select packed from entries where id = ?", (id_,)).fetchone()
            if kept is None:
                continue
            texts = unpack(kept[0]).decode().split("\n")
            self._database.execute(
                "insert into terms (terms, rowid, title, anchors, body, url_words) values ('delete', ?, ?, ?, ?, ?)",
                (id_, *texts),
            )
            self._database.execute("delete from entries where id = ?", (id_,))

    def commit(self) -> None:
        """Make all changes durable and visible."""
        self._database.commit()

    def find(self, question: Question, weights: Weights) -> Found:
        """The documents that match best."""
        words = [_any(word) for word in question.words]
        every = _joined(words, " AND ")
        with_all = dict(self._scores(every, question, weights))
        is_whole = len(with_all) < weights.candidates  # else documents without a word would come behind anyway
        scores = {}
        if (is_whole or not weights.all_words) and len(words) > 1:
            times = question.times or [1] * len(words)
            any_word = [word for word, number in zip(words, times, strict=True) for _ in range(number)]
            scores = dict(self._scores(_joined(any_word, " OR "), question, weights))
        scores = with_all | scores
        for id_ in with_all:
            scores[id_] += weights.all_words
        for term, weight in question.related:
            for id_, score in self._scores(_any((term,)), question, weights):
                scores[id_] = scores.get(id_, 0.0) + weight * score
        for phrase in (*question.joined, *question.phrases) if weights.phrase else ():
            _add(scores, self._scores(_phrase(phrase), question, weights), weights.phrase)
        if question.names and weights.names:
            together = _joined([_phrase(name) for name in question.names], " AND ")
            _add(scores, ((id_, 1.0) for id_, _ in self._scores(together, question, weights)), weights.names)
        if len(question.near) > 1 and weights.phrase:
            near = f"NEAR({' '.join(map(_quoted, question.near))}, {weights.slop})"
            _add(scores, self._scores(near, question, weights), weights.phrase)
        best = sorted(scores, key=lambda id_: (-scores[id_], id_))[: weights.candidates]
        total = len(with_all) if is_whole else self._count(every, question)
        return Found([Match(id_, scores[id_], id_ in with_all) for id_ in best], total)

    def count_with(self, term: str) -> int:
        """The number of documents with a term."""
        row = self._database.execute("select doc from vocabulary where term = ?", (term,)).fetchone()
        return int(row[0]) if row else 0

    def with_word(self, terms: Sequence[str], ids: Sequence[int]) -> set[int]:
        """Those of these documents that have a word: at least one of its terms."""
        sql = "select rowid from terms where terms match ? and rowid in (select value from json_each(?))"
        return {id_ for (id_,) in self._database.execute(sql, (_any(terms), json.dumps(list(ids))))}

    def close(self) -> None:
        """Release files and locks; changes since the last commit are lost."""
        self._database.close()

    def _scores(self, match: str, question: Question, weights: Weights) -> Iterator[tuple[int, float]]:
        """The best matches of an expression that meet the conditions."""
        repeats = weights.title_repeats + weights.title
        sql = (  # names and numbers of ours
            f"select terms.rowid, -bm25(terms, {repeats}, {1 + weights.anchor}, 1.0, 0.0) as score"  # noqa: S608
            f" from {_source(question)} order by score desc, terms.rowid limit :limit"
        )
        yield from self._database.execute(sql, self._values(match, question) | {"limit": weights.candidates})

    def _count(self, match: str, question: Question) -> int:
        sql = f"select count(*) from {_source(question)}"  # noqa: S608 - names of ours
        return int(self._database.execute(sql, self._values(match, question)).fetchone()[0])

    def _values(self, match: str, question: Question) -> dict[str, object]:
        required = [_phrase(phrase) for phrase in question.phrases]
        required += [f"title:{_quoted(term)}" for term in question.in_title]
        required += [f"url_words:{_quoted(term)}" for term in question.in_url]
        expression = _joined([part for part in (f"({match})" if match else "", *required) if part], " AND ")
        for phrase in question.without:
            expression = f"({expression}) NOT {_phrase(phrase)}"
        names = ("site", "language", "media_type", "after", "before")
        return {"match": expression} | {name: getattr(question, name) for name in names}


def _source(question: Question) -> str:
    """The tables that matches are read from; `entries` is joined only if there is a condition on it."""
    conditions = (question.site, question.language, question.media_type, question.after, question.before)
    if any(condition not in ("", None) for condition in conditions):
        return f"terms join entries on entries.id = terms.rowid where terms match :match {_CONDITIONS}"
    return "terms where terms match :match"


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _phrase(words: tuple[str, ...]) -> str:
    return "{title anchors body} : (" + " + ".join(map(_quoted, words)) + ")"


def _any(alternatives: Sequence[str]) -> str:
    return "{title anchors body} : (" + " OR ".join(map(_quoted, alternatives)) + ")"


def _joined(parts: Sequence[str], operator: str) -> str:
    return operator.join(parts)


def _add(scores: dict[int, float], found: Iterator[tuple[int, float]], weight: float) -> None:
    """Add to the scores of documents that are candidates already."""
    for id_, score in found:
        if id_ in scores:
            scores[id_] += weight * score
