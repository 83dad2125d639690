"""One scan of a site: compare what its sources show with the ledger, and date what changed.

What is found is gathered in temporary tables. At the end the scan as a whole is judged: a change that most pages share
is the template's, dates that most new pages share are those of a build, and a source that suddenly lacks most of the
site is not believed. Then the ledger takes all of it in one transaction. Problems are those of the sources, and `empty`
(a page without a byte: half-written).
"""

# ruff: noqa: S608 - SQL is put together from our own words here
from __future__ import annotations

import sqlite3
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Struct

from periplus.content import PageDifference, RawPage, SiteTemplate, read_pages
from periplus.content.changes import TEMPLATE_LEAST, Aspect, is_common, is_template_way
from periplus.content.churn import OTHERS
from periplus.formats.robots import Robots
from periplus.model import ChangeLevel, ParsedPage, PeriplusError, Problem
from periplus.urls import canonical
from periplus_sites.ledger import EVENTS_KEPT, FIRST_SCAN, Details, Ledger, Row, decode_content, packed

from .dating import (
    CHURN_SHARE,
    Content,
    build_window,
    changed_date,
    compare,
    content_of,
    first_date,
    is_churn,
    level_of,
    raw_digest,
    ways_of,
)
from .resources import Inventory, Resource

PAGE_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
"""Types that are read as pages; of others the bytes are compared."""
LARGEST_PAGE: Final = 32 << 20
"""Bytes of a page that is read as one; of a larger file only the bytes are compared."""
_decode_difference = msgspec.msgpack.Decoder(PageDifference).decode
_BATCH: Final = 400
"""Resources looked up at once: below SQLite's smallest limit of parameters."""
_MOST_GAINS: Final = 100
"""Differences that pages have in common which are looked at, the most frequent first."""
_TEMPLATE_SAMPLE: Final = 500
"""Pages with the same difference of which the parts are compared."""
_MOST_IMAGES: Final = 1_000
"""Images of a page that a sitemap may name."""
_SHOWN: Final = 20
"""Problems of a reason that are shown one by one."""
SUDDEN_SHARE: Final = 0.5
SUDDEN_LEAST: Final = 20
"""If more than this share and this number of resources are missing at once, the source is taken to be incomplete."""


LONGEST_SCAN: Final = 3_600.0
"""Seconds after the start of a scan within which what an application reports is newer than what the scan found."""


class TooManyGone(PeriplusError):  # noqa: N818 - reads as what is the case
    """Most of the site is missing from its source: more likely a half-written folder than a wish to remove it."""


class ScanResult(Struct, frozen=True):
    """What a scan found. `resources` were seen; `unread` of them needed no look inside."""

    at: float
    resources: int
    unread: int
    new: int
    changed: int
    minor: int
    raw_only: int
    gone: int
    hidden: dict[str, int]
    template_pages: int
    """Pages that would have counted as changed but for a change of the template."""
    build_dates: int
    """New pages whose date was that of a build and is not used."""
    problems: dict[str, int]
    examples: tuple[Problem, ...]


