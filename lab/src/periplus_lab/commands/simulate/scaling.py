"""`periplus simulate scaling`: what a crawl does that 10, 100 or 1,000 shards divide among themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from periplus.view.values import Sheet, sheet_of

from . import options
from .experiment import Experiment
from .options import NETWORK, RunOption, counts, duration
from .output import ExperimentProgress

if TYPE_CHECKING:
    from periplus.view.figures import Figure
    from periplus_lab.simulate.scaling import ScalingRow


class ScalingExperiment(Experiment["ScalingRow"]):
    """Divide one crawl among more and more shards: its time, the traffic between them, and the first bottleneck.

    Example: periplus simulate scaling --shards 1,10,100,1000

    Example: periplus simulate scaling --pages 10000000 --rate 40 --plot scaling.svg
    """

    options = (
        RunOption("--shards", "N,...", "Numbers of shards; by default 1,10,100,1000.", read=counts),
        replace(options.PAGES, help="Pages; by default 1,000,000."),
        options.SITES,
        RunOption("--links", "N", "Links of a page; by default 10.", options.PAGES.panel, float, "web.links", 0),
        RunOption(
            "--leaving", "X", "Share of them that leave their site.", options.PAGES.panel, float, "web.leaving", 0, 1
        ),
        RunOption("--rate", "PAGES", "Pages a second of a shard; by default 400.", None, float, "pace.rate", 0.001),
        replace(options.DELAY, sets="pace.delay"),
        RunOption(
            "--ip-delay", "TIME", "Between two requests to an address; by default a quarter of --delay.", NETWORK,
            sets="pace.ip_delay", read=duration,
        ),
        RunOption(
            "--shares", "WHO", "Who has a share in an address: the shards present there, or all.", NETWORK,
            sets="pace.shares",
        ),
        replace(options.SEED, sets="web.seed"), options.CONFIG, options.JSON, options.PLOT, options.CSV,
    )  # fmt: skip

    def __init__(self, given: Mapping[str, Any]) -> None:
        from periplus.collection.config.toml_files import load, with_options
        from periplus_lab.simulate.scaling import ScalingSettings

        super().__init__(given)
        stored = load(ScalingSettings, given["config"]) if given["config"] else ScalingSettings()
        self.scaling = with_options(stored, options.with_sites(self.settings), "the options")

    def run(self) -> list[ScalingRow]:
        """A row for each number of shards."""
        from periplus_lab.simulate.scaling import SHARDS, scaling

        with ExperimentProgress("numbers of shards") as progress:
            return scaling(self.scaling, self.given["shards"] or SHARDS, progress)

    @property
    def _circumstances(self) -> str:
        row = self.rows[0]
        return (
            f"{row.web}; {row.rate:g} pages/s a shard, {row.delay:g} s a site, {row.ip_delay:g} s an address "
            f"(shares: {row.shares}); seed {row.seed}"
        )

    def plot(self) -> Figure:
        """The speed-up by shards."""
        from periplus.view.figures import Figure, PlotCurve

        x = [float(row.shards) for row in self.rows]
        named = (
            ("in proportion to the shards", x),
            ("90 % of the pages", [row.nearly_all_speedup for row in self.rows]),
            ("all pages", [row.speedup for row in self.rows]),
        )
        return Figure(
            title="How much sooner does a crawl end that shards divide?",
            x_label="shards",
            y_label="speed-up over one shard",
            curves=tuple(PlotCurve(name, x, y, y, y) for name, y in named),
            caption=f"{self._circumstances}.",
            log_x=True,
            log_y=True,
        )

    def sheet(self) -> Sheet:
        """A line for each number of shards."""
        from periplus_lab.simulate.scaling import saturated_at

        coordinator = self.scaling.coordinator
        columns = (
            "shards", "sites each", "largest/mean", "all pages", "90 % of them", "speed-up", "<because of", "told/s",
            "kB/s", "batches/s", "messages/s", "a batch", "exchange", "placing", "statuses/s", "coordinator",
            "one more moves",
        )  # fmt: skip
        notes = (
            "of each shard at full speed: discoveries told to others, and batches, a second; shares are of a core",
            "no order of visits ends before what stands in `because of`: the busiest shard's pages, the largest site's "
            "at one a delay, or its share in the rate of its address",
            f"the coordinator's core is full at {saturated_at(coordinator):,.0f} shards, without a limit of pages at "
            f"{saturated_at(replace(coordinator, status_seconds_a_shard=0.0)):,.0f}; a shard lets "
            f"{self.scaling.exchange.windows} batches be on their way at once",
        )
        return sheet_of(self._circumstances, columns, [_cells(row) for row in self.rows], notes)


def _cells(row: ScalingRow) -> list[str]:
    from periplus.view.wording import lasting

    return [
        f"{row.shards:,}",
        f"{row.sites_a_shard:,.0f}",
        f"{row.imbalance:.2f}",
        lasting(row.makespan),
        lasting(row.nearly_all_at),
        f"{row.speedup:.2f}",
        row.bound_by,
        f"{row.discoveries:,.0f}",
        f"{row.traffic / 1000:,.0f}",
        f"{row.batches:,.1f}",
        f"{row.messages:,.1f}",
        f"{row.batch_fill:,.1f}",
        f"{row.exchange_share:.1%}",
        f"{row.placing_share:.1%}",
        f"{row.statuses:,.0f}",
        f"{row.coordinator_share:.1%}",
        f"{row.moved:.2%}",
    ]
