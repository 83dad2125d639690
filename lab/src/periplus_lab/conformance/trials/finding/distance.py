"""Pages that are many links away."""

from __future__ import annotations

from ...cases import Case, Trial, trial
from ...sites import Web

_PAGES = 30
_WORDS = "bay cape delta fog gulf helm island jetty keel lagoon mast oar pier quay reef sail tide vessel wharf yard"


@trial("finding")
def distance(web: Web) -> Trial:
    """A list on 30 pages, each of which links the next, and a tree of 20 levels."""
    site = web.site()
    for number in range(1, _PAGES + 1):
        site.page(f"/list?page={number}", *([f"/list?page={number + 1}"] if number < _PAGES else []))
    levels = [f"/tree/{word}" for word in _WORDS.split()]
    for level, target in enumerate(levels):
        site.page(target, *levels[level + 1 : level + 2])
    listing = "".join(f'<a href="{name}">{name}</a> 2025-01-06 09:00\n' for name in ("a.html", "b%20c.html"))
    site.text(
        "/listing/",
        "<html><head><title>Index of /listing</title></head><body><h1>Index of /listing</h1><pre>"
        f'<a href="?C=N;O=D">Name</a> <a href="?C=M;O=A">Last modified</a><hr><a href="/">Parent Directory</a>\n'
        f"{listing}<hr></pre></body></html>\n",
        "text/html; charset=utf-8",
    )
    site.pages(("/listing/a.html", "/listing/b%20c.html"))
    site.page("/", "/list?page=1", levels[0], "/listing/")
    return Trial(
        seed=site.url(),
        seconds=240.0,
        cases=(
            Case(
                name="pagination",
                says="A list is followed to its last page, 30 links away.",
                source="Google Search Central: Pagination (every page links the next with an ordinary link)",
                wants=site.urls("/list?page=1", f"/list?page={_PAGES}"),
            ),
            Case(
                name="depth",
                says="A page is found that is 20 links away from the seed.",
                source="Baeza-Yates and Castillo, Crawling the Infinite Web, 2004 (most sites end before level 15)",
                wants=site.urls(levels[0], levels[-1]),
            ),
            Case(
                name="directory-listing",
                says="The files of a directory that a server lists are links.",
                source="Apache HTTP Server: mod_autoindex",
                wants=site.urls("/listing/", "/listing/a.html", "/listing/b%20c.html"),
            ),
        ),
    )
