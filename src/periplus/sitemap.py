"""Sitemaps for programs: read them in any form, while they arrive (https://www.sitemaps.org/protocol.html).

    for value in periplus.sitemap.read([body], "https://example.org/sitemap.xml"):
        if isinstance(value, periplus.sitemap.Entry):
            print(value.url, value.lastmod)

A thin public module: `periplus.formats.sitemap` does the work and lists the reasons of problems.
"""

from periplus.formats.sitemap import (
    Alternate,
    Child,
    Entry,
    Image,
    Kind,
    Limits,
    News,
    Reading,
    Restriction,
    Video,
    in_scope,
    read,
)
from periplus.model import Problem

__all__ = [
    "Alternate",
    "Child",
    "Entry",
    "Image",
    "Kind",
    "Limits",
    "News",
    "Problem",
    "Reading",
    "Restriction",
    "Video",
    "in_scope",
    "read",
]
