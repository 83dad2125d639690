"""Computes the canonical form of one URL (`canonical`) or of all links of a page (`resolve_all`).

A crawler compares URLs for equality, so each resource should have one spelling; but a spelling that returns another
resource is worse than two spellings of one. The form is therefore the URL standard's, plus only the equivalences that
RFC 3986 section 6.2.2 grants for every server:

* only `http` and `https`, no fragment, no default port, no empty query: `/a?` is `/a`;
* percent-escapes of unreserved characters (letters, digits, `-`, `.`, `_`, `~`) are decoded, all others are in upper
  case. A `%` that starts no escape stays, and so does an escape behind it that would complete it: `%2%35` is not `%25`.

Everything that a server may distinguish stays: the order of the query, blank and repeated parameters, `;` and `+`,
trailing and doubled slashes, index names, letter case in path and query, `www.`, the final dot of a host, user name and
password (the wire decides whether to send them; `site_of` ignores them). Policy chooses among URLs of the same page.

The form is a fixed point: `canonical(u) == u == whatwg(u)` for every `u` it returns. Most links need no parser: see
`split_plain`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from string import ascii_letters, digits
from typing import cast

from periplus.model import Url

from .standard import whatwg

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
    r"""Start and rest of each link; both are empty if it is not plain.

    A call into the standard's parser costs several times the string operations that suffice for a plain link. Its start
    stands for the beginning of a canonical URL, and its rest is appended to that:

        start               stands for                                    rest
        (nothing)           the directory of the page                     library/os.html
        ../ or ./ or more   the directory that leads to                   index.html?highlight=on
        /                   the root of the page's site                   wiki/Special:Search
        ?                   the page, for another query                   C=M;O=A
        HTTP://Host:80/     the root of that site, http://host/           a%7Eb

    The result equals the parser's (property tests compare the two), because

    * a rest holds only characters outside the standard's percent-encode sets, no `\` (a slash to the parser), begins
      with neither `.` nor `/`, and has no further segment that begins with a dot, nor an escaped dot (see `joined`).
      Other escapes, and a `%` that begins none, pass the parser unchanged and are then respelled;
    * the parser reads an authority without regard to what follows it, so one parse of `scheme://authority/` serves for
      every URL that begins so: letter case, default ports, numeric hosts and punycode need no rules here;
    * a link without a start does not begin with a scheme.

    Any other link is left to the parser. The patterns bound lengths, so that results stay below `MAX_LENGTH`.

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


MAX_LENGTH = 65_536
"""Longer URLs are `None`, before or after escaping. Servers give up at about 8 KB; what is a trap, policy decides."""


def canonical(url: str, base: str | None = None, encoding: str = "utf-8") -> Url | None:
    """The canonical form of `url`, found on a page whose links are relative to `base`; `None`: we fetch no such URL.

    `encoding` is that of the page, which decides how characters in a query are escaped.
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


_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*+:", re.IGNORECASE | re.ASCII)
"""`mailto:`, `javascript:` and similar: the result is never a URL to crawl."""

_MANY = 16
"""Number of links from which it pays to check whether a list needs no resolving at all."""


def resolve_all(hrefs: Iterable[str], base: str, encoding: str = "utf-8") -> list[Url | None]:
    """The canonical URL of each link of a page, aligned with `hrefs`; `None` for what we do not fetch.

    Equal to `[canonical(href, base, encoding) for href in hrefs]`. This is the hot path of reading a page. Links repeat
    once their fragments are cut, so that is done first, and each different link is resolved once.
    """
    hrefs = list(hrefs)
    page = canonical(base) if len(base) <= MAX_PAGE else None
    if page is not None and len(hrefs) >= _MANY and are_canonical(hrefs):
        return cast("list[Url | None]", hrefs)
    links = [href.partition("#")[0] if "#" in href else href for href in hrefs]
    known: dict[str, Url | None] = dict.fromkeys(links)
    odd = list(known) if page is None else _resolve_plain(known, page)
    for link in odd:
        known[link] = None if _OTHER_SCHEME.match(link) else parsed(link, base, encoding)
    urls = [known[link] for link in links]
    ragged = {link for link in odd if link and link[-1] <= " "}
    return _repaired(urls, hrefs, base, encoding, ragged) if ragged else urls


def _resolve_plain(known: dict[str, Url | None], page: Url) -> list[str]:
    """Fill in the plain links among the keys of `known`; return the others."""
    odd = []
    starts = Starts(page)
    for link, (start, rest) in zip(known, split_plain(known), strict=True):
        if not (start or rest):
            odd.append(link)
        elif (meaning := starts[start]) is not None:
            if "%" not in rest and "/." not in rest:
                known[link] = meaning + rest  # type: ignore[assignment] # a call of Url() costs as much as this line
            elif (url := joined(meaning, rest)) is not None:
                known[link] = url
            else:
                odd.append(link)
    if "" in known:
        known[""] = page
        odd.remove("")
    return odd


def _repaired(urls: list[Url | None], hrefs: list[str], base: str, encoding: str, ragged: set[str]) -> list[Url | None]:
    """Resolve again what ended in white space once its fragment was cut, and so would have lost it to the parser."""
    return [
        canonical(href, base, encoding) if "#" in href and href.partition("#")[0] in ragged else url
        for href, url in zip(hrefs, urls, strict=True)
    ]
