"""`periplus simulate signals`: what signals of change are worth to a crawler that must learn how far to trust them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import options
from .output import Column, ExperimentProgress, Files, Sheet, per_cent, say, say_json, share_name, stoppable, write

if TYPE_CHECKING:
    from periplus.lab.simulate.plots import Plot
    from periplus.lab.simulate.signal_worth import SignalsRow

_X_LABELS = {
    "": "visits a day, as a share of the pages",
    "precision": "precision: the share of signals that are right",
    "recall": "recall: the share of changes with a signal",
    "delay": "delay: days that true signals come late",
}


def signals(
    policy: options.Policy = None,
    quality: options.Qualities = None,
    vary: options.Vary = None,
    budget: options.DailyBudget = None,
    days: options.SignalDays = None,
    pages: options.SignalPages = None,
    sites: options.SignalSites = None,
    seed: options.Seed = None,
    repetitions: options.Repetitions = None,
    workers: options.Workers = None,
    json: options.Json = False,
    plot: options.PlotFile = None,
    csv: options.CsvFile = None,
) -> None:
    """Compare policies on noisy change signals: learned, ignored, with true parameters, or all believed.

    Example: periplus simulate signals

    Example: periplus simulate signals --vary precision --plot precision.svg
    """
    from periplus.lab.simulate.noisy_refresh import POLICIES, QUALITIES, NoisySettings
    from periplus.lab.simulate.signal_worth import BUDGETS, FIRST_POLICIES, run_signals

    asked = options.policies(policy) or list(FIRST_POLICIES)
    first, count = seed or 0, repetitions or 1
    defaults = NoisySettings()
    files = Files()
    with stoppable(files):
        with ExperimentProgress("signals") as progress:
            rows = run_signals(
                NoisySettings(sites=sites or defaults.sites, pages=pages or defaults.pages, days=days or defaults.days),
                POLICIES if asked == ["all"] else asked,
                qualities=options.policies(quality) or list(QUALITIES),
                budgets=options.shares(budget) or ([defaults.visits] if vary else list(BUDGETS)),
                vary=vary or "",
                seeds=range(first, first + count),
                workers=workers or os.cpu_count() or 1,
                progress=progress,
            )
        write(rows, lambda: _picture(rows), csv, plot, files)
        if json:
            say_json(rows)
        else:
            say(_sheet(rows))


def _picture(rows: Sequence[SignalsRow]) -> Plot:
    from periplus.lab.simulate.plots import Plot
    from periplus.lab.simulate.signal_worth import signal_curves

    varied = rows[0].varied
    at = f"; {share_name(rows[0].budget)} visited a day" if varied else ""
    return Plot(
        title=f"What does {varied} of signals cost?" if varied else "What is the quality of signals worth?",
        x_label=_X_LABELS[varied],
        y_label="fresh copies, mean over time",
        curves=tuple(signal_curves(rows)),
        caption=f"{_world(rows)}{at}.",
        x_as="number" if varied == "delay" else "share",
        y_as="share",
    )


def _sheet(rows: Sequence[SignalsRow]) -> Sheet:
    varied = rows[0].varied
    places = sorted({row.at if varied else row.budget for row in rows})
    lines = []
    for policy, quality in dict.fromkeys((row.policy, row.quality) for row in rows):
        own = [row for row in rows if (row.policy, row.quality) == (policy, quality)]
        own.sort(key=lambda row: row.at if varied else row.budget)
        cells = [per_cent(row.freshness, row.low, row.high) for row in own]
        lines.append([policy, "good but for that" if varied else quality, *cells, per_cent(own[-1].useful)])
    columns = (
        Column("policy", is_number=False),
        Column("signals", is_number=False),
        *(Column(_head(varied, at)) for at in places),
        Column("useful"),
    )
    notes = (
        "fresh copies, in per cent, mean over time; useful: visits that found a change, in the last column",
        "learned: rates and trust from its own visits; deaf: the same without signals; informed: with the true ones; "
        "trusting: believes every signal",
    )
    return Sheet(_world(rows), columns, lines, notes)


def _head(varied: str, at: float) -> str:
    if not varied:
        return f"at {share_name(at)}"
    return f"{at:g} d" if varied == "delay" else f"{varied} {share_name(at)}"


def _world(rows: Sequence[SignalsRow]) -> str:
    first = rows[0]
    last = first.seed + first.repetitions - 1
    seeds = f"seed {first.seed}" if first.repetitions == 1 else f"seeds {first.seed} to {last}"
    return f"{first.pages:,} pages that change by chance, {first.days} days; {seeds}"
