"""Tables and facts on a terminal, with rich; elsewhere a line a row, however long, for programs that read it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from .findings import SIGNS, Finding
from .values import Column, FactSheet, Sheet
from .wording import count, one_line, written

_STYLES = {"url": "cyan", "site": "cyan", "picture": "cyan", "reason": "yellow"}
SEVERITIES = {"error": "bold red", "warning": "yellow", "notice": "cyan", "good": "green", "unknown": "dim"}
"""The style of each verdict."""
_GAP = "  "
_LONGEST = 10_000
"""Letters of a cell: a URL is shown whole."""


def print_line(console: Console, line: str, style: str = "") -> None:
    """Print a line that is never broken, however long it is, and in which nothing is markup."""
    console.print(Text(line, style=style), soft_wrap=True)


def print_facts(console: Console, facts: FactSheet) -> None:
    """Print a title, and a line for each label that has a text."""
    print_line(console, facts.title, "bold")
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts.lines:
        if value:
            grid.add_row(f"  {name}", Text(value))
    console.print(grid)


def print_table(console: Console, table: Sheet, *, has_head: bool = True, indent: int = 0) -> None:
    """Print a table as wide as the terminal; elsewhere as wide as it needs to be, without pictures."""
    if table.title:
        print_line(console, table.title, "bold")
    columns = [each for each in table.columns if console.is_terminal or each.kind != "picture"]
    cells = [[_word(row.get(column.name), column) for column in columns] for row in table.rows]
    if not console.is_terminal:
        heads = [[column.title or column.name for column in columns]] if has_head else []
        lines = aligned([*heads, *cells], [column.is_number for column in columns])
        for line in lines:
            print_line(console, " " * indent + line)
    else:
        grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim", show_header=has_head)
        for column in columns:
            grid.add_column(
                column.title or column.name,
                justify="right" if column.is_number else "left",
                style=_STYLES.get(column.kind, ""),
                no_wrap=column.is_number,
                overflow="fold",
            )
        for row in cells:
            grid.add_row(*map(Text, row))
        console.print(Padding(grid, (0, 0, 0, indent), expand=False))
    for line in table.says.splitlines():
        print_line(console, line, "dim")


def _word(value: object, column: Column) -> str:
    return "" if value is None else written(value, column.kind, _LONGEST)


def aligned(rows: Sequence[Sequence[str]], to_right: Sequence[bool]) -> list[str]:
    """Rows of cells as lines, each column as wide as its widest cell."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [_GAP.join(map(_padded, row, widths, to_right)).rstrip() for row in rows]


def _padded(text: str, width: int, to_right: bool) -> str:
    blanks = " " * (width - cell_len(text))
    return blanks + text if to_right else text + blanks


def print_finding(console: Console, found: Finding, most: int | None = None) -> None:
    """Print a finding with at most `most` of its examples."""
    title = Text(f"\n{SIGNS[found.severity]} {one_line(found.title)}", style=SEVERITIES[found.severity])
    console.print(title + Text(f"  {found.name}", style="dim"), soft_wrap=True)
    kinds = ", ".join(f"{one_line(name)}: {count(number)}" for name, number in found.kinds.items())
    for text, style in ((kinds, "dim"), (one_line(found.why), ""), (f"→ {found.advice}", "bold")):
        if text:
            console.print(Padding(Text(text, style=style), (0, 0, 0, 2), expand=False))
    for example in found.evidence[:most]:
        line = Text("    ") + Text(one_line(example.url), style="cyan")
        line += Text(("  " if example.url and example.note else "") + one_line(example.note), style="dim")
        line += Text(f"  (on {one_line(example.at)})" if example.at else "", style="dim")
        console.print(line, soft_wrap=True)
