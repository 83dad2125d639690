"""Servers whose head says one thing and whose body is another: wrong lengths, wrong charsets, wrong types."""

from __future__ import annotations

from random import Random

from ..exchange import Answer, Request
from .script import HTML, Script, answer_page, head, hostile, page

BINARY_SIZE = 256 * 1024


@hostile("length-too-long")
def length_too_long(request: Request) -> Script:
    """Content-Length promises 1,000 bytes more than are sent; then the connection closes.

    Keep what came, marked as truncated; try again once at most.
    """
    body = page("Shorter than promised", "<p>The rest was never written.</p>")
    return Script(200, iter([head(request, 200, HTML, ("Content-Length", str(len(body) + 1000))) + body]))


@hostile("length-too-short")
def length_too_short(request: Request) -> Script:
    """Content-Length promises half of the page, all of it is sent, and the connection claims to stay open.

    Read the promised bytes, then never use the connection again: the rest would be taken for the next answer.
    """
    body = page("Longer than promised", "<p>This half is beyond the length.</p>" * 4)
    fields = (HTML, ("Content-Length", str(len(body) // 2)))
    return Script(200, iter([head(request, 200, *fields, connection="keep-alive") + body]), closes=False)


@hostile("wrong-charset")
def wrong_charset(request: Request) -> Answer:
    """Russian in windows-1251: `/` claims UTF-8, `/unknown` an unheard-of one, `/meta` two at once; `/bom` is UTF-16.

    Decode as browsers do (a BOM wins, then the header, then the meta element), and never fail on a byte.
    """
    text = "<p>Широка страна моя родная, много в ней лесов, полей и рек.</p>"
    links = '<p><a href="/unknown">1</a> <a href="/meta">2</a> <a href="/bom">3</a></p>'
    document = f"<!doctype html><title>Песня</title>{text}{links}"
    match request.target:
        case "/unknown":
            return Answer(200, (("Content-Type", "text/html; charset=x-klingon"),), document.encode("cp1251"))
        case "/meta":
            body = document.replace("<title>", '<meta charset="shift_jis"><title>')
            return Answer(200, (("Content-Type", "text/html; charset=windows-1251"),), body.encode("cp1251"))
        case "/bom":
            return Answer(200, (("Content-Type", "text/html; charset=iso-8859-1"),), document.encode("utf-16"))
        case _:
            return Answer(200, (HTML,), document.encode("cp1251"))


@hostile("binary-as-html")
def binary_as_html(request: Request) -> Answer:
    """A quarter of a megabyte of random bytes, NULs among them, that is called text/html.

    Sniff the bytes; make no page, no text and no links of it.
    """
    del request
    return Answer(200, (HTML,), b"\x7fELF\x02\x01\x01\x00" + Random(7).randbytes(BINARY_SIZE))  # noqa: S311 - noise


@hostile("cookies-required")
def cookies_required(request: Request) -> Answer:
    """Sets a cookie and redirects to the same URL until the cookie comes back.

    Notice that the URL redirects to itself and give up at once, or keep cookies for the length of one redirect chain.
    """
    if "visited=yes" in (request.header("cookie") or ""):
        return answer_page("Welcome back", "<p>You kept the cookie.</p>")
    return Answer(302, (("Location", request.target), ("Set-Cookie", "visited=yes; Path=/")), b"")
