"""All pages that changed since the last crawl: trafilatura."""

# mypy: ignore-errors

import hashlib
import json
import sys
import time
from pathlib import Path

from trafilatura import fetch_url
from trafilatura.settings import use_config
from trafilatura.sitemaps import sitemap_search

last = Path("last.json")
known = json.loads(last.read_text()) if last.exists() else {}
config = use_config("settings.cfg")
found = {}
for url in sitemap_search(sys.argv[1], config=config):
    if page := fetch_url(url, config=config):
        found[url] = hashlib.sha256(page.encode()).hexdigest()
    time.sleep(0.1)
Path("changes.txt").write_text("\n".join(url for url, digest in found.items() if known.get(url) != digest))
last.write_text(json.dumps(found))
