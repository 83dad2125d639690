"""Verdicts as tables, JUnit XML, and one HTML page in which every failure is explained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from periplus.view.html import html_file, html_table, prose
from periplus.view.junit import JUnitCase, junit_file
from periplus.view.values import Column, Sheet, sheet_of
from periplus.view.wording import counted, lasting

from .cases import CaseOutcome, Verdict
from .judging import Judgement, ListedCase, listed_cases
from .trials import GROUPS

SIGNS = {CaseOutcome.PASSED: "pass", CaseOutcome.FAILED: "FAIL", CaseOutcome.NOT_APPLICABLE: "n/a"}


def score_table(judgements: Sequence[Judgement]) -> Sheet:
    """Groups by crawlers: the cases that passed, of those that apply."""
    groups = list(dict.fromkeys(verdict.group for one in judgements for verdict in one.verdicts))
    columns = [Column("group", "cases"), *(Column(one.name) for one in judgements)]
    rows = [[GROUPS[group], *(_score(one.verdicts, group) for one in judgements)] for group in groups]
    rows.append(["all", *(_score(one.verdicts) for one in judgements)])
    return sheet_of("Cases passed, of those that apply", columns, rows)


def _score(verdicts: Sequence[Verdict], group: str = "") -> str:
    chosen = [verdict for verdict in verdicts if group in ("", verdict.group)]
    passed = sum(verdict.outcome is CaseOutcome.PASSED for verdict in chosen)
    apply = sum(verdict.outcome is not CaseOutcome.NOT_APPLICABLE for verdict in chosen)
    return f"{passed} of {apply}" if apply else "–"


def case_table(judgements: Sequence[Judgement]) -> Sheet:
    """Every case by crawlers."""
    columns = [Column("case"), *(Column(one.name) for one in judgements)]
    outcomes = [{verdict.name: SIGNS[verdict.outcome] for verdict in one.verdicts} for one in judgements]
    names = list(dict.fromkeys(verdict.name for one in judgements for verdict in one.verdicts))
    return sheet_of("Every case", columns, [[name, *(one.get(name, "") for one in outcomes)] for name in names])


def failures(judgement: Judgement) -> list[Verdict]:
    """The cases that failed."""
    return [verdict for verdict in judgement.verdicts if verdict.outcome is CaseOutcome.FAILED]


def to_junit(judgement: Judgement) -> str:
    """One test for each case; those that do not apply are skipped."""
    cases = [
        JUnitCase(
            f"lab.{verdict.group}",
            verdict.case,
            failure=verdict.reason if verdict.outcome is CaseOutcome.FAILED else "",
            kind="fail",
            skipped=verdict.reason if verdict.outcome is CaseOutcome.NOT_APPLICABLE else "",
            text="\n".join(verdict.proof),
        )
        for verdict in judgement.verdicts
    ]
    return junit_file("Conformance lab", _called(judgement), cases)


def to_html(judgements: Sequence[Judgement]) -> str:
    """The whole file: scores, every case, and each failure with its rule and its proof."""
    listed = {f"{case.group}/{case.name}": case for case in listed_cases()}
    content = [
        '<header><p class="mark">Periplus conformance lab</p><h1>',
        ", ".join(escape(_called(one)) for one in judgements),
        '</h1><p class="soft">Judged from the logs of the servers that the crawlers visited.</p></header>\n',
        f'<h2>Scores</h2><section class="card">{html_table(score_table(judgements))}</section>',
        f'<h2>Every case</h2><section class="card">{html_table(case_table(judgements))}</section>',
        *(part for one in judgements for part in _explained(one, listed)),
    ]
    return html_file("Conformance lab", content)


def _explained(judgement: Judgement, listed: dict[str, ListedCase]) -> Iterator[str]:
    failed = failures(judgement)
    yield f"<h2>{escape(_called(judgement))}: {counted(len(failed), 'failure')}</h2>\n"
    if judgement.settings:
        yield f'<p class="lead">{escape(judgement.settings)}</p>\n'
    for verdict in failed:
        case = listed[verdict.name]
        proof = escape("\n".join(verdict.proof))
        yield (
            f'<section class="card"><h3>{escape(verdict.name)}</h3><p>{prose(case.says)}'
            f' <span class="soft">{escape(case.source)}</span></p><p class="do">{escape(verdict.reason)}</p>'
        )
        yield f"<pre>{proof}</pre></section>\n" if proof else "</section>\n"
    others = [verdict for verdict in judgement.verdicts if verdict.outcome is CaseOutcome.NOT_APPLICABLE]
    if others:
        columns = (Column("case"), Column("reason"))
        table = html_table(sheet_of("Not applicable", columns, [(other.name, other.reason) for other in others]))
        yield f'<section class="card">{table}</section>\n'


def _called(judgement: Judgement) -> str:
    return f"{judgement.name} {judgement.version}".strip()


def summary_line(judgement: Judgement) -> str:
    """All in one sentence."""
    passed, failed = judgement.count(CaseOutcome.PASSED), judgement.count(CaseOutcome.FAILED)
    others = judgement.count(CaseOutcome.NOT_APPLICABLE)
    apart = f", {others} not applicable" if others else ""
    return f"{_called(judgement)}: {passed} passed, {failed} failed{apart}, in {lasting(judgement.seconds)}."
