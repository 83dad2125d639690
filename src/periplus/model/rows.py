"""How a table is declared: a struct whose fields are the columns, and what can be asked of it.

    class Redirection(TableRow, frozen=True):
        \"\"\"Every redirect that leads to another domain.\"\"\"

        table = "redirections"
        key = ("url",)

        url: Text
        \"\"\"where it begins\"\"\"
        target: Text | None
        \"\"\"where it ends\"\"\"

The Arrow schema, what is written (`store.tables`), what readers return, the table in SQL (`insight.views`) and its
section of docs/tables.md come from there. A field's order, name, type and docstring are those of its column. An
instance that is given to the sink of events is written to the table of its class.

Annotations are read as they are written, so the module has `from __future__ import annotations`.

A part that has tables, views or questions declares them in its module `rows`, which imports nothing above this room:
subclasses of `TableRow`, and the tuples `VIEWS` and `QUESTIONS`. `periplus.parts` lists these modules; rooms below the
parts get them from here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from types import ModuleType, UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin

from msgspec import Struct


class ColumnType(Enum):
    """The type of a column, in the words of docs/tables.md."""

    TEXT = "string"
    WORD = "dictionary"
    MOMENT = "timestamp"
    NUMBER = "int32"
    SIZE = "int64"
    REAL = "double"
    SHARE = "float"
    CLAIM = "bool"
    DIGEST = "uint64"
    BYTES = "binary"
    WORDS = "list<string>"


Text = Annotated[str, ColumnType.TEXT]
Word = Annotated[str, ColumnType.WORD]
"""One of a small set, or a text that repeats from row to row: small at rest and in memory."""
Moment = Annotated[float, ColumnType.MOMENT]
"""POSIX seconds; `timestamp[us, UTC]` at rest."""
Number = Annotated[int, ColumnType.NUMBER]
Size = Annotated[int, ColumnType.SIZE]
Real = Annotated[float, ColumnType.REAL]
Share = Annotated[float, ColumnType.SHARE]
Claim = Annotated[bool, ColumnType.CLAIM]
Digest = Annotated[int, ColumnType.DIGEST]
Bytes = Annotated[bytes, ColumnType.BYTES]
WordList = Annotated[Sequence[str], ColumnType.WORDS]


class TableRow(Struct, frozen=True, gc=False):
    """A row of a table. New columns are added at the end: in rows that were written before, they are null.

    A null says that there is nothing to say; an empty string that a site gave an empty value. Rows are made with
    positional arguments: that costs as much as a tuple, and keywords cost ten times that.
    """

    table: ClassVar[str]
    """Its name."""
    key: ClassVar[tuple[str, ...]]
    """The columns by which `periplus repair` knows a row; without times that depend on when something was read."""
    is_repeated: ClassVar[bool] = False
    """Whether one row stands for all of its key."""
    has_nulls: ClassVar[bool] = True
    """Whether a column may have nulls. To state that none has makes a large table a quarter cheaper to write."""


class TableView(Struct, frozen=True):
    """A view or table that can be queried. `sql` is empty for a table."""

    name: str
    says: str
    sql: str = ""


class TableQuestion(Struct, frozen=True):
    """A question in SQL. `says`: what the answer shows; `advice`: what to do about it."""

    name: str
    says: str
    advice: str
    sql: str


@cache
def columns_of(row: type[TableRow]) -> dict[str, ColumnType]:
    """The columns of a table, in their order."""
    known = vars(sys.modules[row.__module__])
    return {name: _column_type(row.__annotations__[name], known) for name in row.__struct_fields__}


def _column_type(annotation: Any, known: Mapping[str, Any]) -> ColumnType:
    """The type of a column, by its alias or the name of it; for all tables `get_type_hints` would take 6 ms."""
    if isinstance(annotation, str):
        alias = known.get(annotation.removesuffix(" | None"))
    else:
        alias = get_args(annotation)[0] if get_origin(annotation) in (Union, UnionType) else annotation
    kinds: tuple[Any, ...] = getattr(alias, "__metadata__", ())
    if len(kinds) != 1 or not isinstance(kinds[0], ColumnType):
        raise TypeError(f"{annotation} is not the type of a column")
    found: ColumnType = kinds[0]
    return found


def summary(row: type[TableRow]) -> str:
    """What a row of the table is: the first paragraph of its docstring."""
    return " ".join((row.__doc__ or "").partition("\n\n")[0].split())


def rows_in(module: ModuleType) -> list[type[TableRow]]:
    """The tables that a module declares, in their order."""
    found = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, TableRow)]
    return [each for each in found if each.__module__ == module.__name__]


@cache
def modules_of_parts() -> tuple[ModuleType, ...]:
    """The modules that declare tables of parts, which are above this room: it knows only where their list is."""
    return tuple(import_module("periplus.parts").rows())
