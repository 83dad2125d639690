"""Requests made at random over all routes, with and without token, origin and odd bodies: none breaks the server."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest
from starlette.routing import Route
from tests.apps.serve.asking import PATIENCE
from tests.bridges.small_crawl import HOME, PAGES, crawl_small_site
from tests.lab.scripted_web import ScriptedWeb

from periplus.apps.search.indexing import update_index
from periplus.apps.serve.app import make_app
from periplus.apps.serve.routing import GuardedRoute
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.bridges.agents.rest import AgentRoutes
from periplus.collection.collection import existing
from periplus.collection.config.settings import Config

TOKEN = "0123456789abcdef0123"
VIEWER = "fedcba98765432100000"
NOT_CRAWLED = "http://other.test/"
METHODS = ("GET",) * 12 + ("POST",) * 6 + ("HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "X")
NAMES = (
    "q", "n", "page", "site", "lang", "type", "sort", "explain", "collection", "url", "at", "table", "format", "reason",
    "rule", "state", "only", "rows.page", "kind", "sitemap", "key", "keyLocation", "since", "sql", "id", "part",
    "fresh", "max_tokens", "filter", "limit", "output", "fl", "matchType", "from", "to", "resumeKey", "showNumPages",
    "next", "hub.mode", "hub.topic", "hub.challenge", "done",
)  # fmt: skip
VALUES = (
    "", "1", "0", "-1", "true", "null", "9" * 40, "1e999", "é" * 50, "\x00", "\r\nX: y", "%", "%ff", "a" * 5000, "'",
    '"', "../../etc/passwd", "[", "{{7*7}}", "<script>", HOME, f"{HOME}long", f"{HOME}fresh", "a.test", NOT_CRAWLED,
    "http://", "http://127.0.0.1:9/", "http://[::1", "fetches", "pages", "urls", "answer", "csv", "json", "newest",
    "2020", "2d", "9999999d", "select 1", "select * from fetches", "selec", "select 1; select 2",
    "select 'nan'::double", "select length(repeat('x', 4000000000))", "select * from range(100000000)",
    "select 2::hugeint ** 120", "harbour1", "\ud800", "site", "0123456789abcdef", "subscribe",
)  # fmt: skip
BODIES = (
    b"", b"{}", b"[]", b"null", b"1", b'"x"', b"[" * 200_000, b'{"a":' * 50_000, b"\xff\xfe", b"\x00" * 100, b"a=b&c=d",
    b"csrf=x&token=y", b'{"verb": "pause"}', b'{"verb": 1}', b'{"verb": "exclude", "pattern": "(((("}', b"{" * 10,
    json.dumps({"url": HOME}).encode(), json.dumps({"url": HOME, "part": 9}).encode(),
    json.dumps({"site": "http://127.0.0.1/"}).encode(), json.dumps({"seeds": ["http://127.0.0.1/"]}).encode(),
    json.dumps({"seeds": [[]], "limit": 1e9}).encode(), json.dumps({"url": f"{HOME}fresh", "fresh": True}).encode(),
    json.dumps(["http://other.test/x"] * 3).encode(), b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "query", "arguments": {"sql": "x"}}}',
    b"x" * 1_000_001, b'{"host": "other.test", "key": "0123456789abcdef", "urlList": ["http://other.test/"]}',
)  # fmt: skip
TYPES = ("application/json", "application/x-www-form-urlencoded", "text/plain", "multipart/form-data", "", "é")
FIELDS: tuple[dict[str, str], ...] = (
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "\xff"}, {"Origin": ""}, {"Sec-Fetch-Site": "x"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    {"Sec-Fetch-Site": "same-origin"}, {"Cookie": "periplus_0=a.b.c; x"}, {"Cookie": "\xe9"}, {"Accept": "text/html"},
    {"Accept": "application/openmetrics-text"}, {"Accept-Datetime": "x"}, {"Range": "bytes=9-1"}, {"Host": "evil.test"},
    {"If-None-Match": "*"}, {"X-Hub-Signature": "sha256=00"}, {"Last-Event-ID": "x"}, {"X-Forwarded-For": "1.2.3.4, x"},
    {"Mcp-Session-Id": "x", "Accept": "application/json, text/event-stream"}, {"Transfer-Encoding": "gzip"},
)  # fmt: skip


class Sent(NamedTuple):
    """A request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None
    source: str


