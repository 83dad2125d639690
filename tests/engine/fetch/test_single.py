"""Single requests beside a crawl: limits, addresses and redirects, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import cast

import pytest
from tests.typed_seeds import guard_of

from periplus.engine.clock import SystemClock
from periplus.engine.fetch import CrawlerIdentity, ResolverSettings, SingleRequests, WireSettings
from periplus.model import Excluded, Failed, Fetched, FetchOutcome, Redirected, Url

FORM = b"hub.mode=subscribe&hub.topic=x"


class Handler(BaseHTTPRequestHandler):
    """Remembers what was posted, and answers by path."""

    def do_GET(self) -> None:
        answers = {"/key.txt": (200, b"key"), "/long.txt": (200, b"x" * 10_000), "/page": (200, b"<p>")}
        status, body = answers.get(self.path, (404, b""))
        kind = "text/html" if self.path == "/page" else "text/plain"
        places = {"/moved.txt": "/key.txt", "/away.txt": "http://other.test/key.txt", "/loop": "/loop"}
        self._answer(302 if self.path in places else status, body, kind, places.get(self.path, ""))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        cast("Server", self.server).posts.append((self.path, self.headers["Content-Type"], body))
        if self.path == "/hub-moved":
            self._answer(308, b"", "text/plain", "/hub")
        else:
            self._answer(202, b"accepted", "text/plain")

    def _answer(self, status: int, body: bytes, kind: str, location: str = "") -> None:
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called above
        """Print nothing."""


class Server(ThreadingHTTPServer):
    """A server on loopback."""

    posts: list[tuple[str, str, bytes]]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.posts = []
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def base(server: Server) -> str:
    return f"http://a.test:{server.server_address[1]}"


def requests(server: Server, *, is_open: bool = True) -> SingleRequests:
    hosts = {"a.test": "127.0.0.1", "other.test": "127.0.0.1"}
    seeds = [Url(f"{base(server)}/")] if is_open else []
    guard = guard_of(seeds, hosts=hosts if is_open else {})
    dns = ResolverSettings(hosts=hosts)
    settings = WireSettings(timeout=10.0)
    return SingleRequests(
        settings, identity=CrawlerIdentity("us@example.org"), clock=SystemClock(), dns=dns, guard=guard
    )


def get(server: Server, path: str) -> FetchOutcome:
    return requests(server).get(Url(base(server) + path), max_bytes=4096, types=("text/plain",))


def test_get(server: Server) -> None:
    """A file arrives, cut at the limit; redirects on the same host are followed."""
    outcome = get(server, "/key.txt")
    assert isinstance(outcome, Fetched)
    assert (outcome.status, outcome.body) == (200, b"key")
    moved = get(server, "/moved.txt")
    assert isinstance(moved, Fetched)
    assert moved.body == b"key"
    cut = get(server, "/long.txt")
    assert isinstance(cut, Fetched)
    assert (len(cut.body), cut.is_truncated) == (4096, True)


def test_get_is_refused(server: Server) -> None:
    """Another type, another host, and a redirect without end."""
    page = get(server, "/page")
    assert isinstance(page, Failed)
    assert page.reason == "unwanted-type"
    assert isinstance(get(server, "/away.txt"), Redirected)
    assert isinstance(get(server, "/loop"), Redirected)


def test_private_addresses(server: Server) -> None:
    """Without a setting that opens it, loopback is not connected to, by GET or POST."""
    closed = requests(server, is_open=False)
    url = Url(f"{base(server)}/key.txt")
    for outcome in (closed.get(url, max_bytes=10, types=("*/*",)), closed.post(url, FORM)):
        assert isinstance(outcome, Excluded)
        assert outcome.reason == "private-address"
    assert server.posts == []


def test_post(server: Server) -> None:
    """A form arrives as it was sent, also behind a 308, and the answer comes back."""
    for path in ("/hub", "/hub-moved"):
        outcome = requests(server).post(Url(base(server) + path), FORM)
        assert isinstance(outcome, Fetched)
        assert (outcome.status, outcome.body) == (202, b"accepted")
    form = "application/x-www-form-urlencoded"
    assert server.posts == [(path, form, FORM) for path in ("/hub", "/hub-moved", "/hub")]


def test_refused_connection(server: Server) -> None:
    """A server that is not there is a value with a reason."""
    port = server.server_address[1]
    server.shutdown()
    server.server_close()
    outcome = requests(server).post(Url(f"http://a.test:{port}/hub"), FORM)
    assert isinstance(outcome, Failed)
    assert outcome.reason.startswith("connect")
