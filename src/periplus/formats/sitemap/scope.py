"""Which URLs a sitemap may list: the location rule of https://www.sitemaps.org/protocol.html#location."""

from __future__ import annotations

from periplus.urls import whatwg


def in_scope(sitemap_url: str, url: str) -> bool:
    """Whether `url` lies under the directory of the sitemap, on the same host, port and scheme.

    A robots.txt that names the sitemap lifts the rule for its own host; that is for the caller to know.
    """
    sitemap, page = whatwg(sitemap_url), whatwg(url)
    if sitemap is None or page is None:
        return False
    path = sitemap.partition("#")[0].partition("?")[0]
    return page.startswith(path[: path.rfind("/") + 1])
