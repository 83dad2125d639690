"""From text to terms: words, languages, stems. Documents and queries go through the same functions.

A term is a lower-case word without its ending. Languages written without spaces (Chinese, Japanese, Thai) give one term
a character, and phrases of them make words. Engines store terms as they are: the rules are here, and `VERSION` names
them, so that an index made by other rules is made again.

The most frequent function words of some languages are left out of queries, and used to tell languages apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import snowballstemmer  # type: ignore[import-untyped]

_LISTS = {
    "ca": "de la el que i a en un per amb una es no els les del al com més però són va aquest ha seva",
    "cs": "a se v na je že o s z do i to k ve pro za by ale si po jako podle které není jsou nebo aby byl",
    "da": "og i at det er en til på som med for de af den der ikke et har om vi han var fra så men kan jeg eller hun",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er"
    " hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur",
    "en": "the of and to a in is it you that he was for on are with as i his they be at one have this from or had by"
    " not but what all were when we there can an your which their if do will each how them then she these so has its"
    " who did into than been would about no my out up may must what such being does",
    "es": "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me si sin"
    " sobre este ya entre cuando todo esta ser son dos también fue había era muy años hasta desde está",
    "fi": "ja on ei että se oli hän en ovat mutta kun tai kuin joka niin myös sen ole voi mitä nyt jos vain olla hänen",
    "fr": "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec son ou"
    " aux mais comme on cette ses leur sa été être fait vous nous si peut ces tout entre",
    "hu": "a az és hogy nem is egy ez de van meg csak azt már még mint el ha volt vagy ki kell volna lehet ezt amely",
    "id": "yang dan di dengan untuk dari pada ini itu tidak dalam adalah ke akan oleh juga atau sebagai karena dapat",
    "it": "di e il la che in un a per è una non del si da con i le della al come sono più dei anche nel alla ma ha gli"
    " su se questo lo o delle dal suo essere stato ed cui",
    "nl": "de van het een en in is dat op te zijn met voor niet die aan er om ook als dan bij door maar naar uit wordt"
    " ze over hij nog kan worden of was heeft deze tot meer je",
    "no": "og i det er en til på som med for å av den at ikke de et har om jeg var fra så men han vi kan eller hun ble",
    "pl": "w i na z do się nie to że jest o jak po a od co za przez ale dla tym być są już tego oraz tak może tylko",
    "pt": "de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu"
    " sua ou ser quando muito há nos já está eu também só pelo pela até",
    "ro": "de și în a la cu pe că din care o un nu este mai pentru sau ce au fost prin să se ale ca după între fi sunt",
    "ru": "и в не на что я с он как это по но они к у из за от его так для о же бы то или мы при был если все",
    "sv": "och i att det som en på är av för med den till inte de ett om har var jag från så men kan eller han vi ska",
    "tr": "ve bir bu için ile da de ne o çok gibi daha olarak var kadar ancak sonra ya olan en ise her veya değil",
}

STOP_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {language: frozenset(words.split()) for language, words in _LISTS.items()}
)
"""By two-letter code, in lower case."""


VERSION = 4
"""Of the rules in this file and of what an index keeps. An index with another version is made again."""

UNKNOWN = "xx"
"""The language of a text when none is known. Its words are not stemmed."""

MAX_WORD = 64
"""Characters. Longer words are encoded data, not language."""

_CACHED_WORDS = 400_000
"""Words whose stems a language keeps: about 60 MB, and all words of a million pages that occur more than once."""

_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_UNSPACED_RANGES = tuple(zip(_UNSPACED[::3], _UNSPACED[2::3], strict=True))
_ASCII = bytes(range(128))
_LOWER_WORDS = bytes(
    byte if byte >= 128 else ord(chr(byte).lower()) if chr(byte).isalnum() else ord(" ") for byte in range(256)
)
"""For `bytes.translate`: letters become lower case, what is not a letter or a digit becomes a blank."""
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

_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
)
"""Scripts that decide a language when most letters are of them. Kana comes before Han: Japanese has both."""

_SAMPLE = 4_000
"""Characters from which a language is detected."""

SAMPLE_WORDS = 600
"""Words from which a language is detected: about as many as the characters have."""

_FEWEST = 2
"""Different stop words that a vote needs: one may be a name in code."""

_FEW_FOREIGN = 20
"""One character in this many outside ASCII is the least from which a script can decide: quotes and dashes are fewer."""

_AGREES = 0.01
"""Share of stop words of the declared language from which a text agrees with it."""

_LEAST_STOP_WORDS = 0.04
"""Share of stop words from which a vote counts: prose has a quarter, tables and code next to none."""


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


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, in order: what `WORD` finds, at a third of the cost for most texts."""
    plain = plain_text(text)
    return WORD.findall(text.lower()) if plain is None else plain.translate(_LOWER_WORDS).decode().split()


