"""From text to terms: words and their stems. Documents and queries go through the same functions.

A term is a lower-case word without its ending. Languages written without spaces (Chinese, Japanese, Thai) give one term
a character, and phrases of them make words. Engines store terms as they are: the rules are here, and `VERSION` names
them, so that an index made by other rules is made again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import snowballstemmer  # type: ignore[import-untyped]

from periplus.content.text_language import WORD, words_of

VERSION = 4
"""Of the rules here and in `content.text_language`, and of what an index keeps. Another version is made again."""

MAX_WORD = 64
"""Characters. Longer words are encoded data, not language."""

_CACHED_WORDS = 400_000
"""Words whose stems a language keeps: about 60 MB, and all words of a million pages that occur more than once."""

_STEMMERS: Mapping[str, str] = MappingProxyType(
    {
        "ar": "arabic",
        "ca": "catalan",
        "da": "danish",
        "de": "german",
        "el": "greek",
        "en": "english",
        "es": "spanish",
        "eu": "basque",
        "fi": "finnish",
        "fr": "french",
        "ga": "irish",
        "hi": "hindi",
        "hu": "hungarian",
        "hy": "armenian",
        "id": "indonesian",
        "it": "italian",
        "lt": "lithuanian",
        "ne": "nepali",
        "nl": "dutch",
        "no": "norwegian",
        "pt": "portuguese",
        "ro": "romanian",
        "ru": "russian",
        "sr": "serbian",
        "sv": "swedish",
        "ta": "tamil",
        "tr": "turkish",
    }
)
_ACCENTS_MATTER = frozenset({"sv", "fi", "hu", "tr"})
"""Languages in which a letter without its accent is another letter."""


class _Stems(dict[str, str]):
    """The term of each word of one language, computed when first seen."""

    def __init__(self, language: str) -> None:
        super().__init__()
        name = _STEMMERS.get(language)
        self._stem = _stemmer(name) if name else str
        self._folds = language not in _ACCENTS_MATTER

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED_WORDS:
            self.clear()
        term = self._stem(word) if len(word) <= MAX_WORD else ""
        if self._folds and not term.isascii():
            term = without_accents(term)
        self[word] = term
        return term


def _stemmer(name: str) -> Callable[[str], str]:
    stemmer: Any = snowballstemmer.stemmer(name)
    if hasattr(stemmer, "maxCacheSize"):
        stemmer.maxCacheSize = 0  # every word is asked for once: to keep them took three quarters of the time
    stem: Callable[[str], str] = stemmer.stemWord
    return stem


@lru_cache(maxsize=64)
def _stems(language: str) -> _Stems:
    return _Stems(language)


def terms_of(text: str, language: str) -> list[str]:
    """The terms of a text in order; words that are too long are left out."""
    return [term for term in terms_of_words(words_of(text), language) if term]


def terms_of_words(words: Iterable[str], language: str) -> Iterator[str]:
    """The term of each word, as `words_of` gives them; empty for words that are too long."""
    return map(_stems(language).__getitem__, words)


def term_of(word: str, language: str) -> str:
    """The term of one word, as `words_of` gives it; empty if it is too long."""
    return _stems(language)[word]


def places_of(text: str, language: str, terms: Collection[str]) -> list[tuple[int, int, str]]:
    """Start, end and term of every word of a text with one of these terms. Its length in lower case is its length."""
    stems = _stems(language)
    return [(*match.span(), term) for match in WORD.finditer(text.lower()) if (term := stems[match.group()]) in terms]


def without_accents(text: str) -> str:
    """The text with accents, cedillas and the like removed from its letters."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