class _Scan:
    """The scan while it runs."""

    def __init__(self, ledger: Ledger, robots: Robots | None, *, is_deep: bool, wants_images: bool) -> None:
        self._ledger = ledger
        self._robots = robots
        self._is_deep = is_deep
        self._wants_images = wants_images
        self.ways: Counter[int] = Counter()
        """By how many pages more than before the scan a block's path is on."""
        self.problems: Counter[str] = Counter()
        self.examples: list[Problem] = []
        self.unread = 0
        self.same = array("q")
        """Ids of resources that stay as they are."""
        self.db: sqlite3.Connection = ledger.db
        self.db.executescript("""
            drop table if exists temp.same; drop table if exists temp.found; drop table if exists temp.gained;
            create table temp.gained(aspect integer, gain blob, url text);
            create table temp.found(
                url text primary key, id integer, mime text, size integer, stamp integer, digest text, content blob,
                title text, details blob, hidden text, source_date real, judged blob)
                without rowid;
        """)

    def add(self, resources: Iterable[Resource]) -> None:
        """Compare resources with the ledger."""
        batch = {resource.url: resource for resource in resources}
        known = self._ledger.stamps(list(batch))
        closer = []
        for url, resource in batch.items():
            row = known.get(url)
            if row is not None and not self._is_deep and _is_same(resource, row):
                self.same.append(row[0])
                self.unread += 1
            else:
                closer.append(resource)
        if closer:
            self._look_closer(closer)

    def problem(self, problem: Problem) -> None:
        """Count a problem, and keep some of each reason to show."""
        self.problems[problem.reason] += 1
        if self.problems[problem.reason] <= _SHOWN:
            self.examples.append(problem)

    def _look_closer(self, resources: Sequence[Resource]) -> None:
        rows = self._ledger.rows([resource.url for resource in resources])
        read: list[tuple[Resource, bytes | None]] = []
        for resource in resources:
            try:
                read.append((resource, None if resource.read is None else resource.read()))
            except OSError as error:
                self.problem(Problem("unreadable", f"{resource.url}: {error.strerror or error}"))
                self._keep_old(rows.get(resource.url))
        pages = iter(read_pages(_raw(resource, body) for resource, body in read if _is_page(resource, body)))
        found = []
        for resource, body in read:
            page = next(pages) if _is_page(resource, body) else None
            if page is not None and not body:
                self.problem(Problem("empty", resource.url))
                self._keep_old(rows.get(resource.url))
                continue
            found.append(self._compared(resource, rows.get(resource.url), body, page))
        self.db.executemany(f"insert or ignore into temp.found values({','.join('?' * 12)})", found)

    def _keep_old(self, row: Row | None) -> None:
        if row is not None and row.gone is None:
            self.same.append(row.id)

    def _compared(
        self, resource: Resource, row: Row | None, body: bytes | None, page: ParsedPage | None
    ) -> tuple[object, ...]:
        content = None if body is None else content_of(page) if page is not None else Content(raw_digest(body))
        judged = _judged(resource, row, content)
        self._count(row, content)
        gained = ((aspect, gain, resource.url) for aspect, gain in enumerate(judged.gains) if any(gain))
        self.db.executemany("insert into temp.gained values(?,?,?)", gained)
        details = Details(
            self._images(resource, page),
            tuple((one.hreflang, one.url) for one in page.relations.alternates if one.hreflang) if page else (),
            resource.priority,
            page.description if page is not None else "",
        )
        return (
            resource.url,
            None if row is None else row.id,
            resource.mime,
            resource.size or len(body or b""),
            resource.stamp,
            resource.digest,
            packed(content),
            page.title if page is not None and page.title else resource.title,
            packed(details),
            hidden_reason(resource.url, page, self._robots),
            resource.source_date,
            msgspec.msgpack.encode(judged),
        )

    def _count(self, row: Row | None, content: Content | None) -> None:
        if row is not None and row.content is not None and row.gone is None:
            self.ways.subtract(ways_of(row.content.blocks))
        if content is not None:
            self.ways.update(ways_of(content.blocks))

    def _images(self, resource: Resource, page: ParsedPage | None) -> tuple[str, ...]:
        if page is None or not self._wants_images:
            return resource.images[:_MOST_IMAGES]
        found = dict.fromkeys(one.url for one in page.resources if one.tag == "img")
        return tuple(found)[:_MOST_IMAGES]

    def drop(self) -> None:
        """Remove the temporary tables."""
        self.db.executescript(
            "drop table if exists temp.same; drop table if exists temp.found; drop table if exists temp.gained;"
        )


