"""A survey as files: every table as Parquet and CSV, a page to read, and the numbers as JSON.

    DIR/tables/fields.parquet, DIR/tables/fields.csv, ...
    DIR/figures/coverage.svg, ...
    DIR/report.md
    DIR/summary.json

Each file is written whole under another name and then renamed: a reader never sees half of one. What domains wrote
is unchanged in Parquet and CSV (a spreadsheet may take a hostile field name for a formula), and in the report without
anything that would be markup.

The first table, `summary`, has every number that the Berkeley report has in its text, with the report's beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from periplus.store.durable import write_file
from periplus.store.tables import pandas_import  # noqa: F401 - before the first array is made
from periplus.view.csv_text import csv_chunks
from periplus.view.figures import Figure, draw

from .figures import figures_of
from .robots_tables import PROTOCOL_URIS, domain_table, of_domains, robots_tables, sitemap_tables, total_uris
from .survey import Distribution, Survey
from .tables import PAPER_SUMMARY, REAL, TEXT, WHOLE, SurveyTable, Value, columns, share

_QUANTILES = {"p10": 0.1, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99}


def tables_of(survey: Survey) -> tuple[SurveyTable, ...]:
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


def _summary(survey: Survey) -> SurveyTable:
    rows = tuple((name, value, PAPER_SUMMARY.get(name)) for name, value in summary_of(survey).items())
    return SurveyTable("summary", "In numbers", columns(measure=TEXT, here=REAL, paper=REAL), rows)


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


def _distributions(survey: Survey) -> SurveyTable:
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
    return SurveyTable(
        "distributions",
        "Distributions",
        columns(measure=TEXT, count=WHOLE, mean=REAL, deviation=REAL)
        + columns(**dict.fromkeys(_QUANTILES, WHOLE), max=WHOLE),
        tuple(_row(name, values) for name, values in measured.items()),
    )


def _row(name: str, values: Distribution) -> tuple[Value, ...]:
    quantiles = [values.quantile(at) for at in _QUANTILES.values()]
    return (name, values.count, values.mean, values.deviation, *quantiles, values.greatest if values.count else None)


REPORT, SUMMARY, TABLES, FIGURES = "report.md", "summary.json", "tables", "figures"
ROWS_IN_REPORT: Final = 20
"""Rows of a longer table in the report, which names the file with the rest; a longer histogram is shown by classes."""

_TYPES: Final = {
    "text": pa.string(), "whole": pa.int64(), "real": pa.float64(), "share": pa.float64(), "claim": pa.bool_()
}  # fmt: skip
_MARKUP: Final = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_{}[]<>#|~!&"})


def write_survey(survey: Survey, folder: Path) -> list[Path]:
    """Write everything into a folder, replacing an earlier survey there; return the paths written."""
    tables, figures = tables_of(survey), figures_of(survey)
    (folder / TABLES).mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
        written += _write_table(table, folder / TABLES)
    (folder / FIGURES).mkdir(exist_ok=True)
    written += [_save(folder / FIGURES / f"{figure.name}.svg", draw(figure).encode()) for figure in figures]
    report = "\n".join(_report(tables, figures))
    written.append(_save(folder / REPORT, report.encode("utf-8", "replace")))
    written.append(_save(folder / SUMMARY, msgspec.json.format(msgspec.json.encode(summary_of(survey))) + b"\n"))
    return written


def _write_table(table: SurveyTable, folder: Path) -> list[Path]:
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    schema = pa.schema([(column.name, _TYPES[column.kind]) for column in table.columns])
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    parquet = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), parquet)
    text = "".join(csv_chunks([column.name for column in table.columns], table.rows, newline="\r\n"))
    return [
        _save(folder / f"{table.name}.parquet", parquet.getvalue().to_pybytes()),
        _save(folder / f"{table.name}.csv", text.encode("utf-8", "replace")),
    ]


def _save(path: Path, content: bytes) -> Path:
    write_file(path, content)
    return path


def _report(tables: tuple[SurveyTable, ...], figures: tuple[Figure, ...]) -> Iterator[str]:
    drawn = {figure.name: figure for figure in figures}
    yield "# Survey of web site metadata\n"
    yield (
        "robots.txt files and sitemaps of a list of domains, counted as the Berkeley report on web site metadata "
        "(2008) did for the 100,000 most popular domains. Columns named `paper` are its numbers.\n"
    )
    for table in tables:
        yield f"## {table.title}\n"
        if table.note:
            yield f"{table.note}.\n"
        yield from _markdown(table)
        if (figure := drawn.pop(table.name, None)) is not None:
            yield _picture(figure)
    for figure in drawn.values():
        yield f"## {figure.title}\n"
        yield _picture(figure)


def _picture(figure: Figure) -> str:
    return f"![{figure.title}]({FIGURES}/{figure.name}.svg)\n"


def _markdown(table: SurveyTable) -> Iterator[str]:
    if not table.rows:
        yield "None.\n"
        return
    is_long = len(table.rows) > ROWS_IN_REPORT and table.name != "summary"
    yield _line(column.name.replace("_", " ") for column in table.columns)
    yield _line("---" if column.kind == "text" else "--:" for column in table.columns)
    rows = _classes(table) if is_long and table.is_histogram else table.shown(ROWS_IN_REPORT if is_long else None)
    for cells in rows:
        yield _line(cell.translate(_MARKUP) for cell in cells)
    if is_long:
        what = "In classes" if table.is_histogram else f"The first {ROWS_IN_REPORT}"
        yield f"\n{what}; all {len(table.rows):,} rows are in `{TABLES}/{table.name}.csv`."
    yield ""


def _classes(table: SurveyTable) -> list[tuple[str, str]]:
    """A histogram in classes that begin at 1, 2, 5, 10, 20, 50, ..., those that are empty left out."""
    values = np.array(table.rows, np.int64)
    greatest = len(str(values[-1, 0]))
    edges = np.array([0, *(step * 10**power for power in range(greatest) for step in (1, 2, 5)), 10**greatest])
    sums = np.bincount(np.searchsorted(edges, values[:, 0], "right") - 1, values[:, 1], len(edges)).astype(np.int64)
    return [
        (f"{first:,}" if first == last else f"{first:,} to {last:,}", f"{count:,}")
        for first, last, count in zip(edges[:-1].tolist(), (edges[1:] - 1).tolist(), sums.tolist(), strict=False)
        if count
    ]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
