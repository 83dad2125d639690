"""A crawl that is continued tries seeds again that could not be fetched: their site may be there by now."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from tests.lab.crawling import crawl

from periplus.model import Url
from periplus.store import DiskState
from periplus.store.layout import Layout

HURRY: dict[str, object] = {
    "politeness.delay": 0.0,
    "politeness.slow_factor": 0.0,
    "retries.backoff": 0.02,
    "sitemaps.follow": False,
}


class _Site(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = b"<title>home</title><a href='/more'>more</a>"
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


class _Server(ThreadingHTTPServer):
    allow_reuse_port = True


@contextmanager
def site_at(port: int) -> Iterator[list[str]]:
    """A small site; what it is asked for."""
    _Site.asked = []
    with _Server(("127.0.0.1", port), _Site) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield _Site.asked
        server.shutdown()
        thread.join()


@pytest.fixture
def port() -> Iterator[int]:
    """A port that nobody else is given meanwhile: connections to it are refused until a server listens there."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind(("127.0.0.1", 0))
        yield int(reserved.getsockname()[1])


def reason_of(folder: Path, url: str) -> str:
    state = DiskState.read_only(Layout(folder).shard(0))
    [record] = state.records.get([Url(url)])
    state.close()
    assert record is not None
    return record.reason


@pytest.mark.parametrize("ordering", ["breadth_first", "opic", pytest.param("batch", marks=pytest.mark.slow)])
def test_a_server_that_was_down(tmp_path: Path, port: int, ordering: str) -> None:
    """It is given up while it is down, and tried again by the next crawl; what was fetched is not fetched again."""
    seed = f"http://127.0.0.1:{port}/"
    settings = HURRY | {"crawl.ordering": ordering}
    crawl(tmp_path, [seed], settings)
    assert reason_of(tmp_path, seed) == "robots-unreachable"
    with site_at(port) as asked:
        crawl(tmp_path, [seed], settings)
        assert sorted(asked) == ["/", "/more", "/robots.txt"]
        crawl(tmp_path, [seed], settings)
        assert len(asked) == 3
    assert reason_of(tmp_path, seed) == ""


def test_pages_that_were_found_before_a_site_was_lost(tmp_path: Path, port: int) -> None:
    """Its home page was read; what that led to has its second chance, too."""
    seed = f"http://127.0.0.1:{port}/"
    settings = HURRY | {"retries.max_site_failures": 1}
    with site_at(port):
        crawl(tmp_path, [seed], settings | {"crawl.limit": 1})
    crawl(tmp_path, [seed], settings)
    assert reason_of(tmp_path, f"{seed}more") == "connect-refused"
    with site_at(port) as asked:
        crawl(tmp_path, [seed], settings)
        assert sorted(asked) == ["/more", "/robots.txt"]


def test_a_site_that_was_given_up_as_a_whole(tmp_path: Path, port: int) -> None:
    """By one failure, here; it is forgiven when its seed is named again."""
    seed = f"http://127.0.0.1:{port}/"
    settings = HURRY | {"retries.max_site_failures": 1}
    crawl(tmp_path, [seed], settings)
    assert reason_of(tmp_path, seed) == "connect-refused"
    with site_at(port) as asked:
        crawl(tmp_path, [seed], settings)
        assert sorted(asked) == ["/", "/more", "/robots.txt"]
