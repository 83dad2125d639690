"""`periplus simulate`: compares policies in virtual time, and reproduces the experiments of papers.

The group of commands; the experiments are in the modules beside this one. What they run is in
`periplus_lab.simulate`, which is imported only when one begins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from periplus.cli.commands import CommandGroup, Option
from periplus.model import UsageError

from . import reproduce as simulate_reproduce
from .batch import BatchExperiment
from .experiment import command
from .freshness import FreshnessExperiment, SignalsExperiment
from .options import JSON, REPETITIONS, SEED, WORKERS
from .ordering import FocusedExperiment, OrderingExperiment
from .reproduce import Paper, ReproduceOptions
from .scaling import ScalingExperiment
from .shares import BalanceExperiment, ReputationExperiment
from .speedup import SpeedupExperiment

simulate = CommandGroup("simulate")
for experiment in (
    OrderingExperiment,
    FocusedExperiment,
    SpeedupExperiment,
    BatchExperiment,
    FreshnessExperiment,
    SignalsExperiment,
    BalanceExperiment,
    ReputationExperiment,
    ScalingExperiment,
):
    simulate.verb(command(experiment))


@simulate.alone
def _alone(
    reproduce: Annotated[
        Paper | None, Option("--reproduce", help="Reproduce the experiments of a paper and compare the numbers.")
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            "--out", "-o", metavar="DIR", help="The folder for the results of --reproduce; by default PAPER-results."
        ),
    ] = None,
    scale: Annotated[
        int | None,
        Option(
            "--scale",
            metavar="PAGES",
            min=1,
            help="Pages of the web: castillo (30,000; at least 20,000) or sitemaps (1,000).",
        ),
    ] = None,
    full: Annotated[bool, Option("--full", help="Reproduce castillo on 100,000 pages, which takes longer.")] = False,
    seed: Annotated[int | None, SEED.typed] = None,
    repetitions: Annotated[int | None, REPETITIONS.typed] = None,
    workers: Annotated[int | None, WORKERS.typed] = None,
    json: Annotated[bool, JSON.typed] = False,
) -> None:
    """Compare policies in virtual time with the crawler's scheduler; reproduce papers' experiments.

    Example: periplus simulate ordering

    Example: periplus simulate --reproduce castillo -o castillo
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        if reproduce:
            raise UsageError(
                "--reproduce takes no verb", hint=f"periplus simulate --reproduce {reproduce.value}, without a verb"
            )
        return
    if reproduce is None:
        click.echo(context.get_help())
        return
    if full and scale is not None:
        raise UsageError("--full and --scale are two sizes", hint="give one of them")
    pages = simulate_reproduce.FULL if full and reproduce is Paper.CASTILLO else scale
    simulate_reproduce.run(reproduce, out, ReproduceOptions(pages, seed or 0, repetitions, workers), is_json=json)