def scan(
    ledger: Ledger,
    inventories: Sequence[Inventory],
    now: float,
    *,
    robots: Robots | None = None,
    is_deep: bool = False,
    wants_images: bool = False,
    allows_removals: bool = False,
) -> ScanResult:
    """Scan all sources of a site at once, and bring the ledger up to date.

    `is_deep`: read also what has the same size and modification time. `allows_removals`: believe a source that lacks
    most of the site. Raises `TooManyGone` otherwise, with the ledger as it was.
    """
    running = _Scan(ledger, robots, is_deep=is_deep, wants_images=wants_images)
    try:
        for inventory in inventories:
            found = _resources(inventory, running)
            while batch := list(islice(found, _BATCH)):
                running.add(batch)
        is_complete = all(inventory.is_complete for inventory in inventories)
        with ledger.writing():
            return _apply(running, ledger, now, is_complete=is_complete, allows_removals=allows_removals)
    finally:
        running.drop()


def _resources(inventory: Inventory, running: _Scan) -> Iterator[Resource]:
    for found in inventory.resources():
        if isinstance(found, Problem):
            running.problem(found)
        else:
            yield found


def _is_same(resource: Resource, row: tuple[int, int, int, str, float | None]) -> bool:
    _, size, stamp, digest, source_date = row
    if resource.digest:
        return digest == resource.digest
    if resource.read is None:
        return source_date == resource.source_date
    return bool(resource.stamp) and stamp == resource.stamp and size == resource.size


def _is_page(resource: Resource, body: bytes | None) -> bool:
    return body is not None and resource.mime in PAGE_TYPES and len(body) <= LARGEST_PAGE


def _raw(resource: Resource, body: bytes | None) -> RawPage:
    return RawPage(body or b"", resource.url, resource.mime, wants_blocks=True)


def _judged(resource: Resource, row: Row | None, content: Content | None) -> PageDifference:
    if row is None:
        return PageDifference(ChangeLevel.MAJOR)
    if content is not None and row.content is not None:
        return compare(row.content, content)
    if content is not None or row.content is not None or resource.digest != row.digest:
        return PageDifference(ChangeLevel.MAJOR)
    is_same = bool(resource.digest) or resource.source_date == row.source_date
    return PageDifference(ChangeLevel.SAME if is_same else ChangeLevel.MAJOR)


def hidden_reason(url: str, page: ParsedPage | None, robots: Robots | None) -> str:
    """Why a resource is not published; empty if it is."""
    if robots is not None and not robots.allows("*", url):
        return "robots"
    if page is None:
        return ""
    if page.directives.noindex:
        return "noindex"
    return "canonical" if page.canonical is not None and page.canonical != canonical(url) else ""


def _apply(running: _Scan, ledger: Ledger, now: float, *, is_complete: bool, allows_removals: bool) -> ScanResult:
    db = ledger.db
    db.execute("create table temp.same(id integer primary key)")
    db.executemany("insert or ignore into temp.same values(?)", ((number,) for number in sorted(running.same)))
    gone = _gone(db, now, allows_removals=allows_removals) if is_complete else []
    new_dates = [
        date
        for (date,) in db.execute("select source_date from temp.found where id is null and source_date is not null")
    ]
    new_count = db.execute("select count(*) from temp.found where id is null").fetchone()[0]
    build = build_window(new_dates, new_count)
    judged_by = _Dates(now, ledger.note("scanned_at") or 0.0, build, _site_template(running, ledger))
    counts: Counter[str] = Counter()
    for found in db.execute("select * from temp.found order by url"):
        counts[_apply_one(db, found, judged_by)] += 1
    for number, url, title, lastmod in gone:
        db.execute("update resources set gone = ? where id = ?", (now, number))
        event(db, url, title, "removed", now, lastmod)
    db.execute("delete from events where id <= (select max(id) from events) - ?", (EVENTS_KEPT,))
    if ledger.note("scans") == 1:
        ledger.keep_note(FIRST_SCAN, db.execute("select coalesce(max(id), 0) from events").fetchone()[0])
    if is_complete:
        ledger.keep_note("scanned_at", now)
    hidden = dict(db.execute("select hidden, count(*) from resources where gone is null and hidden != '' group by 1"))
    return ScanResult(
        now,
        ledger.count("gone is null"),
        running.unread,
        counts["new"] + counts["new without its date"] + counts["returned"],
        counts[ChangeLevel.MAJOR.word],
        counts[ChangeLevel.MINOR.word],
        counts[ChangeLevel.RAW_ONLY.word] + counts[ChangeLevel.ELSEWHERE.word],
        len(gone),
        hidden,
        counts[ChangeLevel.TEMPLATE.word],
        counts["new without its date"],
        dict(running.problems),
        tuple(running.examples),
    )


