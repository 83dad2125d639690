"""Keys of a URL: 64 bits for seen tests, and the key under which web archives look it up.

A fingerprint is xxh3: fast and well mixed but not cryptographic, so a site that crafts collisions can only hide its
own URLs from us. Among n different URLs two collide by chance with probability n^2 / 2^65: 2.7 % for 10^9
URLs.

A SURT is a sort-friendly URI reordering transform, as written in CDXJ.
`https://www.example.org/Path/?b=2&a=1` is `org,example)/path?a=1&b=2`: hosts sort next to their relatives, and every
spelling under which a URL may be looked up has the same key. Archive tools agree on one set of foldings, that of the
Internet Archive's Wayback Machine, which pywb and the CDX indexers share; keys that fold less would not be found. So
these go far beyond `canonical`, and a key is not an identity: many URLs share one, and the index has the URL of each.

* the scheme, user name and password, a leading `www.` or `www<digits>.` and a trailing dot are dropped; the labels of
  a host name are in reverse order, and so are the numbers of an IPv4 address, because those tools reverse them; an IPv6
  address stays whole; a port follows if it is not the scheme's own;
* escapes are decoded as often as they can be (at most `_MAX_UNESCAPE` times; a run of `%25` counts once) and then
  written once, for `#`, `%`, white space and what is not printable ASCII;
* empty segments and dot segments go, and so does the slash at the end; all is in lower case;
* parameters of the query are in order, and session identifiers go: `jsessionid`, `phpsessid`, `sid`, `aspsessionid`,
  `cfid` with `cftoken`, and those of ASP.NET inside a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, unquote_to_bytes

from xxhash import xxh3_64_intdigest

from periplus.model import Fingerprint, Url

from .site import site_of


def fingerprint(url: Url) -> Fingerprint:
    """The xxh3-64 hash of the canonical URL. Stable: collections on disk are keyed by it."""
    return Fingerprint(xxh3_64_intdigest(url.encode()))


def fingerprints(urls: Iterable[Url]) -> list[Fingerprint]:
    """The fingerprint of each."""
    # A call of Fingerprint() would cost as much as the hash.
    return [xxh3_64_intdigest(url.encode()) for url in urls]  # type: ignore[misc]


_MAX_UNESCAPE = 8

_PRINTABLE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "#%")

_WWW = re.compile(r"^www\d*\.")

_QUERY_SESSIONS = (
    re.compile(r"jsessionid=[0-9a-z]{32}(?:&|$)"),
    re.compile(r"phpsessid=[0-9a-z]{32}(?:&|$)"),
    re.compile(r"sid=[0-9a-z]{32}(?:&|$)"),
    re.compile(r"aspsessionid[a-z]{8}=[a-z]{24}(?:&|$)"),
    re.compile(r"cfid=[^&]{1,256}&cftoken=[^&]{1,256}(?:&|$)"),
)

_PATH_SESSION = re.compile(r"/\((?:[0-9a-z]{24}|(?:[a-z]\([0-9a-z]{24}\)){1,8})\)(?=/)")


def surt(url: Url) -> str:
    """The key of a canonical URL in an index of archived pages."""
    path, _, query = url[url.index("/", 8) :].partition("?")
    key = f"{_host_key(site_of(url))}){_path_key(path)}"
    query = _query_key(query) if query else ""
    return f"{key}?{query}" if query else key


@lru_cache(4096)
def _host_key(site: str) -> str:
    host, colon, port = (site, "", "") if site.endswith("]") or ":" not in site else site.rpartition(":")
    if not host.endswith("]"):
        labels = _WWW.sub("", host).strip(".").split(".")
        host = ",".join(reversed(labels))
    return host + colon + port


def _path_key(path: str) -> str:
    path = _escaped_once(path).lower()
    if ".aspx" in path:
        directories, extension, rest = path.rpartition(".aspx")
        path = _PATH_SESSION.sub("", directories) + extension + rest
    if "//" not in path and "/." not in path:
        return path.rstrip("/") or "/"
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == ".." and kept:
            kept.pop()
        elif segment not in ("", "."):
            kept.append(segment)
    return "/" + "/".join(kept)


def _query_key(query: str) -> str:
    query = _escaped_once(query).lower()
    for session in _QUERY_SESSIONS:
        query = session.sub("", query)
    return "&".join(sorted(query.split("&"), key=lambda parameter: parameter.split("=", 1)))


def _escaped_once(text: str) -> str:
    """One layer of escapes instead of however many there were. A canonical text without any is printable already."""
    if "%" not in text:
        return text
    once = re.sub(r"%(?:25)+", "%25", text).encode()
    for _ in range(_MAX_UNESCAPE):
        layered, once = once, unquote_to_bytes(once)
        if once == layered:
            break
    return quote(once, safe=_PRINTABLE)
