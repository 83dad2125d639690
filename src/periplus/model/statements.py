"""Named SQL statements in a `.sql` file beside the module that runs them, read when the first is asked for.

    -- name: crawled
    -- says: The URLs that were requested.
    select * from urls where is_crawled

A statement has all lines up to the next name. Right below its name `-- key: text` is a field of what is declared with
it, and any other comment is for readers. Words in braces are filled in by who asks for the statement.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct, convert

_NAME: Final = re.compile(r"^-- name: ([a-z0-9_.-]+)\n((?:--.*\n)*)", re.MULTILINE)
_FIELD: Final = re.compile(r"^-- ([a-z]+): (.+)$", re.MULTILINE)
_Declared = TypeVar("_Declared", bound=Struct)


class Statements:
    """The statements of a module by their names: `SQL = Statements(__file__)`."""

    def __init__(self, module: str) -> None:
        self._file = Path(module).with_suffix(".sql")

    def __getitem__(self, name: str) -> str:
        return self._read[name]["sql"]

    def get(self, name: str, usual: str) -> str:
        """The statement of that name, or another text."""
        return self._read[name]["sql"] if name in self._read else usual

    @cached_property
    def _read(self) -> dict[str, dict[str, str]]:
        _, *parts = _NAME.split(self._file.read_text("utf-8"))
        read: dict[str, dict[str, str]] = {}
        for name, head, sql in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            if name in read:
                raise ValueError(f"{self._file} has two statements with the name {name}")
            read[name] = {"name": name, **dict(_FIELD.findall(head)), "sql": sql.strip("\n")}
        return read

    def declared(self, kind: type[_Declared], **words: object) -> tuple[_Declared, ...]:
        """All statements with their fields, in the order of the file; a field too many or too few is an error."""
        return tuple(convert({**fields, "sql": fields["sql"].format(**words)}, kind) for fields in self._read.values())
