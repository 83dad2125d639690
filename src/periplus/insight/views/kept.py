"""What was reckoned from the tables, kept beside them until they grow.

    insight/urls.parquet, insight/site_ranks.parquet    what was reckoned
    insight/made-from.json                              from which files, how long each was, and in which way

If the note does not tell exactly of what is there now, all is reckoned again. It may be removed at any time. Where the
folder cannot be written (an archive on a disk that is read only), things are kept in a temporary folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from periplus.store.tables import SCHEMAS, Spooled
from periplus.store.tables.reader import files_of

WAY: Final = 3
"""Counted up whenever the same tables would give something else."""
_NOTE: Final = "made-from.json"


class Origin(msgspec.Struct, frozen=True):
    """What something was made from: every file and its length, how far each shard had come, and in which way."""

    way: int
    files: dict[str, int]
    marks: dict[int, str]


class Kept:
    """The folder of what was reckoned."""

    def __init__(self, folder: Path, scratch: Path, tables: Path, spooled: Sequence[Spooled]) -> None:
        self.folder = folder
        self._scratch = scratch
        self._tables = tables
        self._spooled = tuple(spooled)

    @cached_property
    def _origin(self) -> Origin:
        """Looked up when it is needed: questions about one table need not know the others to be whole."""
        return _origin_of(self._tables, self._spooled)

    @property
    def is_current(self) -> bool:
        """Whether it was made from the tables as they are."""
        try:
            note = msgspec.json.decode((self.folder / _NOTE).read_bytes(), type=Origin)
        except (OSError, msgspec.MsgspecError):
            return False
        return note == self._origin

    def path(self, name: str) -> Path:
        """Where something is kept."""
        return self.folder / f"{name}.parquet"

    def begin(self) -> None:
        """Make room, here if possible; what was kept counts no more."""
        try:
            self.folder.mkdir(exist_ok=True)
            (self.folder / _NOTE).unlink(missing_ok=True)
            if not os.access(self.folder, os.W_OK):
                raise PermissionError
        except OSError:
            self.folder = self._scratch / "insight"
            self.folder.mkdir(exist_ok=True)

    def draft(self, name: str) -> Path:
        """Where to write something; it counts from `publish` on."""
        return self.folder / f".{name}.{os.getpid()}.parquet"

    def publish(self, names: Sequence[str]) -> None:
        """All are whole now, and of these tables."""
        for name in names:
            self.draft(name).replace(self.path(name))
        draft = self.folder / f".{_NOTE}.{os.getpid()}"
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(self._origin)))
        draft.replace(self.folder / _NOTE)


def _origin_of(tables: Path, spooled: Sequence[Spooled]) -> Origin:
    paths = [path for table in SCHEMAS for path in files_of(tables, table, spooled)]
    files = {str(path.relative_to(tables)): path.stat().st_size for path in paths}
    return Origin(WAY, files, {shard.shard: (shard.mark or b"").hex() for shard in spooled})
