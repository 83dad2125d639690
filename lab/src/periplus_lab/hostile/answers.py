"""Hosts that misbehave in well-formed HTTP.

Redirects loop, never end, or lead to private addresses. Busy servers answer 429 or 503; their hours follow virtual time
alone. Robots files are too large, failing, or HTML; the sizes are those of the Berkeley survey of robots.txt: a largest
file of 12.3 MB, and one of 153,540 rules. Sitemaps are attacks: entities that multiply or name other resources, and a
file without an end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from xxhash import xxh3_64_hexdigest

from periplus.formats.dates import write_http

from ..http import Answer, Request
from .connections import BETWEEN_CHUNKS
from .script import DOMAIN, HTML, TEXT, XML, Action, Script, Wait, answer_page, head, hostile, page

CHAIN = 50
PRIVATE = {
    "/": "http://127.0.0.1/secret",
    "/metadata": "http://169.254.169.254/latest/meta-data/",
    "/ten": "http://10.0.0.1/",
    "/ipv6": "http://[::1]/",
    "/decimal": "http://2130706433/",
    "/file": "file:///etc/passwd",
}


def _to(location: str, status: int = 302) -> Answer:
    return Answer(status, (("Location", location),), b"")


@hostile("redirect-loop")
def redirect_loop(request: Request) -> Answer:
    """`/` redirects to `/a`, that to `/b`, and that to `/` again, permanently.

    Follow each URL once; a redirect is a new discovery, and these are known.
    """
    return _to({"/": "/a", "/a": "/b"}.get(request.target, "/"), 301)


@hostile("redirect-chain")
def redirect_chain(request: Request) -> Answer:
    """Fifty redirects in a row, `/` to `/hop/1` and so on; at the end an ordinary page.

    Stop after a bounded number of hops (RFC 9309 asks for at least five where robots.txt is meant).
    """
    place = re.fullmatch(r"/hop/(\d{1,4})", request.target)
    hop = int(place[1]) if place else 0
    return answer_page("The end of the chain", "<p>You are patient.</p>") if hop >= CHAIN else _to(f"/hop/{hop + 1}")


@hostile("redirect-private")
def redirect_private(request: Request) -> Answer:
    """Redirects to addresses that must not be fetched: loopback, link-local, private, a local file.

    Look at the address before connecting, on every hop, however it is spelled; refuse other schemes.
    """
    links = " ".join(f'<a href="{path}">{path}</a>' for path in PRIVATE)
    location = PRIVATE.get(request.target)
    return _to(location) if location else answer_page("Private places", f"<p>{links}</p>")


@hostile("redirect-storm")
def redirect_storm(request: Request) -> Answer:
    """Every URL redirects to a host never seen before (`<hash>.redirect-storm...`), without end.

    Bound the hops, and the hosts that one domain may add: each would cost a lookup, a robots.txt and a queue.
    """
    name = xxh3_64_hexdigest(f"{request.host}{request.target}".encode())[:10]
    return _to(f"http://{name}.redirect-storm.{DOMAIN}/")


PERIOD = 600
"""Virtual seconds; each of these hosts is open for a part of every ten minutes."""
OPEN_FOR = 60
BURST = 180


def _opens_in(at: float) -> int:
    """Seconds until the next period begins, when the host is open again; 0 while it is open."""
    phase = int(at) % PERIOD
    return 0 if phase < OPEN_FOR else PERIOD - phase


def _busy(status: int, *fields: tuple[str, str]) -> Answer:
    return Answer(status, (HTML, *fields), page("Busy", "<p>Come back later.</p>"))


_OPEN = answer_page("Open", '<p>You came at the right time. <a href="/next">next</a></p>')


@hostile("busy-retry-after")
def busy_retry_after(request: Request) -> Answer:
    """429 for nine minutes of every ten, with a true Retry-After: in seconds, or as a date under `/date`.

    Leave the whole host alone until then; the URL is not dead.
    """
    wait = _opens_in(request.at)
    if not wait:
        return _OPEN
    until = write_http(int(request.at) + wait) if request.target == "/date" else str(wait)
    return _busy(429, ("Retry-After", until))


@hostile("busy")
def busy(request: Request) -> Answer:
    """429 for nine minutes of every ten, and no word on when to come back.

    Back off for the whole host, longer each time, with some chance in it.
    """
    return _busy(429) if _opens_in(request.at) else _OPEN


@hostile("bursts-of-503")
def bursts_of_503(request: Request) -> Answer:
    """Healthy for seven minutes, then 503 to everything for three, again and again.

    Slow down, try again later, and forget no page because of a passing storm.
    """
    return _busy(503) if int(request.at) % PERIOD >= PERIOD - BURST else _OPEN


LARGE_SIZE = 12_300_000
RULES = 153_540
_BLOCK = 1000


def _home(request: Request) -> Answer:
    """The pages behind such a robots file: two, of which one is private."""
    if request.target.startswith("/private"):
        return answer_page("Private", "<p>You were asked not to come here.</p>")
    return answer_page("Home", '<p><a href="/public">public</a> <a href="/private/">private</a></p>')


@hostile("robots-large", owns_robots=True)
def robots_large(request: Request) -> Answer:
    """A robots.txt of 12.3 MB: `/private/` is forbidden in its first line, `/late/` in its last.

    Read at least the first 500 KiB (RFC 9309), stop at a bound, and obey what was read.
    """
    return Answer(200, (TEXT,), _large()) if request.target == "/robots.txt" else _home(request)


def _large() -> Iterator[bytes]:
    first, last = b"User-agent: *\nDisallow: /private/\n", b"Disallow: /late/\n"
    filler = b"# This line says nothing, and there are many more like it.\n"
    left = LARGE_SIZE - len(first) - len(last)
    yield first
    while left > 0:
        block = (filler * _BLOCK)[: min(left, _BLOCK * len(filler))]
        left -= len(block)
        yield block[:-1] + b"\n"
    yield last


@hostile("robots-many-rules", owns_robots=True)
def robots_many_rules(request: Request) -> Answer:
    """A robots.txt of 153,540 Disallow rules (3 MB), `/private/` among the first.

    Decide fast however many rules there are, within the bound on size; do not try every rule on every URL.
    """
    return Answer(200, (TEXT,), _rules()) if request.target == "/robots.txt" else _home(request)


def _rules() -> Iterator[bytes]:
    yield b"User-agent: *\nDisallow: /private/\n"
    for start in range(1, RULES, _BLOCK):
        block = range(start, min(start + _BLOCK, RULES))
        yield b"".join(b"Disallow: /p/%06d\n" % number for number in block)


@hostile("robots-5xx", owns_robots=True)
def robots_5xx(request: Request) -> Answer:
    """robots.txt answers 503; everything else is there.

    Take it as "do not come" (RFC 9309 section 2.3.1.4) and ask again later.
    """
    if request.target == "/robots.txt":
        return Answer(503, (TEXT,), b"The rules are out for repair.\n")
    return _home(request)


@hostile("robots-home", owns_robots=True)
def robots_home(request: Request) -> Answer:
    """robots.txt redirects to the home page, which is HTML and answers 200.

    A crawler must see that this is not a robots file: no rules, and no sitemap lines out of HTML.
    """
    if request.target == "/robots.txt":
        return Answer(302, (("Location", "/"),), b"")
    return _home(request)


BILLION = 1_000_000_000
_XML_BLOCK = 500
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
LEVELS = 10


def _entrance(request: Request) -> Answer | None:
    """robots.txt names the sitemap, and the home page names it again; `None` for the sitemap itself."""
    if request.target == "/robots.txt":
        text = f"User-agent: *\nDisallow:\n\nSitemap: http://{request.host}/sitemap.xml\n"
        return Answer(200, (TEXT,), text.encode())
    if request.target == "/sitemap.xml":
        return None
    return answer_page("Home", '<p>There is a <a href="/sitemap.xml">sitemap</a>.</p>')


@hostile("xml-bomb", owns_robots=True)
def xml_bomb(request: Request, levels: int = LEVELS) -> Answer:
    """A sitemap of 1 KB whose one `loc` is an entity that grows to ten billion words ("billion laughs").

    Expand no entities but the five of XML and characters; keep what else can be read.
    """
    entities = "".join(f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">\n' for level in range(1, levels + 1))
    text = (
        f'<?xml version="1.0"?>\n<!DOCTYPE urlset [\n<!ENTITY e0 "ha">\n{entities}]>\n'
        f'<urlset xmlns="{_NAMESPACE}"><url><loc>http://{request.host}/&e{levels};</loc></url>'
        f"<url><loc>http://{request.host}/plain</loc></url></urlset>\n"
    )
    return _entrance(request) or Answer(200, (XML,), text.encode())


@hostile("xxe", owns_robots=True)
def xxe(request: Request) -> Answer:
    """A sitemap whose entities and DTD name a local file and a URL of this host (`/stolen`, `/dtd`: look in the log).

    Read no file, open no connection; keep what else can be read.
    """
    text = (
        f'<?xml version="1.0"?>\n<!DOCTYPE urlset SYSTEM "http://{request.host}/dtd" [\n'
        f'<!ENTITY file SYSTEM "file:///etc/passwd">\n<!ENTITY net SYSTEM "http://{request.host}/stolen">\n]>\n'
        f'<urlset xmlns="{_NAMESPACE}"><url><loc>http://{request.host}/?q=&file;</loc></url>'
        f"<url><loc>http://{request.host}/?q=&net;</loc></url>"
        f"<url><loc>http://{request.host}/plain</loc></url></urlset>\n"
    )
    return _entrance(request) or Answer(200, (XML,), text.encode())


@hostile("endless-sitemap", owns_robots=True)
def endless_sitemap(request: Request) -> Answer | Script:
    """A sitemap of a billion URLs in one file (60 GB), sent as long as the client reads.

    Read it as a stream, take what the protocol allows (50,000 URLs, 50 MB), say that there was more, and hang up.
    """
    return _entrance(request) or Script(200, _billion(request))


def _billion(request: Request) -> Iterator[Action]:
    opening = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{_NAMESPACE}">\n'
    yield head(request, 200, XML) + opening.encode()
    line = f"<url><loc>http://endless-sitemap.{DOMAIN}/p/%d</loc></url>\n".encode()
    for start in range(0, BILLION, _XML_BLOCK):
        yield b"".join([line % number for number in range(start, start + _XML_BLOCK)])
        yield Wait(BETWEEN_CHUNKS / 2)
    yield b"</urlset>\n"
