"""The dispatcher of host names, and the lab's own pages: for people, for programs, and every host under a path.

`/seeds.txt` (the home page of every site, no trap), `/hosts.txt` (for /etc/hosts), `/visits.jsonl` (the log), `/clock`
(the virtual time, POSIX seconds), `/ca.pem` (where there is TLS), and `/~host/...`: a site under a path of the machine
itself, for browsers that cannot resolve the lab's names. Links, forms and redirects to hosts of the lab are led back
under such paths, so that a person can walk from site to site. A crawler should not come this way: it would see one
host where there are many.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import Protocol
from urllib.parse import quote

import msgspec

from periplus.model import Clock

from . import hostile, sites, traps
from .hostile import REGISTRY, Script, perform
from .http import Answer, Request
from .log import RequestLog
from .sites import DOMAIN, Site
from .world import World

_HOSTILE, _WORLD = f".{hostile.DOMAIN}", f".{sites.DOMAIN}"
_PLAIN = ("Content-Type", "text/plain; charset=utf-8")
_UNKNOWN_HOST = Answer(421, (_PLAIN,), b"There is no such host in the lab.\n")
_NO_LOOKUP = Answer(502, (_PLAIN,), b"There is no such host in the lab.\n")
_READ_ONLY = Answer(405, (_PLAIN, ("Allow", "GET, HEAD")), b"This web can only be read.\n")
"""HEAD is handled as GET; the server drops the body."""

Reply = Answer | Script


def is_local(host: str) -> bool:
    """Whether a name means this machine: then it is the index page that is wanted."""
    return host in ("", "localhost", "::1") or host.startswith("127.")


class Front(Protocol):
    """The index of the lab. It may request answers of other hosts, to show them under a path."""

    def answer(self, request: Request, ask: Callable[[Request], Reply]) -> Reply:
        """The reply to a request for no host of the lab."""


class Hosts:
    """Routes requests by host name."""

    def __init__(self, world: World, front: Front) -> None:
        self._world = world
        self._front = front

    def reply(self, request: Request, *, is_proxied: bool = False) -> Reply:
        """The answer of the host of a request. For a proxy's client an unknown name is a failed lookup."""
        found = self._find(request)
        return _NO_LOOKUP if is_proxied and found.status == _UNKNOWN_HOST.status else found

    def _find(self, request: Request) -> Reply:
        host = request.host
        if request.method != "GET":
            return _READ_ONLY
        if host.endswith(_HOSTILE):
            return perform(request) or _UNKNOWN_HOST
        if host.endswith(_WORLD):
            return self._world.answer(request)
        return self._front.answer(request, self.reply) if is_local(host) else _UNKNOWN_HOST


_LINK = rb"""((?:href|src|action)\s*=\s*["']?)"""
_ABSOLUTE = re.compile(_LINK + rb"""https?://([\w.-]{1,253}\.lab\.test)(?::\d+)?(?=[/?#"'\s>])""", re.IGNORECASE)
_ROOTED = re.compile(_LINK + rb"""/(?![/~])""", re.IGNORECASE)
_LOCATION = re.compile(r"https?://([\w.-]{1,253}\.lab\.test)(?::\d+)?(?=[/?#]|$)", re.IGNORECASE)


def path_of(host: str, target: str = "/") -> str:
    """The path of a host's page on the index server."""
    return f"/~{host}{target}"


def split(target: str) -> tuple[str, str]:
    """The host and its own target in `/~host/target`; the target is empty when the slash after the host is missing."""
    host, slash, rest = target.removeprefix("/~").partition("/")
    return host.lower(), slash + rest


def lead_back(answer: Answer, host: str) -> Answer:
    """The answer of a host with its ways out led back under paths."""
    headers = tuple(
        (name, _lead(value, host)) if name.lower() == "location" else (name, value) for name, value in answer.headers
    )
    body = answer.body
    if isinstance(body, bytes) and any(value.startswith("text/html") for _, value in headers):
        body = _ABSOLUTE.sub(rb"\1/~\2", body)
        body = _ROOTED.sub(rb"\1" + path_of(host).encode(), body)
    return Answer(answer.status, headers, body)


def _lead(location: str, host: str) -> str:
    if location.startswith("/") and not location.startswith("//"):
        return path_of(host, location)
    return _LOCATION.sub(r"/~\1", location)


