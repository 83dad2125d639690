"""Prints an audit on a terminal: the verdict on each area, then each finding with what to do."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from periplus.insight.audit import Audit, Comparison, Example, Finding
from periplus.insight.audit.html_page import SIGNS, limits, seen, sized, summary

from ..crawl.live import count, counted

_STYLES = {"error": "bold red", "warning": "yellow", "notice": "cyan", "good": "green", "unknown": "dim"}
_CHANGES = 10
"""New and fixed URLs of each finding that are printed; `--json` and `--csv` have all."""


def print_audit(console: Console, audit: Audit, failed: list[str], comparison: Comparison | None, html: str) -> None:
    """Print an audit."""
    console.print(Text(audit.site, style="bold") + Text(f"  {_facts(audit)}", style="dim"), soft_wrap=True)
    if text := limits(audit):
        advice = "Raise --limit and --for, or --limit 0 for all pages."
        console.print(Text(f"{text} {advice}", style="yellow"), soft_wrap=True)
    console.print(_marks(audit))
    for found in audit.findings:
        _print_finding(console, found)
    console.print()
    for name, why in audit.unjudged.items():
        console.print(Text(f"not checked: {name} ({why})", style="dim"), soft_wrap=True)
    if comparison is not None:
        _print_comparison(console, comparison)
    console.print(Text(summary(audit), style="bold"), soft_wrap=True)
    if html:
        console.print(Text(f"HTML: {html}"), soft_wrap=True)
    if failed:
        console.print(Text(f"failed on {', '.join(failed)}", style="bold red"), soft_wrap=True)


def _print_comparison(console: Console, comparison: Comparison) -> None:
    counts = f"{count(comparison.new)} new, {count(comparison.fixed)} fixed, {count(comparison.remaining)} remaining"
    console.print(Text(f"since the last audit: {counts}", style="bold"), soft_wrap=True)
    for change in comparison.changes:
        for sign, urls, style in (("+", change.new, "yellow"), ("-", change.fixed, "green")):
            for url in urls[:_CHANGES]:
                console.print(Text(f"  {sign} {change.name} {_clean(url)}".rstrip(), style=style), soft_wrap=True)
            if len(urls) > _CHANGES:
                more = f"  {sign} {change.name} and {count(len(urls) - _CHANGES)} more"
                console.print(Text(more, style=style), soft_wrap=True)
    if comparison.unknown:
        console.print(Text(f"  not comparable: {', '.join(comparison.unknown)}", style="dim"), soft_wrap=True)


def _facts(audit: Audit) -> str:
    cost = audit.cost
    listed = f"{counted(audit.listed, 'URL')} listed, {count(audit.visited)} of them fetched"
    asked = counted(cost.requests, "request")
    return f"{counted(audit.pages, 'page')}; {listed}; {asked}, {sized(cost.bytes)}{seen(audit)}"


def _marks(audit: Audit) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for mark in audit.marks:
        style = _STYLES[mark.verdict]
        table.add_row(Text(f"  {SIGNS[mark.verdict]}", style=style), mark.question, Text(mark.says, style=style))
    return table


def _print_finding(console: Console, found: Finding) -> None:
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
    """Text without control characters."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
