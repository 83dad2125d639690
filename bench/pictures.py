"""Makes the pictures of pages: crawls manuals of Python and its libraries, audits them, serves them, asks Chromium.

    python -m bench.pictures [FOLDER]

The pages of the server (the public search, the dashboard of a running crawl, one site), the search box on a page of
another site, an audit, a report and the grid of pages, each for a desk and a phone, light and dark, as
`serve-PAGE[-phone][-dark].png` and `PAGE[-phone][-dark].png` in FOLDER, by default `docs/images`. The manuals are those
that `python -m bench --only crawl` fetches, in `bench/.peers/docs`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, urlsplit

from tests.apps.serve.asking import Site
from tests.apps.serve.manual import plain_host, search
from tests.lab.chromium_page import Chromium

import periplus
from bench.crawl.web import SITES
from bench.peers import HOME
from periplus.apps.search.indexing import open_index
from periplus.apps.search.static_index import write_static_index
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.collection.collection import existing, planned

PACKAGES = ("python3.11-doc", "python-django-doc", "python-sqlalchemy-doc", "sphinx-doc")
SITE = "python3.11.docs.test"
"""The manual that is shown of which only one is."""
QUERY = "os.path.join"
PAGE = """<!doctype html><html lang=en><title>Documentation</title><link rel=icon href="data:,">
<meta name=viewport content="width=device-width"><meta name=color-scheme content="light dark">
<body style="font-family: sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem"><h1>Documentation</h1>
<script src="/search/search.js" data-index defer></script><p>Manuals of Python and three of its libraries."""
TOKEN = "a token for pictures"
LIMITS = (300, 600, 1000)
"""Pages of the crawl, in all, before each audit."""
WINDOWS = {"": (1280, 900), "-phone": (390, 844)}
"""Width and height of a picture in pixels: of a window on a desk, and of a phone."""
MOST_BYTES = 300_000
"""Of a picture."""
HISTORY = 40.0
"""Seconds for which the dashboard is open before its picture is taken, so that its curve has a history."""
RATE = 8.0
"""Pages a second of the crawl that the dashboard shows: it has to last until the pictures are taken."""


def main() -> None:
    """Make all pictures."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "docs" / "images"
    with tempfile.TemporaryDirectory() as scratch, manuals() as proxy:
        folder = Path(scratch) / "manuals"
        plan(folder, proxy)
        for limit in LIMITS:
            crawl(folder, "--limit", str(limit)).wait()
            audit(folder, SITE, Path(scratch))
        periplus.open(folder).index()
        periplus.open(folder).report(Path(scratch) / "report.html")
        with running(Served((folder,), ServeSettings(port=0))) as url, Chromium(Path(scratch) / "profile") as browser:
            with running(Served((folder,), ServeSettings(port=0, token=TOKEN, public_search=True))) as public:
                take(browser, f"{public}?q={quote(QUERY)}", out / "serve-search")
            take_box(browser, folder, Path(scratch) / "box", out / "serve-box")
            take(browser, f"{url}collection/sites/{quote(SITE)}", out / "serve-site")
            take(browser, f"{url}collection/pages?site={quote(SITE)}", out / "grid")
            for name in ("audit", "report"):
                take(browser, (Path(scratch) / f"{name}.html").as_uri(), out / name)
            with crawling(folder):
                browser.visit(f"{url}live", 1280)
                time.sleep(HISTORY)
                take(browser, f"{url}live", out / "serve-live")


@contextmanager
def manuals() -> Iterator[str]:
    """A proxy on loopback behind which each manual has a host of its own."""
    roots = {f"{site.package.removesuffix('-doc')}.docs.test": site for site in SITES if site.package in PACKAGES}

    class Manual(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            asked = urlsplit(path)
            site = roots.get(asked.netloc)
            if site is None:
                return str(HOME / "nowhere")
            self.directory = str(HOME / "docs" / site.package / site.root)
            return super().translate_path(asked.path)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Manual) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def plan(folder: Path, proxy: str) -> None:
    """Write down what is to be crawled."""
    options = {
        "wire.proxy": proxy,
        "politeness.delay": 0.0,
        "politeness.slow_factor": 0.0,
        "crawl.workers": 1,
        "audit.max_page_weight": 100_000,
        "audit.max_broken_links": 0,
    }
    seeds = [f"http://{package.removesuffix('-doc')}.docs.test/index.html" for package in PACKAGES]
    planned(folder, typed=seeds, options=options).save()


def crawl(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    """Continue the crawl in a process of its own."""
    command = [sys.executable, "-m", "periplus", "crawl", "-o", str(folder), *options]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def audit(folder: Path, site: str, out: Path) -> None:
    """Audit a site of the collection as it is; every audit is a point of the trend."""
    command = [
        sys.executable,
        "-m",
        "periplus",
        "audit",
        str(folder),
        "--site",
        site,
        "--html",
        str(out / "audit.html"),
    ]
    subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def crawling(folder: Path) -> Iterator[None]:
    """A crawl that runs until the block ends."""
    process = crawl(folder, "--limit", "1000000", "--rate", str(RATE))
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def take_box(browser: Chromium, folder: Path, place: Path, name: Path) -> None:
    """Take pictures of the search box on a page of plain files."""
    with open_index(existing(folder)) as index:
        write_static_index(index, place / "search")
    (place / "index.html").write_text(PAGE)
    with plain_host(place) as (origin, _):
        take(browser, f"{origin}/", name, lambda: search(browser, QUERY))


def take(browser: Chromium, address: str, name: Path, prepare: Callable[[], None] = lambda: None) -> None:
    """Take four pictures of a page, after what `prepare` does on it."""
    if address.startswith("http"):
        assert Site(address).get("/" + address.split("/", 3)[3]).status == 200, address
    for suffix, (width, height) in WINDOWS.items():
        for shade in ("", "-dark"):
            browser.visit(address, width, is_dark=bool(shade))
            time.sleep(1.5)  # what a script adds
            prepare()
            file = name.with_name(f"{name.name}{suffix}{shade}.png")
            picture = browser.picture(height)
            assert len(picture) < MOST_BYTES, f"{file.name} has {len(picture):,} bytes"
            file.write_bytes(picture)
            print(f"{file}  {len(picture):,} bytes")
    assert not browser.complaints, browser.complaints


if __name__ == "__main__":
    main()
