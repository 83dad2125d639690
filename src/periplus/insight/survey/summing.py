"""A survey in one table: every number that the Berkeley report has in its text, with the report's beside it."""

from __future__ import annotations

from collections.abc import Iterator

from . import paper
from .counting import Distribution
from .robots_tables import domain_table, robots_tables
from .sitemap_tables import PROTOCOL_URIS, of_domains, sitemap_tables, total_uris
from .survey import Survey
from .tables import REAL, TEXT, WHOLE, Table, Value, columns, share

_QUANTILES = {"p10": 0.1, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99}


def tables_of(survey: Survey) -> tuple[Table, ...]:
    """Every table, the summary first and the domains one by one last."""
    return (
        _summary(survey),
        _distributions(survey),
        *robots_tables(survey),
        *sitemap_tables(survey),
        domain_table(survey),
    )


def summary_of(survey: Survey) -> dict[str, Value]:
    """The numbers by name, in the order of the report."""
    return {**dict(_of_robots(survey)), **dict(_of_sitemaps(survey))}


def _summary(survey: Survey) -> Table:
    rows = tuple((name, value, paper.SUMMARY.get(name)) for name, value in summary_of(survey).items())
    return Table("summary", "In numbers", columns(measure=TEXT, here=REAL, paper=REAL), rows)


def _of_robots(survey: Survey) -> Iterator[tuple[str, Value]]:
    naming, lines, sections = survey.robots_sitemaps, survey.robots_lines, survey.robots_sections
    domains = len(survey.domains)
    yield "domains", domains
    yield "domains with robots.txt", survey.robots_files
    yield "share of domains with robots.txt", share(survey.robots_files, domains)
    yield "robots.txt with sitemaps", naming.count
    yield "share of robots.txt with sitemaps", share(naming.count, survey.robots_files)
    yield "share of domains with sitemaps", share(naming.count, domains)
    yield "sitemaps named", naming.total
    yield "most sitemaps named by one", naming.greatest
    yield "robots.txt with one sitemap", naming.of(1)
    yield "lines of a robots.txt, mean", lines.mean
    yield "lines of a robots.txt, deviation", lines.deviation
    yield "lines of a robots.txt, median", lines.quantile(0.5)
    yield "sections of a robots.txt, mean", sections.mean
    yield "sections of a robots.txt, deviation", sections.deviation
    yield "sections of a robots.txt, median", sections.quantile(0.5)
    yield "sections", survey.section_disallows.count
    yield "sections without disallow", survey.section_disallows.of(0)
    yield "sections with one disallow", survey.section_disallows.of(1)
    yield "most disallows of a section", survey.section_disallows.greatest
    yield "user agents named", survey.agents.occurrences
    yield "different user agents", len(survey.agents)


def _of_sitemaps(survey: Survey) -> Iterator[tuple[str, Value]]:
    files, uris = of_domains(survey)
    yield "sitemap files named", survey.files
    yield "sitemap files read", survey.file_outcomes["read"]
    yield "sitemap files forbidden (403)", survey.file_outcomes["http-403"]
    yield "sitemap files with more URIs than allowed", survey.file_uris.above(PROTOCOL_URIS)
    yield "most URIs of a sitemap file", survey.file_uris.greatest
    yield "domains with sitemap files", files.count
    yield "domains with one sitemap file", files.of(1)
    yield "domains with files read, but no URIs", files.count - uris.count
    yield "URIs", total_uris(survey)
    yield "most URIs of a domain", uris.greatest


def _distributions(survey: Survey) -> Table:
    files, uris = of_domains(survey)
    measured = {
        "bytes of a robots.txt": survey.robots_bytes,
        "lines of a robots.txt": survey.robots_lines,
        "sections of a robots.txt": survey.robots_sections,
        "disallows of a section": survey.section_disallows,
        "sitemaps named by a robots.txt": survey.robots_sitemaps,
        "URIs of a sitemap file": survey.file_uris,
        "children of an index": survey.index_children,
        "sitemap files of a domain": files,
        "URIs of a domain": uris,
    }
    return Table(
        "distributions",
        "Distributions",
        columns(measure=TEXT, count=WHOLE, mean=REAL, deviation=REAL)
        + columns(**dict.fromkeys(_QUANTILES, WHOLE), max=WHOLE),
        tuple(_row(name, values) for name, values in measured.items()),
    )


def _row(name: str, values: Distribution) -> tuple[Value, ...]:
    quantiles = [values.quantile(at) for at in _QUANTILES.values()]
    return (name, values.count, values.mean, values.deviation, *quantiles, values.greatest if values.count else None)
