"""Webs drawn from a seed, a function for each kind, with what is true of them.

A web answers requests, and knows the *subject* of every URL: URLs with one subject show the same page. Subjects that
are *owed* are honest pages: a crawl that misses one has lost it. `allowance` is how many requests beyond one for each
subject the kind may cost. `lessons` are what jobs have learnt after so many pages, with its kind. `most` bounds
all requests to a web without an end, whose pages all differ. `errors`: pages with the subject `error` are soft 404s.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from itertools import count
from random import Random
from typing import Final

from msgspec import Struct

from periplus.model import Site
from periplus.parts.mirrors.policy import HostRule, LearntHosts, encode_hosts
from periplus_lab import Answer, Request
from periplus_lab.world import DEFAULT_EPOCH

_HTML: Final = (("Content-Type", "text/html; charset=utf-8"),)
_SESSION: Final = re.compile(r"(?:/[a-z_-]*[0-9a-f]{8,})?(?:/p/(\d+)|/)")
_DAY: Final = re.compile(r"from=([\d-]{10})&view=")
_LETTERS: Final = "abcdefghijklmnoprstuvw"


class Shown(Struct, frozen=True):
    """A page: what it is about, its text, and where it leads."""

    subject: str
    text: str
    links: tuple[str, ...] = ()


Show = Callable[[str, str], Shown | None]
"""The page of a host at a target; `None`: there is none."""


class Web(Struct, frozen=True):
    """A web with its truth."""

    seeds: tuple[str, ...]
    show: Show
    owed: frozenset[str]
    allowance: int
    lessons: tuple[tuple[int, str, bytes], ...] = ()
    most: int = 0
    errors: bool = False
    epoch: float = DEFAULT_EPOCH

    def answer(self, request: Request) -> Answer:
        """The answer to a request."""
        shown = None if request.target == "/robots.txt" else self.show(request.host, request.target)
        if shown is None:
            return Answer(404, _HTML, b"<html><title>Not found</title><body>There is no such page.</body></html>")
        links = "".join(f'<li><a href="{html.escape(link)}">{html.escape(link)}</a>' for link in shown.links)
        title = html.escape(shown.subject)
        page = f"<html><head><title>{title}</title></head><body><main><p>{shown.text}</p></main><ul>{links}</ul>"
        return Answer(200, _HTML, f"{page}</body></html>".encode())

    def subject(self, url: str) -> str | None:
        """What a URL shows."""
        host, _, target = url.partition("://")[2].partition("/")
        shown = self.show(host, f"/{target}")
        return None if shown is None else shown.subject


def prose(key: object, words: int = 120) -> str:
    """A text that no other key has."""
    chance = Random(repr(key))
    return " ".join("".join(chance.choices(_LETTERS, k=chance.randint(3, 9))) for _ in range(words))


def _shown(subject: str, links: Iterable[str] = (), text: str = "") -> Shown:
    return Shown(subject, text or prose(subject), tuple(links))


def copied_elsewhere(chance: Random) -> Web:
    """A site that mostly shows what another site shows as well, and some pages of its own among these."""
    own, copied = chance.randint(8, 20), chance.randint(150, 220)
    numbers = list(range(own + copied))
    chance.shuffle(numbers)
    owned = frozenset(numbers[:own])
    seeds = ["http://first.test/", "http://second.test/"]
    chance.shuffle(seeds)

    def show(host: str, target: str) -> Shown | None:
        is_first = host == "first.test"
        if target == "/":
            links = [f"/p/{number}" for number in range(own + copied) if not is_first or number not in owned]
            return _shown(f"home of {host}", links)
        number = int(target.rpartition("/")[2])
        if number in owned:
            return None if is_first else _shown(f"own {number}", ["/"])
        return _shown(f"shared {number}", ["/"])

    subjects = {f"own {number}" for number in owned} | {f"shared {number}" for number in numbers[own:]}
    return Web(tuple(seeds), show, frozenset(subjects), copied + 4)


def mirrors(chance: Random) -> Web:
    """Two hosts with the same pages, but for a few that only one of them has; after some pages one is a mirror."""
    pages = chance.randint(150, 220)
    missing = frozenset(chance.sample(range(pages), 5))
    hosts = ["one.test", "two.test"]
    chance.shuffle(hosts)
    kept, mirror = hosts

    def show(host: str, target: str) -> Shown | None:
        if target == "/":
            return _shown("home", [f"http://{chosen}/p/{number}" for number in range(pages) for chosen in hosts])
        number = int(target.rpartition("/")[2])
        return None if host == kept and number in missing else _shown(f"page {number}", ["/"])

    learnt = encode_hosts(LearntHosts((HostRule(Site(mirror), "/", Site(kept), "/"),)))
    owed = frozenset(f"page {number}" for number in range(pages))
    seeds = tuple(f"http://{host}/" for host in sorted(hosts))
    taught = chance.choice((60, 150, 300))
    return Web(seeds, show, owed, taught + 30, lessons=((taught, "mirrors", learnt),))


def mirrors_that_part(chance: Random) -> Web:
    """Two hosts that are judged to be mirrors, wrongly: half of the pages differ. A later judgement withdraws that."""
    pages = chance.randint(150, 220)
    kept, mirror = ("one.test", "two.test") if chance.random() < 0.5 else ("two.test", "one.test")

    def show(host: str, target: str) -> Shown | None:
        if target == "/":
            return _shown(
                "home", [f"http://{chosen}/p/{number}" for number in range(pages) for chosen in (kept, mirror)]
            )
        number = int(target.rpartition("/")[2])
        return _shown(f"page {number}" if number % 2 else f"{host} {number}", ["/"])

    learnt = encode_hosts(LearntHosts((HostRule(Site(mirror), "/", Site(kept), "/"),)))
    owed = {show(host, f"/p/{number}").subject for host in (kept, mirror) for number in range(pages)}  # type: ignore[union-attr]
    seeds = ("http://one.test/", "http://two.test/")
    taught = chance.choice((5, 60, 150))
    lessons = ((taught, "mirrors", learnt), (taught + 90, "mirrors", encode_hosts(LearntHosts())))
    return Web(seeds, show, frozenset(owed), pages + 10, lessons=lessons)


def parked_by_mistake(chance: Random) -> Web:
    """A domain that is judged to be parked, wrongly, and not any more later."""
    pages = chance.randint(60, 120)

    def show(host: str, target: str) -> Shown | None:
        if target == "/":
            return _shown(f"home of {host}", [f"/p/{number}" for number in range(pages)])
        return _shown(f"{host} {target}", ["/"])

    hosts = ("news.one.test", "www.one.test", "two.test")
    lessons = (
        (10, "mirrors", encode_hosts(LearntHosts(parked=("one.test",)))),
        (80, "mirrors", encode_hosts(LearntHosts())),
    )
    owed = frozenset(f"{host} /p/{number}" for host in hosts for number in range(pages))
    return Web(tuple(f"http://{host}/" for host in hosts), show, owed, 4, lessons=lessons)


def sessions_in_the_path(chance: Random) -> Web:
    """Every link of every page has a session of its own in an ordinary segment."""
    pages, salt = chance.randint(120, 180), chance.random()
    length, name = chance.choice((8, 16, 32)), chance.choice(("s-", "sid_", ""))
    views = count()

    def show(_host: str, target: str) -> Shown | None:
        found = _SESSION.fullmatch(target)
        if found is None:
            return None
        number = int(found[1] or 0)
        session = sha256(f"{salt} {next(views)}".encode()).hexdigest()
        session = f"{name}{session[: length - 1]}7"
        onward = [
            3 * number + 1,
            3 * number + 2,
            3 * number + 3,
            number + 1,
            Random(f"{salt} {number}").randrange(pages),
        ]
        return _shown(f"page {number}", [f"/{session}/p/{each % pages}" for each in onward])

    owed = frozenset(f"page {number}" for number in range(pages))
    return Web(("http://one.test/",), show, owed, 3 * pages // 5)


def path_aliases(chance: Random) -> Web:
    """Every page has two or three paths, and links use any of them, or each those of its own kind."""
    pages, salt, is_apart = chance.randint(150, 220), chance.random(), chance.random() < 0.3
    names = chance.choice((("/docs", "/manual", ""), ("/help", "/support"), ("/shop/de", "/shop/germany")))
    return Web(
        ("http://one.test/",),
        _trees(pages, salt, names, lambda number, _: f"page {number}", is_apart=is_apart),
        frozenset(f"page {number}" for number in range(pages)),
        (len(names) - 1) * pages + 10,
    )


def trees_alike(chance: Random) -> Web:
    """Two trees of pages that look like one: languages, versions, editions that differ a little, users."""
    pages, salt = chance.randint(60, 100), chance.random()
    first, second, share = chance.choice(
        (
            ("/en", "/de", 1.0),
            ("/en", "", 0.5),
            ("/v1", "/v2", 0.1),
            ("/stable", "/latest", 0.1),
            ("/user-3f9a60c1", "/user-77ab12cd", 1.0),
            ("/teachers", "/pupils", 0.3),
        )
    )

    def subject(number: int, tree: str) -> str:
        return f"page {number}" + f" of {tree}" * (Random(f"{salt} {number} parts").random() < share)

    owed = frozenset(subject(number, tree) for number in range(pages) for tree in (first, second))
    show = _trees(pages, salt, (first, second), subject, is_apart=chance.random() < 0.5)
    return Web(("http://one.test/",), show, owed, pages)


def trees_nearly_alike(chance: Random) -> Web:
    """Two trees of pages of which very few differ, such as editions with a correction or two."""
    pages, salt = chance.randint(60, 230), chance.random()
    first, second = chance.choice((("/en", ""), ("/v1", "/v2"), ("/stable", "/latest"), ("/teachers", "/pupils")))
    apart = frozenset(chance.sample(range(pages), max(1, round(pages * chance.uniform(0.01, 0.05)))))

    def subject(number: int, tree: str) -> str:
        return f"page {number}" + f" of {tree}" * (number in apart)

    owed = frozenset(subject(number, tree) for number in range(pages) for tree in (first, second))
    show = _trees(pages, salt, (first, second), subject, is_apart=chance.random() < 0.5)
    return Web(("http://one.test/",), show, owed, pages)


def _trees(
    pages: int, salt: float, names: Sequence[str], subject: Callable[[int, str], str], *, is_apart: bool
) -> Show:
    """Pages that are shown in several trees; `is_apart`: the links of each stay in it."""

    def show(_host: str, target: str) -> Shown | None:
        tree, _, name = target.rpartition("/t/")
        if target == "/":
            return _shown("home", [f"{each}/t/{number}" for number in range(pages) for each in names])
        if tree not in names or not name.isdecimal():
            return None
        chosen = Random(f"{salt} {name}")
        onward = [(int(name) + 1) % pages, *(chosen.randrange(pages) for _ in range(5))]
        links = [f"{tree if is_apart else chosen.choice(names)}/t/{number}" for number in onward]
        return _shown(subject(int(name), tree), links)

    return show


def sorted_lists(chance: Random) -> Web:
    """Lists in every order that visitors may ask for."""
    lists, size, salt = chance.randint(8, 14), chance.randint(8, 14), chance.random()
    name = chance.choice(("sort", "order_by", "orderby"))
    orders = ("price", "name", "new", "rating")

    def show(_host: str, target: str) -> Shown | None:
        path, _, query = target.partition("?")
        kind, _, number = path[1:].partition("/")
        if path == "/":
            return _shown("home", [f"/list/{each}" for each in range(lists)])
        if kind != "list":
            return _shown(f"item {number}", ["/"])
        items = [int(number) * size + place for place in range(size)]
        Random(f"{query} {number}").shuffle(items)
        text = " ".join(prose((salt, item), 40) for item in items)
        links = [f"/item/{item}" for item in sorted(items)] + [f"{path}?{name}={order}" for order in orders]
        return _shown(f"list {number}", links, text)

    owed = {f"list {number}" for number in range(lists)} | {f"item {number}" for number in range(lists * size)}
    return Web(("http://one.test/",), show, frozenset(owed), 7 * lists // 2)


def calendar(chance: Random) -> Web:
    """A calendar without an end, whose days all differ, with the date before other parameters; and articles."""
    articles, salt = chance.randint(40, 80), chance.random()
    views = chance.sample(("day", "week", "month", "list"), 3)
    today = datetime.fromtimestamp(DEFAULT_EPOCH, UTC).date()

    def show(_host: str, target: str) -> Shown | None:
        if target == "/":
            return _shown("home", [f"/a/{each}" for each in range(articles)] + [f"/cal?from={today}&view={views[0]}"])
        if target.startswith("/a/"):
            return _shown(f"article {target[3:]}", ["/"])
        found = _DAY.search(target)
        day = date.fromisoformat(found[1]) if found is not None else today
        days = [day + timedelta(days=step) for step in (-7, -1, 1, 7)]
        links = [f"/cal?from={each}&view={view}" for each in days for view in views]
        return _shown(f"calendar {target}", links, prose((salt, target), 60))

    owed = frozenset(f"article {number}" for number in range(articles))
    return Web(("http://one.test/",), show, owed, 0, most=articles + 600)


def ignored_filters(chance: Random) -> Web:
    """A shop whose filters with values that it does not know show the list without a filter."""
    lists, colours, salt = chance.randint(6, 12), ("red", "green", "blue", "black", "white"), chance.random()

    def show(_host: str, target: str) -> Shown | None:
        path, _, query = target.partition("?")
        if path == "/":
            return _shown("home", [f"/list/{each}" for each in range(lists)])
        value = query.removeprefix("colour=")
        links = [f"{path}?colour={colour}" for colour in (*colours, *(f"old{each}" for each in range(9)))]
        if value in colours:
            return _shown(f"{path} {value}", links, prose((salt, path, value)))
        return _shown(path, links, prose((salt, path)))

    owed = {f"/list/{number}" for number in range(lists)} | {
        f"/list/{number} {colour}" for number in range(lists) for colour in colours
    }
    return Web(("http://one.test/",), show, frozenset(owed), 9 * lists)


def echoed_errors(chance: Random) -> Web:
    """Dead links that are answered with a short page, and status 200, that repeats the URL in its text."""
    pages, dead, salt = chance.randint(30, 60), chance.randint(12, 30), chance.random()

    def show(_host: str, target: str) -> Shown | None:
        if target == "/":
            links = [f"/p/{each}" for each in range(pages)] + [f"/gone/item{each}x" for each in range(dead)]
            return _shown("home", links)
        if target.startswith("/p/"):
            return _shown(f"page {target[3:]}", ["/"])
        return _shown("error", ["/"], f"Nothing to see at {target} today. {prose(salt, 14)}")

    return Web(("http://one.test/",), show, frozenset(f"page {number}" for number in range(pages)), dead, errors=True)


def endless_tree(chance: Random) -> Web:
    """Pages that each lead to deeper pages with a text of their own, without an end, beside articles."""
    articles, salt, is_nested = chance.randint(40, 80), chance.random(), chance.random() < 0.5
    most = chance.choice((2, 3, 4))

    def show(_host: str, target: str) -> Shown | None:
        if target == "/":
            return _shown("home", [*(f"/a/{each}" for each in range(articles)), "/deep/start"])
        if target.startswith("/a/"):
            return _shown(f"article {target[3:]}", ["/", f"/a/{(int(target[3:]) + 1) % articles}"])
        draw = Random(f"{salt} {target}")
        names = ["".join(draw.choices(_LETTERS, k=7)) for _ in range(draw.randint(2, most))]
        links = [f"{target}/{name}" if is_nested else f"/deep/{name}" for name in names]
        return _shown(f"deep {target}", ["/", "/deep/start", *links], prose((salt, target), 60))

    owed = frozenset(f"article {number}" for number in range(articles))
    return Web(("http://one.test/",), show, owed, 0, most=2500)


def deep_sites(chance: Random) -> Web:
    """Honest sites that are deep: chapters in a row, threads of many pages, months that name the one before."""
    chapters, threads, length = chance.randint(380, 420), chance.randint(20, 60), chance.randint(20, 60)
    months, posts = chance.randint(60, 120), chance.randint(3, 6)

    def show(host: str, target: str) -> Shown | None:
        parts = target.strip("/").split("/")
        if target == "/":
            start = {"book.test": ["/read/1"], "forum.test": [f"/thread/{each}/1" for each in range(threads)]}
            return _shown(f"home of {host}", start.get(host, ["/archive/1"]))
        number = int(parts[-1])
        if host == "book.test":
            around = [number - 1, number + 1]
            return _shown(f"chapter {number}", [f"/read/{each}" for each in around if 1 <= each <= chapters])
        if host == "forum.test":
            around = [number - 1, number + 1]
            links = [f"/thread/{parts[1]}/{each}" for each in around if 1 <= each <= length]
            return _shown(f"thread {parts[1]} {number}", ["/", *links])
        if parts[0] == "post":
            return _shown(f"post {target}", ["/"])
        listed = [f"/post/{number}/{each}" for each in range(posts)]
        return _shown(f"month {number}", [*listed, *([f"/archive/{number + 1}"] if number < months else [])])

    owed = {f"chapter {number}" for number in range(1, chapters + 1)}
    owed |= {f"thread {thread} {page}" for thread in range(threads) for page in range(1, length + 1)}
    owed |= {f"month {number}" for number in range(1, months + 1)}
    owed |= {f"post /post/{number}/{each}" for number in range(1, months + 1) for each in range(posts)}
    return Web(("http://book.test/", "http://forum.test/", "http://news.test/"), show, frozenset(owed), 10)


def large_trees(chance: Random) -> Web:
    """An honest site of thousands of pages with one URL template, whose every page one other page links to."""
    pages, width = chance.randint(2500, 4500), chance.choice((2, 3, 5))

    def show(_host: str, target: str) -> Shown | None:
        name = target.rpartition("/")[2] or "0"
        if not name.isdecimal():
            return None
        number = int(name)
        links = [f"/node/{each}" for each in range(width * number + 1, width * number + width + 1) if each <= pages]
        return _shown(f"node {number}", links, prose((pages, number), 60))

    return Web(("http://one.test/",), show, frozenset(f"node {number}" for number in range(pages + 1)), 10)


def clubs(chance: Random) -> Web:
    """A hub with many pages, one of which links to small honest domains that nothing else links to."""
    pages, domains, size = chance.randint(250, 400), chance.randint(70, 150), chance.randint(2, 6)

    def show(host: str, target: str) -> Shown | None:
        name = target[1:]
        if host == "hub.test":
            links = [f"/{number}" for number in range(pages)] if not name else ["/"]
            away = [f"http://club-{number}.test/" for number in range(domains)] if name == "7" else []
            return _shown(f"hub {name}", [*links, *away])
        return _shown(f"{host} {name}", [f"/{number}" for number in range(1, size)])

    owed = {f"hub {number}" for number in range(pages)}
    owed |= {f"club-{number}.test {page or ''}" for number in range(domains) for page in range(size)}
    return Web(("http://hub.test/",), show, frozenset(owed), 0)


KINDS: Final[dict[str, Callable[[Random], Web]]] = {
    "copies of another site": copied_elsewhere,
    "mirrors": mirrors,
    "mirrors that part": mirrors_that_part,
    "parked by mistake": parked_by_mistake,
    "sessions in the path": sessions_in_the_path,
    "path aliases": path_aliases,
    "trees that look alike": trees_alike,
    "trees that are nearly alike": trees_nearly_alike,
    "sorted lists": sorted_lists,
    "calendar": calendar,
    "filters that are ignored": ignored_filters,
    "errors that repeat the URL": echoed_errors,
    "endless tree": endless_tree,
    "deep sites": deep_sites,
    "large trees": large_trees,
}
"""Every kind by its name."""
