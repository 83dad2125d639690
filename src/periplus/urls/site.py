"""The host that answers for a URL, the site that politeness counts, and the registrable domain.

`site_of` and `host_of` cut a canonical URL apart without parsing it. `domain_of` follows the Public Suffix List
(https://publicsuffix.org/list/): a registrable domain is a public suffix and one label. The whole list counts, its
private section too: the sites of `github.io` are as much strangers to each other as those of `co.uk`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache, lru_cache
from pathlib import Path

from publicsuffixlist import PSLFILE, PublicSuffixList

from periplus.model import Domain, Site, Url

_NO_NAME = re.compile(r"[\x00-\x20\x7f#%/:<>?@\[\\\]^|]")
"""What the URL standard forbids in domain names."""


def site_of(url: Url) -> Site:
    """Host and, if it is not the scheme's own, port; never a user name. `http` and `https` are one site."""
    authority = url.split("/", 3)[2]
    # A call of Site() would cost as much as the rest.
    return authority if "@" not in authority else authority.rpartition("@")[2]  # type: ignore[return-value]


def host_of(url: Url) -> str:
    """The host alone; an IPv6 address is in brackets."""
    return _without_port(site_of(url))


def is_home(url: Url) -> bool:
    """Whether a URL is the top of its site."""
    rest = url.split("/", 3)[3]
    return rest in ("", "index.html", "index.htm", "index.php", "?")


def _without_port(site: str) -> str:
    return site if ":" not in site or site.endswith("]") else site.rpartition(":")[0]


def _with_encoded(lines: Iterable[str] | None) -> list[str]:
    """The rules of a list, and those beyond ASCII also as URLs spell them.

    The library would encode every rule: most of the time that this list takes at the start of each process.
    """
    lines = Path(PSLFILE).read_text("utf-8").splitlines() if lines is None else lines
    rules = [line for line in lines if line and not line.startswith("//")]
    beyond = [rule.lower().split(" ")[0].rstrip() for rule in rules if not rule.isascii()]
    encoded = [rule.lstrip("!").encode("idna").decode("ascii") for rule in beyond]
    return [*rules, *("!" * rule.startswith("!") + each for rule, each in zip(beyond, encoded, strict=True))]


class PublicSuffixes:
    """One edition of the Public Suffix List: the `lines` of its text, or the list that was installed with Periplus.

    `further` are suffixes that the list does not have, such as `lab.test`: a name below one is a domain of its own.
    """

    def __init__(
        self, lines: Iterable[str] | None = None, *, further: Iterable[str] = (), remembered: int = 65_536
    ) -> None:
        self._suffixes = PublicSuffixList(_with_encoded(lines), accept_encoded_idn=False)
        self._further = tuple("." + suffix.strip(".").lower() for suffix in further)
        self.domain_of = lru_cache(maxsize=remembered)(self._domain_of)

    def _domain_of(self, host: str) -> Domain | None:
        host = _without_port(host)
        if host.rpartition(".")[2].isdecimal() or _NO_NAME.search(host):
            return None
        domain = self._suffixes.privatesuffix(host)
        if domain is not None and self._further:
            domain = self._below_further(host.rstrip(".").lower(), domain)
        return None if domain is None else Domain(domain)

    def _below_further(self, host: str, domain: str) -> str | None:
        """The domain of a host, if the longest further suffix that it ends in is longer than its public suffix."""
        ends = [suffix for suffix in self._further if f".{host}".endswith(suffix) and len(suffix) > len(domain)]
        if not ends:
            return domain
        suffix = max(ends, key=len)
        label = host[: -len(suffix)].rpartition(".")[2]
        return label + suffix if label else None


@cache
def _installed(further: tuple[str, ...]) -> PublicSuffixes:
    """The installed list, read when it is first needed, with these suffixes added."""
    return PublicSuffixes(further=further)


def domain_of(host_or_url: str, further: tuple[str, ...] = ()) -> Domain | None:
    """The registrable domain of a host, a site, or a canonical URL, in lower case and in the script it came in.

    `None` for a public suffix itself, for an address, and for what is not a host name. A name under an unknown top
    level is registrable at its second level. The dot that ends a fully qualified name is not part of its domain.
    `further` are public suffixes besides those of the list (`[scope] suffixes`).
    """
    host = host_of(Url(host_or_url)) if "://" in host_or_url else host_or_url
    return _installed(further).domain_of(host)


def is_below(site: Site, names: Collection[str]) -> bool:
    """Whether a site is one of these hosts in lower case, or of a subdomain; a name without a port is any port."""
    spelled = (site, _without_port(site))
    return any(each == name or each.endswith(f".{name}") for name in names for each in spelled)
