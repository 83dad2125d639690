"""What a collection knows of a site, for programs: useful links, and pages, languages, hubs, feeds, freshness.

The Berkeley report on web site metadata proposed such a service: what sites say of themselves, worked out once for all
who need it.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from periplus.apps.report.making import SiteUlinks, WantedLinks, ulinks_of
from periplus.collection.facts.lookup import RobotsFacts, SiteFacts, site_facts
from periplus.model import SiteFreshness, UsageError
from periplus.urls import canonical, site_of

from .browse_tables import SQL
from .rendering import json_response
from .routing import Audience, Operation, Parameter, route
from .search_api import COLLECTION
from .served import ServedCollection, chosen_collection

_LINKS = 8
_MAX_LINKS = 100
_MAX_SITE = 300
"""Characters of the name of a site: a host name has 253, a port 6."""
_LISTED = 20
"""Hubs and feeds of a site that are listed."""
_PAGES = """
select count(*) as pages, count(*) filter (where noindex) as noindex, max(read_at) as last_read_at
from (select noindex, read_at from pages where site = $site
    qualify row_number() over (partition by url order by read_at desc) = 1)
"""
_HUBS = """
select referrer as url, count(*) as introduced from discoveries
where source = 'link' and is_new and referrer in (select url from pages where site = $site)
group by 1 order by 2 desc, 1 limit $limit
"""
_FEEDS = """
select url, kind, entries, read_at from sitemaps where site = $site and kind in ('rss', 'atom')
qualify row_number() over (partition by url order by visited_at desc) = 1 order by url limit $limit
"""
_SITEMAPS = """
select count(distinct url) as files, coalesce(sum(entries), 0)::bigint as entries from (
    select url, entries from sitemaps where site = $site and coalesce(kind, '') not in ('rss', 'atom')
    qualify row_number() over (partition by url order by visited_at desc) = 1)
"""


class Hub(Struct, frozen=True):
    """A page that links to new pages, and how many it was the first to link to."""

    url: str
    introduced: int


class Feed(Struct, frozen=True):
    """A feed of the site; `entries` at the last reading."""

    url: str
    kind: str
    entries: int | None
    read_at: datetime | None


class SiteAnswer(Struct, frozen=True):
    """What is known of a site. Counts are of pages that were read."""

    site: str
    pages: int
    noindex: int
    last_read_at: datetime | None
    languages: dict[str, int]
    hubs: tuple[Hub, ...]
    feeds: tuple[Feed, ...]
    sitemap_files: int
    sitemap_entries: int
    queued: int
    failures: int
    given_up: str
    """Why the site is not visited any more; empty if it is."""
    delay: float
    """Seconds between two requests."""
    robots: RobotsFacts | None
    freshness: SiteFreshness | None


def routes() -> list[Route]:
    """The routes of this module."""
    site = Parameter("site", "The host of a site, with its port if it has one.", is_required=True)
    return [
        route(
            "/api/ulinks",
            _ulinks,
            audience=Audience.VIEWER,
            operation=Operation(
                "The most useful links of a site.",
                (
                    site,
                    Parameter("n", f"Number of links, 1 to {_MAX_LINKS}; by default {_LINKS}.", "integer"),
                    COLLECTION,
                ),
                SiteUlinks,
            ),
        ),
        route(
            "/api/sites/{site}",
            _site,
            audience=Audience.VIEWER,
            operation=Operation(
                "What is known of a site: pages, languages, hubs, feeds, freshness.",
                (Parameter("site", site.description, is_required=True, is_in_path=True), COLLECTION),
                SiteAnswer,
            ),
        ),
    ]


def _ulinks(request: Request) -> Response:
    collection, site = chosen_collection(request), _site_named(request.query_params.get("site", ""))
    text = request.query_params.get("n", str(_LINKS))
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= _MAX_LINKS):
        raise HTTPException(400, f"n must be a number from 1 to {_MAX_LINKS}.")
    number = int(text)

    def chosen() -> SiteUlinks:
        return ulinks_of(collection.collection, WantedLinks(number, number, False), site)[0]

    try:
        return json_response(collection.remembered(("ulinks", site, number), chosen))
    except UsageError:
        raise HTTPException(404, "The collection has no such site.") from None


def _site(request: Request) -> Response:
    collection, site = chosen_collection(request), _site_named(request.path_params["site"])
    facts = site_facts(collection.collection, site_of(canonical(f"http://{site}/") or ""))  # type: ignore[arg-type]
    if facts is None:
        raise HTTPException(404, "The collection has no such site.")
    return json_response(collection.remembered(("site", site), lambda: _known(collection, facts)))


def _site_named(text: str) -> str:
    """A site as people write it; 400 if it cannot be one."""
    url = canonical(text if "://" in text else f"http://{text}/") if 0 < len(text) <= _MAX_SITE else None
    if url is None:
        raise HTTPException(400, "site must be the host of a site, such as docs.example.org.")
    return str(site_of(url))


def _known(collection: ServedCollection, facts: SiteFacts) -> SiteAnswer:
    one: dict[str, object] = {"site": str(facts.site)}
    several = one | {"limit": _LISTED}
    declared = SQL["site.languages"].format(site="$site")
    with collection.views() as views:
        pages = views.rows(_PAGES, one)[0]
        files = views.rows(_SITEMAPS, one)[0]
        return SiteAnswer(
            site=str(facts.site),
            pages=pages["pages"],
            noindex=pages["noindex"],
            last_read_at=pages["last_read_at"],
            languages={row["language"]: row["pages"] for row in views.rows(f"{declared} limit 50", one)},
            hubs=tuple(Hub(**row) for row in views.rows(_HUBS, several)),
            feeds=tuple(Feed(**row) for row in views.rows(_FEEDS, several)),
            sitemap_files=files["files"],
            sitemap_entries=files["entries"],
            queued=sum(facts.queued.values()),
            failures=facts.failures,
            given_up=facts.retired,
            delay=facts.delay,
            robots=facts.robots,
            freshness=facts.freshness,
        )