def _gone(db: sqlite3.Connection, now: float, *, allows_removals: bool) -> list[tuple[int, str, str, float | None]]:
    gone = db.execute(
        """
        select id, url, title, lastmod from resources
        where gone is null and confirmed <= ? and id not in (select id from temp.same)
        and id not in (select id from temp.found where id is not null)""",
        (now,),  # what an application reported while the scan ran stays
    ).fetchall()
    known = db.execute("select count(*) from resources where gone is null").fetchone()[0]
    if len(gone) > max(SUDDEN_LEAST, SUDDEN_SHARE * known) and not allows_removals:
        raise TooManyGone(
            f"{len(gone):,} of {known:,} known resources are missing from the source; nothing was changed",
            hint="scan again when the site is complete, or use --allow-removals if they are meant to be gone",
        )
    return gone


class _Dates(Struct, frozen=True):
    """What dates are decided by: the times of this scan and the last, the span of a build, and what is template."""

    now: float
    scanned_at: float
    build: tuple[float, float] | None
    template: SiteTemplate


def _site_template(running: _Scan, ledger: Ledger) -> SiteTemplate:
    """Find what is template in this scan, and keep what was learnt of each path."""
    db = ledger.db
    number = int(ledger.note("scans") or 0) + 1
    ledger.keep_note("scans", number)
    db.executemany(
        "insert into ways values(?, ?, ?, 0) on conflict(way) do update set pages = pages + excluded.pages",
        [(way, count, number) for way, count in running.ways.items() if count],
    )
    template = SiteTemplate(_common_gains(db))
    changed: dict[int, Counter[int]] = {Aspect.MAIN: Counter(), Aspect.LINKS: Counter()}
    for (packed_,) in db.execute("select judged from temp.found where url in (select url from temp.gained)"):
        judged = _decode_difference(packed_)
        if template.own_text(judged):
            changed[Aspect.MAIN].update(judged.ways)
        if Aspect.LINKS in template.own_aspects(judged):
            changed[Aspect.LINKS].update(judged.ways)
    on_any = changed[Aspect.MAIN] | changed[Aspect.LINKS]
    db.executemany(
        "update ways set differed = differed + 1 where way = ? and ? >= ? * pages",
        [(way, count, CHURN_SHARE) for way, count in on_any.items()],
    )
    ways: dict[int, set[int]] = {aspect: set() for aspect in changed}
    for way in on_any.keys() - {OTHERS}:
        found = db.execute("select pages, since, differed from ways where way = ?", (way,)).fetchone()
        having, since, differed = found or (0, number, 0)
        for aspect, counts in changed.items():
            if is_template_way(counts[way], having) or is_churn(number - since, differed):
                ways[aspect].add(way)
    return SiteTemplate(template.gains, {aspect: frozenset(found) for aspect, found in ways.items()})


def _common_gains(db: sqlite3.Connection) -> dict[int, tuple[bytes, ...]]:
    """What so many pages gained or lost in this scan that it is the template's, by aspect."""
    marks = ",".join("?" * len(PAGE_TYPES))
    pages = db.execute(
        f"select count(*) from resources where gone is null and mime in ({marks})", tuple(PAGE_TYPES)
    ).fetchone()[0]
    common: dict[int, tuple[bytes, ...]] = {}
    for aspect, gain, count in db.execute(
        "select aspect, gain, count(*) from temp.gained group by 1, 2 having count(*) >= ? order by 3 desc limit ?",
        (TEMPLATE_LEAST, _MOST_GAINS),
    ).fetchall():
        if is_common(count, pages, pages) or is_common(count, pages, _template_pages(db, aspect, gain)):
            common[aspect] = (*common.get(aspect, ()), gain)
    return common


