"""The sites of a trial: pages, robots.txt and anything else a host may answer, at names or addresses of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from html import escape
from random import Random

from ..hostile import Script
from ..hostile.script import HTML, TEXT
from ..http import Answer, Request

DOMAIN = "lab.test"
Reply = Answer | Script
Handler = Callable[[Request], Reply]

_NOT_FOUND = Answer(404, (HTML,), b"<!doctype html><title>Not found</title><p>There is no such page.\n")
_UNKNOWN_HOST = Answer(421, (TEXT,), b"There is no such host here.\n")
ALLOW_ALL = "User-agent: *\nDisallow:\n"
_VOCABULARY = (
    "anchor bay beacon bell breeze buoy cabin cable canvas cape cargo chart coast compass crew current deck delta dock "
    "drift ebb ferry fleet fog gale gulf harbor haul helm horizon hull inlet island jetty keel knot lagoon lantern "
    "ledger mast moor oar packet pier pilot port quay reef rigging rope rudder sail salt sandbar shoal sound spar "
    "squall storm strait swell tar tide timber tow trade vessel voyage wake watch wave wharf wind yard"
)


def prose(name: str, words: int = 120) -> str:
    """Text of its own for every page, so that no crawler takes two pages for one."""
    chosen = Random(name).choices(_VOCABULARY.split(), k=words)  # noqa: S311 - text, not a secret
    return " ".join(chosen)


def anchors(links: Iterable[str]) -> str:
    """Ordinary links."""
    return "\n".join(f'<p><a href="{escape(link)}">{escape(link)}</a></p>' for link in links)


def html_page(name: str, links: Iterable[str] = (), *, head: str = "", body: str = "") -> bytes:
    """A page with text of its own, ordinary links, and whatever else is given."""
    return (
        f'<!doctype html>\n<html lang="en"><head><title>{escape(name)}</title>{head}</head>\n'
        f"<body><h1>{escape(name)}</h1>\n<p>{prose(name)}</p>\n{anchors(links)}\n{body}\n</body></html>\n"
    ).encode()


class TrialSite:
    """One host of a trial: what it answers, by path and query.

    A target without an answer is asked of `otherwise`, which answers 404 unless a trial puts something else there.
    """

    def __init__(self, host: str, *, port: int | None = None, scheme: str = "http") -> None:
        self.host = host
        self.base = f"{scheme}://{host}" if port is None else f"{scheme}://{host}:{port}"
        self.answers: dict[str, Reply | Handler] = {}
        self.otherwise: Handler = lambda _request: _NOT_FOUND
        self.robots(ALLOW_ALL)

    def url(self, target: str = "/") -> str:
        """The URL of a path and query of this site."""
        return f"{self.base}{target}"

    def urls(self, *targets: str) -> tuple[str, ...]:
        """The URLs of several."""
        return tuple(self.url(target) for target in targets)

    def robots(self, text: str | bytes) -> None:
        """Serve this robots.txt."""
        self.text("/robots.txt", text)

    def text(self, target: str, text: str | bytes, kind: str = "text/plain; charset=utf-8") -> None:
        """Serve a text, or anything else of a content type."""
        body = text.encode() if isinstance(text, str) else text
        self.answers[target] = Answer(200, (("Content-Type", kind),), body)

    def page(self, target: str, *links: str, head: str = "", body: str = "") -> str:
        """Serve a page with some links; returns its URL."""
        self.answers[target] = Answer(200, (HTML,), html_page(self.url(target), links, head=head, body=body))
        return self.url(target)

    def pages(self, targets: Iterable[str]) -> tuple[str, ...]:
        """Serve pages without links; returns their URLs."""
        return tuple(self.page(target) for target in targets)

    def redirect(self, target: str, location: str, status: int = 301) -> str:
        """Serve a redirect; returns its URL."""
        self.answers[target] = Answer(status, (("Location", location),), b"")
        return self.url(target)

    def reply(self, request: Request) -> Reply:
        """What the site answers to a request."""
        found = self.answers.get(request.target)
        if found is None:
            return self.otherwise(request)
        return found(request) if callable(found) else found


class Web:
    """The sites of one trial. They have names where the lab owns the name server, else addresses of loopback.

    `addresses` has what the name server answers for each name: see `Lookup` in `name_server`.
    """

    def __init__(self, *, has_names: bool, port: int, tls: bool = False, agent: str = "") -> None:
        self.agent = agent
        self.has_names = has_names
        self.has_tls = tls
        self._port = port
        self._sites: dict[str, TrialSite] = {}
        self.addresses: dict[str, str | Callable[[], str | None]] = {}
        self.stranger: Reply = _UNKNOWN_HOST

    def site(self, name: str = "www", *, address: str = "", scheme: str = "http") -> TrialSite:
        """A new site. `address` is the one its name has, in the enclosure; by default each site has one of its own."""
        number = len(self._sites) + 1
        if self.has_names:
            site = TrialSite(f"{name}.{DOMAIN}", scheme=scheme)
            self.addresses[site.host] = address or f"{PUBLIC}.0.{number}"
        else:
            site = TrialSite(f"127.77.0.{number}", port=self._port, scheme=scheme)
        self._sites[site.host] = site
        return site

    def token_of(self, request: Request) -> str:
        """The name by which robots.txt calls the crawler that made a request: that of its adapter, if it states one."""
        return self.agent or product_token(request.header("user-agent") or "")

    def lookup(self, name: str) -> str | None:
        """What the name server answers: see `Lookup`."""
        found = self.addresses.get(name) or self.addresses.get(f"*.{name.partition('.')[2]}", "")
        return found() if callable(found) else found

    def reply(self, request: Request, *, is_proxied: bool) -> Reply:
        """Route a request by its host; `*.` in front of a site's name stands for every name below it.

        `stranger` is the answer of a host that is not a site of the trial.
        """
        del is_proxied
        site = self._sites.get(request.host) or self._sites.get(f"*.{request.host.partition('.')[2]}")
        return site.reply(request) if site else self.stranger


PUBLIC = "11.77"
"""The first half of the sites' addresses in the enclosure: crawlers take it for a part of the public Internet."""
_PORT = re.compile(r"^(https?://[^/:]+):\d+")


def without_port(url: str) -> str:
    """A URL as the servers' log spells it."""
    return _PORT.sub(r"\1", url)


_COMPATIBLE = re.compile(r"compatible;\s*([A-Za-z][A-Za-z_-]*)")
_FIRST = re.compile(r"\s*([A-Za-z][A-Za-z_-]*)")


def product_token(agent: str) -> str:
    """The name in a User-Agent field that groups of robots.txt are matched with (RFC 9309 section 2.2.1)."""
    found = _COMPATIBLE.search(agent) or _FIRST.match(agent)
    return found[1] if found else "*"
