"""`periplus simulate ordering` and `periplus simulate focused`: compare orderings of the frontier.

`ordering` shows which has the important pages first, in virtual time; `focused`, on a finished collection, which finds
the pages on a topic first.
"""

from __future__ import annotations

import os
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING

from periplus.model import UsageError
from periplus.view.values import Sheet, sheet_of

from . import options
from .experiment import Experiment, ScenarioExperiment, network_words
from .options import RunOption
from .output import ExperimentProgress, Files, per_cent, share_name, warn

if TYPE_CHECKING:
    from periplus.view.figures import Figure, PlotCurve
    from periplus_lab.simulate.focused import FocusedRow
    from periplus_lab.simulate.results import OrderingRow

_WIDTH = 16
"""Characters of a curve in a table."""


class OrderingExperiment(ScenarioExperiment["OrderingRow"]):
    """Compare orderings: how much of all PageRank each has after a share of the pages, and how long its crawl takes.

    Example: periplus simulate ordering --policy breadth_first,opic,batch:every=5000 --budget 0.01,0.05
    """

    options = (
        options.POLICY, options.BUDGET, *options.WEB, options.CONNECTIONS, options.DELAY, options.PAGES_PER_VISIT,
        options.BANDWIDTH, options.LIMIT, options.SEED, options.REPETITIONS, options.WORKERS, options.CONFIG,
        options.JSON, options.PLOT, options.CSV, options.TABLES,
    )  # fmt: skip
    curves: list[PlotCurve]

    def run(self) -> list[OrderingRow]:
        """A row for each ordering and budget that was reached."""
        from periplus_lab.simulate.orderings import compare_orderings, mean_curves
        from periplus_lab.simulate.results import ordering_rows
        from periplus_lab.simulate.scenario import ORDERING_BUDGETS

        scenario, asked = self.scenario, self.scenario.experiment
        chosen = scenario.orderings()
        with ExperimentProgress(f"{len(chosen) * asked.repetitions} crawls") as progress:
            results = compare_orderings(
                scenario.webs(warn),
                chosen,
                network=scenario.network,
                repetitions=asked.repetitions,
                seed=asked.seed,
                budgets=asked.budgets or ORDERING_BUDGETS,
                limit=asked.limit or None,
                workers=asked.workers or os.cpu_count() or 1,
                progress=progress,
            )
        rows = ordering_rows(results, scenario.web_name, scenario.network, asked.seed)
        if not rows:
            share = results[0].pages / max(results[0].total, 1)
            raise UsageError(
                f"no budget is reached: the crawls ended after {share:.2%} of the pages",
                hint=f"write --budget {share / 2:.2g}, or a larger --limit",
            )
        self.curves = mean_curves(results)
        return rows

    @property
    def _circumstances(self) -> str:
        return f"{self.scenario.web_name}; {network_words(self.scenario.network)}; {self.seeds_words}"

    def plot(self) -> Figure:
        """PageRank by pages, a line for each ordering."""
        from periplus.view.figures import Figure

        return Figure(
            title="Which ordering has the important pages first?",
            x_label="pages fetched",
            y_label="share of all PageRank",
            curves=tuple(self.curves),
            caption=f"The web: {self._circumstances}.",
            x_as="share",
            y_as="share",
            y_from_zero=True,
        )

    def sheet(self) -> Sheet:
        """A line for each ordering."""
        from periplus.view.figures import sparkline
        from periplus.view.wording import lasting

        pictures = {curve.name: sparkline(curve.y, _WIDTH, low=0.0, high=1.0) for curve in self.curves}
        budgets = sorted({row.budget for row in self.rows})
        lines = []
        for policy in dict.fromkeys(row.policy for row in self.rows):
            own = {row.budget: row for row in self.rows if row.policy == policy}
            any_row = next(iter(own.values()))
            cells = [per_cent(own[at].pagerank, own[at].low, own[at].high) if at in own else "-" for at in budgets]
            lines.append([policy, pictures[policy], *cells, per_cent(any_row.mean_pagerank), lasting(any_row.makespan)])
        at = (f"at {share_name(budget)}" for budget in budgets)
        return sheet_of(
            self._circumstances,
            ("<ordering", "~PageRank by pages", *at, "mean", "virtual time"),
            lines,
            ("share of all PageRank, in per cent, after that share of the pages",),
        )

    def finish(self, files: Files) -> None:
        """The tables of every policy, in a folder of its own; the first repetition is run once more for it."""
        folder: Path | None = self.given["tables"]
        if folder is None:
            return
        from periplus_lab.simulate.graph_files import ranked
        from periplus_lab.simulate.recording import record_crawl

        asked, network = self.scenario.experiment, self.scenario.network
        web = ranked(self.scenario.webs()(asked.seed))
        for policy in self.scenario.orderings():
            place = folder / str(policy).replace(":", "-").replace(",", "-")
            with ExperimentProgress(f"tables of {policy}") as progress:
                record_crawl(place, web, policy, network, seed=asked.seed, limit=asked.limit or None, progress=progress)
            files.add(place)


