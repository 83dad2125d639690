"""Finding pages: every way in which a site says where its pages are, and every way in which a URL is written."""

from . import charsets, distance, documents, elements, feeds, malformed, redirects, references, scripts, sitemaps

__all__ = [
    "charsets", "distance", "documents", "elements", "feeds", "malformed", "redirects", "references", "scripts",
    "sitemaps",
]  # fmt: skip
