"""The arguments of the verbs, with their bounds: the schemas of tools and parameters are made from these."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

from periplus.collection.options import agents_settings

MAX_TOKENS: Final = 25_000
"""Tokens of an answer, at most: what common clients accept."""
MAX_RESULTS: Final = 20
"""Results of a search."""
MAX_MAPPED: Final = 10_000
"""URLs of a map."""
MAX_CRAWLED: Final = 10_000
"""Pages of a crawl that an agent starts."""
MAX_MINUTES: Final = 60
"""Minutes of a crawl that an agent starts."""
MAX_SETTINGS: Final = 100
"""Settings of a crawl that an agent starts."""
MAX_LINKS: Final = 100
"""Useful links of a site."""
MAX_CHANGES: Final = 100
"""Changes in one answer."""

_Collection = Annotated[str, Meta(max_length=300, description="The name of a collection; by default the first.")]
_Site = Annotated[str, Meta(max_length=300, description="The host of a site, such as docs.example.org.")]
_Url = Annotated[str, Meta(min_length=1, max_length=2000, description="The URL of a page.")]


class Search(Struct, frozen=True, forbid_unknown_fields=True):
    """Search the pages of a collection. Returns title, URL, snippet and date of each."""

    query: Annotated[str, Meta(min_length=1, max_length=500, description='Words, "a phrase", -word, site:, lang:.')]
    n: Annotated[int, Meta(ge=1, le=MAX_RESULTS, description="Results, at most.")] = 8
    site: _Site = ""
    lang: Annotated[str, Meta(max_length=35, description="Only pages in this language, such as en.")] = ""
    collection: _Collection = ""


class ReadStored(Struct, frozen=True, forbid_unknown_fields=True):
    """Read the main text of a page in Markdown, as it was crawled."""

    url: _Url
    max_tokens: Annotated[int, Meta(ge=100, le=MAX_TOKENS - 1000, description="Tokens of a part, at most.")] = 8000
    part: Annotated[int, Meta(ge=1, le=10_000, description="Which part of a long page, from 1.")] = 1
    collection: _Collection = ""


class Read(ReadStored, frozen=True, forbid_unknown_fields=True):
    """Read the main text of a page in Markdown: as it was crawled, or fetched now with fresh."""

    fresh: Annotated[bool, Meta(description="Fetch the page now; robots.txt, delays and a budget apply.")] = False


class Map(Struct, frozen=True, forbid_unknown_fields=True):
    """List the URLs that a site publishes in its sitemaps and feeds, without fetching pages."""

    site: Annotated[str, Meta(min_length=1, max_length=2000, description="The site: https://example.org.")]
    filter: Annotated[str, Meta(max_length=200, description="Only URLs that contain this text.")] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_MAPPED, description="URLs, at most.")] = 1000
    collection: _Collection = ""


class Crawl(Struct, frozen=True, forbid_unknown_fields=True):
    """Crawl sites politely into the collection, in the background. Returns an id for crawl_status."""

    seeds: Annotated[list[str], Meta(min_length=1, max_length=100, description="Where to begin.")]
    limit: Annotated[int, Meta(ge=1, le=MAX_CRAWLED, description="Pages, at most.")] = 100
    minutes: Annotated[int, Meta(ge=1, le=MAX_MINUTES, description="Minutes, at most.")] = 10
    settings: Annotated[
        dict[str, bool | int | float | str],
        Meta(max_length=MAX_SETTINGS, description=f"Settings by name, of {', '.join(agents_settings())}."),
    ] = {}
    collection: _Collection = ""


class CrawlStatus(Struct, frozen=True, forbid_unknown_fields=True):
    """Show how a crawl is doing that crawl has started."""

    id: Annotated[str, Meta(min_length=1, max_length=64, description="The id that crawl returned.")]


class Changes(Struct, frozen=True, forbid_unknown_fields=True):
    """List pages that appeared, changed (with a short difference) or vanished."""

    since: Annotated[str, Meta(min_length=1, max_length=40, description="A date, or how long ago: 2026-11-14, 2d.")]
    site: _Site = ""
    n: Annotated[int, Meta(ge=1, le=MAX_CHANGES, description="Changes, at most.")] = 50
    collection: _Collection = ""


class UsefulLinks(Struct, frozen=True, forbid_unknown_fields=True):
    """List the most useful links of a crawled site."""

    site: _Site
    k: Annotated[int, Meta(ge=1, le=MAX_LINKS, description="Links, at most.")] = 8
    collection: _Collection = ""


class SqlQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Query the tables of the collection in SQL (DuckDB): one select, at most 1,000 rows and 10 seconds."""

    sql: Annotated[str, Meta(min_length=1, max_length=10_000, description="One select.")]
    collection: _Collection = ""
