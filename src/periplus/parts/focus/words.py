"""Topic words: which words of a page are on the topic, and how relevant that makes it.

A topic is written as words, `spider traps, "crawl budget"`; a phrase in quotes is one term of double weight. Words are
compared by their stems (Snowball), in the language of the page. The relevance of a page grows with the number of terms
in its main text, each weighted by how rare it is in the crawl, and shrinks with the length of the text:

    relevance = 1 - exp(-c * sum(idf * (1 + ln tf)) / sqrt(length + 50))

The weights and `c` are learnt from the first pages of the crawl (`Calibration`) and fixed from then on.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import snowballstemmer  # type: ignore[import-untyped]
from msgspec import Struct, field

from periplus.model import ConfigError

MAX_WORDS: Final = 50_000
"""Words of a page that are looked at: a book of 150 pages. It bounds the time that one page takes."""
MAX_TERMS: Final = 100
"""Terms of a topic: more words describe a library, not a topic."""
CALIBRATED: Final = 500
"""Pages after which the weights of terms and `c` are fixed."""
DEFAULT_C: Final = 6.0
"""`c` until the crawl has measured it, where the mean term weighs 1. In six manuals of 22,000 pages, the best 4 % of
the pages have a relevance of at least .5 with 6.0 to 9.4, on four topics."""
_PERCENTILE: Final = 0.96
"""A page that is better than this share of the first pages has a relevance of at least .5."""
_C_RANGE: Final = (DEFAULT_C / 2, 2 * DEFAULT_C)
"""What the first pages can make of `c`: a focused crawl chooses them, so they do not represent the web."""
_PRIOR: Final = 20.0
"""Pages of experience that every term starts with: it counts as found in one of them."""
_STEPS: Final = frozenset({10, 50, 100, 200, CALIBRATED})
"""Pages after which weights are computed again."""
_PHRASE: Final = 2.0
"""Weight of a phrase in quotes."""
_CACHED: Final = 100_000
"""Stems that are kept for each language: about 15 MB."""
_WORD: Final = re.compile(r"[^\W_]+")
_TERM: Final = re.compile(r'"([^"]*)"|([^\W_]+)')
_MIN_LETTERS: Final = 3
"""Shorter words of a topic are left out, unless it has no others."""

STEMMERS: Final = MappingProxyType(
    {
        "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english",
        "es": "spanish", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
        "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
        "ne": "nepali", "nl": "dutch", "no": "norwegian", "nb": "norwegian", "pt": "portuguese", "ro": "romanian",
        "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
    }
)  # fmt: skip
"""Stemmers by two-letter code."""
_DEFAULT_LANGUAGE: Final = "en"
"""For pages that do not name their language."""


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, in order; not those beyond the limit."""
    return _WORD.findall(text.lower())[:MAX_WORDS]


def language_code(declared: str) -> str:
    """The two-letter code of a declared language that has a stemmer; otherwise that of English."""
    code = declared[:2].lower()
    return code if code in STEMMERS else _DEFAULT_LANGUAGE


class _Stems(dict[str, str]):
    """Words and their stems. Bounded: it begins again when it is full."""

    def __init__(self, language: str) -> None:
        self._stem = snowballstemmer.stemmer(STEMMERS[language]).stemWord

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED:
            self.clear()
        self[word] = stem = str(self._stem(word))
        return stem


@lru_cache(maxsize=len(STEMMERS))
def _stems_of(language: str) -> _Stems:
    return _Stems(language)


def stems(words: Sequence[str], language: str) -> list[str]:
    """The stem of each word, by the rules of a language code."""
    known = _stems_of(language)
    return [known[word] for word in words]


