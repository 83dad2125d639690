"""The tags of a page that say something of it, with lines, attributes and content: what an audit looks at.

A pass of its own, because a crawl needs none of it. `_native.list_tags` does the same in C (`native/tag_list.h`).
"""

from __future__ import annotations

import re
from typing import Final

from .columns import Attributes, ListedTag, TagList
from .tags import BREAKOUT, FLAGS_OF, NUMBERS, RAW, RCDATA
from .tokens import attributes_in, decoded, is_self_closing, name_of, raw_text_end, text_end, token_at

MAX_LISTED: Final = 20_000
"""Tags of a page; the rest is not listed. The native list has the same limits."""
_MAX_SAMPLE: Final = 3000
_MIN_RUN: Final = 24
"""Bytes of a text that is more than a label."""
_MAX_PAGE: Final = 16 << 20
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LISTED: Final = _HEADINGS | {
    "html", "base", "title", "meta", "link", "script", "img", "image", "source", "video", "audio", "track", "iframe",
    "frame", "embed", "object", "form", "a", "area", "body",
}  # fmt: skip
_BLANKS: Final = (b"\xc2\xa0", b"\xe2\x80\x8b", b"\xef\xbb\xbf", b"&nbsp;", b"&#160;", b"&#xa0;")
_PLAIN_HOST: Final = re.compile(rb"[A-Za-z0-9.-]++(?:[/?#]|\Z)")
_NAMING: Final = (b"alt", b"title", b"aria-label")
_SCRIPTED: Final = frozenset({b"role", b"onclick", b"data-toggle", b"data-bs-toggle", b"data-target", b"aria-controls"})
"""Attributes of links that a script takes over: what is behind # is no place in a page."""


