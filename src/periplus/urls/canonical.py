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

from ..model import Url
from .plain import plain_url
from .spelling import respelled, without_fragment
from .standard import whatwg

MAX_LENGTH = 65_536
"""Longer URLs are `None`, before or after escaping. Servers give up at about 8 KB; what is a trap, policy decides."""


def canonical(url: str, base: str | None = None, encoding: str = "utf-8") -> Url | None:
    """The canonical form of `url`, found on a page whose links are relative to `base`; `None`: we fetch no such URL.

    `encoding` is that of the page, which decides how characters in a query are escaped (see `legacy`).
    """
    if "#" in url:
        url = without_fragment(url)
    return (plain_url(url) if base is None else None) or parsed(url, base, encoding)


def parsed(url: str, base: str | None = None, encoding: str = "utf-8") -> Url | None:
    """The canonical form by way of the standard's parser: always right, and what the shortcuts are measured by."""
    if len(url) > MAX_LENGTH or (base is not None and len(base) > MAX_LENGTH):
        return None
    href = whatwg(url, base, encoding)
    if href is None or not href.startswith(("http://", "https://")):
        return None
    href = respelled(href)
    return Url(href) if len(href) <= MAX_LENGTH else None
