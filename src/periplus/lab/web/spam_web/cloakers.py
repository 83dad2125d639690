"""Hosts that show crawlers something else than browsers, by the name of the program; and innocents that look like them.

* full: crawlers get articles, browsers a casino.
* partial: crawlers get 200 further words.
* redirecting: browsers get a script that sends them to another domain.
* dynamic (innocent): crawlers get the page as HTML, browsers a shell that a script fills in.
* rotating (innocent): advertisements change with every request, and a test shows one of two headings.
"""

from __future__ import annotations

import re

from ..exchange import Answer, Request
from ..randomness import at, key_of
from ..sites import DOMAIN
from ..vocabulary import topics
from .part import Part
from .small_site import HTML, SmallSite, notice, page, plain_style, prose

KINDS = ("full", "partial", "redirecting", "dynamic", "rotating")
CLOAKED = ("full", "partial", "redirecting")
HOSTS_OF = {"full": 2, "partial": 2, "redirecting": 2, "dynamic": 2, "rotating": 5}
"""Number of hosts of each kind: a thousand pages that churn."""
SIZE = 196
"""Articles of each host: with home page and sections, 200 pages."""
_CASINO = f"casino.wins.{DOMAIN}"
_CRAWLER = re.compile(r"bot|crawl|spider|slurp|periplus|archiver|scrapy", re.IGNORECASE)
_ADVERTISEMENTS, _SHOWN = 60, 4
_EXTRA = 200


class Cloakers(Part):
    """The cloakers and the innocents."""

    hosts = tuple(f"{kind}-{number}.cloaks.{DOMAIN}" for kind in KINDS for number in range(HOSTS_OF[kind]))

    def address(self, host: str) -> str | None:
        """Each on its own."""
        return f"127.241.0.{1 + self.hosts.index(host)}" if host in self.hosts else None

    def is_cloaked(self, url: str) -> bool:
        """Every page of the hosts of three kinds."""
        host = url.partition("://")[2].partition("/")[0].partition(":")[0]
        return host in self.hosts and host.partition("-")[0] in CLOAKED

    def answer(self, request: Request) -> Answer | None:
        """By what asks."""
        if request.host not in self.hosts:
            return None
        path, seed = request.target.partition("?")[0], self.world.seed
        site = SmallSite(request.host, seed, SIZE)
        if not site.text(path):
            return notice(404, "Not found", "There is no such page.")
        kind = request.host.partition("-")[0]
        is_crawler = _CRAWLER.search(request.header("user-agent") or "") is not None
        if kind == "rotating":
            return _rotating(request, site, path, seed)
        if kind == "partial" and is_crawler:
            return page(site, path, request.at, plain_style, extra=[_stuffing(key_of(seed, request.host, path))])
        if is_crawler or kind == "partial":
            return page(site, path, request.at, plain_style)
        return _for_browsers(kind, site, path)


def _for_browsers(kind: str, site: SmallSite, path: str) -> Answer:
    if kind == "full":
        body = plain_style("Win now", ["Casino! Play and win today, the first round is free."], [f"http://{_CASINO}/"])
        return Answer(200, HTML, body)
    script = f'location.href = "http://{_CASINO}/";' if kind == "redirecting" else "renderPage(document.body);"
    title = site.title(path)
    text = " ".join(site.text(path)) if kind == "redirecting" else "Loading the page."
    document = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<script>{script}</script></head>\n<body><div id=app>{text}</div></body></html>\n"
    )
    return Answer(200, HTML, document.encode())


def _rotating(request: Request, site: SmallSite, path: str, seed: int) -> Answer:
    """Four of sixty advertisements, and one of two headings, by the moment of the request."""
    luck = key_of(seed, request.host, path, int(request.at * 1000))
    shown = [at(luck, place) % _ADVERTISEMENTS for place in range(_SHOWN)]
    extra = [prose(key_of(seed, "advertisement", number), 2) for number in shown]
    links = [f"http://ads.{DOMAIN}/{number}?seen={luck:016x}" for number in shown]
    heading = prose(key_of(seed, "heading", luck & 1), 1)
    text = [heading, *site.text(path), *extra]
    return Answer(200, HTML, plain_style(site.title(path), text, [*site.links(path), *links]))


def _stuffing(key: int) -> str:
    """Two hundred different words."""
    words = topics()
    first = key % len(words)
    return " ".join(words[(first + 7 * place) % len(words)].decode() for place in range(_EXTRA))
