"""The words of a text and the language it is in: the same for the search index, for exports and for agents.

A declared language is believed if the text agrees with it. Otherwise the script decides, or the most frequent function
words of some languages: where these are few, as in tables and code, the language is unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from periplus.model import ParsedPage

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


UNKNOWN = "xx"
"""The code of a language that is not known."""

_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_UNSPACED_RANGES = tuple(zip(_UNSPACED[::3], _UNSPACED[2::3], strict=True))
_ASCII = bytes(range(128))
_LOWER_WORDS = bytes(
    byte if byte >= 128 else ord(chr(byte).lower()) if chr(byte).isalnum() else ord(" ") for byte in range(256)
)
"""For `bytes.translate`: letters become lower case, what is not a letter or a digit becomes a blank."""
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

_FEWEST = 2
"""Different stop words that a vote needs: one may be a name in code."""

_FEW_FOREIGN = 20
"""One character in this many outside ASCII is the least from which a script can decide: quotes and dashes are fewer."""

_AGREES = 0.01
"""Share of stop words of the declared language from which a text agrees with it."""

_LEAST_STOP_WORDS = 0.04
"""Share of stop words from which a vote counts: prose has a quarter, tables and code next to none."""


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


def is_stop_word(word: str, languages: Iterable[str]) -> bool:
    """Whether a word is a stop word in any of these languages."""
    return any(word in STOP_WORDS.get(language, ()) for language in languages)


def is_unspaced(word: str) -> bool:
    """Whether a word is a character of a script that is written without spaces."""
    return len(word) == 1 and _is_unspaced(word)


def _is_unspaced(char: str) -> bool:
    return char >= "\u0e00" and any(first <= char <= last for first, last in _UNSPACED_RANGES)


def page_language(page: ParsedPage) -> str:
    """The language tag of a page's main text: as declared (`de-AT`) if the text agrees; empty if it is unknown."""
    declared = page.language or ""
    found = language_of(page.main_text or page.text or page.title, declared)
    if found == UNKNOWN:
        return ""
    return declared if primary_language(declared) == found else found


def primary_language(tag: str) -> str:
    """The two-letter code of a language tag, by which pages are labelled: `de` of `de-AT`, `no` of `nb`."""
    primary = tag.lower().replace("_", "-").partition("-")[0]
    return {"nb": "no", "nn": "no"}.get(primary, primary)


def language_of(text: str, declared: str = "") -> str:
    """The two-letter code of a text's language: the declared one if the text agrees, else the detected one."""
    sample = text[:_SAMPLE]
    primary = primary_language(declared)
    if script := _language_of_script(sample):
        same_script = {"ru": {"uk", "bg", "sr", "be", "mk"}, "ar": {"fa", "ur"}, "hi": {"ne", "mr"}, "zh": {"ja"}}
        return primary if primary in same_script.get(script, ()) else script
    counted = Counter(words_of(sample))
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
