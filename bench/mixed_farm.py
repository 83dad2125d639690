"""A farm of other shapes than the lab's, and small honest domains that one page links to.

The shapes were chosen from what is written of link farms, without regard to what the crawler counts: rings of domains
that each link to the next, stars whose satellites all link to one domain, expired domains that kept their honest pages
and got a list of sponsors, blogs of mixed sentences, and wildcard hosts whose every page links to hosts that nobody has
named before. Links from outside are in comments and lists of partners on honest pages.

The honest domains are what a careless defence takes for a farm: a handful of pages each, linked from one hub alone.
"""

from __future__ import annotations

import re
from html import escape

from periplus_lab.http import Answer, Request
from periplus_lab.randomness import at, key_of, sentences, topics
from periplus_lab.sites import DOMAIN
from periplus_lab.spam_web.part import HTML, Honest, Nuisance, plain_style, prose

RINGS, RING = 8, 15
STARS, SATELLITES = 5, 24
EXPIRED, BLOGS, WILD = 40, 60, 20
SMALL, SMALL_PAGES = 60, 5
"""Honest domains that only the hub links to, and pages of each."""
PAGES = 25
"""Pages of each domain of the farm but the wild ones, which have no end."""
_KINDS = {"ring": RINGS * RING, "star": STARS * (SATELLITES + 1), "old": EXPIRED, "blog": BLOGS, "wild": WILD}
_HOST = re.compile(rf"(?:[a-z0-9-]+\.)*([a-z]+)-(\d+)-(ring|star|old|blog|wild|club)\.{re.escape(DOMAIN)}")
_PITCHES = (
    "Compare offers and save on {0} today, our partners ship {0} to every town. ",
    "Looking for {0}? Read what others say of {0} and choose the best {0} for less. ",
    "The {0} guide lists trusted sellers of {0}, with bonus and free delivery. ",
    "Members get {0} first: sign up, claim the bonus, and order {0} in a minute. ",
    "No fees on {0} this week. Ask our agents for {0} deals near you. ",
)
_END = b"</main>"


def domain_name(kind: str, number: int) -> str:
    """The name of a domain: a word of ordinary prose, so that names tell nothing."""
    word = topics()[at(key_of(3, kind), number) % 1500].decode()
    return f"{word}-{number}-{kind}.{DOMAIN}"


class MixedFarm(Nuisance):
    """All shapes at once. `shape` tells them apart; `club` is the shape of the small honest domains."""

    def __init__(self, world: Honest) -> None:
        super().__init__(world)
        self._key = key_of(world.seed, "mixed farm")
        farm = [domain_name(kind, number) for kind, count in _KINDS.items() for number in range(count)]
        self.clubs = [domain_name("club", number) for number in range(SMALL)]
        self.hosts = (*farm, *self.clubs)
        self.wildcards = tuple(f"*.{domain_name('wild', number)}" for number in range(WILD))
        sites = world.sites()
        self._commented = frozenset(site.host for place, site in enumerate(sites) if place % 15 == 4)
        self._hub = sites[len(sites) // 3].host

    def shape(self, host: str) -> str | None:
        """The shape that a host belongs to."""
        found = _HOST.fullmatch(host)
        return found[3] if found and host.endswith(domain_name(found[3], int(found[2]))) else None

    def is_spam(self, host: str) -> bool:
        """Whether a host belongs to the farm."""
        return self.shape(host) not in (None, "club")

    def address(self, host: str) -> str | None:
        """Forty addresses for the farm, one for each honest domain."""
        shape = self.shape(host)
        if shape is None:
            return None
        number = key_of(0, ".".join(host.split(".")[-3:]))
        return f"127.251.{number % 200}.{1 + number % 97}" if shape == "club" else f"127.253.0.{1 + number % 40}"

    def answer(self, request: Request) -> Answer | None:
        """Any page of its hosts."""
        shape = self.shape(request.host)
        if shape is None:
            return None
        name, number = ".".join(request.host.split(".")[-3:]), int(_HOST.fullmatch(request.host)[2])  # type: ignore[index]
        place = self._place(request.target, SMALL_PAGES if shape == "club" else PAGES)
        if place is None and (shape != "wild" or request.target == "/robots.txt"):
            return Answer(404, HTML, b"<!doctype html><title>Not found</title>\n")
        key = key_of(self._key, request.host, request.target)
        own = [f"/p{at(key, step) % (SMALL_PAGES if shape == 'club' else PAGES)}.html" for step in range(6)]
        if shape == "club":
            links = ["/", *(f"/p{step}.html" for step in range(SMALL_PAGES))]
            return Answer(200, HTML, plain_style(f"Club {number}", [prose(key, 8), prose(key + 1, 6)], links))
        text, away = self._text(shape, name, key), self._away(shape, number, key)
        return Answer(200, HTML, plain_style(text[:40].rsplit(" ", 1)[0], [text], [*own, *away]))

    def _place(self, target: str, pages: int) -> int | None:
        found = re.fullmatch(r"/(?:p(\d+)\.html)?", target)
        return None if found is None or int(found[1] or 0) >= pages else int(found[1] or 0)

    def _text(self, shape: str, name: str, key: int) -> str:
        if shape == "old":
            return prose(key, 14)
        word = name.partition("-")[0]
        pitches = [_PITCHES[at(key, 50 + step) % len(_PITCHES)].format(word) for step in range(6)]
        if shape == "blog":
            pool = sentences()
            pitches = [
                each for pitch in pitches[:3] for each in (pool[at(key, len(pitch)) % len(pool)].decode(), pitch)
            ]
        return "".join(pitches)

    def _away(self, shape: str, number: int, key: int) -> list[str]:
        """Links to other domains of the farm."""
        if shape == "ring":
            ring, place = divmod(number, RING)
            steps = (1, 2, RING - 1)
            return [f"http://{domain_name('ring', ring * RING + (place + step) % RING)}/" for step in steps]
        if shape == "star":
            star, place = divmod(number, SATELLITES + 1)
            first = star * (SATELLITES + 1)
            others = range(1, SATELLITES + 1) if place == 0 else (0,)
            return [f"http://{domain_name('star', first + other)}/p{key % PAGES}.html" for other in others]
        if shape == "wild":
            words = topics()
            hosts = [f"{words[at(key, 90 + step) % 1500].decode()}{at(key, step) % 999}" for step in range(8)]
            return [
                f"http://{host}.{domain_name('wild', (number + step % 2) % WILD)}/" for step, host in enumerate(hosts)
            ]
        kinds = [*_KINDS]
        chosen = [kinds[at(key, 70 + step) % len(kinds)] for step in range(4)]
        return [f"http://{domain_name(kind, at(key, 80 + step) % _KINDS[kind])}/" for step, kind in enumerate(chosen)]

    def added(self, request: Request, body: bytes) -> bytes:
        """Comments and lists of partners on some honest pages; on the hub's home page, all small honest domains."""
        if _END not in body:
            return body
        links = []
        own = key_of(self._key, request.host, request.target)
        if request.host in self._commented and own % 3 == 0:
            links = self._away("old", 0, own)[:3]
        if request.host == self._hub and request.target == "/":
            links += [f"http://{club}/" for club in self.clubs]
        if not links:
            return body
        listed = " ".join(f'<a href="{escape(link)}">{escape(link[7:19])}</a>' for link in links)
        return body.replace(_END, f'<div class="partners">{listed}</div>\n'.encode() + _END, 1)
