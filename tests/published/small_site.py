"""A small site in a folder whose pages have a template, a text of their own and a version."""

from __future__ import annotations

import os
import random
from pathlib import Path

from periplus_sites.publish import FolderInventory, Published, Publisher, PublishSettings, settings_for
from periplus_sites.publish.settings import SitemapSettings, SiteSettings

DAY = 86_400.0
BASE = "https://www.example.org/"
_WORDS = [f"word{number}" for number in range(2_000)]


class Site:
    """Pages that can be edited, and a clock."""

    def __init__(self, root: Path, pages: int) -> None:
        self.root = root / "site"
        self.root.mkdir()
        self.out = root / "out"
        self.now = 1_750_000_000.0
        self.versions = [0] * pages
        self.template = "plain"
        self.ticker = ""
        for number in range(pages):
            self.write(number, at=1_700_000_000.0 + number * 1_000)

    def text(self, number: int) -> str:
        chosen = random.Random(f"{number}-{self.versions[number]}")
        return " ".join(chosen.choice(_WORDS) for _ in range(120))

    def html(self, number: int) -> str:
        ticker = f'<div class="ticker">{self.ticker}</div>' if self.ticker else ""
        return (
            f"<html><head><title>Page {number}</title></head><body>"
            f"<nav><a href='/{self.template}'>{self.template}</a></nav>"
            f"<main><h1>Page {number}</h1><p>{self.text(number)}</p>{ticker}</main>"
            f"<footer><p class='foot'>The {self.template} footer of this site</p></footer></body></html>"
        )

    def path(self, number: int) -> Path:
        return self.root / f"page{number}.html"

    def write(self, number: int, *, at: float | None = None) -> None:
        self.path(number).write_text(self.html(number))
        moment = self.now if at is None else at
        os.utime(self.path(number), (moment, moment))

    def edit(self, *numbers: int) -> None:
        for number in numbers:
            self.versions[number] += 1
            self.write(number)

    def build(self) -> None:
        """Write every page, as generators do."""
        for number in range(len(self.versions)):
            self.write(number)

    def settings(self, **sitemap: object) -> PublishSettings:
        if not sitemap:
            return settings_for(BASE)
        return PublishSettings(SiteSettings(BASE), sitemap=SitemapSettings(**sitemap))  # type: ignore[arg-type]

    def publisher(self, settings: PublishSettings | None = None) -> Publisher:
        return Publisher(self.out, settings or self.settings(), clock=lambda: self.now)

    def scan(self, settings: PublishSettings | None = None, **options: bool) -> Published:
        with self.publisher(settings) as publisher:
            inventory = FolderInventory(self.root, publisher.base_url, skip=publisher.is_own)
            return publisher.scan([inventory], **options)

    def next_day(self) -> None:
        self.now += DAY
