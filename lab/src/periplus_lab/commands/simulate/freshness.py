"""`periplus simulate freshness`: how fresh a collection stays under a refresh policy and a daily budget.

`periplus simulate signals`: what signals of change are worth to a crawler that must learn how far to trust them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from periplus.view.values import Sheet, sheet_of

from . import options
from .experiment import Experiment, ScenarioExperiment
from .output import ExperimentProgress, per_cent, share_name

if TYPE_CHECKING:
    from periplus.view.figures import Figure
    from periplus_lab.simulate.freshness import FreshnessResult
    from periplus_lab.simulate.noisy_refresh import SignalsRow
    from periplus_lab.simulate.results import FreshnessRow

_X_LABELS = {
    "": "visits a day, as a share of the pages",
    "precision": "precision: the share of signals that are right",
    "recall": "recall: the share of changes with a signal",
    "delay": "delay: days that true signals come late",
}


class SignalsExperiment(Experiment["SignalsRow"]):
    """Compare policies on noisy change signals: learned, ignored, with true parameters, or all believed.

    Example: periplus simulate signals

    Example: periplus simulate signals --vary precision --plot precision.svg
    """

    options = (
        options.POLICY, options.QUALITIES, options.VARY, options.DAILY_BUDGET, options.SIGNAL_DAYS,
        options.SIGNAL_PAGES, options.SIGNAL_SITES, options.SEED, options.REPETITIONS, options.WORKERS,
        options.JSON, options.PLOT, options.CSV,
    )  # fmt: skip

    def run(self) -> list[SignalsRow]:
        """A row for each policy, quality and budget, or value of what is varied."""
        from periplus_lab.simulate.noisy_refresh import (
            BUDGETS,
            FIRST_POLICIES,
            POLICIES,
            QUALITIES,
            NoisySettings,
            run_signals,
        )

        given, defaults = self.given, NoisySettings()
        asked = given["policy"] or list(FIRST_POLICIES)
        sizes = {name: given[name] or getattr(defaults, name) for name in ("sites", "pages", "days")}
        with ExperimentProgress("signals") as progress:
            return run_signals(
                NoisySettings(**sizes),
                POLICIES if asked == ["all"] else asked,
                qualities=given["quality"] or list(QUALITIES),
                budgets=given["budget"] or ([defaults.visits] if given["vary"] else list(BUDGETS)),
                vary=given["vary"] or "",
                seeds=self.seeds,
                workers=given["workers"] or os.cpu_count() or 1,
                progress=progress,
            )

    @property
    def _world(self) -> str:
        first = self.rows[0]
        return f"{first.pages:,} pages that change by chance, {first.days} days; {self.seeds_words}"

    def plot(self) -> Figure:
        """Freshness by budget, or by what is varied."""
        from periplus.view.figures import Figure
        from periplus_lab.simulate.noisy_refresh import signal_curves

        varied = self.rows[0].varied
        at = f"; {share_name(self.rows[0].budget)} visited a day" if varied else ""
        return Figure(
            title=f"What does {varied} of signals cost?" if varied else "What is the quality of signals worth?",
            x_label=_X_LABELS[varied],
            y_label="fresh copies, mean over time",
            curves=tuple(signal_curves(self.rows)),
            caption=f"{self._world}{at}.",
            x_as="number" if varied == "delay" else "share",
            y_as="share",
        )

    def sheet(self) -> Sheet:
        """A line for each policy and quality."""
        varied = self.rows[0].varied
        places = sorted({row.at if varied else row.budget for row in self.rows})
        lines = []
        for policy, quality in dict.fromkeys((row.policy, row.quality) for row in self.rows):
            own = [row for row in self.rows if (row.policy, row.quality) == (policy, quality)]
            own.sort(key=lambda row: row.at if varied else row.budget)
            cells = [per_cent(row.freshness, row.low, row.high) for row in own]
            lines.append([policy, "good but for that" if varied else quality, *cells, per_cent(own[-1].useful)])
        notes = (
            "fresh copies, in per cent, mean over time; useful: visits that found a change, in the last column",
            "learned: rates and trust from its own visits; deaf: the same without signals; informed: with the true "
            "ones; trusting: believes every signal",
        )
        columns = ("<policy", "<signals", *(_head(varied, at) for at in places), "useful")
        return sheet_of(self._world, columns, lines, notes)


def _head(varied: str, at: float) -> str:
    if not varied:
        return f"at {share_name(at)}"
    return f"{at:g} d" if varied == "delay" else f"{varied} {share_name(at)}"


class FreshnessExperiment(ScenarioExperiment["FreshnessRow"]):
    """Compare refresh policies on histories of change: how fresh each keeps a collection within a daily budget.

    Example: periplus simulate freshness --policy conventional,metadata --budget 0.05,0.1,0.2
    """

    options = (
        options.POLICY, options.DAILY_BUDGET, options.AGAINST, options.HISTORY, options.SIGNALS, options.DAYS,
        options.HISTORY_PAGES, options.HISTORY_SITES, options.SEED, options.REPETITIONS, options.CONFIG,
        options.JSON, options.PLOT, options.CSV,
    )  # fmt: skip
    results: list[FreshnessResult]
    """The runs behind the rows."""
    left_out: dict[str, int]
    """What was not taken of a history that was read, by reason."""

    @property
    def settings(self) -> dict[str, object]:
        """A history that is generated has as many days as are simulated."""
        days, history = self.given["days"], self.given["history"]
        return {**super().settings, "history.days": float(days) if days and not history else None}

    def run(self) -> list[FreshnessRow]:
        """A row for each policy and budget."""
        from periplus_lab.simulate.freshness import run_freshness
        from periplus_lab.simulate.histories import Histories
        from periplus_lab.simulate.results import freshness_rows
        from periplus_lab.simulate.scenario import FRESHNESS_BUDGETS

        scenario, asked, against = self.scenario, self.scenario.experiment, self.given["against"]
        histories, policies = scenario.histories(), scenario.refreshes()
        if against and against not in policies:
            policies.append(against)
        with ExperimentProgress("freshness") as progress:
            self.results = run_freshness(
                histories,
                policies,
                asked.budgets or FRESHNESS_BUDGETS,
                seeds=self.seeds,
                days=asked.days or None,
                settings=scenario.refresh,
                signals=asked.signals,
                progress=progress,
            )
        self.left_out = histories.left_out if isinstance(histories, Histories) else {}
        return freshness_rows(self.results, scenario.history_name, asked.seed, asked.signals)

    def plot(self) -> Figure:
        """Freshness, or the gain over another policy, by budget."""
        from periplus.view.figures import Figure
        from periplus_lab.simulate.freshness import freshness_curves

        first, against = self.rows[0], self.given["against"]
        curves = freshness_curves(self.results, baseline=against or "conventional", measure="freshness")
        signals = f" Signals: {first.signals}." if first.signals else ""
        return Figure(
            title=f"How much fresher than {against}?" if against else "How fresh does each policy keep the collection?",
            x_label="pages fetched a day, as a share of the collection",
            y_label=f"gain over {against}" if against else "fresh copies, mean over time",
            curves=tuple(curves.gain if against else curves.freshness),
            caption=f"The history: {self.scenario.history_name}, {first.days} days; {self.seeds_words}.{signals}",
            x_as="share",
            y_as="share",
        )

    def sheet(self) -> Sheet:
        """A line for each policy."""
        from periplus.view.figures import sparkline

        first, against = self.rows[0], self.given["against"]
        budgets = sorted({row.budget for row in self.rows})
        plain = [row for row in self.rows if row.policy == against]
        lines = []
        for policy in dict.fromkeys(row.policy for row in self.rows):
            own = [row for row in self.rows if row.policy == policy]
            cells = _cells(sorted(own, key=lambda row: row.budget), plain)
            picture = sparkline([row.freshness for row in own], len(budgets), low=0.0, high=1.0)
            most = max(own, key=lambda row: row.budget)
            lines.append([policy, picture, *cells, per_cent(most.needless)])
        signals = f"; {first.signals} signals" if first.signals else ""
        history = f"{self.scenario.history_name}; {first.pages:,} pages in {first.days} days{signals}"
        what = f"how much fresher than {against}, in per cent of that" if against else "fresh copies, in per cent"
        notes = (
            f"{what}, mean over time, by the share of the collection fetched a day",
            f"needless: fetches of pages that had not changed, in per cent, at {share_name(budgets[-1])}",
            *(f"{count:,} x {reason}: left out of what was read" for reason, count in self.left_out.items() if count),
        )
        columns = ("<policy", "~by budget", *(f"at {share_name(at)}" for at in budgets), "needless")
        return sheet_of(f"{history}; {self.seeds_words}", columns, lines, notes)


def _cells(own: Sequence[FreshnessRow], plain: Sequence[FreshnessRow]) -> list[str]:
    """Freshness at each budget; or, where there is one to compare with, the gain over it, repetition by repetition."""
    if not plain:
        return [per_cent(row.freshness, row.low, row.high) for row in own]
    from periplus_lab.simulate.findings import mean_interval

    base = {row.budget: row.values for row in plain}
    gains = [
        mean_interval(ours / theirs - 1 for ours, theirs in zip(row.values, base[row.budget], strict=True) if theirs)
        for row in own
    ]
    return [per_cent(*gain) for gain in gains]
