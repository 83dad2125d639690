"""The figures of the Berkeley report as values: what a picture of each would show.

A figure has at most `MOST_POINTS` points a curve: of a longer one those are kept that lie evenly on a logarithmic axis,
the first and the last among them, which is what these heavy tails are looked at on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

import numpy as np

from periplus.view.figures import Figure, PlotCurve

from .robots_tables import ranks
from .survey import Distribution, DomainRow, Survey

MOST_POINTS: Final = 1_000


def figures_of(survey: Survey) -> tuple[Figure, ...]:
    """The figures that have anything to show, in the order of the report."""
    agents = [occurrences for _, _, occurrences in survey.agents.by_occurrences()]
    figures = (
        _ranks(survey),
        _spread("robots_lines", "Size of robots.txt files", "lines", "files", survey.robots_lines),
        _spread("robots_sections", "Sections of robots.txt files", "sections", "files", survey.robots_sections),
        _spread("section_disallows", "Disallow rules", "rules of a section", "sections", survey.section_disallows),
        _ranked("agents", "User agents by rank", "rank of the user agent", "occurrences", agents),
        _spread("robots_sitemaps", "Sitemaps named", "sitemaps of a robots.txt", "files", survey.robots_sitemaps),
        _of_domains(survey, "domain_files", "Sitemap files by domain", "sitemap files", lambda row: row.files_read),
        _of_domains(survey, "domain_uris", "URIs by domain", "URIs", lambda row: row.uris),
        _coverage(survey),
        _of_domains(survey, "uris_per_file", "URIs per sitemap file, by domain", "URIs a file", _uris_per_file),
    )
    return tuple(figure for figure in figures if any(curve.x for curve in figure.curves))


def _uris_per_file(row: DomainRow) -> float:
    return row.uris / row.files_read if row.files_read else 0.0


def _ranks(survey: Survey) -> Figure:
    """Figure 4."""
    numbers = [[float(value or 0) for value in row] for row in ranks(survey.domains.values()).rows]
    middle = [(row[0] + row[1]) / 2 for row in numbers]
    robots = _curve("with robots.txt", middle, [row[3] for row in numbers])
    sitemaps = _curve("with sitemaps", middle, [row[4] for row in numbers])
    title = "Site metadata by rank"
    curves = (robots, sitemaps)
    return Figure(title, "rank of the domain", "domains", curves, y_as="share", y_from_zero=True, name="ranks")


def _spread(name: str, title: str, x_label: str, y_label: str, values: Distribution) -> Figure:
    """A plot of how many have at least each number, which shows a heavy tail, where single counts are all ones.

    The number 0 has no place on a logarithmic axis.
    """
    items = [(value, count) for value, count in values.items() if value > 0]
    at_least = list(accumulate(count for _, count in reversed(items)))[::-1]
    curve = _curve("at least this number", [value for value, _ in items], at_least)
    return _logarithmic(name, title, x_label, y_label, curve)


def _ranked(name: str, title: str, x_label: str, y_label: str, values: Sequence[float]) -> Figure:
    """The greatest first."""
    ranked = sorted((value for value in values if value > 0), reverse=True)
    return _logarithmic(name, title, x_label, y_label, _curve(y_label, range(1, len(ranked) + 1), ranked))


def _of_domains(survey: Survey, name: str, title: str, y_label: str, value: Callable[[DomainRow], float]) -> Figure:
    return _ranked(name, title, "rank of the domain", y_label, [value(row) for row in survey.domains.values()])


def _coverage(survey: Survey) -> Figure:
    """Figure 13."""
    uris = np.array(sorted((row.uris for row in survey.domains.values() if row.uris), reverse=True), np.float64)
    shares = np.cumsum(uris) / max(1.0, float(uris.sum()))
    curve = _curve("URIs", range(1, len(shares) + 1), shares.tolist())
    title = "Share of all URIs that the richest domains have"
    label = "domains, the richest first"
    return Figure(title, label, "URIs", (curve,), log_x=True, y_as="share", y_from_zero=True, name="coverage")


def _logarithmic(name: str, title: str, x_label: str, y_label: str, curve: PlotCurve) -> Figure:
    return Figure(title, x_label, y_label, (curve,), log_x=True, log_y=True, name=name)


def _curve(name: str, x: Sequence[float], y: Sequence[float]) -> PlotCurve:
    places: Sequence[int] = range(len(x))
    if len(x) > MOST_POINTS:
        places = np.unique(np.geomspace(1, len(x), MOST_POINTS).round().astype(int) - 1).tolist()
    return PlotCurve(name, [float(x[at]) for at in places], [float(y[at]) for at in places])
