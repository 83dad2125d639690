"""What the measures of a crawl must be, worked out from the world that was crawled and from nothing that crawls.

A crawler that obeys robots.txt and follows everything knows of a page by Discovery if it is a seed, or a page that it
got links or redirects there; and by Sitemaps if a sitemap or feed of its own host lists it. What each URL answers, what
it shows, and where it leads, the world says; what is a copy of what, it has planted.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from tests.lab.crawling import place

from periplus_lab import World
from periplus_lab.http import Request

_HREF = re.compile(rb'<a href="([^"]*)"')
_CANONICAL = re.compile(rb'<link rel="canonical" href="([^"]*)"')
_NOINDEX = re.compile(rb'<meta name="robots" content="[^"]*noindex')
_FEED = re.compile(rb'<link rel="alternate" type="application/(?:rss|atom)\+xml"[^>]* href="([^"]*)"')
_ITEM = re.compile(rb"<item>.*?<link>([^<]+)</link>|<entry>.*?<link href=\"([^\"]+)\"/>", re.DOTALL)
_IDLE = re.compile(r"[?&]utm_source=[^&]*$")


class Shown(NamedTuple):
    """What a URL answers, and says: where its anchors lead, in order, and the URL that it names as its own."""

    status: int
    target: str = ""
    anchors: tuple[str, ...] = ()
    canonical: str = ""
    noindex: bool = False
    feed: str = ""


class Truth(NamedTuple):
    """What is to be known at the end: who tells of what, and what every URL that may be asked for answers."""

    listed: set[str]
    linked: set[str]
    shown: dict[str, Shown]

    @property
    def pages(self) -> set[str]:
        return {url for url, shown in self.shown.items() if shown.status == 200}


def known(world: World, seeds: Iterable[str], without: str) -> Truth:
    """Everything that can be known from these seeds and from sitemaps; nothing that has `without` in it."""
    found = Truth({url for url in _listed(world) if without not in url}, set(seeds), {})
    waiting = deque([*found.linked, *found.listed])
    while waiting:
        url = waiting.popleft()
        if url in found.shown or not world.allowed("periplus", url):
            continue
        shown = found.shown[url] = look(world, url)
        named = (shown.canonical,) if shown.canonical else ()
        ways = {tidy(way) for way in (*shown.anchors, *named, *((shown.target,) if shown.target else ()))}
        found.linked.update(ways)
        items = {tidy(item) for item in _items(world, shown.feed)}
        found.listed.update(items)
        waiting.extend([*ways, *items])
    return found


def tidy(url: str) -> str:
    """Without a parameter that is known everywhere to say nothing."""
    return _IDLE.sub("", url)


def _listed(world: World) -> Iterator[str]:
    """What the sitemaps of each site say of it; of other sites they may say nothing."""
    for site in world.sites():
        for _, entry in world.listed(site.host, world.epoch):
            if place(entry.url)[0] == site.host:
                yield tidy(entry.url)


def _items(world: World, feed: str) -> list[str]:
    if not feed:
        return []
    host = place(feed)[0]
    found = [
        (one or other).decode().replace("&amp;", "&") for one, other in _ITEM.findall(world.content(feed, world.epoch))
    ]
    return [url for url in found if place(url)[0] == host]


def look(world: World, url: str) -> Shown:
    """What a URL answers."""
    host, target = place(url)
    said = world.answer(Request("GET", host, target, (("user-agent", "periplus"),), world.epoch))
    if said.status in (301, 302):
        return Shown(said.status, dict(said.headers)["Location"])
    if said.status != 200:
        return Shown(said.status)
    body = said.body if isinstance(said.body, bytes) else b"".join(said.body)
    named, feed = _CANONICAL.search(body), _FEED.search(body)
    return Shown(
        200,
        "",
        tuple(_absolute(href, host) for href in _HREF.findall(body)),
        _absolute(named[1], host) if named else "",
        bool(_NOINDEX.search(body)),
        _absolute(feed[1], host) if feed else "",
    )


def _absolute(href: bytes, host: str) -> str:
    url = href.replace(b"&amp;", b"&").decode()
    return url if url.startswith("http") else f"http://{host}{url}"


def clusters(world: World, truth: Truth) -> dict[str, str]:
    """For every page what it shows: the page that it was planted as a copy of, byte by byte."""
    names = {pair.url: pair.of for pair in world.duplicates(world.epoch)}

    def root(url: str) -> str:
        host, path = place(url)
        if path.startswith("/print/"):
            return root(f"http://{host}{path.removeprefix('/print')}")
        return root(names[url]) if url in names else url

    return {url: sha256(world.content(root(url), world.epoch)).hexdigest() for url in truth.pages}


def pageranks(truth: Truth, damping: float = 0.85) -> dict[str, float]:
    """By power iteration, as in textbooks: anchors as often as they are there, and redirects."""
    ways: defaultdict[str, list[str]] = defaultdict(list)
    for url, shown in truth.shown.items():
        ways[url] = [*shown.anchors, *((shown.target,) if shown.target else ())]
    names = sorted({*(url for url, targets in ways.items() if targets), *(t for ts in ways.values() for t in ts)})
    number = {name: at for at, name in enumerate(names)}
    heads = np.array([number[url] for url, targets in ways.items() for _ in targets])
    tails = np.array([number[target] for targets in ways.values() for target in targets])
    degree = np.bincount(heads, minlength=len(names))
    ranks = np.full(len(names), 1 / len(names))
    for _ in range(200):
        passed = np.bincount(tails, weights=(ranks / np.maximum(degree, 1))[heads], minlength=len(names))
        ranks = damping * (passed + ranks[degree == 0].sum() / len(names)) + (1 - damping) / len(names)
    return dict(zip(names, ranks.tolist(), strict=True))


def missed(world: World, truth: Truth, of: dict[str, str]) -> dict[str, str]:
    """What each URL is that was crawled and that Sitemaps do not tell of; `of`: what each page shows."""
    ranks = pageranks(truth)
    members = defaultdict(list)
    for url, shows in of.items():
        members[shows].append(url)
    best = {
        shows: min(urls, key=lambda url: (url not in truth.listed, -ranks.get(url, 0.0), len(url), url))
        for shows, urls in members.items()
    }
    return {
        url: _class(world, url, shown, best.get(of.get(url, ""), url), members[of.get(url, "")])
        for url, shown in truth.shown.items()
        if url not in truth.listed
    }


def _class(world: World, url: str, shown: Shown, best: str, same: list[str]) -> str:
    if shown.status >= 400:
        return "error"
    if shown.target:
        return "redirect"
    path, _, query = url.partition("?")
    if best != url or shown.canonical not in ("", url):
        others = [*(other for other in same if other != url), shown.canonical]
        is_variant = bool(query) and any(other.partition("?")[0] == path for other in others)
        return "duplicate-parameter" if is_variant else "duplicate-other"
    if shown.noindex:
        return "noindex"
    return "table-of-contents" if _is_listing(world, url) else "missing"


def _is_listing(world: World, url: str) -> bool:
    """Home pages, pages that tell what is new, and lists: whatever is not an article."""
    found = world._find(url)
    meant = found[0].live.paths.read(found[1]) if found else None
    return meant is not None and meant.slot < world.site(place(url)[0]).first_article
