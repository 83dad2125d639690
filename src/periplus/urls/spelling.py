"""How a URL that the standard has parsed is spelled in our canonical form; the reasons are in `canonical`.

Here are the equivalences of RFC 3986 section 6.2.2 as functions on strings. They parse nothing.
"""

from __future__ import annotations

import re

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_HEX = "0123456789abcdefABCDEF"

_ESCAPE = re.compile(r"(%[0-9A-Fa-f]?)?(%[0-9A-Fa-f]{2})")
"""An escape, and before it, if there is one, the start of another that it would complete once decoded."""


def _normal(digits: str) -> str:
    character = chr(int(digits, 16))
    return character if character in _UNRESERVED else f"%{digits.upper()}"


_NORMAL = {f"%{high}{low}": _normal(high + low) for high in _HEX for low in _HEX}


def without_fragment(url: str) -> str:
    """Cut a raw URL at its first `#`, but not where white space before it would then end the string and be stripped."""
    cut = url.find("#")
    return url if cut < 0 or (cut and url[cut - 1] <= " ") else url[:cut]


def normal_escapes(text: str) -> str:
    """Decode the escapes of unreserved characters and put all others in upper case."""
    return _ESCAPE.sub(_replace, text) if "%" in text else text


def _replace(match: re.Match[str]) -> str:
    stray, escape = match.groups()
    return stray + escape.upper() if stray else _NORMAL[escape]


def respelled(href: str) -> str:
    """The canonical spelling of an http(s) URL as the standard serialises it."""
    href = normal_escapes(href.partition("#")[0])
    if href.endswith("?") and href.find("?") == len(href) - 1:
        return href[:-1]
    return href
