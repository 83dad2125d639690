"""Hosts that a crawl judges: soft 404s, parked domains, cloakers and mirrors, with innocents of each kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from ..http import Answer, Request
from ..randomness import at, key_of, topics
from ..sites import DOMAIN
from .part import DAY, HTML, SECTIONS, Mirror, Nuisance, SmallSite, framed_style, notice, page, plain_style, prose

ABSENT_KINDS = ("apology", "homeward", "sections", "honest", "shell", "wall")
HOSTS_A_KIND = 2
ABSENT_SIZE = 60
_ONE_IN = 5
"""One article in five links to a page that was deleted."""
_SOFT = ("apology", "homeward", "sections")
_SORRY = {
    SECTIONS[0]: ("Guide not found", "This guide has been removed. Have a look at our other guides, or search for it."),
    SECTIONS[1]: ("No such report", "The report that you are looking for could not be found among our news of today."),
    SECTIONS[2]: ("Nobody here", "We do not know this person, or they have asked us to forget them in the meantime."),
}
_CONSENT = "We value your privacy. Please agree to our cookies and those of our partners to continue to the page."
_SHELL = b"<!doctype html><title>App</title><div id=app></div><script src=/app.js></script>\n"
_ELSEWHERE = ("Page not found", "Sorry, there is nothing at this address any more. Please start at our home page.")


class AbsentPages(Nuisance):
    """Sites whose deleted pages answer 200, or redirect; and innocents.

    * apology: 200 and a page that says sorry, with a few links to other pages.
    * homeward: a redirect to the home page.
    * sections: each section has a page of its own for what is missing.
    * honest (innocent): 404; one of its articles is about the status code 404.
    * shell (innocent): every page is an empty document that a script fills in.
    * wall (innocent): every page asks for consent, and says nothing else.
    """

    hosts = tuple(f"{kind}-{number}.absent.{DOMAIN}" for kind in ABSENT_KINDS for number in range(HOSTS_A_KIND))

    def address(self, host: str) -> str | None:
        """The address of a host: each has its own."""
        return f"127.242.0.{1 + self.hosts.index(host)}" if host in self.hosts else None

    def is_error(self, url: str) -> bool:
        """What is not a page of a site that hides its errors."""
        host, _, rest = url.partition("://")[2].partition("/")
        host, path = host.partition(":")[0], "/" + rest.partition("?")[0]
        if host not in self.hosts or host.partition("-")[0] not in _SOFT or path == "/robots.txt":
            return False
        return not SmallSite(host, self.world.seed, ABSENT_SIZE).text(path)

    def deleted(self, host: str) -> list[str]:
        """The URLs of the deleted pages that the pages of a host link to."""
        return [f"http://{host}{_deleted(number)}" for number in range(0, ABSENT_SIZE, _ONE_IN)]

    def answer(self, request: Request) -> Answer | None:
        """A page, or what the site shows in its place."""
        if request.host not in self.hosts:
            return None
        kind = request.host.partition("-")[0]
        path = request.target.partition("?")[0]
        if path == "/robots.txt":
            return notice(404, "Not found", "There is no such page.")
        if kind == "shell":
            return Answer(200, HTML, _SHELL)
        site = SmallSite(request.host, self.world.seed, ABSENT_SIZE)
        if not site.text(path):
            return _missing(kind, path, key_of(self.world.seed, request.target))
        return Answer(200, HTML, _there(kind, site, path))


def _there(kind: str, site: SmallSite, path: str) -> bytes:
    number = site.number(path)
    links = site.links(path)
    if number is not None and number % _ONE_IN == 0:
        links.append(_deleted(number))
    if kind == "wall":
        return plain_style("Before you continue", [_CONSENT], links)
    if kind == "honest" and number == 3:
        return plain_style("404 not found: what the status code means", site.text(path)[:1], links)
    return plain_style(site.title(path), site.text(path), links)


def _deleted(number: int) -> str:
    return f"/{SECTIONS[number // _ONE_IN % len(SECTIONS)]}/deleted-{number}.html"


def _missing(kind: str, path: str, luck: int) -> Answer:
    if kind in ("honest", "wall"):
        return notice(404, "Not found", "There is no such page.")
    if kind == "homeward":
        return Answer(302, (("Location", "/"), *HTML), b"")
    section = path.split("/")[1] if kind == "sections" else ""
    title, text = _SORRY.get(section, _ELSEWHERE)
    suggested = [f"/{SECTIONS[at(luck, place) % 3]}/" for place in range(2)]
    return Answer(200, HTML, plain_style(title, [text], ["/", *suggested]))


PARKED = tuple(f"for-sale-{number}.{DOMAIN}" for number in range(8))
COMPANIES = tuple(f"company-{number}.{DOMAIN}" for number in range(8))
BROKER = f"broker.{DOMAIN}"
_OFFER = (
    "This domain is for sale. Make an offer today and own it tomorrow. Our brokers will be happy to help you find the "
    "right price, and will transfer the name to you within a few days after your payment has arrived."
)


class ParkedDomains(Nuisance):
    """Domains parked at one broker; and innocents: small companies that mostly link to their shop elsewhere."""

    hosts = (*PARKED, *COMPANIES)

    def address(self, host: str) -> str | None:
        """The address of a host: all parked domains have the same, each company its own."""
        if host in PARKED:
            return "127.243.0.1"
        return f"127.243.1.{1 + COMPANIES.index(host)}" if host in COMPANIES else None

    def answer(self, request: Request) -> Answer | None:
        """A parked domain has a page for every path, a company one page."""
        host, path = request.host, request.target.partition("?")[0]
        if host not in self.hosts:
            return None
        if path == "/robots.txt":
            return notice(404, "Not found", "There is no such page.")
        if host in PARKED:
            links = [f"http://{BROKER}/{topic}?d={host}" for topic in ("offer", "price", "help", "similar")]
            return Answer(200, HTML, plain_style("Domain for sale", [_OFFER], [*links, "/related.html"]))
        if path != "/":
            return notice(404, "Not found", "There is no such page.")
        shop = [f"http://{host.replace('company', 'shop')}/{number}" for number in range(5)]
        text = prose(key_of(self.world.seed, host), 8)
        return Answer(200, HTML, plain_style(f"Welcome to {host}", [text], shop))


CLOAKED_KINDS = ("full", "partial", "redirecting", "dynamic", "rotating")
CLOAKED = ("full", "partial", "redirecting")
HOSTS_OF = {"full": 2, "partial": 2, "redirecting": 2, "dynamic": 2, "rotating": 5}
"""Number of hosts of each kind: a thousand pages that churn."""
CLOAKED_SIZE = 196
"""Articles of each host: with home page and sections, 200 pages."""
_CASINO = f"casino.wins.{DOMAIN}"
_CRAWLER = re.compile(r"bot|crawl|spider|slurp|periplus|archiver|scrapy", re.IGNORECASE)
_ADVERTISEMENTS, _SHOWN = 60, 4
_EXTRA = 200


class Cloakers(Nuisance):
    """Hosts that show crawlers something else than browsers, by the User-Agent; and innocents that look like them.

    * full: crawlers get articles, browsers a casino.
    * partial: crawlers get 200 further words.
    * redirecting: browsers get a script that sends them to another domain.
    * dynamic (innocent): crawlers get the page as HTML, browsers a shell that a script fills in.
    * rotating (innocent): advertisements change with every request, and a test shows one of two headings.
    """

    hosts = tuple(f"{kind}-{number}.cloaks.{DOMAIN}" for kind in CLOAKED_KINDS for number in range(HOSTS_OF[kind]))

    def address(self, host: str) -> str | None:
        """The address of a host: each has its own."""
        return f"127.241.0.{1 + self.hosts.index(host)}" if host in self.hosts else None

    def is_cloaked(self, url: str) -> bool:
        """Whether a URL is on a host of the three kinds that cloak."""
        host = url.partition("://")[2].partition("/")[0].partition(":")[0]
        return host in self.hosts and host.partition("-")[0] in CLOAKED

    def answer(self, request: Request) -> Answer | None:
        """The answer to a crawler or a browser, by its user agent; `None` for other hosts."""
        if request.host not in self.hosts:
            return None
        path, seed = request.target.partition("?")[0], self.world.seed
        site = SmallSite(request.host, seed, CLOAKED_SIZE)
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


MIRROR_KINDS = ("exact", "incomplete", "restyled", "part", "drifting")
PAIRS = 4
"""Pairs of each kind."""
MIRRORED_SIZE = 120
_MISSING = 0.05
_DAILY = 0.04


class Copying(Struct, frozen=True):
    """A host, and the host whose pages it shows below the same root."""

    host: str
    original: str
    kind: str
    root: str = "/"


@cache
def copies() -> tuple[Copying, ...]:
    """Every true pair."""
    return tuple(
        Copying(
            f"{kind}-{number}.copies.{DOMAIN}",
            f"{kind}-{number}.first.{DOMAIN}",
            kind,
            f"/{SECTIONS[0]}/" if kind == "part" else "/",
        )
        for kind in MIRROR_KINDS
        for number in range(PAIRS)
    )


_LOOKALIKES = tuple(f"shop-{number}.same-program.{DOMAIN}" for number in range(4))


class MirroringHosts(Nuisance):
    """Hosts that show the pages of other hosts: exactly, with 5 % missing, in another template, a part, a day late.

    The innocents have the same paths and other texts, as two shops of one program have.
    """

    hosts = (*(host for each in copies() for host in (each.original, each.host)), *_LOOKALIKES)

    def address(self, host: str) -> str | None:
        """The address of a host: each has its own."""
        return f"127.240.0.{1 + self.hosts.index(host)}" if host in self.hosts else None

    def answer(self, request: Request) -> Answer | None:
        """The answer of a mirror, an original or a lookalike."""
        seed = self.world.seed
        if request.host in _LOOKALIKES:
            return _answer_lookalike(request, seed)
        pair = next((each for each in copies() if request.host in (each.host, each.original)), None)
        if pair is None:
            return None
        path = request.target.partition("?")[0]
        site = _original(pair, seed)
        if request.host == pair.original:
            found = page(site, path, request.at, plain_style)
        else:
            found = _copy(pair, site, path, request.at, seed)
        return found or notice(404, "Not found", "There is no such page.")

    def mirrors(self) -> Iterator[Mirror]:
        """Every pair."""
        for each in copies():
            yield Mirror(each.host, each.original, each.root)


def _copy(pair: Copying, site: SmallSite, path: str, moment: float, seed: int) -> Answer | None:
    if pair.kind == "incomplete" and site.number(path) is not None:
        is_missing = key_of(seed, pair.host, path) % 1000 < _MISSING * 1000
        return None if is_missing else page(site, path, moment, plain_style)
    if pair.kind == "part" and not path.startswith(pair.root):
        return page(SmallSite(pair.host, seed, MIRRORED_SIZE), path, moment, plain_style, more=[pair.root])
    style = framed_style if pair.kind == "restyled" else plain_style
    return page(site, path, moment - DAY if pair.kind == "drifting" else moment, style)


def _answer_lookalike(request: Request, seed: int) -> Answer:
    """The paths of one program, and texts of its own: its articles are numbered and carry no words."""
    path = request.target.partition("?")[0]
    site = SmallSite("program", seed, MIRRORED_SIZE)
    text = SmallSite(request.host, seed, MIRRORED_SIZE)
    paths, own = site.paths(), text.paths()
    if path not in paths:
        return notice(404, "Not found", "There is no such page.")
    body = plain_style(text.title(own[paths.index(path)]), text.text(own[paths.index(path)]), site.links(path))
    return Answer(200, (("Content-Type", "text/html; charset=utf-8"),), body)


def _original(pair: Copying, seed: int) -> SmallSite:
    return SmallSite(pair.original, seed, MIRRORED_SIZE, _DAILY if pair.kind == "drifting" else 0.0)
