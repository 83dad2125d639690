"""Attacks on the server, each as a request that a test sends: none gets further than it should."""

from __future__ import annotations

import logging
import re
import socket
import threading
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from tests.apps.serve.asking import PATIENCE, Reply, Site, read_all
from tests.apps.serve.conftest import EVIL, Serving
from tests.library.small_web import SEED

from periplus.apps.serve.routing import Audience, route
from periplus.apps.serve.running import running
from periplus.apps.serve.served import MAX_AT_ONCE, Served, ServeSettings
from periplus.model import UsageError

TOKEN = "correct-horse-battery"
VIEWER = "staple-for-reading-only"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def field_of(page: str) -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]+)"', page)
    assert found
    return found[1]


def log_in(site: Site, token: str = TOKEN, target: str = "/") -> Reply:
    form = {"token": token, "next": target, "csrf": field_of(site.get("/login").text)}
    return site.post("/login", form)


def cookie_of(reply: Reply) -> dict[str, str]:
    return {"Cookie": reply.headers["set-cookie"].partition(";")[0]}


# tokens


def test_other_addresses_need_a_token(folder: Path) -> None:
    """Before anything listens."""
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(UsageError, match="needs a token"):
            Served((folder,), ServeSettings(host=host))
    with pytest.raises(UsageError, match="needs a token"):
        Served((folder,), ServeSettings(public_url="https://search.example.org"))
    with pytest.raises(UsageError, match="at least 16"):
        Served((folder,), ServeSettings(host="0.0.0.0", token="short"))
    Served((folder,), ServeSettings(host="0.0.0.0", token=TOKEN))


def test_without_a_token_nothing_is_shown(serving: Serving) -> None:
    """People are sent to the login, programs get 401."""
    site = serving(token=TOKEN)
    for path in ("/", "/cached?url=x", "/api", "/suggest", "/opensearch.xml"):
        reply = site.get(path)
        assert reply.status in (303, 401), path
        assert "product" not in reply.text
    assert site.get("/?q=a%20b").headers["location"] == "/login?next=%2F%3Fq%3Da%2520b"
    reply = site.get("/api/search", q="product")
    assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")


def test_tokens_of_operators_and_viewers(serving: Serving) -> None:
    """Both may read; a wrong one, another scheme or an empty one may not."""
    site = serving(token=TOKEN, viewer_token=VIEWER)
    for token in (TOKEN, VIEWER):
        assert site.get("/api/search", {"Authorization": f"Bearer {token}"}, q="product").status == 200
    for value in (f"Bearer {TOKEN}x", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN):
        assert site.get("/api/search", {"Authorization": value}, q="product").status == 401


def test_guessing_is_stopped(serving: Serving) -> None:
    """After five wrong tokens in a minute the right one is refused, too; who is logged in stays so."""
    site = serving(token=TOKEN)
    inside = cookie_of(log_in(site))
    replies = [site.get("/api/search", {"Authorization": f"Bearer wrong{number}"}, q="a") for number in range(6)]
    assert [reply.status for reply in replies] == [401] * 5 + [429]
    assert 0 < int(replies[-1].headers["retry-after"]) <= 61
    assert site.get("/api/search", BEARER, q="product").status == 429
    assert log_in(site).status == 429
    assert site.get("/api/search", inside, q="product").status == 200


# sessions


def test_login_gives_a_session(serving: Serving) -> None:
    """By a cookie that scripts cannot read, that other sites do not send, and that ends."""
    site = serving(token=TOKEN)
    reply = log_in(site, target="/?q=product")
    assert (reply.status, reply.headers["location"]) == (303, "/?q=product")
    (cookie,) = SimpleCookie(reply.headers["set-cookie"]).values()
    assert cookie["httponly"]
    assert cookie["samesite"] == "strict"
    assert cookie["max-age"] == str(12 * 3600)
    assert not cookie["secure"]
    inside = cookie_of(reply)
    assert "Log out" in site.get("/", inside, q="product").text
    assert "Log out" in site.get("/none", inside).text
    wrong = log_in(site, "wrong")
    assert wrong.status == 401
    assert "set-cookie" not in wrong.headers
    assert "not valid" in wrong.text


def test_the_cookie_is_secure_behind_https(serving: Serving) -> None:
    """And the public name is accepted."""
    public = {"Host": "search.example.org", "Origin": "https://search.example.org"}
    site = serving(token=TOKEN, public_url=public["Origin"])
    assert site.get("/login", {"Host": "evil.test"}).status == 421
    reply = site.post("/login", {"token": TOKEN}, public)
    assert reply.status == 303
    assert "secure" in reply.headers["set-cookie"].lower()


