"""A real Scrapy on our frontier: killed and continued, redirected, refused, and over a collection without the web."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest
from bridges.scrapy.tests.scrapy_process import run_spider
from tests.lab.crawling import rows, standing

from periplus_lab import World
from periplus_lab.server import RunningLab

pytestmark = pytest.mark.skipif(find_spec("scrapy") is None, reason="Scrapy is not installed")

IN_FLIGHT = 16
"""Scrapy's CONCURRENT_REQUESTS."""
DEADLINE = 300.0
"""Seconds after which a program hangs; far more than it takes on a busy machine."""


def start(kind: str, folder: Path, url: str, items: Path, proxy: str = "") -> ForkServerProcess:
    """A spider in a process of its own. Scrapy is loaded once for all of them, which takes longer than their crawls."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["bridges.scrapy.tests.scrapy_spider"])
    program = context.Process(target=run_spider, args=(kind, str(folder), url, str(items), proxy))
    program.start()
    return program


def run(kind: str, folder: Path, url: str, items: Path, proxy: str = "") -> list[dict[str, Any]]:
    program = start(kind, folder, url, items, proxy)
    program.join(DEADLINE)
    assert program.exitcode == 0
    return kept(items)


def kept(items: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in items.read_text().splitlines()] if items.exists() else []


class Crawled(NamedTuple):
    """A lab, one of its sites crawled by a spider, and the pages that the spider read."""

    lab: RunningLab
    url: str
    folder: Path
    pages: set[str]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("scrapy")
    world = World(28, 2, pages=30)
    url = world.sites()[0].url
    with standing(world) as lab:
        items = run("following", folder / "whole", url, folder / "whole.jsonl", lab.base)
        yield Crawled(lab, url, folder / "whole", {item["url"] for item in items})


@pytest.mark.proof
def test_every_page_is_fetched_once(crawled: Crawled) -> None:
    """What the spider read is what the lab served and what the collection holds; robots.txt was asked for first."""
    visits = [visit for visit in crawled.lab.log.visits() if visit.url.startswith(crawled.url)]
    assert visits[0].target == "/robots.txt"
    assert max(Counter(visit.target for visit in visits).values()) == 1
    stored = rows(crawled.folder, "select url from fetches where purpose = 'page' and outcome = 'fetched'")
    assert crawled.pages <= {row["url"] for row in stored}
    assert len(crawled.pages) > 10


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 12])
def test_a_killed_spider_continues(crawled: Crawled, tmp_path: Path, kills: int) -> None:
    """The same pages, and none is fetched twice but those that were in flight."""
    lab, folder, items = crawled.lab, tmp_path / "c", tmp_path / "items"
    before = len(lab.log.visits())
    step = max(len(crawled.pages) // (kills + 1), 2)
    for kill in range(1, kills + 1):
        program = start("following", folder, crawled.url, items, lab.base)
        until = time.monotonic() + DEADLINE
        while program.is_alive() and len(kept(items)) < kill * step and time.monotonic() < until:
            time.sleep(0.01)
        program.kill()
        program.join()
    found = {item["url"] for item in run("following", folder, crawled.url, items, lab.base)}
    assert found == crawled.pages
    visits = Counter(visit.url for visit in lab.log.visits()[before:] if not visit.url.endswith("/robots.txt"))
    assert sum(visits.values()) - len(visits) <= kills * IN_FLIGHT


def test_a_spider_over_a_collection_makes_no_request(crawled: Crawled, tmp_path: Path) -> None:
    before = len(crawled.lab.log.visits())
    items = run("reading", crawled.folder, crawled.url, tmp_path / "items")
    assert {item["url"] for item in items} == crawled.pages
    assert all(item["flags"] == ["periplus"] and item["length"] for item in items)
    assert len(crawled.lab.log.visits()) == before


class Site(BaseHTTPRequestHandler):
    """A redirect, a page that is busy once, a forbidden folder, and a form."""

    asked: ClassVar[Counter[str]]

    def do_GET(self) -> None:
        self.asked[self.path] += 1
        if self.path == "/robots.txt":
            self.answer(200, b"User-agent: *\nDisallow: /private/\n", "text/plain")
        elif self.path == "/moved":
            self.answer(301, b"", location="/target")
        elif self.path == "/busy" and self.asked[self.path] == 1:
            self.answer(503, b"busy")
        elif self.path == "/missing":
            self.answer(404, b"missing")
        else:
            self.answer(200, self.path.encode())

    def do_POST(self) -> None:
        self.asked[self.path] += 1
        self.answer(200, self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, status: int, body: bytes, kind: str = "text/html", location: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.proof
def test_what_a_spider_sees_of_redirects_retries_and_refusals(tmp_path: Path) -> None:
    """Redirects and answers to be tried again are not shown; robots.txt is obeyed; a form is sent as it is."""

    class Handler(Site):
        asked: ClassVar[Counter[str]] = Counter()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        base = f"http://127.0.0.1:{server.server_port}/"
        items = run("asking", tmp_path / "c", base, tmp_path / "items")
        again = run("asking", tmp_path / "c", base, tmp_path / "items")
    finally:
        server.shutdown()
        server.server_close()
    by_step = {item["step"]: item for item in items}
    assert set(by_step) == {"start", "moved", "busy", "errback", "form", "nameless", "twice"}
    assert by_step["moved"]["url"] == base + "target"
    assert by_step["busy"]["status"] == 200
    assert by_step["errback"]["what"] == "HttpError"
    assert by_step["form"]["body"] == "a=1"
    assert Handler.asked["/busy"] == 2
    assert Handler.asked["/twice"] == 2
    assert "/private/x" not in Handler.asked
    assert again == items, "a finished crawl asks for nothing twice"
