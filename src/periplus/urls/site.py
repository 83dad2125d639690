"""The host that answers for a URL, the site that politeness counts, and the registrable domain.

`site_of` and `host_of` cut a canonical URL apart without parsing it. `domain_of` follows the Public Suffix List
(https://publicsuffix.org/list/): a registrable domain is a public suffix and one label. The whole list counts, its
private section too: the sites of `github.io` are as much strangers to each other as those of `co.uk`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList

from ..model import Domain, Site, Url

_NO_NAME = re.compile(r"[\x00-\x20\x7f#%/:<>?@\[\\\]^|]")
"""What the URL standard forbids in domain names."""


def site_of(url: Url) -> Site:
    """Host and, if it is not the scheme's own, port; never a user name. `http` and `https` are one site."""
    authority = url[8 if url[4] == "s" else 7 : url.index("/", 8)]
    return Site(authority if "@" not in authority else authority.rpartition("@")[2])


def host_of(url: Url) -> str:
    """The host alone; an IPv6 address is in brackets."""
    return _without_port(site_of(url))


def _without_port(site: str) -> str:
    return site if ":" not in site or site.endswith("]") else site.rpartition(":")[0]


class PublicSuffixes:
    """One edition of the Public Suffix List: the `lines` of its text, or the list that was installed with Periplus."""

    def __init__(self, lines: Iterable[str] | None = None, *, remembered: int = 65_536) -> None:
        self._suffixes = PublicSuffixList(lines)
        self.domain_of = lru_cache(maxsize=remembered)(self._domain_of)

    def _domain_of(self, host: str) -> Domain | None:
        host = _without_port(host)
        if host.rpartition(".")[2].isdecimal() or _NO_NAME.search(host):
            return None
        domain = self._suffixes.privatesuffix(host)
        return None if domain is None else Domain(domain)


@cache
def _installed() -> PublicSuffixes:
    """The installed list, read when it is first needed."""
    return PublicSuffixes()


def domain_of(host_or_url: str) -> Domain | None:
    """The registrable domain of a host, a site, or a canonical URL, in lower case and in the script it came in.

    `None` for a public suffix itself, for an address, and for what is not a host name. A name under an unknown top
    level is registrable at its second level. The dot that ends a fully qualified name is not part of its domain.
    """
    host = host_of(Url(host_or_url)) if "://" in host_or_url else host_or_url
    return _installed().domain_of(host)
