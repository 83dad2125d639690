"""How the budget of a site moved between its two sources, as a table for a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from periplus.assembly.facts.lines import MOVES_BY_WORD
from periplus.assembly.facts.sources import BalanceFacts, EpochFacts
from periplus.assembly.wording import count


def balance_table(facts: BalanceFacts) -> Table:
    """How the budget moved, epoch by epoch, and why."""
    table = Table(
        title="how the budget moved, and why",
        title_justify="left",
        title_style="bold",
        caption="  worth: of the lowest-scored pages of an epoch, those unique and indexable",
        caption_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for name in ("  epoch", "to sitemaps", "worth", "to links", "worth"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("then", overflow="fold", style="dim")
    for number, epoch in enumerate(facts.history, facts.epochs - len(facts.history) + 1):
        table.add_row(f"  {count(number)}", *_cells(epoch), Text(MOVES_BY_WORD[epoch.move]))
    return table


def _cells(epoch: EpochFacts) -> tuple[str, str, str, str]:
    return (
        count(epoch.sitemaps),
        _worth(epoch.sitemaps_good, epoch.sitemaps_known),
        count(epoch.links),
        _worth(epoch.links_good, epoch.links_known),
    )


def _worth(good: int, known: int) -> str:
    """Of the pages that were looked at, those unique and indexable."""
    return f"{good} of {known}" if known else "-"
