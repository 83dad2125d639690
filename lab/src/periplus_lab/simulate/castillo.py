"""Castillo, Marin, Rodriguez & Baeza-Yates, "Scheduling Algorithms for Web Crawling" (2004), reproduced.

Their web is not published: 3.5 million pages, 50,000 sites, at most 25,000 pages a site. Ours are generated with the
defaults of `generated`, which was made after what the paper prints. `scale` pages of such a web have sites, the largest
site, batches (m) and, in the real crawl of section VII, connections in proportion; r and w of the simulations are the
paper's. Table I is taken of the same web, to the last page.

Where a value differs, one assumption is changed and the note has the new value, which shows what the result depends on.
What is left out: the batches of the real crawl (*Length* runs without them), rows 5 and 6 of Table I (as printed they
are not monotone), Figures 1 to 4 (drawings) and 11 (another view of 10).

The figures of Castillo et al. (2004) are drawn again from the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec.structs import asdict

from periplus.view.figures import Figure, PlotCurve

from .batches import BatchActivity
from .castillo_evidence import Evidence, gather, in_proportion, web_settings
from .castillo_findings import findings_of
from .findings import mean_curve
from .results import Reproduction
from .runs import OrderingResult
from .speedup import BANDWIDTHS, CONNECTIONS
from .workers import Progress

NAMES = {"length": "Length", "depth": "Depth", "batch": "Batch", "partial": "Partial", "optimal": "Optimal"}


def plots_of(evidence: Evidence) -> list[Figure]:
    """All plots, in the paper's order."""
    return [
        _figure_5(evidence),
        _figure_5_in_time(evidence),
        _figure_6(evidence),
        _table_1(evidence),
        _figure_7(evidence),
        *(_robots(evidence, number, k) for number, k in ((8, 1), (9, 100))),
        _figure_10(evidence),
        _figure_12(evidence),
    ]


def _figure_5(evidence: Evidence) -> Figure:
    curves = [_by_pages(name, evidence.of("Figure 5", key)) for key, name in NAMES.items()]
    return _mass_plot("Figure 5: one robot", curves, _caption(evidence, "r = 1, w = 15 s, k = 1."))


def _figure_5_in_time(evidence: Evidence) -> Figure:
    curves = []
    for key, name in NAMES.items():
        results = evidence.of("Figure 5", key)
        times = np.linspace(0.0, max(each.makespan for each in results), 300)
        curves.append(
            mean_curve(name, times, [np.interp(times, each.over_time.x, each.over_time.y).tolist() for each in results])
        )
    return Figure(
        "Figure 5 against time: one robot",
        "virtual time",
        "share of PageRank",
        tuple(curves),
        _caption(evidence, "r = 1, w = 15 s, k = 1."),
        x_as="time",
        y_as="share",
        y_from_zero=True,
    )


def _figure_6(evidence: Evidence) -> Figure:
    curves = [
        _by_pages(f"{NAMES[key]}, r = {r}", evidence.of("Figure 5" if r == 1 else "Figure 6", key, connections=r))
        for key in ("length", "depth")
        for r in CONNECTIONS
    ]
    return _mass_plot("Figure 6: 1, 64 and 256 robots", curves, _caption(evidence, "w = 15 s, k = 1."))


def _table_1(evidence: Evidence) -> Figure:
    base = evidence.of("Table I", "length", connections=1, bandwidth=BANDWIDTHS[0])
    lines = sorted(BANDWIDTHS)
    curves = []
    for r in CONNECTIONS:
        by_line = [evidence.of("Table I", "length", connections=r, bandwidth=line, delay=15.0) for line in lines]
        ratios = [
            [one.makespan / other.makespan for one, other in zip(base, column, strict=True)] for column in by_line
        ]
        curves.append(mean_curve(f"r = {r}", lines, list(zip(*ratios, strict=True))))
    return Figure(
        "Table I: speed-up of a whole crawl",
        "bytes a second",
        "times as fast as one connection on the fastest line",
        tuple(curves),
        _caption(evidence, "Length, w = 15 s, k = 1."),
        log_x=True,
        log_y=True,
    )


