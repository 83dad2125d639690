"""Reads logs and puts the report together."""

from __future__ import annotations

import re
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from periplus.formats import robots
from periplus.formats.web_bot_auth import (
    SignatureOutcome,
    SignaturePolicy,
    SignatureVerdict,
    SignedMessage,
    needs_cryptography,
)
from periplus.model import ConfigError, UsageError
from periplus_sites.agents import AgentTable, known_agents
from periplus_sites.identity import (
    AddressLookup,
    IdentityVerdict,
    LedgerAnswers,
    NoResolver,
    Ranges,
    read_ranges,
    verdict,
)
from periplus_sites.ledger import EVENTS_KEPT, Ledger

from .findings import ChangeTimes, Visits, findings
from .results import CrawlerReport, Day, Identity, LogReport, Needless, RobotsReaders, Unnamed
from .visits import CrawlerCount, JudgeSigned, SignedCount, Tally, hits_of, kind_of, not_checked, ordered

if TYPE_CHECKING:
    from periplus.apps.identity.verifier import FetchDirectory
    from periplus.formats.access_log import LoggedRequest

ARCHIVE_BYTES: Final = 42_000
"""Bytes of the largest archive file of a day and type in the paper: what reading archives costs a crawler."""
ROBOTS_CACHED: Final = 86_400.0
"""Seconds that crawlers may use an older robots.txt (RFC 9309, 2.4)."""
MOST_DIRECTORIES_FETCHED: Final = 200
"""Directories of keys that are fetched for a report: anyone can write names of more into a log."""
_SHOWN: Final = 10
_BATCH: Final = 500
"""URLs that are looked up in the ledger at once."""
_SITEMAP: Final = re.compile(r"sitemap[^/]*\.(?:xml|txt)(?:\.gz)?(?:\?|$)|/sitemaps?/", re.IGNORECASE)


def read_logs(
    paths: Iterable[Path | str],
    *,
    ledger: Path | str | None = None,
    since: float | None = None,
    robots_file: Path | str | None = None,
    resolver: AddressLookup | None = None,
    shows_addresses: bool = False,
    agents: AgentTable | None = None,
    fetch_keys: FetchDirectory | None = None,
) -> LogReport:
    """Read access logs: which crawlers came, whether they are genuine, and which of their requests were needless.

    `ledger` is the folder of a published site's ledger; requests before `since` (POSIX time) are left out;
    `robots_file` is the robots.txt that was in force all the time. Addresses are looked up with `resolver` if one is
    given, and appear in the report if `shows_addresses`, else as a hash that is different every day. The signatures of
    signed requests are verified if `fetch_keys` is given (`apps.identity.verifier.fetch_directory`).
    """
    files = ordered(Path(path) for path in paths)
    folder = None if ledger is None else Path(ledger)
    with _opened(folder) as book:
        rules, robots_since, robots_name = _robots(folder, robots_file)
        base = _base_of(book)
        tally = Tally(
            agents or known_agents(),
            changes=_changes(book, base),
            delay_of=lambda token: rules.crawl_delay(token or "*") if rules is not None else None,
            robots_since=robots_since,
            signed=SignedCount() if fetch_keys is None else SignedCount(_judge(fetch_keys, base)),
        )
        for path in files:
            tally.add_all(hits_of(path), since)
        ranges, ranges_at = read_ranges(folder / "ranges") if folder else (Ranges(), None)
        answers = LedgerAnswers(book, resolver) if book is not None else resolver or NoResolver()
        shown = (lambda ip, _: ip) if shows_addresses else _hasher()
        making = _Report(tally, book, base, rules, ranges, answers, shown)
        report = making.report(tuple(path.name for path in files))
    report = replace(report, ranges_at=ranges_at, robots=robots_name)
    return replace(report, findings=findings(report))


def _judge(fetch_keys: FetchDirectory, base: str) -> JudgeSigned:
    """Judges signed requests of a log, by keys as they are now and at the time of the request."""
    from periplus.apps.identity.verifier import KeyDirectories, SignatureVerifier  # loads the wire

    policy = SignaturePolicy()
    verifier = SignatureVerifier(KeyDirectories(fetch_keys, policy, MOST_DIRECTORIES_FETCHED), policy)
    try:
        needs_cryptography()
    except ConfigError:
        return not_checked

    def judge(hit: LoggedRequest) -> SignatureVerdict:
        origin = base or (f"https://{hit.host}" if hit.host else "")
        if hit.signature is None or not origin:
            return SignatureVerdict(SignatureOutcome.UNVERIFIED, "other-host")
        names = ("signature-agent", "signature-input", "signature")
        fields = tuple((name, value) for name, value in zip(names, hit.signature, strict=True) if value)
        body = b"" if hit.method in ("GET", "HEAD") else None
        return verifier.verdict(SignedMessage(hit.method, origin + hit.path, fields, body), at=hit.at)[0]

    return judge


