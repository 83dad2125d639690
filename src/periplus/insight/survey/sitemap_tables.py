"""Tables about sitemaps: sections 3.4 to 3.6 of the Berkeley report, for any list of domains."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from . import paper
from .counting import Distribution
from .robots_tables import counted, histogram, problems
from .survey import DomainRow, Survey
from .tables import CLAIM, REAL, SHARE, TEXT, WHOLE, Row, Table, columns, share

TOP: Final = 10
"""Rows of a table of records, as in the report."""
PROTOCOL_URIS: Final = 50_000
"""Entries that a sitemap may have."""
_STEPS: Final = (1, 2, 3, 5)


def sitemap_tables(survey: Survey) -> Iterator[Table]:
    """All of them, in the order of the report."""
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


def _levels(survey: Survey) -> Table:
    """Table 4: the number of indexes above a file."""
    rows: list[Row] = []
    for depth, level in sorted(survey.levels.items()):
        of_paper = paper.LEVELS[depth] if depth < len(paper.LEVELS) else None
        rows.append((depth, level.files, level.read, level.indexes, level.uris, of_paper))
    return Table(
        "levels",
        "Levels of indirection",
        columns(level=WHOLE, files=WHOLE, read=WHOLE, indexes=WHOLE, uris=WHOLE, paper_files=WHOLE),
        tuple(rows),
    )


def _formats(survey: Survey) -> Table:
    total = total_uris(survey)
    ranked = sorted(survey.formats.items(), key=lambda item: (-item[1].files, item[0]))
    return Table(
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


def _metadata(survey: Survey) -> Table:
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
    return Table(
        "metadata",
        "Metadata of URIs in sitemaps",
        columns(element=TEXT, uris=WHOLE, share_of_uris=SHARE, files=WHOLE, domains=WHOLE, share_of_domains=SHARE),
        tuple(rows),
    )


def _with(row: DomainRow, name: str) -> int:
    return {"lastmod": row.with_lastmod, "changefreq": row.with_changefreq, "priority": row.with_priority}[name]


def _records(survey: Survey, name: str, title: str, by: str) -> Table:
    """Tables 5 and 6."""
    having = [row for row in survey.domains.values() if row.files_read]
    ranked = sorted(having, key=lambda row: (-(row.files_read if by == "files" else row.uris), row.domain))[:TOP]
    return Table(
        name,
        title,
        columns(domain=TEXT, files=WHOLE, uris=WHOLE, uris_per_file=REAL),
        tuple((row.domain, row.files_read, row.uris, share(row.uris, row.files_read)) for row in ranked),
    )


def _coverage(survey: Survey) -> Table:
    """Figure 13: how much of all URIs the richest domains have. At 1, 2, 3, 5, 10, ... domains, and all of them."""
    sums = list(accumulate(sorted((row.uris for row in survey.domains.values() if row.uris), reverse=True)))
    total = sums[-1] if sums else 0
    return Table(
        "coverage",
        "Share of all URIs that the richest domains have",
        columns(domains=WHOLE, share_of_domains=SHARE, uris=WHOLE, share_of_uris=SHARE),
        tuple((at, share(at, len(sums)), sums[at - 1], share(sums[at - 1], total)) for at in _milestones(len(sums))),
    )


def _milestones(last: int) -> list[int]:
    steps = [step * 10**power for power in range(len(str(last))) for step in _STEPS]
    return [step for step in steps if step < last] + ([last] if last else [])