def test_a_forged_session_is_none(serving: Serving) -> None:
    """Another audience, another time, another signature: none of it is believed."""
    site = serving(token=TOKEN, viewer_token=VIEWER)
    name, _, value = cookie_of(log_in(site, VIEWER))["Cookie"].partition("=")
    audience, expires, nonce, signature = value.split(".")
    assert site.get("/api", {"Cookie": f"{name}={value}"}).status == 200
    for forged in (
        f"3.{expires}.{nonce}.{signature}",
        f"{audience}.{int(expires) + 1}.{nonce}.{signature}",
        f"{audience}.{expires}.{nonce}.{'0' * 64}",
        f"{audience}.{expires}.{nonce}",
        "....",
        "é",
    ):
        assert site.get("/api", {"Cookie": f"{name}={forged}".encode().decode("latin-1")}).status == 303


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.test/",
        "//evil.test/",
        "/\\evil.test/",
        "javascript:alert(1)",
        "/a\r\nSet-Cookie: a=b",
        "",
        "\\/evil",
    ],
)
def test_login_leads_to_this_server_only(serving: Serving, target: str) -> None:
    """Whatever the form says; and a line break does not make a header."""
    reply = log_in(serving(token=TOKEN), target=target)
    assert (reply.status, reply.headers["location"]) == (303, "/")
    assert reply.headers["set-cookie"].startswith("periplus_")


# requests that other sites cause


@pytest.mark.parametrize("origin", ["https://evil.test", "http://127.0.0.1:1", "http://localhost", "null", None])
def test_forms_of_other_sites_are_refused(serving: Serving, origin: str | None) -> None:
    """Also with the cookie, which a browser would not send."""
    site = serving(token=TOKEN)
    headers = cookie_of(log_in(site)) | ({"Origin": origin} if origin else {})
    assert site.post("/logout", {}, headers).status == 403
    assert site.post("/logout", {"csrf": "0" * 64}, headers).status == 403
    other = field_of(site.get("/login").text)  # a field that was made for someone who is not logged in
    assert site.post("/logout", {"csrf": other}, headers).status == 403


def test_forms_of_ours_are_accepted(serving: Serving) -> None:
    """By their origin, or by their field where a browser does not send the origin."""
    site = serving(token=TOKEN)
    inside = cookie_of(log_in(site))
    assert site.post("/logout", {}, inside | {"Origin": site.origin}).status == 303
    field = field_of(site.get("/", inside).text)
    assert site.post("/logout", {"csrf": field}, inside | {"Origin": "null"}).status == 303
    assert site.post("/logout", {}, BEARER).status == 303


def test_a_name_of_others_is_refused(site: Site) -> None:
    """A page whose name was made to lead to 127.0.0.1 sends that name."""
    for host in ("evil.test", f"evil.test:{site.port}", "127.0.0.1.evil.test", "localhost.evil.test", "", "[::1].evil"):
        assert site.get("/", {"Host": host}).status == 421, host
    for host in ("localhost", f"127.0.0.1:{site.port}", "[::1]:80", "LOCALHOST:9"):
        assert site.get("/", {"Host": host}).status == 200, host


# what pages say


def test_markup_in_pages_is_text(site: Site) -> None:
    """Titles, snippets, URLs and queries."""
    shown = site.get("/", q="marigold").text
    assert "&lt;script&gt;document.title" in shown
    assert "<script" not in shown
    assert "<img" not in shown
    assert "<b>" not in shown
    assert "<mark>marigold</mark>" in shown
    assert "<script" not in site.get("/", q="snapdragon").text
    for asked in ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'-alert(1)-'", "{{7*7}}"):
        reply = site.get("/", q=asked, site=asked, lang=asked)
        assert asked not in reply.text.replace("'-alert(1)-'", "") or asked == "{{7*7}}"
        assert "<img" not in reply.text
        assert "49" not in re.findall(r'name="q" value="([^"]*)"', reply.text)[0]
        assert reply.headers["content-type"] == "text/html; charset=utf-8"


def test_crawlers_of_others_stay_out(serving: Serving) -> None:
    """Also of a public search: its results would be endless pages for them."""
    assert serving(token=TOKEN).get("/robots.txt").text == "User-agent: *\nDisallow: /\n"


def test_json_is_not_a_page(site: Site) -> None:
    """So that markup in it stays text, also in old browsers."""
    reply = site.get("/api/search", q="marigold")
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_a_copy_can_do_nothing(site: Site) -> None:
    """Its scripts, frames, forms and requests are forbidden, and it has no origin."""
    reply = site.get("/cached", url=EVIL)
    assert reply.status == 200
    directives = dict(part.strip().partition(" ")[::2] for part in reply.headers["content-security-policy"].split(";"))
    assert directives == {
        "sandbox": "",
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": "'unsafe-inline'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }


