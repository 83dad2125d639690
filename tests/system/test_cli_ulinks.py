"""`periplus ulinks` on a site of which everything is known, over the wire, and on a crawl of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb, page, urlset
from tests.system.typed import Run

HOME = "http://site.test"
BOOKS = [f"{HOME}/books/{number}" for number in range(30)]
MUSIC = [f"{HOME}/music/{number}" for number in range(10)]


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    """Two long lists, only one of which has a page; and a page about the site."""
    said: dict[str, str | bytes] = {
        f"{HOME}/": page("Home - Site", f"{HOME}/books/", f"{HOME}/about").replace(
            f">{HOME}/books/<", ">All our books<"
        ),
        f"{HOME}/robots.txt": f"Sitemap: {HOME}/sitemap.xml",
        f"{HOME}/sitemap.xml": urlset(*BOOKS, *MUSIC, f"{HOME}/books/", f"{HOME}/about"),
        f"{HOME}/books/": page("Books - Site", *BOOKS),
        f"{HOME}/about": page("About - Site"),
        f"{HOME}/music/": page("Music - Site", *MUSIC),
    }
    said |= {url: page(url) for url in (*BOOKS, *MUSIC)}
    with ScriptedWeb(said) as served:
        yield served


def typed(web: ScriptedWeb, *args: str) -> tuple[str, ...]:
    return ("ulinks", HOME, "--proxy", web.base, "--delay", "0", "-k", "3", *args)


def test_links_come_from_the_sitemap_alone(run: Run, web: ScriptedWeb) -> None:
    """No page is fetched; a section without a known page is shown by one below."""
    said = run(*typed(web, "--json"))
    found = json.loads(said.stdout)
    assert said.returncode == 0
    assert [(link["section"], link["pages"], link["is_listed"]) for link in found["ulinks"]] == [
        ("site.test/books", 31, True),
        ("site.test/music", 10, False),
        ("site.test/about", 1, True),
    ]
    assert (found["site"], found["source"], found["urls"], found["tree"]["nodes"]) == ("site.test", "sitemaps", 42, 44)
    assert {url for url in web.asked if not url.endswith((".txt", ".xml"))} == set()


def test_the_pages_chosen_are_looked_at_if_asked(run: Run, web: ScriptedWeb) -> None:
    """A prefix that turns out to be a page is shown as it is; titles come from links and pages."""
    said = run(*typed(web, "--json", "--pages"))
    links = json.loads(said.stdout)["ulinks"]
    assert [(link["url"], link["title"]) for link in links] == [
        (f"{HOME}/books/", "All our books"),
        (f"{HOME}/music/", "Music"),
        (f"{HOME}/about", "About"),
    ]


@pytest.mark.proof
def test_links_come_from_a_crawl(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """With the names that pages give each other, on a terminal's lines, too."""
    folder = str(tmp_path / "c")
    run("crawl", HOME, "-o", folder, "--proxy", web.base, "--delay", "0", "--sitemaps", "--workers", "1")
    found = json.loads(run("ulinks", folder, "--json", "-k", "2").stdout)
    assert [link["url"] for link in found["ulinks"]] == [f"{HOME}/books/", f"{HOME}/music/0"]
    assert found["ulinks"][0]["title"] == "All our books"
    said = run("ulinks", folder, "--site", "site.test")
    assert "All our books" in said.stdout
    assert run("ulinks", folder, "--site", "nobody.test").returncode == 2


def test_a_site_that_lists_nothing_has_no_links(run: Run, web: ScriptedWeb) -> None:
    """The exit code says so."""
    web.said = {f"{HOME}/": page("Home")}
    said = run(*typed(web))
    assert said.returncode == 1
    assert "nothing to choose from" in said.stdout
