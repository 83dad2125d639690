"""Makes the pictures of pages: crawls a generated web, audits it, serves the collection, and asks Chromium.

    python -m bench.pictures [FOLDER]

The pages of the server (search with sitelinks, the dashboard of a running crawl, one site), an audit, a report and the
grid of pages, each for a desk and a phone, light and dark, as `serve-PAGE[-phone][-dark].png` and
`PAGE[-phone][-dark].png` in FOLDER, by default `docs/images`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.apps.serve.asking import Site
from tests.lab.chromium_page import Chromium

import periplus
from periplus.apps.lab import World
from periplus.apps.lab.server import RunningLab, Server, SteppedClock
from periplus.apps.lab.sites import Profile
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.collection.collection import existing, planned
from periplus.collection.facts.lookup import collection_facts

PROFILES = (Profile.SHOP, Profile.NEWS, Profile.PARTIAL, Profile.NONE, Profile.NEWS, Profile.SHOP)
PAGES_A_SITE = 1000
LIMITS = (120, 180, 250)
"""Pages of the crawl, in all, before each audit."""
SEED = 21
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
    world = World(SEED, len(PROFILES), pages=PAGES_A_SITE, profiles=PROFILES)
    with tempfile.TemporaryDirectory() as scratch, RunningLab(Server(world, SteppedClock(world.epoch))) as lab:
        folder = Path(scratch) / "lab"
        plan(folder, world, lab)
        for limit in LIMITS:
            crawl(folder, "--limit", str(limit)).wait()
            site = str(collection_facts(existing(folder)).largest[0].site)
            audit(folder, site, Path(scratch))
        periplus.open(folder).index()
        periplus.open(folder).report(Path(scratch) / "report.html")
        with running(Served((folder,), ServeSettings(port=0))) as url, Chromium(Path(scratch) / "profile") as browser:
            pages = {
                "search": f"{url}?q={quote(site.split('.')[0])}",
                "site": f"{url}collection/sites/{quote(site)}",
            }
            for name, address in pages.items():
                take(browser, address, out / f"serve-{name}")
            take(browser, f"{url}collection/pages?site={quote(site)}", out / "grid")
            for name in ("audit", "report"):
                take(browser, (Path(scratch) / f"{name}.html").as_uri(), out / name)
            with crawling(folder):
                browser.visit(f"{url}live", 1280)
                time.sleep(HISTORY)
                take(browser, f"{url}live", out / "serve-live")


def plan(folder: Path, world: World, lab: RunningLab) -> None:
    """Write down what is to be crawled."""
    options = {
        "wire.proxy": lab.base,
        "politeness.delay": 0.0,
        "politeness.slow_factor": 0.0,
        "retries.backoff": 0.02,
        "crawl.workers": 1,
        "crawl.rate": RATE * 10,
        "audit.max_page_weight": 100_000,
        "audit.max_broken_links": 0,
    }
    planned(folder, typed=[site.url for site in world.sites()], options=options).save()


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


def take(browser: Chromium, address: str, name: Path) -> None:
    """Take four pictures of a page."""
    if address.startswith("http"):
        assert Site(address).get("/" + address.split("/", 3)[3]).status == 200, address
    for suffix, (width, height) in WINDOWS.items():
        for shade in ("", "-dark"):
            browser.visit(address, width, is_dark=bool(shade))
            time.sleep(1.5)  # what a script adds
            file = name.with_name(f"{name.name}{suffix}{shade}.png")
            picture = browser.picture(height)
            assert len(picture) < MOST_BYTES, f"{file.name} has {len(picture):,} bytes"
            file.write_bytes(picture)
            print(f"{file}  {len(picture):,} bytes")
    assert not browser.complaints, browser.complaints


if __name__ == "__main__":
    main()