@pytest.mark.parametrize(
    "path", ["/", "/?q=product", "/api/search?q=product", "/none", "/static/style.css", "/login", "/api"]
)
def test_header_fields_of_every_answer(site: Site, path: str) -> None:
    """Errors included."""
    headers = site.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'self'; ")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers
    assert "access-control-allow-origin" not in headers


# files, sizes, time


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static/....//app.py",
        "/static//etc/passwd", "/static/..%5capp.py", "/static/%00", "/static/", "/../../etc/passwd",
        "/cached?url=../../etc/passwd", "/api/sites/..%2f..%2fetc", "/?collection=../other",
    ],
)  # fmt: skip
def test_no_other_files(site: Site, path: str) -> None:
    """Paths lead to pages and nowhere else."""
    reply = site.ask("GET", path, {})
    assert reply.status in (400, 404), reply.text[:200]
    assert "import" not in reply.text
    assert "root:" not in reply.text


def test_large_bodies_are_refused(serving: Serving) -> None:
    """By their declared size at once, without it when they grow."""
    site = serving(token=TOKEN)
    declared = site.send(
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000001\r\nConnection: close\r\n\r\n"
    )
    assert declared.startswith(b"HTTP/1.1 413")
    with site.connect() as connection:
        connection.sendall(
            b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"10000\r\n" + b"a" * 65536 + b"\r\n"
        try:
            for _ in range(20):
                connection.sendall(chunk)
            answer = connection.recv(65536)
        except (BrokenPipeError, ConnectionResetError):
            answer = b"HTTP/1.1 413"  # closed while we were still sending
        assert answer.startswith(b"HTTP/1.1 413")
    assert site.get("/login").status == 200


def test_large_and_odd_headers_are_refused(site: Site) -> None:
    """And the server goes on."""
    for request in (
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 600_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 600_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nA: b\x00c\r\n\r\n",
    ):
        with suppress(ConnectionResetError):  # the server closed before it had read all of it
            assert b" 400 " in site.send(request)[:40]
    assert site.get("/").status == 200


def test_a_line_break_in_a_query_makes_no_header(site: Site) -> None:
    """Neither in redirects nor in answers."""
    for path in (
        "/?q=a%0d%0aSet-Cookie:%20x=y",
        "/login?next=/%0d%0aSet-Cookie:%20x=y",
        "/opensearch.xml?collection=%0d%0aX:y",
    ):
        assert "set-cookie" not in site.get(path).headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "TRACE", "OPTIONS", "PATCH"])
def test_other_methods(site: Site, method: str) -> None:
    """Nothing but reading, where a page is read."""
    assert site.ask(method, "/", {}, b"").status == 405


@pytest.mark.proof
def test_slow_headers_are_cut_off(serving: Serving) -> None:
    """A request that does not arrive does not keep its connection."""
    site = serving(header_timeout=0.5)
    with site.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: local")
        assert _is_cut_off(connection)
    with site.connect() as connection:
        assert _is_cut_off(connection)
    with site.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTT")
        assert _is_cut_off(connection)
    with site.connect() as connection, suppress(ConnectionResetError, BrokenPipeError):
        for number in range(600):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" if number == 0 else b"X: y\r\n")
            time.sleep(0.1)
        pytest.fail("a header of a minute was accepted")
    assert ServeSettings().header_timeout == 5


def _is_cut_off(connection: socket.socket) -> bool:
    """Whether the server closes, after what it still has to say."""
    with suppress(ConnectionResetError):
        read_all(connection)
    return True


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
def test_requests_that_do_not_arrive_keep_no_one_out(serving: Serving, address: str) -> None:
    """300 of them, from the address of the others or another one; long before any of them is cut off."""
    site = serving(header_timeout=PATIENCE)
    with ExitStack() as stack:
        for _ in range(300):
            connection = socket.create_connection((site.host, site.port), PATIENCE, (address, 0))
            stack.enter_context(connection)
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        for _ in range(3):
            assert site.get("/healthz").status == 200


def test_one_address_does_not_take_all_connections(serving: Serving) -> None:
    """Not even with requests that are being answered; another address still gets its answer."""
    site = serving(max_connections_per_address=5)
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(begin_form(site, "127.0.0.2"))
        with socket.create_connection((site.host, site.port), PATIENCE, ("127.0.0.2", 0)) as connection:
            assert read_all(connection).startswith(b"HTTP/1.1 503")
        assert site.get("/healthz").status == 200


