"""`periplus simulate focused`: which ordering finds the pages on a topic first, on a finished collection."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .output import Column, ExperimentProgress, Files, Sheet, per_cent, say, say_json, stoppable, write

if TYPE_CHECKING:
    from periplus.lab.simulate.focused import FocusedRow
    from periplus.lab.simulate.plots import Plot

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
    from periplus.lab.simulate.focused import run_focused, topical_collection
    from periplus.lab.simulate.runs import PolicyChoice

    chosen = [PolicyChoice.parse(name) for name in options.policies(policy or FIRST_POLICIES) or ()]
    files = Files()
    with stoppable(files):
        with ExperimentProgress(f"{len(chosen) * len(topic)} crawls") as progress:
            with_layers = any(each.name == "context_graph" for each in chosen)
            web = topical_collection(collection, topic, relevant, with_layers=with_layers)
            rows = run_focused(web, chosen, limit=limit, explore=explore, progress=progress)
        write(rows, lambda: picture(rows), csv, plot, files)
        if json:
            say_json(rows)
        else:
            say(_sheet(rows))


def picture(rows: Sequence[FocusedRow]) -> Plot:
    """Recall by pages, a line for each ordering."""
    from periplus.lab.simulate.focused import mean_recall
    from periplus.lab.simulate.plots import Plot

    first = rows[0]
    topics = list(dict.fromkeys(row.topic for row in rows))
    return Plot(
        title="Which ordering finds the pages on the topic first?",
        x_label="pages fetched",
        y_label="recall",
        curves=tuple(mean_recall(rows)),
        caption=f"{first.relevant:,} of {first.total:,} pages are relevant. Topics: {'; '.join(topics)}.",
        y_as="share",
        y_from_zero=True,
    )


def _sheet(rows: Sequence[FocusedRow]) -> Sheet:
    columns = (
        Column("topic", is_number=False),
        Column("ordering", is_number=False),
        Column("harvest"),
        Column("recall"),
        Column("area"),
        Column("pages"),
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
    return Sheet(f"{first.total:,} pages, of which {first.relevant:,} are relevant", columns, lines, notes)
