"""`periplus simulate`: compares policies in virtual time, and reproduces the experiments of papers.

The group of commands, with the verbs `balance` and `reputation`; the other verbs are in the modules beside this one.
The experiments are in `apps.simulate`, which is imported only when one begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from periplus.model import UsageError
from periplus.view.values import Column, Sheet, counts, sheet_of

from . import options
from . import reproduce as simulate_reproduce
from .batch import batch
from .freshness import freshness, signals
from .ordering import focused, ordering
from .output import per_cent, run_small
from .reproduce import ReproduceOptions
from .scaling import scaling
from .speedup import speedup

if TYPE_CHECKING:
    from periplus.apps.simulate.balance import BalanceRow
    from periplus.apps.simulate.reputation import ReputationRow


def reputation(
    seed: options.Seed = None,
    repetitions: options.Repetitions = None,
    json: options.Json = False,
    csv: options.CsvFile = None,
) -> None:
    """Compare scores of domains: the share of all budgets that a link farm gets, and what it gains by adapting.

    Example: periplus simulate reputation --repetitions 5
    """
    from periplus.apps.simulate.reputation import run_reputation

    seeds = range(seed or 0, (seed or 0) + (repetitions or 1))
    run_small(
        "reputation",
        lambda progress: run_reputation(seeds=seeds, progress=progress),
        _reputation_sheet,
        json=json,
        csv=csv,
    )


def _reputation_sheet(rows: Sequence[ReputationRow]) -> Sheet:
    from periplus.apps.simulate.reputation import FARMS, HONEST, SEEDS

    first, plain = rows[0], FARMS[0]
    farms = list(dict.fromkeys(row.farm for row in rows))
    names = ("score", "honest", "farm", *farms)
    columns = tuple(Column(name, kind="number" if number > 0 else "text") for number, name in enumerate(names))
    lines = []
    for row in (row for row in rows if row.farm == first.farm):
        shares = [per_cent(each.share, each.low, each.high) for each in rows if each.score == row.score]
        lines.append([row.score, f"{row.honest_budget:,.0f}", f"{row.farm_budget:,.0f}", *shares])
    last = first.seed + first.repetitions - 1
    seeds = f"seed {first.seed}" if first.repetitions == 1 else f"seeds {first.seed} to {last}"
    title = f"{HONEST:,} honest domains, a farm of {plain.domains}, {SEEDS} domains of seeds; {seeds}"
    notes = (
        "honest, farm: median budgets in pages, with the plain farm; the other columns: share of each farm in all "
        "budgets, in per cent",
        "addresses: one for each domain of the farm; domains: twice as many; bought: a link from a random honest "
        "domain for each; seed: a link from one seed; all: all of it",
    )
    return sheet_of(title, columns, lines, notes)


Pages = Annotated[int, typer.Option("--pages", metavar="N", min=10, max=1_000_000, help="Pages of each site.")]
Fetched = Annotated[int, typer.Option("--budget", metavar="N", min=10, max=1_000_000, help="Fetches of each site.")]


def balance(
    pages: Pages = 2000,
    budget: Fetched = 1000,
    seed: options.Seed = None,
    repetitions: options.Repetitions = None,
    json: options.Json = False,
    csv: options.CsvFile = None,
) -> None:
    """Compare ways of dividing a site's fetches between sitemaps and links: unique pages found by each.

    Example: periplus simulate balance --repetitions 5
    """
    from periplus.apps.simulate.balance import run_balance

    seeds = range(seed or 0, (seed or 0) + (repetitions or 1))
    run_small(
        "balance",
        lambda progress: run_balance(pages=pages, budget=budget, seeds=seeds, progress=progress),
        _sheet,
        json=json,
        csv=csv,
    )


def _sheet(rows: Sequence[BalanceRow]) -> Sheet:
    first = rows[0]
    columns = (
        Column("site"),
        Column("way"),
        counts("unique pages"),
        counts("of the best split"),
        counts("from sitemaps"),
    )
    lines = [[row.kind, row.way, _pages(row), per_cent(row.of_best), per_cent(row.sitemaps)] for row in rows]
    last = first.seed + first.repetitions - 1
    seeds = f"seed {first.seed}" if first.repetitions == 1 else f"seeds {first.seed} to {last}"
    title = f"sites of {first.pages:,} pages, {first.budget:,} fetches each; {seeds}"
    notes = (
        "balance: as in a crawl; strict: Figure 8 of Schonfeld & Shivakumar as printed; best split: knows the queues",
        "the last two columns are in per cent: of the unique pages of the best split, and of all fetches",
    )
    return sheet_of(title, columns, lines, notes)


def _pages(row: BalanceRow) -> str:
    spread = f" ±{(row.high - row.low) / 2:.0f}" if row.high > row.low else ""
    return f"{row.unique:,.0f}{spread}"


simulate = typer.Typer(
    name="simulate",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (ordering, focused, speedup, batch, freshness, signals, balance, reputation, scaling):
    simulate.command()(verb)


@simulate.callback(invoke_without_command=True)
def _alone(
    context: typer.Context,
    reproduce: options.Reproduce = None,
    out: options.Out = None,
    scale: options.Scale = None,
    seed: options.Seed = None,
    repetitions: options.Repetitions = None,
    workers: options.Workers = None,
    json: options.Json = False,
) -> None:
    """Compare policies in virtual time with the crawler's scheduler; reproduce papers' experiments.

    Example: periplus simulate ordering

    Example: periplus simulate --reproduce castillo -o castillo
    """
    if context.invoked_subcommand is not None:
        if reproduce:
            raise UsageError(
                "--reproduce takes no verb", hint=f"periplus simulate --reproduce {reproduce.value}, without a verb"
            )
        return
    if reproduce is None:
        typer.echo(context.get_help())
        return
    simulate_reproduce.run(reproduce, out, ReproduceOptions(scale, seed or 0, repetitions, workers), is_json=json)
