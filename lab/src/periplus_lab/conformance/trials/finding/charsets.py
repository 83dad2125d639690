"""The encoding of a page, which decides what the characters of its links are."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_LE

from msgspec import Struct

from ...cases import Trial, trial
from ...sites import Web, prose
from .link_kinds import FEW_PAGES, HTML, URL, WrittenLink, escaped, on_own_pages

_HEBREW, _RUSSIAN, _GREEK, _FRENCH = (
    "\u05e0\u05de\u05dc",
    "\u043f\u043e\u0440\u0442",
    "\u03bb\u03b9\u03bc",
    "\u00e9t\u00e9",
)


def _link(href: str) -> str:
    return f'<p><a href="{href}">A link</a></p>'


class Encoded(Struct, frozen=True):
    """How a page is served: the type in its head, its encoding, its first bytes."""

    content_type: str
    encoding: str
    mark: bytes = b""


_PLAIN = "text/html"
_SERVED = {
    "header-charset": Encoded("text/html; charset=ISO-8859-1", "windows-1252"),
    "query-charset": Encoded("text/html; charset=iso-8859-1", "windows-1252"),
    "meta-charset": Encoded(_PLAIN, "windows-1251"),
    "http-equiv-charset": Encoded(_PLAIN, "iso-8859-8"),
    "header-before-meta": Encoded("text/html; charset=utf-8", "utf-8"),
    "byte-order-mark": Encoded("text/html; charset=iso-8859-1", "utf-8", BOM_UTF8),
    "utf-16": Encoded(_PLAIN, "utf-16-le", BOM_UTF16_LE),
}
_SNIFFING = f"{HTML} Determining the character encoding"
_KINDS = (
    WrittenLink(
        name="header-charset",
        says="The encoding that the Content-Type names holds for the page; a path is sent in UTF-8 all the same.",
        source=f"{URL} Path state",
        markup=_link(f"/{_FRENCH}/header-charset"),
        spellings=escaped(f"/{_FRENCH}/header-charset"),
    ),
    WrittenLink(
        name="query-charset",
        says="A query is percent-encoded in the encoding of the page.",
        source=f"{URL} Query state",
        markup=_link(f"/query-charset?q={_FRENCH}"),
        spellings=escaped(f"/query-charset?q={_FRENCH}", "windows-1252"),
    ),
    WrittenLink(
        name="meta-charset",
        says="`meta charset` names the encoding of a page whose Content-Type does not.",
        source=_SNIFFING,
        markup='<meta charset="windows-1251">' + _link(f"/{_RUSSIAN}/meta-charset"),
        spellings=escaped(f"/{_RUSSIAN}/meta-charset"),
    ),
    WrittenLink(
        name="http-equiv-charset",
        says="`meta http-equiv=content-type` names the encoding of a page, too.",
        source=_SNIFFING,
        markup="<META HTTP-EQUIV=Content-Type CONTENT='text/html;charset=iso-8859-8'>"
        + _link(f"/{_HEBREW}/http-equiv"),
        spellings=escaped(f"/{_HEBREW}/http-equiv"),
    ),
    WrittenLink(
        name="header-before-meta",
        says="The encoding that the Content-Type names goes before that of a `meta` element.",
        source=_SNIFFING,
        markup='<meta charset="windows-1252">' + _link(f"/{_GREEK}/header-before-meta"),
        spellings=escaped(f"/{_GREEK}/header-before-meta"),
    ),
    WrittenLink(
        name="byte-order-mark",
        says="A byte order mark goes before everything else that names an encoding.",
        source=f"{HTML} Determining the character encoding; WHATWG Encoding: BOM sniff",
        markup=_link(f"/{_GREEK}/byte-order-mark"),
        spellings=escaped(f"/{_GREEK}/byte-order-mark"),
    ),
    WrittenLink(
        name="utf-16",
        says="A page may be in UTF-16, with a byte order mark.",
        source="WHATWG Encoding: BOM sniff",
        markup=_link("/in-utf-16"),
        leads_to=("/in-utf-16",),
    ),
)


@trial("finding")
def charsets(web: Web) -> Trial:
    """One page for each encoding."""
    site = web.site()

    def serve(target: str, kind: WrittenLink) -> None:
        served = _SERVED[kind.name]
        text = f"<!doctype html>\n<html><head><title>{kind.name}</title>{kind.markup}<p>{prose(target)}</p></html>\n"
        site.text(target, served.mark + text.encode(served.encoding), served.content_type)

    return Trial(seed=site.url(), seconds=FEW_PAGES, cases=on_own_pages(site, _KINDS, serve))
