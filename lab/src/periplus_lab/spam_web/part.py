"""The interface of the parts of the hostile web, and the small sites that several of them show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Protocol

from msgspec import Struct

from ..http import Answer, Request
from ..randomness import at, key_of, sentences, topics
from ..sites import Site


class Honest(Protocol):
    """The web without the hostile parts."""

    seed: int
    epoch: float

    def sites(self) -> tuple[Site, ...]:
        """Every honest site, the largest first."""

    def honest_answer(self, request: Request) -> Answer:
        """The answer of an honest site, before anything is added."""


class Mirror(Struct, frozen=True, order=True):
    """Two hosts with the same pages below a path: `host` repeats `original`."""

    host: str
    original: str
    prefix: str = "/"


class Renaming(Struct, frozen=True, order=True):
    """A true DUST rule of a site: `kind` is the kind of rule (`drop-param`, ...), `argument` its parameter."""

    host: str
    kind: str
    argument: str = ""


class Nuisance:
    """One kind of spam or nuisance of the hostile web. `world` is the honest web that it lives in.

    A part has hosts of its own, or adds something to the pages of honest sites, or both; and it has the truth about
    what it does. All methods have defaults, so a part implements only what it needs.
    """

    hosts: tuple[str, ...] = ()
    """Host names of the part."""
    wildcards: tuple[str, ...] = ()
    """Patterns such as `*.a.lab.test`: every name that matches is a host of the part, too."""

    def __init__(self, world: Honest) -> None:
        self.world = world

    def has(self, host: str) -> bool:
        """Whether a host is one of the part's own."""
        return host in self.hosts

    def answer(self, request: Request) -> Answer | None:  # noqa: ARG002 - a default
        """The answer of one of its hosts. Also asked for honest hosts: `None` leaves the request to them."""
        return None

    def address(self, host: str) -> str | None:  # noqa: ARG002 - a default
        """The address of one of its hosts, in 127.0.0.0/8."""
        return None

    def added(self, request: Request, body: bytes) -> bytes:  # noqa: ARG002 - a default
        """The page of an honest site with what the part adds to it."""
        return body

    # -- the truth

    def is_spam(self, host: str) -> bool:  # noqa: ARG002 - a default
        """Whether a host exists only to influence search engines."""
        return False

    def is_cloaked(self, url: str) -> bool:  # noqa: ARG002 - a default
        """Whether a URL shows crawlers something else than people, with bad intent."""
        return False

    def is_error(self, url: str) -> bool:  # noqa: ARG002 - a default
        """Whether a URL answers with status 200 or a redirect, but the page it names does not exist."""
        return False

    def mirrors(self) -> Iterator[Mirror]:
        """Every pair of mirrored hosts."""
        return iter(())

    def renames(self) -> Iterator[Renaming]:
        """Every true DUST rule."""
        return iter(())


HTML = (("Content-Type", "text/html; charset=utf-8"),)
DAY = 86400.0
SECTIONS = ("guides", "news", "people")
_ARTICLE = re.compile(r"/([a-z]+)/([a-z]+)-(\d+)\.html", re.ASCII)
_SENTENCES = 14


