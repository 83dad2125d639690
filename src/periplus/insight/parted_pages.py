"""What is compared of pages, in partitions on disk: when the briefs of all pages are more than one memory holds.

Jobs make them in two stages, and compare them in a third:

    sketch    a file of the table each: the briefs of its pages
    deal      the same again: of the pages that are to be compared the key of each band, in order, with their numbers
    compare   a band and a range of its keys each: those that share a key lie in one job, and are compared there

The caller holds what else is known of each page, about 100 bytes, and the pairs that were found. A job holds about
`BYTES_A_KEY` for each key of its range, or 350 bytes for each page of one file, and what all jobs of a machine read
together: 25 bytes a page. Briefs are read where they lie, those of a few thousand pairs at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from periplus.policy.duplicates import BANDS
from periplus.policy.settings import VALUES, DuplicateSettings
from periplus.store.tables import Spooled
from periplus.store.tables.files import intact_files_of
from periplus.store.tables.reader import scan_file, scan_spools

from .executors import Workplace, bounds, load, save
from .sketched_pages import (
    COLUMNS,
    Briefs,
    Claims,
    Facts,
    Hashes,
    Pairs,
    Places,
    alike,
    all_pairs,
    candidates,
    facts_of,
    joined,
    last_versions,
)

BYTES_A_KEY: Final = 64
_NOTE: Final = np.dtype([("key", "<u8"), ("number", "<i8")])

Rows = NDArray[np.int64]


class _Briefs(Struct, frozen=True):
    """The briefs of all rows of the table, in files: the row at which each begins, and where all end."""

    folder: Path
    starts: Rows

    def of(self, rows: Rows) -> Briefs:
        """The briefs of some rows."""
        found = np.empty((len(rows), VALUES), np.uint8)
        files = np.searchsorted(self.starts, rows, "right") - 1
        for number in np.unique(files).tolist():
            mine = np.flatnonzero(files == number)
            found[mine] = load(self.folder / f"briefs-{number}.npy")[rows[mine] - self.starts[number]]
        return found


@contextmanager
def parted_pages(
    tables: Path, spooled: Sequence[Spooled], settings: DuplicateSettings, workplace: Workplace
) -> Iterator[PartedPages]:
    """The last version of each page, with briefs in files, which last until this ends."""
    with workplace.files() as folder:
        yield PartedPages(tables, spooled, settings, workplace, folder)


class PartedPages:
    """`Pages` with briefs in files."""

    def __init__(
        self,
        tables: Path,
        spooled: Sequence[Spooled],
        settings: DuplicateSettings,
        workplace: Workplace,
        folder: Path,
    ) -> None:
        """Pages of files are read by jobs. The few rows that are in no file yet are only visible to this machine."""
        jobs = list(enumerate(intact_files_of(tables, "pages", spooled), 1))
        others = scan_spools("pages", spooled, COLUMNS)
        parts = [_sketch(folder / "briefs-0.npy", others, settings)]
        parts += workplace.executor.map(_sketch_file, jobs, (folder, settings))
        facts = joined(parts)
        self._rows = last_versions(facts)
        self.facts = facts.chosen(self._rows)
        self._briefs = _Briefs(folder, np.append(0, np.cumsum([len(part.keys) for part in parts])))
        self._settings = settings
        self._workplace = workplace

    def compared(self, at: Places) -> PartedCompared:
        """These, with their bands in partitions."""
        facts = self.facts
        return PartedCompared(
            self._workplace, self._briefs, self._rows[at], facts.sites[at], facts.links[at], self._settings
        )


# sketch


def _sketch_file(job: tuple[int, Path], shared: tuple[Path, DuplicateSettings]) -> Facts:
    number, path = job
    folder, settings = shared
    return _sketch(folder / f"briefs-{number}.npy", scan_file(path, COLUMNS), settings)


def _sketch(path: Path, batches: Iterable[pa.RecordBatch], settings: DuplicateSettings) -> Facts:
    read = [facts_of(batch, settings) for batch in batches]
    save(path, np.concatenate([np.empty((0, VALUES), np.uint8), *(briefs for _, briefs in read)]))
    return joined([facts for facts, _ in read])


# deal


class PartedCompared:
    """`Compared` by jobs, a band and a range of its keys each."""

    def __init__(
        self,
        workplace: Workplace,
        briefs: _Briefs,
        rows: Rows,
        sites: Hashes,
        links: Hashes,
        settings: DuplicateSettings,
    ) -> None:
        self._executor = workplace.executor
        self._parts = workplace.parts(len(rows) * BYTES_A_KEY)
        self._count = len(rows)
        numbers = np.full(int(briefs.starts[-1]), -1, np.int64)
        numbers[rows] = np.arange(len(rows))
        jobs = list(enumerate(np.split(numbers, briefs.starts[1:-1])))
        ends = np.stack(list(self._executor.map(_deal, jobs, (briefs.folder, self._parts))))
        self._asked = _Asked(briefs, ends, rows, sites, links, settings, np.empty(0, np.bool_), 0)

    def pairs(self, is_first: Claims, behind: int = 0) -> Pairs:
        """Pairs of similar pages."""
        asked = replace(self._asked, is_first=is_first, behind=behind)
        jobs = product(range(BANDS), range(self._parts))
        return all_pairs(list(self._executor.map(_compare, jobs, asked)), self._count)


def _deal(job: tuple[int, Rows], shared: tuple[Path, int]) -> NDArray[np.int64]:
    """Keep the keys of a file's pages that have numbers, band by band; where each range of keys begins and ends."""
    number, numbers = job
    folder, parts = shared
    kept = np.flatnonzero(numbers >= 0)
    briefs = load(folder / f"briefs-{number}.npy")[kept]
    notes = np.empty((BANDS, len(kept)), _NOTE)
    for band, keys in enumerate(briefs.view(np.uint64).T):
        order = np.argsort(keys)
        notes[band]["key"] = keys[order]
        notes[band]["number"] = numbers[kept[order]]
    save(folder / f"bands-{number}.npy", notes)
    return np.stack([bounds(of_band["key"], parts) for of_band in notes])