class _Endless:
    """A page that is not ready before the test ends."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.ends = threading.Event()

    def routes(self) -> list[Any]:
        return [route("/endless", self._wait, audience=Audience.ANYONE)]

    def _wait(self, _request: Request) -> Response:
        self.begun.release()
        self.ends.wait(PATIENCE)
        return Response("ended")

    @asynccontextmanager
    async def lifespan(self, _served: Served) -> AsyncIterator[None]:
        yield


def test_one_address_does_not_take_all_threads(folder: Path) -> None:
    """Sixty requests of an address wait for each other; one of another address waits for four of them at most."""
    page = _Endless()
    settings = ServeSettings(port=0, timeout=PATIENCE)
    with running(Served((folder,), settings, (page,))) as url, ExitStack() as stack:
        stack.callback(page.ends.set)
        site = Site(url)
        for _ in range(60):
            connection = socket.create_connection((site.host, site.port), PATIENCE, ("127.0.0.2", 0))
            stack.enter_context(connection)
            connection.sendall(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for _ in range(MAX_AT_ONCE):
            assert page.begun.acquire(timeout=PATIENCE)
        assert site.get("/", q="product").status == 200
        assert not page.begun.acquire(blocking=False)


def test_the_connection_that_has_waited_longest_makes_room(serving: Serving) -> None:
    """That is not the oldest: a client that has just got an answer will ask again."""
    site = serving(max_connections_per_address=2, header_timeout=PATIENCE)
    with site.connect() as asking, site.connect() as silent:
        assert _answers(asking)
        with site.connect() as other:
            assert _answers(other)
            assert _answers(asking)
            assert silent.recv(1) == b""


def _answers(connection: socket.socket) -> bool:
    """Whether the server answers a request; the connection stays open."""
    connection.sendall(b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    received = b""
    while b"\r\n\r\n" not in received:
        received += (part := connection.recv(4096))
        assert part, "the server closed the connection"
    return received.startswith(b"HTTP/1.1 200")


def test_a_proxy_may_have_more_connections(serving: Serving) -> None:
    """It is on this machine, and sends what many ask."""
    site = serving(max_connections_per_address=5, token=TOKEN, public_url="https://search.example.org")
    with ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(begin_form(site))
        assert site.get("/healthz").status == 200


def begin_form(site: Site, address: str = "127.0.0.1") -> socket.socket:
    """A request that the server works on until the connection is closed: the end of its body is missing."""
    connection = socket.create_connection((site.host, site.port), PATIENCE, (address, 0))
    connection.sendall(
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\n"
    )
    assert connection.recv(100).startswith(b"HTTP/1.1 100")  # the server reads the body
    return connection


def test_slow_bodies_are_cut_off(serving: Serving) -> None:
    """With an answer that says so."""
    site = serving(timeout=0.5, token=TOKEN)
    assert site.send(
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        b"Content-Length: 100\r\nConnection: close\r\n\r\ntoken="
    ).startswith(b"HTTP/1.1 408")


@pytest.mark.proof
def test_clients_that_do_not_read_are_cut_off(site: Site, serving: Serving) -> None:
    """An answer that is not taken does not wait in memory for ever."""
    whole = len(site.get("/cached", url=f"{SEED}big").text)
    assert whole > 6_000_000  # more than the buffers of the system take
    hasty = serving(timeout=1)
    assert any(_unread_bytes(hasty, wait) < whole for wait in (2, 7, 15, 30, 60))


def _unread_bytes(site: Site, wait: float) -> int:
    """Bytes of an answer that still come after nothing was read for a while."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)  # so that the answer waits at the server
        connection.connect((site.host, site.port))
        connection.sendall(f"GET /cached?url={SEED}big HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(wait)
        with suppress(ConnectionResetError):
            return len(read_all(connection))
    return 0


def test_requests_that_wait_for_others_are_bounded(serving: Serving) -> None:
    """A client that sends requests and reads no answers is cut off before they fill the memory."""
    site = serving()
    requests = b"GET /static/style.css HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000
    with site.connect() as connection, suppress(ConnectionResetError, BrokenPipeError):
        for _ in range(1000):
            connection.sendall(requests)
        pytest.fail("52 MB were accepted")


def test_too_many_connections(serving: Serving) -> None:
    """The next is told to come back; when one ends, there is room."""
    site = serving(max_connections=5)
    opened = [begin_form(site) for _ in range(4)]
    try:
        assert site.get("/").status == 503
    finally:
        for connection in opened:
            connection.close()
    while site.get("/").status != 200:  # until the server has seen that they were closed
        time.sleep(0.05)


def test_the_log_has_no_words(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """What people search for is theirs; and a path cannot write lines of its own."""
    with caplog.at_level(logging.INFO, "periplus.web.access"):
        site.get("/", q="confidential matter")
        site.get("/cached", url="http://confidential.test/")
        site.ask("GET", "/a%0aforged", {})
        while len(caplog.records) < 3:  # a line is written when its answer has been sent
            time.sleep(0.01)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 3
    assert not any("confidential" in line or "\n" in line for line in lines)
    assert "GET / 200" in lines[0]
