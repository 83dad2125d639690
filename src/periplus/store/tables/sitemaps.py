"""Rows of `sitemap_entries`: what sites say of their pages, and one row in the end on each sitemap as a whole."""

from __future__ import annotations

from periplus.model import SitemapEntriesRead, SitemapRead
from periplus.urls import site_of

from .columns import lastmod_values

Row = tuple[object, ...]


def entry_rows(event: SitemapEntriesRead) -> list[Row]:
    """A row for each entry, in the order of the sitemap."""
    sitemap, site, read_at = event.url, site_of(event.url), event.read_at
    return [
        (
            entry.url,
            "sitemap" if entry.is_sitemap else "page",
            sitemap,
            site,
            read_at,
            *lastmod_values(entry.lastmod),
            None if entry.changefreq is None else entry.changefreq._value_,
            entry.priority,
            entry.title,
            None,
            None,
            (),
        )
        for entry in event.entries
    ]


def summary_row(event: SitemapRead) -> Row:
    """The row on the sitemap itself, once it was read to its end."""
    return (
        event.url,
        "summary",
        event.url,
        site_of(event.url),
        event.read_at,
        *lastmod_values(event.lastmod),
        None,
        None,
        None,
        event.entries,
        event.children,
        [problem.reason for problem in event.problems],
    )
