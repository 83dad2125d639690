"""Crawls with the files that pages need: each once, whatever its host, and not as pages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archives.whole_site import WholeSite, whole_site
from tests.lab.scripted_web import ScriptedWeb

import periplus

pytestmark = pytest.mark.proof


QUICK = "[politeness]\ndelay = 0.0\nslow_factor = 0.0\nip_delay = 0.0\n[sitemaps]\nfollow = false\n"


@pytest.fixture
def site() -> Iterator[WholeSite]:
    """Two servers."""
    with whole_site() as served:
        yield served


def crawl(
    site: WholeSite, folder: Path, pages: int, *, requisites: bool = True, workers: int = 1, settings: str = QUICK
) -> periplus.Collection:
    """A crawl of the site that ends after so many pages."""
    file = folder.with_suffix(".toml")
    file.write_text(settings)
    periplus.crawl(
        f"http://{site.home}/p/1", out=folder, config=file, limit=pages, requisites=requisites, workers=workers,
        allow_private=[site.home, site.other],
    ).run()  # fmt: skip
    return periplus.open(folder)


@pytest.mark.parametrize("workers", [1, 2])
def test_every_file_is_fetched_once(site: WholeSite, tmp_path: Path, workers: int) -> None:
    """Those of all pages of the limit and of their style sheets, on both hosts; no page that is linked from there."""
    made = crawl(site, tmp_path / "c", 5, workers=workers)
    asked = {url: count for url, count in site.asked.items() if not url.endswith("/robots.txt")}
    assert set(asked) == site.urls_of(5)
    assert set(asked.values()) == {1}
    rows = made.query(
        "select purpose, lane, outcome, count(*) as n from fetches where purpose != 'robots' group by all"
    )
    found = {row[:3]: row[3] for row in rows}
    files = len(asked) - 6
    assert found == {
        ("page", "discovery", "fetched"): 5,
        ("file", "embedded", "fetched"): files,
        ("file", "embedded", "redirected"): 1,
        ("file", "embedded", "excluded"): 1,
    }
    [refused] = made.query("select url, reason from fetches where outcome = 'excluded'")
    assert refused == (f"http://{site.home}/private/b.png", "robots")
    assert list(made.query("select count(*) from pages")) == [(5,)]


def test_a_continued_crawl_asks_for_new_files_only(site: WholeSite, tmp_path: Path) -> None:
    """What is known stays known; the limit may be raised."""
    crawl(site, tmp_path / "c", 3)
    crawl(site, tmp_path / "c", 6)
    asked = {url: count for url, count in site.asked.items() if not url.endswith("/robots.txt")}
    assert set(asked) == site.urls_of(6)
    assert set(asked.values()) == {1}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_crawl_misses_no_file(site: WholeSite, tmp_path: Path, workers: int) -> None:
    """Killed three times in the middle: nothing is missing, and only what was under way is asked for twice."""
    (tmp_path / "c.toml").write_text(QUICK.replace("delay = 0.0", "delay = 0.02", 1))
    command = [
        sys.executable, "-m", "periplus", "crawl", f"http://{site.home}/p/1", "-o", str(tmp_path / "c"), "--limit", "8",
        "--requisites", "--workers", str(workers), "--config", str(tmp_path / "c.toml"),
        "--allow-private", site.home, "--allow-private", site.other,
    ]  # fmt: skip
    needed = site.urls_of(8)
    until = time.monotonic() + 240
    for kill in (1, 2, 3):
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
            while len(site.asked) < kill * len(needed) // 4:
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.002)
            os.killpg(process.pid, signal.SIGKILL)
    assert not needed <= set(site.asked)
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    asked = {url: count for url, count in site.asked.items() if not url.endswith("/robots.txt")}
    assert set(asked) == needed
    assert sum(asked.values()) - len(asked) <= 3 * len(site.servers)
    made = periplus.open(tmp_path / "c")
    stored = (
        "select count(*), count(distinct url) from fetches where outcome = 'fetched' and purpose in ('page', 'file')"
    )
    assert list(made.query(stored)) == [(len(needed) - 1, len(needed) - 1)]  # one is a redirect


def test_the_bytes_of_a_page_are_bounded(site: WholeSite, tmp_path: Path) -> None:
    """Each page has its own bound, which three of its five pictures reach; a fourth may have been under way."""
    made = crawl(site, tmp_path / "c", 4, settings=f"{QUICK}[requisites]\nmax_bytes_per_page = 790\n")
    paths = Counter(url.split("/", 3)[3] for url in site.asked)
    for n in (2, 3, 4):
        own = (f"i/style{n}.png", f"i/{n}.png", f"i/{n}-2.png", f"i/{n}-3.png", f"same/{n}")
        assert 3 <= sum(path in paths for path in own) <= 4
    refused = dict(made.query("select url, outcome from fetches where reason = 'page-bytes'"))
    assert set(refused.values()) == {"excluded"}
    assert 3 <= len(refused) <= len(site.urls_of(4) - set(site.asked))
    assert not set(refused) & set(site.asked)
    assert list(made.query("select count(*) from pages")) == [(4,)]


def test_without_the_setting_nothing_is_fetched(site: WholeSite, tmp_path: Path) -> None:
    """By default a crawl is for pages."""
    crawl(site, tmp_path / "c", 3, requisites=False)
    assert {url for url in site.asked if "robots" not in url} == {f"http://{site.home}/p/{n}" for n in (1, 2, 3)}


def test_a_rebuilt_collection_knows_its_files(site: WholeSite, tmp_path: Path) -> None:
    """If the state is lost, the archive says which files were fetched."""
    crawl(site, tmp_path / "c", 3)
    for state in (tmp_path / "c").glob("state*"):
        subprocess.run(["rm", "-r", str(state)], check=True)
    program = [sys.executable, "-m", "periplus", "repair", str(tmp_path / "c")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    before = dict(site.asked)
    crawl(site, tmp_path / "c", 4)
    again = [url for url, count in site.asked.items() if before.get(url, 0) < count and url in before]
    assert [url for url in again if not url.endswith("/robots.txt")] == []


def test_a_script_that_is_linked_as_well_is_asked_for_once(tmp_path: Path) -> None:
    """By the page that needs it, or by another; a page with such a name is a page."""
    seed = "http://site.test/"
    pages: dict[str, str | bytes] = {
        seed: "<title>Home</title><script src=/app.js></script><a href=/app.js>code</a><a href=/wiki/Node.js>node</a>",
        f"{seed}wiki/Node.js": "<!doctype html><title>Node</title><p>A page. <a href=/app.js>The code again</a>",
        f"{seed}app.js": "let a = 1",
    }
    with ScriptedWeb(pages) as web:
        web.headers[f"{seed}app.js"] = {"Content-Type": "text/javascript"}
        web.headers[f"{seed}wiki/Node.js"] = {"Content-Type": "text/html"}
        periplus.crawl(seed, out=tmp_path / "c", requisites=True, settings=web.settings).run()
        assert web.asked.count(f"{seed}app.js") == 1
    urls = "select url from pages order by url"
    assert periplus.open(tmp_path / "c").query(urls).fetchall() == [(seed,), (f"{seed}wiki/Node.js",)]
