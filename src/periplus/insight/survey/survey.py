"""Counts the facts of a survey, in any order. Pure: no files, no clock.

It holds about 200 bytes for each domain of the list (20 MB for 100,000 domains) and bounded counters (`counting`);
files leave only numbers. `tables_of` turns these into tables.

A file counts for its domain, whether that is in the list or not: a domain without a `RobotsFact` has the outcome
`not-asked`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Self

from msgspec import Struct

from .counting import Distribution, NameCounts
from .facts import NOT_ASKED, Fact, FileFact, RobotsFact

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
