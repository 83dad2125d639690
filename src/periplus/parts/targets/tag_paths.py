"""The tag path of each link: the elements from the body down to the `<a>`, with their classes.

Sites are made from templates, so links that lead to similar pages stand at similar places of their pages. Elements
inside a line do not count, nor do ids and the digits of classes: they differ from page to page. An element inside of
one that is written alike counts once, so that sections of any depth have one path. The pass builds no tree: an end tag
closes the last open element of its name, and list items, cells and paragraphs end where the next begins. Only a crawl
by this ordering makes the pass, and it is linear in the size of the page. A tag with `<` inside is left out.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final

MAX_BYTES: Final = 2 << 20
"""Bytes of a page that are looked at."""
MAX_OPEN: Final = 64
"""Open elements: deeper ones are left out of paths."""
MAX_LINKS: Final = 10_000
"""Links whose paths are found: no more links of a page are followed."""
MAX_PATH: Final = 400
"""Characters of a path."""
_MAX_STEP: Final = 80
"""Characters of one element in a path."""

_TAG: Final = re.compile(
    rb"<(/?)(?!(?:b|i|u|s|em|strong|span|code|tt|small|big|font|sub|sup|kbd|samp|var|br|img|wbr|input|meta|link|hr|abbr"
    rb"|cite|dfn|mark|q|time|label|button|option|script|style|col|source|param|embed|path|g)\b)"
    rb"([a-zA-Z][a-zA-Z0-9]{0,15})(?![a-zA-Z0-9-])([^<>]*)>"
)
_CLASS: Final = re.compile(rb"""(?<![\w-])class\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_HREF: Final = re.compile(rb"""(?<![\w-])href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_HIDDEN: Final = ((b"<!--", b"-->"), (b"<script", b"</script"), (b"<style", b"</style"))
_DIGITS: Final = re.compile(r"[\d_-]+")
_LINKS: Final = frozenset({b"a", b"area"})
_ROOTS: Final = frozenset({b"html", b"body", b"head"})
_ENDED_BY: Final = {
    b"li": frozenset({b"li"}),
    b"dt": frozenset({b"dt", b"dd"}),
    b"dd": frozenset({b"dt", b"dd"}),
    b"td": frozenset({b"td", b"th"}),
    b"th": frozenset({b"td", b"th"}),
    b"tr": frozenset({b"td", b"th", b"tr"}),
    b"p": frozenset({b"p"}),
}
"""The elements that end where one of the key begins."""


class TagPaths:
    """The links of a page as written, each with its path, and the base that the page states."""

    def __init__(self, html: bytes) -> None:
        self.base = ""
        self.links: list[tuple[str, str]] = []
        self._open: list[tuple[bytes, str]] = []
        self._paths: dict[str, str] = {}
        for found in _TAG.finditer(_visible(html[:MAX_BYTES])):
            ends, name, attributes = found.groups()
            tag = name.lower()
            if ends:
                self._close(tag)
            elif tag in _LINKS:
                self._add_link(tag, attributes)
                if len(self.links) >= MAX_LINKS:
                    break
            elif tag == b"base":
                self.base = self.base or _value(_HREF.search(attributes))
            elif tag not in _ROOTS:
                self._push(tag, attributes)

    def _push(self, tag: bytes, attributes: bytes) -> None:
        ended = _ENDED_BY.get(tag)
        while ended and self._open and self._open[-1][0] in ended:
            self._open.pop()
        if len(self._open) < MAX_OPEN and not attributes.endswith(b"/"):
            self._open.append((tag, self._path(tag, attributes)))

    def _close(self, tag: bytes) -> None:
        for place in range(len(self._open) - 1, -1, -1):
            if self._open[place][0] == tag:
                del self._open[place:]
                return

    def _add_link(self, tag: bytes, attributes: bytes) -> None:
        found = _HREF.search(attributes)
        if found is not None:
            path = self._path(tag, attributes)
            self.links.append((_value(found), self._paths.setdefault(path, path)))

    def _path(self, tag: bytes, attributes: bytes) -> str:
        above = self._open[-1][1] if self._open else ""
        step = self.step(tag, attributes)
        return above if above.endswith(step) else (above + step)[-MAX_PATH:]

    def step(self, tag: bytes, attributes: bytes) -> str:
        """An element in a path: its name and classes, without digits, dashes and underscores."""
        found = _CLASS.search(attributes) if attributes else None
        if found is None:
            return f"/{tag.decode()}"
        words = sorted({_DIGITS.sub("", word) for word in _value(found).split()})
        return f"/{'.'.join((tag.decode(), *words))}"[:_MAX_STEP]


def _visible(html: bytes) -> bytes:
    """A page without comments, scripts and style sheets. What is never closed stays: looking for its end costs time."""
    for start, end in _HIDDEN:
        if start not in html:
            continue
        shown, _, rest = html.rpartition(end)
        html = re.sub(re.escape(start) + rb".*?" + re.escape(end), b"", shown + end, flags=re.DOTALL) + rest
    return html


def _value(found: re.Match[bytes] | None) -> str:
    if found is None:
        return ""
    value = next((each for each in found.groups() if each is not None), b"").decode("utf-8", "replace").strip()
    return unescape(value) if "&" in value else value
