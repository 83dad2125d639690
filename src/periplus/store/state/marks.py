"""The small values of a state by name, and its format: all that is read of a state to know how far it has come.

Commands that read a collection need no more of a shard. They open this and not the whole `disk`, which loads all that
a crawl is made of.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

import msgspec

from periplus.model import CollectionDamaged

from .environment import Environment
from .files import DATA
from .replica import finish_homecoming, is_copied
from .rows import damaged_row, encode, name_key
from .upgrading import FIELDS_OF_META, OLD_FORMAT, join_bits, upgrade, values_of_meta

FORMAT: Final = b"6"
"""Of the tables and rows. A change that old rows do not survive gets another; `upgrading` reads those before."""
_FORMAT_WITHOUT_FILES: Final = b"4"
"""The same rows, all records in one table: earlier versions would not find what was moved out of it."""
_FORMAT_OF_SHORT_BITS: Final = b"5"
"""The same rows, except that each of `linked` has the bits of 256 URLs. Readers do not look at them."""

S = TypeVar("S")


class Marks:
    """Values by name in the environment of a state. Raises `CollectionDamaged` for a format that is not known."""

    def __init__(self, environment: Environment, *, is_copy: bool = False) -> None:
        self.environment = environment
        self._marks = environment.table("marks")
        self.is_old = self._is_old(environment, is_copy=is_copy)
        """Whether rows may be of the last format."""

    def meta(self, kind: type[S], name: str = "") -> S | None:
        """The value of this type that was last put, if any; with `name` that of the type of this name.

        `kind` may then have only some of its fields, and needs only their types.
        """
        name = name or kind.__name__
        row = self.marked(f"meta {name}")
        if row is None and name in FIELDS_OF_META and (whole := self.marked("meta ShardMeta")) is not None:
            row = values_of_meta(whole).get(name)  # a reader of the old format
        try:
            return None if row is None else msgspec.msgpack.decode(row, type=kind)
        except msgspec.MsgspecError as error:
            raise damaged_row(error) from error

    def put_meta(self, value: msgspec.Struct) -> None:
        """Keep a value; there is one of each type."""
        self.mark(f"meta {type(value).__name__}", encode(value))

    def mark(self, name: str, value: bytes) -> None:
        """Keep a small value by name."""
        self._marks.put(name_key(name), value)

    def marked(self, name: str) -> bytes | None:
        """The value last stored under that name."""
        return self._marks.get(name_key(name))

    def close(self) -> None:
        """Let go, without a commit."""
        self.environment.close()

    @staticmethod
    def _is_old(environment: Environment, *, is_copy: bool) -> bool:
        """Whether rows may be of the last format. A reader does not rewrite them, nor does the copy that it follows.

        Raises `CollectionDamaged` for any other format.
        """
        counters = environment.table("counters")
        found = counters.get(b"format")
        if found == OLD_FORMAT and (is_copy or environment.is_readonly):
            return True
        if found == OLD_FORMAT:
            upgrade(environment)
        if found == _FORMAT_WITHOUT_FILES and environment.is_readonly:
            return False
        if found == _FORMAT_OF_SHORT_BITS and (is_copy or environment.is_readonly):
            return False
        if found == _FORMAT_OF_SHORT_BITS:
            join_bits(environment)
        if found in (None, OLD_FORMAT, _FORMAT_WITHOUT_FILES, _FORMAT_OF_SHORT_BITS):
            counters.put(b"format", FORMAT)
        elif found != FORMAT:
            raise CollectionDamaged(
                f"the state has format {found.decode('ascii', 'replace')}, this version reads {FORMAT.decode()}",
                hint="use the version of Periplus that wrote it",
            )
        return False


def committed_marks(folder: Path) -> Marks:
    """The values of a state as of the last commit, for another process than the one that crawls."""
    finish_homecoming(folder)
    if not (folder / DATA).is_file() and is_copied(folder):
        from .disk import DiskState  # a copy is caught up with all of its tables

        return DiskState.read_only(folder)
    environment = Environment(folder, readonly=True)
    try:
        return Marks(environment)
    except BaseException:
        environment.close()
        raise
