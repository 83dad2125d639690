"""`periplus simulate freshness`: how fresh a collection stays under a refresh policy and a daily budget.

`periplus simulate signals`: what signals of change are worth to a crawler that must learn how far to trust them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from periplus.view.terminal import print_table
from periplus.view.values import Column, Sheet, counts, sheet_of

from ..consoles import stdout_console
from . import options
from .ordering import seeds_words
from .output import ExperimentProgress, Files, per_cent, print_json, share_name, stoppable, write

if TYPE_CHECKING:
    from periplus.apps.simulate.freshness import FreshnessResult
    from periplus.apps.simulate.noisy_refresh import SignalsRow
    from periplus.apps.simulate.results import FreshnessRow
    from periplus.apps.simulate.scenario import Scenario
    from periplus.view.figures import Figure

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
    from periplus.apps.simulate.noisy_refresh import (
        BUDGETS,
        FIRST_POLICIES,
        POLICIES,
        QUALITIES,
        NoisySettings,
        run_signals,
    )

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
        write(rows, lambda: _signals_picture(rows), csv, plot, files)
        if json:
            print_json(rows)
        else:
            print_table(stdout_console(), _signals_sheet(rows))


def _signals_picture(rows: Sequence[SignalsRow]) -> Figure:
    from periplus.apps.simulate.noisy_refresh import signal_curves
    from periplus.view.figures import Figure

    varied = rows[0].varied
    at = f"; {share_name(rows[0].budget)} visited a day" if varied else ""
    return Figure(
        title=f"What does {varied} of signals cost?" if varied else "What is the quality of signals worth?",
        x_label=_X_LABELS[varied],
        y_label="fresh copies, mean over time",
        curves=tuple(signal_curves(rows)),
        caption=f"{_world(rows)}{at}.",
        x_as="number" if varied == "delay" else "share",
        y_as="share",
    )


def _signals_sheet(rows: Sequence[SignalsRow]) -> Sheet:
    varied = rows[0].varied
    places = sorted({row.at if varied else row.budget for row in rows})
    lines = []
    for policy, quality in dict.fromkeys((row.policy, row.quality) for row in rows):
        own = [row for row in rows if (row.policy, row.quality) == (policy, quality)]
        own.sort(key=lambda row: row.at if varied else row.budget)
        cells = [per_cent(row.freshness, row.low, row.high) for row in own]
        lines.append([policy, "good but for that" if varied else quality, *cells, per_cent(own[-1].useful)])
    columns = (
        Column("policy"),
        Column("signals"),
        *(counts(_head(varied, at)) for at in places),
        counts("useful"),
    )
    notes = (
        "fresh copies, in per cent, mean over time; useful: visits that found a change, in the last column",
        "learned: rates and trust from its own visits; deaf: the same without signals; informed: with the true ones; "
        "trusting: believes every signal",
    )
    return sheet_of(_world(rows), columns, lines, notes)


def _head(varied: str, at: float) -> str:
    if not varied:
        return f"at {share_name(at)}"
    return f"{at:g} d" if varied == "delay" else f"{varied} {share_name(at)}"


def _world(rows: Sequence[SignalsRow]) -> str:
    first = rows[0]
    last = first.seed + first.repetitions - 1
    seeds = f"seed {first.seed}" if first.repetitions == 1 else f"seeds {first.seed} to {last}"
    return f"{first.pages:,} pages that change by chance, {first.days} days; {seeds}"


def freshness(
    policy: options.Policy = None,
    budget: options.DailyBudget = None,
    against: options.Against = None,
    history: options.History = None,
    signals: options.Signals = None,
    days: options.Days = None,
    pages: options.HistoryPages = None,
    sites: options.HistorySites = None,
    seed: options.Seed = None,
    repetitions: options.Repetitions = None,
    config: options.SettingsFile = None,
    json: options.Json = False,
    plot: options.PlotFile = None,
    csv: options.CsvFile = None,
) -> None:
    """Compare refresh policies on histories of change: how fresh each keeps a collection within a daily budget.

    Example: periplus simulate freshness --policy conventional,metadata --budget 0.05,0.1,0.2
    """
    scenario = options.scenario_of(
        config,
        {
            "experiment.policies": options.policies(policy),
            "experiment.budgets": options.shares(budget),
            "experiment.seed": seed,
            "experiment.repetitions": repetitions,
            "experiment.days": days,
            "experiment.signals": signals,
            "input.history": str(history) if history else None,
            "history.days": float(days) if days and not history else None,
            "history.pages": pages,
            "history.sites": sites,
        },
    )
    files = Files()
    with stoppable(files):
        rows, results, notes = _run(scenario, against)
        write(rows, lambda: _picture(scenario, rows, results, against), csv, plot, files)
        if json:
            print_json(rows)
        else:
            print_table(stdout_console(), _sheet(scenario, rows, notes, against))


def _run(scenario: Scenario, against: str | None) -> tuple[list[FreshnessRow], list[FreshnessResult], tuple[str, ...]]:
    """The rows, the runs behind them, and what is to be known of what was read."""
    from periplus.apps.simulate.freshness import run_freshness
    from periplus.apps.simulate.histories import Histories
    from periplus.apps.simulate.results import freshness_rows
    from periplus.apps.simulate.scenario import FRESHNESS_BUDGETS

    asked, histories = scenario.experiment, scenario.histories()
    policies = scenario.refreshes()
    if against and against not in policies:
        policies.append(against)
    with ExperimentProgress("freshness") as progress:
        results = run_freshness(
            histories,
            policies,
            asked.budgets or FRESHNESS_BUDGETS,
            seeds=scenario.seeds,
            days=asked.days or None,
            settings=scenario.refresh,
            signals=asked.signals,
            progress=progress,
        )
    left_out = histories.left_out if isinstance(histories, Histories) else {}
    notes = tuple(f"{count:,} x {reason}: left out of what was read" for reason, count in left_out.items() if count)
    return freshness_rows(results, scenario.history_name, asked.seed, asked.signals), results, notes


def _picture(
    scenario: Scenario, rows: Sequence[FreshnessRow], results: Sequence[FreshnessResult], against: str | None
) -> Figure:
    from periplus.apps.simulate.freshness import freshness_curves
    from periplus.view.figures import Figure

    curves = freshness_curves(results, baseline=against or "conventional", measure="freshness")
    signals = f" Signals: {rows[0].signals}." if rows[0].signals else ""
    return Figure(
        title=f"How much fresher than {against}?" if against else "How fresh does each policy keep the collection?",
        x_label="pages fetched a day, as a share of the collection",
        y_label=f"gain over {against}" if against else "fresh copies, mean over time",
        curves=tuple(curves.gain if against else curves.freshness),
        caption=f"The history: {scenario.history_name}, {rows[0].days} days; {seeds_words(scenario)}.{signals}",
        x_as="share",
        y_as="share",
    )


def _sheet(scenario: Scenario, rows: Sequence[FreshnessRow], known: tuple[str, ...], against: str | None) -> Sheet:
    from periplus.view.figures import sparkline

    budgets = sorted({row.budget for row in rows})
    lines = []
    for policy in dict.fromkeys(row.policy for row in rows):
        own = [row for row in rows if row.policy == policy]
        cells = _cells(sorted(own, key=lambda row: row.budget), [row for row in rows if row.policy == against])
        picture = sparkline([row.freshness for row in own], len(budgets), low=0.0, high=1.0)
        most = max(own, key=lambda row: row.budget)
        lines.append([policy, picture, *cells, per_cent(most.needless)])
    columns = (
        Column("policy"),
        Column("by budget", kind="picture"),
        *(counts(f"at {share_name(at)}") for at in budgets),
        counts("needless"),
    )
    first = rows[0]
    signals = f"; {first.signals} signals" if first.signals else ""
    title = f"{scenario.history_name}; {first.pages:,} pages in {first.days} days{signals}; {seeds_words(scenario)}"
    what = f"how much fresher than {against}, in per cent of that" if against else "fresh copies, in per cent"
    notes = (
        f"{what}, mean over time, by the share of the collection fetched a day",
        f"needless: fetches of pages that had not changed, in per cent, at {share_name(budgets[-1])}",
        *known,
    )
    return sheet_of(title, columns, lines, notes)


def _cells(own: Sequence[FreshnessRow], plain: Sequence[FreshnessRow]) -> list[str]:
    """Freshness at each budget; or, where there is one to compare with, the gain over it, repetition by repetition."""
    if not plain:
        return [per_cent(row.freshness, row.low, row.high) for row in own]
    from periplus.apps.simulate.findings import mean_interval

    base = {row.budget: row.values for row in plain}
    gains = [
        mean_interval(ours / theirs - 1 for ours, theirs in zip(row.values, base[row.budget], strict=True) if theirs)
        for row in own
    ]
    return [per_cent(*gain) for gain in gains]