def plain_text(text: str) -> bytes | None:
    """A text in UTF-8 in which words are runs of letters and digits of ASCII and of all that is not ASCII.

    It has as many characters. `None` if scripts are written without spaces, or letters have lower case of two letters,
    or one that depends on the letters around (a sigma at the end of a word).
    """
    if text.isascii():
        return text.encode()
    kinds = set(text.encode("utf-8", "replace").translate(None, _ASCII).decode().lower())
    if any(map(_is_unspaced, kinds)):
        return None
    if not any(map(str.isalnum, kinds)):  # quotes and dashes; "?" stands for each, which is not a word either
        return text.encode("ascii", "replace")
    lowered = text.lower()
    if len(lowered) != len(text) or "\u03a3" in text:
        return None
    plain = lowered.encode("utf-8", "replace")
    for char in kinds:
        if not char.isalnum() and not char.isascii():
            plain = plain.replace(char.encode(), b" ")
    return plain


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


def is_stop_word(word: str, languages: Iterable[str]) -> bool:
    """Whether a word is a stop word in any of these languages."""
    return any(word in STOP_WORDS.get(language, ()) for language in languages)


def is_unspaced(word: str) -> bool:
    """Whether a word is a character of a script that is written without spaces."""
    return len(word) == 1 and _is_unspaced(word)


def _is_unspaced(char: str) -> bool:
    return char >= "\u0e00" and any(first <= char <= last for first, last in _UNSPACED_RANGES)


def without_accents(text: str) -> str:
    """The text with accents, cedillas and the like removed from its letters."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def language_of(text: str, declared: str | None = None, words: Sequence[str] | None = None) -> str:
    """The two-letter code of a text's language: the declared one if the text agrees, else the detected one.

    `words` are those of the text, where they are known already.
    """
    sample = text[:_SAMPLE]
    primary = (declared or "").lower().replace("_", "-").partition("-")[0]
    primary = {"nb": "no", "nn": "no"}.get(primary, primary)
    if script := _language_of_script(sample):
        same_script = {"ru": {"uk", "bg", "sr", "be", "mk"}, "ar": {"fa", "ur"}, "hi": {"ne", "mr"}, "zh": {"ja"}}
        return primary if primary in same_script.get(script, ()) else script
    counted = Counter(words_of(sample) if words is None else words[:SAMPLE_WORDS])
    different = frozenset(counted)
    if primary and (primary not in STOP_WORDS or _share(counted, different & STOP_WORDS[primary]) >= _AGREES):
        return primary
    votes = _votes(counted, different)
    best = max(votes, key=votes.__getitem__, default=UNKNOWN)
    if votes.get(best, 0) < _LEAST_STOP_WORDS:  # too little prose to tell
        return primary or UNKNOWN
    return best


def _language_of_script(sample: str) -> str | None:
    foreign = len(sample) - len(sample.encode("ascii", "ignore"))
    if foreign * _FEW_FOREIGN < len(sample):
        return None
    letters = sum(map(str.isalpha, sample))
    for language, pattern in _SCRIPTS:
        share = 0.1 if language == "ja" else 0.4
        if letters and len(pattern.findall(sample)) > share * letters:
            return language
    return None


def _share(words: Counter[str], listed: frozenset[str]) -> float:
    """The share of words that are listed ones; 0 if only one of these occurs, which may be a name in code."""
    return sum(map(words.__getitem__, listed)) / words.total() if len(listed) >= _FEWEST else 0.0


def _votes(words: Counter[str], different: frozenset[str]) -> dict[str, float]:
    """For each language the share of words that are its stop words."""
    shares = ((language, _share(words, different & listed)) for language, listed in STOP_WORDS.items())
    return {language: share for language, share in shares if share}
