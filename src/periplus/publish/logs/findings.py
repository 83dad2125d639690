"""What the owner of a site should act on, with stable names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .results import CrawlerReport, LogFinding, LogReport

KINDS: Final = {
    "fake-googlebot": "error",
    "fake-crawler": "warning",
    "crawler-ignores-robots": "warning",
    "errors-to-crawlers": "error",
    "no-conditional-requests": "warning",
    "orphans-visited": "notice",
}
"""Every finding with its severity."""
MIN_NEEDLESS: Final = 20
"""Needless answers of a crawler without a single 304 that are worth a finding: fewer may be chance."""
MIN_ERRORS: Final = 20
"""Errors that crawlers got that are worth a finding."""
MAX_ERROR_SHARE: Final = 0.05
"""Share of errors among the answers to crawlers that is usual: dead links from elsewhere cause a few per cent."""
_SHOWN: Final = 10


def findings(report: LogReport) -> tuple[LogFinding, ...]:
    """Every finding of a report, in the order of `KINDS`."""
    found = [*_fakes(report), *_robots(report), *_errors(report), *_conditional(report), *_orphans(report)]
    return tuple(sorted(found, key=lambda each: list(KINDS).index(each.name)))


def _fakes(report: LogReport) -> Iterator[LogFinding]:
    for name, is_google in (("fake-googlebot", True), ("fake-crawler", False)):
        false = [
            each for each in report.crawlers if each.identity.false_claims and (each.operator == "Google") == is_google
        ]
        count, of = sum(each.identity.false_claims for each in false), sum(each.requests for each in false)
        if count:
            who = "Google" if is_google else "other crawlers"
            examples = [f"{each.name}: {example}" for each in false for example in each.identity.false_examples]
            yield LogFinding(
                name, KINDS[name], count, of,
                f"{count:,} requests claim to come from {who} and do not",
                "Others hide behind the name of a crawler that sites let in.",
                "Block these addresses, or limit their rate; do not let in by the agent alone.",
                tuple(examples[:_SHOWN]),
            )  # fmt: skip


def _robots(report: LogReport) -> Iterator[LogFinding]:
    bad = [each for each in report.crawlers if each.forbidden]
    count = sum(each.forbidden or 0 for each in bad)
    if count:
        name = "crawler-ignores-robots"
        judged = sum(each.requests for each in bad)
        examples = [f"{each.name}: {path}" for each in bad for path in each.forbidden_examples]
        yield LogFinding(
            name, KINDS[name], count, judged,
            f"{count:,} requests are for what robots.txt forbids",
            f"robots.txt is not obeyed by {_names(bad)}.",
            "Check that robots.txt says what you mean; block crawlers that do not obey it.",
            tuple(examples[:_SHOWN]),
        )  # fmt: skip


def _errors(report: LogReport) -> Iterator[LogFinding]:
    errors = sum(each.errors for each in report.crawlers)
    if errors >= MIN_ERRORS and errors > MAX_ERROR_SHARE * report.crawler_requests:
        name = "errors-to-crawlers"
        worst = sorted(report.crawlers, key=lambda each: -each.errors)
        examples = [f"{each.name}: {path}" for each in worst for path in each.error_examples]
        yield LogFinding(
            name, KINDS[name], errors, report.crawler_requests,
            f"{errors:,} requests of crawlers got an error",
            "Crawlers visit a site less that answers with errors, and drop its pages.",
            "Repair what answers with 5xx; remove links to, or redirect, what answers with 404.",
            tuple(examples[:_SHOWN]),
        )  # fmt: skip


def _conditional(report: LogReport) -> Iterator[LogFinding]:
    bad = [each for each in report.crawlers if needless_of(each) >= MIN_NEEDLESS and not each.not_modified]
    count = sum(map(needless_of, bad))
    if count:
        name = "no-conditional-requests"
        yield LogFinding(
            name, KINDS[name], count, sum(each.needless.repeated for each in bad),
            f"{count:,} pages were sent again, unchanged, to crawlers that never got a 304",
            f"{_names(bad)} always fetch the whole page.",
            "Send ETag or Last-Modified, and answer 304 to If-None-Match and If-Modified-Since.",
            tuple(f"{each.name}: {needless_of(each):,}" for each in bad[:_SHOWN]),
        )  # fmt: skip


def _orphans(report: LogReport) -> Iterator[LogFinding]:
    if report.orphans:
        name = "orphans-visited"
        yield LogFinding(
            name, KINDS[name], report.orphans, sum(each.urls for each in report.crawlers),
            f"Crawlers fetch {report.orphans:,} pages that are not published",
            "They answer with 200 and are in no sitemap: crawl budget is spent on them.",
            "Publish them, redirect them to the page they stand for, or answer 404 or 410.",
            report.orphan_examples[:_SHOWN],
        )  # fmt: skip


def needless_of(crawler: CrawlerReport) -> int:
    """Needless requests of a crawler: exact where the ledger can judge, else those with the same size."""
    return crawler.needless.exact if crawler.needless.exact is not None else crawler.needless.same


def _names(crawlers: list[CrawlerReport]) -> str:
    names = [each.name for each in crawlers[:5]]
    return ", ".join(names) + (f" and {len(crawlers) - 5} others" if len(crawlers) > 5 else "")
