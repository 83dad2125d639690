"""`periplus simulate batch`: how busy a batch of pages keeps the robots that fetch it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from periplus.view.terminal import print_table
from periplus.view.values import Column, Sheet, counts, sheet_of

from ..consoles import stdout_console
from . import options
from .ordering import seeds_words
from .output import ExperimentProgress, Files, per_cent, print_json, stoppable, warn, write

if TYPE_CHECKING:
    from periplus.apps.simulate.results import BatchRow
    from periplus.apps.simulate.scenario import Scenario
    from periplus.view.figures import Figure, PlotCurve

FIRST_WEB: dict[str, object] = {"web.pages": 20_000, "web.sites": 1_000, "web.largest_site": 200}
"""Sites: large enough that some have many pages of a batch, and enough of them that most robots find one."""
_TENTH = 10
_WIDTH = 16


def batch(
    size: options.BatchSize = None,
    graph: options.Graph = None,
    hosts: options.Hosts = None,
    pages_per_site: options.PagesPerSite = None,
    collection: options.Collection = None,
    pages: options.Pages = None,
    sites: options.Sites = None,
    connections: options.Connections = None,
    pages_per_visit: options.PagesPerVisitList = None,
    bandwidth: options.BandwidthList = None,
    delay: options.Delay = None,
    seed: options.Seed = None,
    repetitions: options.Repetitions = None,
    config: options.SettingsFile = None,
    json: options.Json = False,
    plot: options.PlotFile = None,
    csv: options.CsvFile = None,
) -> None:
    """Form a batch in the middle of a crawl by queue length, and count the robots at work: Figures 7 to 9 of Castillo.

    Example: periplus simulate batch --size 2000 --pages-per-visit 1,100 --bandwidth 20k,2M
    """
    scenario = options.scenario_of(
        config,
        {
            "experiment.batch": size,
            "experiment.seed": seed,
            "experiment.repetitions": repetitions,
            "experiment.pages_per_visit": options.counts("--pages-per-visit", pages_per_visit),
            "experiment.bandwidths": options.counts("--bandwidth", bandwidth),
            **options.web_options(graph, hosts, pages_per_site, collection, pages, sites),
            "network.connections": connections,
            "network.delay": options.duration("--delay", delay),
        },
        FIRST_WEB,
    )
    files = Files()
    with stoppable(files):
        rows, curves = _run(scenario)
        write(rows, lambda: _picture(scenario, rows, curves), csv, plot, files)
        if json:
            print_json(rows)
        else:
            print_table(stdout_console(), _sheet(scenario, rows, curves))


def _run(scenario: Scenario) -> tuple[list[BatchRow], list[PlotCurve]]:
    """The rows, and the robots at work in the first repetition."""
    from periplus.apps.simulate.batches import BANDWIDTHS, PAGES_PER_VISIT, batch_activity
    from periplus.apps.simulate.results import batch_rows

    asked, webs, runs = scenario.experiment, scenario.webs(warn), []
    for number, seed in enumerate(scenario.seeds, 1):
        web = webs(seed)
        with ExperimentProgress(f"batches, repetition {number} of {asked.repetitions}") as progress:
            run = batch_activity(
                web,
                size=asked.batch or max(1, len(web) // _TENTH),
                network=scenario.network,
                pages_per_visit=asked.pages_per_visit or PAGES_PER_VISIT,
                bandwidths=asked.bandwidths or BANDWIDTHS,
                seed=seed,
                progress=progress,
            )
        runs.append(run)
    rows = batch_rows(runs, scenario.network, scenario.web_name, asked.seed)
    return rows, [activity.active for activity in runs[0][1]]


def _picture(scenario: Scenario, rows: Sequence[BatchRow], curves: Sequence[PlotCurve]) -> Figure:
    from periplus.view.figures import Figure

    return Figure(
        title="How many robots does a batch keep busy?",
        x_label="virtual time",
        y_label="robots at work",
        curves=tuple(curves),
        caption=f"A batch of {rows[0].batch:,} pages of {scenario.web_name}; "
        f"r = {scenario.network.connections}, w = {scenario.network.delay:g} s; seed {scenario.experiment.seed}.",
        x_as="time",
        y_from_zero=True,
    )


def _sheet(scenario: Scenario, rows: Sequence[BatchRow], curves: Sequence[PlotCurve]) -> Sheet:
    from periplus.view.figures import sparkline
    from periplus.view.wording import lasting

    columns = (
        counts("k"),
        counts("bytes/s"),
        Column("robots at work", kind="picture"),
        counts("idle"),
        counts("mostly idle"),
        counts("virtual time"),
    )
    lines = [
        [
            f"{row.pages_per_visit:,}",
            f"{row.bandwidth:,.0f}",
            sparkline(curve.y, _WIDTH, low=0.0, high=float(row.connections)),
            per_cent(row.idle, row.low, row.high),
            per_cent(row.mostly_idle),
            lasting(row.makespan),
        ]
        for row, curve in zip(rows, curves, strict=True)
    ]
    first, network = rows[0], scenario.network
    title = f"{scenario.web_name}; r = {network.connections}, w = {network.delay:g} s; {seeds_words(scenario)}"
    notes = (
        f"a batch of {first.batch:,} pages on {first.sites:,} sites: up to {first.largest:,} on one, "
        f"{first.top_tenth:.0%} of them on a tenth of the sites",
        "idle: the robots' time without work, in per cent; mostly idle: the time in which most of them had none",
    )
    return sheet_of(title, columns, lines, notes)
