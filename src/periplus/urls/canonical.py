"""Our canonical form of a URL, and the one function that makes it.

A crawler compares URLs for equality billions of times, so each resource should have one spelling; but a spelling that
returns another resource is worse than two spellings of one. The form is therefore the URL standard's, plus only the
equivalences that RFC 3986 section 6.2.2 grants for every server:

* only `http` and `https`: nothing else is fetched;
* no fragment (it never leaves the client) and no default port;
* percent-escapes of unreserved characters (letters, digits, `-`, `.`, `_`, `~`) are decoded, all others are in upper
  case. A `%` that starts no escape stays, and so does an escape behind it that would complete it: `%2%35` is not `%25`;
* no empty query: `/a?` is `/a`.

What stays, because a server may tell it apart: the order of the query, blank and repeated parameters, `;` and `+`,
trailing and doubled slashes, index names, letter case in path and query, `www.`, the dot that ends a fully qualified
host, and user name and password (they decide what is answered; whether to send them is the wire's decision, and
`site_of` does not see them). Choosing among URLs that happen to show the same page is the business of policy.

The form is a fixed point: `canonical(u) == u == whatwg(u)` for every `u` it returns.
"""

from __future__ import annotations

import re

from ..model import Url
from .standard import whatwg

MAX_LENGTH = 65_536
"""Longer URLs are `None`, before or after escaping. Servers give up at about 8 KB; what is a trap, policy decides."""

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

_SPELLINGS = {
    f"%{high}{low}": chr(code) if (code := int(high + low, 16)) in _UNRESERVED else f"%{high}{low}".upper()
    for high in "0123456789abcdefABCDEF"
    for low in "0123456789abcdefABCDEF"
}

_ESCAPE = re.compile(r"(%[0-9A-Fa-f]?)?(%[0-9A-Fa-f]{2})")


def canonical(url: str, base: str | None = None) -> Url | None:
    """The canonical form of `url`, found on a page whose links are relative to `base`; `None`: we fetch no such URL."""
    url = without_fragment(url)
    if len(url) > MAX_LENGTH or (base is not None and len(base) > MAX_LENGTH):
        return None
    href = whatwg(url, base)
    if href is None or not href.startswith(("http://", "https://")):
        return None
    return from_standard(href)


def without_fragment(url: str) -> str:
    """Cut at the first `#`, unless white space before it would then be at the end and be stripped."""
    cut = url.find("#")
    return url if cut < 0 or (cut and url[cut - 1] <= " ") else url[:cut]


def from_standard(href: str) -> Url | None:
    """The canonical form of an http(s) URL that is already as the standard spells it."""
    href = href.partition("#")[0]
    if "%" in href:
        href = normal_escapes(href)
    if href.endswith("?") and href.find("?") == len(href) - 1:
        href = href[:-1]
    return Url(href) if len(href) <= MAX_LENGTH else None


def normal_escapes(text: str) -> str:
    """Decode what is unreserved, put the rest in upper case."""
    return _ESCAPE.sub(_respell, text)


def _respell(match: re.Match[str]) -> str:
    stray, escape = match.groups()
    return stray + escape.upper() if stray else _SPELLINGS[escape]
