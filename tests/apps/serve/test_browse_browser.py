"""The pages in a real browser: wide and narrow, light and dark, logged in and out; nothing leaves the machine."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest
from tests.apps.serve.asking import Site
from tests.apps.serve.conftest import EVIL, Serving
from tests.lab.chromium_page import Chromium
from tests.library.small_web import SEED


@pytest.fixture(autouse=True)
def _nothing_is_wrong(browser: Chromium) -> Iterator[None]:
    """No page complains, and no request leaves this machine."""
    browser.complaints.clear()
    browser.requests.clear()
    yield
    assert browser.complaints == []
    assert {urlsplit(each).hostname for each in browser.requests if not each.startswith("data:")} <= {"127.0.0.1"}


@pytest.mark.proof
def test_a_search(browser: Chromium, site: Site) -> None:
    """Typed into the form and sent, without scripts."""
    browser.visit(site.url, 1200)
    assert browser.run("document.scripts.length") == 0
    browser.run("document.querySelector('[name=q]').value = 'long time'")
    browser.act("document.querySelector('form.search').requestSubmit()")
    assert browser.run("location.search").startswith("?q=long+time")
    assert browser.run("document.querySelector('.results a').href") == f"{SEED}about"
    assert browser.run("[...document.querySelectorAll('li:first-child mark')].map(each => each.textContent)") == [
        "long",
        "time",
    ]


@pytest.mark.parametrize("path", ["?q=product&n=50", "?q=marigold", "?q=lighthouse", "", "api", "login"])
def test_nothing_is_wider_than_a_phone(browser: Chromium, site: Site, path: str) -> None:
    """No page scrolls sideways at 360 pixels."""
    browser.visit(site.url + path, 360)
    assert browser.run("document.documentElement.scrollWidth") <= 360


LINES = """
[...document.querySelectorAll('td.url a:first-child')].slice(0, 30).map(each => {
  const text = document.createTreeWalker(each, NodeFilter.SHOW_TEXT), parts = [];
  while (text.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(text.currentNode);
    const lines = new Set([...range.getClientRects()].map(place => Math.round(place.top))).size;
    parts.push(text.currentNode.length <= 24 ? lines : 1);
  }
  return parts;
})
"""
"""For every URL of a table: on how many lines each part between two slashes is, if it fits on one."""


@pytest.mark.parametrize("path", ["collection/pages", "collection/tables/fetches", "collection/sitemaps"])
def test_urls_of_tables_break_at_slashes_on_a_phone(browser: Chromium, site: Site, path: str) -> None:
    """No part of a path that fits on a line is broken, so that a reader sees how each URL ends."""
    browser.visit(site.url + path, 360)
    assert browser.run("document.documentElement.scrollWidth") <= 360
    lines = browser.run(LINES)
    assert any(len(parts) > 1 for parts in lines) or path == "collection/sitemaps"
    assert [parts for parts in lines if max(parts) > 1] == []


def test_links_to_pages_are_there_once(browser: Chromium, site: Site) -> None:
    """The menu of a collection says what the bar above it does not; the bar shows where one is."""
    browser.visit(f"{site.url}collection/sites", 360)
    links = browser.run("[...document.querySelectorAll('nav a')].map(each => each.textContent)")
    assert len(links) == len(set(links))
    assert browser.run("document.querySelector('.bar [aria-current]').textContent") == "Collection"


def test_a_site_is_chosen_from_those_of_the_index(browser: Chromium, site: Site) -> None:
    """And the form stands at the top of a phone's screen."""
    browser.visit(site.url, 400)
    sites = browser.run("[...document.querySelector('select[name=site]').options].map(each => each.value)")
    assert sites == ["", "shop.test", "evil.test"]
    assert browser.run("document.querySelector('.front h1').getBoundingClientRect().top") < 120


def test_dark_and_light(browser: Chromium, site: Site) -> None:
    """As the system asks; text and ground stay apart."""
    grounds = []
    for is_dark in (False, True):
        browser.visit(f"{site.url}?q=product", 800, is_dark=is_dark)
        ground, ink = (_brightness(browser, name) for name in ("backgroundColor", "color"))
        assert abs(ground - ink) > 120
        grounds.append(ground)
    assert grounds[0] > 200 > 80 > grounds[1]


def _brightness(browser: Chromium, name: str) -> float:
    colour = str(browser.run(f"getComputedStyle(document.body).{name}"))
    return sum(int(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]) / 3


def test_markup_of_pages_does_nothing(browser: Chromium, site: Site) -> None:
    """Not in results, and not in the stored copy, whose scripts, images, forms and refresh are blocked."""
    browser.visit(f"{site.url}?q=marigold", 800)
    assert browser.run("document.title") == "marigold – Periplus"
    browser.visit(f"{site.url}cached?url={quote(EVIL, safe='')}", 800)
    assert "marigold" in browser.run("document.body.innerText")
    assert browser.run("document.title") != "owned"
    assert browser.run("origin") == "null"
    assert browser.run("location.pathname") == "/cached"
    blocked = [each for each in browser.complaints if "Content Security Policy" in each or "sandboxed" in each]
    assert blocked == browser.complaints != []
    browser.complaints.clear()
    asked = [each for each in browser.requests if "evil.test" in urlsplit(each).netloc]
    browser.requests[:] = [each for each in browser.requests if each not in asked]
    assert all(each == f"{EVIL}pixel.png" for each in asked)  # reported as asked for, and blocked


def test_login_and_logout(browser: Chromium, serving: Serving) -> None:
    """By the forms alone."""
    site = serving(token="a-token-for-the-browser")
    browser.visit(f"{site.url}?q=product", 800)
    assert browser.run("location.pathname") == "/login"
    browser.run("document.querySelector('[name=token]').value = 'a-token-for-the-browser'")
    browser.act("document.querySelector('form.login').requestSubmit()")
    assert browser.run("location.pathname + location.search") == "/?q=product"
    assert browser.run("document.cookie") == ""
    browser.act("document.querySelector('form.session').requestSubmit()")
    assert browser.run("location.pathname") == "/login"


def test_on_paper(browser: Chromium, site: Site) -> None:
    """The form and the bar are not printed."""
    browser.visit(f"{site.url}?q=product", 800)
    browser("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.querySelector('.search')).display") == "none"
    browser("Emulation.setEmulatedMedia", media="")
