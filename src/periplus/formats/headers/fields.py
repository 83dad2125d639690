"""A header section as names and values, and the grammar that fields share: lists, tokens, quoted strings, parameters.

RFC 9110 section 5. The patterns cannot fail once they have begun, so they pass over a value once, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

LONGEST_VALUE = 65_536
"""Characters of a field's value that are looked at."""

_ELEMENT = re.compile(r'(?:[^,"]+|"(?:[^"\\]|\\.?)*"?)*', re.DOTALL)
_PARAMETER = re.compile(
    r"""[\s;]*+ (?P<name>[^\s;,="<>]++)
        (?: \s*+ = \s*+ (?: "(?P<quoted>(?:[^"\\]|\\.?)*)"? | (?P<plain>[^\s;,"]*+) ) )?""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNWRITABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Headers:
    """The fields of one response, in order, found by name in any case."""

    __slots__ = ("_by_name", "fields")

    def __init__(self, fields: Iterable[tuple[str, str]] = ()) -> None:
        self.fields = tuple(fields)
        by_name: dict[str, list[str]] = {}
        for name, value in self.fields:
            by_name.setdefault(name.lower(), []).append(value)
        self._by_name = by_name

    def get(self, name: str) -> str | None:
        """The first value of that name, without the white space around it."""
        values = self._by_name.get(name.lower())
        return values[0].strip() if values else None

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of that name, in order, as sent."""
        return tuple(self._by_name.get(name.lower(), ()))

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._by_name

    def __repr__(self) -> str:
        return f"Headers({self.fields!r})"


def elements(value: str) -> Iterator[str]:
    """The parts of a comma-separated list that are not empty; commas in quotes divide nothing."""
    value, start = value[:LONGEST_VALUE], 0
    while start < len(value):
        end = end_of_element(value, start)
        element = value[start:end].strip()
        if element:
            yield element
        start = end + 1


def end_of_element(value: str, start: int) -> int:
    """Where the element that begins at `start` ends: at a comma outside quotes, or with the value."""
    match = _ELEMENT.match(value, start)
    return len(value) if match is None else match.end()


def parameters(text: str, start: int = 0) -> tuple[list[tuple[str, str]], int]:
    """`name=value` pairs from `start` on, names in lower case, and the position after the last pair.

    Reading stops at a comma outside quotes, where the next element of a list begins.
    """
    found: list[tuple[str, str]] = []
    while match := _PARAMETER.match(text, start):
        quoted, plain = match["quoted"], match["plain"]
        found.append((match["name"].lower(), _ESCAPE.sub(r"\1", quoted) if quoted is not None else plain or ""))
        start = match.end()
    return found, start


def quoted(text: str) -> str:
    """A value as it may stand after `=`: bare where it is a token, else in quotes, never with a line break."""
    if _TOKEN.fullmatch(text):
        return text
    escaped = _UNWRITABLE.sub(" ", text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
