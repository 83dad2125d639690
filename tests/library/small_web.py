"""A small site to crawl by name, served on loopback, and the options that find it at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.lab.scripted_web import ScriptedWeb

SEED = "http://shop.test/"


def shop(products: int = 12) -> ScriptedWeb:
    """A home page with links to products and to a page about the shop; each product has a price."""
    links = "".join(f'<li><a href="/product/{number}">Product {number}</a>' for number in range(products))
    pages: dict[str, str | bytes] = {
        SEED: f"<title>The shop</title><body lang=en><ul>{links}</ul><a href='/about'>About us</a>",
        f"{SEED}about": "<title>About</title><p>We sell things, and have done so for a long time.",
        f"{SEED}robots.txt": "User-agent: *\nAllow: /\n",
    }
    for number in range(products):
        pages[f"{SEED}product/{number}"] = (
            f"<!doctype html><html lang=en><title>Product {number}</title><h1>Product {number}</h1>"
            f"<p class=price>{number}.50 EUR</p><p>Product number {number} is made of {number} parts.</p>"
        )
    return ScriptedWeb(pages)


def quick(web: ScriptedWeb) -> dict[str, Any]:
    """Keywords of a crawl that finds the site and does not wait between requests."""
    return {"proxy": web.base, "delay": 0, "sitemaps": False}


def attentive(folder: Path) -> Path:
    """Settings under which two visits a moment apart are compared like others: a test cannot wait between them."""
    settings = folder / "attentive.toml"
    settings.write_text("[churn]\ninstant = 0.0\n")
    return settings