@contextmanager
def _opened(folder: Path | None) -> Iterator[Ledger | None]:
    if folder is None:
        yield None
        return
    path = folder / "ledger.sqlite"
    if not path.exists():
        raise UsageError(f"{folder} has no ledger", hint="name the folder that periplus publish writes: --ledger DIR")
    book = Ledger(path)
    try:
        yield book
    finally:
        book.close()


def _robots(folder: Path | None, named: Path | str | None) -> tuple[robots.Robots | None, float, str]:
    """The robots.txt to check with, since when it has been in force, and its name.

    One that was named holds for the whole log. One beside the ledger is as old as its file, and crawlers may use its
    predecessor for a day.
    """
    path = Path(named) if named is not None else folder.resolve().parent / "robots.txt" if folder else None
    if path is None or (named is None and not path.is_file()):
        return None, float("inf"), ""
    try:
        with path.open("rb") as stream:
            body = stream.read(robots.MAX_BYTES + 1)
        since = float("-inf") if named is not None else path.stat().st_mtime + ROBOTS_CACHED
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="name a robots.txt that can be read") from error
    return robots.parse(body), since, path.name


def _base_of(book: Ledger | None) -> str:
    """Scheme and host of the published site, without a slash at the end."""
    row = None if book is None else book.db.execute("select url from resources limit 1").fetchone()
    if row is None:
        return ""
    parts = urlsplit(row[0])
    return f"{parts.scheme}://{parts.netloc}"


def _changes(book: Ledger | None, base: str) -> ChangeTimes | None:
    if book is None or not base:
        return None
    times: dict[str, list[float]] = defaultdict(list)
    sql = "select url, at, lastmod from events where kind in ('new', 'changed') order by at"
    for url, at, lastmod in book.db.execute(sql):
        times[url[len(base) :]].append(at if lastmod is None else lastmod)
    for each in times.values():
        each.sort()
    count, oldest = book.db.execute("select count(*), min(at) from events").fetchone()
    since = book.db.execute("select min(first_seen) from resources").fetchone()[0]
    if count >= EVENTS_KEPT:
        since = max(since, oldest)
    return ChangeTimes(times, since)


def _hasher() -> Callable[[str, float], str]:
    """What stands for an address on a day; nothing leads back to it, since the key is forgotten."""
    key = secrets.token_bytes(32)

    def shown(ip: str, at: float) -> str:
        text = f"{int(at // 86_400)} {ip}".encode("utf-8", "surrogatepass")
        return "#" + blake2b(text, key=key, digest_size=6).hexdigest()

    return shown


class _Urls:
    """Sums over the URLs of one crawler."""

    def __init__(self) -> None:
        self.urls = self.pages = self.sitemaps = self.forbidden = self.published = 0
        self.repeated = self.same = self.min_needless = self.judged = self.exact = 0
        self.same_bytes = self.exact_bytes = self.unjudged_bytes = 0
        self.kinds: Counter[str] = Counter()
        self.forbidden_examples: list[str] = []
        self.error_examples: list[str] = []

    def add(self, path: str, visits: Visits) -> None:
        kind = kind_of(path)
        self.urls += 1
        self.kinds[kind] += visits.requests
        self.pages += visits.requests if kind == "page" else 0
        self.sitemaps += visits.requests if _SITEMAP.search(path) else 0
        self.repeated += visits.repeated
        self.same += visits.same
        self.same_bytes += visits.same_bytes
        self.min_needless += visits.min_needless()
        if visits.errors and len(self.error_examples) < _SHOWN:
            self.error_examples.append(path[:500])


