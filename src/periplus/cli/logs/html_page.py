"""A log report as one HTML file that loads nothing, in the style of the report of a collection."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from periplus.insight.report import Part
from periplus.insight.report.page import html_file, table_of
from periplus.insight.report.wording import byte_size, clean, count, moment, share
from periplus.publish.logs import LogFinding, LogReport

from .tables import coverage, crawlers, days, kinds, paper_lines


def page(report: LogReport, made_at: float, *, paper: bool) -> str:
    """Write the whole file."""
    return html_file("Crawlers in the access log", _content(report, made_at, paper=paper))


def _content(report: LogReport, made_at: float, *, paper: bool) -> Iterator[str]:
    files = escape(clean(", ".join(report.files)))
    span = ""
    if report.first_at is not None and report.last_at is not None:
        span = f"Requests from {moment(report.first_at)} to {moment(report.last_at)} UTC."
    yield f'<header><p class="mark">Periplus logs</p><h1>{files}</h1><p class="soft">{span}</p></header>\n'
    yield '<ul class="tiles">'
    yield from (f"<li><b>{value}</b><span>{words}</span></li>" for value, words in _tiles(report))
    yield "</ul>\n"
    yield '<section id="findings-list"><h2>Findings</h2>'
    yield "".join(map(_finding, report.findings)) if report.findings else "<p>Nothing to act on was found.</p>"
    yield "</section>\n"
    if paper:
        yield '<section id="paper"><h2>Figures of the paper</h2><ul>'
        yield from (f"<li><b>{escape(name)}</b>: {escape(says)}</li>" for name, says in paper_lines(report))
        yield "</ul></section>\n"
    for part in (crawlers(report), coverage(report), kinds(report), days(report)):
        yield _section(part)
    yield f"<footer>Made by Periplus on {moment(made_at)} UTC. Times are UTC. docs/logs.md defines the"
    yield " numbers.</footer>\n"


def _tiles(report: LogReport) -> Iterator[tuple[str, str]]:
    requests = report.requests or 1
    yield count(report.requests), "requests"
    yield share(report.crawler_requests / requests), "by known crawlers"
    yield share(report.crawler_bytes / (report.bytes or 1)), "of bytes by known crawlers"
    yield count(report.unnamed.addresses), "addresses behave as crawlers and do not say so"
    needless = report.needless
    yield count(needless.same if needless.exact is None else needless.exact), "needless requests"
    yield byte_size(needless.bytes), "304s would have saved"
    yield byte_size(needless.archive_bytes), "archives would have saved"
    yield share(report.robots_readers.share_with_304), "of readers of robots.txt ever got a 304"


def _finding(found: LogFinding) -> str:
    examples = "".join(f"<li><code>{escape(clean(each))}</code></li>" for each in found.examples)
    return (
        f'<article class="card"><h3><span class="severity {found.severity}">{found.severity}</span>'
        f' {escape(clean(found.title))} <small class="soft">{found.name}</small></h3>'
        f'<p>{escape(clean(found.why))} <span class="do">{escape(found.advice)}</span></p>'
        f"<ul>{examples}</ul></article>\n"
    )


def _section(part: Part) -> str:
    content = table_of(part) if part.rows else '<p class="none">Nothing to show here.</p>'
    return (
        f'<section id="{part.name}"><h2>{escape(part.title)}</h2><article class="card">{content}</article></section>\n'
    )
