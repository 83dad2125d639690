"""Range files of operators, fetched from a real server by the wire of a crawl."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from periplus.collection.config.settings import Config
from periplus_sites.address_ranges import range_requests, refresh_ranges
from periplus_sites.agents import Crawler
from periplus_sites.identity import range_urls, read_ranges

RANGES = (
    b'{"creationTime": "2026-01-01", "prefixes": [{"ipv4Prefix": "192.0.2.0/25"}, {"ipv6Prefix": "2001:db8::/32"}]}'
)
ANSWERS = {
    "/a/bot.json": (200, RANGES, "application/json"),
    "/a/gzipped.json": (200, gzip.compress(RANGES), "application/json"),
    "/a/page.json": (200, b"<html>sorry</html>", "text/plain"),
    "/a/gone.json": (404, b"", "text/plain"),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body, kind = ANSWERS[self.path]
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if "gzipped" in self.path:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called above
        """Print nothing."""


@pytest.fixture
def base() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/a/"
        server.shutdown()
        thread.join()


def test_ranges_are_fetched_kept_for_a_day_and_never_lost(tmp_path: Path, base: str) -> None:
    requests = range_requests(Config().with_options({"wire.allow_private": [base.split("/")[2]]}))
    urls = [base + name for name in ("bot.json", "gzipped.json", "page.json", "gone.json")]
    done = refresh_ranges(tmp_path, urls, requests)
    assert (done.written, done.fresh) == (2, 0)
    assert done.failed == {urls[2]: "not a list of ranges", urls[3]: "status 404"}
    ranges, written_at = read_ranges(tmp_path / "ranges")
    for url in urls[:2]:
        crawler = Crawler("bot", ranges=(url,))
        held = [ranges.holds(crawler, ip) for ip in ("192.0.2.1", "192.0.2.200", "2001:db8::7")]
        assert held == [True, False, True]
    assert written_at is not None
    assert refresh_ranges(tmp_path, urls[:2], requests).fresh == 2
    kept = tmp_path / "ranges" / "gone.json"
    kept.write_bytes(RANGES)
    os.utime(kept, (written_at - 100_000, written_at - 100_000))
    assert refresh_ranges(tmp_path, urls[3:], requests).failed
    assert kept.read_bytes() == RANGES


def test_private_addresses_are_not_asked(tmp_path: Path, base: str) -> None:
    done = refresh_ranges(tmp_path, [f"{base}bot.json"], range_requests())
    assert done.failed == {f"{base}bot.json": "private-address"}


def test_operators_publish_https_files_with_names_of_their_own() -> None:
    urls = range_urls()
    assert len(urls) >= 8
    assert all(url.startswith("https://") and url.endswith(".json") for url in urls)
    assert len({url.rpartition("/")[2] for url in urls}) == len(urls)