class TopicTerms:
    """The terms of a topic. `texts` are as written, a phrase with its words separated by blanks."""

    def __init__(self, texts: Sequence[str]) -> None:
        if not texts:
            raise ConfigError("a topic needs at least one word", hint='write --topic "spider traps"')
        if len(texts) > MAX_TERMS:
            raise ConfigError(f"a topic has at most {MAX_TERMS} words, got {len(texts)}")
        self.texts = tuple(texts)
        self.weights = tuple(_PHRASE if " " in text else 1.0 for text in texts)
        self._by_language: dict[str, dict[str, list[tuple[int, tuple[str, ...]]]]] = {}

    @classmethod
    def parse(cls, text: str) -> TopicTerms:
        """The terms of a text: words, and phrases in quotes. Raises `ConfigError` if there are none."""
        found = [" ".join(words_of(phrase)) if phrase else word for phrase, word in _TERM.findall(text.lower())]
        terms = [term for term in dict.fromkeys(found) if term]
        return cls([term for term in terms if len(term) >= _MIN_LETTERS] or terms)

    def _index(self, language: str) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
        """Terms by their first stem: the number of the term, and the stems that must follow."""
        index = self._by_language.get(language)
        if index is None:
            index = self._by_language[language] = {}
            for number, text in enumerate(self.texts):
                first, *rest = stems(text.split(), language)
                index.setdefault(first, []).append((number, tuple(rest)))
        return index

    def places(self, words: Sequence[str], language: str) -> list[tuple[int, int]]:
        """Where terms occur: the position of the first word of each, and the number of the term."""
        index, known = self._index(language), _stems_of(language)
        begins = {word: index[known[word]] for word in {*words} if known[word] in index}
        if not begins:
            return []
        found = []
        for position in [place for place, word in enumerate(words) if word in begins]:
            for number, rest in begins[words[position]]:
                following = words[position + 1 : position + 1 + len(rest)]
                if not rest or tuple(known[each] for each in following) == rest:
                    found.append((position, number))
        return found


class Calibration(Struct, array_like=True):
    """The calibration from the first pages: their number, how many had each term, and what each had.

    `samples` has for each page its length and the frequencies of its terms; it is dropped when `c` is fixed.
    """

    pages: int = 0
    with_term: list[int] = field(default_factory=list)
    samples: list[tuple[int, list[tuple[int, int]]]] = field(default_factory=list)
    idf: list[float] = field(default_factory=list)
    c: float = DEFAULT_C


class TopicWords:
    """Relevance by the terms of a topic."""

    def __init__(self, terms: TopicTerms, learnt: Calibration | None = None) -> None:
        self.terms = terms
        count = len(terms.texts)
        if learnt is None or len(learnt.with_term) != count:  # another topic: what was learnt does not apply
            learnt = Calibration(with_term=[0] * count, idf=list(terms.weights))
        self.learnt = learnt

    def relevance(self, words: Sequence[str], language: str) -> float:
        """The relevance of a page with this main text, and learn from it while the crawl is young."""
        counts = Counter(number for _, number in self.terms.places(words, language))
        if self.learnt.pages < CALIBRATED and words:
            self._learn(len(words), counts)
        return self.scaled(self.raw(len(words), counts))

    def raw(self, length: int, counts: Counter[int] | dict[int, int]) -> float:
        """The sum over the terms, before it is scaled to a relevance."""
        idf = self.learnt.idf
        total = sum(idf[number] * (1.0 + math.log(count)) for number, count in counts.items())
        return total / math.sqrt(length + 50.0)

    def scaled(self, raw: float) -> float:
        """The relevance of such a sum."""
        return 1.0 - math.exp(-self.learnt.c * raw)

    def _learn(self, length: int, counts: Counter[int]) -> None:
        learnt = self.learnt
        learnt.pages += 1
        learnt.samples.append((length, sorted(counts.items())))
        for number in counts:
            learnt.with_term[number] += 1
        if learnt.pages in _STEPS:
            self.calibrate()
        if learnt.pages == CALIBRATED:
            learnt.samples = []

    def calibrate(self, *, is_bounded: bool = True) -> None:
        """Compute the weights of terms and `c` from the pages seen so far."""
        learnt = self.learnt
        raw_idf = [
            weight * math.log((learnt.pages + _PRIOR) / (count + 1.0))
            for weight, count in zip(self.terms.weights, learnt.with_term, strict=True)
        ]
        mean = sum(raw_idf) / len(raw_idf) or 1.0
        learnt.idf = [each / mean for each in raw_idf]
        raws = sorted(self.raw(length, dict(counts)) for length, counts in learnt.samples)
        best = raws[min(int(_PERCENTILE * len(raws)), len(raws) - 1)]
        low, high = _C_RANGE if is_bounded else (0.0, math.inf)
        learnt.c = min(max(math.log(2.0) / best, low), high) if best > 0.0 else DEFAULT_C
