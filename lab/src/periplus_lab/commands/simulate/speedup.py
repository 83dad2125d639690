"""`periplus simulate speedup`: how much sooner a crawl ends with more connections and faster lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from periplus.model import UsageError
from periplus.view.values import Sheet, sheet_of

from . import options
from .experiment import ScenarioExperiment
from .output import ExperimentProgress, warn

if TYPE_CHECKING:
    from periplus.view.figures import Figure
    from periplus_lab.simulate.results import SpeedupRow


class SpeedupExperiment(ScenarioExperiment["SpeedupRow"]):
    """Crawl with more and more connections on slower and slower lines: Table I of Castillo et al. (2004).

    Example: periplus simulate speedup --connections 1,64,256 --bandwidth 20M,2M,200k,20k
    """

    options = (
        options.ONE_POLICY, *options.WEB, options.SEVERAL_CONNECTIONS, options.SEVERAL_BANDWIDTHS, options.DELAY,
        options.PAGES_PER_VISIT, options.LIMIT, options.SEED, options.REPETITIONS, options.WORKERS, options.CONFIG,
        options.JSON, options.PLOT, options.CSV,
    )  # fmt: skip
    first_web: ClassVar[dict[str, object]] = {"web.pages": 8_000, "web.sites": 2_000, "web.largest_site": 5}
    """Sites so small that connections and the line are felt before politeness is."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        chosen = self.scenario.orderings(("largest_site",))
        if len(chosen) != 1:
            raise UsageError("--policy: one here", hint="periplus simulate ordering compares several")
        self.policy = chosen[0]

    def run(self) -> list[SpeedupRow]:
        """A row for each number of connections on each line."""
        from periplus_lab.simulate.results import speedup_rows
        from periplus_lab.simulate.speedup import BANDWIDTHS, CONNECTIONS, speedups

        scenario, asked, results = self.scenario, self.scenario.experiment, []
        webs = scenario.webs(warn)
        for number, seed in enumerate(self.seeds, 1):
            with ExperimentProgress(f"crawls, repetition {number} of {asked.repetitions}") as progress:
                results += speedups(
                    webs(seed),
                    connections=asked.connections or CONNECTIONS,
                    bandwidths=asked.bandwidths or BANDWIDTHS,
                    network=scenario.network,
                    policy=self.policy,
                    seed=seed,
                    limit=asked.limit or None,
                    workers=asked.workers or os.cpu_count() or 1,
                    progress=progress,
                )
        return speedup_rows(results, self.policy, scenario.network, scenario.web_name, asked.seed)

    def plot(self) -> Figure:
        """The speed-up by connections, a curve for each line."""
        from periplus.view.figures import Figure, PlotCurve

        curves = []
        for line in dict.fromkeys(row.bandwidth for row in self.rows):
            own = [row for row in self.rows if row.bandwidth == line]
            x = [float(row.connections) for row in own]
            columns = ([getattr(row, name) for row in own] for name in ("speedup", "low", "high"))
            curves.append(PlotCurve(f"{line:,.0f} bytes/s", x, *columns))
        return Figure(
            title="How much sooner does a crawl end with more connections?",
            x_label="connections",
            y_label="speed-up over one connection on the fastest line",
            curves=tuple(curves),
            caption=f"The web: {self.scenario.web_name}; w = {self.scenario.network.delay:g} s; {self.seeds_words}.",
            y_from_zero=True,
        )

    def sheet(self) -> Sheet:
        """Each number of connections on each line."""
        from periplus.view.wording import lasting

        lines = [
            [
                f"{row.bandwidth:,.0f}",
                f"{row.connections:,}",
                f"{row.speedup:.1f}" + (f" ±{(row.high - row.low) / 2:.1f}" if row.high > row.low else ""),
                f"{row.efficiency:.2f}",
                f"{row.half_speedup:.1f}",
                f"{row.bound:.1f}",
                row.bound_by,
                lasting(row.makespan),
            ]
            for row in self.rows
        ]
        network = self.scenario.network
        circumstances = f"{self.policy}; w = {network.delay:g} s, k = {network.pages_per_visit}; {self.seeds_words}"
        columns = (
            "bytes/s", "connections", "speed-up", "per connection", "of the first half", "at most", "<because of",
            "virtual time",
        )  # fmt: skip
        note = (
            "speed-up of the whole crawl, and of its first half of pages; no scheduler can surpass what is in `at most`"
        )
        return sheet_of(f"{self.scenario.web_name}; {circumstances}", columns, lines, (note,))