class _Report:
    """Puts a report together from what was counted."""

    def __init__(
        self,
        tally: Tally,
        book: Ledger | None,
        base: str,
        rules: robots.Robots | None,
        ranges: Ranges,
        answers: AddressLookup,
        shown: Callable[[str, float], str],
    ) -> None:
        self._tally = tally
        self._book = book
        self._base = base
        self._rules = rules
        self._ranges = ranges
        self._answers = answers
        self._shown = shown
        self._orphans: set[str] = set()
        self._urls: dict[str, _Urls] = defaultdict(_Urls)
        self._days = max(len(tally.days), 1)

    def report(self, files: tuple[str, ...]) -> LogReport:
        tally = self._tally
        self._sum_urls()
        counts = sorted(tally.crawlers.values(), key=lambda each: (-each.requests, each.crawler.name))
        identities = self._identities(counts)
        crawlers = tuple(self._crawler(each, identities[each.crawler.name]) for each in counts)
        kinds: Counter[str] = Counter()
        for each in crawlers:
            kinds.update(each.kinds)
        is_empty = not tally.requests
        return LogReport(
            files=files,
            lines=tally.requests + tally.before_since + sum(tally.problems.values()),
            problems=dict(tally.problems),
            before_since=tally.before_since,
            requests=tally.requests,
            bytes=tally.bytes,
            first_at=None if is_empty else tally.first_at,
            last_at=None if is_empty else tally.last_at,
            crawler_requests=sum(each.requests for each in crawlers),
            crawler_bytes=sum(each.bytes for each in crawlers),
            crawlers=crawlers,
            unnamed=self._unnamed(),
            robots_readers=self._readers(),
            days=tuple(Day(day * 86_400.0, *tally.days[day]) for day in sorted(tally.days)),
            kinds=dict(kinds.most_common()),
            needless=_total(each.needless for each in crawlers),
            orphans=len(self._orphans) * tally.table.scale if self._book is not None else None,
            orphan_examples=tuple(sorted(self._orphans)[:_SHOWN]),
            scale=tally.table.scale,
            dropped_addresses=tally.dropped_addresses,
            ranges_at=None,
            robots="",
            signed=tally.signed.result(),
        )

    def _sum_urls(self) -> None:
        allows = _Allows(
            self._rules, self._base, {c.crawler.name: c.crawler.token for c in self._tally.crawlers.values()}
        )
        batch: list[tuple[str, str, Visits]] = []
        for name, path, visits in self._tally.table.items():
            sums = self._urls[name]
            sums.add(path, visits)
            if visits.since and not allows(name, path):
                sums.forbidden += visits.since
                if len(sums.forbidden_examples) < _SHOWN:
                    sums.forbidden_examples.append(path[:500])
            batch.append((name, path, visits))
            if len(batch) == _BATCH:
                self._compare(batch)
                batch = []
        self._compare(batch)

    def _compare(self, batch: Sequence[tuple[str, str, Visits]]) -> None:
        """Compare visited URLs with the ledger."""
        if self._book is None or not batch:
            return
        asked = list(dict.fromkeys(self._base + path for _, path, _ in batch))
        marks = ",".join("?" * len(asked))
        sql = f"select url, gone is null and hidden = '' from resources where url in ({marks})"  # noqa: S608
        known = dict(self._book.db.execute(sql, asked))
        for name, path, visits in batch:
            sums = self._urls[name]
            is_published = known.get(self._base + path)
            if is_published is None:
                sums.unjudged_bytes += visits.same_bytes
                if visits.ok and kind_of(path) == "page" and path != "/robots.txt":
                    self._orphans.add(path)
                continue
            sums.published += bool(is_published)
            sums.judged += visits.judged
            sums.exact += visits.exact
            sums.exact_bytes += visits.exact_bytes

    def _crawler(self, count: CrawlerCount, identity: Identity) -> CrawlerReport:
        tally, sums, scale = self._tally, self._urls[count.crawler.name], self._tally.table.scale
        lags = sorted(count.lags)
        published = self._book.count() if self._book is not None else 0
        return CrawlerReport(
            name=count.crawler.name,
            operator=count.crawler.operator,
            purpose=count.crawler.purpose,
            requests=count.requests,
            share=count.requests / tally.requests,
            bytes=count.bytes,
            bytes_share=count.bytes / tally.bytes if tally.bytes else 0.0,
            pages=sums.pages * scale,
            urls=sums.urls * scale,
            statuses=dict(sorted(count.statuses.items())),
            not_modified=count.statuses[304],
            errors=sum(number for status, number in count.statuses.items() if status >= 400),
            kinds={kind: number * scale for kind, number in sums.kinds.most_common()},
            needless=self._needless(sums),
            identity=identity,
            robots_reads=count.robots,
            sitemap_reads=sums.sitemaps * scale,
            forbidden=None if self._rules is None else sums.forbidden * scale,
            forbidden_examples=tuple(sums.forbidden_examples),
            error_examples=tuple(sums.error_examples),
            crawl_delay=count.delay,
            faster_than_delay=count.fast,
            never_visited=None if self._book is None else max(published - sums.published * scale, 0),
            lag_median=lags[len(lags) // 2] if lags else None,
            lag_p90=lags[len(lags) * 9 // 10] if lags else None,
            first_at=count.first_at,
            last_at=count.last_at,
        )

    def _needless(self, sums: _Urls) -> Needless:
        scale, is_exact = self._tally.table.scale, self._book is not None
        saved = (sums.exact_bytes if is_exact else sums.same_bytes) * scale
        return Needless(
            repeated=sums.repeated * scale,
            same=sums.same * scale,
            min_needless=sums.min_needless * scale,
            judged=sums.judged * scale if is_exact else None,
            exact=sums.exact * scale if is_exact else None,
            bytes=saved,
            archive_bytes=max(0, saved - ARCHIVE_BYTES * len(sums.kinds) * self._days),
        )

    def _identities(self, counts: Sequence[CrawlerCount]) -> dict[str, Identity]:
        """The verdict on every address that names a crawler whose addresses can be verified."""
        asked = {
            ip
            for count in counts
            if count.crawler.suffixes
            for ip in count.claims
            if not self._ranges.holds(count.crawler, ip)
        }
        answers = self._answers.answers(sorted(asked))
        found = {}
        for count in counts:
            numbers: Counter[IdentityVerdict] = Counter()
            addresses: Counter[IdentityVerdict] = Counter()
            false = []
            for ip, (requests, at) in count.claims.items():
                judged = verdict(count.crawler, ip, self._ranges, answers.get(ip))
                numbers[judged] += int(requests)
                addresses[judged] += 1
                if judged is IdentityVerdict.FALSE:
                    false.append((-requests, self._shown(ip, at)))
            found[count.crawler.name] = Identity(
                verified=numbers[IdentityVerdict.VERIFIED] + count.signed,
                false_claims=numbers[IdentityVerdict.FALSE],
                unknown=count.requests
                - count.signed
                - numbers[IdentityVerdict.VERIFIED]
                - numbers[IdentityVerdict.FALSE],
                verified_addresses=addresses[IdentityVerdict.VERIFIED],
                false_addresses=addresses[IdentityVerdict.FALSE],
                unknown_addresses=addresses[IdentityVerdict.UNKNOWN],
                false_examples=tuple(shown for _, shown in sorted(false)[:_SHOWN]),
            )
        return found

    def _unnamed(self) -> Unnamed:
        found = [(each, ip) for ip, each in self._tally.addresses.items() if not each.known and each.behaves_as_crawler]
        found.sort(key=lambda pair: -pair[0].requests)
        return Unnamed(
            addresses=len(found),
            requests=sum(each.requests for each, _ in found),
            bytes=sum(each.bytes for each, _ in found),
            examples=tuple(self._shown(ip, each.first_at) for each, ip in found[:_SHOWN]),
        )

    def _readers(self) -> RobotsReaders:
        readers = [each for each in self._tally.addresses.values() if each.robots]
        return RobotsReaders(
            addresses=len(readers),
            with_304=sum(each.not_modified > 0 for each in readers),
            unknown_agent=sum(each.unknown > 0 for each in readers),
        )


class _Allows:
    """Whether robots.txt allows a crawler a path."""

    def __init__(self, rules: robots.Robots | None, base: str, tokens: dict[str, str]) -> None:
        self._base = base or "http://site.invalid"
        self._access = {} if rules is None else {name: rules.access(token or "*") for name, token in tokens.items()}

    def __call__(self, name: str, path: str) -> bool:
        access = self._access.get(name)
        return access is None or not path.startswith("/") or access.allows(self._base + path)


def _total(parts: Iterable[Needless]) -> Needless:
    every = list(parts)
    is_exact = any(each.exact is not None for each in every)
    return Needless(
        repeated=sum(each.repeated for each in every),
        same=sum(each.same for each in every),
        min_needless=sum(each.min_needless for each in every),
        judged=sum(each.judged or 0 for each in every) if is_exact else None,
        exact=sum(each.exact or 0 for each in every) if is_exact else None,
        bytes=sum(each.bytes for each in every),
        archive_bytes=sum(each.archive_bytes for each in every),
    )
