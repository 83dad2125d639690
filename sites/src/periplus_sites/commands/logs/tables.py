"""The tables of a log report, and the report as one HTML file in the style of the report of a collection."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from periplus.apps.report.page import MORE
from periplus.view.html import html_file, html_finding, html_table
from periplus.view.values import Column, Sheet, TableRow, counts
from periplus.view.wording import clean, count, moment, share, size
from periplus_sites.logs import CrawlerReport, LogReport
from periplus_sites.logs.findings import needless_of

MOST_ROWS = 200
"""Crawlers, or days, in a table of the HTML page; `--json` has all."""


def crawlers(report: LogReport) -> Sheet:
    """The crawlers that came, and how often."""
    rows: list[TableRow] = [
        {
            "name": each.name,
            "operator": each.operator or "–",
            "purpose": each.purpose or "–",
            "requests": each.requests,
            "share": each.share,
            "bytes": each.bytes,
            "verified": _identity(each),
            "not_modified": each.not_modified / each.requests,
            "needless": needless_of(each),
            "saved": each.needless.bytes,
            "errors": each.errors,
            "robots": _obeys(each),
        }
        for each in report.crawlers[:MOST_ROWS]
    ]
    columns = (
        Column("name", "crawler"), Column("operator", "operator"), Column("purpose", "purpose"),
        counts("requests", "requests"), Column("share", "of all", "share"), Column("bytes", "bytes", "bytes"),
        Column("verified", "genuine"), Column("not_modified", "304", "share"),
        counts("needless", "needless"), Column("saved", "wasted", "bytes"), counts("errors", "errors"),
        Column("robots", "robots.txt"),
    )  # fmt: skip
    return _part("crawlers", "Crawlers", rows, columns, is_cut=len(report.crawlers) > MOST_ROWS)


def coverage(report: LogReport) -> Sheet:
    """How well each crawler follows the published site."""
    rows: list[TableRow] = [
        {
            "name": each.name,
            "urls": each.urls,
            "never": each.never_visited,
            "median": each.lag_median,
            "p90": each.lag_p90,
            "sitemaps": each.sitemap_reads,
            "robots": each.robots_reads,
        }
        for each in report.crawlers[:MOST_ROWS]
    ]
    columns = (
        Column("name", "crawler"), counts("urls", "URLs asked for"), counts("never", "published, never asked"),
        Column("median", "change to visit, median", "seconds"), Column("p90", "90 %", "seconds"),
        counts("sitemaps", "sitemap reads"), counts("robots", "robots.txt reads"),
    )  # fmt: skip
    return _part("coverage", "What they read", rows, columns, is_cut=len(report.crawlers) > MOST_ROWS)


def days(report: LogReport) -> Sheet:
    """The share of crawlers by day, as in figure 5 of the paper."""
    rows: list[TableRow] = [
        {"day": each.at, "requests": each.requests, "crawlers": each.crawlers / each.requests}
        for each in report.days[-MOST_ROWS:]
    ]
    columns = (
        Column("day", "day", "moment"),
        counts("requests", "requests"),
        Column("crawlers", "crawlers", "share"),
    )
    return _part("days", "Share of crawlers by day", rows, columns, is_cut=len(report.days) > MOST_ROWS)


def kinds(report: LogReport) -> Sheet:
    """What crawlers ask for, as in figure 4 of the paper."""
    total = sum(report.kinds.values()) or 1
    rows: list[TableRow] = [
        {"kind": kind, "requests": number, "share": number / total} for kind, number in report.kinds.items()
    ]
    columns = (Column("kind", "kind"), counts("requests", "requests"), Column("share", "share", "share"))
    return _part("kinds", "What crawlers ask for", rows, columns)


def paper_lines(report: LogReport) -> Iterator[tuple[str, str]]:
    """The figures of Brandman et al. for this log, each with a sentence."""
    readers, needless = report.robots_readers, report.needless
    requests = report.requests or 1
    yield "crawlers", f"{100 * report.crawler_requests / requests:.1f} % of requests (18 % at 10,000 hits a day)"
    yield "bytes", f"{100 * report.crawler_bytes / (report.bytes or 1):.1f} % of bytes"
    yield (
        "robots.txt",
        f"read by {readers.addresses:,} addresses; {100 * readers.share_with_304:.1f} % of them ever got a 304 (13 %);"
        f" {readers.unknown_agent:,} came with an agent that is not known",
    )
    yield (
        "needless",
        f"{needless.same:,} of {needless.repeated:,} repeated requests brought a 304 or the same size;"
        f" MinNeedlessReq {needless.min_needless:,}",
    )


def _identity(each: CrawlerReport) -> str:
    known = each.identity
    parts = [("yes", known.verified), ("false", known.false_claims), ("unknown", known.unknown)]
    counted_parts = [(word, number) for word, number in parts if number]
    if len(counted_parts) == 1:
        return counted_parts[0][0]
    return ", ".join(f"{word} {100 * number / each.requests:.0f} %" for word, number in counted_parts) or "unknown"


def _obeys(each: CrawlerReport) -> str:
    if each.forbidden is None:
        return "unknown"
    parts = [f"{each.forbidden:,} forbidden"] if each.forbidden else []
    if each.faster_than_delay:
        parts.append(f"{each.faster_than_delay:,} too soon")
    return ", ".join(parts) or "obeyed"


def _part(name: str, title: str, rows: list[TableRow], columns: tuple[Column, ...], *, is_cut: bool = False) -> Sheet:
    return Sheet(
        name=name, title=title, columns=columns, rows=rows, command="periplus logs --json", says=MORE if is_cut else ""
    )


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
    yield "".join(map(html_finding, report.findings)) if report.findings else "<p>Nothing to act on was found.</p>"
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
    yield size(needless.bytes), "304s would have saved"
    yield size(needless.archive_bytes), "archives would have saved"
    yield share(report.robots_readers.share_with_304), "of readers of robots.txt ever got a 304"


def _section(part: Sheet) -> str:
    more = f'<p class="soft small">{part.says}</p>' if part.says else ""
    content = html_table(part) + more if part.rows else '<p class="none">Nothing to show here.</p>'
    return (
        f'<section id="{part.name}"><h2>{escape(part.title)}</h2><article class="card">{content}</article></section>\n'
    )
