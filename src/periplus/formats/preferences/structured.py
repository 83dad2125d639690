"""Dictionaries of structured fields (RFC 9651 section 4.2.2), as far as preferences need them.

Every kind of value is recognised, since an error anywhere makes the whole field invalid; only tokens are kept.
"""

from __future__ import annotations

import re
from typing import Final

MAX_FIELD: Final = 4096
"""Characters of a field that are read; a longer one is invalid. Preferences take less than 100."""

_KEY: Final = re.compile(r"[a-z*][a-z0-9_.*-]*+")
_TOKEN: Final = re.compile(r"[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*+")
_OTHER_ITEM: Final = re.compile(
    r"""@?-?[0-9]{1,15}+(?!\.)            # an integer, or a date
    | -?[0-9]{1,12}+\.[0-9]{1,3}+         # a decimal
    | "(?>(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"   # a string
    | :[A-Za-z0-9+/=]*+:                  # bytes
    | \?[01]                              # a truth value
    | %"(?>(?:[\x20\x21\x23\x24\x26-\x7e]|%[0-9a-f]{2})*)"  # a display string
    """,
    re.VERBOSE,
)
_COMMA: Final = re.compile(r"[ \t]*+,[ \t]*+")


def read_dictionary(text: str) -> dict[str, str | None] | None:
    """The members of a dictionary: a token as it is, `None` for any other value; `None` if the field is invalid."""
    text = text.strip(" ")
    if len(text) > MAX_FIELD:
        return None
    members: dict[str, str | None] = {}
    at = 0
    while at < len(text):
        key = _KEY.match(text, at)
        if key is None:
            return None
        value, at = _value(text, key.end())
        if at < 0:
            return None
        members[key[0]] = value
        if at == len(text):
            break
        comma = _COMMA.match(text, at)
        if comma is None or comma.end() == len(text):
            return None
        at = comma.end()
    return members


def _value(text: str, at: int) -> tuple[str | None, int]:
    """The value of a member, if it is a token, and where the member ends; -1: it is not valid."""
    value: str | None = None
    if text[at : at + 1] == "=":
        if text[at + 1 : at + 2] == "(":
            at = _inner_list(text, at + 2)
        else:
            value, at = _item(text, at + 1)
    return value, _parameters(text, at)


def _item(text: str, at: int) -> tuple[str | None, int]:
    token = _TOKEN.match(text, at)
    if token is not None:
        return token[0], token.end()
    other = _OTHER_ITEM.match(text, at)
    return None, -1 if other is None else other.end()


def _inner_list(text: str, at: int) -> int:
    while at >= 0:
        begin = at
        while text[at : at + 1] == " ":
            at += 1
        if text[at : at + 1] == ")":
            return at + 1
        if at == begin and text[at - 1] != "(":
            return -1
        at = _parameters(text, _item(text, at)[1])
    return -1


def _parameters(text: str, at: int) -> int:
    """Where the parameters of a value end."""
    while at >= 0 and text[at : at + 1] == ";":
        at += 1
        while text[at : at + 1] == " ":
            at += 1
        key = _KEY.match(text, at)
        if key is None:
            return -1
        at = key.end()
        if text[at : at + 1] == "=":
            at = _item(text, at + 1)[1]
    return at
