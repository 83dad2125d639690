"""Reads access logs in order of time, and counts their requests in bounded memory: by crawler, by day, by address.

Files may be plain or gzipped, may be damaged, and may have lines of any length.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from typing import Final

from periplus.formats import access_log
from periplus.formats.access_log import LONGEST_LINE, LoggedRequest
from periplus.formats.web_bot_auth import SignatureOutcome, SignatureVerdict
from periplus.model import Problem, UsageError
from periplus_sites.agents import AgentTable, Crawler
from periplus_sites.identity import signs_for

from .findings import ChangeTimes, Visits, VisitTable
from .results import SignedRequests

MOST_ADDRESSES: Final = 200_000
"""Addresses that are counted at a time, about 60 MB; above it, those with the fewest requests are dropped."""
MOST_CLAIMS: Final = 10_000
"""Addresses of one crawler that are kept for verification; the largest crawlers use a few thousand."""
MOST_CRAWLERS: Final = 5_000
"""Crawlers that are counted one by one; there are fewer than 2,000 in all known lists."""
MOST_LAGS: Final = 20_000
"""Delays between a change and the next visit that are kept of one crawler, for quantiles."""
MOST_DAYS: Final = 4_000
"""Days that are counted one by one: ten years."""
MOST_EXAMPLES: Final = 10
MANY_PAGES: Final = 50
"""Pages without any image or style after which an address is taken for a crawler."""
STEADY_PAGES: Final = 20
STEADY_SHARE: Final = 0.2
"""If at least this many gaps between pages differ by less than this share of their mean (the standard deviation), a
program asks: people read some pages longer than others."""
ROBOTS: Final = "/robots.txt"

_ASSETS: Final = {
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "ico", "bmp"), "image"),
    **dict.fromkeys(("css", "js", "mjs", "woff", "woff2", "ttf", "eot", "map"), "style or script"),
    **dict.fromkeys(("mp4", "webm", "mp3", "ogg", "avi", "mov", "m4a"), "audio or video"),
    **dict.fromkeys(("pdf", "doc", "docx", "ppt", "pptx", "xls", "xlsx", "ps", "epub"), "document"),
    **dict.fromkeys(("zip", "gz", "tgz", "bz2", "xz", "rar", "7z", "exe", "dmg", "iso", "tar"), "archive"),
    **dict.fromkeys(("xml", "rss", "atom", "json", "txt", "csv"), "data"),
}


@lru_cache(maxsize=1 << 16)
def kind_of(path: str) -> str:
    """The kind of a resource by the ending of its path; `page` if that says nothing else."""
    name = path.partition("?")[0].rpartition("/")[2]
    ending = name.rpartition(".")
    return _ASSETS.get(ending[2].lower(), "page") if ending[1] else "page"


class Address:
    """The requests from one address."""

    __slots__ = (
        "assets", "bytes", "first_at", "gap_squares", "gaps", "known", "not_modified", "page_at", "pages", "requests",
        "robots", "unknown",
    )  # fmt: skip

    def __init__(self, at: float) -> None:
        self.first_at = at
        self.requests = 0
        self.bytes = 0
        self.pages = 0
        self.assets = 0
        self.robots = 0
        self.not_modified = 0
        self.known = 0
        """Requests with an agent that names a known crawler."""
        self.unknown = 0
        self.page_at = at
        """When the last page was asked for..."""
        self.gaps = 0.0
        self.gap_squares = 0.0
        """...and the sum of the seconds between two pages, and of their squares."""

    def add_page(self, at: float) -> None:
        """Count a request for a page."""
        if self.pages:
            gap = at - self.page_at
            self.gaps += gap
            self.gap_squares += gap * gap
        self.page_at = at
        self.pages += 1

    @property
    def behaves_as_crawler(self) -> bool:
        """Whether it read robots.txt; or pages without what browsers show with them, many or at a steady pace."""
        return self.robots > 0 or (not self.assets and (self.pages > MANY_PAGES or self.is_steady))

    @property
    def is_steady(self) -> bool:
        """Whether the time between two pages is nearly always the same."""
        count = self.pages - 1
        if count < STEADY_PAGES:
            return False
        mean = self.gaps / count
        return mean >= 1.0 and self.gap_squares / count - mean * mean <= (STEADY_SHARE * mean) ** 2


class CrawlerCount:
    """The requests of one crawler."""

    __slots__ = (
        "bytes", "claims", "crawler", "delay", "fast", "first_at", "lags", "last_at", "requests", "robots", "signed",
        "statuses",
    )  # fmt: skip

    def __init__(self, crawler: Crawler, at: float, delay: float | None) -> None:
        self.crawler = crawler
        self.delay = delay
        """The Crawl-delay of robots.txt for it, in seconds."""
        self.fast = 0
        """Requests sooner after the one before."""
        self.first_at = self.last_at = at
        self.requests = 0
        self.bytes = 0
        self.robots = 0
        self.statuses: Counter[int] = Counter()
        self.signed = 0
        """Requests with a signature of an agent that `signs_for` the crawler."""
        self.claims: dict[str, list[float]] = {}
        """By address: requests, and the time of the first."""
        self.lags: list[float] = []


JudgeSigned = Callable[[LoggedRequest], SignatureVerdict]
"""The verdict on the signature of a request."""


def not_checked(_: LoggedRequest) -> SignatureVerdict:
    """The verdict where keys are not fetched."""
    return SignatureVerdict(SignatureOutcome.UNVERIFIED, "not-checked")


class SignedCount:
    """Counts signed requests by the verdict on them."""

    def __init__(self, judge: JudgeSigned = not_checked) -> None:
        self._judge = judge
        self.outcomes: Counter[SignatureOutcome] = Counter()
        self.agents: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.examples: dict[str, None] = {}

    def add(self, hit: LoggedRequest) -> str:
        """Count a request; the agent of a verified one."""
        judged = self._judge(hit)
        self.outcomes[judged.outcome] += 1
        if judged.reason:
            self.reasons[judged.reason] += 1
        if judged.outcome is SignatureOutcome.INVALID and len(self.examples) < MOST_EXAMPLES:
            self.examples[f"{judged.reason}: {hit.path[:500]}"] = None
        if judged.agent and (judged.agent in self.agents or len(self.agents) < MOST_CRAWLERS):
            self.agents[judged.agent] += 1
        return judged.agent

    def result(self) -> SignedRequests:
        """What was counted."""
        return SignedRequests(
            self.outcomes[SignatureOutcome.VERIFIED],
            self.outcomes[SignatureOutcome.INVALID],
            self.outcomes[SignatureOutcome.UNVERIFIED],
            dict(self.agents.most_common()),
            dict(self.reasons.most_common()),
            tuple(self.examples),
        )


class Tally:
    """All counts of a log.

    `delay_of` returns the Crawl-delay of a token; `robots_since` is from when on robots.txt was in force.
    """

    def __init__(
        self,
        agents: AgentTable,
        *,
        changes: ChangeTimes | None = None,
        delay_of: Callable[[str], float | None] = lambda _: None,
        robots_since: float = float("inf"),
        table: VisitTable | None = None,
        most_addresses: int = MOST_ADDRESSES,
        signed: SignedCount | None = None,
    ) -> None:
        self._crawler_of = agents.crawler_of
        self._changes = changes
        self._delay_of = delay_of
        self._robots_since = robots_since
        self._most_addresses = most_addresses
        self.table = table or VisitTable()
        self.signed = signed or SignedCount()
        self.problems: Counter[str] = Counter()
        self.before_since = 0
        self.bytes = 0
        self.first_at = float("inf")
        self.last_at = float("-inf")
        self.days: dict[int, list[int]] = {}
        """By day since 1970: requests, and those of known crawlers."""
        self.crawlers: dict[str, CrawlerCount] = {}
        self.addresses: dict[str, Address] = {}
        self.dropped_addresses = 0

    def add_all(self, hits: Iterable[LoggedRequest | Problem], since: float | None = None) -> None:
        """Count requests, but for those before `since`. One loop with local names: this is where the time goes."""
        crawler_of, addresses, problems = self._crawler_of, self.addresses, self.problems
        count_crawler, new_address = self._count_crawler, self._new_address
        first, last = self.first_at, self.last_at
        day_from, day_to, day = 0.0, 0.0, [0, 0]
        for hit in hits if since is None else self._from(hits, since):
            if hit.__class__ is not LoggedRequest:
                problems[hit.reason] += 1  # type: ignore[union-attr]
                continue
            at, size, path, ip = hit.at, hit.size, hit.path, hit.ip
            if not day_from <= at < day_to:
                day, day_from = self._day(at), at // 86_400 * 86_400
                day_to = day_from + 86_400
            last, first = max(at, last), min(at, first)
            day[0] += 1
            self.bytes += size
            address = addresses.get(ip)
            if address is None:
                address = new_address(ip, at)
                addresses = self.addresses
            address.requests += 1
            address.bytes += size
            if hit.status == 304:
                address.not_modified += 1
            is_robots = ROBOTS in path and path.partition("?")[0] == ROBOTS
            if is_robots:
                address.robots += 1
            signer = "" if hit.signature is None else self.signed.add(hit)
            crawler = crawler_of(hit.agent)
            if crawler is not None:
                day[1] += 1
                address.known += 1
                count_crawler(crawler, hit, is_robots, signer)
                continue
            address.unknown += 1
            if kind_of(path) == "page":
                address.add_page(at)
            elif not is_robots:
                address.assets += 1
        self.first_at, self.last_at = first, last

    def _from(self, hits: Iterable[LoggedRequest | Problem], since: float) -> Iterator[LoggedRequest | Problem]:
        """The hits since a time, and all problems; older hits are only counted."""
        for hit in hits:
            if isinstance(hit, LoggedRequest) and hit.at < since:
                self.before_since += 1
            else:
                yield hit

    @property
    def requests(self) -> int:
        """All requests that were counted."""
        return sum(day[0] for day in self.days.values())

    def _day(self, at: float) -> list[int]:
        """The counts of the day of a time; beyond `MOST_DAYS` days, of all others together."""
        day = int(at // 86_400)
        if day not in self.days and len(self.days) >= MOST_DAYS:
            day = next(iter(self.days))
        return self.days.setdefault(day, [0, 0])

    def _new_address(self, ip: str, at: float) -> Address:
        if len(self.addresses) >= self._most_addresses:
            self._drop_addresses()
        found = self.addresses[ip] = Address(at)
        return found

    def _drop_addresses(self) -> None:
        """Forget the half with the fewest requests; readers of robots.txt go last."""
        ranked = sorted(self.addresses.items(), key=lambda pair: (pair[1].robots > 0, pair[1].requests), reverse=True)
        kept = dict(ranked[: self._most_addresses // 2])
        self.dropped_addresses += len(ranked) - len(kept)
        self.addresses = kept

    def _count_crawler(self, crawler: Crawler, hit: LoggedRequest, is_robots: bool, signer: str) -> None:
        at = hit.at
        count = self.crawlers.get(crawler.name)
        if count is None:
            if len(self.crawlers) >= MOST_CRAWLERS:
                return
            count = self.crawlers[crawler.name] = CrawlerCount(crawler, at, self._delay_of(crawler.token))
        count.requests += 1
        count.bytes += hit.size
        count.statuses[hit.status] += 1
        count.robots += is_robots
        if count.delay is not None and at >= self._robots_since and 0 <= at - count.last_at < count.delay - 1:
            count.fast += count.requests > 1
        count.last_at = at
        if signer and signs_for(signer, crawler):
            count.signed += 1
        elif crawler.suffixes or crawler.ranges:
            _claim(count.claims, hit.ip, at)
        visits = self.table.visits(crawler.name, hit.path)
        if visits is not None:
            self._count_visit(count, visits, hit)

    def _count_visit(self, count: CrawlerCount, visits: Visits, hit: LoggedRequest) -> None:
        status, size, at = hit.status, hit.size, hit.at
        visits.requests += 1
        visits.bytes += size
        if at >= self._robots_since:
            visits.since += 1
        if status >= 400:
            visits.errors += 1
        if status not in (200, 304):
            return
        visits.answered += 1
        is_same = status == 304 or size == visits.last_size
        if visits.answered > 1:
            visits.repeated += 1
            visits.same += is_same
            visits.same_bytes += size if is_same else 0
            self._judge(count, visits, hit)
        visits.last_at = at
        if status == 304:
            visits.not_modified += 1
            return
        visits.ok += 1
        visits.add_size(size)

    def _judge(self, count: CrawlerCount, visits: Visits, hit: LoggedRequest) -> None:
        """With a ledger: whether the page had changed since the crawler's last visit, and how long ago."""
        changes = self._changes
        if changes is None or visits.last_at < changes.since:
            return
        changed_at = changes.between(hit.path, visits.last_at, hit.at)
        if changed_at is not None and len(count.lags) < MOST_LAGS:
            count.lags.append(hit.at - changed_at)
        if hit.status == 200:
            visits.judged += 1
            if changed_at is None:
                visits.exact += 1
                visits.exact_bytes += hit.size


