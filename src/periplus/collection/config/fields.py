"""Describes settings (name in a file, type, default, explanation, flags), and parses durations and sizes.

The explanation is the docstring under the field, read from the source, so that it is written once, beside the code that
uses it. (A class may also explain its fields in its own docstring, as `name`: what it is.) Without the source nothing
is explained and everything else works.

A number alone is seconds, or a plain count. Sizes accept both families of prefixes: `k M G T` are powers of 1000, and
`Ki Mi Gi Ti` of 1024 (IEC 80000-13); a `B` may follow.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Struct

from periplus.model import ConfigError

_SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PIECE = re.compile(r"(\d+(?:\.\d+)?)\s*(d|h|ms|m|s)\s*", re.ASCII)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_BINARY = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_LONGEST = 40


def parse_duration(text: str) -> float:
    """Seconds. Raises `ConfigError` for what is not a duration."""
    written = text.strip().lower()
    if _NUMBER.fullmatch(written) and len(written) <= _LONGEST:
        return float(written)
    pieces = list(_PIECE.finditer(written)) if len(written) <= _LONGEST else []
    if not pieces or "".join(piece[0] for piece in pieces) != written:
        raise ConfigError(f"{text[:_LONGEST]!r} is not a duration", hint="write 90s, 10m or 1h30m")
    return math.fsum(float(piece[1]) * _SECONDS[piece[2]] for piece in pieces)


def duration_text(seconds: float) -> str:
    """The shortest text that parses to exactly this duration."""
    if seconds <= 0 or seconds != int(seconds):
        return f"{seconds!r}s"
    rest, pieces = int(seconds), []
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, int(_SECONDS[unit]))
        if count:
            pieces.append(f"{count}{unit}")
    return "".join(pieces)


def parse_size(text: str) -> int:
    """A whole number, with a prefix or without. Raises `ConfigError` for what is none."""
    match = _SIZE.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        hint = "write a whole number, such as 500; 500k, 10MB and 10MiB are numbers, too"
        raise ConfigError(f"{text[:_LONGEST]!r} is not a number", hint=hint)
    prefix = (match[2] or "").lower()
    factor = 1 if not prefix else (1024 if prefix.endswith("i") else 1000) ** ("kmgt".index(prefix[0]) + 1)
    return round(float(match[1]) * factor) if "." in match[1] else int(match[1]) * factor


def size_text(size: int) -> str:
    """A size with the largest binary prefix that divides it; without one where none does."""
    for name, factor in _BINARY:
        if size >= factor and size % factor == 0:
            return f"{size // factor}{name}"
    return str(size)


class SettingField(Struct, frozen=True):
    """A setting. `attribute` is its name in Python, which differs where a file's word is a keyword.

    `table` is the struct that declares it; `notes` are what its annotation has besides the type: its flags, and whether
    agents may set it.
    """

    table: type[Struct]
    name: str
    attribute: str
    type: Any
    default: Any
    notes: tuple[Any, ...] = ()

    @property
    def doc(self) -> str:
        """Its explanation."""
        doc = " ".join(field_docs(self.table).get(self.attribute, "").split())
        return doc[:1].upper() + doc[1:]

    @property
    def is_duration(self) -> bool:
        """Whether people type it as a length of time."""
        return self.name == "for"

    @property
    def is_size(self) -> bool:
        """Whether it counts bytes."""
        return self.type is int and ("bytes" in self.name or "size" in self.name)


def settings_of(settings: type[Struct]) -> dict[str, SettingField]:
    """The settings of a room, by their names in a file, in their order."""
    return _settings_of(settings)


@cache
def all_settings(config: type[Struct]) -> dict[str, SettingField]:
    """The settings of all tables, as `table.key`, in their order."""
    return {
        f"{table}.{name}": field
        for table, room in settings_of(config).items()
        for name, field in settings_of(room.type).items()
    }


@cache
def _settings_of(settings: type[Struct]) -> dict[str, SettingField]:
    found = {}
    declared_in: dict[str, type[Struct]] = getattr(settings, "declared_in", {})
    base = settings.__mro__[1] if declared_in else settings
    for field in msgspec.structs.fields(settings):
        default = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
        kind, *notes = get_args(field.type) if get_origin(field.type) is Annotated else [field.type]
        table = declared_in.get(field.name, base)
        found[field.encode_name] = SettingField(table, field.encode_name, field.name, kind, default, tuple(notes))
    return found


@cache
def field_docs(settings: type[Struct]) -> dict[str, str]:
    """The docstring under each field, or its explanation in the docstring of the class."""
    text = inspect.getdoc(settings) or ""
    docs: dict[str, str] = dict(re.findall(r"`(\w+)`: (.+?)(?=\s`\w+`: |\Z)", text, re.DOTALL))
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(settings))).body[0]
    except (OSError, TypeError, SyntaxError):
        return docs
    lines = body.body if isinstance(body, ast.ClassDef) else []
    for line, below in pairwise(lines):
        match line, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                docs[name] = said
            case _:
                pass
    return docs
