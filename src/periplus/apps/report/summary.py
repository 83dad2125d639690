"""Summarises a report for a reader in a hurry: problems by severity, and a few sentences that link to their numbers."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from periplus.apps.audit import Audit, Checks, audit, load_checks
from periplus.insight.views import Views
from periplus.view.findings import Severity
from periplus.view.values import Column, TableRow, counts
from periplus.view.wording import count, counted, duration, share

from .values import AnsweredQuestion, CrawlState, Report

PROBLEMS: Final = "findings"
AUDITED: Final = "audited"
UNCHECKED: Final = "unchecked"
"""The names of the parts that audits make: findings, their numbers, and what they could not check."""

_COLUMNS: Final = (
    Column("severity", "severity", "severity"),
    Column("title", "problem"),
    counts("count", "count"),
    Column("advice", "what to do"),
    Column("example", "example", "url"),
)


def audits_of(views: Views, groups: Sequence[Sequence[str]], state: CrawlState) -> list[Audit]:
    """The audit of every site, each group being the names of one site: what `periplus audit` says of the collection."""
    checks = load_checks(views.folder)
    return [_audited(views, names, state, checks) for names in groups]


def audit_parts(audits: Sequence[Audit], folder: str) -> list[AnsweredQuestion]:
    """The findings of all audits, most severe first, then most frequent; their numbers; and what was not checked."""
    rows = [_row(found, place) for found in audits for place in range(len(found.findings))]
    ranks = [severity.value for severity in Severity]
    rows.sort(key=lambda row: (ranks.index(row["severity"]), -row["count"], row["site"], row["name"]))
    is_one = len(audits) == 1
    command = f"periplus audit {folder} --site {shlex.quote(audits[0].site) if is_one else 'SITE'}"
    site = () if is_one else (Column("site", "site"),)
    return [
        AnsweredQuestion(
            name=PROBLEMS,
            chapter="problems",
            title="Problems by severity",
            says="Errors mislead crawlers, warnings waste their requests, notices could be better.",
            advice="Fix errors first; the command below shows every problem with why it matters and more examples.",
            columns=(_COLUMNS[0], *site, *_COLUMNS[1:]),
            rows=rows,
            command=command,
        ),
        AnsweredQuestion(
            name=AUDITED,
            chapter="problems",
            title="What the audit looked at",
            says="Pages as they answered last; a page that fails now does not count.",
            advice="Raise the limits of the crawl until nothing is left to fetch.",
            columns=(
                *site, counts("pages", "pages read"), counts("listed", "in sitemaps"),
                counts("visited", "of these fetched"), counts("linked", "linked URLs"),
                counts("followed", "of these fetched"), counts("waiting", "not fetched"),
                counts("broken", "broken links"), counts("duplicates", "duplicate pages"),
            ),
            rows=[_numbers(found) for found in audits],
            command=command,
        ),
        AnsweredQuestion(
            name=UNCHECKED,
            chapter="problems",
            title="Not checked",
            says="What the crawl did not fetch or the collection does not hold cannot be judged.",
            advice="`periplus audit` of the site itself sends the requests that are missing.",
            columns=(*site, Column("name", "finding", "code"), Column("why", "why")),
            rows=[
                {"site": found.site, "name": name, "why": why}
                for found in audits
                for name, why in found.unjudged.items()
            ],
            command=command,
        ),
    ]  # fmt: skip


def _numbers(found: Audit) -> TableRow:
    faults = {each.name: each.count for each in found.findings}
    names = ("site", "pages", "listed", "visited", "linked", "followed", "waiting")
    return {name: getattr(found, name) for name in names} | {
        "broken": faults.get("broken-links", 0),
        "duplicates": faults.get("duplicate-pages", 0),
    }


def _audited(views: Views, names: Sequence[str], state: CrawlState, checks: Checks) -> Audit:
    robots = next((state.robots[name] for name in names if name in state.robots), None)
    is_whole = bool(state.waiting) and not any(state.waiting.get(name) for name in names)
    return audit(views, names, robots, is_whole=is_whole, checks=checks)


def _row(found: Audit, place: int) -> TableRow:
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


class Sentence(Struct, frozen=True):
    """A fact, what follows from it, and the part that shows it."""

    says: str
    so: str
    part: str


def sentences(report: Report) -> list[Sentence]:
    """The sentences for which there are numbers, problems first."""
    return [
        *_problems(report),
        *_size(report),
        *_topic(report),
        *_coverage(report),
        *_efficiency(report),
        *_first(report),
        *_errors(report),
        *_copies(report),
    ]


def _problems(report: Report) -> Iterator[Sentence]:
    rows = report.rows(PROBLEMS)
    if not rows:
        return
    severities = [row["severity"] for row in rows]
    found = [counted(severities.count(each), each) for each in dict.fromkeys(severities)]
    title = str(rows[0]["title"])
    yield Sentence(f"The audit found {', '.join(found)}.", f"Most severe: {title}.", PROBLEMS)


def _size(report: Report) -> Iterator[Sentence]:
    glance = report.row("glance")
    if glance.get("crawled"):
        part = share(glance["unique"] / glance["crawled"])
        kept = f"{part} of {count(glance['crawled'])} fetched URLs are unique pages"
        yield Sentence(f"{kept}.", _left(report), "sources")


def _topic(report: Report) -> Iterator[Sentence]:
    topic = report.row("topic")
    if topic.get("relevant") is not None:
        says = f"{counted(topic['relevant'], 'page')} of the collection are on the topic: {share(topic['harvest'])}."
        so = "Other words, more examples or nearer seeds raise a low share."
        yield Sentence(says, so, "sources")


def _left(report: Report) -> str:
    rows = report.rows("refused")
    if not rows:
        return "Every discovered URL was fetched."
    why = f", most of them for this reason: {rows[0]['meaning']}" if rows[0]["meaning"] else ""
    return f"{count(sum(row['urls'] for row in rows))} more URLs were discovered and not fetched{why}."


def _coverage(report: Report) -> Iterator[Sentence]:
    covered = report.row("glance").get("unique_coverage")
    if covered is None:
        return
    so = "Follow links to find the rest."
    if covered > 0.9:
        so = "Sitemaps alone are nearly enough."
    elif covered == 0:
        so = "Links are the only source."
    yield Sentence(
        f"Sitemaps list {share(covered)} of the unique pages.",
        so,
        "coverage" if "coverage" in report.parts else "coverage_by_size",
    )


def _efficiency(report: Report) -> Iterator[Sentence]:
    by_source = {row["source"]: row["efficiency"] for row in report.rows("sources")}
    sitemaps, links = by_source.get("sitemaps"), by_source.get("discovery")
    if sitemaps is None or links is None:
        return
    better = "URLs from sitemaps" if sitemaps > links else "URLs from links"
    so = "Both sources are equally good." if abs(sitemaps - links) < 0.02 else f"Fetches are better spent on {better}."
    yield Sentence(
        f"{share(sitemaps)} of fetches of listed URLs and {share(links)} of fetches of linked URLs found a new page.",
        so,
        "sources",
    )


def _first(report: Report) -> Iterator[Sentence]:
    rows = report.rows("first_seen")
    ahead, behind = sum(row["sitemaps_first"] for row in rows), sum(row["discovery_first"] for row in rows)
    if not ahead + behind:
        return
    part = ahead / (ahead + behind)
    both = sum(row["sitemaps_first"] + row["discovery_first"] + row["together"] for row in rows)
    mean = (
        sum(
            row["mean_seconds_earlier"] * (row["sitemaps_first"] + row["discovery_first"] + row["together"])
            for row in rows
        )
        / both
    )
    so = f"On average they were {duration(abs(mean))} {'earlier' if mean >= 0 else 'later'} than links."
    yield Sentence(f"Of the URLs that both sources have, sitemaps had {share(part)} first.", so, "first_seen")


def _errors(report: Report) -> Iterator[Sentence]:
    errors, visited = sum(row["urls"] for row in report.rows("errors")), report.row("glance").get("crawled")
    if not visited or not errors:
        return
    common = report.rows("errors")[0]
    where = f"{counted(common['urls'], 'URL')} on {counted(common['sites'], 'site')}"
    so = f"The most frequent reason is {common['reason']} ({where})."
    yield Sentence(f"{share(min(errors / visited, 1.0))} of the fetched URLs failed.", so, "errors")


def _copies(report: Report) -> Iterator[Sentence]:
    rows = report.rows("cluster_sizes")
    pages, clusters = sum(row["pages"] for row in rows), sum(row["clusters"] for row in rows)
    largest = next(iter(report.rows("duplicates")), None)
    if pages and largest is not None:
        so = f"The largest cluster has {counted(largest['pages'], 'page')} on {counted(largest['sites'], 'site')}."
        yield Sentence(f"{share(1 - clusters / pages)} of the pages are copies of another.", so, "cluster_sizes")
