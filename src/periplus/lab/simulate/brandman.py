"""Brandman, Cho, Garcia-Molina & Shivakumar, "Crawler-Friendly Web Servers" (2000), reproduced.

Figure 6: 10,000 pages of four sites for 100 days, at 100 bandwidths, with a conventional crawler and one that reads the
sites' metadata. The paper took the change frequencies of those pages from data that are not published. The mix of its
Figure 2 is of all its pages: what follows from it is a prediction. A second mix was fitted to the paper's three
results, and only checks that they can hold together. Within a bar of Figure 2 all pages may change at the
bar's longest interval, or be spread over it: both are shown.

The paper charges 8 pages a day for 8 archives of 42 KB, but at 13 KB a page they are 26: we charge 26.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from .archive_sizes import PAGES, archive_findings
from .findings import Curve, Finding, finding
from .freshness import FreshnessResult
from .freshness_curves import FreshnessCurves, freshness_curves, freshness_table, gain, run_freshness, saved
from .histories import FIGURE_2, Histories, HistorySettings, generate_histories
from .needless import figure_3, media_findings
from .window import Floats

Progress = Callable[[int, int], None]

BUDGETS = tuple(level / 100 for level in range(1, 101))
FITTED = (0.20, 0.10, 0.15, 0.15, 0.40)
"""Shares that were fitted to the paper's results for its four sites; the paper does not give them."""


class Mix(Struct, frozen=True):
    """How often the pages of an experiment change."""

    name: str
    shares: tuple[float, ...]
    is_spread: bool
    note: str

    def histories(self, seed: int) -> Histories:
        """The paper's collection with this mix."""
        return generate_histories(HistorySettings(shares=self.shares, is_spread=self.is_spread, seed=seed))


_PREDICTED = "a prediction: the mix of all the paper's pages, not of its four sites"
_WAS_FITTED = "a check on consistency: this mix was fitted to the paper's results"
MIXES = (
    Mix("Figure 2 mix", FIGURE_2, False, _PREDICTED),
    Mix("Figure 2 mix, spread", FIGURE_2, True, _PREDICTED),
    Mix("fitted mix", FITTED, False, _WAS_FITTED),
    Mix("fitted mix, spread", FITTED, True, _WAS_FITTED),
)


class Figure6(Struct, frozen=True):
    """One mix: the findings, the three parts of the figure, and the runs."""

    mix: str
    findings: list[Finding]
    curves: FreshnessCurves
    results: list[FreshnessResult]


class Brandman(Struct, frozen=True):
    """Everything that was reproduced."""

    findings: list[Finding]
    figure_3: list[Curve]
    figure_6: list[Figure6]


def reproduce_brandman(
    seeds: Sequence[int] = range(5),
    *,
    budgets: Sequence[float] = BUDGETS,
    mixes: Sequence[Mix] = MIXES,
    archive_pages: int = PAGES,
    progress: Progress = lambda _done, _total: None,
) -> Brandman:
    """The whole paper, as far as it can be reproduced."""
    needless, curves_3 = figure_3(seeds)
    runs = len(seeds) * len(budgets) * 2
    figures = []
    for number, mix in enumerate(mixes):
        report = _shifted(progress, number * runs, runs * len(mixes))
        figures.append(figure_6(mix, seeds, budgets=budgets, progress=report))
    findings = [*needless, *(found for figure in figures for found in figure.findings)]
    return Brandman([*findings, *archive_findings(seeds[:3], archive_pages), *media_findings()], curves_3, figures)


def figure_6(
    mix: Mix,
    seeds: Sequence[int] = range(5),
    *,
    budgets: Sequence[float] = BUDGETS,
    progress: Progress = lambda _done, _total: None,
) -> Figure6:
    """Freshness at the end of 100 days by bandwidth, for one mix."""
    results = run_freshness(mix.histories, ("conventional", "metadata"), budgets, seeds=seeds, progress=progress)
    levels, table = freshness_table(results)
    found = _findings(mix, levels, table["conventional"], table["metadata"]) + _needless(mix, results)
    return Figure6(mix.name, found, freshness_curves(results), results)


def _findings(mix: Mix, budgets: Floats, plain: Floats, told: Floats) -> list[Finding]:
    """The statements of the paper about Figure 6, each from every seed."""
    gained = gain(told, plain)
    perfect = [_perfect_at(budgets, row) for row in told]
    at_80 = [100 * float(saved(0.8, budgets, row, base)) for row, base in zip(told, plain, strict=True)]
    best = [float(budgets[place]) for place in np.argmax(gained, axis=1)]
    most = (100 * gained.max(axis=1)).tolist()
    return [
        finding(
            f"Figure 6a, {mix.name}: perfectly fresh with metadata at bandwidth",
            0.2,
            perfect,
            "share",
            tolerance=0.03,
            note=f"{mix.note}; the paper says about a fifth",
        ),
        finding(
            f"Figure 6b, {mix.name}: greatest gain",
            25,
            most,
            "%",
            tolerance=3,
            note=f"{mix.note}; the paper: up to 25 %",
        ),
        finding(
            f"Figure 6b, {mix.name}: gain is greatest at bandwidth", 0.22, best, "share", tolerance=0.02, note=mix.note
        ),
        finding(f"Figure 6c, {mix.name}: bandwidth saved at 80 % fresh", 62, at_80, "%", tolerance=5, note=mix.note),
    ]


def _needless(mix: Mix, results: list[FreshnessResult]) -> list[Finding]:
    """Section 4.1 in the simulation: everything fetched every day, for the mix of Figure 2 only."""
    if mix.shares != FIGURE_2:
        return []
    daily = [told.needless for told in results if told.policy == "conventional" and told.budget == 1.0]
    what = f"Section 4.1, {mix.name}: needless fetches of a daily round"
    note = f"{mix.note}; pages of the longer bars change now and then too"
    return [finding(what, 0.77, daily, "share", tolerance=0.02, note=note)] if daily else []


def _perfect_at(budgets: Floats, freshness: Floats) -> float:
    """The least bandwidth at which every copy is fresh."""
    perfect = np.flatnonzero(freshness >= 1.0)
    return float(budgets[perfect[0]]) if len(perfect) else float("nan")


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _total: progress(before + done, total)
