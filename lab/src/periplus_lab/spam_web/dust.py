"""Sites with more URLs than pages: duplicates under several URLs (DUST), and calendars without an end.

Each site of DUST has its pages, numbered, a way to spell the URL of a page in more than one way, and links that use
all of the spellings. On most of them one rule would name every page once. Three are deceptive: on two a parameter says
nothing on 95 % of the pages and matters on the others, which are a section of the site or scattered over it; on the
third the URL without the parameter does not exist.

`page_of` is the truth: what a URL shows, whatever its spelling.

Of the two calendars, one has no events, and on the other all pages differ. Both link every month to the next and the
one before, and to its days. The second cannot be distinguished from a newspaper's archive by its texts, only by its
dates: it goes on for centuries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from urllib.parse import parse_qsl

from ..http import Answer, Request
from ..randomness import at, key_of, sentences
from ..sites import DOMAIN
from .part import Nuisance, Renaming

PAGES = 400
"""Pages of each site: enough that the spellings of a tenth of them teach a rule."""
LINKS = 12
"""Links of a page to others of its site."""
MATTERS = 20
"""On deceptive sites the parameter matters on one page in this many: 5 %."""
_SENTENCES = 12
_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_NUMBER = re.compile(r"(\d+)(?:\.html)?/?", re.ASCII)

Shown = tuple[object, ...]
"""What a URL shows: two URLs with the same value show the same page."""


def _host(name: str) -> str:
    return f"{name}-dust.{DOMAIN}"


def _numbered(path: str, prefix: str) -> int | None:
    found = _NUMBER.fullmatch(path.removeprefix(prefix)) if path.startswith(prefix) else None
    return int(found[1]) if found and int(found[1]) < PAGES else None


# What each site shows under a path with parameters (`None`: nothing), and how it spells page `number`, `bits` being
# random bits of the link.


def _idle(path: str, query: dict[str, str]) -> Shown | None:
    return _plain(_numbered(path, "/article/"), query.keys() - {"ref"})


def _plain(number: int | None, unknown: object = ()) -> Shown | None:
    return None if number is None or unknown else (number,)


def _tracked(path: str, query: dict[str, str]) -> Shown | None:
    """The URL without the parameter is linked nowhere, but exists."""
    return _plain(_numbered(path, "/story/"), query.keys() - {"from"})


def _sorted_list(path: str, query: dict[str, str]) -> Shown | None:
    """A list in another order is nearly the same page."""
    return _plain(_numbered(path, "/list/"), query.keys() - {"sort"})


def _paged(path: str, query: dict[str, str]) -> Shown | None:
    """The parameter is what the page depends on: no rule is true here."""
    number = _numbered(path, "/topic/")
    return None if number is None or query.keys() - {"page"} else (number, query.get("page", "1"))


def _scattered(path: str, query: dict[str, str]) -> Shown | None:
    number = _numbered(path, "/item/")
    if number is None or query.keys() - {"view"}:
        return None
    return (number, query.get("view", "")) if at(77, number) % MATTERS == 0 else (number,)


def _section(path: str, query: dict[str, str]) -> Shown | None:
    number = _numbered(path, "/lab/")
    if number is not None and number % MATTERS == 0:
        return "lab", number, query.get("view", "")
    number = _numbered(path, "/news/")
    return None if number is None or number % MATTERS == 0 else ("news", number)


def _ordered(path: str, query: dict[str, str]) -> Shown | None:
    """Parameters in any order: 24 URLs a page."""
    if path != "/find" or query.keys() != {"a", "b", "c", "d"}:
        return None
    return tuple(sorted(query.items()))


def _printed(path: str, query: dict[str, str]) -> Shown | None:
    return _plain(_numbered(path.removeprefix("/print"), "/text/"), query)


def _indexed(path: str, query: dict[str, str]) -> Shown | None:
    return _plain(_numbered(path.removesuffix("index.html"), "/folder/"), query) if path.endswith(_ENDS) else None


_ENDS = ("/", "/index.html")


def _cased(path: str, query: dict[str, str]) -> Shown | None:
    return _plain(_numbered(path.lower(), "/page/case-"), query)


def _translated(path: str, query: dict[str, str]) -> Shown | None:
    return _plain(_numbered(path.replace("/en-gb/", "/en/", 1), "/en/part/"), query)


def _required(path: str, query: dict[str, str]) -> Shown | None:
    """Any value will do, but there has to be one."""
    return _plain(_numbered(path, "/ticket/")) if query.keys() == {"token"} else None


_Show = Callable[[str, dict[str, str]], Shown | None]
_Spell = Callable[[int, int], str]


def _find(number: int, bits: int) -> str:
    pairs = [f"{name}={number // base % 5}" for name, base in (("a", 1), ("b", 5), ("c", 25), ("d", 125))]
    order = sorted(range(4), key=lambda place: bits >> 8 * place & 255)
    return "/find?" + "&amp;".join(pairs[place] for place in order)


_SITES: dict[str, tuple[_Show, _Spell, tuple[str, str] | None]] = {
    _host("idle"): (_idle, lambda n, r: f"/article/{n}.html" + f"?ref={r % 50}" * (r >> 8 & 1), ("drop-param", "ref")),
    _host("tracked"): (_tracked, lambda n, r: f"/story/{n}?from={r % 9999}", ("drop-param", "from")),
    _host("sorting"): (
        _sorted_list,
        lambda n, r: f"/list/{n}" + ("", "?sort=name", "?sort=price")[r % 3],
        ("drop-param", "sort"),
    ),
    _host("paged"): (_paged, lambda n, r: f"/topic/{n}" + ("", "?page=2", "?page=3")[r % 3], None),
    _host("scattered"): (_scattered, lambda n, r: f"/item/{n}" + "?view=full" * (r & 1), None),
    _host("section"): (
        _section,
        lambda n, r: f"/{'news' if n % MATTERS else 'lab'}/{n}" + "?view=full" * (r & 1),
        ("drop-param", "view on /news/#"),
    ),
    _host("ordered"): (_ordered, _find, ("sort-query", "")),
    _host("printed"): (_printed, lambda n, r: "/print" * (r & 1) + f"/text/{n}.html", ("drop-prefix", "/print")),
    _host("indexed"): (
        _indexed,
        lambda n, r: f"/folder/{n}/" + "index.html" * (r & 1),
        ("drop-suffix", "index.html"),
    ),
    _host("cased"): (_cased, lambda n, r: ("/page/case-", "/Page/Case-")[r & 1] + str(n), ("lower-case", "")),
    _host("translated"): (
        _translated,
        lambda n, r: ("/en/part/", "/en-gb/part/")[r & 1] + str(n),
        ("replace-segment", "en-gb -> en"),
    ),
    _host("required"): (_required, lambda n, r: f"/ticket/{n}?token={r % 9999}", None),
}
HOSTS = tuple(_SITES)
NEARLY = {_host("sorting"), _host("printed")}
"""Sites whose second spellings show nearly, not exactly, the same."""


def page_of(url: str) -> tuple[str, Shown] | None:
    """Host and page of a URL of these sites; `None` if it shows nothing."""
    host, _, target = url.partition("://")[2].partition("/")
    if host not in _SITES:
        return None
    shown = _shown(host, "/" + target)
    return None if shown is None else (host, shown)


def _shown(host: str, target: str) -> Shown | None:
    path, _, query = target.partition("?")
    if path == "/" and not query:
        return ("home",)
    return _SITES[host][0](path, dict(parse_qsl(query, keep_blank_values=True)))


class Dust(Nuisance):
    """Twelve sites, each with its own way to spell a URL."""

    hosts = HOSTS

    def address(self, host: str) -> str | None:
        """The address of a host: all have the same."""
        return "127.252.1.1" if host in _SITES else None

    def answer(self, request: Request) -> Answer | None:
        """The page of a URL, with links in all spellings."""
        if request.host not in _SITES:
            return None
        shown = None if request.target == "/robots.txt" else _shown(request.host, request.target)
        if shown is None:
            return Answer(404, _HTML, b"<!doctype html><title>Not found</title>\n<p>There is no such page.</p>\n")
        return Answer(200, _HTML, self._page(request.host, shown, request.target))

    def renames(self) -> Iterator[Renaming]:
        """The rule of each site that has one."""
        for host, (_, _, rule) in _SITES.items():
            if rule is not None:
                yield Renaming(host, *rule)

    def _page(self, host: str, shown: Shown, target: str) -> bytes:
        key = key_of(self.world.seed, host, repr(shown))
        pool = sentences()
        words = [pool[at(key, place) % len(pool)].decode() for place in range(_SENTENCES)]
        if host in NEARLY and ("sort" in target or target.startswith("/print")):
            words = [*words[1:], words[0]] if "sort" in target else [*words, "Printed by our server."]
        spell = _SITES[host][1]
        own = key_of(self.world.seed, host, repr(shown), "links")  # the same links under every spelling
        links = "\n".join(
            f'<a href="{spell(at(own, 2 * place) % PAGES, at(own, 2 * place + 1))}">more</a>' for place in range(LINKS)
        )
        title = f"{host.partition('-')[0]} {' '.join(map(str, shown))}"
        return (
            f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n<body>\n'
            f"<main><h1>{title}</h1>\n<p>{''.join(words)}</p></main>\n<nav>{links}</nav>\n</body>\n</html>\n"
        ).encode()


EMPTY, EVENTS, QUERY = (f"{name}-calendar.{DOMAIN}" for name in ("empty", "events", "query"))
"""The hosts: no events; events on every day, by path; and by parameters."""
_PATH = re.compile(r"/events/(\d{4})/(\d\d)/(?:(\d\d)/)?", re.ASCII)
_QUERY = re.compile(r"/events\?month=(\d\d?)&year=(\d{4})", re.ASCII)
_DAYS = 28
_EVENT_SENTENCES = 10


class Calendars(Nuisance):
    """Three calendars."""

    hosts = (EMPTY, EVENTS, QUERY)

    def address(self, host: str) -> str | None:
        """The address of a host: all have the same."""
        return "127.252.1.2" if host in self.hosts else None

    def answer(self, request: Request) -> Answer | None:
        """A month or a day of one of them."""
        if request.host not in self.hosts:
            return None
        if request.target == "/":
            today = date.fromtimestamp(request.at)
            return _ok("Calendar", f'<p><a href="{_month(request.host, today.year, today.month)}">This month</a></p>')
        found = (_QUERY if request.host == QUERY else _PATH).fullmatch(request.target)
        if found is None:
            return Answer(404, _HTML, b"<!doctype html><title>No such day</title>\n")
        month, year = (int(found[1]), int(found[2])) if request.host == QUERY else (int(found[2]), int(found[1]))
        day = found[3] if request.host != QUERY else None
        if not 1 <= month <= 12:
            return Answer(404, _HTML, b"<!doctype html><title>No such month</title>\n")
        return _ok(f"{day or ''} {month} {year}", self._shown(request.host, year, month, day))

    def _shown(self, host: str, year: int, month: int, day: str | None) -> str:
        key = key_of(self.world.seed, host) if host == EMPTY else key_of(self.world.seed, host, year, month, day or "")
        pool = sentences()
        words = "".join(pool[at(key, place) % len(pool)].decode() for place in range(_EVENT_SENTENCES))
        links = [(f"/events/{year:04d}/{month:02d}/{number:02d}/", str(number)) for number in range(1, _DAYS + 1)]
        months = [(count // 12, count % 12 + 1) for count in (year * 12 + month - 2, year * 12 + month)]
        moves = [(_month(host, *each), "another month") for each in months if 1000 <= each[0] <= 9998]
        shown = moves if day is not None or host == QUERY else [*links, *moves]
        anchors = " ".join(f'<a href="{href}">{text}</a>' for href, text in shown)
        return f"<p>{words}</p><p>{anchors}</p>"


def _month(host: str, year: int, month: int) -> str:
    return f"/events?month={month}&amp;year={year}" if host == QUERY else f"/events/{year:04d}/{month:02d}/"


def _ok(title: str, main: str) -> Answer:
    page = (
        f'<!doctype html>\n<html lang="en">\n<title>{title}</title>\n<h1>{title}</h1>\n<main>{main}</main>\n</html>\n'
    )
    return Answer(200, _HTML, page.encode())
