"""The head of a page: `<html lang>`, `<meta>`, `<link>`, `<base>`, small scripts, the title."""

from __future__ import annotations

import re
from typing import Final

from .columns import MAX_REDIRECT_PAGE, MAX_SCRIPT, HeadElement
from .markup import Tag
from .references import decode_text
from .state import Page

_WORDS: Final = re.compile(rb"[^\t\n\f\r ]+")
_RELATIONS: Final = frozenset({b"canonical", b"next", b"prev", b"previous", b"amphtml", b"alternate", b"feed"})
"""Words of a `rel` that concern another page; most links are to stylesheets and icons."""
MAX_METAS: Final = 1000
MAX_HEAD_LINKS: Final = 2000
"""Elements of a kind that are reported of a page."""
MAX_TITLE: Final = 8000
"""Characters of the title as written."""


def add_head_element(page: Page, tag: Tag) -> None:
    """Report an element, if it is relevant."""
    if _is_reported(page, tag):
        page.head.append(HeadElement(tag.name, tag.attributes, page.is_in_noscript, ""))


def add_script(page: Page, tag: Tag, content: bytes) -> None:
    """A small script in a small page may redirect its reader."""
    if content and len(page.html) <= MAX_REDIRECT_PAGE and b"src" not in tag.raw:
        source = content.decode("utf-8", "replace")
        if len(source) <= MAX_SCRIPT:
            page.head.append(HeadElement("script", tag.attributes, page.is_in_noscript, source))


def title_of(page: Page) -> str:
    """The first title, references decoded."""
    return decode_text(page.title or b"").decode("utf-8", "replace")[:MAX_TITLE]


def _is_reported(page: Page, tag: Tag) -> bool:
    raw = tag.raw
    match tag.name:
        case "meta":
            is_named = raw.get(b"name") or raw.get(b"property") or raw.get(b"http-equiv")
            is_reported = bool(is_named and raw.get(b"content")) and page.metas < MAX_METAS
            page.metas += is_reported
        case "link":
            words = _WORDS.findall((raw.get(b"rel") or b"").lower())
            is_reported = not _RELATIONS.isdisjoint(words) and page.head_links < MAX_HEAD_LINKS
            page.head_links += is_reported
        case "html":
            is_reported = not page.has_language and (b"lang" in raw or b"xml:lang" in raw)
            page.has_language |= is_reported
        case _:
            is_reported = not page.has_base and not page.is_in_noscript and b"href" in raw
            page.has_base |= is_reported
    return is_reported
