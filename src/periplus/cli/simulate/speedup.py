"""`periplus simulate speedup`: how much sooner a crawl ends with more connections and faster lines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from periplus.model import UsageError
from periplus.view.terminal import print_table
from periplus.view.values import Column, Sheet, counts, sheet_of

from ..consoles import stdout_console
from . import options
from .ordering import seeds_words
from .output import ExperimentProgress, Files, print_json, stoppable, warn, write

if TYPE_CHECKING:
    from periplus.apps.simulate.results import SpeedupRow
    from periplus.apps.simulate.runs import PolicyChoice
    from periplus.apps.simulate.scenario import Scenario
    from periplus.view.figures import Figure

FIRST_WEB: dict[str, object] = {"web.pages": 8_000, "web.sites": 2_000, "web.largest_site": 5}
"""Sites so small that connections and the line are felt before politeness is."""


def speedup(
    policy: options.OnePolicy = None,
    graph: options.Graph = None,
    hosts: options.Hosts = None,
    pages_per_site: options.PagesPerSite = None,
    collection: options.Collection = None,
    pages: options.Pages = None,
    sites: options.Sites = None,
    connections: options.ConnectionsList = None,
    bandwidth: options.BandwidthList = None,
    delay: options.Delay = None,
    pages_per_visit: options.PagesPerVisit = None,
    limit: options.Limit = None,
    seed: options.Seed = None,
    repetitions: options.Repetitions = None,
    workers: options.Workers = None,
    config: options.SettingsFile = None,
    json: options.Json = False,
    plot: options.PlotFile = None,
    csv: options.CsvFile = None,
) -> None:
    """Crawl with more and more connections on slower and slower lines: Table I of Castillo et al. (2004).

    Example: periplus simulate speedup --connections 1,64,256 --bandwidth 20M,2M,200k,20k
    """
    scenario = options.scenario_of(
        config,
        {
            "experiment.policies": options.policies(policy),
            "experiment.seed": seed,
            "experiment.repetitions": repetitions,
            "experiment.workers": workers,
            "experiment.limit": limit,
            "experiment.connections": options.counts("--connections", connections),
            "experiment.bandwidths": options.counts("--bandwidth", bandwidth),
            **options.web_options(graph, hosts, pages_per_site, collection, pages, sites),
            "network.delay": options.duration("--delay", delay),
            "network.pages_per_visit": pages_per_visit,
        },
        FIRST_WEB,
    )
    chosen = one_policy(scenario)
    files = Files()
    with stoppable(files):
        rows = _run(scenario, chosen)
        write(rows, lambda: _picture(scenario, rows), csv, plot, files)
        if json:
            print_json(rows)
        else:
            print_table(stdout_console(), _sheet(scenario, chosen, rows))


def one_policy(scenario: Scenario) -> PolicyChoice:
    """The one ordering of an experiment that compares something else."""
    chosen = scenario.orderings(("largest_site",))
    if len(chosen) != 1:
        raise UsageError("--policy: one here", hint="periplus simulate ordering compares several")
    return chosen[0]


def _run(scenario: Scenario, policy: PolicyChoice) -> list[SpeedupRow]:
    from periplus.apps.simulate.results import speedup_rows
    from periplus.apps.simulate.speedup import BANDWIDTHS, CONNECTIONS, speedups

    asked, webs, results = scenario.experiment, scenario.webs(warn), []
    for number, seed in enumerate(scenario.seeds, 1):
        with ExperimentProgress(f"crawls, repetition {number} of {asked.repetitions}") as progress:
            results += speedups(
                webs(seed),
                connections=asked.connections or CONNECTIONS,
                bandwidths=asked.bandwidths or BANDWIDTHS,
                network=scenario.network,
                policy=policy,
                seed=seed,
                limit=asked.limit or None,
                workers=asked.workers or os.cpu_count() or 1,
                progress=progress,
            )
    return speedup_rows(results, policy, scenario.network, scenario.web_name, asked.seed)


def _picture(scenario: Scenario, rows: Sequence[SpeedupRow]) -> Figure:
    from periplus.view.figures import Figure, PlotCurve

    curves = []
    for line in dict.fromkeys(row.bandwidth for row in rows):
        own = [row for row in rows if row.bandwidth == line]
        x = [float(row.connections) for row in own]
        columns = ([getattr(row, name) for row in own] for name in ("speedup", "low", "high"))
        curves.append(PlotCurve(f"{line:,.0f} bytes/s", x, *columns))
    return Figure(
        title="How much sooner does a crawl end with more connections?",
        x_label="connections",
        y_label="speed-up over one connection on the fastest line",
        curves=tuple(curves),
        caption=f"The web: {scenario.web_name}; w = {scenario.network.delay:g} s; {seeds_words(scenario)}.",
        y_from_zero=True,
    )


def _sheet(scenario: Scenario, policy: PolicyChoice, rows: Sequence[SpeedupRow]) -> Sheet:
    from periplus.view.wording import lasting

    columns = (
        counts("bytes/s"),
        counts("connections"),
        counts("speed-up"),
        counts("per connection"),
        counts("of the first half"),
        counts("at most"),
        Column("because of"),
        counts("virtual time"),
    )
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
        for row in rows
    ]
    network = scenario.network
    title = f"{scenario.web_name}; {policy}; w = {network.delay:g} s, k = {network.pages_per_visit}"
    note = "speed-up of the whole crawl, and of its first half of pages; no scheduler can surpass what is in `at most`"
    return sheet_of(f"{title}; {seeds_words(scenario)}", columns, lines, (note,))