class Fuzz:
    """Makes requests for the routes of a server. The same seed makes the same requests."""

    def __init__(self, served: Served, seed: int, token: str) -> None:
        self._random = random.Random(seed)
        self._token = token
        self._paths = [each.path for each in make_app(served).routes if isinstance(each, Route)]
        self._methods = {
            each.path: sorted(each.methods or ()) for each in make_app(served).routes if isinstance(each, GuardedRoute)
        }

    def request(self) -> Sent:
        pick = self._random
        path = pick.choice([*self._paths, "/static/style.css", "/static/../x", "/nowhere", "/%", "//", "*"])
        method = pick.choice(self._methods.get(path, ["GET"])) if pick.random() < 0.6 else pick.choice(METHODS)
        target = path
        while "{" in target:
            before, _, rest = target.partition("{")
            target = before + self._quoted(pick.choice(VALUES)) + rest.partition("}")[2]
        fields = [f"{pick.choice(NAMES)}={self._quoted(pick.choice(VALUES))}" for _ in range(pick.randrange(5))]
        if fields:
            target += "?" + "&".join(fields)
        if path == "/indexnow":  # the protocol has the server fetch the key of a site that is crawled, also after a GET
            target = target.replace("a.test", "other.test")
        headers: dict[str, str] = {}
        for _ in range(pick.randrange(3)):
            headers |= pick.choice(FIELDS)
        body = pick.choice(BODIES) if method in ("POST", "PUT", "PATCH") else None
        if body is not None:
            headers["Content-Type"] = pick.choice(TYPES) if pick.random() < 0.5 else TYPES[0]
        source = "127.0.0.1"
        if self._token and pick.random() < 0.8:
            headers["Authorization"] = f"Bearer {pick.choice((self._token, self._token, VIEWER))}"
        elif self._token:  # wrong tokens lock an address out: each is tried from another one
            headers["Authorization"] = pick.choice(("Bearer x", "Bearer \xff", "Basic x", "Bearer"))
            source = f"127.{pick.randrange(1, 255)}.{pick.randrange(255)}.{pick.randrange(1, 255)}"
        return Sent(method, target, headers, body, source)

    def _quoted(self, value: str) -> str:
        return quote(value.encode("utf-8", "surrogatepass"), safe="%" if self._random.random() < 0.1 else "")


@pytest.fixture(scope="module")
def web() -> Iterator[ScriptedWeb]:
    with ScriptedWeb(PAGES) as web:
        yield web


@pytest.fixture(scope="module")
def collection(web: ScriptedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed crawl whose settings lead to a web that still answers, and counts its requests."""
    folder = crawl_small_site(tmp_path_factory.mktemp("fuzzed") / "site")
    options = {"crawl.seeds": [HOME], "agents.fetches_per_hour": 4, **web.settings, "politeness.delay": 0.05}
    (folder / "periplus.toml").write_text(Config().with_options(options).dump())
    update_index(existing(folder))
    return folder


def requests_to(web: ScriptedWeb) -> int:
    """Requests that the sites have had so far: they are behind a proxy that gets all."""
    return len(web.asked) + len(web.heads)


def answer(port: int, sent: Sent) -> tuple[int, bytes]:
    """The status and the beginning of an answer; 0 if the server closed the connection without one."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE, source_address=(sent.source, 0))
    try:
        connection.putrequest(sent.method, sent.target, skip_host="Host" in sent.headers, skip_accept_encoding=True)
        for name, value in sent.headers.items():
            connection.putheader(name, value.encode("latin-1", "replace"))
        if sent.body is not None and "Transfer-Encoding" not in sent.headers:
            connection.putheader("Content-Length", str(len(sent.body)))
        connection.endheaders()
        try:
            if sent.body is not None and "Transfer-Encoding" not in sent.headers:
                connection.send(sent.body)
        except OSError:  # a body that is refused unread
            pass
        response = connection.getresponse()
        is_endless = response.getheader("content-type", "").startswith("text/event-stream")
        return response.status, b"" if is_endless else response.read()
    except (HTTPException, OSError):
        return 0, b""
    finally:
        connection.close()


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=pytest.mark.slow)])
def test_no_request_breaks_the_server(
    collection: Path, web: ScriptedWeb, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    """No error of ours, no traceback, and no request to a site but after a POST."""
    seen: dict[int, int] = {}
    with ExitStack() as stack, caplog.at_level(logging.WARNING):
        for token in ("", TOKEN):
            settings = ServeSettings(
                port=0, token=token, viewer_token=VIEWER if token else "", timeout=PATIENCE, receive=bool(token)
            )
            served = Served([collection], settings, [AgentRoutes(allows_sql=True)])
            stack.enter_context(running(served))
            fuzz = Fuzz(served, count, token)
            for _ in range(count // 2):
                sent, before = fuzz.request(), requests_to(web)
                status, body = answer(served.settings.port, sent)
                assert status < 500 or status in (501, 503), (sent, status, body[:500])
                assert b"Traceback" not in body, sent
                assert sent.method == "POST" or requests_to(web) == before, sent
                seen[status] = seen.get(status, 0) + 1
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]
    assert seen[200] > count / 20, seen
    assert seen.get(0, 0) < count / 20, seen