class SmallSite(Struct, frozen=True):
    """A site of some dozens of pages, the same for every request: sections of articles, in one of two styles.

    Its texts are functions of `name`, `seed` and the number of the article, so that another host can show the same
    article, or its version of the day before. `daily` is the share that changes every day.
    """

    name: str
    seed: int
    size: int = 60
    daily: float = 0.0

    def articles(self) -> Iterator[str]:
        """The path of every article."""
        words = topics()
        for number in range(self.size):
            word = words[at(self._key, number) & 2047].decode()
            yield f"/{SECTIONS[number % len(SECTIONS)]}/{word}-{number}.html"

    def paths(self) -> list[str]:
        """The path of every page."""
        return ["/", *(f"/{section}/" for section in SECTIONS), *self.articles()]

    def number(self, path: str) -> int | None:
        """The number of an article that exists."""
        found = _ARTICLE.fullmatch(path)
        number = int(found[3]) if found else self.size
        if found is None or number >= self.size:
            return None
        word = topics()[at(self._key, number) & 2047].decode()
        return number if (found[1], found[2]) == (SECTIONS[number % len(SECTIONS)], word) else None

    def title(self, path: str) -> str:
        """The title of a page."""
        number = self.number(path)
        if number is None:
            return path.strip("/").capitalize() or self.name
        return prose(at(self._key, 5000 + number), 1)[:50].rsplit(" ", 1)[0]

    def text(self, path: str, moment: float = 0.0) -> list[str]:
        """The paragraphs of a page at a moment; none if there is no such page."""
        number = self.number(path)
        if number is None:
            known = path == "/" or path.strip("/") in SECTIONS
            return [prose(key_of(self._key, path), 4)] if known else []
        key = at(self._key, 9000 + number)
        is_daily = key % 1000 < self.daily * 1000
        edition = int(moment // DAY) if is_daily else 0
        return [prose(at(key, 100 * edition + place), _SENTENCES // 2) for place in range(2)]

    def links(self, path: str) -> list[str]:
        """The links of a page: the home page to sections, sections to their articles, articles to their neighbours."""
        sections = [f"/{section}/" for section in SECTIONS]
        if path == "/":
            return sections
        articles = list(self.articles())
        number = self.number(path)
        if number is None:
            return ["/", *(each for each in articles if each.startswith(path))]
        return ["/", *(articles[(number + step) % self.size] for step in (1, 2, 7))]

    @property
    def _key(self) -> int:
        return key_of(self.seed, "small", self.name)


Style = Callable[[str, Sequence[str], Sequence[str]], bytes]


def page(
    site: SmallSite, path: str, moment: float, style: Style, extra: Sequence[str] = (), more: Sequence[str] = ()
) -> Answer | None:
    """The page of a site, with further paragraphs and links; `None` if there is no such page."""
    text = site.text(path, moment)
    if not text:
        return None
    return Answer(200, HTML, style(site.title(path), [*text, *extra], [*site.links(path), *more]))


def plain_style(title: str, text: Sequence[str], links: Sequence[str]) -> bytes:
    """A heading, paragraphs, and a list of links."""
    paragraphs = "".join(f"<p>{each}</p>\n" for each in text)
    listed = "".join(f'<li><a href="{escape(link)}">{escape(_name_of(link))}</a></li>\n' for link in links)
    return _document(title, f"<main><h1>{escape(title)}</h1>\n{paragraphs}</main>\n<ul>{listed}</ul>")


def framed_style(title: str, text: Sequence[str], links: Sequence[str]) -> bytes:
    """The same in another template: a bar of links above, an advertisement beside, a notice below."""
    paragraphs = "".join(f"<p>{each}</p>\n" for each in text)
    listed = " ".join(f'<a href="{escape(link)}">{escape(_name_of(link))}</a>' for link in links)
    return _document(
        title,
        f"<header><b>The archive</b></header><nav>{listed}</nav>\n<article><h1>{escape(title)}</h1>\n{paragraphs}"
        "</article>\n<aside>Subscribe to our letter and read more every week.</aside>\n"
        "<footer>All rights reserved. Imprint, privacy, contact.</footer>",
    )


def notice(status: int, title: str, text: str) -> Answer:
    """A short page."""
    return Answer(status, HTML, _document(title, f"<h1>{escape(title)}</h1><p>{escape(text)}</p>"))


def prose(bits: int, count: int) -> str:
    """Sentences chosen by some bits."""
    pool = sentences()
    return b"".join(pool[at(bits, place) % len(pool)] for place in range(count)).decode().strip()


def _name_of(link: str) -> str:
    return link.rstrip("/").rpartition("/")[2].removesuffix(".html") or "home"


def _document(title: str, main: str) -> bytes:
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(title)}</title></head>\n'
        f"<body>\n{main}\n</body>\n</html>\n"
    ).encode()
