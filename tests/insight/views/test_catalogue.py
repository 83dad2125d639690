"""The views of broken links, redirect chains, orphans and repeated titles, on a collection of a few rows."""

from __future__ import annotations

from pathlib import Path

from tests.insight.asked_collection import Made

from periplus.apps.audit import judge
from periplus.apps.audit.page_facts import read_facts

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


def test_a_link_to_a_redirect_that_leads_nowhere_is_broken(tmp_path: Path) -> None:
    """At its end, over any number of redirects, is an error, or there is no end; one to a page is not broken."""
    site = Made(tmp_path)
    names = ("far", "x", "self", "well")
    site.told(HOME, "seed")
    site.got(HOME, 1, [HOME + name for name in names])
    for url, target in (("far", "near"), ("near", "dead"), ("x", "y"), ("y", "x"), ("self", "self"), ("well", "")):
        site.told(HOME + url, "link", 101, referrer=HOME)
        site.asked(HOME + url, 301, target=HOME + target)
    site.told(f"{HOME}dead", "redirect", 102)
    site.asked(f"{HOME}dead", 404)
    with site.views() as views:
        found = views.rows("select url, status, reason, ends_at from broken_links order by url")
        facts = read_facts(views, ["a.test"])
        audited = judge(views, ["a.test"], None, is_whole=True, facts=facts).audit
    assert found == [
        {"url": f"{HOME}far", "status": 404, "reason": None, "ends_at": f"{HOME}dead"},
        {"url": f"{HOME}self", "status": 301, "reason": "redirect-loop", "ends_at": f"{HOME}self"},
        {"url": f"{HOME}x", "status": 301, "reason": "redirect-loop", "ends_at": f"{HOME}x"},
    ]
    places = {each.name: {example.url: example.note for example in each.examples} for each in audited.findings}
    assert places["broken-links"] == {
        f"{HOME}far": f"404 after {HOME}far → {HOME}near → {HOME}dead, linked from one page",
        f"{HOME}self": f"redirect loop after {HOME}self → {HOME}self, linked from one page",
        f"{HOME}x": f"redirect loop after {HOME}x → {HOME}y → {HOME}x, linked from one page",
    }
    assert places["redirected-links"].keys() == {f"{HOME}well"}