def _template_pages(db: sqlite3.Connection, aspect: int, gain: bytes) -> int:
    """How many pages have the rarest part that all pages with this difference have, and that did not change."""
    shared: set[int] | None = None
    for content, judged in db.execute(
        "select content, judged from temp.found where url in (select url from temp.gained where aspect = ? and gain = ?"
        " order by url limit ?)",
        (aspect, gain, _TEMPLATE_SAMPLE),
    ):
        ways = set(ways_of(decode_content(content).blocks)) - {OTHERS, *_decode_difference(judged).ways}
        shared = ways if shared is None else shared & ways
    rarest = db.execute(f"select min(pages) from ways where way in ({','.join(map(str, shared or ()))})").fetchone()[0]
    return int(rarest) if rarest is not None else sys.maxsize


def _apply_one(db: sqlite3.Connection, found: tuple[Any, ...], dates: _Dates) -> str:
    """Write one resource that was looked at; says what happened to it."""
    url, number, mime, size, stamp, digest, content, title, details, hidden, source_date, judged = found
    values = (mime, size, stamp, digest, content, title, details, hidden, source_date, dates.now)
    if number is None:
        lastmod = first_date(source_date, dates.build, dates.now)
        is_new = db.execute(
            "insert into resources(mime, size, stamp, digest, content, title, details, hidden, source_date, confirmed,"
            " minor, url, section, lastmod, first_seen) values(?,?,?,?,?,?,?,?,?,?,0,?,?,?,?)"
            " on conflict(url) do nothing",
            (*values, url, section_of(url), lastmod, dates.now),
        ).rowcount
        if is_new and not hidden:
            event(db, url, title, "new", dates.now, lastmod)
        if is_new:
            return "new" if lastmod is not None or source_date is None else "new without its date"
    sql = "select id, lastmod, confirmed, gone, hidden, minor from resources where url = ?"
    number, lastmod, confirmed, gone, was_hidden, minor = db.execute(sql, (url,)).fetchone()
    claimed = lastmod
    level, minor = level_of(_decode_difference(judged), minor, dates.template)
    if gone is not None:
        lastmod = changed_date(source_date, gone, dates.now)
    elif level is ChangeLevel.MAJOR and not 0 < confirmed - dates.now < LONGEST_SCAN:
        lastmod = changed_date(source_date, max(confirmed, dates.scanned_at), dates.now)
    db.execute(
        "update resources set mime=?, size=?, stamp=?, digest=?, content=?, title=?, details=?, hidden=?,"
        " source_date=?, confirmed=?, minor=?, lastmod=?, gone=null where id=?",
        (*values, minor, lastmod, number),
    )
    kind = event_kind(level, is_hidden=bool(hidden), was_hidden=bool(was_hidden), is_back=gone is not None)
    if kind and not (kind == "changed" and lastmod == claimed):  # an application has already reported this change
        event(db, url, title, kind, dates.now, lastmod)
    return "returned" if gone is not None else level.word


def event_kind(level: ChangeLevel, *, is_hidden: bool, was_hidden: bool, is_back: bool = False) -> str:
    """The kind of event to publish for a page; empty if there is nothing to publish."""
    if is_hidden:
        return "" if was_hidden else "removed"
    if was_hidden or is_back:
        return "new"
    return "changed" if level is ChangeLevel.MAJOR else ""


def event(db: sqlite3.Connection, url: str, title: str, kind: str, at: float, lastmod: float | None) -> None:
    """Add an event to those that feeds, archives and messages publish."""
    db.execute("insert into events(url, title, kind, at, lastmod) values(?,?,?,?,?)", (url, title, kind, at, lastmod))


def section_of(url: str) -> str:
    """The first segment of the path, by which sitemaps are ordered."""
    parts = url.partition("?")[0].split("/", 4)
    return parts[3] if len(parts) > 4 else ""
