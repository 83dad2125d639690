"""`periplus simulate scaling`: what a crawl does that 10, 100 or 1,000 shards divide among themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from periplus.view.terminal import print_table
from periplus.view.values import Column, Sheet, sheet_of

from ..consoles import stdout_console
from . import options
from .output import ExperimentProgress, Files, print_json, stoppable, write

if TYPE_CHECKING:
    from periplus.apps.simulate.scaling import ScalingRow, ScalingSettings
    from periplus.view.figures import Figure

ShardsList = Annotated[
    str | None, typer.Option("--shards", metavar="N,...", help="Numbers of shards; by default 1,10,100,1000.")
]
Rate = Annotated[
    float | None, typer.Option("--rate", metavar="PAGES", min=0.001, help="Pages a second of a shard; by default 400.")
]
Links = Annotated[
    float | None,
    typer.Option("--links", metavar="N", min=0, rich_help_panel="The web", help="Links of a page; by default 10."),
]
Leaving = Annotated[
    float | None,
    typer.Option(
        "--leaving", metavar="X", min=0, max=1, rich_help_panel="The web", help="Share of them that leave their site."
    ),
]
ScalingPages = Annotated[
    int | None,
    typer.Option("--pages", metavar="N", min=1, rich_help_panel="The web", help="Pages; by default 1,000,000."),
]
Shares = Annotated[
    str | None,
    typer.Option(
        "--shares",
        metavar="WHO",
        rich_help_panel="The network",
        help="Who has a share in an address: the shards present there, or all.",
    ),
]
AddressDelay = Annotated[
    str | None,
    typer.Option(
        "--ip-delay",
        metavar="TIME",
        rich_help_panel="The network",
        help="Between two requests to an address; by default a quarter of --delay.",
    ),
]


def scaling(
    shards: ShardsList = None,
    pages: ScalingPages = None,
    sites: options.Sites = None,
    links: Links = None,
    leaving: Leaving = None,
    rate: Rate = None,
    delay: options.Delay = None,
    ip_delay: AddressDelay = None,
    shares: Shares = None,
    seed: options.Seed = None,
    config: options.SettingsFile = None,
    json: options.Json = False,
    plot: options.PlotFile = None,
    csv: options.CsvFile = None,
) -> None:
    """Divide one crawl among more and more shards: its time, the traffic between them, and the first bottleneck.

    Example: periplus simulate scaling --shards 1,10,100,1000

    Example: periplus simulate scaling --pages 10000000 --rate 40 --plot scaling.svg
    """
    from periplus.apps.simulate.scaling import SHARDS
    from periplus.apps.simulate.scaling import scaling as divide

    settings = _settings(
        config,
        {
            "web.pages": pages,
            "web.sites": sites if sites or pages is None else max(1, pages // 50),
            "web.links": links,
            "web.leaving": leaving,
            "web.seed": seed,
            "pace.rate": rate,
            "pace.delay": options.duration("--delay", delay),
            "pace.ip_delay": options.duration("--ip-delay", ip_delay),
            "pace.shares": shares,
        },
    )
    files = Files()
    with stoppable(files):
        with ExperimentProgress("numbers of shards") as progress:
            rows = divide(settings, options.counts("--shards", shards) or SHARDS, progress)
        write(rows, lambda: _picture(rows), csv, plot, files)
        if json:
            print_json(rows)
        else:
            print_table(stdout_console(), _sheet(settings, rows))


def _settings(config: Path | None, asked: dict[str, object]) -> ScalingSettings:
    from periplus.apps.simulate.scaling import ScalingSettings
    from periplus.collection.config.toml_files import load, with_options

    return with_options(load(ScalingSettings, config) if config else ScalingSettings(), asked, "the options")


def _picture(rows: Sequence[ScalingRow]) -> Figure:
    from periplus.view.figures import Figure, PlotCurve

    x = [float(row.shards) for row in rows]
    named = (
        ("in proportion to the shards", x),
        ("90 % of the pages", [row.nearly_all_speedup for row in rows]),
        ("all pages", [row.speedup for row in rows]),
    )
    first = rows[0]
    return Figure(
        title="How much sooner does a crawl end that shards divide?",
        x_label="shards",
        y_label="speed-up over one shard",
        curves=tuple(PlotCurve(name, x, y, y, y) for name, y in named),
        caption=f"{_circumstances(first)}.",
        log_x=True,
        log_y=True,
    )


def _circumstances(row: ScalingRow) -> str:
    return (
        f"{row.web}; {row.rate:g} pages/s a shard, {row.delay:g} s a site, {row.ip_delay:g} s an address "
        f"(shares: {row.shares}); seed {row.seed}"
    )


def _sheet(settings: ScalingSettings, rows: Sequence[ScalingRow]) -> Sheet:
    from msgspec.structs import replace

    from periplus.apps.simulate.scaling import saturated_at

    coordinator = settings.coordinator
    names = (
        "shards", "sites each", "largest/mean", "all pages", "90 % of them", "speed-up", "because of", "told/s",
        "kB/s", "batches/s", "messages/s", "a batch", "exchange", "placing", "statuses/s", "coordinator",
        "one more moves",
    )  # fmt: skip
    notes = (
        "of each shard at full speed: discoveries told to others, and batches, a second; shares are of a core",
        "no order of visits ends before what stands in `because of`: the busiest shard's pages, the largest site's at "
        "one a delay, or its share in the rate of its address",
        f"the coordinator's core is full at {saturated_at(coordinator):,.0f} shards, without a limit of pages at "
        f"{saturated_at(replace(coordinator, status_seconds_a_shard=0.0)):,.0f}; a shard lets "
        f"{settings.exchange.windows} batches be on their way at once",
    )
    columns = tuple(Column(name, kind="number" if name != "because of" else "text") for name in names)
    return sheet_of(_circumstances(rows[0]), columns, [_cells(row) for row in rows], notes)


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
