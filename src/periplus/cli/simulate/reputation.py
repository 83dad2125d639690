"""`periplus simulate reputation`: what a link farm gets of all budgets under each score of domains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import options
from .output import Column, Sheet, per_cent, run_small

if TYPE_CHECKING:
    from periplus.lab.simulate.reputation import ReputationRow


def reputation(
    seed: options.Seed = None,
    repetitions: options.Repetitions = None,
    json: options.Json = False,
    csv: options.CsvFile = None,
) -> None:
    """Compare scores of domains: the share of all budgets that a link farm gets, and what it gains by adapting.

    Example: periplus simulate reputation --repetitions 5
    """
    from periplus.lab.simulate.reputation import run_reputation

    seeds = range(seed or 0, (seed or 0) + (repetitions or 1))
    run_small(
        "reputation",
        lambda progress: run_reputation(seeds=seeds, progress=progress),
        _sheet,
        json=json,
        csv=csv,
    )


def _sheet(rows: Sequence[ReputationRow]) -> Sheet:
    from periplus.lab.simulate.reputation import FARMS, HONEST, SEEDS

    first, plain = rows[0], FARMS[0]
    farms = list(dict.fromkeys(row.farm for row in rows))
    names = ("score", "honest", "farm", *farms)
    columns = tuple(Column(name, is_number=number > 0) for number, name in enumerate(names))
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
    return Sheet(title, columns, lines, notes)
