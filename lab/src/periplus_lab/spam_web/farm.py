"""A link farm: 400 registrable domains on five addresses, in which every host and every page exists.

Names cost the farmer nothing: DNS answers for any name below a domain of the farm, and every page links to pages on
hosts that no page has named before, of its own domain and of others. Links from outside are comments that were left on
five percent of the honest sites. `World.is_spam` is true for all hosts of the farm.
"""

from __future__ import annotations

import re

from ..http import Answer, Request
from ..randomness import at, key_of, topics
from ..sites import DOMAIN
from .part import Honest, Nuisance

DOMAINS = 400
ADDRESSES = 5
COMMENTED = 20
"""One honest site in this many has comments that link to the farm: 5 %."""
COMMENTED_PAGES = 4
"""On such a site one page in this many has a comment with links."""
LINKS = 30
"""Links of a page of the farm: a third each to new hosts of its domain, to its own pages, and to other domains."""

_TRADES = ("pills", "loans", "watches", "casino", "degrees", "mortgage", "slots", "insurance", "replica", "credit")
_HOST = re.compile(rf"(?:[a-z0-9-]+\.)*(?:{'|'.join(_TRADES)})-deals-(\d{{3}})\.{re.escape(DOMAIN)}")
_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_END = b"</main>"
_LONGEST_TARGET = 2000


def domain_name(number: int) -> str:
    """The name of a domain of the farm."""
    return f"{_TRADES[number % len(_TRADES)]}-deals-{number:03d}.{DOMAIN}"


class Farm(Nuisance):
    """The farm, and the comments that link to it."""

    def __init__(self, world: Honest) -> None:
        super().__init__(world)
        self.hosts = tuple(domain_name(number) for number in range(DOMAINS))
        self.wildcards = tuple(f"*.{host}" for host in self.hosts)
        self._key = key_of(world.seed, "farm")
        self._commented = frozenset(
            site.host for place, site in enumerate(world.sites()) if place % COMMENTED == COMMENTED // 2
        )

    def has(self, host: str) -> bool:
        """Every name below a domain of the farm is a host."""
        found = _HOST.fullmatch(host)
        return found is not None and host.endswith(domain_name(int(found[1]) % DOMAINS))

    def is_spam(self, host: str) -> bool:
        """Whether a host belongs to the farm: all of it is spam."""
        return self.has(host)

    def address(self, host: str) -> str | None:
        """Five addresses for 400 domains."""
        found = _HOST.fullmatch(host)
        return f"127.252.0.{1 + int(found[1]) % ADDRESSES}" if found else None

    def answer(self, request: Request) -> Answer | None:
        """Any page of any host of the farm."""
        if not self.has(request.host):
            return None
        if request.target == "/robots.txt" or len(request.target) > _LONGEST_TARGET:
            return Answer(404, _HTML, b"<!doctype html><title>Not found</title>\n")
        return Answer(200, _HTML, self._page(request.host, key_of(self._key, request.host, request.target)))

    def _page(self, host: str, key: int) -> bytes:
        words = topics()
        domain = ".".join(host.split(".")[-3:])
        trade = domain.partition("-")[0]
        stuffing = " ".join(trade if place % 5 == 0 else words[at(key, place) % 97].decode() for place in range(1, 240))
        links = "\n".join(self._link(domain, key, place) for place in range(LINKS))
        title = f"cheap {trade} best {trade} buy {trade} online {words[at(key, 1000) & 2047].decode()}"
        return (
            f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
            f"<body>\n<h1>{title}</h1>\n<p>{stuffing}</p>\n<p>{links}</p>\n</body>\n</html>\n"
        ).encode()

    def _link(self, domain: str, key: int, place: int) -> str:
        bits = at(key, 2000 + place)
        word = topics()[bits & 2047].decode()
        kind = place % 3
        if kind == 0:
            href = f"http://{word}-{bits >> 40 & 0xFFFF:04x}.{domain}/"
        elif kind == 1:
            href = f"/{word}-{bits >> 40 & 0xFFF:x}.html"
        else:
            href = f"http://{domain_name((bits >> 20) % DOMAINS)}/{word}.html"
        return f'<a href="{href}">best {word} {domain.partition("-")[0]}</a>'

    def added(self, request: Request, body: bytes) -> bytes:
        """A comment with two links to the farm, on some pages of some sites."""
        own = key_of(self._key, request.host, request.target)
        if request.host not in self._commented or own % COMMENTED_PAGES or _END not in body:
            return body
        site = key_of(self._key, request.host)
        links = b" ".join(
            b'<a href="http://%b/">great offers</a>' % domain_name((at(site, place) >> 20) % DOMAINS).encode()
            for place in (own >> 8 & 1, 2)
        )
        return body.replace(_END, b'<div class="comment"><b>guest</b>: %b</div>\n' % links + _END, 1)
