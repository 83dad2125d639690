"""How values are shown to a person: the first of each type in a table, all of them counted, problems by reason.

Bounded in memory: however many values pass, only the few that are shown are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import Enum

import msgspec
from rich.table import Table
from rich.text import Text

from periplus.model import Granularity, Lastmod, Problem

from ..consoles import stdout_console

ROWS = 12
CELL = 72


class Digest:
    """What passed by: a count a type, the first few of each, and problems by reason."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.first: dict[str, list[object]] = {}
        self.example: dict[str, Problem] = {}

    def add(self, value: object) -> None:
        """Take note of one value."""
        if isinstance(value, Problem):
            self.reasons[value.reason] += 1
            self.example.setdefault(value.reason, value)
            return
        name = type(value).__name__
        self.counts[name] += 1
        kept = self.first.setdefault(name, [])
        if len(kept) < ROWS:
            kept.append(value)

    @property
    def has_content(self) -> bool:
        """Whether anything but problems was read."""
        return bool(self.counts)


def show(title: str, values: Iterable[object]) -> Digest:
    """Print what was read, for a person; says what there was."""
    digest = Digest()
    for value in values:
        digest.add(value)
    console = stdout_console()
    console.print(Text(title, style="bold"))
    for name, kept in digest.first.items():
        console.print(_rows(name, kept, digest.counts[name]) if digest.counts[name] > 1 else _sheet(name, kept[0]))
        if digest.counts[name] > len(kept):
            console.print(Text(f"  and {digest.counts[name] - len(kept):,} more (--json shows all)", style="dim"))
    if digest.reasons:
        console.print(problem_table(digest.reasons, digest.example))
    if not digest.has_content:
        console.print(Text("nothing could be read", style="bold red"))
    return digest


def _rows(name: str, values: list[object], count: int) -> Table:
    """Many of a kind: one row each, without the columns that are empty in all of them."""
    table = Table(title=f"{name} ({count:,})", title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    facts = [_facts(value) for value in values]
    columns = [column for column in facts[0] if any(row[column] for row in facts)]
    for column in columns:
        table.add_column(column, overflow="fold", style="cyan" if column == "url" else "")
    for row in facts:
        table.add_row(*(Text(row[column]) for column in columns))
    return table


def _sheet(name: str, value: object) -> Table:
    """One of a kind: a line for each thing it says."""
    table = Table(title=name, title_justify="left", title_style="bold", box=None, show_header=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for fact, said in _facts(value).items():
        if said:
            table.add_row(fact, Text(said))
    return table


def problem_table(reasons: Counter[str], example: dict[str, Problem]) -> Table:
    """Problems by reason, the commonest first, each with one example."""
    table = Table(title="Problems", title_justify="left", title_style="bold yellow", box=None, padding=(0, 2, 0, 0))
    table.add_column("reason", style="yellow")
    table.add_column("count", justify="right")
    table.add_column("for example", overflow="fold")
    for reason, count in reasons.most_common():
        table.add_row(reason, f"{count:,}", Text(short(example[reason].detail)))
    return table


def _facts(value: object) -> dict[str, str]:
    """The fields of a value, each as a short text."""
    if not isinstance(value, msgspec.Struct):
        return {"value": short(str(value))}
    return {name: short(said(getattr(value, name))) for name in value.__struct_fields__}


def said(value: object) -> str:
    """A value as a person would write it; nothing for nothing."""
    match value:
        case None | "" | () | b"" | False:
            return ""
        case True:
            return "yes"
        case Lastmod():
            return _date(value)
        case Enum():
            return str(value.value)
        case bytes():
            return f"{len(value)} bytes"
        case dict():
            return ", ".join(f"{key} {count}" for key, count in value.items())
        case tuple() | list():
            return _listed(value)
        case msgspec.Struct():
            return " ".join(f"{name}={text}" for name, text in _facts(value).items() if text)
        case _:
            return str(value)


def _listed(values: tuple[object, ...] | list[object]) -> str:
    if len(values) > 1 and isinstance(values[0], msgspec.Struct):
        return f"{len(values):,}: {said(values[0])} ..."
    return ", ".join(said(value) for value in values[:ROWS])


def _date(lastmod: Lastmod) -> str:
    """As fine as it was written, and no finer."""
    at = datetime.fromtimestamp(lastmod.at, UTC)
    forms = {Granularity.YEAR: "%Y", Granularity.MONTH: "%Y-%m", Granularity.DAY: "%Y-%m-%d"}
    return at.strftime(forms.get(lastmod.granularity, "%Y-%m-%d %H:%M:%S"))


def short(text: str) -> str:
    """One line of at most a cell's length."""
    folded = " ".join(text.split())
    return folded if len(folded) <= CELL else folded[: CELL - 1] + "…"
