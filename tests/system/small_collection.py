"""A collection of five pages: one is gone, two are listed, one of these is linked from nowhere."""

from __future__ import annotations

from pathlib import Path

from tests.lab.crawling import crawl
from tests.lab.scripted_web import ScriptedWeb, page, urlset

from periplus.collection.config.settings import Config

HOME = "http://a.test/"


def small_collection(folder: Path, two: str = "") -> Path:
    """Crawl it. `two`: what the second page says, if not what one expects."""
    said: dict[str, str | bytes] = {
        HOME: page("home", "/one", "/two", "/gone"),
        f"{HOME}one": page("one"),
        f"{HOME}two": two or page("two"),
        f"{HOME}robots.txt": f"Sitemap: {HOME}sitemap.xml",
        f"{HOME}sitemap.xml": urlset(f"{HOME}one", f"{HOME}only-listed"),
        f"{HOME}only-listed": page("only listed"),
    }
    with ScriptedWeb(said) as web:
        crawl(folder, [HOME], web.settings)
    (folder / "periplus.toml").write_text(Config().with_options({"crawl.seeds": [HOME]}).dump())
    return folder
