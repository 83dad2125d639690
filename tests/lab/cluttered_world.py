"""A world in which some sites have misleading links, while their sitemaps are correct.

Sites of the ordinary world have good links. Here those of some profiles have a template that adds to every page, in one
of three ways that are common on the web (Olston & Najork 2010, section 6, has more):

* parameters: every link says on which page it stands (`?from=`), so that a page has as many URLs as links to it;
* calendar: every page leads to days in its neighbourhood on which nothing happens, and these to others;
* decay: every page recommends others that are no longer there.

The pages themselves, the sitemaps and the truth about them stay what they were: `unspelt` undoes what is in a URL.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from periplus_lab.http import Answer, Request
from periplus_lab.randomness import at, key_of, sentences
from periplus_lab.sites import Profile
from periplus_lab.world import World

KINDS = ("parameters", "calendar", "decay")
_LINK = re.compile(rb'(<a href="/[^"?]*)(\??)([^"]*")')
_FROM = re.compile(r"[?&]from=[0-9a-f]{8}$")
_DAY = re.compile(r"/calendar/(\d{1,6})\.html", re.ASCII)
_END = b"</main>"
_ADDED = 12
"""Links that a page has more than it should."""
_SAID = 20
"""Sentences of a day without events."""
_HTML = ("Content-Type", "text/html; charset=utf-8")


class ClutteredWorld(World):
    """The world of a seed, with clutter on the sites of some profiles; `kind_of` says which a host has."""

    def __init__(
        self, seed: int, sites: int, *, pages: int, profiles: Sequence[Profile], of: frozenset[Profile]
    ) -> None:
        super().__init__(seed, sites, pages=pages, profiles=profiles)
        hosts = [site.host for site in self.sites() if site.profile in of]
        self._kinds = {host: KINDS[place % len(KINDS)] for place, host in enumerate(hosts)}

    def kind_of(self, host: str) -> str:
        """What is wrong with the links of a site; nothing, if nothing is."""
        return self._kinds.get(host, "")

    def unspelt(self, url: str) -> str:
        """The URL without the parameter that its link added."""
        return _FROM.sub("", url)

    def exists(self, url: str, at: float) -> bool:
        """As in any world; a day on which nothing happens has no page."""
        return "/calendar/" not in url and super().exists(self.unspelt(url), at)

    def answer(self, request: Request) -> Answer:
        """The site's answer, with its cluttered links."""
        kind = self._kinds.get(request.host, "")
        day = _DAY.fullmatch(request.target) if kind == "calendar" else None
        if day:
            return Answer(200, (_HTML,), _day(int(day[1]), key_of(self.seed, request.host)))
        plain = replace(request, target=self.unspelt(request.target)) if kind == "parameters" else request
        said = super().answer(plain)
        if not kind or said.status != 200 or not isinstance(said.body, bytes) or _END not in said.body:
            return said
        own = key_of(self.seed, request.host, plain.target)
        body = _spelt(said.body, own) if kind == "parameters" else said.body.replace(_END, _added(kind, own) + _END, 1)
        return replace(said, body=body)


def _spelt(body: bytes, own: int) -> bytes:
    """Every link within the site, with the page it is on."""
    name = b"from=%08x" % (own & 0xFFFFFFFF)
    return _LINK.sub(
        lambda found: found[1] + b"?" + (found[3][:-1] + b"&amp;" if found[2] else b"") + name + b'"', body
    )


def _added(kind: str, own: int) -> bytes:
    draws = [at(own, place) for place in range(_ADDED)]
    if kind == "calendar":
        hrefs = [f"/calendar/{draw % 100_000}.html" for draw in draws]
    else:
        hrefs = [f"/archive/{draw % 1_000_000}.html" for draw in draws]
    return b"<p>" + b" ".join(b'<a href="%b">See also</a>' % href.encode() for href in hrefs) + b"</p>\n"


def _day(number: int, site: int) -> bytes:
    """No day differs from another but by its date."""
    pool = sentences()
    words = b"".join(pool[at(site, place) % len(pool)] for place in range(_SAID)).decode()
    links = " ".join(f'<a href="/calendar/{number + step}.html">later</a>' for step in (1, 7, 30))
    head = f"<!doctype html>\n<title>Day {number}</title>\n<h1>Day {number}</h1>\n"
    return f"{head}<p>No events. {words}</p>\n<p>{links}</p>\n".encode()
