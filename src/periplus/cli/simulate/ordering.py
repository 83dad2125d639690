"""`periplus simulate ordering` and `periplus simulate focused`: compare orderings of the frontier.

`ordering` shows which has the important pages first, in virtual time; `focused`, on a finished collection, which finds
the pages on a topic first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from periplus.model import UsageError
from periplus.view.terminal import print_table
from periplus.view.values import Column, Sheet, counts, sheet_of

from ..consoles import stdout_console
from . import options
from .output import ExperimentProgress, Files, per_cent, print_json, share_name, stoppable, warn, write

if TYPE_CHECKING:
    from periplus.apps.simulate.focused import FocusedRow
    from periplus.apps.simulate.network import NetworkSettings
    from periplus.apps.simulate.results import OrderingRow
    from periplus.apps.simulate.scenario import Scenario
    from periplus.view.figures import Figure, PlotCurve


_WIDTH = 16
"""Characters of a curve in a table."""


def ordering(
    policy: options.Policy = None,
    budget: options.Budget = None,
    graph: options.Graph = None,
    hosts: options.Hosts = None,
    pages_per_site: options.PagesPerSite = None,
    collection: options.Collection = None,
    pages: options.Pages = None,
    sites: options.Sites = None,
    connections: options.Connections = None,
    delay: options.Delay = None,
    pages_per_visit: options.PagesPerVisit = None,
    bandwidth: options.Bandwidth = None,
    limit: options.Limit = None,
    seed: options.Seed = None,
    repetitions: options.Repetitions = None,
    workers: options.Workers = None,
    config: options.SettingsFile = None,
    json: options.Json = False,
    plot: options.PlotFile = None,
    csv: options.CsvFile = None,
    tables: options.TablesFolder = None,
) -> None:
    """Compare orderings: how much of all PageRank each has after a share of the pages, and how long its crawl takes.

    Example: periplus simulate ordering --policy breadth_first,opic,batch:every=5000 --budget 0.01,0.05
    """
    scenario = options.scenario_of(
        config,
        {
            "experiment.policies": options.policies(policy),
            "experiment.budgets": options.shares(budget),
            "experiment.seed": seed,
            "experiment.repetitions": repetitions,
            "experiment.workers": workers,
            "experiment.limit": limit,
            **options.web_options(graph, hosts, pages_per_site, collection, pages, sites),
            "network.connections": connections,
            "network.delay": options.duration("--delay", delay),
            "network.pages_per_visit": pages_per_visit,
            "network.bandwidth": options.bandwidth(bandwidth),
        },
    )
    files = Files()
    with stoppable(files):
        rows, curves = _run(scenario)
        write(rows, lambda: _picture(scenario, curves), csv, plot, files)
        if json:
            print_json(rows)
        else:
            print_table(stdout_console(), _sheet(scenario, rows, curves))
        if tables:
            _record(scenario, tables, files)


def _run(scenario: Scenario) -> tuple[list[OrderingRow], list[PlotCurve]]:
    from periplus.apps.simulate.orderings import compare_orderings, mean_curves
    from periplus.apps.simulate.results import Setting, ordering_rows
    from periplus.apps.simulate.scenario import ORDERING_BUDGETS

    asked = scenario.experiment
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
    rows = ordering_rows(results, Setting.of(scenario.web_name, scenario.network), asked.seed)
    if not rows:
        share = results[0].pages / max(results[0].total, 1)
        raise UsageError(
            f"no budget is reached: the crawls ended after {share:.2%} of the pages",
            hint=f"write --budget {share / 2:.2g}, or a larger --limit",
        )
    return rows, mean_curves(results)


def _picture(scenario: Scenario, curves: Sequence[PlotCurve]) -> Figure:
    from periplus.view.figures import Figure

    return Figure(
        title="Which ordering has the important pages first?",
        x_label="pages fetched",
        y_label="share of all PageRank",
        curves=tuple(curves),
        caption=f"The web: {scenario.web_name}; {network_words(scenario.network)}; {seeds_words(scenario)}.",
        x_as="share",
        y_as="share",
        y_from_zero=True,
    )


def _sheet(scenario: Scenario, rows: Sequence[OrderingRow], curves: Sequence[PlotCurve]) -> Sheet:
    from periplus.view.figures import sparkline
    from periplus.view.wording import lasting

    pictures = {curve.name: sparkline(curve.y, _WIDTH, low=0.0, high=1.0) for curve in curves}
    budgets = sorted({row.budget for row in rows})
    lines = []
    for policy in dict.fromkeys(row.policy for row in rows):
        own = {row.budget: row for row in rows if row.policy == policy}
        any_row = next(iter(own.values()))
        cells = [per_cent(own[at].pagerank, own[at].low, own[at].high) if at in own else "-" for at in budgets]
        lines.append([policy, pictures[policy], *cells, per_cent(any_row.mean_pagerank), lasting(any_row.makespan)])
    columns = (
        Column("ordering"),
        Column("PageRank by pages", kind="picture"),
        *(counts(f"at {share_name(at)}") for at in budgets),
        counts("mean"),
        counts("virtual time"),
    )
    title = f"{scenario.web_name}; {network_words(scenario.network)}; {seeds_words(scenario)}"
    return sheet_of(title, columns, lines, ("share of all PageRank, in per cent, after that share of the pages",))


def _record(scenario: Scenario, folder: Path, files: Files) -> None:
    """The tables of every policy, in a folder of its own; the first repetition is run once more for it."""
    from periplus.apps.simulate.graph_files import ranked
    from periplus.apps.simulate.recording import record_crawl

    asked = scenario.experiment
    web = ranked(scenario.webs()(asked.seed))
    for policy in scenario.orderings():
        place = folder / str(policy).replace(":", "-").replace(",", "-")
        with ExperimentProgress(f"tables of {policy}") as progress:
            record_crawl(
                place, web, policy, scenario.network, seed=asked.seed, limit=asked.limit or None, progress=progress
            )
        files.add(place)


def network_words(network: NetworkSettings) -> str:
    """The network in the letters of the paper."""
    line = f", {network.bandwidth:,.0f} bytes/s" if network.bandwidth < float("inf") else ""
    return f"r = {network.connections}, w = {network.delay:g} s, k = {network.pages_per_visit}{line}"


def seeds_words(scenario: Scenario) -> str:
    """Which chance it was."""
    first, last = scenario.seeds[0], scenario.seeds[-1]
    return f"seed {first}" if first == last else f"{len(scenario.seeds)} repetitions, seeds {first} to {last}"


FIRST_POLICIES = "breadth_first,best_first,context_graph,n_best,shark,focused"
"""What is compared if no policy is named."""

Collection = Annotated[
    Path, typer.Option("--collection", metavar="DIR", exists=True, file_okay=False, help="The finished collection.")
]
Topic = Annotated[list[str], typer.Option("--topic", metavar="WORDS", help="The topic. May be repeated.")]
Relevant = Annotated[
    float, typer.Option("--relevant", metavar="SHARE", help="Share of the pages that counts as relevant.")
]
Limit = Annotated[int, typer.Option("--limit", metavar="PAGES", min=1, help="Pages of each crawl.")]
Explore = Annotated[
    float, typer.Option("--explore", metavar="SHARE", min=0.0, max=0.5, help="Share of pages fetched to explore.")
]


def focused(
    collection: Collection,
    topic: Topic,
    policy: options.Policy = None,
    limit: Limit = 3000,
    relevant: Relevant = 0.04,
    explore: Explore = 0.0,
    json: options.Json = False,
    plot: options.PlotFile = None,
    csv: options.CsvFile = None,
) -> None:
    """Compare orderings of a focused crawl: recall and harvest on a finished collection.

    Example: periplus simulate focused --collection docs --topic "regular expressions" --policy shark,focused
    """
    from periplus.apps.simulate.focused import run_focused, topical_collection
    from periplus.apps.simulate.runs import PolicyChoice

    chosen = [PolicyChoice.parse(name) for name in options.policies(policy or FIRST_POLICIES) or ()]
    files = Files()
    with stoppable(files):
        with ExperimentProgress(f"{len(chosen) * len(topic)} crawls") as progress:
            with_layers = any(each.name == "context_graph" for each in chosen)
            web = topical_collection(collection, topic, relevant, with_layers=with_layers)
            rows = run_focused(web, chosen, limit=limit, explore=explore, progress=progress)
        write(rows, lambda: picture(rows), csv, plot, files)
        if json:
            print_json(rows)
        else:
            print_table(stdout_console(), _focused_sheet(rows))


def picture(rows: Sequence[FocusedRow]) -> Figure:
    """Recall by pages, a line for each ordering."""
    from periplus.apps.simulate.focused import mean_recall
    from periplus.view.figures import Figure

    first = rows[0]
    topics = list(dict.fromkeys(row.topic for row in rows))
    return Figure(
        title="Which ordering finds the pages on the topic first?",
        x_label="pages fetched",
        y_label="recall",
        curves=tuple(mean_recall(rows)),
        caption=f"{first.relevant:,} of {first.total:,} pages are relevant. Topics: {'; '.join(topics)}.",
        y_as="share",
        y_from_zero=True,
    )


def _focused_sheet(rows: Sequence[FocusedRow]) -> Sheet:
    columns = (
        Column("topic"),
        Column("ordering"),
        counts("harvest"),
        counts("recall"),
        counts("area"),
        counts("pages"),
    )
    lines = [
        [row.topic, row.policy, per_cent(row.harvest), per_cent(row.recall), per_cent(row.area), f"{row.pages:,}"]
        for row in rows
    ]
    first = rows[0]
    notes = (
        "harvest: relevant pages among the first 500; recall: of all relevant pages, at the end; area: mean recall",
        "over the crawl; all in per cent",
    )
    return sheet_of(f"{first.total:,} pages, of which {first.relevant:,} are relevant", columns, lines, notes)
