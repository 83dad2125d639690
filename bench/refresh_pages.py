"""Measures every refresh policy, for `docs/refresh_policies.md` and the plots in `docs/policies/refresh`.

`bench.policy_pages` runs it with the orderings. Every policy is measured on the same histories: pages that change at
random, at the rates of Figure 2 of Brandman et al. (2000); the same with signals of mixed quality; and changes at
regular intervals, as in that paper. Real histories may not be published; docs/simulator.md has results on them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bench.policy_pages import write_page
from periplus.view.figures import Figure, PlotCurve
from periplus_lab.simulate.freshness import FreshnessResult, freshness_curves, run_freshness
from periplus_lab.simulate.histories import Histories, HistorySettings, generate_histories
from periplus_lab.simulate.refresh import refresh_policies
from periplus_lab.simulate.results import FreshnessRow, freshness_rows
from periplus_lab.simulate.workers import Progress

BESIDE = ("uniform", "optimal", "learned", "oracle")
BUDGETS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
TABLED = (0.05, 0.1, 0.2, 0.5)
ELSEWHERE = 0.1
"""The budget at which needless fetches, ages and the other histories are shown."""
REPETITIONS = 3
CHANCE = HistorySettings(pages=2000, sites=40, is_poisson=True, is_spread=True)
REGULAR = HistorySettings(pages=2000, sites=4)

PAGE, PLOTS = "refresh_policies.md", "policies/refresh"
"""The page and the folder of the plots, below the folder of the docs."""


class Measured(Struct, frozen=True):
    """Every policy: rows by name and budget, and curves; and a row each with signals, and where changes are regular."""

    rows: dict[tuple[str, float], FreshnessRow]
    curves: dict[str, PlotCurve]
    told: dict[str, FreshnessRow]
    regular: dict[str, FreshnessRow]


def measure_refreshing(
    *, chance: HistorySettings = CHANCE, regular: HistorySettings = REGULAR, progress: Progress | None = None
) -> Measured:
    """Run everything: three experiments, with one progress bar."""
    names, seeds = refresh_policies(), range(REPETITIONS)
    runs = [len(names) * len(budgets) * REPETITIONS for budgets in (BUDGETS, (ELSEWHERE,), (ELSEWHERE,))]
    told = _shifts(progress, runs)
    by_chance = run_freshness(_of(chance), names, BUDGETS, seeds=seeds, progress=told[0])
    with_signals = run_freshness(_of(chance), names, (ELSEWHERE,), seeds=seeds, signals="mixed", progress=told[1])
    regularly = run_freshness(_of(regular), names, (ELSEWHERE,), seeds=seeds, progress=told[2])
    curves = freshness_curves(by_chance, measure="freshness").freshness
    return Measured(
        {(row.policy, row.budget): row for row in _rows(by_chance)},
        {curve.name: curve for curve in curves},
        {row.policy: row for row in _rows(with_signals)},
        {row.policy: row for row in _rows(regularly)},
    )


def write_refresh_pages(folder: Path, found: Measured) -> list[Path]:
    """Write the numbers of all policies into their page, and a plot of each. Raises `UsageError` without marks."""
    plots = {name: plot_of(name, found) for name in refresh_policies()}
    return write_page(folder / PAGE, section_of(found), plots, folder / PLOTS)


def plot_of(name: str, found: Measured) -> Figure:
    """The policy beside those that everyone is compared with."""
    return Figure(
        title=f"{name}: how fresh, for how many fetches?",
        x_label="pages fetched a day, as a share of the collection",
        y_label="fresh copies, mean over time",
        curves=tuple(found.curves[each] for each in _compared(name)),
        caption="2,000 pages on 40 sites that change by chance, 100 days; the mean of three repetitions, with its 95 % "
        "interval. Numbers: at a tenth of the pages a day.",
        x_as="share",
        y_as="share",
        values_at=ELSEWHERE,
        highlight=name,
    )


def section_of(found: Measured) -> str:
    """The table of all policies, in Markdown."""
    heads = " | ".join(f"at {budget:.0%}" for budget in TABLED)
    return "\n".join(
        [
            f"| fresh copies | {heads} | needless | age | with signals | regular |",
            "|---|" + "---:|" * (len(TABLED) + 4),
            *(_line(name, found) for name in refresh_policies()),
        ]
    )


def _line(name: str, found: Measured) -> str:
    rows = found.rows
    cells = [_interval(rows[name, budget]) for budget in TABLED]
    cells += [f"{100 * rows[name, ELSEWHERE].needless:.0f}", f"{rows[name, ELSEWHERE].age:.1f}"]
    cells += [_interval(found.told[name]), _interval(found.regular[name])]
    return f"| [`{name}`]({PLOTS}/{name}.svg) | {' | '.join(cells)} |"


def _interval(row: FreshnessRow) -> str:
    return f"{100 * row.freshness:.1f} ±{50 * (row.high - row.low):.1f}"


def _compared(name: str) -> list[str]:
    return [name, *(each for each in BESIDE if each != name)]


def _rows(results: list[FreshnessResult]) -> list[FreshnessRow]:
    return freshness_rows(results, "", 0)


def _of(settings: HistorySettings) -> Callable[[int], Histories]:
    return lambda seed: generate_histories(replace(settings, seed=seed))


def _shifts(progress: Progress | None, runs: list[int]) -> list[Progress]:
    """The progress of each experiment as a part of all."""
    total = sum(runs)

    def shifted(before: int) -> Progress:
        return lambda done, _total: progress(before + done, total) if progress is not None else None

    return [shifted(sum(runs[:number])) for number in range(len(runs))]
