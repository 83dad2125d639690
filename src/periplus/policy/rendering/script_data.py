"""Data that a page has for its own scripts: often all that the scripts will show, readable without a browser.

Three kinds are read: `<script id="__NEXT_DATA__">`, `<script type="application/ld+json">`, and an assignment to
`window.__INITIAL_STATE__` or one of its namesakes. Texts and links are taken from the JSON values; what they mean is
not known, so only texts that look like sentences count. With at least `LEAST_TEXT` characters the page is read with its
data (`with_data`) and not rendered.
"""

from __future__ import annotations

import json
import re
from html import escape, unescape
from typing import Final

import msgspec
from msgspec import Struct

LEAST_TEXT: Final = 500
"""Characters of text with which data are worth a page."""
MAX_DATA: Final = 5_000_000
"""Characters of JSON that are read: larger ones are caches of a whole site."""
_MAX_VALUES: Final = 50_000
"""Values of the JSON that are looked at."""
_MAX_LINKS: Final = 1_000
"""Links that are taken from data."""
_LEAST_SENTENCE: Final = 20
"""Characters from which on a text with a space in it counts as written for people."""

_SCRIPTS: Final = re.compile(r"<script\b([^>]*)>(.*?)</script", re.IGNORECASE | re.DOTALL)
_IS_DATA: Final = re.compile(r"__NEXT_DATA__|application/ld\+json", re.IGNORECASE)
_ASSIGNED: Final = re.compile(
    r"(?:window\.|self\.)?__(?:INITIAL_STATE|PRELOADED_STATE|APOLLO_STATE|INITIAL_DATA)__\s*=\s*(?=[{\[])"
)
_LINK: Final = re.compile(r"(?:https?://|/(?!/))[^\s<>\"'{}|\\^`]{1,2000}\Z")
_FILE: Final = re.compile(r"\.(?:js|css|png|jpe?g|gif|svg|webp|ico|woff2?|json|mp4)(?:[?#]|\Z)", re.IGNORECASE)
_MARKUP: Final = re.compile(r"<[^<>]{1,2000}>")


class ScriptData(Struct, frozen=True):
    """Texts and links in the data of a page."""

    texts: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def characters(self) -> int:
        """Characters of all texts."""
        return sum(map(len, self.texts))

    @property
    def is_enough(self) -> bool:
        """Whether the page can be read with these data instead of being rendered."""
        return self.characters >= LEAST_TEXT


def script_data(html: str) -> ScriptData:
    """The data of a page, all kinds together."""
    texts: dict[str, None] = {}
    links: dict[str, None] = {}
    for value in _values(html):
        _collect(value, texts, links)
    return ScriptData(tuple(texts), tuple(links)[:_MAX_LINKS])


def with_data(html: str, data: ScriptData) -> bytes:
    """The page with its data as text and links at its end, in UTF-8: what reads pages, reads them there."""
    texts = "".join(f"<p>{escape(text)}</p>\n" for text in data.texts)
    links = "".join(f'<a href="{escape(link)}"></a>\n' for link in data.links)
    return f'{html}\n<main><article id="periplus-script-data">\n{texts}{links}</article></main>'.encode(
        "utf-8", "replace"
    )


def _values(html: str) -> list[object]:
    found: list[object] = []
    for script in _SCRIPTS.finditer(html):
        attributes, content = script[1], script[2]
        if len(content) > MAX_DATA:
            continue
        if _IS_DATA.search(attributes):
            try:
                found.append(msgspec.json.decode(content.strip()))
            except (msgspec.DecodeError, RecursionError):
                continue
        elif assigned := _ASSIGNED.search(content):
            try:
                found.append(json.JSONDecoder().raw_decode(content, assigned.end())[0])
            except (ValueError, RecursionError):
                continue
    return found


def _collect(value: object, texts: dict[str, None], links: dict[str, None]) -> None:
    """Take texts and links from a JSON value, in its order."""
    waiting = [value]
    for _ in range(_MAX_VALUES):
        if not waiting:
            return
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(reversed(list(one.values())))
        elif isinstance(one, list):
            waiting.extend(reversed(one))
        elif isinstance(one, str):
            _take(one, texts, links)


def _take(text: str, texts: dict[str, None], links: dict[str, None]) -> None:
    text = text.strip()
    if _LINK.match(text):
        if not _FILE.search(text):
            links.setdefault(text)
    elif len(text) >= _LEAST_SENTENCE and " " in text:
        plain = " ".join(unescape(_MARKUP.sub(" ", text)).split())
        if len(plain) >= _LEAST_SENTENCE and not plain.startswith(("{", "[", "function")):
            texts.setdefault(plain)
