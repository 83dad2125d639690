"""The views of broken links, redirect chains, orphans and repeated titles, on a collection of a few rows."""

from __future__ import annotations

from pathlib import Path

from tests.insight.asked_collection import Made

HOME = "http://a.test/"


def made(folder: Path) -> Made:
    """A home page with links to a dead page, a redirect chain and two pages of one title; a listed page has no link."""
    site = Made(folder)
    site.told(HOME, "seed")
    site.got(HOME, 1, [f"{HOME}removed"], when=10)
    links = [f"{HOME}{name}" for name in ("dead", "old", "one", "two")]
    site.got(HOME, 2, links, when=100)
    for url in (*links, f"{HOME}removed"):
        site.told(url, "link", 101, referrer=HOME)
    for url in (f"{HOME}dead", f"{HOME}removed"):
        site.asked(url, 404)
    site.asked(f"{HOME}old", 301, target=f"{HOME}older")
    site.told(f"{HOME}older", "redirect", 102)
    site.asked(f"{HOME}older", 301, target=f"{HOME}one")
    site.got(f"{HOME}one", 3, title="Same")
    site.got(f"{HOME}two", 4, title="same ")
    site.told(f"{HOME}lonely", "sitemap", 50)
    site.got(f"{HOME}lonely", 5, title="Lonely")
    site.told(f"{HOME}one", "sitemap", 50)
    return site


def test_the_views_of_an_audit(tmp_path: Path) -> None:
    """Links that a page had before its last reading do not count."""
    with made(tmp_path).views() as views:
        assert views.rows("select page, url, status from broken_links") == [
            {"page": HOME, "url": f"{HOME}dead", "status": 404}
        ]
        chains = views.rows("select url, hops, ends_at, is_start, is_loop from redirect_chains order by hops desc")
        assert chains == [
            {"url": f"{HOME}old", "hops": 2, "ends_at": f"{HOME}one", "is_start": True, "is_loop": False},
            {"url": f"{HOME}older", "hops": 1, "ends_at": f"{HOME}one", "is_start": False, "is_loop": False},
        ]
        assert views.rows("select url from orphans") == [{"url": f"{HOME}lonely"}]
        assert views.rows("select pages, urls from duplicate_titles") == [
            {"pages": 2, "urls": [f"{HOME}one", f"{HOME}two"]}
        ]


def test_a_loop_of_redirects_ends(tmp_path: Path) -> None:
    """Each URL of the loop is a start."""
    site = Made(tmp_path)
    for url, target in (("x", "y"), ("y", "x")):
        site.told(f"{HOME}{url}", "seed")
        site.asked(f"{HOME}{url}", 301, target=f"{HOME}{target}")
    with site.views() as views:
        loops = views.rows("select url, is_loop, is_start from redirect_chains order by url")
    assert loops == [{"url": f"{HOME}{name}", "is_loop": True, "is_start": True} for name in ("x", "y")]
