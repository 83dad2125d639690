"""Keeps tables that were computed from a collection's tables beside them, until those grow.

    insight/urls.parquet, insight/site_ranks.parquet    computed tables
    insight/made-from.json                              from which files, how long each was, and in which way

If `made-from.json` does not match the tables now, all of it is computed again. The folder may be removed at any time;
verdicts in it (`store.tables.verdicts`) come back when their job runs again. Where it cannot be written (an archive on
a read-only disk), a temporary folder is used.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from periplus.store.durable import replace_file, write_file
from periplus.store.tables import Spooled
from periplus.store.tables.declared import ROWS
from periplus.store.tables.files import files_of
from periplus.store.tables.manifest import TableFile, finished_file, is_intact
from periplus.store.tables.verifying import unequal

WAY: Final = 3
"""Counted up whenever the same tables would give something else."""
_NOTE: Final = "made-from.json"


class KeptOrigin(msgspec.Struct, frozen=True):
    """What something was made from: every file and its length, how far each shard had come, and in which way."""

    way: int
    files: dict[str, int]
    marks: dict[int, str]


class Note(msgspec.Struct, frozen=True):
    """What is written beside what was computed: from what, and what each file was then."""

    origin: KeptOrigin
    made: dict[str, TableFile]


class Kept:
    """The folder of what was computed."""

    def __init__(self, folder: Path, scratch: Path, tables: Path, spooled: Sequence[Spooled]) -> None:
        self.folder = folder
        self._scratch = scratch
        self._tables = tables
        self._spooled = tuple(spooled)

    @cached_property
    def _origin(self) -> KeptOrigin:
        """Computed lazily: queries of one table need not check the others."""
        return _origin_of(self._tables, self._spooled)

    @property
    def is_current(self) -> bool:
        """Whether it was made from the tables as they are, and is all there with the bytes that were written."""
        note = self._note()
        return note is not None and note.origin == self._origin and self._is_whole(note)

    def _note(self) -> Note | None:
        try:
            return msgspec.json.decode((self.folder / _NOTE).read_bytes(), type=Note)
        except (OSError, msgspec.MsgspecError):
            return None

    def _is_whole(self, note: Note) -> bool:
        made = {self.path(name): file for name, file in note.made.items()}
        sizes = all(path.is_file() and path.stat().st_size == file.size for path, file in made.items())
        return sizes and not unequal(self._tables, made)

    def damaged(self) -> list[Path]:
        """Files whose bytes differ from what was written. They are computed again the next time."""
        note = self._note()
        found = (
            [self.path(name) for name, file in note.made.items() if not is_intact(self.path(name), file)]
            if note
            else []
        )
        if found:
            (self.folder / _NOTE).unlink(missing_ok=True)
        return found

    def path(self, name: str) -> Path:
        """The path of a computed table."""
        return self.folder / f"{name}.parquet"

    def begin(self) -> None:
        """Prepare the folder, here if possible; earlier contents become invalid."""
        try:
            self.folder.mkdir(exist_ok=True)
            (self.folder / _NOTE).unlink(missing_ok=True)
            if not os.access(self.folder, os.W_OK):
                raise PermissionError
        except OSError:
            self.folder = self._scratch / "insight"
            self.folder.mkdir(exist_ok=True)

    def draft(self, name: str) -> Path:
        """The path to write a file to before `publish`. Threads of one process may write at once."""
        return self.folder / f".{name}.{os.getpid()}-{threading.get_ident()}.parquet"

    def publish(self, names: Sequence[str]) -> None:
        """Rename the drafts, and record which tables they were computed from."""
        for name in names:
            replace_file(self.draft(name), self.path(name))
        note = Note(self._origin, {name: finished_file(self.path(name), 0) for name in names})
        write_file(self.folder / _NOTE, msgspec.json.format(msgspec.json.encode(note)))


def _origin_of(tables: Path, spooled: Sequence[Spooled]) -> KeptOrigin:
    paths = [path for table in ROWS for path in files_of(tables, table, spooled)]
    files = {str(path.relative_to(tables)): path.stat().st_size for path in paths}
    return KeptOrigin(WAY, files, {shard.shard: (shard.mark or b"").hex() for shard in spooled})
