"""Places where a crawler can stay forever, in ordinary HTTP, each on a host of its own.

* calendar: every month has a next one; every day is a page.
* facets: filters that can be combined in any order, each combination a URL.
* sessions: every answer names a new session in every link.
* doubling: relative links that make the path grow.
* spam farm: many hosts, stuffed with key words, that link to each other and to nothing else; any page name exists.
* cloaker: one page for crawlers, another for people.

No site of the world links here: a crawl reaches them only if they are among its seeds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

from .http import Answer, Request
from .randomness import at, key_of, sentences, topics
from .sites import DOMAIN

FARM = tuple(f"cheap-best-{word}-{number:02d}.{DOMAIN}" for number, word in enumerate(
    ("pills", "loans", "watches", "casino", "degrees", "ringtones", "mortgage", "slots", "insurance", "replica",
     "credit", "jackpot")
))  # fmt: skip
CALENDAR, FACETS, SESSIONS, DOUBLING, CLOAKER = (
    f"{name}.trap.{DOMAIN}" for name in ("calendar", "facets", "sessions", "doubling", "cloaker")
)
_MONTH = re.compile(r"/(\d{4})/(\d\d)/(?:(\d\d)\.html)?", re.ASCII)
_FACETS = {
    "colour": ("red", "green", "blue"),
    "size": ("s", "m", "l"),
    "sort": ("price", "name"),
    "view": ("list", "grid"),
}
_CRAWLER = re.compile(r"bot|crawl|spider|slurp|periplus|archiver|scrapy", re.IGNORECASE)
_LONGEST_PATH = 2000
_HTML = (("Content-Type", "text/html; charset=utf-8"),)


def answer(request: Request, seed: int) -> Answer | None:
    """The answer of a trap; `None` for any other host."""
    trap = _TRAPS.get(request.host)
    if trap is None:
        return None
    path = request.target.partition("?")[0]
    if path == "/robots.txt":
        return Answer(404, _HTML, _page("Not found", ""))
    if len(request.target) > _LONGEST_PATH:
        return Answer(414, _HTML, _page("Too long", ""))
    return trap(request, key_of(seed, request.host))


def _calendar(request: Request, key: int) -> Answer:
    found = _MONTH.fullmatch(request.target.partition("?")[0])
    if request.target == "/":
        return _ok("Calendar", '<p><a href="/2026/01/">January 2026</a></p>')
    if not found or not 1 <= int(found[2]) <= 12:
        return Answer(404, _HTML, _page("No such day", ""))
    year, month = int(found[1]), int(found[2])
    if found[3]:
        return _ok(f"{found[3]}.{month}.{year}", f"<p>No events. {_prose(at(key, year * 400 + month), 1)}</p>")
    days = "".join(f'<a href="{day:02d}.html">{day}</a> ' for day in range(1, 29))
    before, after = (year * 12 + month - 2), (year * 12 + month)
    moves = "".join(
        f'<a href="/{count // 12:04d}/{count % 12 + 1:02d}/">{word}</a> '
        for count, word in ((before, "before"), (after, "after"))
        if 0 < count < 12 * 9999
    )
    return _ok(f"{month}.{year}", f"<p>{days}</p><p>{moves}</p>")


def _facets(request: Request, key: int) -> Answer:
    """Each page offers every choice of every facet, appended to what was chosen before, in the order of choosing."""
    pairs = [pair for pair in request.target.partition("?")[2].split("&") if pair]
    links = []
    for name, values in _FACETS.items():
        kept = [pair for pair in pairs if not pair.startswith(name + "=")]
        chosen = [escape("&".join([*kept, f"{name}={value}"])) for value in values]
        links += [f'<a href="/?{query}">{value}</a>' for query, value in zip(chosen, values, strict=True)]
    return _ok("Shirts", f"<p>{' '.join(links)}</p><p>{_prose(at(key, len(pairs)), 6)}</p>")


def _sessions(request: Request, key: int) -> Answer:
    """Twenty pages, and in every link a new session."""
    path = request.target.partition("?")[0]
    session = at(key_of(key, request.target), int(request.at * 1000))
    links = " ".join(f'<a href="/page{number}.html?sid={session:016x}">Page {number}</a>' for number in range(20))
    name = escape(path.strip("/") or "home")
    return _ok(name, f"<p>{links}</p><p>{_prose(key_of(key, name), 10)}</p>")


def _doubling(request: Request, key: int) -> Answer:
    """A link without its leading slash: `about/` is below the current path."""
    links = '<a href="about/">About</a> <a href="news/">News</a> <a href="contact/us/">Contact</a> <a href="/">Home</a>'
    last = escape(request.target.rstrip("/").rpartition("/")[2] or "home")
    return _ok(last, f"<p>{links}</p><p>{_prose(key_of(key, last), 8)}</p>")


def _farm(request: Request, key: int) -> Answer:
    own = at(key_of(key, request.target), 0)
    words = topics()
    stuffing = " ".join(words[at(own, 1 + place % 7) % 40].decode() for place in range(300))
    links = ""
    for place in range(30):
        host, page = FARM[at(own, 400 + place) % len(FARM)], words[at(own, 500 + place) & 2047].decode()
        links += f'<a href="http://{host}/{page}.html">best cheap {host.split("-")[2]}</a>\n'
    name = request.host.partition(".")[0].replace("-", " ")
    return _ok(f"{name} {name} buy {name} now", f"<p>{stuffing}</p><p>{links}</p>")


def _cloaker(request: Request, key: int) -> Answer:
    """Crawlers by their User-Agent get an encyclopedia; people are redirected to a casino."""
    agent = request.header("user-agent") or ""
    if _CRAWLER.search(agent):
        links = " ".join(f'<a href="/topic{number}.html">Topic {number}</a>' for number in range(12))
        return _ok("Encyclopedia", f"<p>{links}</p><p>{_prose(key_of(key, request.target), 20)}</p>")
    return _ok("Win now", f'<p>Casino! <a href="http://{FARM[3]}/">Play</a></p>')


_TRAPS: dict[str, Callable[[Request, int], Answer]] = {
    CALENDAR: _calendar,
    FACETS: _facets,
    SESSIONS: _sessions,
    DOUBLING: _doubling,
    CLOAKER: _cloaker,
    **dict.fromkeys(FARM, _farm),
}
HOSTS = tuple(_TRAPS)


def _prose(bits: int, count: int) -> str:
    pool = sentences()
    return b"".join(pool[at(bits, place) % len(pool)] for place in range(count)).decode()


def _ok(title: str, main: str) -> Answer:
    return Answer(200, _HTML, _page(title, main))


def _page(title: str, main: str) -> bytes:
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>\n<h1>{title}</h1>\n{main}\n</body>\n</html>\n"
    ).encode()
