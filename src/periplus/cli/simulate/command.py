"""`periplus simulate`: compare policies in virtual time, and reproduce the experiments of papers.

This file is the group: its verbs are in the files beside it, one family each. What they run is in `lab.simulate`; it is
imported when an experiment begins.
"""

from __future__ import annotations

import typer

from periplus.model import UsageError

from . import options
from . import reproduce as simulate_reproduce
from .balance import balance
from .batch import batch
from .freshness import freshness
from .ordering import ordering
from .reproduce import ReproduceOptions
from .scaling import scaling
from .signals import signals
from .speedup import speedup

simulate = typer.Typer(
    name="simulate",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (ordering, speedup, batch, freshness, signals, balance, scaling):
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