def _figure_7(evidence: Evidence) -> Figure:
    batch = evidence.batches[0][0]
    return Figure(
        "Figure 7: a batch in the middle of a crawl",
        "rank of the site",
        "pages of the site in the batch",
        (batch.by_site,),
        _caption(evidence, f"{len(batch.pages)} pages on {batch.sites} sites, chosen by Length."),
        log_x=True,
        log_y=True,
    )


def _robots(evidence: Evidence, number: int, pages_per_visit: int) -> Figure:
    chosen = [each for each in evidence.batches[0][1] if each.pages_per_visit == pages_per_visit]
    robots = chosen[0].connections
    return Figure(
        f"Figure {number}: robots at work while a batch is fetched, k = {pages_per_visit}",
        "share of the time that the batch takes",
        f"robots at work, of {robots}",
        tuple(_in_shares(each) for each in chosen),
        _caption(evidence, "w = 15 s. Each line ends with its own batch."),
        kind="steps",
        x_as="share",
        y_from_zero=True,
    )


def _in_shares(activity: BatchActivity) -> PlotCurve:
    line = activity.active
    name = f"{activity.bandwidth:,.0f} B/s, {activity.makespan / 3600:.2g} h"
    return PlotCurve(name, [x / activity.makespan for x in line.x], line.y, line.low, line.high)


def _figure_10(evidence: Evidence) -> Figure:
    results = evidence.of("Figure 10", "length", web="80 % ok")
    return _mass_plot(
        "Figure 10: the real crawl",
        [_by_pages("Length", results), _by_pages("Optimal", evidence.of("Figure 10", "optimal", web="80 % ok"))],
        _caption(evidence, "w = 15 s, k = 1, 80 % of the pages answer. The paper: 80 % at 50 %, 95 % at 80 %."),
    )


def _figure_12(evidence: Evidence) -> Figure:
    depth = min(len(each.mean_rank) for each in evidence.depths)
    rows = [each.mean_rank[:depth] for each in evidence.depths]
    return Figure(
        "Figure 12: PageRank by depth",
        "clicks from a home page",
        "mean PageRank, in multiples of the mean of all",
        (mean_curve("mean PageRank", range(depth), rows),),
        _caption(evidence, ""),
        kind="bars",
    )


def _mass_plot(title: str, curves: Sequence[PlotCurve], caption: str) -> Figure:
    return Figure(
        title,
        "share of pages",
        "share of PageRank",
        tuple(curves),
        caption,
        x_as="share",
        y_as="share",
        y_from_zero=True,
        values_at=0.5,
    )


def _by_pages(name: str, results: Iterable[OrderingResult]) -> PlotCurve:
    shares = np.linspace(0.0, 1.0, 301)
    return mean_curve(name, shares, [np.interp(shares, each.curve.x, each.curve.y).tolist() for each in results])


def _caption(evidence: Evidence, text: str) -> str:
    seeds = len(evidence.batches)
    webs = f"Generated webs of {evidence.scale:,} pages, mean of {seeds}." if seeds > 1 else ""
    return " ".join(part for part in (text, webs or f"A generated web of {evidence.scale:,} pages.") if part)


__all__ = ["in_proportion", "reproduce_castillo", "web_settings"]


def reproduce_castillo(
    scale: int = 100_000,
    *,
    seeds: Sequence[int] = (0,),
    workers: int = 1,
    progress: Progress | None = None,
) -> Reproduction:
    """The whole paper, as far as it can be reproduced, on webs of `scale` pages; repetitions on webs of other seeds."""
    evidence = gather(scale, seeds, workers=workers, progress=progress)
    return Reproduction(findings_of(evidence), _rows(evidence), plots_of(evidence))


def _rows(evidence: Evidence) -> list[dict[str, Any]]:
    """A row for every crawl and for every way of fetching a batch."""
    rows = []
    for case, results in zip(evidence.cases, evidence.crawls, strict=True):
        for each in results:
            row = {"part": case.part, "web": case.web, **asdict(case.network), **asdict(each)}
            row |= {f"pagerank_at_{round(100 * share)}": mass for share, mass in each.mass}
            rows.append({key: value for key, value in row.items() if key not in ("mass", "curve", "over_time")})
    for _, activities in evidence.batches:
        rows += [
            {"part": "Figures 8 and 9", "web": "default", "policy": "length"}
            | {key: value for key, value in asdict(each).items() if key != "active"}
            for each in activities
        ]
    return rows
