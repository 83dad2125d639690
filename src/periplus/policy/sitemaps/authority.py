"""Which hosts may a sitemap list pages of?

A file speaks for its own host. For another host it speaks only where that host's own robots.txt names the file, or an
index that leads to it (https://www.sitemaps.org/protocol.html#sitemaps_cross_submits): else any site could have us
fetch from any other. A file in a folder may, by the protocol, only list URLs of that folder
(`formats.sitemap.in_scope`); few files and fewer readers keep to that, and a host that lists its own pages misleads no
other, so it is an option.

Reasons: `sitemap-foreign-host`: the other host names no such file, as far as its robots.txt was read by then;
`sitemap-other-folder`: the location rule.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from ...formats.sitemap import in_scope
from ...model import ConfigError, Site, Url
from ...urls import domain_of, site_of

FOREIGN = "sitemap-foreign-host"
_SITES = 4096
"""Answers remembered of one file: one that lists a page of each of a million hosts must not fill memory."""
_WAYS = ("robots", "domain", "any")


class AuthoritySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose pages a sitemap may list."""

    cross_host: str = "robots"
    """Allow pages of another host if "robots": its robots.txt names the file; "domain": also if both are of one
    domain; "any": always."""
    keeps_folder: bool = False
    """Restrict a file that no robots.txt names to URLs of its folder and scheme, as the protocol requires."""

    def __post_init__(self) -> None:
        """Refuse a way that is not there."""
        if self.cross_host not in _WAYS:
            raise ConfigError(
                f"unknown value of cross_host: {self.cross_host[:100]!r}",
                hint=f"There are {', '.join(_WAYS)}",
            )


class Voice:
    """What one file may list. `vouching` are the hosts whose robots.txt names it, or an index above it."""

    def __init__(self, url: Url, vouching: Collection[Site], settings: AuthoritySettings | None = None) -> None:
        self._url = url
        self._site = site_of(url)
        self.vouching = vouching
        self._settings = settings or AuthoritySettings()
        self._answers: dict[Site, str] = {}
        self._is_bound = self._settings.keeps_folder and self._site not in vouching
        self._home = (f"http://{self._site}/", f"https://{self._site}/")

    def refusal(self, page: Url) -> str:
        """Why it may not list this page; empty if it may."""
        if page.startswith(self._home):  # nearly all are, and need not be cut apart
            return "sitemap-other-folder" if self._is_bound and not in_scope(self._url, page) else ""
        site = site_of(page)
        if site == self._site:  # with a user name
            return "sitemap-other-folder" if self._is_bound else ""
        answer = self._answers.get(site)
        if answer is None:
            if len(self._answers) >= _SITES:
                self._answers.clear()
            answer = self._answers[site] = self._of(site)
        return answer

    def own_site(self, pages: Collection[Url]) -> Site | None:
        """Its own site, if all of these lie there and it may list them; else each is to be asked for.

        What lies, in the order of strings, between two that begin alike begins so, too.
        """
        if self._is_bound or not pages:
            return None
        first, last = min(pages), max(pages)
        is_own = any(first.startswith(home) and last.startswith(home) for home in self._home)
        return self._site if is_own else None

    def _of(self, site: Site) -> str:
        way = self._settings.cross_host
        if way == "any" or (way == "domain" and _are_kin(site, self._site)):
            return ""
        return "" if site in self.vouching else FOREIGN


def _are_kin(one: Site, other: Site) -> bool:
    domain = domain_of(one)
    return domain is not None and domain == domain_of(other)
