"""Counts the facts of a survey, in any order. Pure: no files, no clock.

It holds about 200 bytes for each domain of the list (20 MB for 100,000 domains) and bounded counters (`counting`);
files leave only numbers. `tables_of` turns these into tables.

A file counts for its domain, whether that is in the list or not: a domain without a `RobotsFact` has the outcome
`not-asked`.

Both are exact for any realistic list of domains; each states its bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import sqrt
from typing import Final, Self

from msgspec import Struct

from .facts import NOT_ASKED, Fact, FileFact, RobotsFact
from .tables import PreferenceCounts

MOST_NAMES: Final = 100_000
MOST_VALUES: Final = 200_000
_DIGITS: Final = 3


class NameCounts:
    """Names, in how many files each occurs, and how often in all.

    Exact as long as there are no more than `MOST_NAMES`. Beyond, the rarest half are folded into a tail, and a name
    that comes back starts again at 0, as in lossy counting (Manku & Motwani 2002): no count is too large, and none is
    too small by more than `error` files. The frequent names, which a table is read for, stay.
    """

    def __init__(self, most: int = MOST_NAMES) -> None:
        self.files = 0
        """Files that name anything."""
        self.occurrences = 0
        """Of all names together, folded or not."""
        self.error = 0
        """Files that a count may lack at most."""
        self.folded = 0
        """Names in the tail; one that was folded twice counts twice."""
        self._most = most
        self._counts: dict[str, tuple[int, int]] = {}

    def add(self, counts: Sequence[tuple[str, int]]) -> None:
        """The names of one more file, each once, with how often it occurs there."""
        for name, count in counts:
            files, occurrences = self._counts.get(name, (0, 0))
            self._counts[name] = files + 1, occurrences + count
            self.occurrences += count
        self.files += bool(counts)
        if len(self._counts) > self._most:
            self._fold()

    def __len__(self) -> int:
        return len(self._counts)

    def by_files(self) -> list[tuple[str, int, int]]:
        """Name, files, occurrences: those in most files first, then by occurrences, then by name."""
        return sorted(self._rows(), key=lambda row: (-row[1], -row[2], row[0]))

    def by_occurrences(self) -> list[tuple[str, int, int]]:
        """Name, files, occurrences: the commonest first, then by files, then by name."""
        return sorted(self._rows(), key=lambda row: (-row[2], -row[1], row[0]))

    def _rows(self) -> Iterator[tuple[str, int, int]]:
        return ((name, files, occurrences) for name, (files, occurrences) in self._counts.items())

    def _fold(self) -> None:
        """Drop the names in the fewest files: at least half of all names."""
        numbers = sorted(files for files, _ in self._counts.values())
        least = numbers[len(numbers) // 2]
        before = len(self._counts)
        self._counts = {name: counts for name, counts in self._counts.items() if counts[0] > least}
        self.folded += before - len(self._counts)
        self.error += least


class Distribution:
    """How often each integer occurs; with count, sum and extremes, which are always exact.

    Exact for at most `MOST_VALUES` distinct numbers. Beyond that, three digits of each are kept.
    """

    def __init__(self, most: int = MOST_VALUES) -> None:
        self.count = 0
        self.total = 0
        self.greatest = 0
        self.is_rounded = False
        self._squares = 0
        self._most = most
        self._counts: dict[int, int] = {}

    def add(self, value: int) -> None:
        """Count a number."""
        self.count += 1
        self.total += value
        self._squares += value * value
        self.greatest = max(self.greatest, value)
        value = _rounded(value) if self.is_rounded else value
        self._counts[value] = self._counts.get(value, 0) + 1
        if len(self._counts) > self._most and not self.is_rounded:
            self._round()

    @property
    def mean(self) -> float | None:
        """The average; nothing of nothing."""
        return self.total / self.count if self.count else None

    @property
    def deviation(self) -> float | None:
        """The population standard deviation of these numbers."""
        if not self.count:
            return None
        return sqrt(self.count * self._squares - self.total * self.total) / self.count

    def quantile(self, share: float) -> int | None:
        """The smallest number that at least this share of the numbers does not exceed."""
        passed = 0
        for value, count in self.items():
            passed += count
            if passed >= share * self.count:
                return value
        return None

    def of(self, value: int) -> int:
        """How often a number occurs."""
        return self._counts.get(value, 0)

    def above(self, value: int) -> int:
        """How many are greater."""
        return sum(count for other, count in self._counts.items() if other > value)

    def items(self) -> list[tuple[int, int]]:
        """Number and how often, the smallest first."""
        return sorted(self._counts.items())

    def _round(self) -> None:
        self.is_rounded = True
        counts: dict[int, int] = {}
        for value, count in self._counts.items():
            value = _rounded(value)
            counts[value] = counts.get(value, 0) + count
        self._counts = counts


def _rounded(value: int) -> int:
    """Its first three digits, and zeros."""
    scale = int(10 ** max(0, len(str(value)) - _DIGITS))
    return value // scale * scale


INDEX = "index"


class DomainRow(Struct, gc=False):
    """What was found of a domain."""

    domain: str
    rank: int | None = None
    outcome: str = NOT_ASKED
    status: int | None = None
    has_robots: bool = False
    is_html: bool = False
    size: int = 0
    lines: int = 0
    sections: int = 0
    sitemaps: int = 0
    """References in its robots.txt."""
    files: int = 0
    files_read: int = 0
    uris: int = 0
    with_lastmod: int = 0
    with_changefreq: int = 0
    with_priority: int = 0


class Level(Struct, gc=False):
    """Files by the number of indexes above them."""

    files: int = 0
    read: int = 0
    indexes: int = 0
    uris: int = 0


class Format(Struct, gc=False):
    """Files of one kind that were read, and the metadata of their URIs."""

    files: int = 0
    size: int = 0
    uris: int = 0
    with_lastmod: int = 0
    with_changefreq: int = 0
    with_priority: int = 0


class Survey:
    """Everything that is counted. Public attributes are for `tables_of` and its kin; change them by `add` alone."""

    def __init__(self) -> None:
        self.domains: dict[str, DomainRow] = {}
        self.robots_files = 0
        self.fields = NameCounts()
        self.agents = NameCounts()
        self.robots_problems = NameCounts()
        self.preferences = PreferenceCounts()
        self.robots_bytes = Distribution()
        self.robots_lines = Distribution()
        self.robots_sections = Distribution()
        self.section_disallows = Distribution()
        self.robots_sitemaps = Distribution()
        """Of the files that name any."""
        self.files = 0
        self.file_outcomes: Counter[str] = Counter()
        self.file_problems = NameCounts()
        self.levels: dict[int, Level] = {}
        self.formats: dict[tuple[str, bool], Format] = {}
        self.file_uris = Distribution()
        """Of sitemaps that were read, indexes not among them."""
        self.index_children = Distribution()
        self.files_with: Counter[str] = Counter()
        """Files in which any URI has a lastmod, a changefreq, a priority."""

    def add(self, fact: Fact) -> None:
        """Count a fact."""
        if isinstance(fact, RobotsFact):
            self._add_robots(fact)
        else:
            self._add_file(fact)

    def extend(self, facts: Iterable[Fact]) -> Self:
        """Count them all."""
        for fact in facts:
            self.add(fact)
        return self

    def _row(self, domain: str) -> DomainRow:
        row = self.domains.get(domain)
        if row is None:
            row = self.domains[domain] = DomainRow(domain)
        return row

    def _add_robots(self, fact: RobotsFact) -> None:
        row = self._row(fact.domain)
        row.rank, row.outcome, row.status, row.is_html = fact.rank, fact.outcome, fact.status, fact.is_html
        if not fact.is_file:
            return
        row.has_robots = True
        row.size, row.lines, row.sections, row.sitemaps = fact.size, fact.lines, fact.sections, len(fact.sitemaps)
        self.robots_files += 1
        self.fields.add(fact.fields)
        self.agents.add(tuple(Counter(fact.agents).items()))
        self.robots_problems.add(fact.problems)
        self.preferences.add(fact.domain, fact.preferences)
        self.robots_bytes.add(fact.size)
        self.robots_lines.add(fact.lines)
        self.robots_sections.add(fact.sections)
        for disallows in fact.disallows:
            self.section_disallows.add(disallows)
        if fact.sitemaps:
            self.robots_sitemaps.add(len(fact.sitemaps))

    def _add_file(self, fact: FileFact) -> None:
        row = self._row(fact.domain)
        level = self.levels.setdefault(fact.depth, Level())
        self.files += 1
        row.files += 1
        level.files += 1
        self.file_outcomes[fact.outcome] += 1
        self.file_problems.add(fact.problems)
        if fact.is_read:
            row.files_read += 1
            level.read += 1
            level.indexes += fact.kind == INDEX
            self._add_contents(fact, row, level)

    def _add_contents(self, fact: FileFact, row: DomainRow, level: Level) -> None:
        """What is inside a file that was read. An index that lists pages, too, is counted for both."""
        if fact.kind == INDEX:
            self.index_children.add(fact.children)
        if fact.kind != INDEX or fact.entries:
            self.file_uris.add(fact.entries)
        level.uris += fact.entries
        form = self.formats.setdefault((fact.kind, fact.is_gzipped), Format())
        form.files += 1
        form.size += fact.size
        for counts in (row, form):
            counts.uris += fact.entries
            counts.with_lastmod += fact.with_lastmod
            counts.with_changefreq += fact.with_changefreq
            counts.with_priority += fact.with_priority
        self.files_with["lastmod"] += fact.with_lastmod > 0
        self.files_with["changefreq"] += fact.with_changefreq > 0
        self.files_with["priority"] += fact.with_priority > 0
