r"""Plain links: most links have only characters that no parser changes, and no dots to fold. They need no parser.

A call into the standard's parser costs several times the string operations that suffice here. A plain link is a
*start*, which stands for the beginning of a canonical URL, and a *rest*, which is appended to that:

    start               stands for                                    rest
    (nothing)           the directory of the page                     library/os.html
    ../ or ./ or more   the directory that leads to                   index.html?highlight=on
    /                   the root of the page's site                   wiki/Special:Search
    ?                   the page, for another query                   C=M;O=A
    HTTP://Host:80/     the root of that site, http://host/           a%7Eb

Why the outcome must be the parser's (property tests compare the two):

* A rest holds only characters outside the standard's percent-encode sets, no `\` (a slash to the parser), begins with
  neither `.` nor `/`, and has no further segment that begins with a dot, nor an escaped dot. Other escapes, and a `%`
  that begins none, pass the parser unchanged and are then respelled.
* The parser reads an authority without regard to what follows it, so one parse of `scheme://authority/` serves for
  every URL that begins so: letter case, default ports, numeric hosts and punycode need no rules here.
* What follows no start does not begin with a scheme.

For what is not surely plain the answer is `None`, meaning: ask the parser. Lengths are bounded in the patterns, so
that what they accept stays below the bound of a canonical URL.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from string import ascii_letters, digits

from ..model import Url
from .spelling import normal_escapes
from .standard import whatwg

_ORIGIN = r"[Hh][Tt][Tt][Pp][Ss]?://[A-Za-z0-9._:-]{1,300}+(?:/|(?=\?|$))"
_CLIMB = r"(?>(?:\.\.?/){1,64})"
_NO_SCHEME = r"(?!\?|[A-Za-z][A-Za-z0-9+.-]*+:)"
_QUERY = r"\?[!$-&(-;=?-~]{1,4000}+"
_REST = rf"(?:[!$-\-0-;=@-Z_a-z~][!$-;=@-Z_a-z~]{{0,4000}}+)?(?:{_QUERY})?"

_ABSOLUTE = re.compile(rf"({_ORIGIN})({_REST})")
_LINE = re.compile(rf"^(?:({_CLIMB}|/|(?={_QUERY}$)\?|{_ORIGIN}|{_NO_SCHEME})({_REST})|.*)$", re.MULTILINE)

_PLAIN_LINES = f"!$&()*+,-./:;=@_~{ascii_letters}{digits}?\n".encode()
"""The characters of a rest, in its path and in its query, with the mark between them and the end of a line."""
_LONGEST_LINE = 4000

MAX_PAGE = 8192
"""The length of a page's URL up to which its links can be plain."""


@lru_cache(maxsize=8192)
def site_root(origin: str) -> str | None:
    """`scheme://host[:port]/` in the standard's spelling; `None` if there can be no such host."""
    return whatwg(origin)


def plain_url(url: str) -> Url | None:
    """The canonical form of a plain absolute URL without a fragment; `None`: use the parser."""
    match = _ABSOLUTE.fullmatch(url)
    if match is None:
        return None
    origin, rest = match.groups()
    start = site_root(origin)
    return None if start is None else joined(start, rest)


def joined(start: str, rest: str) -> Url | None:
    """The meaning of a start, and the rest; `None` if there may be dots to fold."""
    if "/." in rest:
        return None
    if "%" in rest:
        if "%2e" in rest or "%2E" in rest:
            return None
        rest = normal_escapes(rest)
    return start + rest  # type: ignore[return-value] # a call of Url() costs as much as this line


def split_plain(links: Collection[str]) -> list[tuple[str, str]]:
    """Start and rest of each link; both are empty if it is not plain.

    One search over all links at once, a line each, saves a call and two slices a link. A link with a line end in it
    would take two lines; it is not plain, whatever stands in place of the line end.
    """
    if not links:
        return []
    parts = _LINE.findall("\n".join(links))
    if len(parts) != len(links):
        parts = _LINE.findall("\n".join([link.replace("\n", "\t") for link in links]))
    return parts


def are_canonical(links: Sequence[str]) -> bool:
    """Whether all of these, which are not none, are plain, of one host, and spelled as their canonical URLs are.

    So are most sitemaps. One look at all of them at once takes a tenth of the time of resolving each.
    """
    root = links[0][: links[0].find("/", 8) + 1]
    if not root.startswith(("http://", "https://")) or "@" in root or site_root(root) != root:
        return False
    lines = "\n".join([*links, ""])
    return (
        lines.isascii()
        and not lines.encode().translate(None, _PLAIN_LINES)
        and lines.count("\n") == len(links) == lines.count("\n" + root) + 1
        and max(map(len, links)) <= _LONGEST_LINE
        and not any(odd in lines for odd in ("/.", "?\n", root + "/"))
    )


class Starts(dict[str, str | None]):
    """The meaning of each start on one page; `None` for an invalid host."""

    __slots__ = ("_directory", "_root")

    def __init__(self, page: Url) -> None:
        path = page.partition("?")[0]
        self._root = path.index("/", 8) + 1
        self._directory = path[: path.rindex("/") + 1]
        self[""] = self._directory
        self["/"] = path[: self._root]
        self["?"] = path + "?"

    def __missing__(self, start: str) -> str | None:
        self[start] = meaning = self._climb(start) if start[0] == "." else site_root(start)
        return meaning

    def _climb(self, start: str) -> str:
        """The directory that a run of `../` and `./` leads to; there is nothing above the root."""
        directory = self._directory
        end = len(directory)
        for _ in range(start.count("../")):
            end = max(directory.rfind("/", 0, end - 1) + 1, self._root)
        return directory[:end]