PROFILES = {
    "shop": (
        "amazon.com",
        "an index of many files, log-structured: each day a new file of new and changed URLs; old files never change",
        "complete and honest for products, silent on the rest",
    ),
    "news": ("cnn.com", "small files: hours, week, month, hubs; no overlap", "honest, canonical URLs, fast"),
    "archive": (
        "pubmedcentral",
        "an index of 50 and more files, rewritten daily in bursts; changefreq monthly everywhere",
        "lastmod often wrong, unique URLs",
    ),
    "build": ("static generators", "one file; lastmod is the build of the whole site", "moves for all pages at once"),
    "always-now": ("many CMSs", "lastmod is the time of the request", "worthless"),
    "partial": ("microsoft.com", "a small part of the site", "honest for that part"),
    "stale": ("the forgotten", "written once; dead URLs, redirects, noindex pages", "worthless"),
    "dirty": (
        "the Berkeley survey",
        "angle brackets in robots.txt, .xml and .xml.gz twins, nested and looping indexes, 60,000 URLs in a file, "
        "wrong charset, truncated gzip, cross-host",
        "readable with care",
    ),
    "none": ("most of the web", "none; perhaps a feed", "only links"),
}
"""For each: the site it is modelled on, its sitemaps, and how far they can be trusted."""


MOST_ROWS = 500
_ICON = quote(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 2"><circle cx="1" cy="1" r="1" fill="teal"/></svg>'
)
_CODE = re.compile("`([^`]*)`")
_STYLE = files(__package__).joinpath("front_page.css").read_text()


def render(world: World, at: float, *, port: int, tls_port: int | None, visits: int) -> str:
    """The whole page, as of the virtual time `at`."""
    sites = sorted(world.sites(), key=lambda site: -site.size)
    return "".join(
        [
            '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>The lab of Periplus</title>',
            '<meta name="viewport" content="width=device-width">',
            f'<link rel="icon" href="data:image/svg+xml,{_ICON}">',
            f"<style>{_STYLE}</style><main>\n<h1>The lab: a generated web</h1>",
            '<p class="soft">A small web whose every fact is known: what exists, what links where, when each page',
            " changes, what each sitemap claims and whether it is true.</p>\n",
            '<nav><a href="#sites">Sites</a> <a href="#profiles">Profiles</a> <a href="#traps">Traps</a> ',
            '<a href="#hostile">Hostile hosts</a></nav>',
            *_facts(world, sites, at, visits),
            *_ways_in(sites[0].host, port, tls_port),
            *_site_table(sites),
            *_profile_table(),
            *_traps(),
            *_hostile_table(),
            "</main>\n",
        ]
    )


def _facts(world: World, sites: list[Site], at: float, visits: int) -> Iterator[str]:
    moment = datetime.fromtimestamp(at, UTC)
    facts = {
        "sites": f"{len(sites):,}",
        "host names": f"{len(world.hosts):,}",
        "pages": f"{sum(site.size for site in sites):,}",
        "seed": str(world.seed),
        "the lab's time (UTC)": f"{moment:%d %b %Y, %H:%M}",
        "requests so far": f"{visits:,}",
    }
    yield '<div class="facts">'
    yield from (f"<div><b>{value}</b><span>{name}</span></div>" for name, value in facts.items())
    yield "</div>\n"


def _ways_in(host: str, port: int, tls_port: int | None) -> Iterator[str]:
    here = f"127.0.0.1:{port}"
    lines = [
        "# as a proxy: every name of the lab, no DNS needed",
        f"http_proxy=http://{here} your-crawler http://{host}/",
        f"curl -x http://{here} http://{host}/",
        "# or directly",
        f"curl --connect-to ::{here} http://{host}/",
    ]
    if tls_port is not None:
        lines += [
            "# TLS",
            f"curl -so ca.pem http://{here}/ca.pem",
            f"curl --cacert ca.pem --connect-to ::127.0.0.1:{tls_port} https://{host}/",
        ]
    yield f"<h2>Point a crawler here</h2><pre>{escape(chr(10).join(lines))}</pre>"
    yield '<p class="soft">For programs: <a href="/seeds.txt">seeds.txt</a>, <a href="/hosts.txt">hosts.txt</a>, '
    yield '<a href="/visits.jsonl">visits.jsonl</a> (all requests), <a href="/clock">clock</a>. '
    yield "The links below lead through paths of this host, so that a browser can follow them.</p>\n"


def _site_table(sites: list[Site]) -> Iterator[str]:
    yield '<h2 id="sites">Sites</h2><div class="table"><table><tr><th>host<th>profile<th class="n">pages<th>changes'
    yield "<th>validators<th>feed<th>address<th>robots.txt</tr>\n"
    for site in sites[:MOST_ROWS]:
        home = escape(path_of(site.host))
        yield f'<tr><td class="host"><a href="{home}">{escape(site.host)}</a><td>{_tag(site.profile.value)}'
        yield f'<td class="n">{site.size:,}'
        habits = (site.pattern.value, site.validation.value, site.feed or "–", site.address)
        yield "".join(f'<td class="small">{habit}' for habit in habits)
        yield f'<td class="small"><a href="{home}robots.txt">{site.robots}</a></tr>\n'
    yield "</table></div>"
    if len(sites) > MOST_ROWS:
        more = f"{len(sites) - MOST_ROWS:,} smaller ones"
        yield f'<p class="soft">… and {more}: see <a href="/seeds.txt">seeds.txt</a>.</p>'


