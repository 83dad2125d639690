"""Tables about robots.txt files and sitemaps: sections 3.2 to 3.6 of the Berkeley report, for any list of domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from math import ceil
from typing import Final

from .survey import Distribution, DomainRow, NameCounts, Survey
from .tables import (
    CLAIM,
    PAPER_AGENTS,
    PAPER_FIELDS,
    PAPER_LEVELS,
    REAL,
    SHARE,
    TEXT,
    WHOLE,
    Row,
    SurveyTable,
    columns,
    share,
)

TOP: Final = 10
"""Rows of a table of records, as in the report."""
PROTOCOL_URIS: Final = 50_000
"""Entries that a sitemap may have."""
_STEPS: Final = (1, 2, 3, 5)


def sitemap_tables(survey: Survey) -> Iterator[SurveyTable]:
    """All tables about sitemaps, in the order of the report."""
    yield counted(survey.file_outcomes, "sitemap_outcomes", "Outcomes of sitemap files", "files")
    yield problems("sitemap_problems", "What is wrong with sitemap files", survey.file_problems)
    yield _levels(survey)
    yield _formats(survey)
    yield _metadata(survey)
    yield histogram("file_uris", "URIs of a sitemap file", "uris", "files", survey.file_uris)
    yield histogram("index_children", "Files that an index names", "children", "indexes", survey.index_children)
    files, uris = of_domains(survey)
    yield histogram("domain_files", "Sitemap files of a domain, if any", "files", "domains", files)
    yield histogram("domain_uris", "URIs of a domain, if any", "uris", "domains", uris)
    yield _records(survey, "top_domains_by_files", "Most sitemap files", "files")
    yield _records(survey, "top_domains_by_uris", "Most URIs", "uris")
    yield _coverage(survey)


def of_domains(survey: Survey) -> tuple[Distribution, Distribution]:
    """Figures 11 and 12: how many files and URIs domains have that have any."""
    files, uris = Distribution(), Distribution()
    for row in survey.domains.values():
        if row.files_read:
            files.add(row.files_read)
        if row.uris:
            uris.add(row.uris)
    return files, uris


def total_uris(survey: Survey) -> int:
    """URIs in all sitemaps, as often as they are listed."""
    return sum(row.uris for row in survey.domains.values())


def _levels(survey: Survey) -> SurveyTable:
    """Table 4: the number of indexes above a file."""
    rows: list[Row] = []
    for depth, level in sorted(survey.levels.items()):
        of_paper = PAPER_LEVELS[depth] if depth < len(PAPER_LEVELS) else None
        rows.append((depth, level.files, level.read, level.indexes, level.uris, of_paper))
    return SurveyTable(
        "levels",
        "Levels of indirection",
        columns(level=WHOLE, files=WHOLE, read=WHOLE, indexes=WHOLE, uris=WHOLE, paper_files=WHOLE),
        tuple(rows),
    )


def _formats(survey: Survey) -> SurveyTable:
    total = total_uris(survey)
    ranked = sorted(survey.formats.items(), key=lambda item: (-item[1].files, item[0]))
    return SurveyTable(
        "formats",
        "Forms of sitemap files that were read",
        columns(kind=TEXT, is_gzipped=CLAIM, files=WHOLE, bytes=WHOLE, uris=WHOLE, share=SHARE)
        + columns(with_lastmod=SHARE, with_changefreq=SHARE, with_priority=SHARE),
        tuple(
            (
                *kind, form.files, form.size, form.uris, share(form.uris, total), share(form.with_lastmod, form.uris),
                share(form.with_changefreq, form.uris), share(form.with_priority, form.uris),
            )
            for kind, form in ranked
        ),
    )  # fmt: skip


def _metadata(survey: Survey) -> SurveyTable:
    """The optional elements of sitemap entries."""
    total = total_uris(survey)
    domains = list(survey.domains.values())
    with_uris = sum(row.uris > 0 for row in domains)
    rows: list[Row] = []
    for name in ("lastmod", "changefreq", "priority"):
        counts = [_with(row, name) for row in domains]
        uris, having = sum(counts), sum(count > 0 for count in counts)
        files = survey.files_with[name]
        rows.append((name, uris, share(uris, total), files, having, share(having, with_uris)))
    return SurveyTable(
        "metadata",
        "Metadata of URIs in sitemaps",
        columns(element=TEXT, uris=WHOLE, share_of_uris=SHARE, files=WHOLE, domains=WHOLE, share_of_domains=SHARE),
        tuple(rows),
    )


def _with(row: DomainRow, name: str) -> int:
    return {"lastmod": row.with_lastmod, "changefreq": row.with_changefreq, "priority": row.with_priority}[name]


def _records(survey: Survey, name: str, title: str, by: str) -> SurveyTable:
    """Tables 5 and 6."""
    having = [row for row in survey.domains.values() if row.files_read]
    ranked = sorted(having, key=lambda row: (-(row.files_read if by == "files" else row.uris), row.domain))[:TOP]
    return SurveyTable(
        name,
        title,
        columns(domain=TEXT, files=WHOLE, uris=WHOLE, uris_per_file=REAL),
        tuple((row.domain, row.files_read, row.uris, share(row.uris, row.files_read)) for row in ranked),
    )


def _coverage(survey: Survey) -> SurveyTable:
    """Figure 13: how much of all URIs the richest domains have. At 1, 2, 3, 5, 10, ... domains, and all of them."""
    sums = list(accumulate(sorted((row.uris for row in survey.domains.values() if row.uris), reverse=True)))
    total = sums[-1] if sums else 0
    return SurveyTable(
        "coverage",
        "Share of all URIs that the richest domains have",
        columns(domains=WHOLE, share_of_domains=SHARE, uris=WHOLE, share_of_uris=SHARE),
        tuple((at, share(at, len(sums)), sums[at - 1], share(sums[at - 1], total)) for at in _milestones(len(sums))),
    )


def _milestones(last: int) -> list[int]:
    steps = [step * 10**power for power in range(len(str(last))) for step in _STEPS]
    return [step for step in steps if step < last] + ([last] if last else [])


RANK_GROUPS: Final = 20
"""Parts into which a ranked list is cut (Figure 4)."""


def robots_tables(survey: Survey) -> Iterator[SurveyTable]:
    """All tables about robots.txt, in the order of the report."""
    yield _outcomes(survey)
    yield _tlds(survey.domains.values())
    yield ranks(survey.domains.values())
    yield _fields(survey)
    yield _agents(survey.agents)
    yield histogram("robots_bytes", "Size of robots.txt files, in bytes", "bytes", "files", survey.robots_bytes)
    yield histogram("robots_lines", "Size of robots.txt files, in lines", "lines", "files", survey.robots_lines)
    yield histogram("robots_sections", "Sections of robots.txt files", "sections", "files", survey.robots_sections)
    yield histogram(
        "section_disallows", "Disallow rules of a section", "disallows", "sections", survey.section_disallows
    )
    yield histogram(
        "robots_sitemaps", "Sitemaps that a robots.txt names, if any", "sitemaps", "files", survey.robots_sitemaps
    )
    yield problems("robots_problems", "What is wrong with robots.txt files", survey.robots_problems)
    yield survey.preferences.table()


def histogram(name: str, title: str, what: str, whose: str, distribution: Distribution) -> SurveyTable:
    """How often each number occurs."""
    note = "more different values than are told apart: three digits of each are kept" if distribution.is_rounded else ""
    return SurveyTable(
        name, title, columns(**{what: WHOLE, whose: WHOLE}), tuple(distribution.items()), note, is_histogram=True
    )


def problems(name: str, title: str, counts: NameCounts) -> SurveyTable:
    """Reasons, in how many files, and how often."""
    return SurveyTable(name, title, columns(reason=TEXT, files=WHOLE, occurrences=WHOLE), tuple(counts.by_files()))


def counted(outcomes: Counter[str], name: str, title: str, whose: str) -> SurveyTable:
    """Outcomes, the most frequent first."""
    total = outcomes.total()
    ranked = sorted(outcomes.items(), key=lambda item: (-item[1], item[0]))
    rows = tuple((outcome, count, share(count, total)) for outcome, count in ranked)
    return SurveyTable(name, title, columns(outcome=TEXT, **{whose: WHOLE}, share=SHARE), rows)


def _outcomes(survey: Survey) -> SurveyTable:
    outcomes = Counter(row.outcome for row in survey.domains.values())
    return counted(outcomes, "robots_outcomes", "Outcomes of robots.txt requests", "domains")


def _tlds(rows: Iterable[DomainRow]) -> SurveyTable:
    """Figure 3, and what those domains have."""
    counts: dict[str, list[int]] = {}
    for row in rows:
        name = row.domain.partition(":")[0].rpartition(".")[2]
        _count(counts.setdefault(name, [0, 0, 0]), row)
    total = sum(count[0] for count in counts.values())
    ranked = sorted(counts.items(), key=lambda item: (-item[1][0], item[0]))
    return SurveyTable(
        "tlds",
        "Top-level domains",
        columns(tld=TEXT, domains=WHOLE, share=SHARE, with_robots=WHOLE, with_sitemaps=WHOLE),
        tuple((name, of, share(of, total), robots, sitemaps) for name, (of, robots, sitemaps) in ranked),
    )


def _count(counts: list[int], row: DomainRow) -> None:
    """Count a domain: in all, with a robots.txt, and with sitemaps."""
    counts[0] += 1
    counts[1] += row.has_robots
    counts[2] += row.sitemaps > 0


def ranks(rows: Iterable[DomainRow]) -> SurveyTable:
    """Figure 4: whether popular domains publish more metadata."""
    ranked = [(row.rank, row) for row in rows if row.rank is not None]
    width = max(1, ceil(max((rank for rank, _ in ranked), default=0) / RANK_GROUPS))
    counts: dict[int, list[int]] = {}
    for rank, row in ranked:
        _count(counts.setdefault((rank - 1) // width, [0, 0, 0]), row)
    return SurveyTable(
        "ranks",
        "Site metadata by rank of the domain",
        columns(first=WHOLE, last=WHOLE, domains=WHOLE, with_robots=SHARE, with_sitemaps=SHARE),
        tuple(
            (part * width + 1, (part + 1) * width, of, share(robots, of), share(sitemaps, of))
            for part, (of, robots, sitemaps) in sorted(counts.items())
        ),
    )


def _fields(survey: Survey) -> SurveyTable:
    """Table 2. Names are as they are spelt, misspelt ones too."""
    rows: list[Row] = []
    for name, files, occurrences in survey.fields.by_files():
        of_files, fields = PAPER_FIELDS.get(name, (None, None))
        portion = share(files, survey.robots_files)
        rows.append((name, files, portion, occurrences, share(occurrences, files), of_files, fields))
    return SurveyTable(
        "fields",
        "Fields of robots.txt files",
        columns(field=TEXT, files=WHOLE, share=SHARE, occurrences=WHOLE, per_file=REAL)
        + columns(paper_files=WHOLE, paper_occurrences=WHOLE),
        tuple(rows),
        _tail(survey.fields),
    )


def _agents(agents: NameCounts) -> SurveyTable:
    """Table 3. One row for all spellings and versions of a name."""
    return SurveyTable(
        "agents",
        "User agents of robots.txt files",
        columns(agent=TEXT, occurrences=WHOLE, share=SHARE, files=WHOLE, paper_occurrences=WHOLE),
        tuple(
            (name, occurrences, share(occurrences, agents.occurrences), files, PAPER_AGENTS.get(name))
            for name, files, occurrences in agents.by_occurrences()
        ),
        _tail(agents),
    )


def _tail(counts: NameCounts) -> str:
    if not counts.error:
        return ""
    return f"{counts.folded:,} rare names are left out; counts of files may be too small by {counts.error:,} at most"


def domain_table(survey: Survey) -> SurveyTable:
    """A row for each domain, in the order of the list."""
    rows = sorted(survey.domains.values(), key=lambda row: (row.rank is None, row.rank or 0, row.domain))
    return SurveyTable(
        "domains",
        "Every domain",
        columns(domain=TEXT, rank=WHOLE, outcome=TEXT, status=WHOLE, has_robots=CLAIM, is_html=CLAIM)
        + columns(bytes=WHOLE, lines=WHOLE, sections=WHOLE, sitemaps=WHOLE, files=WHOLE, files_read=WHOLE, uris=WHOLE),
        tuple(
            (
                row.domain, row.rank, row.outcome, row.status, row.has_robots, row.is_html,
                row.size, row.lines, row.sections, row.sitemaps, row.files, row.files_read, row.uris,
            )
            for row in rows
        ),
    )  # fmt: skip
