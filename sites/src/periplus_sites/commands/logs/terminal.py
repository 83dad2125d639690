"""Prints a log report on a terminal: which crawlers came, what to act on, and what the numbers leave open."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace
from rich.console import Console

from periplus.view.terminal import print_finding, print_line, print_table
from periplus.view.values import Sheet
from periplus.view.wording import count, counted, size
from periplus_sites.logs import LogReport

from .tables import crawlers, days, kinds, paper_lines

_SHOWN = 20
"""Crawlers in the table; `--html` and `--json` have more."""
_EXAMPLES = 3
_HIDDEN = frozenset({"operator", "purpose"})
"""Columns that a terminal has no room for."""


def print_report(console: Console, report: LogReport, failed: list[str], *, paper: bool, html: str) -> None:
    """Print a report."""
    print_line(console, _facts(report), "bold")
    print_table(console, _shown(crawlers(report)))
    if len(report.crawlers) > _SHOWN:
        print_line(console, f"  and {counted(len(report.crawlers) - _SHOWN, 'crawler')} more: --html or --json", "dim")
    print_line(console, _savings(report))
    unnamed = report.unnamed
    if unnamed.addresses:
        who = counted(unnamed.addresses, "address", "addresses")
        print_line(console, f"{who} behave as crawlers without saying so: {counted(unnamed.requests, 'request')}")
    if paper:
        for name, says in paper_lines(report):
            print_line(console, f"  {name}: {says}")
        print_table(console, _shown(kinds(report)))
        print_table(console, _shown(days(report)))
    for found in report.findings:
        print_finding(console, found, _EXAMPLES)
    for line in _open_questions(report):
        print_line(console, line, "dim")
    if html:
        print_line(console, f"HTML: {html}")
    if failed:
        print_line(console, f"failed on {', '.join(failed)}", "bold red")


def _facts(report: LogReport) -> str:
    requests = report.requests or 1
    return (
        f"{counted(report.requests, 'request')} in {counted(len(report.files), 'file')}:"
        f" {100 * report.crawler_requests / requests:.1f} % of them and"
        f" {100 * report.crawler_bytes / (report.bytes or 1):.1f} % of {size(report.bytes)}"
        f" by {counted(len(report.crawlers), 'known crawler')}"
    )


def _savings(report: LogReport) -> str:
    needless = report.needless
    if needless.exact is None:
        found = f"{count(needless.same)} of {count(needless.repeated)} repeated requests brought a 304 or the same size"
    else:
        found = f"{count(needless.exact)} of {count(needless.judged or 0)} repeated downloads were of unchanged pages"
    saved = f"304s would have saved {size(needless.bytes)}, archives {size(needless.archive_bytes)}"
    return f"{found}; {saved}"


def _open_questions(report: LogReport) -> list[str]:
    lines = []
    if report.problems:
        lines.append("not read: " + ", ".join(f"{name} {count(number)}" for name, number in report.problems.items()))
    if report.before_since:
        lines.append(f"left out: {counted(report.before_since, 'request')} before --since")
    if report.scale > 1:
        lines.append(f"numbers by URL are estimates from one in {report.scale} URLs")
    if any(each.identity.unknown_addresses for each in report.crawlers):
        lines.append("not all addresses could be verified: --refresh looks their names up in DNS")
    signed = report.signed
    if signed.verified or signed.invalid or signed.unverified:
        verdicts = f"{count(signed.verified)} verified, {count(signed.invalid)} wrong"
        lines.append(f"signed requests: {verdicts}, {count(signed.unverified)} not verified")
    if signed.reasons.get("not-checked"):
        lines.append("signatures were not checked: --refresh fetches keys, with pip install 'periplus[identity]'")
    if report.ranges_at is not None:
        day = datetime.fromtimestamp(report.ranges_at, UTC).strftime("%Y-%m-%d")
        lines.append(f"published address ranges: the oldest list is of {day}")
    if not report.robots:
        lines.append("robots.txt was not checked: --robots FILE names it")
    return lines


def _shown(table: Sheet) -> Sheet:
    columns = tuple(column for column in table.columns if column.name not in _HIDDEN)
    return replace(table, title="", says="", columns=columns, rows=table.rows[:_SHOWN])
