"""`periplus simulate freshness`: how fresh a collection stays under a refresh policy and a daily budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import simulate_options as options
from .simulate_ordering import seeds_words
from .simulate_show import Column, Files, Sheet, Telling, per_cent, say, say_json, share_name, stoppable, write

if TYPE_CHECKING:
    from periplus.lab.simulate.freshness import FreshnessResult
    from periplus.lab.simulate.plots import Plot
    from periplus.lab.simulate.results import FreshnessRow
    from periplus.lab.simulate.scenario import Scenario


def freshness(
    policy: options.Policy = None,
    budget: options.DailyBudget = None,
    history: options.History = None,
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
    """Compare refresh policies on histories of change: how fresh each keeps a collection for so many fetches a day.

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
            "input.history": str(history) if history else None,
            "history.days": float(days) if days and not history else None,
            "history.pages": pages,
            "history.sites": sites,
        },
    )
    files = Files()
    with stoppable(files):
        rows, results = _run(scenario)
        write(rows, lambda: _picture(scenario, rows, results), csv, plot, files)
        if json:
            say_json(rows)
        else:
            say(_sheet(scenario, rows))


def _run(scenario: Scenario) -> tuple[list[FreshnessRow], list[FreshnessResult]]:
    from periplus.lab.simulate.freshness_curves import run_freshness
    from periplus.lab.simulate.results import freshness_rows
    from periplus.lab.simulate.scenario import FRESHNESS_BUDGETS

    asked = scenario.experiment
    with Telling("freshness") as telling:
        results = run_freshness(
            scenario.histories(),
            scenario.refreshes(),
            asked.budgets or FRESHNESS_BUDGETS,
            seeds=scenario.seeds,
            days=asked.days or None,
            settings=scenario.refresh,
            progress=telling,
        )
    return freshness_rows(results, scenario.history_name, asked.seed), results


def _picture(scenario: Scenario, rows: Sequence[FreshnessRow], results: Sequence[FreshnessResult]) -> Plot:
    from periplus.lab.simulate.freshness_curves import freshness_curves
    from periplus.lab.simulate.plots import Plot

    return Plot(
        title="How fresh does each policy keep the collection?",
        x_label="pages fetched a day, as a share of the collection",
        y_label="fresh copies, mean over time",
        curves=tuple(freshness_curves(results, measure="freshness").freshness),
        caption=f"The history: {scenario.history_name}, {rows[0].days} days; {seeds_words(scenario)}.",
        x_as="share",
        y_as="share",
    )


def _sheet(scenario: Scenario, rows: Sequence[FreshnessRow]) -> Sheet:
    from periplus.lab.simulate.plots import sparkline

    budgets = sorted({row.budget for row in rows})
    lines = []
    for policy in dict.fromkeys(row.policy for row in rows):
        own = [row for row in rows if row.policy == policy]
        cells = [per_cent(row.freshness, row.low, row.high) for row in sorted(own, key=lambda row: row.budget)]
        picture = sparkline([row.freshness for row in own], len(budgets), low=0.0, high=1.0)
        most = max(own, key=lambda row: row.budget)
        lines.append([policy, picture, *cells, per_cent(most.needless)])
    columns = (
        Column("policy", is_number=False),
        Column("by budget", is_number=False, is_picture=True),
        *(Column(f"at {share_name(at)}") for at in budgets),
        Column("needless"),
    )
    first = rows[0]
    title = f"{scenario.history_name}; {first.pages:,} pages in {first.days} days; {seeds_words(scenario)}"
    notes = (
        "fresh copies, in per cent, mean over time, when so much of the collection may be fetched a day",
        f"needless: fetches of pages that had not changed, in per cent, at {share_name(budgets[-1])}",
    )
    return Sheet(title, columns, lines, notes)
