"""Robots files of the wild: too large, too many rules, failing, or not a robots file at all.

The sizes are those that the Berkeley survey of robots.txt met: a largest file of 12.3 MB, and one of 153,540 rules.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..exchange import Answer, Request
from .script import TEXT, answer_page, hostile

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