def _profile_table() -> Iterator[str]:
    yield '<h2 id="profiles">Profiles: what sites say about themselves</h2><div class="table"><table>'
    yield "<tr><th>profile<th>after<th>sitemaps<th>truth</tr>\n"
    for name, (after, sitemaps, truth) in PROFILES.items():
        yield f"<tr><td>{_tag(name)}<td>{after}<td>{sitemaps}<td>{truth}</tr>\n"
    yield "</table></div>"


def _traps() -> Iterator[str]:
    yield '<h2 id="traps">Traps</h2><p class="soft">Ordinary pages without end, on hosts that no site links to: '
    yield ", ".join(f'<a href="{path_of(host)}">{host.removesuffix("." + DOMAIN)}</a>' for host in traps.HOSTS)
    yield ".</p>"


def _hostile_table() -> Iterator[str]:
    yield '<h2 id="hostile">Hostile and broken hosts</h2><p class="soft">Some of these never end: close the tab.</p>'
    yield '<div class="table"><table><tr><th>host<th>what it does<th>what a good crawler does</tr>\n'
    for one in REGISTRY.values():
        yield f'<tr><td class="host"><a href="{path_of(one.host)}">{one.name}</a>'
        yield f"<td>{_prose(one.does)}<td>{_prose(one.wants)}</tr>\n"
    yield "</table></div>"


def _prose(text: str) -> str:
    """The text of a docstring: parts between backticks are code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _tag(name: str) -> str:
    """A profile's name in its own colour, spread evenly around the wheel; no colour for no sitemap."""
    if name == "none":
        return f'<span class="tag plain">{name}</span>'
    hue = list(PROFILES).index(name) * 360 // len(PROFILES)
    return f'<span class="tag" style="--hue:{hue}">{name}</span>'


_TEXT = (("Content-Type", "text/plain; charset=utf-8"),)
_NOT_HERE = Answer(404, _TEXT, b"Not here. The front page is at /\n")
_HTML = (("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"))


class Lab(Protocol):
    """The data of the index."""

    world: World
    clock: Clock
    log: RequestLog
    port: int
    tls_port: int | None
    authority_pem: bytes

    def address(self, host: str) -> str:
        """The address of a host."""


class LabIndex:
    """Answers for the machine itself."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def answer(self, request: Request, ask: Callable[[Request], Reply]) -> Reply:
        """The answer to a request for no host of the lab; `ask` requests answers of the others."""
        lab, path = self._lab, request.target.partition("?")[0]
        if path.startswith("/~"):
            return _under_path(request, ask)
        match path:
            case "/":
                page = render(lab.world, request.at, port=lab.port, tls_port=lab.tls_port, visits=lab.log.total)
                return Answer(200, _HTML, page.encode())
            case "/seeds.txt":
                return Answer(200, _TEXT, "".join(f"{site.url}\n" for site in lab.world.sites()).encode())
            case "/hosts.txt":
                return Answer(200, _TEXT, self._hosts().encode())
            case "/clock":
                return Answer(200, _TEXT, f"{request.at:.3f}\n".encode())
            case "/visits.jsonl":
                return Answer(200, (("Content-Type", "application/jsonl"),), self._visits())
            case "/ca.pem" if lab.authority_pem:
                return Answer(200, (("Content-Type", "application/x-pem-file"),), lab.authority_pem)
            case _:
                return _NOT_HERE

    def _hosts(self) -> str:
        names = [*self._lab.world.hosts, *(one.host for one in REGISTRY.values())]
        return "".join(f"{self._lab.address(name)}\t{name}\n" for name in names)

    def _visits(self) -> Iterator[bytes]:
        encode = msgspec.json.Encoder().encode
        return (encode(visit) + b"\n" for visit in self._lab.log.visits())


def _under_path(request: Request, ask: Callable[[Request], Reply]) -> Reply:
    """Request the host named in the path, and rewrite its links."""
    host, target = split(request.target)
    if is_local(host):
        return _NOT_HERE
    if not target:
        return Answer(308, (("Location", path_of(host)),), b"")
    reply = ask(Request(request.method, host, target, request.headers, request.at, request.ip))
    return lead_back(reply, host) if isinstance(reply, Answer) else reply
