"""What can be said of a setting: its name in a file, its type, its default, and the line that explains it.

The explanation is the docstring under the field, read from the source, so that it is written once, beside the code that
obeys it. (A class may also explain its fields in its own docstring, as `name`: what it is.) Where the source is not at
hand nothing is explained and everything else works.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Struct


class SettingField(Struct, frozen=True):
    """A setting. `attribute` is its name in Python, which differs where a file's word is a keyword."""

    name: str
    attribute: str
    type: Any
    default: Any
    doc: str

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
def _settings_of(settings: type[Struct]) -> dict[str, SettingField]:
    docs = _docs(settings)
    found = {}
    for field in msgspec.structs.fields(settings):
        default = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
        doc = " ".join(docs.get(field.name, "").split())
        doc = doc[:1].upper() + doc[1:]
        found[field.encode_name] = SettingField(field.encode_name, field.name, field.type, default, doc)
    return found


def _docs(settings: type[Struct]) -> dict[str, str]:
    """What stands under each field, or what the docstring of the class says of it."""
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
