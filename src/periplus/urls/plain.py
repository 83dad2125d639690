r"""Most links are plain: of characters that no parser changes, with no dot segments to fold. Those need no parser.

A call into the standard's parser costs several times the string operations that suffice here. Every shortcut is an
argument from the standard that the outcome must be the same, and property tests compare the two; for what is not
surely plain the answer is `None`, meaning: ask the parser.

* Path and query are plain if made of characters outside the standard's percent-encode sets, without `\` (a slash to
  it), without a segment that begins with a dot and without an escaped dot. Other escapes, and a `%` that begins none,
  pass the parser unchanged and are then respelled.
* The authority is parsed without regard to what follows it, so one parse of `scheme://authority/` serves for every
  URL that begins so (`normal_origin` remembers): letter case, default ports, numeric hosts and punycode need no rules.
* A relative path is plain if it holds no `:` that could end a scheme.

Lengths are bounded in the patterns, so that what is accepted stays far below the bound of a canonical URL.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..model import Url
from .spelling import normal_escapes
from .standard import whatwg

_FIRST = r"[!$-\-0-9;=@-Z_a-z~]"
_PATH = r"[!$-;=@-Z_a-z~]{0,2000}+"
_PATH_NO_COLON = r"[!$-9;=@-Z_a-z~]{0,2000}+"
_QUERY = r"(?:\?[!$-&(-;=?-~]{1,2000}+)?"
_ORIGIN = r"([Hh][Tt][Tt][Pp][Ss]?://[A-Za-z0-9._:-]{1,300}+)"

ABSOLUTE = re.compile(rf"{_ORIGIN}(?:/{_PATH})?{_QUERY}")

LINK = re.compile(
    rf"(?:{_FIRST}{_PATH_NO_COLON}"
    rf"|((?:\.\.?/){{1,32}}+)(?:{_FIRST}{_PATH_NO_COLON})?"
    rf"|(/)(?!/){_PATH}"
    rf"|{_ORIGIN}(?:/{_PATH})?"
    rf"|(?=(\?)))"
    rf"{_QUERY}"
)
"""What a plain link can look like; `lastindex` tells which: `None` for a path below the page's directory, or these."""

CLIMBING, ROOTED, FULL, QUERY_ONLY = 1, 2, 3, 4


@lru_cache(maxsize=8192)
def normal_origin(origin: str) -> str | None:
    """`scheme://host[:port]` as the standard spells it; `None` if there can be no such host."""
    href = whatwg(origin + "/")
    return None if href is None else href[:-1]


def plain_url(url: str) -> Url | None:
    """The canonical form of a plain absolute URL without a fragment, or `None`: ask the parser."""
    match = ABSOLUTE.fullmatch(url)
    return None if match is None else below_origin(match[1], url[match.end(1) :])


def below_origin(origin: str, rest: str) -> Url | None:
    """An origin as it was written, and a plain path and query below it."""
    start = normal_origin(origin)
    if start is None:
        return None
    return joined(start, rest if rest[:1] == "/" else "/" + rest)


def joined(start: str, rest: str) -> Url | None:
    """Two plain parts in a row, of which the first is canonical; `None` if there may be dot segments to fold."""
    if "/." in rest:
        return None
    if "%" in rest:
        if "%2e" in rest or "%2E" in rest:
            return None
        rest = normal_escapes(rest)
    return Url(start + rest)
