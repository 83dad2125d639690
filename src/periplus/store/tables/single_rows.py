"""Rows of the tables that get one row an event: `fetches`, `pages`, `changes`, `sitemaps`, `verdicts`, `form_probes`.

`fetches` has every task that came back, well or not, and where the answer is stored; a `Located` outcome makes no row,
since no server was asked. `pages` has what a page says, without its text, which stays in the WARC, and without its
links, a table of their own. `changes` has the comparison of two visits to a URL. `sitemaps` has every visit to a file
that a site publishes about itself; the last one of a file is its state.
"""

from __future__ import annotations

from msgspec.structs import astuple

from periplus.formats.image_size import image_size
from periplus.model import (
    NO_PREFERENCES,
    ChangeLevel,
    ChangeSeen,
    Excluded,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    FormProbed,
    Located,
    NotModified,
    PageRead,
    Preference,
    Preferences,
    Redirected,
    SitemapVisited,
    Stored,
    SubjectJudged,
)
from periplus.urls import domain_of, site_of

Row = tuple[object, ...]
Headers = tuple[tuple[str, str], ...]

_NOT_STORED: Row = (None,) * 5
_NO_PREFERENCES: Row = (*(None,) * 5, [])
_LONGEST_TYPE = 256
_MAX_EXTENT = 2**31 - 1
"""Pixels that fit into the column."""


def fetch_row(event: FetchEnded, suffixes: tuple[str, ...] = ()) -> Row | None:
    """The row of a finished task; `None` if no request was sent. `suffixes`: further public suffixes."""
    outcome = event.outcome
    if isinstance(outcome, Located):
        return None
    task = outcome.task
    kind = _content_type(outcome.headers) if isinstance(outcome, Fetched | Redirected) else None
    what = (*_who(task, suffixes), *_what(outcome, event.ended_at, kind), *_effort(task, outcome))
    return (*what, *_where(event.stored), *_extent(outcome, kind))


def _who(task: FetchTask, suffixes: tuple[str, ...]) -> Row:
    domain = domain_of(task.site, suffixes)
    return (task.url, task.site, domain, task.purpose._value_, task.lane._value_, task.source._value_)


def _what(outcome: FetchOutcome, ended_at: float, kind: str | None) -> Row:
    """The columns from `outcome` to `target` of a fetch. `kind`: its content type."""
    match outcome:
        case Fetched():
            return (
                "fetched", outcome.status, None, None, None, outcome.started_at, ended_at, outcome.duration,
                outcome.size, kind, outcome.ip, None,
            )  # fmt: skip
        case NotModified():
            return (
                "not-modified", 304, None, None, None, outcome.started_at, ended_at, outcome.duration,
                0, None, outcome.ip, None,
            )  # fmt: skip
        case Redirected():
            return (
                "redirected", outcome.status, None, None, None, outcome.started_at, ended_at, outcome.duration,
                len(outcome.body), kind, outcome.ip, outcome.target,
            )  # fmt: skip
        case Failed():
            return (
                "failed", outcome.status, outcome.reason, None, outcome.detail, outcome.started_at, ended_at,
                outcome.duration, None, None, outcome.ip, None,
            )  # fmt: skip
        case Excluded():
            return (
                "excluded", None, outcome.reason, outcome.rule, None, ended_at, ended_at, None,
                None, None, None, None,
            )  # fmt: skip
    raise AssertionError(outcome)


def _effort(task: FetchTask, outcome: FetchOutcome) -> Row:
    return (task.depth, task.attempt, task.redirects, isinstance(outcome, Fetched) and outcome.is_truncated)


def _where(stored: Stored | None) -> Row:
    if stored is None:
        return _NOT_STORED
    return (stored.digest, stored.file, stored.offset, stored.length, stored.is_revisit)


def _extent(outcome: FetchOutcome, kind: str | None) -> Row:
    """Width and height of a picture."""
    if kind is None or not isinstance(outcome, Fetched) or not kind.lower().startswith("image/"):
        return (None, None)
    size = image_size(outcome.body)
    return (None, None) if size is None else (min(size.width, _MAX_EXTENT), min(size.height, _MAX_EXTENT))


def _content_type(headers: Headers) -> str | None:
    """The `Content-Type` as the server wrote it; the last one counts, as in the Fetch standard."""
    found = None
    for name, value in headers:
        if len(name) == 12 and name.lower() == "content-type":
            found = value
    return None if found is None else found[:_LONGEST_TYPE]


def page_row(event: PageRead) -> Row:
    """The row of a page; its last columns: `PageStatistics`, `Preferences`, relevance."""
    page = event.page
    relations, directives, digests, refresh = page.relations, page.directives, page.digests, page.refresh
    return (
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
        directives.noindex,
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
        *astuple(page.statistics),
        *_preferences(page.preferences),
        page.relevance,
    )


def _preferences(preferences: Preferences) -> Row:
    """The columns on preferences for use; null where none is stated."""
    if preferences is NO_PREFERENCES or preferences == NO_PREFERENCES:
        return _NO_PREFERENCES
    words = [
        None if each is Preference.UNKNOWN else each.value
        for each in (preferences.search, preferences.ai_input, preferences.train)
    ]
    tdm = None if preferences.tdm is Preference.UNKNOWN else preferences.tdm.value
    return (*words, None if preferences.use is None else preferences.use.value, tdm, list(preferences.said_by))


_WORDS = {level: level.name.lower().replace("_", "-") for level in ChangeLevel}


def change_row(event: ChangeSeen) -> Row:
    """The row of a comparison. From MAJOR on it counts as a change."""
    return (event.url, site_of(event.url), event.seen_at, _WORDS[event.level], event.level >= ChangeLevel.MAJOR)


def sitemap_row(event: SitemapVisited) -> Row:
    """The row of a visit."""
    return (
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


def verdict_row(event: SubjectJudged) -> Row:
    """The row of a judgement."""
    return (
        event.subject, event.kind, event.judge, event.verdict, event.score, list(event.evidence), event.judged_at,
    )  # fmt: skip


def form_row(event: FormProbed) -> Row:
    """The row of what became known of a form. A form that was never open has no numbers."""
    is_open = bool(event.requests or event.queries or event.status in ("open", "ended"))
    numbers = (
        event.queries, event.requests, event.records, event.new_records, event.estimate, event.low, event.high,
        event.page_size,
    )  # fmt: skip
    return (
        f"{event.key:016x}", event.site, event.page, event.action, event.method, event.kind, list(event.fields),
        event.status, event.reason or None, *(numbers if is_open else (None,) * len(numbers)), list(event.templates),
        event.at,
    )  # fmt: skip
