"""Markdown of every page of a manual: trafilatura."""

# mypy: ignore-errors

import sys
import time
from pathlib import Path

from trafilatura import extract, fetch_url
from trafilatura.settings import use_config
from trafilatura.sitemaps import sitemap_search

config = use_config("settings.cfg")
Path("pages").mkdir()
for url in sitemap_search(sys.argv[1], config=config):
    if text := extract(fetch_url(url, config=config), output_format="markdown", config=config):
        name = url.partition("//")[2].replace("/", "_")
        Path("pages", f"{name}.md").write_text(text)
    time.sleep(0.1)
