"""A collection of a few pages with a history, written as a crawl writes it: archive, tables, and what was compared.

with KeptVersions(folder) as kept:
    kept.page("http://a.test/", "<p>one</p>", at=10.0)
    kept.page("http://a.test/", "<p>two</p>", at=20.0)
    kept.status("http://a.test/", 404, at=30.0)
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from periplus.content import SiteTemplate, difference, page_version, read_page
from periplus.model import (
    ChangeLevel,
    ChangeSeen,
    Excluded,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    Lane,
    NotModified,
    PageRead,
    ParsedPage,
    Purpose,
    Redirected,
    Url,
)
from periplus.store import MemoryPayloads
from periplus.store.tables import Spooled, Tables
from periplus.store.warc import Archive, WarcSettings
from periplus.urls import site_of

HTML = (("Content-Type", "text/html; charset=utf-8"),)


class KeptVersions:
    """Writes one shard of a collection; whole when the block ends."""

    def __init__(self, folder: Path, shard: int = 0, *, is_archived: bool = True) -> None:
        self.folder = folder
        self._tables = Tables(folder / "tables", folder / f"spool-{shard}", shard=shard, mark=None)
        self._archive = Archive(
            folder / "warc", WarcSettings(), shard=shard, software="", fields={}, end=None, payloads=MemoryPayloads()
        )
        self._is_archived = is_archived
        self._last: dict[str, ParsedPage] = {}
        self._kept_at: dict[str, float] = {}

    def checkpoint(self) -> Spooled:
        """How far the rows are durable now: they lie in the spool of a crawl that still runs."""
        return Spooled(0, self.folder / "spool-0", self._tables.checkpoint())

    def end_run(self) -> None:
        """All that was written lies in files now; what follows goes into others, as of a crawl that is continued."""
        self._tables.settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tables.settle()
        self._tables.close()
        self._archive.close()

    def page(self, url: str, html: str, at: float) -> None:
        """A good answer, read and compared with the one before."""
        body = html.encode()
        self._end(Fetched(self._task(url), 200, HTML, body, at, 0.5), at)
        page = read_page(body, Url(url), "text/html; charset=utf-8")
        self._tables.record([PageRead(page, at)])
        if (last := self._last.get(url)) is not None:
            level = SiteTemplate().level(difference(page_version(last), page_version(page)))
            self._tables.record([ChangeSeen(Url(url), at, level)])
        self._last[url], self._kept_at[url] = page, at

    def same(self, url: str, at: float) -> None:
        """An answer of 304."""
        self._end(NotModified(self._task(url), (), at, 0.5), at)
        self._tables.record([ChangeSeen(Url(url), at, ChangeLevel.SAME)])

    def status(self, url: str, status: int, at: float) -> None:
        """A bad answer."""
        self._end(Fetched(self._task(url), status, HTML, b"sorry", at, 0.5), at)

    def redirect(self, url: str, target: str, at: float) -> None:
        """An answer that names another place."""
        self._end(Redirected(self._task(url), 301, Url(target), HTML, at, 0.5), at)

    def forbidden(self, url: str, at: float, reason: str = "robots") -> None:
        """No visit, because of robots.txt."""
        self._end(Excluded(self._task(url), reason, "Disallow: /"), at)

    def failed(self, url: str, at: float) -> None:
        """No answer."""
        self._end(Failed(self._task(url), "timeout", at, 0.5), at)

    def robots(self, site: str, at: float) -> None:
        """An answer that is not a page."""
        task = FetchTask(
            Url(f"http://{site}/robots.txt"), site_of(Url(f"http://{site}/")), Purpose.ROBOTS, Lane.FILES, at
        )
        self._end(Fetched(task, 200, HTML, b"User-agent: *", at, 0.5), at)

    def _task(self, url: str) -> FetchTask:
        before = self._kept_at.get(url)
        lane = Lane.DISCOVERY if before is None else Lane.REFRESH
        return FetchTask(Url(url), site_of(Url(url)), Purpose.PAGE, lane, 0.0, visited_at=before)

    def _end(self, outcome: FetchOutcome, at: float) -> None:
        is_kept = self._is_archived and isinstance(outcome, Fetched | NotModified | Redirected)
        stored = self._archive.write(outcome, b"")[0] if is_kept else None  # type: ignore[arg-type]
        self._tables.record([FetchEnded(outcome, at, stored)])


def article(*paragraphs: str, title: str = "A page") -> str:
    """A page with these paragraphs."""
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return f"<!doctype html><title>{title}</title><nav><a href='/'>Home</a></nav><main>{body}</main>"
