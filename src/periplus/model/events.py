"""Events for observers: the display, the tables and the tests read these, and return nothing.

One event is one fact that has happened, with its time. The tables at rest are these facts written down:
`discoveries` from `Discovered` and `Refused`, `fetches` from `FetchEnded`, `pages` and `links` from `PageRead`,
`sitemaps` from `SitemapVisited`, `sitemap_entries` from `SitemapEntriesRead` and `SitemapRead`, `changes` from
`ChangeSeen`. An event that is a `TableRow`, as `SubjectJudged` is, is a row of its table as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from .page import ParsedPage
from .rows import Moment, Real, TableRow, Text, Word, WordList
from .state import Stored
from .types import ChangeFreq, ChangeLevel, Discovery, FetchOutcome, Lastmod, Problem, Url


class UrlDiscovered(Struct, frozen=True, tag="Discovered", gc=False):
    """A URL was discovered. `is_new`: it was not discovered before."""

    discovery: Discovery
    is_new: bool


class Refused(Struct, frozen=True, tag=True, gc=False):
    """A filter would not have this URL."""

    discovery: Discovery
    reason: str
    rule: str


class FetchEnded(Struct, frozen=True, tag=True):
    """A task came back, well or not."""

    outcome: FetchOutcome
    ended_at: float
    stored: Stored | None = None


class PageRead(Struct, frozen=True, tag=True):
    """A body was understood as a page."""

    page: ParsedPage
    read_at: float


class SitemapEntry(Struct, frozen=True, gc=False):
    """One line of a sitemap: a page or, where `is_sitemap`, another sitemap. `url` is as written, absolute."""

    url: str
    lastmod: Lastmod | None = None
    changefreq: ChangeFreq | None = None
    priority: float | None = None
    title: str | None = None
    is_sitemap: bool = False


class SitemapEntriesRead(Struct, frozen=True, tag=True):
    """Some entries of a sitemap that is still being read; its end is a `SitemapRead`. Many may be `EntryColumns`."""

    url: Url
    read_at: float
    entries: Sequence[SitemapEntry]


class SitemapRead(Struct, frozen=True, tag=True):
    """A sitemap, or what was served in its place, was read to its end."""

    url: Url
    read_at: float
    entries: int
    children: int
    lastmod: Lastmod | None
    problems: tuple[Problem, ...]


class SitemapVisited(Struct, frozen=True, tag=True):
    """The state of a sitemap, feed or similar file of a site after a visit to it, successful or not.

    It is the row of `sitemapinfo` of the Berkeley report. `outcome` is why the visit failed, `retired` why there will
    be no other; `problems` are those of the last reading, each with its number of occurrences.
    """

    url: Url
    visited_at: float
    tree: Url
    parent: Url | None
    origin: str
    depth: int
    kind: str
    outcome: str
    status: int | None
    entries: int
    children: int
    size: int
    problems: tuple[tuple[str, int], ...]
    lastmod: Lastmod | None
    first_seen_at: float
    read_at: float | None
    due_at: float | None
    visits: int
    changes: int
    failures: int
    retired: str


class ChangeSeen(Struct, frozen=True, tag=True):
    """Two visits to a URL were compared; or their level is another than it `was`, as later pages have shown."""

    url: Url
    seen_at: float
    level: ChangeLevel
    was: ChangeLevel | None = None


class SubjectJudged(TableRow, frozen=True):
    """Every judgement of a URL, a site or a domain, with its evidence.

    A judge is a part or a job. A template of URLs can be judged, too. The view of this name in `periplus query` also
    has the verdicts of `periplus judge` and the like.
    """

    table = "verdicts"
    key = ("subject", "judge", "verdict")

    subject: Text
    """the URL, site, domain, or template of URLs"""
    kind: Word
    """`url` `site` `domain` `template`"""
    judge: Word
    """`spam`, `mirrors`, ..."""
    verdict: Word
    """such as `soft-404`"""
    score: Real
    """confidence, 0 to 1"""
    evidence: WordList
    """why, in short sentences"""
    judged_at: Moment
    """when"""


class OutageSeen(TableRow, frozen=True):
    """Every outage of a site: its beginning, and with `until` its end. Visits in between say nothing about pages.

    What most pages of a site do in the same hours is an outage of the site, not the end of its pages. Elsewhere in
    `periplus query` the visits of an outage have the purpose `probe`, and what was read then is left out.
    """

    table = "outages"
    key = ("site", "since", "until")

    site: Word
    """host and port"""
    since: Moment
    """the first visit that failed"""
    until: Moment | None
    """the first that did not; null: it is down"""
    reason: Word
    """what its pages answered: `http-404`, `connect-refused`, `redirected`, `one-page`, `robots`, ...; `not-down`: a
    single visit to a page that was lost, which was asked again when another page of the site had answered"""
    seen_at: Moment
    """when this was found out"""


Event = (
    UrlDiscovered
    | Refused
    | FetchEnded
    | PageRead
    | SitemapVisited
    | SitemapEntriesRead
    | SitemapRead
    | ChangeSeen
    | TableRow
)
