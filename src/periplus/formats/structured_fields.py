"""Structured fields of HTTP (RFC 9651): dictionaries and items, read and written.

    read_dictionary('sig1=("@method" "date";req);created=1')["sig1"].parameters   # {"created": 1}
    write_member(member)                                                     # its one canonical form

This is the grammar that other formats share: `Content-Usage`, `Use-As-Dictionary` and the fields of HTTP message
signatures are dictionaries. A field that fails to parse is invalid as a whole and read as `None`; nothing raises.

| in a field | in Python |
|---|---|
| `1`, `1.5`, `?1` | `int`, `Decimal`, `bool` |
| `"text"`, `token` | `str`, `Token` |
| `:aGk=:`, `@1659578233`, `%"f%c3%bc"` | `bytes`, `Date`, `DisplayString` |
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from msgspec import Struct

MAX_FIELD: Final = 4096
"""Characters of a field that are read; a longer one is invalid. Preferences take less than 100, signatures 600."""


class Token(str):
    """A word without quotes."""

    __slots__ = ()


class Date(int):
    """Seconds since 1970."""

    __slots__ = ()


class DisplayString(str):
    """Text that may hold any character."""

    __slots__ = ()


BareItem: TypeAlias = int | Decimal | str | bytes
"""A value without parameters; a truth value is an `int`, as everywhere in Python."""
Parameters: TypeAlias = Mapping[str, BareItem]


class FieldItem(Struct, frozen=True):
    """A value and its parameters. `repeated` are parameters that were given more than once; the last counts."""

    value: Any
    parameters: Parameters = {}
    repeated: tuple[str, ...] = ()


class InnerList(Struct, frozen=True):
    """Values in parentheses, with parameters of the list as a whole."""

    items: tuple[FieldItem, ...]
    parameters: Parameters = {}
    repeated: tuple[str, ...] = ()


Member: TypeAlias = FieldItem | InnerList

_KEY: Final = re.compile(r"[a-z*][a-z0-9_.*-]*+")
_TOKEN: Final = re.compile(r"[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*+")
_OTHER_ITEM: Final = re.compile(
    r"""(?P<number>-?[0-9]{1,15}+(?!\.))
    | @(?P<date>-?[0-9]{1,15}+(?!\.))
    | (?P<decimal>-?[0-9]{1,12}+\.[0-9]{1,3}+)
    | "(?P<string>(?>(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*))"
    | :(?P<bytes>[A-Za-z0-9+/=]*+):
    | \?(?P<truth>[01])
    | %"(?P<display>(?>(?:[\x20\x21\x23\x24\x26-\x7e]|%[0-9a-f]{2})*))"
    """,
    re.VERBOSE,
)
_COMMA: Final = re.compile(r"[ \t]*+,[ \t]*+")
_ESCAPED: Final = re.compile(r"\\(.)")
_OCTETS: Final = re.compile(r"%([0-9a-f]{2})")


class _InvalidFieldError(Exception):
    pass


def read_dictionary(text: str) -> dict[str, Member] | None:
    """The members of a dictionary in their order (section 4.2.2); `None` if the field is invalid.

    Of a repeated key the last counts. A member without a value is true.
    """
    text = text.strip(" ")
    if len(text) > MAX_FIELD:
        return None
    try:
        return _dictionary(text)
    except _InvalidFieldError:
        return None


def read_item(text: str) -> FieldItem | None:
    """A field that is one value with its parameters (section 4.2.3); `None` if it is not."""
    text = text.strip(" ")
    if len(text) > MAX_FIELD:
        return None
    try:
        item, at = _item(text, 0)
    except _InvalidFieldError:
        return None
    return item if at == len(text) else None


def _dictionary(text: str) -> dict[str, Member]:
    members: dict[str, Member] = {}
    at = 0
    while at < len(text):
        key, at = _key(text, at)
        members[key], at = _member(text, at)
        if at == len(text):
            break
        comma = _COMMA.match(text, at)
        if comma is None or comma.end() == len(text):
            raise _InvalidFieldError
        at = comma.end()
    return members


def _key(text: str, at: int) -> tuple[str, int]:
    key = _KEY.match(text, at)
    if key is None:
        raise _InvalidFieldError
    return key[0], key.end()


def _member(text: str, at: int) -> tuple[Member, int]:
    if text[at : at + 1] != "=":
        parameters, repeated, at = _parameters(text, at)
        return FieldItem(True, parameters, repeated), at
    return _inner_list(text, at + 2) if text[at + 1 : at + 2] == "(" else _item(text, at + 1)


def _item(text: str, at: int) -> tuple[FieldItem, int]:
    value, at = _bare_item(text, at)
    parameters, repeated, at = _parameters(text, at)
    return FieldItem(value, parameters, repeated), at


def _inner_list(text: str, at: int) -> tuple[InnerList, int]:
    items: list[FieldItem] = []
    while True:
        begin = at
        while text[at : at + 1] == " ":
            at += 1
        if text[at : at + 1] == ")":
            parameters, repeated, at = _parameters(text, at + 1)
            return InnerList(tuple(items), parameters, repeated), at
        if at == begin and items:
            raise _InvalidFieldError
        item, at = _item(text, at)
        items.append(item)


def _parameters(text: str, at: int) -> tuple[Parameters, tuple[str, ...], int]:
    """The parameters of a value, those that are repeated, and where they end."""
    if text[at : at + 1] != ";":
        return {}, (), at
    parameters: dict[str, BareItem] = {}
    repeated: list[str] = []
    while text[at : at + 1] == ";":
        at += 1
        while text[at : at + 1] == " ":
            at += 1
        key, at = _key(text, at)
        value: BareItem = True
        if text[at : at + 1] == "=":
            value, at = _bare_item(text, at + 1)
        if key in parameters:
            repeated.append(key)
        parameters[key] = value
    return parameters, tuple(repeated), at


def _bare_item(text: str, at: int) -> tuple[BareItem, int]:
    token = _TOKEN.match(text, at)
    if token is not None:
        return Token(token[0]), token.end()
    other = _OTHER_ITEM.match(text, at)
    if other is None:
        raise _InvalidFieldError
    kind = other.lastgroup or ""
    return _READ[kind](other[kind]), other.end()


def _bytes(text: str) -> bytes:
    """Bytes in base64, whose padding may be missing."""
    try:
        return b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), validate=True)
    except (Error, ValueError):
        raise _InvalidFieldError from None


def _display_string(text: str) -> DisplayString:
    try:
        return DisplayString(_OCTETS.sub(lambda found: chr(int(found[1], 16)), text).encode("latin-1").decode())
    except UnicodeError:
        raise _InvalidFieldError from None


_READ: Final[dict[str, Any]] = {
    "number": int,
    "date": Date,
    "decimal": Decimal,
    "string": lambda text: _ESCAPED.sub(r"\1", text) if "\\" in text else text,
    "bytes": _bytes,
    "truth": "1".__eq__,
    "display": _display_string,
}


def write_member(member: Member) -> str:
    """A member as the standard writes it (section 4.1); two fields that read alike are written alike."""
    if isinstance(member, InnerList):
        inner = " ".join(map(write_member, member.items))
        return f"({inner}){write_parameters(member.parameters)}"
    return write_bare(member.value) + write_parameters(member.parameters)


def write_parameters(parameters: Parameters) -> str:
    """The parameters of a value, as they follow it."""
    return "".join(
        f";{name}" if value is True else f";{name}={write_bare(value)}" for name, value in parameters.items()
    )


def write_dictionary(members: Mapping[str, Member]) -> str:
    """A whole dictionary."""
    return ", ".join(
        name + write_parameters(member.parameters)
        if isinstance(member, FieldItem) and member.value is True
        else f"{name}={write_member(member)}"
        for name, member in members.items()
    )


def write_bare(value: BareItem) -> str:
    """A value without its parameters."""
    match value:
        case bool():
            return "?1" if value else "?0"
        case Date():
            return f"@{int(value)}"
        case Token():
            return str(value)
        case DisplayString():
            octets = (
                chr(octet) if 0x20 <= octet < 0x7F and octet not in b'%"' else f"%{octet:02x}"
                for octet in value.encode()
            )
            return '%"' + "".join(octets) + '"'
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case bytes():
            return f":{b64encode(value).decode()}:"
        case Decimal():
            whole, _, fraction = f"{value:f}".partition(".")
            return f"{whole}.{fraction.rstrip('0') or '0'}"
        case _:
            return str(value)
