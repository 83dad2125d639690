"""Recorded answers: a small web in the shape of real documentation, made from a seed.

    python -m bench.speed.answers FILE

Twelve manuals, each on a host of its own, with a table of contents beside every page, cross-references, code, tables,
search forms on some, and links to 1,500 other domains that are never asked. About 15 kB and 70 links a page, 52 of them
to different URLs, as in the manuals of the crawl bench. Some pages are copies of others, some URLs redirect, some links
are dead; half of the hosts have a sitemap. Nothing of Periplus is imported, so that a change of it cannot change its
input.

The file is MessagePack: seeds, and for each URL its status, header fields and body as they come over the wire.
"""

from __future__ import annotations

import gzip
import hashlib
import random
import sys
from itertools import accumulate, product
from pathlib import Path

import msgspec
from msgspec import Struct

SEED = 20261117
HOSTS = 12
PAGES_PER_HOST = 200
CHAPTER = 10
"""Pages of a chapter: its first page is the parent of the others."""
OTHER_DOMAINS = 1500
COPIED = range(3, PAGES_PER_HOST, 20)
"""Pages that also exist, byte by byte, below /print/."""
MOVED = range(5, PAGES_PER_HOST, 20)
"""Pages that an old URL redirects to."""
COMMON = (
    "the of and a to in is that it for as with on are this be by or an from not which can if when at has will one "
    "file value function name set option type string list object default module class returns argument method "
    "used must may only each same other see also example following command line number section"
)
STARTS = "con per sub trans inter re de un over pre pro ex im ad str pl qu br cl fl"
MIDDLES = "form port duc ment lec tri ser va lo ni ra ta pos fer cep spec vid mand sign rup tex"
ENDS = "s ed ing tion er able ive al ly ment ance ity or ure ize"
"""Rare words have a start, a middle and an end of these."""
DATE = "Mon, 05 Jan 2026 00:00:00 GMT"


class Recorded(Struct, frozen=True, array_like=True):
    """The answer to a request."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Answers(Struct, frozen=True):
    """A web: where a crawl begins, and what each URL answers."""

    seeds: tuple[str, ...]
    answers: dict[str, Recorded]


def load(file: Path) -> Answers:
    """Read answers that were made before."""
    return msgspec.msgpack.decode(file.read_bytes(), type=Answers)


def made_in(folder: Path) -> Path:
    """The file of answers in a folder; made there unless this generator has made it before."""
    version = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    file = folder / f"answers-{version}.msgpack"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_bytes(msgspec.msgpack.encode(make()))
        part.replace(file)
    return file


def make() -> Answers:
    """All answers. The same on every machine and in every version of Python."""
    language = Language(random.Random(SEED))
    manuals = [Manual(number, language) for number in range(HOSTS)]
    answers: dict[str, Recorded] = {}
    for manual in manuals:
        answers |= manual.answers(manuals)
    entries = "".join(f'<li><a href="{manual.url(0)}">{manual.title}</a></li>' for manual in manuals)
    seed = "http://manuals.test/"
    answers[seed] = _page(f'<!DOCTYPE html><html lang="en"><title>Manuals</title><h1>Manuals</h1><ul>{entries}</ul>')
    return Answers((seed,), answers)


def _page(markup: str, status: int = 200) -> Recorded:
    return _recorded(status, "text/html; charset=utf-8", markup.encode())


def _recorded(status: int, media_type: str, body: bytes) -> Recorded:
    """An answer with the header fields of nginx, compressed by gzip."""
    packed = gzip.compress(body, 6, mtime=0)
    headers = {
        "Server": "nginx/1.22.1",
        "Date": DATE,
        "Content-Type": media_type,
        "Last-Modified": DATE,
        "Connection": "keep-alive",
        "Vary": "Accept-Encoding",
        "ETag": f'W/"{hashlib.sha256(body).hexdigest()[:16]}"',
        "Content-Encoding": "gzip",
        "Content-Length": str(len(packed)),
    }
    return Recorded(status, tuple(headers.items()), packed)


class Language:
    """Words, titles and sentences. Frequencies of words fall as in texts, so that pages compress and differ alike."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        parts = product(STARTS.split(), MIDDLES.split(), ENDS.split())
        rare = ["".join(part) for part in parts]
        chance.shuffle(rare)
        self._words = [*COMMON.split(), *rare]
        self._weights = list(accumulate(1 / (rank + 4) for rank in range(len(self._words))))

    def words(self, count: int) -> list[str]:
        """Words of a text."""
        return self.chance.choices(self._words, cum_weights=self._weights, k=count)

    def title(self) -> str:
        """A few words, the first with a capital."""
        return " ".join(self.words(self.chance.randint(2, 5))).capitalize()

    def sentence(self) -> str:
        """A sentence of usual length."""
        return " ".join(self.words(self.chance.randint(6, 24))).capitalize() + "."

    def name(self) -> str:
        """An identifier of a program."""
        return "_".join(self.words(2))


