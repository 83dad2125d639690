"""Rows of `pages`: what a page says, without its text, which stays in the WARC, and its links, a table of their own."""

from __future__ import annotations

from periplus.model import PageRead
from periplus.urls import site_of

Row = tuple[object, ...]


def page_row(event: PageRead) -> Row:
    """The row of a page. Words are not counted: that would take longer than all else here."""
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
    )
