"""What jobs over the tables have learnt for the crawl: one file a kind and generation.

    learnt/reputation-7    the seventh that a job wrote of this kind

A job writes whole files, and never changes one. A shard looks for newer ones when it commits, and commits the number of
the one it uses; after a crash it continues with that. So the last few generations stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .durable import write_file

KEPT: Final = 8
"""Generations of a kind that are kept: a shard that was killed needs the one it had, and jobs take minutes."""
_NAME: Final = re.compile(r"([a-z-]+)-([0-9]+)")


class LearntFiles:
    """The folder of what was learnt. It is made by the first `write`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, kind: str, content: bytes) -> int:
        """Write the next generation, durably; its number."""
        self._folder.mkdir(parents=True, exist_ok=True)
        generation = self.newest().get(kind, 0) + 1
        write_file(self._path(kind, generation), content)
        self._path(kind, generation - KEPT).unlink(missing_ok=True)
        return generation

    def read(self, kind: str, generation: int) -> bytes | None:
        """A generation; `None` if it is gone."""
        try:
            return self._path(kind, generation).read_bytes()
        except FileNotFoundError:
            return None

    def newest(self) -> dict[str, int]:
        """The newest generation of each kind."""
        try:
            names = [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            return {}
        found: dict[str, int] = {}
        for name in names:
            match = _NAME.fullmatch(name)
            if match is not None:
                found[match[1]] = max(found.get(match[1], 0), int(match[2]))
        return found

    def newer_than(self, known: Mapping[str, int]) -> dict[str, int]:
        """The newest generation of each kind that is newer than the known one."""
        return {kind: generation for kind, generation in self.newest().items() if generation > known.get(kind, 0)}

    def _path(self, kind: str, generation: int) -> Path:
        return self._folder / f"{kind}-{generation}"
