"""`periplus simulate batch`: how busy a batch of pages keeps the robots that fetch it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from periplus.view.values import Sheet, sheet_of

from . import options
from .experiment import ScenarioExperiment
from .output import ExperimentProgress, per_cent, warn

if TYPE_CHECKING:
    from periplus.view.figures import Figure, PlotCurve
    from periplus_lab.simulate.results import BatchRow

_TENTH = 10
_WIDTH = 16


class BatchExperiment(ScenarioExperiment["BatchRow"]):
    """Form a batch in the middle of a crawl by queue length, and count the robots at work: Figures 7 to 9 of Castillo.

    Example: periplus simulate batch --size 2000 --pages-per-visit 1,100 --bandwidth 20k,2M
    """

    options = (
        options.BATCH_SIZE, *options.WEB, options.CONNECTIONS, options.SEVERAL_PAGES_PER_VISIT,
        options.SEVERAL_BANDWIDTHS, options.DELAY, options.SEED, options.REPETITIONS, options.CONFIG,
        options.JSON, options.PLOT, options.CSV,
    )  # fmt: skip
    first_web: ClassVar[dict[str, object]] = {"web.pages": 20_000, "web.sites": 1_000, "web.largest_site": 200}
    """Sites: large enough that some have many pages of a batch, and enough of them that most robots find one."""
    curves: list[PlotCurve]
    """The robots at work in the first repetition."""

    def run(self) -> list[BatchRow]:
        """A row for each way to fetch the batch."""
        from periplus_lab.simulate.batches import BANDWIDTHS, PAGES_PER_VISIT, batch_activity
        from periplus_lab.simulate.results import batch_rows

        asked, webs, runs = self.scenario.experiment, self.scenario.webs(warn), []
        for number, seed in enumerate(self.seeds, 1):
            web = webs(seed)
            with ExperimentProgress(f"batches, repetition {number} of {asked.repetitions}") as progress:
                run = batch_activity(
                    web,
                    size=asked.batch or max(1, len(web) // _TENTH),
                    network=self.scenario.network,
                    pages_per_visit=asked.pages_per_visit or PAGES_PER_VISIT,
                    bandwidths=asked.bandwidths or BANDWIDTHS,
                    seed=seed,
                    progress=progress,
                )
            runs.append(run)
        self.curves = [activity.active for activity in runs[0][1]]
        return batch_rows(runs, self.scenario.network, self.scenario.web_name, asked.seed)

    @property
    def _robots(self) -> str:
        return (
            f"{self.scenario.web_name}; r = {self.scenario.network.connections}, w = {self.scenario.network.delay:g} s"
        )

    def plot(self) -> Figure:
        """Robots at work over time, a line for each way."""
        from periplus.view.figures import Figure

        return Figure(
            title="How many robots does a batch keep busy?",
            x_label="virtual time",
            y_label="robots at work",
            curves=tuple(self.curves),
            caption=f"A batch of {self.rows[0].batch:,} pages of {self._robots}; seed {self.scenario.experiment.seed}.",
            x_as="time",
            y_from_zero=True,
        )

    def sheet(self) -> Sheet:
        """Each way with a curve of the robots at work."""
        from periplus.view.figures import sparkline
        from periplus.view.wording import lasting

        lines = [
            [
                f"{row.pages_per_visit:,}",
                f"{row.bandwidth:,.0f}",
                sparkline(curve.y, _WIDTH, low=0.0, high=float(row.connections)),
                per_cent(row.idle, row.low, row.high),
                per_cent(row.mostly_idle),
                lasting(row.makespan),
            ]
            for row, curve in zip(self.rows, self.curves, strict=True)
        ]
        first = self.rows[0]
        notes = (
            f"a batch of {first.batch:,} pages on {first.sites:,} sites: up to {first.largest:,} on one, "
            f"{first.top_tenth:.0%} of them on a tenth of the sites",
            "idle: the robots' time without work, in per cent; mostly idle: the time in which most of them had none",
        )
        columns = ("k", "bytes/s", "~robots at work", "idle", "mostly idle", "virtual time")
        return sheet_of(f"{self._robots}; {self.seeds_words}", columns, lines, notes)
