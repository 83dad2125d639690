"""What `periplus lab judge` does: run the trials with a line for each, and show or write the verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from periplus.cli.consoles import stderr_console, stdout_console
from periplus.view.terminal import print_line, print_table
from periplus.view.values import Column, sheet_of
from periplus.view.wording import counted
from periplus_lab.conformance import enclosure
from periplus_lab.conformance.adapters import Adapter
from periplus_lab.conformance.cases import CaseOutcome, Verdict
from periplus_lab.conformance.judging import Judgement, judge, listed_cases
from periplus_lab.conformance.reports import failures, score_table, summary_line


def list_cases(*, json: bool) -> None:
    """Print every case with the rule behind it."""
    cases = listed_cases()
    if json:
        click.echo(msgspec.json.encode(cases))
        return
    rows = [(f"{case.group}/{case.name}", case.says, case.source) for case in cases]
    title = f"{counted(len(cases), 'case')} in {counted(len({(case.group, case.trial) for case in cases}), 'trial')}"
    print_table(stdout_console(), sheet_of(title, (Column("case"), Column("rule"), Column("source")), rows))


def judge_shown(
    adapter: Adapter, only: Sequence[str], *, at_once: int, is_enclosed: bool, keep: Path | None, json: bool
) -> Judgement:
    """Judge a crawler, and print what came of it."""
    if is_enclosed and not enclosure.entrance():
        print_line(stderr_console(), f"Sites are at addresses of loopback, and fewer cases apply: {enclosure.WHY_NOT}.")
    judgement = judge(
        adapter, only, at_once=at_once, is_enclosed=is_enclosed, keep=keep, on_verdicts=_print_progress
    )  # fmt: skip
    if json:
        click.echo(msgspec.json.encode(judgement))
    else:
        _print_judgement(judgement)
    return judgement


def _print_judgement(judgement: Judgement) -> None:
    console = stdout_console()
    rules = {f"{case.group}/{case.name}": case for case in listed_cases()}
    for verdict in failures(judgement):
        print_line(console, f"\nFAIL {verdict.name}", "bold red")
        print_line(console, f"  {rules[verdict.name].says} ({rules[verdict.name].source})")
        print_line(console, f"  {verdict.reason}")
        for line in verdict.proof:
            print_line(console, f"  {line}", "dim")
    console.print()
    print_table(console, score_table([judgement]))
    print_line(console, summary_line(judgement), "bold")


def _print_progress(verdicts: Sequence[Verdict]) -> None:
    """A line on stderr for each trial that ended."""
    failed = [verdict.case for verdict in verdicts if verdict.outcome is CaseOutcome.FAILED]
    passed = sum(verdict.outcome is CaseOutcome.PASSED for verdict in verdicts)
    group = verdicts[0].group if verdicts else ""
    said = f"{group}: {passed} of {len(verdicts)} passed" + (f"; failed: {', '.join(failed)}" if failed else "")
    print_line(stderr_console(), said)
