"""The answers of the verbs. An answer that had to be cut says how much is left out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct


class Refusal(Struct, frozen=True):
    """Why there is no answer: a stable reason, and what to do."""

    reason: str
    hint: str


class SearchHit(Struct, frozen=True):
    """One result. `withheld`: the site does not want its text given to models."""

    title: str
    url: str
    snippet: str
    fetched_at: datetime | None
    withheld: str = ""


class SearchAnswer(Struct, frozen=True):
    """Results, best first. `total` are the pages with every word."""

    total: int
    results: list[SearchHit]


class PageText(Struct, frozen=True):
    """A part of a page. `text` is Markdown with front matter, marked as data; `next_part` is there if there is more."""

    url: str
    title: str
    text: str
    part: int
    parts: int
    next_part: int | None
    fetched_at: datetime
    language: str
    canonical: str
    withheld: str = ""


class MappedPage(Struct, frozen=True, omit_defaults=True):
    """A URL that a site publishes, and the file that lists it."""

    url: str
    source: str
    lastmod: datetime | None = None


class MapAnswer(Struct, frozen=True):
    """URLs of a site. `left_out`: further ones that match."""

    urls: list[MappedPage]
    left_out: int


class CrawlJob(Struct, frozen=True):
    """A crawl in the background: `running`, `ended` or `failed`. `pages` are those of the collection."""

    id: str
    state: str
    pages: int
    seconds: float


class PageChange(Struct, frozen=True, omit_defaults=True):
    """A page that `appeared`, `changed` or `vanished`, and the first passages that differ."""

    url: str
    kind: str
    seen_at: datetime
    title: str = ""
    reason: str = ""
    difference: list[str] = []
    withheld: str = ""


class ChangesAnswer(Struct, frozen=True):
    """Changes. `left_out`: further ones."""

    changes: list[PageChange]
    left_out: int


class UsefulLink(Struct, frozen=True):
    """A useful link of a site."""

    url: str
    title: str


class LinksAnswer(Struct, frozen=True):
    """Useful links, the most useful first."""

    site: str
    links: list[UsefulLink]


class RowsAnswer(Struct, frozen=True):
    """Rows of a query. `is_cut`: there are more."""

    columns: list[str]
    rows: list[list[Any]]
    is_cut: bool
