"""The places of URLs that have been known for some time, by fingerprint, in sorted files.

    fingerprints-NUMBER.run    fingerprints and places (`runs`)

New ones come in large batches and are merged with the last file. Large files are merged a piece at each commit, so
that there are never more than three, and one that is written again costs a few bytes for each new URL.

What is in the files follows from the table of records. A file that is missing or damaged is written again from there,
and a copy of the state needs none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from periplus.model import CollectionError, InvariantError

from ..durable import draft_of, is_draft, replace_file
from .environment import Environment
from .rows import damaged_row, encode, in_chunks

if TYPE_CHECKING:
    from .runs import Entries, Run

TIER: Final = 1 << 22
"""Entries of a run that grows by whole merges, each of which takes some 100 ms; larger ones are merged in pieces."""
PIECES: Final = 384
"""Pieces of a merge of large runs, one at each commit. It ends before the next begins: a commit has at most 20,000
changed rows, two of them for each new URL, so at least 420 pass meanwhile. So each has its share of the merges."""
SMALLEST_PIECE: Final = 1 << 18
"""Entries of a piece, at least: some 5 ms."""
_NAME: Final = "fingerprints"
_SITE: Final = 4
"""Bytes of the number of a site, with which keys and places begin."""


class RunFile(Struct, frozen=True, array_like=True):
    """A run by its number, with what its file must have: entries, and a digest of them."""

    number: int
    entries: int
    digest: bytes

    def path(self, folder: Path) -> Path:
        """Where it is in the folder of a state."""
        return folder / f"{_NAME}-{self.number:06d}.run"


class RunFiles(Struct, frozen=True, array_like=True):
    """The runs of a state, the oldest and largest first, and the number of the next one."""

    next_number: int = 0
    runs: tuple[RunFile, ...] = ()


class UrlPlaces:
    """Places by keys. A key is the number of a site and the fingerprint of a URL; a place begins with that number, too.

    `known` yields all of both, for files that have to be written again. `tier` is `TIER` by default.
    """

    def __init__(
        self,
        environment: Environment,
        known: Callable[[], Iterable[tuple[bytes, bytes]]],
        *,
        tier: int | None = None,
    ) -> None:
        self._environment = environment
        self._folder = environment.folder
        self._known = known
        self._tier = tier or TIER
        self._counters = environment.table("counters")
        self._files = RunFiles()
        self._runs: list[Run] = []
        self._merge: Generator[None, None, RunFile] | None = None
        self._superseded: list[Path] = []
        self._unused: list[Path] = []
        self.follow()
        if not environment.is_readonly:
            self._remove_leftovers()

    @property
    def has_files(self) -> bool:
        """Whether there is anything to look up."""
        return bool(self._runs)

    def find(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The place of each key that is known."""
        found: dict[bytes, bytes] = {}
        rest = list(keys)
        for run in self._runs:
            run.find(rest, found)
            rest = [key for key in rest if key not in found]
        return found

    def add(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Add a batch of new keys and their places: to the last file while it is small, otherwise as one more."""
        from .runs import entries_of, merged

        entries = entries_of(rows)
        count = len(self._runs)
        if count > (2 if self._merge else 0) and len(last := self._runs[-1]) < self._tier:
            both = self._writing(merged(last.entries, entries), len(last) + len(rows))
            self._replace(count - 1, count, [_result_of(both)])
        else:
            self._replace(count, count, [_result_of(self._writing([entries], len(rows)))])
        self._begin_merge()
        if len(self._runs) > 2 and len(self._runs[-1]) >= self._tier:
            while self._merge:
                self.flush()
            self._begin_merge()

    def flush(self) -> None:
        """Write the next piece of a merge; after the last one the result takes the place of both files."""
        merge, self._merge = self._merge, None
        if merge is None:
            return
        try:
            next(merge)
            self._merge = merge
        except StopIteration as end:
            self._replace(0, 2, [end.value])

    def committed(self) -> None:
        """After a commit: remove files that the commit before did not name any more. A reader may still open others."""
        for path in self._unused:
            path.unlink(missing_ok=True)
        self._unused, self._superseded = self._superseded, []

    def follow(self) -> None:
        """Open the files that the state names now, if they are others than before."""
        row = self._counters.get(_NAME.encode())
        try:
            files = RunFiles() if row is None else msgspec.msgpack.decode(row, type=RunFiles)
        except msgspec.MsgspecError as error:
            raise damaged_row(error) from error
        if files == self._files:
            return
        self._files = files
        runs = [run for file in files.runs if (run := _opened(self._folder, file)) is not None]
        if len(runs) == len(files.runs) and (self._environment.is_readonly or self._are_intact()):
            self._runs = runs
        else:
            self._write_again()
        if self._environment.is_readonly:
            self._files = files  # also where they had to be written again: once is enough

    def forget_sites(self, numbers: Sequence[bytes]) -> None:
        """Remove every key of these sites."""
        if not self._runs or not numbers:
            return
        import numpy as np

        sites = np.frombuffer(b"".join(numbers), ">u4").astype(np.uint64)
        self._give_up_merge()
        for at, file in reversed(list(enumerate(self._files.runs))):
            run = _opened(self._folder, file, is_scanned=True) or self._runs[at]
            left = sum(len(fingerprints) for fingerprints, _ in run.without(sites))
            if left < len(run):
                self._replace(at, at + 1, [_result_of(self._writing(run.without(sites), left))] if left else [])

    def check_invariants(self) -> None:
        """Raise if a file does not have the digest that it was written with."""
        if not self._are_intact():
            raise InvariantError(f"a file of fingerprints in {self._folder} has changed")

    def close(self) -> None:
        """Give up what is not finished."""
        self._give_up_merge()

    # files

    def _begin_merge(self) -> None:
        """Merge the first two runs from now on, if the second has grown, or was left over when a merge was given up."""
        if not self._merge and len(self._runs) > 1 and (len(self._runs) > 2 or len(self._runs[1]) >= self._tier):
            self._merge = self._merging()

    def _merging(self) -> Generator[None, None, RunFile]:
        """Merge the first two runs, a piece at a time."""
        from .runs import merged

        runs = [_opened(self._folder, file, is_scanned=True) for file in self._files.runs[:2]]
        one, other = (run or kept for run, kept in zip(runs, self._runs, strict=False))
        entries = len(one) + len(other)
        return self._writing(merged(one.entries, other.entries), entries, max(SMALLEST_PIECE, entries // PIECES))

    def _writing(self, steps: Iterable[Entries], entries: int, piece: int = TIER) -> Generator[None, None, RunFile]:
        """Write a new file, and stop after each piece. It is not part of the state before it is in its list."""
        from .runs import RunWriter

        number = self._files.next_number
        self._files = RunFiles(number + 1, self._files.runs)
        path = RunFile(number, 0, b"").path(self._folder)
        draft = draft_of(path)
        try:
            with draft.open("wb") as file:
                writer = RunWriter(file, entries)
                end = piece
                for step in steps:
                    writer.write(*step)
                    if writer.written >= end:
                        end += piece
                        writer.sync()
                        yield
                digest = writer.finish()
            replace_file(draft, path)
        except OSError as error:
            raise CollectionError(
                f"{path} cannot be written: {error.strerror}",
                hint="free space on the disk and run the same command again",
            ) from error
        finally:
            draft.unlink(missing_ok=True)
        return RunFile(number, entries, digest)

    def _replace(self, start: int, end: int, files: Sequence[RunFile]) -> None:
        """Take files into the list in place of others."""
        kept = list(self._files.runs)
        self._superseded += [file.path(self._folder) for file in kept[start:end]]
        kept[start:end] = files
        self._files = RunFiles(self._files.next_number, tuple(kept))
        self._runs[start:end] = [run for file in files if (run := _opened(self._folder, file)) is not None]
        if not self._environment.is_readonly:
            self._counters.put(_NAME.encode(), encode(self._files))

    def _write_again(self) -> None:
        """Write all files again from the records; what only reads has its own, and none by name."""
        self._files, self._runs = RunFiles(self._files.next_number), []
        folder = self._folder
        with tempfile.TemporaryDirectory(prefix="periplus-") as name:
            if self._environment.is_readonly:
                self._folder = Path(name)
            for rows in in_chunks(self._known(), self._tier):
                self.add(rows)
            while self._merge:
                self.flush()
        self._folder = folder

    def _are_intact(self) -> bool:
        runs = [(_opened(self._folder, file, is_scanned=True), file.digest) for file in self._files.runs]
        return all(run is not None and run.is_intact(digest) for run, digest in runs)

    def _give_up_merge(self) -> None:
        merge, self._merge = self._merge, None
        if merge is not None:
            merge.close()

    def _remove_leftovers(self) -> None:
        """Remove files of a process that ended before it had committed them."""
        kept = {file.path(self._folder) for file in self._files.runs}
        for path in self._folder.glob(f"*{_NAME}-*"):
            if path not in kept and (path.suffix == ".run" or is_draft(path.name)):
                path.unlink(missing_ok=True)


def _opened(folder: Path, file: RunFile, *, is_scanned: bool = False) -> Run | None:
    from .runs import Run

    return Run.open(file.path(folder), file.entries, file.digest, is_scanned=is_scanned)


def _result_of(writing: Generator[None, None, RunFile]) -> RunFile:
    """Write all of a file."""
    while True:
        try:
            next(writing)
        except StopIteration as end:
            result: RunFile = end.value
            return result
