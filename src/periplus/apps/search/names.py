"""Names in code (`os.path.join`, `lru_cache`, `HTTPServer`, `--enable-shared`): how they are defined, and their parts.

Words are split at punctuation, so `path.join` and `join` find `os.path.join` without more. What is added here are the
parts that capitals separate, names without their underscores, and names by their beginnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from .analysis import words_of

_KIND_WORDS: Final = """
abstract abstractmethod async attribute awaitable class classmethod command const constant coroutine data decorator
default directive enum environment event exception final function interface macro member method module namespace opcode
operator option property protected public role setting signal static staticmethod struct type typedef union var variable
void
"""
_KINDS: Final = frozenset(_KIND_WORDS.split())
"""Words before a name that say what it is the name of."""
_NAME: Final = re.compile(r"[^\W\d_]\w*(?:(?:\.|::|->)\w+)+|\w*[^\W_]_+[^\W_]\w*|\w*(?:[a-z][A-Z]|[A-Z]{2}[a-z])\w*")
"""A name: words joined by dots or underscores, or capitals inside a word."""
_CAPITALS: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W_a-zA-Z]+")
_JOINED_BY: Final = re.compile(r"\.|::|->")
_NUMBER: Final = re.compile(r"^(?:(?:chapter|appendix|part|section)\s+)?(?:\d+|[A-Z])(?:\.\d+)*\.\s+", re.IGNORECASE)
_LONGEST: Final = 80
"""Characters of a name that is kept for completion."""


def defined_name(title: str) -> str:
    """The name that the title of a definition defines: `os.path.join` of `function os.path.join(path, *paths)`."""
    head = title.partition("(")[0].strip() or title
    words = head.split()
    while len(words) > 1 and words[0].lower().strip("*:") in _KINDS:
        words = words[1:]
    return " ".join(words)


def without_number(title: str) -> str:
    """The title of a page or section without its number: `Partial Indexes` of `11.8. Partial Indexes`."""
    return _NUMBER.sub("", title)


def names_in(text: str) -> list[str]:
    """The names in a text, as written."""
    return _NAME.findall(text)


def parts_of_name(name: str) -> list[str]:
    """Words that a name is found by beside those that punctuation separates, in lower case."""
    found: list[str] = []
    for word in _JOINED_BY.split(name):
        pieces = [piece for piece in word.split("_") if piece]
        if len(pieces) > 1:
            found.append("".join(pieces).lower())
        for piece in pieces:
            parts = _CAPITALS.findall(piece)
            if len(parts) > 1:
                found += [part.lower() for part in parts if len(part) > 1]
    return found


def with_capitals_apart(word: str) -> str:
    """`HTTP Server` for `HTTPServer`; the word itself if it has no capitals inside."""
    return " ".join(_CAPITALS.findall(word)) if _NAME.fullmatch(word) else word


def beginnings_of(names: Iterable[str]) -> Iterator[str]:
    """What people may begin to type to complete names: each of them whole and from each dot on, in lower case."""
    for name in names:
        parts = _JOINED_BY.split(name)
        for place in range(len(parts)):
            if (rest := ".".join(parts[place:]).lower()) and len(rest) <= _LONGEST and len(words_of(rest)) > 0:
                yield rest


def typed_names(text: str) -> list[str]:
    """The names in a query, in lower case, with dots for what joins their parts."""
    return [".".join(_JOINED_BY.split(name)).lower() for name in names_in(text)]
