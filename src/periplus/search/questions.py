"""From a query to a question: its words in terms of the languages of an index. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from .analysis import MAX_WORD, is_stop_word, term_of
from .engine import Question, Weights
from .query import Query


def looked_up(asked: Query, languages: list[str]) -> list[str]:
    """The words of a query that say something; all of them if none does."""
    words = [word for word in asked.words if len(word) <= MAX_WORD]
    return [word for word in words if not is_stop_word(word, languages)] or words


def question_of(asked: Query, languages: list[str], weights: Weights) -> Question:
    """The query in terms of the languages of the index."""
    words = looked_up(asked, languages)
    first = languages[0]
    terms = _terms(words, first)
    return Question(
        words=tuple(tuple(dict.fromkeys(term_of(word, language) for language in languages)) for word in words),
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