FIRST_POLICIES = ["breadth_first", "best_first", "context_graph", "n_best", "shark", "focused"]
"""What is compared if no policy is named."""


class FocusedExperiment(Experiment["FocusedRow"]):
    """Compare orderings of a focused crawl: recall and harvest on a finished collection.

    Example: periplus simulate focused --collection docs --topic "regular expressions" --policy shark,focused
    """

    options = (
        RunOption(
            "--collection", "DIR", "The finished collection.", kind=Path, default=Parameter.empty,
            more={"exists": True, "file_okay": False},
        ),
        RunOption("--topic", "WORDS", "The topic. May be repeated.", kind=list[str], default=Parameter.empty),
        options.POLICY,
        RunOption("--limit", "PAGES", "Pages of each crawl.", kind=int, least=1, default=3000),
        RunOption("--relevant", "SHARE", "Share of the pages that counts as relevant.", kind=float, default=0.04),
        RunOption(
            "--explore", "SHARE", "Share of pages fetched to explore.", kind=float, least=0.0, most=0.5, default=0.0
        ),
        options.JSON, options.PLOT, options.CSV,
    )  # fmt: skip

    def run(self) -> list[FocusedRow]:
        """A row for each topic and ordering."""
        from periplus_lab.simulate.focused import run_focused, topical_collection
        from periplus_lab.simulate.runs import PolicyChoice

        given, topics = self.given, self.given["topic"]
        chosen = [PolicyChoice.parse(name) for name in given["policy"] or FIRST_POLICIES]
        with ExperimentProgress(f"{len(chosen) * len(topics)} crawls") as progress:
            with_layers = any(each.name == "context_graph" for each in chosen)
            web = topical_collection(given["collection"], topics, given["relevant"], with_layers=with_layers)
            return run_focused(web, chosen, limit=given["limit"], explore=given["explore"], progress=progress)

    def plot(self) -> Figure:
        """Recall by pages, a line for each ordering."""
        from periplus_lab.simulate.focused import recall_plot

        return recall_plot(self.rows)

    def sheet(self) -> Sheet:
        """A line for each topic and ordering."""
        lines = [
            [row.topic, row.policy, per_cent(row.harvest), per_cent(row.recall), per_cent(row.area), f"{row.pages:,}"]
            for row in self.rows
        ]
        first = self.rows[0]
        return sheet_of(
            f"{first.total:,} pages, of which {first.relevant:,} are relevant",
            ("<topic", "<ordering", "harvest", "recall", "area", "pages"),
            lines,
            (
                "harvest: relevant pages among the first 500; recall: of all relevant pages, at the end; area: mean "
                "recall",
                "over the crawl; all in per cent",
            ),
        )
