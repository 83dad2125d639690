"""Rows of tables that get one row an event which is not the row itself: `fetches`, `pages`, `changes`, `sitemaps`.

`fetches` has every task that came back, well or not, and where the answer is stored; a `Located` outcome makes no row,
since no server was asked. `pages` has what a page says, without its text, which stays in the WARC, and without its
links, a table of their own. `changes` has the comparison of two visits to a URL. `sitemaps` has every visit to a file
that a site publishes about itself; the last one of a file is its state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from periplus.content import decode_body
from periplus.formats.image_size import image_size
from periplus.formats.metadata_archive import read_name
from periplus.formats.payment import MAX_DETAILS, NO_CHARGE, PAYMENT_REQUIRED, PageCharge, read_price
from periplus.model import (
    NO_PREFERENCES,
    ChangeLevel,
    ChangeSeen,
    Excluded,
    Failed,
    Fetched,
    FetchEnded,
    FetchTask,
    Located,
    NotModified,
    PageRead,
    Preference,
    Preferences,
    Purpose,
    Redirected,
    SitemapVisited,
    Stored,
)
from periplus.urls import domain_of, site_of

from .declared import ChangeRow, FetchRow, PageRow, SitemapRow

Headers = tuple[tuple[str, str], ...]
Place = tuple[str | None, str | None, int | None, int | None, bool | None]
"""Digest, file, offset, length, and whether the record refers to an earlier one."""
Stated = tuple[str | None, str | None, str | None, str | None, str | None, Sequence[str]]
"""What is stated on search, input of a model, training, use and text mining, and where."""

_NOT_STORED: Final[Place] = (None, None, None, None, None)
_NO_PREFERENCES: Final[Stated] = (None, None, None, None, None, ())
_LONGEST_TYPE = 256
_MAX_EXTENT = 2**31 - 1
"""Pixels that fit into the column."""


def fetch_row(event: FetchEnded, suffixes: tuple[str, ...] = ()) -> FetchRow | None:
    """The row of a finished task; `None` if no request was sent. `suffixes`: further public suffixes."""
    outcome, ended_at, stored = event.outcome, event.ended_at, event.stored
    task = outcome.task
    status = reason = rule = detail = duration = size = kind = ip = target = width = height = None
    price = NO_CHARGE
    is_truncated, key = False, ""
    match outcome:
        case Fetched():
            word, status, size, is_truncated = "fetched", outcome.status, outcome.size, outcome.is_truncated
            started_at, duration, ip, key = outcome.started_at, outcome.duration, outcome.ip, outcome.signing_key
            kind = _content_type(outcome.headers)
            if kind is not None and kind[:6].lower() == "image/":
                width, height = _extent(outcome.body)
            if status == PAYMENT_REQUIRED or _is_charged(outcome.headers):
                price = _price(outcome)
        case Redirected():
            word, status, size, target = "redirected", outcome.status, len(outcome.body), outcome.target
            started_at, duration, ip, key = outcome.started_at, outcome.duration, outcome.ip, outcome.signing_key
            kind = _content_type(outcome.headers)
        case NotModified():
            word, status, size = "not-modified", 304, 0
            started_at, duration, ip, key = outcome.started_at, outcome.duration, outcome.ip, outcome.signing_key
        case Failed():
            word, status, reason, detail = "failed", outcome.status, outcome.reason, outcome.detail
            started_at, duration, ip, key = outcome.started_at, outcome.duration, outcome.ip, outcome.signing_key
        case Excluded():
            word, reason, rule, started_at = "excluded", outcome.reason, outcome.rule, ended_at
        case Located():
            return None
    digest, file, offset, length, is_revisit = _NOT_STORED if stored is None else _where(stored)
    return FetchRow(
        task.url, task.site, domain_of(task.site, suffixes), _purpose(task), task.lane._value_,
        task.source._value_, word, status, reason, rule, detail, started_at, ended_at, duration, size, kind, ip, target,
        task.depth, task.attempt, task.redirects, is_truncated, digest, file, offset, length, is_revisit, width, height,
        bool(key), key or None,
        price.scheme or None, price.amount, price.currency,
    )  # fmt: skip


def _where(stored: Stored) -> Place:
    return stored.digest, stored.file, stored.offset, stored.length, stored.is_revisit


def _extent(body: bytes) -> tuple[int | None, int | None]:
    """Width and height of a picture."""
    size = image_size(body)
    return (None, None) if size is None else (min(size.width, _MAX_EXTENT), min(size.height, _MAX_EXTENT))


def _is_charged(headers: Headers) -> bool:
    """Whether a response claims that it was paid for."""
    return any([len(name) == 15 and name.lower() == "crawler-charged" for name, _ in headers])  # noqa: C419 - faster


def _price(outcome: Fetched) -> PageCharge:
    codings = ",".join(value for name, value in outcome.headers if name.lower() == "content-encoding")
    body = decode_body(outcome.body, codings, max_size=MAX_DETAILS)[0]
    return read_price(outcome.status, outcome.headers, body)


def _content_type(headers: Headers) -> str | None:
    """The `Content-Type` as the server wrote it; the last one counts, as in the Fetch standard."""
    found = None
    for name, value in headers:
        if len(name) == 12 and name.lower() == "content-type":
            found = value
    return None if found is None else found[:_LONGEST_TYPE]


def page_row(event: PageRead) -> PageRow:
    """The row of a page."""
    page = event.page
    relations, directives, digests, refresh = page.relations, page.directives, page.digests, page.refresh
    statistics = page.statistics
    search, ai_input, train, use, tdm, said_by = _preferences(page.preferences)
    return PageRow(
        page.url,
        site_of(page.url),
        event.read_at,
        relations.canonical,
        page.title,
        page.description,
        page.language or None,
        page.charset or None,
        page.mime or None,
        len(page.text),
        len(page.main_text),
        len(page.links) - len(page.links.own),
        len(page.resources),
        len(page.forms),
        len(relations.alternates),
        len(relations.feeds),
        directives.hides_at(event.read_at),
        directives.nofollow,
        directives.noarchive,
        None if refresh is None else refresh.url,
        page.script_redirect,
        digests.raw,
        digests.text,
        digests.main,
        digests.links,
        page.sketch or None,
        [problem.reason for problem in page.problems],
        statistics.words,
        statistics.title_words,
        statistics.anchor_words,
        statistics.visible_share,
        statistics.title_repeats,
        statistics.word_length,
        statistics.distinct_share,
        statistics.top_word_share,
        statistics.compression,
        statistics.hidden_share,
        statistics.common_share,
        search,
        ai_input,
        train,
        use,
        tdm,
        said_by,
        page.relevance,
        directives.unavailable_after,
    )


def _preferences(preferences: Preferences) -> Stated:
    """The columns on preferences for use; null where none is stated."""
    if preferences is NO_PREFERENCES or preferences == NO_PREFERENCES:
        return _NO_PREFERENCES
    use = preferences.use
    return (
        _word(preferences.search), _word(preferences.ai_input), _word(preferences.train),
        None if use is None else use.value, _word(preferences.tdm), preferences.said_by,
    )  # fmt: skip


def _purpose(task: FetchTask) -> str:
    """What was fetched; archives of metadata are files of their own kind, which their names show."""
    if task.purpose is Purpose.SITEMAP and read_name(task.url) is not None:
        return "archive"
    return task.purpose._value_


def _word(preference: Preference) -> str | None:
    return None if preference is Preference.UNKNOWN else preference.value


def change_row(event: ChangeSeen) -> ChangeRow:
    """The row of a comparison. From MAJOR on it counts as a change."""
    return ChangeRow(event.url, site_of(event.url), event.seen_at, event.level.word, event.level >= ChangeLevel.MAJOR)


def sitemap_row(event: SitemapVisited) -> SitemapRow:
    """The row of a visit."""
    return SitemapRow(
        event.url,
        site_of(event.url),
        event.tree,
        event.parent,
        event.origin,
        event.depth,
        event.kind or None,
        event.visited_at,
        event.outcome or None,
        event.status,
        event.entries,
        event.children,
        event.size,
        [reason for reason, _ in event.problems],
        sum(count for _, count in event.problems),
        None if event.lastmod is None else event.lastmod.at,
        event.first_seen_at,
        event.read_at,
        event.due_at,
        event.visits,
        event.changes,
        event.failures,
        event.retired or None,
    )
