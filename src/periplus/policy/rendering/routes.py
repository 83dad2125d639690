"""Pages behind `#!`: an application shows another page when the part of its URL behind `#!` changes.

A canonical URL has no fragment, so such a page is named as Google's scheme for crawlers named it (2009 to 2015): what
stands behind `#!` is the value of the parameter `_escaped_fragment_`. Servers that know the scheme answer with the page
itself; others ignore the parameter and send the application, which a browser then opens with the fragment.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final
from urllib.parse import quote, unquote

from ...model import Url
from ...urls import canonical

PARAMETER: Final = "_escaped_fragment_"
_MAX_ROUTES: Final = 1_000
"""Links to routes that are taken from a page."""
_HREF: Final = re.compile(r"<a\b[^>]*?\shref\s*=\s*(?:\"([^\"]*#!/?[^\"]*)\"|'([^']*#![^']*)')", re.IGNORECASE)


def escaped(link: str, base: str) -> Url | None:
    """The URL for a link with `#!`; `None` if it has none, or is not a link."""
    address, bang, route = link.partition("#!")
    if not bang or not route:
        return None
    url = canonical(address or base, Url(base))
    if url is None:
        return None
    kept = [part for part in url.partition("?")[2].split("&") if part and not part.startswith(f"{PARAMETER}=")]
    value = quote(unquote(route), safe="/:;,~$-_.!*'()")
    return canonical(f"{url.partition('?')[0]}?{'&'.join([*kept, f'{PARAMETER}={value}'])}")


def unescaped(url: Url) -> str:
    """The URL that a browser opens: with `#!` in place of the parameter, if it has that."""
    address, _, query = url.partition("?")
    parts = query.split("&") if query else []
    routes = [part.partition("=")[2] for part in parts if part.startswith(f"{PARAMETER}=")]
    if not routes:
        return url
    kept = [part for part in parts if not part.startswith(f"{PARAMETER}=")]
    return f"{address}{'?' if kept else ''}{'&'.join(kept)}#!{unquote(routes[0])}"


def hash_routes(html: str, base: Url) -> list[Url]:
    """The routes behind `#!` that a document links to, each once."""
    if "#!" not in html:
        return []
    found: dict[Url, None] = {}
    for link in _HREF.finditer(html):
        url = escaped(unescape(link[1] or link[2]), base)
        if url is not None:
            found.setdefault(url)
        if len(found) >= _MAX_ROUTES:
            break
    return list(found)
