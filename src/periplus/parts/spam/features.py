"""Computes the features of pages and hosts from which spam is recognised.

A feature is a number, or `None` where it is unknown; `FEATURES`, `NAME_FEATURES` and `GRAPH_FEATURES` have the phrase
that reports each. Those of text and links are of Ntoulas, Najork, Manasse & Fetterly (2006) and Fetterly, Manasse &
Najork (2004). Host names made for search engines are long, hyphenated, numbered, or stuffed with key words (Fetterly et
al. 2004). `name_grams` are the n-grams of a name, for models trained on human labels.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final

from periplus.model import PageStatistics
from periplus.urls import domain_of

Features = dict[str, float | None]
"""Values by name."""

LEAST_WORDS: Final = 20
"""Words below which shares of a page's words are unknown: one link would be a large share of them."""
PROSE: Final = 0.2
"""Share of common words from which a text is prose: the word used most is then one of them, and says nothing."""

FEATURES: Final = {
    "words": "{:.0f} words on a page",
    "title_words": "{:.0f} words in the title",
    "word_length": "words of {:.1f} letters on average",
    "anchor_share": "{:.0%} of the words are link text",
    "visible_share": "{:.0%} of the HTML is visible text",
    "compression": "the text compresses {:.1f} times",
    "distinct_share": "{:.0%} of the words are different ones",
    "top_word_share": "one word makes up {:.0%} of the text",
    "common_share": "{:.0%} of the words are the commonest of a language",
    "stuffing": "one word makes up {:.0%} of a text that is not prose",
    "hidden_share": "{:.0%} of the text is hidden by its style",
    "link_density": "{:.0f} links for 100 words",
    "title_repeats": "{:.0%} of the title's words repeat or stand in the URL",
    "outgoing_domains": "links to {:.0f} other domains",
}
"""The features of a page, with the phrase that reports a value."""


def page_features(counts: PageStatistics, links: int, outgoing_domains: int | None = None) -> Features:
    """The features of a page, from its counts, the number of its links, and the number of other domains it links to."""
    words = counts.words
    is_text = words >= LEAST_WORDS
    top, common = counts.top_word_share, counts.common_share
    return {
        "words": float(words),
        "title_words": float(counts.title_words),
        "word_length": counts.word_length,
        "anchor_share": min(1.0, counts.anchor_words / words) if is_text else None,
        "visible_share": counts.visible_share,
        "compression": counts.compression,
        "distinct_share": counts.distinct_share,
        "top_word_share": counts.top_word_share,
        "common_share": common,
        "stuffing": None if top is None or common is None else top * max(0.0, 1.0 - common / PROSE),
        "hidden_share": counts.hidden_share,
        "link_density": 100.0 * links / words if is_text else None,
        "title_repeats": counts.title_repeats / counts.title_words if counts.title_words else None,
        "outgoing_domains": None if outgoing_domains is None else float(outgoing_domains),
    }


NAME_FEATURES: Final = {
    "name_length": "a host name of {:.0f} characters",
    "domain_length": "a domain name of {:.0f} characters",
    "digits": "{:.0f} digits in the host name",
    "hyphens": "{:.0f} hyphens in the host name",
    "labels": "{:.0f} labels in the host name",
    "entropy": "{:.1f} bits a character in the host name",
    "longest_part": "a part of {:.0f} letters in the host name",
    "vowel_share": "{:.0%} vowels in the host name",
    "consonant_run": "{:.0f} consonants in a row in the host name",
    "has_www": "{:.0f} labels www",
}
"""The features of a host's name, with the phrase that reports a value."""
GRAPH_FEATURES: Final = {
    "address_domains": "{:.0f} domains at the same address",
    "duplicate_share": "{:.0%} of its pages have a text that other pages have",
    "spawn": "{:.0f} new URLs an hour",
    "support": "in-degree and trust differ by a factor of e^{:.1f}",
    "reciprocity": "{:.0%} of the domains that link to it are linked back",
    "clustering": "{:.0%} of the pairs of domains that link to it link to each other",
    "trust_rank": "more trust than {:.0%} of all domains",
    "anti_trust_rank": "more links towards known spam than {:.0%} of all domains",
    "spam_mass": "{:.0%} of its PageRank does not come from the seeds",
    "supporter_penalty": "the ranks of its supporters differ from a power law by {:.2f}",
}
"""The features of a host among others, from a job over the tables, with the phrase that reports a value."""
SUFFIXES: Final = {
    "academic": frozenset({"ac", "edu", "sch"}),
    "public": frozenset({"gov", "mil", "mod", "nhs", "police", "gob", "gouv", "govt", "int"}),
    "organisation": frozenset({"org", "or"}),
}
"""Labels of public suffixes that not everyone can register, and what they stand for; all others are `open`."""
OPEN: Final = "open"
SUFFIX: Final = "suffix"
"""The name of the feature of this kind."""
GRAM_SIZES: Final = (3, 4, 5)
"""Characters of an n-gram: shorter ones say nothing, longer ones are words that few names share."""
_PARTS: Final = re.compile(r"[-.]")
_LETTERS: Final = re.compile(r"[a-z]+")
_CONSONANTS: Final = re.compile(r"[bcdfghjklmnpqrstvwxz]+")
_MAX_NAME: Final = 253
"""Characters of a host name, at most (RFC 1035)."""


def name_features(host: str) -> Features:
    """The features of a host's name; its public suffix and a leading `www` do not count."""
    labels = _own_labels(host)
    own = ".".join(label for label in labels if label != "www")
    domain = labels[-1] if labels else ""
    letters = "".join(_LETTERS.findall(own))
    runs = _CONSONANTS.findall(letters)
    return {
        "name_length": float(len(own)),
        "domain_length": float(len(domain)),
        "digits": float(sum(character.isdigit() for character in own)),
        "hyphens": float(own.count("-")),
        "labels": float(len([label for label in labels if label != "www"])),
        "entropy": _entropy(own),
        "longest_part": float(max(map(len, _PARTS.split(own)))),
        "vowel_share": sum(letter in "aeiou" for letter in letters) / len(letters) if letters else None,
        "consonant_run": float(max(map(len, runs), default=0)),
        "has_www": float("www" in labels),
    }


def suffix_kind(host: str) -> str:
    """The kind of a host's public suffix, by the rules for registering there."""
    labels = host.lower().rstrip(".").split(".")[-2:]
    return next((kind for kind, words in SUFFIXES.items() if words.intersection(labels)), OPEN)


def name_grams(host: str) -> set[str]:
    """The character n-grams of a host's own labels, `^` before and `$` after each label."""
    grams: set[str] = set()
    for label in _own_labels(host):
        if label != "www":
            text = f"^{label}$"
            grams.update(text[at : at + size] for size in GRAM_SIZES for at in range(len(text) - size + 1))
    return grams


def _own_labels(host: str) -> list[str]:
    """The labels of a host that its owner chose: all before the public suffix. An address has none."""
    name = host.lower().rstrip(".")[:_MAX_NAME]
    domain = domain_of(name)
    if domain is None:
        return []
    own = name.partition(":")[0].removesuffix(domain).strip(".")
    return [*(own.split(".") if own else ()), domain.partition(".")[0]]


def _entropy(text: str) -> float:
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