def _claim(claims: dict[str, list[float]], ip: str, at: float) -> None:
    found = claims.get(ip)
    if found is not None:
        found[0] += 1
    elif len(claims) < MOST_CLAIMS:
        claims[ip] = [1, at]


CHUNK: Final = 1 << 20
"""Bytes that are read at once."""
_LOOKED_AT: Final = 1_000
"""Lines of a file in which a time is looked for, to order files."""


def ordered(paths: Iterable[Path]) -> list[Path]:
    """Files by the time of their first request; those without any at the end. Raises if one cannot be opened."""
    dated = []
    for path in paths:
        first = float("inf")
        for place, each in enumerate(hits_of(path)):
            if isinstance(each, LoggedRequest):
                first = each.at
            if first != float("inf") or place >= _LOOKED_AT:
                break
        dated.append((first, path))
    return [path for _, path in sorted(dated)]


def hits_of(path: Path) -> Iterator[LoggedRequest | Problem]:
    """The requests in a file, and what is wrong with it."""
    damage: list[Problem] = []
    yield from access_log.read(_lines(path, damage))
    yield from damage


def _lines(path: Path, damage: list[Problem]) -> Iterator[bytes]:
    """The lines of a file; one that is too long is cut to a length that its reader refuses."""
    rest, is_cut = b"", False
    for chunk in _chunks(path, damage):
        *lines, rest = (rest + chunk).split(b"\n")
        if is_cut and lines:
            lines, is_cut = lines[1:], False
        yield from lines
        if is_cut:
            rest = b""
        elif len(rest) > LONGEST_LINE:
            yield rest[: LONGEST_LINE + 1]
            rest, is_cut = b"", True
    if rest and not is_cut:
        yield rest


def _chunks(path: Path, damage: list[Problem]) -> Iterator[bytes]:
    try:
        with _opened(path) as stream:
            try:
                while chunk := stream.read(CHUNK):
                    yield chunk
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                damage.append(Problem("damaged-gzip", f"{path.name}: {error}"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", hint="name log files that can be read") from error


def _opened(path: Path) -> gzip.GzipFile | BufferedReader:
    with path.open("rb") as stream:
        is_gzip = stream.read(2) == b"\x1f\x8b"
    return gzip.open(path) if is_gzip else path.open("rb")
