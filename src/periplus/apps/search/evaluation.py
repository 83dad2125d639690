"""How good results are, by queries whose relevant documents are known; and the words of a query as terms of an index.

Pure: a query becomes a question in the terms of the languages that the index has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log2
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from periplus.content.text_language import is_stop_word

from .analysis import MAX_WORD, term_of
from .engine import Question, Reranking, Weights
from .query import Query

_KEYWORDS = 5
"""Words of a query that may be keywords; a longer one in capitals is a sentence."""


def looked_up(asked: Query, languages: list[str]) -> list[str]:
    """The words of a query without stop words; all of them if nothing is left.

    A stop word in capitals is meant in a short query: a keyword such as the `ON` of `ON CONFLICT`.
    """
    words = [word for word in asked.words if len(word) <= MAX_WORD]
    typed = set(asked.text.split()) if len(words) <= _KEYWORDS else ()
    is_meant = {word for word in words if len(word) > 1 and word.upper() in typed}
    return [word for word in words if word in is_meant or not is_stop_word(word, languages)] or words


def question_of(asked: Query, languages: list[str], weights: Weights) -> Question:
    """The query in terms of the languages of the index."""
    words = looked_up(asked, languages)
    typed = dict(zip(asked.words, asked.times, strict=False))
    first = languages[0]
    terms = _terms(words, first)
    return Question(
        words=tuple(tuple(dict.fromkeys(term_of(word, language) for language in languages)) for word in words),
        times=tuple(typed.get(word, 1) for word in words) if len(words) > weights.long else (),
        phrases=tuple(_terms(phrase, first) for phrase in asked.phrases),
        joined=tuple(_terms(joined, first) for joined in asked.joined),
        names=tuple(_terms(name, first) for name in asked.names),
        near=terms if 2 <= len(terms) <= weights.max_phrase else (),
        without=tuple(_terms(phrase, first) for phrase in asked.without),
        in_title=_terms(asked.in_title, first),
        in_url=asked.in_url,
        site=asked.site,
        language=asked.language,
        media_type=asked.media_type,
        after=None if asked.after is None else int(asked.after),
        before=None if asked.before is None else int(asked.before),
    )


def _terms(words: Sequence[str], language: str) -> tuple[str, ...]:
    return tuple(term for word in words if (term := term_of(word, language)))


PLAIN = Weights(
    title_repeats=0,
    title=0,
    anchor=0,
    phrase=0,
    names=0,
    all_words=0,
    rank=0,
    spam=0,
    home=0,
    listing=0,
    reranking=Reranking(results=0),
)
"""BM25 of the text and nothing else: what every other ranking has to beat."""
TITLE_BOOST = replace(PLAIN, title=3)
"""The usual sum of fields with a boosted title."""


class Judged(Struct, frozen=True):
    """A query and the grade of each relevant document; documents that are not named are not relevant."""

    query: str
    grades: Mapping[str, float]


class Measures(Struct, frozen=True):
    """Means over queries: average precision, nDCG of ten, reciprocal rank, and success of one and of ten."""

    queries: int
    mean_average_precision: float
    ndcg_10: float
    reciprocal_rank: float
    success_1: float
    success_10: float


def evaluate(judged: Iterable[Judged], search: Callable[[str], Sequence[str]]) -> Measures:
    """Ask every query; `search` gives documents, best first."""
    rows = []
    for one in judged:
        found = search(one.query)
        relevant = [place for place, document in enumerate(found, 1) if one.grades.get(document, 0) > 0]
        first = relevant[0] if relevant else None
        rows.append(
            (
                average_precision(relevant, sum(grade > 0 for grade in one.grades.values())),
                ndcg([one.grades.get(document, 0.0) for document in found[:10]], one.grades.values()),
                1 / first if first else 0.0,
                float(first == 1),
                float(first is not None and first <= 10),
            )
        )
    if not rows:
        return Measures(0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return Measures(len(rows), *(fmean(column) for column in zip(*rows, strict=True)))


def average_precision(places: Sequence[int], relevant: int) -> float:
    """Mean precision at the places (from 1) where relevant documents were found; those not found count 0."""
    return sum(number / place for number, place in enumerate(places, 1)) / relevant if relevant else 0.0


def ndcg(grades: Sequence[float], all_grades: Iterable[float]) -> float:
    """Discounted gain of the grades found, in order, as a share of the best possible."""
    best = sorted(all_grades, reverse=True)[: max(10, len(grades))]
    possible = sum(grade / log2(place + 1) for place, grade in enumerate(best, 1))
    gained = sum(grade / log2(place + 1) for place, grade in enumerate(grades, 1))
    return gained / possible if possible > 0 else 0.0
