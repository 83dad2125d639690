"""How a page comes: its content coding, its type, its size."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from gzip import compress

import brotli
import zstandard

from ....hostile.script import HTML as HTML_TYPE
from ....http import Answer, Request
from ...cases import Trial, trial
from ...sites import Handler, Web, html_page, prose
from .link_kinds import FEW_PAGES, HTML, WrittenLink, on_own_pages

_CODINGS = "RFC 9110 section 8.4.1"
_SNIFFING = "WHATWG MIME Sniffing: Identifying a resource with an unknown MIME type"
_FILLING = 1_200_000


def _in_members(body: bytes) -> bytes:
    middle = len(body) // 2
    return compress(body[:middle], mtime=0) + compress(body[middle:], mtime=0)


def _coded(body: bytes, coding: str, encode: Callable[[bytes], bytes]) -> Handler:
    """The body in a coding, for a client that says it takes it; as it is for others."""

    def handle(request: Request) -> Answer:
        taken = [item.partition(";")[0].strip() for item in (request.header("accept-encoding") or "").split(",")]
        if coding in taken:
            return Answer(200, (HTML_TYPE, ("Content-Encoding", coding), ("Vary", "Accept-Encoding")), encode(body))
        return Answer(200, (HTML_TYPE, ("Content-Encoding", "identity"), ("Vary", "Accept-Encoding")), body)

    return handle


_ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", lambda body: compress(body, mtime=0)),
    "gzip-members": ("gzip", _in_members),
    "deflate": ("deflate", zlib.compress),
    "brotli": ("br", brotli.compress),
    "zstd": ("zstd", zstandard.ZstdCompressor().compress),
}
_XHTML = """<?xml version="1.0" encoding="UTF-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>XHTML</title></head>
<body><p>{text}</p><p><a href="{target}"/></p></body></html>
"""
_TYPES: dict[str, tuple[tuple[tuple[str, str], ...], str]] = {
    "xhtml": ((("Content-Type", "application/xhtml+xml"),), _XHTML),
    "no-content-type": ((), '<!doctype html>\n<html><title>?</title><p>{text}</p><a href="{target}">?</a></html>\n'),
    "plain-text": (
        (("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")),
        '{text}\n<a href="{target}">Not a link</a>\n',
    ),
}


def _kind(name: str, says: str, source: str) -> WrittenLink:
    return WrittenLink(name=name, says=says, source=source, markup="", leads_to=(f"/behind/{name}",))


_KINDS = (
    _kind("gzip", "A client that says it takes gzip reads it.", f"{_CODINGS}.3"),
    _kind("gzip-members", "A body in gzip may have several members, one after the other.", "RFC 1952 section 2.2"),
    _kind("deflate", "A client that says it takes deflate reads it, in the zlib format.", f"{_CODINGS}.2"),
    _kind("brotli", "A client that says it takes br reads it.", "RFC 7932 section 1"),
    _kind("zstd", "A client that says it takes zstd reads it.", "RFC 8878 section 7.2"),
    _kind("xhtml", "A page of the type application/xhtml+xml has links as any other.", f"{HTML} The XML syntax"),
    _kind("no-content-type", "A body without a Content-Type that begins as HTML does is HTML.", _SNIFFING),
    WrittenLink(
        name="plain-text",
        says="text/plain is text, whatever it looks like, and has no links.",
        source="WHATWG MIME Sniffing: Interpreting the resource metadata",
        markup="",
        not_to=("/behind/plain-text",),
    ),
    _kind("late-link", "A link counts that has more than a megabyte of page before it.", f"{HTML} The body element"),
    _kind("chunked", "A body may come in chunks, which may end anywhere.", "RFC 9112 section 7.1"),
)


@trial("finding")
def documents(web: Web) -> Trial:
    """One page for each; behind it another."""
    site = web.site()

    def serve(target: str, kind: WrittenLink) -> None:
        behind = f"/behind/{kind.name}"
        body = html_page(target, [behind])
        if kind.name in _ENCODERS:
            site.answers[target] = _coded(body, *_ENCODERS[kind.name])
        elif kind.name in _TYPES:
            fields, text = _TYPES[kind.name]
            site.answers[target] = Answer(200, fields, text.format(text=prose(target), target=behind).encode())
        elif kind.name == "chunked":
            site.answers[target] = lambda _request: Answer(
                200, (HTML_TYPE,), (body[at : at + 7] for at in range(0, len(body), 7))
            )
        else:
            text = "".join(f"<p>{prose(str(number), 80)}</p>\n" for number in range(_FILLING // 500))
            site.page(target, body=f'{text}<p><a href="{behind}">The last</a></p>')

    return Trial(seed=site.url(), seconds=FEW_PAGES, cases=on_own_pages(site, _KINDS, serve))
