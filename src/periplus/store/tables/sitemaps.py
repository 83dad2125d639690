"""Rows of `sitemaps`: every visit to a file that a site publishes about itself. The last one of a file is its state."""

from __future__ import annotations

from periplus.model import SitemapVisited
from periplus.urls import site_of

Row = tuple[object, ...]


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
