"""How an audit is shown on a terminal: the questions with their marks, then each finding with what to do."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from periplus.insight.audit import Audit, Example, Finding
from periplus.insight.audit.page import SIGNS, sized, summary

from ..crawl.live import count, counted

_STYLES = {"error": "bold red", "warning": "yellow", "notice": "cyan", "good": "green", "unknown": "dim"}


def say_audit(console: Console, audit: Audit, failed: list[str], html: str) -> None:
    """All of it."""
    console.print(Text(audit.site, style="bold") + Text(f"  {_facts(audit)}", style="dim"), soft_wrap=True)
    console.print(_marks(audit))
    for found in audit.findings:
        _say_finding(console, found)
    console.print()
    for name, why in audit.unjudged.items():
        console.print(Text(f"not judged: {name} ({why})", style="dim"), soft_wrap=True)
    console.print(Text(summary(audit), style="bold"), soft_wrap=True)
    if html:
        console.print(Text(f"the same as a page: {html}"), soft_wrap=True)
    if failed:
        console.print(Text(f"failed on {', '.join(failed)}", style="bold red"), soft_wrap=True)


def _facts(audit: Audit) -> str:
    cost = audit.cost
    listed = f"{counted(audit.listed, 'URL')} listed, {count(audit.visited)} of them visited"
    return f"{counted(audit.pages, 'page')}; {listed}; {counted(cost.requests, 'request')}, {sized(cost.bytes)}"


def _marks(audit: Audit) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for mark in audit.marks:
        style = _STYLES[mark.verdict]
        table.add_row(Text(f"  {SIGNS[mark.verdict]}", style=style), mark.question, Text(mark.says, style=style))
    return table


def _say_finding(console: Console, found: Finding) -> None:
    style = _STYLES[found.severity.value]
    title = Text(f"\n{SIGNS[found.severity.value]} {found.title}", style=style) + Text(f"  {found.name}", style="dim")
    console.print(title, soft_wrap=True)
    if found.parts:
        parts = ", ".join(f"{_clean(name)}: {count(number)}" for name, number in found.parts.items())
        console.print(Padding(Text(parts, style="dim"), (0, 0, 0, 2)))
    console.print(Padding(Text(found.why), (0, 0, 0, 2)))
    console.print(Padding(Text(f"→ {found.advice}", style="bold"), (0, 0, 0, 2)))
    for example in found.examples:
        console.print(Text("    ") + _example(example), soft_wrap=True)


def _example(example: Example) -> Text:
    said = Text(_clean(example.url), style="cyan")
    if example.note:
        said += Text(("  " if example.url else "") + _clean(example.note), style="dim")
    return said + Text(f"  (on {_clean(example.at)})", style="dim") if example.at else said


def _clean(text: str) -> str:
    """One line without what a terminal would obey."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
