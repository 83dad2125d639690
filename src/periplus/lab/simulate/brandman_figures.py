"""The figures of Brandman et al. (2000) as plots, and all runs behind them as rows.

What is measured and how it compares with the paper is in `brandman`; here it is only laid out.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from .brandman import Brandman, Figure6
from .plots import Mark, Plot


def figures(done: Brandman) -> list[Plot]:
    """Figure 3, and the three parts of Figure 6 for each mix of change frequencies."""
    needless = Plot(
        title="Figure 3: needless requests",
        x_label="visits in 100 days",
        y_label="requests that could not have brought a change",
        curves=tuple(done.figure_3),
        caption="The least share of requests for pages that have not changed since the previous one.",
        y_as="share",
        y_from_zero=True,
    )
    return [needless, *(plot for figure in done.figure_6 for plot in _parts(figure))]


def rows_of(done: Brandman) -> list[dict[str, Any]]:
    """Every run of Figure 6."""
    return [
        {"experiment": "brandman", "figure": "6", "mix": figure.mix, **asdict(result)}
        for figure in done.figure_6
        for result in figure.results
    ]


def _parts(figure: Figure6) -> list[Plot]:
    curves, mix = figure.curves, figure.mix
    bandwidth = "bandwidth: pages fetched a day, as a share of the collection"
    return [
        Plot(
            title=f"Figure 6a: freshness, {mix}",
            x_label=bandwidth,
            y_label="fresh copies after 100 days",
            curves=tuple(curves.freshness),
            x_as="share",
            y_as="share",
            marks=(Mark("the paper: perfect at about a fifth", x=0.2),),
        ),
        Plot(
            title=f"Figure 6b: gain, {mix}",
            x_label=bandwidth,
            y_label="how much fresher than the conventional crawler",
            curves=tuple(curves.gain),
            x_as="share",
            y_as="share",
            y_from_zero=True,
            marks=(Mark("the paper: up to 25 %", y=0.25),),
        ),
        Plot(
            title=f"Figure 6c: bandwidth saved, {mix}",
            x_label="freshness",
            y_label="bandwidth that is not needed for it",
            curves=tuple(curves.saved),
            x_as="share",
            y_as="share",
            marks=(Mark("the paper: 62 % at 80 %", x=0.8, y=0.62),),
        ),
    ]
