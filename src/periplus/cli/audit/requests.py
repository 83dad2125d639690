"""Requests of an audit besides the crawl, each kind as a small crawl into a temporary folder.

As crawls they obey robots.txt and politeness. Embedded files and external links are asked with HEAD, once; sitemaps
whose dates are younger than the crawl are read a second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from periplus.collection.collection import CollectionSetup, held
from periplus.engine.fetch import Credentials
from periplus.formats.headers import Headers
from periplus.model import CollectionDamaged, Stored, Url
from periplus.store.warc import read_record
from periplus.store.warc.answers import fields_as_sent
from periplus.urls import site_of
from periplus.view.wording import counted

from ..crawl.running import run

if TYPE_CHECKING:
    from rich.console import Console

    from periplus.apps.audit import Checks, SitemapLook, UrlCheck

_MAX_REDIRECTS = 10
"""Redirects that are followed from a checked URL: the limit of most clients is 10 or 20."""
_LOOK_SECONDS = 60.0
"""How long a second look at the sitemaps may take: what matters is the first file."""
_NO_HOST = ("dns", "connect", "no-address", "tls")
"""Beginnings of reasons for which the host of a URL does not answer at all."""
_ANSWERS = """
select url, purpose, outcome, status, coalesce(reason, '') as reason, target, epoch(ended_at) as ended_at,
    warc_file, warc_offset, warc_length
from fetches where purpose in ('page', 'robots') order by ended_at
"""
_READINGS = """
select sitemap, epoch(read_at) as read_at, max(epoch(lastmod)) as newest from sitemap_entries
where kind = 'page' and lastmod is not null group by sitemap, read_at
"""


def check_urls(collection: CollectionSetup, urls: Sequence[str], seconds: float, console: Console) -> list[UrlCheck]:
    """Ask for each URL with HEAD. `seconds`: how long that may take; URLs without an answer by then are left out."""
    from periplus.insight.views import Views

    if not urls:
        return []
    asked: dict[str, object] = {
        "crawl.limit": 0, "crawl.for": seconds, "crawl.workers": 1,
        "scope.kind": "any", "budgets.max_depth": 0, "sitemaps.follow": False, "sitemaps.only": False,
        "sitemaps.submitted": [], "patterns.include": [], "patterns.exclude": [], "extensions.refused": [],
        "retries.max_attempts": 1, "wire.head_only": True, "wire.accept_types": ["*/*"],
    }  # fmt: skip
    title = f"periplus audit: {counted(len(urls), 'image, style, script or link', 'images, styles, scripts and links')}"
    with _crawled(collection, [Url(url) for url in urls], asked, title, console) as folder, Views(folder) as views:
        return list(_answers(urls, views.rows(_ANSWERS), folder / "warc"))


def _answers(urls: Sequence[str], rows: list[dict[str, object]], archive: Path) -> Iterator[UrlCheck]:
    from periplus.apps.audit import UrlCheck

    pages = {str(row["url"]): row for row in rows if row["purpose"] == "page"}
    hosts = {site_of(Url(str(row["url"]))): row for row in rows if row["outcome"] == "failed"}
    for url in urls:
        row = pages.get(url)
        for _ in range(_MAX_REDIRECTS):
            if row is None or row["outcome"] != "redirected":
                break
            row = pages.get(str(row["target"]))
        if row is None or row["outcome"] == "excluded":
            row = hosts.get(site_of(Url(url)))
            if row is None or not str(row["reason"]).startswith(_NO_HOST):
                continue
        status = row["status"] if row["outcome"] != "failed" or row["reason"] == "unwanted-type" else None
        reason = str(row["reason"]) if status is None else ""
        size = _size(archive, row)
        yield UrlCheck(url, float(str(row["ended_at"])), int(str(status)) if status is not None else None, reason, size)


def _size(archive: Path, row: dict[str, object]) -> int | None:
    """The Content-Length of an answer, if it was stored and has one."""
    if row["warc_file"] is None:
        return None
    stored = Stored(str(row["warc_file"]), int(str(row["warc_offset"])), int(str(row["warc_length"])), "", False)
    try:
        length = Headers(fields_as_sent(read_record(archive, stored).message())).get("content-length") or ""
    except CollectionDamaged:
        return None
    return int(length) if length.isascii() and length.isdigit() and len(length) < 16 else None


def look_again(collection: CollectionSetup, site: str, console: Console) -> tuple[SitemapLook, ...]:
    """Read the sitemaps of a site a second time, without fetching pages."""
    from periplus.apps.audit import SitemapLook
    from periplus.insight.views import Views

    asked: dict[str, object] = {
        "crawl.limit": 0, "crawl.for": _LOOK_SECONDS, "crawl.workers": 1,
        "sitemaps.follow": True, "sitemaps.only": True,
    }  # fmt: skip
    seeds = [seed for seed in collection.seeds if site_of(seed) == site] or collection.seeds
    title = f"periplus audit {site}: a second look at the sitemaps"
    with _crawled(collection, seeds, asked, title, console) as folder, Views(folder) as views:
        rows = views.rows(_READINGS)
    return tuple(SitemapLook(str(row["sitemap"]), float(row["read_at"]), float(row["newest"])) for row in rows)


@contextmanager
def _crawled(
    collection: CollectionSetup, seeds: Sequence[Url], options: dict[str, object], title: str, console: Console
) -> Iterator[Path]:
    """Crawl the seeds into a temporary folder with the settings of a collection and some others."""
    with TemporaryDirectory(prefix="periplus-audit-") as name:
        folder = Path(name) / "checks"
        config = collection.config.with_options(options)
        config = replace(config, crawl=replace(config.crawl, seeds=(), seed_file=""))
        credentials = Credentials(proxy=collection.credentials.proxy)
        asked = CollectionSetup(folder, config, tuple(seeds), is_new=True, credentials=credentials)
        with held(folder):
            asked.save()
            run(asked, console, title=title)
        yield folder


def merged(before: Checks, urls: Sequence[UrlCheck], looks: Sequence[SitemapLook], *, external: bool) -> Checks:
    """Earlier answers and new ones; of the same URL the new one counts, and answers older than a day are dropped."""
    from periplus.apps.audit import Checks

    oldest = time() - 86_400
    known = {check.url: check for check in before.urls if check.checked_at >= oldest}
    known |= {check.url: check for check in urls}
    return Checks(tuple(known.values()), tuple(looks) or before.looks, external or before.external)