class Manual:
    """One manual on its own host."""

    def __init__(self, number: int, language: Language) -> None:
        self._number = number
        self._language = language
        self._chance = language.chance
        self.host = f"manual-{number:02}.test"
        self.title = f"{language.title()} manual"
        self._titles = [language.title() for _ in range(PAGES_PER_HOST)]
        self._paths = [self._path(index) for index in range(PAGES_PER_HOST)]
        self._has_form = number % 3 == 0
        self._names_canonical = number % 4 == 1
        self._has_sitemap = number % 2 == 0

    def _path(self, index: int) -> str:
        if index == 0:
            return "/"
        chapter, place = divmod(index, CHAPTER)
        slug = self._titles[index].lower().replace(" ", "-")
        return f"/chapter-{chapter:02}/" if place == 0 else f"/chapter-{chapter:02}/{slug}-{index}.html"

    def url(self, index: int) -> str:
        """The URL of a page."""
        return f"http://{self.host}{self._paths[index]}"

    def answers(self, manuals: list[Manual]) -> dict[str, Recorded]:
        """All answers of the host: pages, copies, redirects, robots.txt and its sitemap."""
        found: dict[str, Recorded] = {}
        for index in range(PAGES_PER_HOST):
            found[self.url(index)] = page = _page(self._markup(index, manuals))
            if index in COPIED:
                found[f"http://{self.host}/print{self._paths[index]}"] = page
            if index in MOVED:
                moved = _page("<html><head><title>301 Moved Permanently</title></head></html>", 301)
                place = ("Location", self.url(index))
                found[self._old_url(index)] = Recorded(301, (*moved.headers, place), moved.body)
        robots = "User-agent: *\nDisallow: /private/\n"
        if self._has_sitemap:
            robots += f"Sitemap: http://{self.host}/sitemap.xml\n"
            found[f"http://{self.host}/sitemap.xml"] = self._sitemap()
        found[f"http://{self.host}/robots.txt"] = _recorded(200, "text/plain", robots.encode())
        return found

    def _old_url(self, index: int) -> str:
        return f"http://{self.host}/old/{index}.html"

    def _sitemap(self) -> Recorded:
        rows = "".join(
            f"<url><loc>{self.url(index)}</loc><lastmod>2025-{index % 12 + 1:02}-01</lastmod></url>\n"
            for index in range(PAGES_PER_HOST)
        )
        head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        return _recorded(200, "text/xml", f"{head}{rows}</urlset>\n".encode())

    # one page

    def _markup(self, index: int, manuals: list[Manual]) -> str:
        before, after = (index - 1) % PAGES_PER_HOST, (index + 1) % PAGES_PER_HOST
        sections = range(self._chance.randint(3, 6))
        titles = [self._language.title() for _ in sections]
        text = "".join(self._section(index, number, titles[number], manuals) for number in sections)
        contents = "".join(f'<li><a href="#section-{number}">{titles[number]}</a></li>\n' for number in sections)
        tags = f'<link rel="canonical" href="{self.url(index)}">\n' if self._names_canonical else ""
        steps = (
            f'<a rel="prev" href="{self._paths[before]}">Previous: {self._titles[before]}</a> '
            f'<a rel="next" href="{self._paths[after]}">Next: {self._titles[after]}</a> '
            f'<a href="/">{self.title}</a>'
        )
        return (
            f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{self._titles[index]} — '
            f'{self.title}</title>\n<meta name="description" content="{self._language.sentence()}">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n{tags}'
            '<link rel="stylesheet" href="/_static/manual.css">\n<script src="/_static/manual.js"></script>\n</head>\n'
            f'<body>\n<div class="related" role="navigation">{steps}</div>\n'
            f'<div class="sphinxsidebar"><h3>Contents</h3>\n<ul>\n{self._sidebar(index)}</ul>\n{self._form()}</div>\n'
            f'<main class="body">\n<h1>{self._titles[index]}</h1>\n<ul class="toc">\n{contents}</ul>\n{text}</main>\n'
            f'<div class="related">{steps}</div>\n<footer>Copyright 2026. Page {index} of the {self.title}. '
            '<a href="/">Index</a></footer>\n</body>\n</html>\n'
        )

    def _sidebar(self, index: int) -> str:
        """All chapters, and the pages of this one."""
        first = index - index % CHAPTER
        listed = [*range(0, PAGES_PER_HOST, CHAPTER), *range(first, first + CHAPTER)]
        return "".join(
            f'<li class="toctree-l1"><a class="reference internal" href="{self._paths[place]}">'
            f"{self._titles[place]}</a></li>\n"
            for place in listed
        )

    def _form(self) -> str:
        if not self._has_form:
            return ""
        return (
            '<form class="search" action="/search.html" method="get"><input type="text" name="q" aria-label="Search">'
            '<input type="submit" value="Go"><input type="hidden" name="area" value="default"></form>\n'
        )

    def _section(self, index: int, number: int, title: str, manuals: list[Manual]) -> str:
        chance, language = self._chance, self._language
        heading = f'<a class="headerlink" href="#section-{number}" title="Link to this heading">¶</a>'
        parts = [f'<section id="section-{number}">\n<h2>{title}{heading}</h2>\n']
        for _ in range(chance.randint(2, 4)):
            sentences = " ".join(language.sentence() for _ in range(chance.randint(2, 4)))
            parts.append(f"<p>{sentences} See {self._link(index, manuals)} and {self._link(index, manuals)}.</p>\n")
        if chance.random() < 0.6:
            code = "".join(f"&gt;&gt;&gt; {language.name()}({language.name()}=[{n}])\n" for n in range(5))
            parts.append(f'<div class="highlight"><pre><span class="gp">{code}</span></pre></div>\n')
        if chance.random() < 0.3:
            rows = "".join(
                f"<tr><td><code>{language.name()}</code></td><td>{language.sentence()}</td></tr>\n" for _ in range(4)
            )
            parts.append(f"<table><thead><tr><th>Name</th><th>Meaning</th></tr></thead><tbody>{rows}</tbody></table>\n")
        return "".join([*parts, "</section>\n"])

    def _link(self, index: int, manuals: list[Manual]) -> str:
        """A reference: mostly within the manual, relative or with a fragment; some lead elsewhere."""
        chance = self._chance
        place, kind = chance.randrange(PAGES_PER_HOST), chance.random()
        text = " ".join(self._language.words(2))
        if kind < 0.04:
            href = f"https://www.site-{chance.randrange(OTHER_DOMAINS)}.example/{text.replace(' ', '/')}"
        elif kind < 0.08:
            href = chance.choice(manuals).url(place)
        elif kind < 0.10:
            href = f"/print{self._paths[chance.choice(COPIED)]}"
        elif kind < 0.12:
            href = f"/old/{chance.choice(MOVED)}.html"
        elif kind < 0.125:
            href = f"/gone/{place}.html"
        elif kind < 0.40:
            href = f"{self._paths[place]}#section-{chance.randrange(3)}"
        elif kind < 0.70:
            href = ("../" if index else "") + self._paths[place].lstrip("/")
        else:
            href = self._paths[place]
        return f'<a class="reference internal" href="{href}"><code>{text}</code></a>'


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(msgspec.msgpack.encode(make()))
