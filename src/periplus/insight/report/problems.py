"""The problems of a collection's sites, most severe first: the findings of `insight.audit`, as a part of the report."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from periplus.insight.audit import Audit, Severity, audit
from periplus.insight.views import Views

from .values import Column, CrawlState, Part, Row

NAME: Final = "findings"
"""The name of the part."""

_COLUMNS: Final = (
    Column("severity", "severity", "severity"),
    Column("title", "problem", "text"),
    Column("count", "count"),
    Column("advice", "what to do", "text"),
    Column("example", "example", "url"),
)


def problems_of(views: Views, groups: Sequence[Sequence[str]], state: CrawlState, folder: str) -> Part:
    """The findings of every site, each group being the names of one site; most severe first, then most frequent."""
    audits = [_audited(views, names, state) for names in groups]
    rows = [_row(found, place) for found in audits for place in range(len(found.findings))]
    ranks = [severity.value for severity in Severity]
    rows.sort(key=lambda row: (ranks.index(row["severity"]), -row["count"], row["site"], row["name"]))
    is_one = len(audits) == 1
    site = shlex.quote(audits[0].site) if is_one else "SITE"
    return Part(
        name=NAME,
        chapter="problems",
        title="Problems by severity",
        says="Errors mislead crawlers, warnings waste their requests, notices could be better.",
        advice="Fix errors first; the command below shows every problem with why it matters and more examples.",
        columns=_COLUMNS if is_one else (_COLUMNS[0], Column("site", "site", "text"), *_COLUMNS[1:]),
        rows=rows,
        command=f"periplus audit {folder} --site {site}",
    )


def _audited(views: Views, names: Sequence[str], state: CrawlState) -> Audit:
    robots = next((state.robots[name] for name in names if name in state.robots), None)
    is_whole = bool(state.waiting) and not any(state.waiting.get(name) for name in names)
    return audit(views, names, robots, is_whole=is_whole)


def _row(found: Audit, place: int) -> Row:
    finding = found.findings[place]
    example = finding.examples[0] if finding.examples else None
    return {
        "severity": finding.severity.value,
        "site": found.site,
        "name": finding.name,
        "title": finding.title,
        "count": finding.count,
        "advice": finding.advice,
        "example": "" if example is None else example.url or example.note,
    }
