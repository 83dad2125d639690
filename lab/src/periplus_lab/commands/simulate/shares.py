"""`periplus simulate balance` and `periplus simulate reputation`: what is shared out among sources and domains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from periplus.view.values import Sheet, sheet_of

from . import options
from .experiment import Experiment
from .options import RunOption
from .output import ExperimentProgress, per_cent

if TYPE_CHECKING:
    from periplus_lab.simulate.balance import BalanceRow
    from periplus_lab.simulate.reputation import ReputationRow


class ReputationExperiment(Experiment["ReputationRow"]):
    """Compare scores of domains: the share of all budgets that a link farm gets, and what it gains by adapting.

    Example: periplus simulate reputation --repetitions 5
    """

    options = (options.SEED, options.REPETITIONS, options.JSON, options.CSV)

    def run(self) -> list[ReputationRow]:
        """A row for each score and farm."""
        from periplus_lab.simulate.reputation import run_reputation

        with ExperimentProgress("reputation") as progress:
            return run_reputation(seeds=self.seeds, progress=progress)

    def sheet(self) -> Sheet:
        """A line for each score."""
        from periplus_lab.simulate.reputation import FARMS, HONEST, SEEDS

        lines = []
        for row in (row for row in self.rows if row.farm == self.rows[0].farm):
            shares = [per_cent(each.share, each.low, each.high) for each in self.rows if each.score == row.score]
            lines.append([row.score, f"{row.honest_budget:,.0f}", f"{row.farm_budget:,.0f}", *shares])
        farm = FARMS[0].domains
        notes = (
            "honest, farm: median budgets in pages, with the plain farm; the other columns: share of each farm in all "
            "budgets, in per cent",
            "addresses: one for each domain of the farm; domains: twice as many; bought: a link from a random honest "
            "domain for each; seed: a link from one seed; all: all of it",
        )
        return sheet_of(
            f"{HONEST:,} honest domains, a farm of {farm}, {SEEDS} domains of seeds; {self.seeds_words}",
            ("<score", "honest", "farm", *dict.fromkeys(row.farm for row in self.rows)),
            lines,
            notes,
        )


class BalanceExperiment(Experiment["BalanceRow"]):
    """Compare ways of dividing a site's fetches between sitemaps and links: unique pages found by each.

    Example: periplus simulate balance --repetitions 5
    """

    options = (
        RunOption("--pages", "N", "Pages of each site.", kind=int, least=10, most=1_000_000, default=2000),
        RunOption("--budget", "N", "Fetches of each site.", kind=int, least=10, most=1_000_000, default=1000),
        *ReputationExperiment.options,
    )

    def run(self) -> list[BalanceRow]:
        """A row for each site and way."""
        from periplus_lab.simulate.balance import run_balance

        pages, budget = self.given["pages"], self.given["budget"]
        with ExperimentProgress("balance") as progress:
            return run_balance(pages=pages, budget=budget, seeds=self.seeds, progress=progress)

    def sheet(self) -> Sheet:
        """A line for each site and way."""
        lines = [[row.kind, row.way, _pages(row), per_cent(row.of_best), per_cent(row.sitemaps)] for row in self.rows]
        pages, budget = self.given["pages"], self.given["budget"]
        notes = (
            "balance: as in a crawl; strict: Figure 8 of Schonfeld & Shivakumar as printed; best split: knows the "
            "queues",
            "the last two columns are in per cent: of the unique pages of the best split, and of all fetches",
        )
        return sheet_of(
            f"sites of {pages:,} pages, {budget:,} fetches each; {self.seeds_words}",
            ("<site", "<way", "unique pages", "of the best split", "from sitemaps"),
            lines,
            notes,
        )


def _pages(row: BalanceRow) -> str:
    spread = f" ±{(row.high - row.low) / 2:.0f}" if row.high > row.low else ""
    return f"{row.unique:,.0f}{spread}"
