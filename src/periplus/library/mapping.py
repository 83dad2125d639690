"""`periplus.map`: every URL that a site publishes in its sitemaps and feeds, and whether a crawl would fetch it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

from msgspec import Struct

from periplus.apps.mapping.cost import map_folder, map_settings
from periplus.apps.mapping.listed_urls import Judging
from periplus.collection import collection as plans
from periplus.collection.options import asked_settings
from periplus.collection.running import CrawlRun
from periplus.engine.plugins import OwnParts
from periplus.insight.listed import listed_urls

from .keywords import MapKeywords
from .signature import takes_settings


class MappedUrl(Struct, frozen=True):
    """A URL that a site publishes, the first file that lists it, and the metadata in that file.

    `files` is the number of files that list it; `lastmod` a POSIX time. `reason` is why a crawl would not fetch it,
    with the rule that says so; empty if it would. `size` is in bytes, if a metadata archive lists the URL.
    """

    url: str
    sitemap: str
    files: int
    lastmod: float | None
    changefreq: str | None
    priority: float | None
    reason: str
    rule: str
    size: int | None = None


@takes_settings("map", MapKeywords)
def map(  # noqa: A001 - the command has this name, too
    site: str,
    *,
    out: str | PathLike[str] | None = None,
    config: str | PathLike[str] | None = None,
    settings: Mapping[str, object] | None = None,
    **options: Unpack[MapKeywords],
) -> list[MappedUrl]:
    """Every URL that a site publishes, without fetching pages: its robots.txt, sitemaps and feeds are read.

    With `out`, what was fetched is kept in that collection. `config` and the keywords below are the options of
    `periplus map`; `settings` has any others by their names (`docs/settings.md`).
    """
    with map_folder(None if out is None else Path(out)) as folder:
        asked = map_settings(folder, asked_settings("map", options, settings))
        file = None if config is None else Path(config)
        return _mapped(plans.planned(folder, typed=[site], settings=file, options=asked))


def map_found(site: str, asked: Mapping[str, object]) -> list[MappedUrl]:
    """Like `map`, for a site that no person has typed: it opens no private address. `asked` are further settings."""
    with map_folder(None) as folder:
        return _mapped(plans.planned(folder, found=[site], options=map_settings(folder, asked)))


def _mapped(plan: plans.CollectionSetup) -> list[MappedUrl]:
    with plans.held(plan.folder):
        plan.save()
        run = CrawlRun(plan, parts=OwnParts(credentials=plan.credentials))
        for statuses in run.open().progress():
            run.read(statuses)
        run.end()
        return list(_listed(plan))


def _listed(plan: plans.CollectionSetup) -> Iterator[MappedUrl]:
    layout = plan.layout
    spooled = layout.spooled  # before the states are opened, which can be done once in a process
    with TemporaryDirectory(prefix="periplus-map-") as scratch, plans.states(layout) as opened:
        judging = Judging(plan, opened)
        for each in listed_urls(layout.tables, Path(scratch), judging.names, spooled=spooled):
            verdict = judging.judge(each)
            yield MappedUrl(
                each.url,
                each.sitemap,
                each.files,
                each.lastmod,
                each.changefreq,
                each.priority,
                verdict.reason,
                verdict.rule,
                each.size,
            )
