"""Detects the kind of a document from its first characters, because declared types and names are often wrong.

Reasons: "empty", "html" (a page in place of a sitemap), "not-a-sitemap", "unknown-root" (read as a urlset all the
same), "leading-garbage" (warnings of a program before the document; passed over).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from .feeds import looks_like_list
from .fields import EDGES
from .values import Kind

ENOUGH = 64 * 1024
"""Characters by which the first tag must have come."""

_SOME = 4 * 1024
"""Characters by which what begins like something else must have shown that it is a sitemap."""

_ROOTS = {
    "urlset": Kind.URLSET,
    "url": Kind.URLSET,
    "sitemapindex": Kind.INDEX,
    "sitemap": Kind.INDEX,
    "rss": Kind.RSS,
    "rdf": Kind.RSS,
    "feed": Kind.ATOM,
}
_FRAGMENTS = ("url", "sitemap")
_NAME = re.compile(r"<(?:([^\s<>/:]{1,64}):)?([A-Za-z_][^\s<>/:]{0,64})(?=[\s<>/])")
_KNOWN = re.compile(r"<(?:([^\s<>/:]{1,64}):)?(urlset|sitemapindex|rss|feed|rdf)[\s>]", re.IGNORECASE)
_PROLOGUE = (("<?", "?>"), ("<!--", "-->"))
_PAGE = re.compile(r"<!doctype\s+html|<html[\s>]", re.IGNORECASE)
_PART_OF_PAGE = re.compile(r"<(?:head|body|script|div|br|p)\b", re.IGNORECASE)
_DOCTYPE_END = re.compile(r"<!DOCTYPE[^\[>]*+(?:\[[^\]]*+\]\s*+)?>", re.IGNORECASE)


class Sniffed(Struct, frozen=True):
    """The kind of a document, where it begins, and the prefix of its root."""

    kind: Kind
    start: int = 0
    prefix: str = ""


def sniff(text: str, *, is_last: bool, complain: Callable[[str, str], None]) -> Sniffed | None:
    """The kind of document that begins with `text`; `None` if more of it is needed."""
    is_enough = is_last or len(text) >= ENOUGH
    start = _first(text)
    if start == len(text):
        if is_enough:
            complain("empty", "")
        return Sniffed(Kind.UNKNOWN, start) if is_enough else None
    if text[start] != "<":
        return _sniff_text(text, complain, is_enough=is_enough or len(text) >= _SOME)
    if page := _PAGE.match(text, start):
        complain("html", page[0])
        return Sniffed(Kind.HTML, start)
    root = _root(text, start)
    if root is None and not is_enough:
        return None
    return _sniff_markup(text, start, root, complain, is_enough=is_enough or len(text) >= _SOME)


def _first(text: str) -> int:
    return len(text) - len(text.lstrip(EDGES))


def _root(text: str, position: int) -> re.Match[str] | None:
    """The first tag, behind declarations and comments."""
    while position < len(text):
        if text.startswith("<!DOCTYPE", position) or text.startswith("<!doctype", position):
            end = _DOCTYPE_END.match(text, position)
            position = len(text) if end is None else end.end()
        else:
            for begin, close in _PROLOGUE:
                if text.startswith(begin, position):
                    end_at = text.find(close, position)
                    position = len(text) if end_at < 0 else end_at + len(close)
                    break
            else:
                return _NAME.match(text, position)
        while position < len(text) and text[position] in EDGES:
            position += 1
    return None


def _sniff_markup(
    text: str, start: int, root: re.Match[str] | None, complain: Callable[[str, str], None], *, is_enough: bool
) -> Sniffed | None:
    name = "" if root is None else root[2].lower()
    if root is not None and name in _ROOTS:
        if name in _FRAGMENTS:
            complain("unknown-root", name)
        return Sniffed(_ROOTS[name], start, root[1] or "")
    if name == "html":
        complain("html", "<html")
        return Sniffed(Kind.HTML, start)
    if not is_enough:
        return None
    known = _sniff_behind_garbage(text, complain)
    if known is not None:
        return known
    if page := _PART_OF_PAGE.search(text):
        complain("html", page[0])
        return Sniffed(Kind.HTML, start)
    complain("unknown-root", name or text[start : start + 80])
    return Sniffed(Kind.UNKNOWN, start, "" if root is None else root[1] or "")


def _sniff_behind_garbage(text: str, complain: Callable[[str, str], None]) -> Sniffed | None:
    known = _KNOWN.search(text)
    if known is None:
        return None
    complain("leading-garbage", text[: known.start()].strip(EDGES))
    return Sniffed(_ROOTS[known[2].lower()], known.start(), known[1] or "")


def _sniff_text(text: str, complain: Callable[[str, str], None], *, is_enough: bool) -> Sniffed | None:
    first_line, *others = text.lstrip(EDGES).splitlines()
    if others and looks_like_list(first_line):
        return Sniffed(Kind.TEXT)
    if not is_enough:
        return None
    known = _sniff_behind_garbage(text, complain)
    if known is None and looks_like_list(text):
        return Sniffed(Kind.TEXT)
    if known is None:
        complain("not-a-sitemap", text[:80])
        return Sniffed(Kind.UNKNOWN, len(text))
    return known
