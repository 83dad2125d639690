"""The commonest words of some languages: prose has a quarter of them, lists of key words next to none.

One set for all languages, in UTF-8 and lower case: detecting the language would cost more than counting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Final

_LISTS: Final = {
    "ca": "de la el que en un per amb una es no els les del al com més però són va aquest ha",
    "cs": "se na je že do to ve pro za by ale si po jako podle které není",
    "da": "og at det er en til på som med for de af den der ikke et har om vi han var fra så",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden",
    "en": "the of and to in is it you that he was for on are with as his they be at one have this from or had"
    " by not but what all were when we there can an your which their if do will each how them then she these"
    " so has its who did into than been would",
    "es": "de la que el en los se del las un por con no una su para es al lo como más",
    "fi": "ja on ei että se oli hän en ovat mutta kun tai kuin joka niin myös sen ole voi mitä nyt jos vain olla",
    "fr": "de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce",
    "hu": "az és hogy nem is egy ez de van meg csak azt már még mint el ha volt vagy ki kell volna lehet",
    "id": "yang dan di dengan untuk dari pada ini itu tidak dalam adalah ke akan oleh juga atau sebagai karena dapat",
    "it": "di il la che in un per una non del si da con le della al come sono più dei",
    "nl": "de van het een en in is dat op te zijn met voor niet die aan er om ook als dan bij door maar",
    "no": "og det er en til på som med for av den at ikke de et har om jeg var fra så men",
    "pl": "na do się nie to że jest jak po od co za przez ale dla tym być są już",
    "pt": "de que do da em um para com não uma os no se na por mais as dos como mas",
    "ro": "de și în la cu pe că din care un nu este mai pentru sau ce au fost prin să se ale",
    "ru": "и в не на что я с он как это по но они к у из за от его так для о же бы",
    "sv": "och att det som en på är av för med den till inte de ett om har var jag från så men kan",
    "tr": "ve bir bu için ile da de ne çok gibi daha olarak var kadar ancak sonra ya olan en ise her veya değil",
}
"""By two-letter code. Words of one letter are left out: they are also names of columns and variables."""
COMMON_WORDS: Final = frozenset(word.encode() for words in _LISTS.values() for word in words.split())


def is_known(language: str) -> bool:
    """Whether the words of a declared language are listed; one that is not declared may be."""
    return not language or language[:2].lower() in _LISTS


@cache
def _languages() -> dict[str, tuple[str, ...]]:
    """The languages of which a word is among the commonest."""
    lists = {code: frozenset(words.split()) for code, words in _LISTS.items()}
    return {
        word: tuple(code for code, words in lists.items() if word in words)
        for word in frozenset().union(*lists.values())
    }


def language_shares(words: Sequence[str]) -> dict[str, float]:
    """Of words in lower case the share that is among the commonest of each language."""
    counts, languages = dict.fromkeys(_LISTS, 0), _languages()
    for word, count in Counter(filter(languages.__contains__, words)).items():
        for code in languages[word]:
            counts[code] += count
    return {code: count / max(1, len(words)) for code, count in counts.items()}
