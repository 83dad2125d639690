"""The executor of insight's jobs, and the folder of their files, for data that does not fit in memory.

Partitions are files in a separate folder, which is removed at the end, also after an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import Executor, UsageError

MOST_PARTS = 4096
"""More would be files of next to nothing, or memory for next to nothing."""


class Workplace(Struct, frozen=True):
    """The executor, the folder, and about how many bytes a job may hold at a time, besides what all jobs share."""

    executor: Executor
    folder: Path
    """Every worker must see it at this path."""
    job_bytes: int = 512 << 20

    def parts(self, total_bytes: int, least: int = 1) -> int:
        """Into how many parts to cut something so that each is small enough for a job; a power of two."""
        wanted = max(-(-total_bytes // max(1, self.job_bytes)), least)
        return 1 << (min(wanted, MOST_PARTS) - 1).bit_length()

    @contextmanager
    def files(self) -> Iterator[Path]:
        """A folder for partitions."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            made = TemporaryDirectory(prefix="parts-", dir=self.folder, ignore_cleanup_errors=True)
        except OSError as error:
            hint = "partitions need a folder that can be written, at one path on every machine"
            raise UsageError(f"{self.folder}: {error.strerror}", hint=hint) from error
        with made as name:
            yield Path(name)


def save(path: Path, array: NDArray[np.generic]) -> None:
    """Write an array as a whole or not at all: a job may be done twice, and the first may have died on its way."""
    with TemporaryDirectory(prefix=".draft-", dir=path.parent) as folder:
        draft = Path(folder) / path.name
        np.save(draft, array)
        draft.replace(path)


def load(path: Path) -> NDArray[Any]:
    """A memory-mapped array: only the parts that are read come into memory."""
    found: NDArray[Any] = np.load(path, mmap_mode="r")
    return found


def bounds(ordered: NDArray[np.uint64], parts: int) -> NDArray[np.int64]:
    """Where each of `parts` equal ranges of all 64-bit numbers begins in a sorted array, and where the last ends."""
    begins = np.array([part * (1 << 64) // parts for part in range(parts)], np.uint64)
    return np.append(np.searchsorted(ordered, begins), len(ordered)).astype(np.int64)