class _Pass:
    """A page that is being read."""

    def __init__(self, html: bytes) -> None:
        self.html = html
        self.tags: list[ListedTag] = []
        self.ids: list[bytes] = []
        self.sample = b""
        self.has_items = self.is_in_noscript = False
        self.templates = self.foreign = 0
        self.line, self.counted = 1, 0
        self.open: dict[str, int | None] = {"a": None, "h": None}
        self.hrefs: dict[int, bytes] = {}
        self.scripted: set[int] = set()

    def read(self) -> TagList:
        at, html = 0, self.html
        while at < len(html):
            markup = text_end(html, at)
            if markup > at and not self.templates:
                self._add_text(html[at:markup])
            if markup >= len(html):
                break
            token = token_at(html, markup, is_foreign=False)
            at = token.end if token.source is None else self._add_tag(token.source, markup, token.end)
        for kind in self.open:
            self._close(kind, len(html))
        self._drop_known_places()
        return TagList(self.tags, b"".join(each + b"\n" for each in self.ids), self.sample, self.has_items)

    def _add_text(self, text: bytes) -> None:
        if any(place is not None for place in self.open.values()) and _has_ink(text):
            self._mark_named()
        if len(text) >= _MIN_RUN and not self.foreign and len(self.sample) + len(text) < _MAX_SAMPLE:
            self.sample += text + b" "

    def _add_tag(self, source: bytes, markup: int, at: int) -> int:
        written, name_end = name_of(source)
        name = written.lower().decode("utf-8", "replace")
        if source.startswith(b"/"):
            self._end(name, markup)
            return at
        return self._start(name, source, name_end, markup, at)

    def _start(self, name: str, source: bytes, name_end: int, markup: int, at: int) -> int:
        flags = FLAGS_OF[NUMBERS.get(name, 0)]
        is_raw = bool(flags & (RAW | RCDATA)) and not (self.foreign and name == "title")
        end, after = raw_text_end(self.html, name, at) if is_raw else (at, at)
        if self.templates or name == "template":
            self.templates += name == "template"
            return after
        self.foreign = 0 if flags & BREAKOUT else self.foreign
        raw = attributes_in(source, name_end)
        self._add_ids(name, raw)
        is_drawing = name in ("svg", "math")
        self.foreign += is_drawing and not is_self_closing(source)
        self.is_in_noscript |= name == "noscript"
        if name in _LISTED and not self.foreign and not is_drawing:
            kind = "a" if name == "a" else "h" if name in _HEADINGS else ""
            if kind:
                self._close(kind, markup)
            if len(self.tags) < MAX_LISTED and (kind != "a" or raw.get(b"href")):
                self._list(name, {} if kind == "h" else decoded(raw), markup, at, end)
                if kind:
                    self.open[kind] = len(self.tags) - 1
                if kind == "a":
                    self._note_link(raw, len(self.tags) - 1)
        names = any(_has_ink(raw.get(name) or b"") for name in _NAMING) or b"aria-labelledby" in raw
        if names and not is_raw:
            self._mark_named()
        return after

    def _list(self, name: str, attributes: Attributes, markup: int, at: int, end: int) -> None:
        self.line += self.html.count(b"\n", self.counted, markup)
        self.counted = markup
        name = "img" if name == "image" else name
        self.tags.append(ListedTag(name, self.line, attributes, at, end, False, self.is_in_noscript))

    def _note_link(self, raw: dict[bytes, bytes | None], place: int) -> None:
        self.hrefs[place] = raw[b"href"] or b""
        self.scripted.discard(place)
        if not _SCRIPTED.isdisjoint(raw):
            self.scripted.add(place)

    def _add_ids(self, name: str, raw: dict[bytes, bytes | None]) -> None:
        self.ids += [
            value for key, value in raw.items() if value and (key == b"id" or (name == "a" and key == b"name"))
        ]
        self.has_items |= b"itemscope" in raw or b"typeof" in raw

    def _end(self, name: str, markup: int) -> None:
        if self.templates:
            self.templates -= name == "template"
        elif name in ("svg", "math"):
            self.foreign -= self.foreign > 0
        elif name == "noscript":
            self.is_in_noscript = False
        elif name == "a" and not self.foreign:
            self._close("a", markup)
        elif name in _HEADINGS:
            self._close("h", markup)

    def _close(self, kind: str, end: int) -> None:
        place = self.open[kind]
        if place is None:
            return
        tag = self.tags[place] = self.tags[place]._replace(end=end)
        self.open[kind] = None
        if kind == "a" and tag.is_named:
            href = self.hrefs[place]
            is_plain = not _is_odd(href) and (b"#" not in href or place in self.scripted)
            if is_plain and place + 1 == len(self.tags):
                self.tags.pop()
            elif place not in self.scripted:
                self.tags[place] = tag._replace(attributes={"href": tag.attributes["href"]})

    def _drop_known_places(self) -> None:
        """Leave out links into a page that an earlier one has led to, and those to places that this page has."""
        places, hrefs, kept = set(self.ids), set[bytes](), list[ListedTag]()
        for number, tag in enumerate(self.tags):
            href = self.hrefs.get(number, b"") if tag.name == "a" and tag.is_named else b""
            if b"#" in href and not _is_odd(href) and number not in self.scripted:
                if href in hrefs or (href[:1] == b"#" and href[1:] in places):
                    continue
                hrefs.add(href)
            kept.append(tag)
        self.tags = kept

    def _mark_named(self) -> None:
        for place in self.open.values():
            if place is not None:
                self.tags[place] = self.tags[place]._replace(is_named=True)


def _is_odd(href: bytes) -> bool:
    """Whether a link says more by its href than where it leads: a script, another protocol, a misspelt one."""
    if b"&" in href:
        return True
    lower = href[:16].lower()
    if len(href) > 8 and lower.startswith(b"https://"):
        return _PLAIN_HOST.match(href, 8) is None
    return lower.startswith((b"ht", b"hh", b"hp", b"tt", b"www.", b"//", b" ")) or b":" in href


def _has_ink(text: bytes) -> bool:
    """Whether there is more than white space, of HTML or other."""
    lower = text.lower()
    for blank in _BLANKS:
        lower = lower.replace(blank, b" ")
    return any(byte > 0x20 for byte in lower)


def list_tags(html: bytes) -> TagList:
    """List the tags of a page in UTF-8, of which the first 16 MiB are read."""
    return _Pass(html[:_MAX_PAGE]).read()
