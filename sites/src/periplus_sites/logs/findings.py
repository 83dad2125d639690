"""Derives from a log report the findings that the owner of a site should act on, and counts needless requests.

The names of findings (`KINDS`) are stable. `VisitTable` keeps, in bounded memory, the requests of each crawler for each
URL.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from zlib import crc32

from periplus.view.findings import Finding, FindingKind, Severity, in_order

from .results import CrawlerReport, LogReport

E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTICE
_WHO: Final = "{count} requests claim to come from {who} and do not"
_FAKE: Final = (
    "Others hide behind the name of a crawler that sites let in.",
    "Block these addresses, or limit their rate; do not let in by the agent alone.",
)
_KINDS: Final = (
    FindingKind("fake-googlebot", E, _WHO, *_FAKE),
    FindingKind("fake-crawler", W, _WHO, *_FAKE),
    FindingKind(
        "bad-signature", W, "{count} requests have a wrong signature",
        "Somebody copied or forged the signature of a crawler, or a crawler signs wrongly.",
        "Do not let in by Signature-Agent alone: verify signatures, and limit the rate of the rest.",
    ),
    FindingKind(
        "crawler-ignores-robots", W, "{count} requests are for what robots.txt forbids",
        "robots.txt is not obeyed by {names}.",
        "Check that robots.txt says what you mean; block crawlers that do not obey it.",
    ),
    FindingKind(
        "errors-to-crawlers", E, "{count} requests of crawlers got an error",
        "Crawlers visit a site less that answers with errors, and drop its pages.",
        "Repair what answers with 5xx; remove links to, or redirect, what answers with 404.",
    ),
    FindingKind(
        "no-conditional-requests", W, "{count} pages were sent again, unchanged, to crawlers that never got a 304",
        "{names} always fetch the whole page.",
        "Send ETag or Last-Modified, and answer 304 to If-None-Match and If-Modified-Since.",
    ),
    FindingKind(
        "orphans-visited", N, "Crawlers fetch {count} pages that are not published",
        "They answer with 200 and are in no sitemap: crawl budget is spent on them.",
        "Publish them, redirect them to the page they stand for, or answer 404 or 410.",
    ),
)  # fmt: skip
KINDS: Final = {kind.name: kind for kind in _KINDS}
"""Every kind of finding by name."""
MIN_NEEDLESS: Final = 20
"""Needless answers of a crawler without a single 304 that are worth a finding: fewer may be chance."""
MIN_ERRORS: Final = 20
"""Errors that crawlers got that are worth a finding."""
MAX_ERROR_SHARE: Final = 0.05
"""Share of errors among the answers to crawlers that is usual: dead links from elsewhere cause a few per cent."""
_SHOWN: Final = 10


def findings(report: LogReport) -> tuple[Finding, ...]:
    """Every finding of a report, the most severe first."""
    kinds = (_fakes, _signatures, _robots, _errors, _conditional, _orphans)
    found = (each for kind in kinds for each in kind(report))
    return tuple(in_order((each for each in found if each.count), KINDS))


def _finding(name: str, count: int, of: int, examples: Iterable[str], **words: str) -> Finding:
    return Finding(**KINDS[name].filled(count, of, **words), examples=tuple(examples)[:_SHOWN])


def _fakes(report: LogReport) -> Iterator[Finding]:
    for name, who in (("fake-googlebot", "Google"), ("fake-crawler", "other crawlers")):
        false = [
            each
            for each in report.crawlers
            if each.identity.false_claims and (each.operator == "Google") == (who == "Google")
        ]
        count, of = sum(each.identity.false_claims for each in false), sum(each.requests for each in false)
        examples = (f"{each.name}: {example}" for each in false for example in each.identity.false_examples)
        yield _finding(name, count, of, examples, who=who)


def _signatures(report: LogReport) -> Iterator[Finding]:
    signed = report.signed
    count = signed.invalid
    yield _finding("bad-signature", count, signed.verified + count + signed.unverified, signed.invalid_examples)


def _robots(report: LogReport) -> Iterator[Finding]:
    bad = [each for each in report.crawlers if each.forbidden]
    count, of = sum(each.forbidden or 0 for each in bad), sum(each.requests for each in bad)
    examples = (f"{each.name}: {path}" for each in bad for path in each.forbidden_examples)
    yield _finding("crawler-ignores-robots", count, of, examples, names=_names(bad))


def _errors(report: LogReport) -> Iterator[Finding]:
    errors = sum(each.errors for each in report.crawlers)
    if errors >= MIN_ERRORS and errors > MAX_ERROR_SHARE * report.crawler_requests:
        worst = sorted(report.crawlers, key=lambda each: -each.errors)
        examples = (f"{each.name}: {path}" for each in worst for path in each.error_examples)
        yield _finding("errors-to-crawlers", errors, report.crawler_requests, examples)


def _conditional(report: LogReport) -> Iterator[Finding]:
    bad = [each for each in report.crawlers if needless_of(each) >= MIN_NEEDLESS and not each.not_modified]
    count, of = sum(map(needless_of, bad)), sum(each.needless.repeated for each in bad)
    examples = (f"{each.name}: {needless_of(each):,}" for each in bad)
    yield _finding("no-conditional-requests", count, of, examples, names=_names(bad))


def _orphans(report: LogReport) -> Iterator[Finding]:
    urls = sum(each.urls for each in report.crawlers)
    yield _finding("orphans-visited", report.orphans or 0, urls, report.orphan_examples)


def needless_of(crawler: CrawlerReport) -> int:
    """Needless requests of a crawler: exact where the ledger can judge, else those with the same size."""
    return crawler.needless.exact if crawler.needless.exact is not None else crawler.needless.same


def _names(crawlers: list[CrawlerReport]) -> str:
    names = [each.name for each in crawlers[:5]]
    return ", ".join(names) + (f" and {len(crawlers) - 5} others" if len(crawlers) > 5 else "")


MOST_TRACKED: Final = 250_000
"""Pairs of crawler and URL that are tracked exactly, about 100 MB; above it, a sample of the URLs is."""
_MOST_SIZES: Final = 64
"""Different sizes of one URL that are distinguished: enough for a page that changes twice a day for a month."""


def min_needless(changes: int, requests: int) -> int:
    """The least number of needless requests among `requests` for a page that changed `changes` times meanwhile.

    One request is needed for each version: MinNeedlessReq (Brandman et al., "Crawler-friendly web servers", 4.1).
    """
    return max(0, requests - (changes + 1))


class Visits:
    """The requests of one crawler for one URL, those answered with 200 or 304 in `answered`."""

    __slots__ = (
        "answered", "bytes", "errors", "exact", "exact_bytes", "judged", "last_at", "last_size", "not_modified",
        "ok", "repeated", "requests", "same", "same_bytes", "since", "sizes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests = 0
        self.bytes = 0
        self.errors = 0
        self.ok = 0
        self.answered = 0
        self.not_modified = 0
        self.repeated = 0
        """Answered requests after the first."""
        self.same = 0
        """Of these, with a 304 or the same size as before."""
        self.same_bytes = 0
        self.judged = 0
        """Repeated 200s of which the ledger knows whether the page had changed."""
        self.exact = 0
        """Of these, of a page that had not changed."""
        self.exact_bytes = 0
        self.since = 0
        """Requests at a time when the robots.txt was in force."""
        self.last_at = 0.0
        self.last_size = -1
        self.sizes: tuple[int, ...] = ()

    def add_size(self, size: int) -> None:
        """Remember the size of an answer. A tuple takes a quarter of the memory of a set, and most have one size."""
        self.last_size = size
        if size not in self.sizes and len(self.sizes) < _MOST_SIZES:
            self.sizes = (*self.sizes, size)

    def min_needless(self) -> int:
        """MinNeedlessReq, where every further size is taken for a change."""
        return min_needless(max(len(self.sizes) - 1, 0), self.answered)


class ChangeTimes:
    """When pages changed, by path: sorted POSIX times. `since`: from when on every change is known."""

    def __init__(self, times: Mapping[str, Sequence[float]], since: float) -> None:
        self._times = times
        self.since = since

    def between(self, path: str, after: float, until: float) -> float | None:
        """The first change after one time and not later than another; `None` if there was none."""
        times = self._times.get(path)
        if times is None:
            return None
        place = bisect_right(times, after)
        return times[place] if place < len(times) and times[place] <= until else None


class VisitTable:
    """The visits by crawler and URL. Above `most` pairs only URLs of a sample are tracked: a half, a quarter, ...

    A URL is in the sample by its checksum, with everything that is known of it, so that `scale` times a sum over the
    sample estimates the whole without bias.
    """

    def __init__(self, most: int = MOST_TRACKED) -> None:
        self._most = most
        self._mask = 0
        self._table: dict[tuple[str, str], Visits] = {}

    @property
    def scale(self) -> int:
        """By how much sums over the table must be multiplied; 1: all URLs are tracked."""
        return self._mask + 1

    def visits(self, crawler: str, path: str) -> Visits | None:
        """The visits of a crawler to a path; `None` if it is not in the sample."""
        key = (crawler, path)
        found = self._table.get(key)
        if found is None:
            if self._mask and _checksum(path) & self._mask:
                return None
            if len(self._table) >= self._most:
                self._thin()
                return self.visits(crawler, path) if self._mask < 1 << 31 else None
            found = self._table[key] = Visits()
        return found

    def items(self) -> Iterator[tuple[str, str, Visits]]:
        """Every tracked crawler and path."""
        for (crawler, path), visits in self._table.items():
            yield crawler, path, visits

    def _thin(self) -> None:
        while len(self._table) >= self._most and self._mask < 1 << 31:
            self._mask = self._mask * 2 + 1
            mask = self._mask
            self._table = {key: value for key, value in self._table.items() if not _checksum(key[1]) & mask}


def _checksum(path: str) -> int:
    return crc32(path.encode("utf-8", "surrogatepass"))