# compare


class _Asked(Struct, frozen=True):
    """What all jobs share: the paths of files, what is known of each page by its number, and which pages are first."""

    briefs: _Briefs
    ends: NDArray[np.int64]
    """By file, band and range."""
    rows: Rows
    sites: Hashes
    links: Hashes
    settings: DuplicateSettings
    is_first: Claims
    behind: int


def _compare(job: tuple[int, int], asked: _Asked) -> Pairs:
    keys, numbers = _shared_keys(*job, asked)
    found = []
    for earlier, later in candidates(keys, asked.is_first[numbers], asked.behind):
        some, places = np.unique(numbers[np.concatenate([earlier, later])], return_inverse=True)
        briefs, sites, links = asked.briefs.of(asked.rows[some]), asked.sites[some], asked.links[some]
        pairs = alike((places[: len(earlier)], places[len(earlier) :]), briefs, sites, links, asked.settings)
        found.append(Pairs(some[pairs.earlier], some[pairs.later], pairs.likeness))
    return all_pairs(found, len(asked.rows))


def _shared_keys(band: int, part: int, asked: _Asked) -> tuple[Hashes, Places]:
    """The keys of a range that more than one page has, in order, and whose they are, the earlier pages first."""
    parts = [np.empty(0, _NOTE)]
    for number, (start, end) in enumerate(asked.ends[:, band, part : part + 2].tolist()):
        if start < end:
            parts.append(np.array(load(asked.briefs.folder / f"bands-{number}.npy")[band, start:end]))
    notes = np.concatenate(parts)
    order = np.lexsort((notes["number"], notes["key"]))
    keys = notes["key"][order]
    is_next_same = keys[1:] == keys[:-1]
    is_shared = np.append(is_next_same, False)[: len(keys)] | np.append(False, is_next_same)[: len(keys)]
    return keys[is_shared], notes["number"][order][is_shared]
