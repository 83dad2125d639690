"""Crawlers in the conformance lab: an adapter for each in `adapters`, and how they are installed."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.peers import BENCH, HOME, Install, Npm, Ours, Tool, Venv
from periplus_lab.conformance.adapters import Adapter, read_adapter

ADAPTERS = Path(__file__).resolve().parent / "adapters"
_NODE = BENCH / "crawl" / "peers"

PEERS: dict[str, Install] = {
    "periplus": Ours(),
    "scrapy": Venv("scrapy", "Scrapy"),
    "crawlee_python": Venv("crawlee", "crawlee"),
    "crawlee_javascript": Npm(_NODE / "crawlee_node", (ADAPTERS / "crawlee_polite.mjs",)),
    "crawl4ai": Venv("crawl4ai", "Crawl4AI"),
    "scrapling": Venv("scrapling", "scrapling"),
    "spider": Npm(_NODE / "spider_node", (ADAPTERS / "spider_polite.mjs",)),
    "wget": Tool("wget"),
    "wget2": Tool("wget2"),
    "httrack": Tool("httrack"),
    "linkchecker": Venv("linkchecker", "LinkChecker"),
}
"""By the name of its adapter."""


def peer_adapter(name: str) -> Adapter:
    """The adapter of a crawler."""
    return read_adapter(ADAPTERS / f"{name}.toml", home=str(HOME), python=sys.executable)
