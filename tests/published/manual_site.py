"""A manual of many pages with texts of all lengths in a few shapes, as a generator of documentation writes it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path

from periplus_sites.publish import FolderInventory, Published, Publisher, settings_for

BASE = "https://www.example.org/"
DAY = 86_400.0
_WORDS = [
    f"{first}{second}" for first in ("par", "vel", "mor", "tin", "gas", "lum") for second in "abcdefghijklmnopqrstu"
]
END = "</body>"


class Manual:
    """The texts of pages by number, a template around them, and a clock."""

    def __init__(self, root: Path, pages: int) -> None:
        self.root = root / "manual"
        self.root.mkdir()
        self.now = 1_750_000_000.0
        self.foot = "<div><p>All rights reserved by the makers of it. <a href='/about.html'>About</a></p></div>"
        self.frame: Callable[[int, str], str] = lambda _, html: html
        self.texts = [_text(random.Random(number), number) for number in range(pages)]
        self.publisher = Publisher(root / "out", settings_for(BASE), clock=lambda: self.now)

    def html(self, number: int) -> str:
        inner = self.texts[number]
        # some pages have a container that holds the text alone, some have everything in one, some are bare
        body = (f"<div role='main'><div class='body'>{inner}</div></div>", f"<section>{inner}</section>", inner)[
            number % 3
        ]
        links = "".join(f"<a href='page{(number * 7 + step) % len(self.texts)}.html'>{step}</a> " for step in range(9))
        sidebar = f"<div class='sidebar'><p>{links}</p></div>"
        html = f"<html><head><title>Part {number}</title></head><body>{sidebar}{body}{self.foot}{END}</html>"
        return self.frame(number, html)

    def scan(self) -> Published:
        """Write every page, as generators do, and scan."""
        for number in range(len(self.texts)):
            path = self.root / f"page{number}.html"
            path.write_text(self.html(number))
            os.utime(path, (self.now, self.now))
        self.now += 60
        done = self.publisher.scan([FolderInventory(self.root, BASE, skip=self.publisher.is_own)])
        self.now += DAY
        return done

    def dates(self) -> Mapping[int, float | None]:
        """The dates that are claimed, by the number of the page."""
        rows = self.publisher.ledger.db.execute("select url, lastmod from resources")
        return {int(url.removeprefix(f"{BASE}page").removesuffix(".html")): at for url, at in rows}


def sentence(chosen: random.Random, words: int = 12) -> str:
    """A sentence of random words."""
    return " ".join(chosen.choices(_WORDS, k=words)).capitalize() + "."


def _text(chosen: random.Random, number: int) -> str:
    """From a line to some thousand words: half of the pages are short."""
    paragraphs = int(1.022 ** (number % 200)) * 2
    parts = [f"<h1>Part {number}</h1>"]
    for paragraph in range(paragraphs):
        if paragraph % 7 == 6:
            parts.append(f"<h2>{sentence(chosen, 3)}</h2>")
        if paragraph % 5 == 4:
            parts.append(f"<ul>{''.join(f'<li>{sentence(chosen, 5)}</li>' for _ in range(4))}</ul>")
        parts.append(f"<p>{' '.join(sentence(chosen, chosen.randint(4, 20)) for _ in range(3))}</p>")
    return "".join(parts)
