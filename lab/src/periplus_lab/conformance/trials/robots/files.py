"""robots.txt as bytes: what was not written as the standard asks for, and what is too long."""

from __future__ import annotations

from collections.abc import Iterator

from ....hostile.script import HTML, TEXT
from ....http import Answer
from ...cases import Case, Trial, trial
from ...sites import TrialSite, Web, html_page

_PARSEABLE = "Crawlers MUST try to parse each line of the robots.txt file, and MUST use the parseable rules"


def _site(web: Web) -> TrialSite:
    site = web.site()
    site.pages(("/open", "/forbidden"))
    site.page("/", "/open", "/forbidden")
    return site


@trial("robots")
def byte_order_mark(web: Web) -> Trial:
    """A byte order mark before the first line."""
    site = _site(web)
    site.robots(b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /forbidden\r\n")
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="byte-order-mark",
                says=f"{_PARSEABLE}: also after a byte order mark.",
                source="RFC 9309 section 2.3.1.5; Google's robots.txt specification",
                wants=site.urls("/open"),
                forbids=site.urls("/forbidden"),
            ),
        ),
    )


@trial("robots")
def line_ends(web: Web) -> Trial:
    """Lines that end with CR alone."""
    site = _site(web)
    site.robots(b"User-agent: *\rDisallow: /forbidden\r")
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="cr-line-ends",
                says="Lines end with CR, LF, or both: EOL = *WS [comment] NL; NL = CR / LF / CRLF.",
                source="RFC 9309 section 2.2",
                wants=site.urls("/open"),
                forbids=site.urls("/forbidden"),
            ),
        ),
    )


@trial("robots")
def bad_bytes(web: Web) -> Trial:
    """Bytes that are not UTF-8."""
    site = _site(web)
    site.robots(b"# caf\xe9\nUser-agent: *\nDisallow: /caf\xe9\nDisallow: /\xff\x00\nDisallow: /forbidden\n")
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="not-utf-8",
                says=f"{_PARSEABLE}: also beside lines that are not UTF-8.",
                source="RFC 9309 section 2.3.1.5",
                wants=site.urls("/open"),
                forbids=site.urls("/forbidden"),
            ),
        ),
    )


_KIB = 1024
_HUGE = 24 * _KIB * _KIB
_COMMENT = b"# " + b"-" * 509 + b"\n"


def _huge(rule: bytes, at: int, size: int) -> Iterator[bytes]:
    """A robots.txt of comments, with one rule that ends at an offset."""
    start = b"User-agent: *\n"
    padding = at - len(start) - len(rule)
    yield start + (b"#" * (padding % len(_COMMENT) - 1) + b"\n" if padding % len(_COMMENT) else b"")
    block = _COMMENT * (padding // len(_COMMENT))
    yield block + rule
    piece = _COMMENT * 128
    for _ in range((size - at) // len(piece)):
        yield piece


@trial("robots")
def huge(web: Web) -> Trial:
    """A robots.txt of many megabytes, with a rule at the end of its first 500 KiB."""
    site = _site(web)
    site.answers["/robots.txt"] = lambda _request: Answer(
        200, (TEXT,), _huge(b"Disallow: /forbidden\n", 499 * _KIB, _HUGE)
    )
    return Trial(
        seed=site.url(),
        seconds=90,
        cases=(
            Case(
                name="first-500-kib",
                says="The parsing limit MUST be at least 500 kibibytes.",
                source="RFC 9309 section 2.5",
                wants=site.urls("/robots.txt", "/open"),
                forbids=site.urls("/forbidden"),
            ),
            Case(
                name="huge-file",
                says="Crawlers SHOULD impose a parsing limit: a file beyond it does not keep them from the site.",
                source="RFC 9309 section 2.5",
                wants=site.urls("/robots.txt", "/open"),
            ),
        ),
    )


@trial("robots")
def web_page(web: Web) -> Trial:
    """A page of HTML in place of robots.txt, as servers send it that have a page for every URL."""
    site = _site(web)
    site.answers["/robots.txt"] = Answer(
        200, (HTML,), html_page("Not here", ["/"], body="<p>We disallow: nothing.</p>")
    )
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="html-as-robots",
                says="Only parseable rules are used: a page of HTML has none.",
                source="RFC 9309 section 2.3.1.5",
                wants=site.urls("/open", "/forbidden"),
            ),
        ),
    )
