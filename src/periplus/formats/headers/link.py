"""The Link field: typed links outside the page (RFC 8288), of which a crawler wants canonical, alternate, next, hub.

Targets and anchors are resolved against the URL of the response; a link whose anchor is another resource says nothing
of this page, and `WebLink.anchor` is there to tell. A `title*` (RFC 8187) is preferred to a `title`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from periplus.urls import whatwg

from .fields import LONGEST_VALUE, end_of_element, parameters

MOST_LINKS = 1_000
"""Of one response; more are not read."""

_TARGET = re.compile(r"\s*+<([^<>]*+)>")


class WebLink(Struct, frozen=True):
    """`rel` and `hreflang` are in lower case. `anchor` is what the link leads from; empty for the response itself."""

    url: str
    rel: tuple[str, ...] = ()
    hreflang: tuple[str, ...] = ()
    type: str = ""
    media: str = ""
    title: str = ""
    anchor: str = ""


def read_links(values: str | Iterable[str], base: str = "") -> list[WebLink]:
    """Every link of one value or all of them whose target is a URL; without a `base` targets stay as written."""
    links: list[WebLink] = []
    for value in (values,) if isinstance(values, str) else values:
        value, at = value[:LONGEST_VALUE], 0
        while at < len(value) and len(links) < MOST_LINKS:
            target = _TARGET.match(value, at)
            if target is not None:
                found, at = parameters(value, target.end())
                link = _link(target[1].strip(), found, base)
                if link is not None:
                    links.append(link)
            at = end_of_element(value, at) + 1
    return links


def _link(target: str, found: list[tuple[str, str]], base: str) -> WebLink | None:
    url = whatwg(target, base) if base else target
    if url is None:
        return None
    first: dict[str, str] = {}
    for name, value in found:
        first.setdefault(name, value.strip())
    anchor = first.get("anchor", "")
    return WebLink(
        url=url,
        rel=tuple(first.get("rel", "").strip("'").lower().split()),
        hreflang=tuple(value.strip().lower() for name, value in found if name == "hreflang"),
        type=first.get("type", "").lower(),
        media=first.get("media", ""),
        title=_extended(first.get("title*", "")) or first.get("title", ""),
        anchor=(whatwg(anchor, base) or anchor) if base and anchor else anchor,
    )


def _extended(text: str) -> str:
    """`UTF-8'en'caf%C3%A9` (RFC 8187); empty for what is not in that form or in a charset that it does not allow."""
    charset, quote, rest = text.partition("'")
    _, second_quote, value = rest.partition("'")
    if not quote or not second_quote or charset.lower() not in ("utf-8", "iso-8859-1"):
        return ""
    return unquote_to_bytes(value).decode(charset, "replace")
