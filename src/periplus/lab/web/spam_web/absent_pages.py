"""Sites whose deleted pages answer 200, or redirect; and innocents.

* apology: 200 and a page that says sorry, with a few links to other pages.
* homeward: a redirect to the home page.
* sections: each section has a page of its own for what is missing.
* honest (innocent): 404; one of its articles is about the status code 404.
* shell (innocent): every page is an empty document that a script fills in.
* wall (innocent): every page asks for consent, and says nothing else.
"""

from __future__ import annotations

from ..exchange import Answer, Request
from ..randomness import at, key_of
from ..sites import DOMAIN
from .part import Part
from .small_site import HTML, SECTIONS, SmallSite, notice, plain_style

KINDS = ("apology", "homeward", "sections", "honest", "shell", "wall")
HOSTS_A_KIND = 2
SIZE = 60
_ONE_IN = 5
"""One article in five links to a page that was deleted."""
_SOFT = ("apology", "homeward", "sections")
_SORRY = {
    SECTIONS[0]: ("Guide not found", "This guide has been removed. Have a look at our other guides, or search for it."),
    SECTIONS[1]: ("No such report", "The report that you are looking for could not be found among our news of today."),
    SECTIONS[2]: ("Nobody here", "We do not know this person, or they have asked us to forget them in the meantime."),
}
_CONSENT = "We value your privacy. Please agree to our cookies and those of our partners to continue to the page."
_SHELL = b"<!doctype html><title>App</title><div id=app></div><script src=/app.js></script>\n"
_ELSEWHERE = ("Page not found", "Sorry, there is nothing at this address any more. Please start at our home page.")


class AbsentPages(Part):
    """The sites with deleted pages, and the innocents."""

    hosts = tuple(f"{kind}-{number}.absent.{DOMAIN}" for kind in KINDS for number in range(HOSTS_A_KIND))

    def address(self, host: str) -> str | None:
        """Each on its own."""
        return f"127.242.0.{1 + self.hosts.index(host)}" if host in self.hosts else None

    def is_error(self, url: str) -> bool:
        """What is not a page of a site that hides its errors."""
        host, _, rest = url.partition("://")[2].partition("/")
        host, path = host.partition(":")[0], "/" + rest.partition("?")[0]
        if host not in self.hosts or host.partition("-")[0] not in _SOFT or path == "/robots.txt":
            return False
        return not SmallSite(host, self.world.seed, SIZE).text(path)

    def deleted(self, host: str) -> list[str]:
        """The URLs of the deleted pages that the pages of a host link to."""
        return [f"http://{host}{_deleted(number)}" for number in range(0, SIZE, _ONE_IN)]

    def answer(self, request: Request) -> Answer | None:
        """A page, or what the site shows in its place."""
        if request.host not in self.hosts:
            return None
        kind = request.host.partition("-")[0]
        path = request.target.partition("?")[0]
        if path == "/robots.txt":
            return notice(404, "Not found", "There is no such page.")
        if kind == "shell":
            return Answer(200, HTML, _SHELL)
        site = SmallSite(request.host, self.world.seed, SIZE)
        if not site.text(path):
            return _missing(kind, path, key_of(self.world.seed, request.target))
        return Answer(200, HTML, _there(kind, site, path))


def _there(kind: str, site: SmallSite, path: str) -> bytes:
    number = site.number(path)
    links = site.links(path)
    if number is not None and number % _ONE_IN == 0:
        links.append(_deleted(number))
    if kind == "wall":
        return plain_style("Before you continue", [_CONSENT], links)
    if kind == "honest" and number == 3:
        return plain_style("404 not found: what the status code means", site.text(path)[:1], links)
    return plain_style(site.title(path), site.text(path), links)


def _deleted(number: int) -> str:
    return f"/{SECTIONS[number // _ONE_IN % len(SECTIONS)]}/deleted-{number}.html"


def _missing(kind: str, path: str, luck: int) -> Answer:
    if kind in ("honest", "wall"):
        return notice(404, "Not found", "There is no such page.")
    if kind == "homeward":
        return Answer(302, (("Location", "/"), *HTML), b"")
    section = path.split("/")[1] if kind == "sections" else ""
    title, text = _SORRY.get(section, _ELSEWHERE)
    suggested = [f"/{SECTIONS[at(luck, place) % 3]}/" for place in range(2)]
    return Answer(200, HTML, plain_style(title, [text], ["/", *suggested]))
