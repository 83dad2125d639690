"""The middleware in front of applications: Starlette under uvicorn, Flask and Django under gunicorn, and by call."""

from __future__ import annotations

import asyncio
import gzip
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from socket import socket
from typing import Any

import pytest
from tests.published.small_site import Site

from periplus.formats.compression_dictionary import available, read_dcz
from periplus_sites.ledger import Ledger, version_of
from periplus_sites.publish import FolderInventory, Publisher, PublishSettings
from periplus_sites.publish.hooks import observe
from periplus_sites.publish.settings import RobotsSettings, ServingSettings, SiteSettings
from periplus_sites.publish.trial_server import folder_app

APPLICATION = """
from pathlib import Path
from periplus.publish import Publisher, PublishSettings
from periplus_sites.publish.settings import RobotsSettings, ServingSettings, SiteSettings
settings = PublishSettings(
    SiteSettings("https://www.example.org/"), robots=RobotsSettings(manage=True),
    serving=ServingSettings(observe=1.0, trust_for=1e12))
publisher = Publisher({out!r}, settings)
pages = Path({root!r})

def page(name):
    return (pages / name).read_text()
"""
STARLETTE = """
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route

async def show(request):
    return HTMLResponse(page(request.path_params["name"]))

async def robots(request):
    return PlainTextResponse("User-agent: *\\nDisallow: /private\\n")

app = publisher.asgi(Starlette(routes=[Route("/robots.txt", robots), Route("/{name}", show)]))
"""
FLASK = """
from flask import Flask, Response
flask = Flask(__name__)

@flask.get("/robots.txt")
def robots():
    return Response("User-agent: *\\nDisallow: /private\\n", mimetype="text/plain")

@flask.get("/<name>")
def show(name):
    return page(name)

app = publisher.wsgi(flask)
"""
DJANGO = """
from django.conf import settings as django_settings
django_settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF="served_site", SECRET_KEY="of a test", MIDDLEWARE=[
    "django.middleware.common.CommonMiddleware", "django.middleware.security.SecurityMiddleware"])
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path

def robots(request):
    return HttpResponse("User-agent: *\\nDisallow: /private\\n", content_type="text/plain")

def show(request, name):
    return HttpResponse(page(name))

urlpatterns = [path("robots.txt", robots), path("<name>", show)]
app = publisher.wsgi(get_wsgi_application())
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path, 30)
    site.scan()
    return site


@contextmanager
def running(folder: Path, source: str, command: list[str]) -> Iterator[int]:
    """A server of the application on loopback."""
    (folder / "served_site.py").write_text(source)
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    path = os.pathsep.join(["src", str(folder), *sys.path])
    with subprocess.Popen(
        [sys.executable, "-m", *(part.format(port=port) for part in command)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            _wait(port)
            yield port
        finally:
            server.terminate()


def _wait(port: int) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        try:
            get(port, "/page1.html")
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the server did not start")


def get(port: int, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, headers={key.replace("_", "-"): value for key, value in headers.items()})
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


SERVERS = {
    "starlette": (STARLETTE, ["uvicorn", "served_site:app", "--port", "{port}", "--log-level", "error"]),
    "flask": (FLASK, ["gunicorn", "served_site:app", "-b", "127.0.0.1:{port}", "--workers", "1", "--threads", "2"]),
    "django": (DJANGO, ["gunicorn", "served_site:app", "-b", "127.0.0.1:{port}", "--workers", "2"]),
}


@pytest.mark.parametrize("kind", ["starlette", "flask", pytest.param("django", marks=pytest.mark.slow)])
def test_an_application_behind_a_real_server(site: Site, kind: str) -> None:
    app, command = SERVERS[kind]
    source = APPLICATION.format(out=str(site.out), root=str(site.root)) + app
    agent = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    with running(site.out.parent, source, command) as port:
        answer, body = get(port, "/sitemap.xml", User_Agent=agent)
        assert (answer.status, body) == (200, (site.out / "sitemap.xml").read_bytes())
        assert answer.headers["Content-Type"] == "application/xml"
        etag = answer.headers["ETag"]
        assert get(port, "/sitemap.xml", If_None_Match=etag)[0].status == 304
        part, piece = get(port, "/sitemap.xml", Range="bytes=10-19")
        assert (part.status, piece) == (206, body[10:20])

        answer, body = get(port, "/page3.html", User_Agent=agent)
        assert body == site.path(3).read_bytes()
        assert answer.headers["Last-Modified"] == "Tue, 14 Nov 2023 23:03:20 GMT"
        etag = answer.headers["ETag"]
        assert etag.startswith('W/"')
        assert get(port, "/page3.html", If_None_Match=etag)[0].status == 304
        assert get(port, "/page3.html", If_None_Match=etag, Cookie="session=1")[0].status == 200
        assert get(port, "/page3.html", If_None_Match='W/"other"')[0].status == 200

        answer, body = get(port, "/robots.txt")
        assert body.startswith(b"User-agent: *\nDisallow: /private\n\n# begin")
        assert b"Sitemap: https://www.example.org/sitemap.xml\n" in body
        assert int(answer.headers["Content-Length"]) == len(body)

        site.edit(7)
        get(port, "/page7.html")
        ledger = Ledger(site.out / ".periplus-publish" / "ledger.sqlite")
        until = time.monotonic() + 300
        sql = "select kind from events where url like '%page7.html' order by id desc limit 1"
        while ledger.db.execute(sql).fetchone()[0] != "changed" and time.monotonic() < until:
            time.sleep(0.05)
        assert ledger.db.execute(sql).fetchone()[0] == "changed"
    until = time.monotonic() + 300
    visits = "select path, status, hits from visits where agent = 'Googlebot' order by path"
    while not ledger.db.execute(visits).fetchall() and time.monotonic() < until:
        time.sleep(0.05)
    assert ledger.db.execute(visits).fetchall() == [("/page3.html", 200, 1), ("/sitemap.xml", 200, 1)]
    ledger.close()


Answered = tuple[str, dict[str, str], bytes]


def call(app: Any, path: str, **environ: str) -> Answered:
    """Ask a WSGI application by call."""
    heads: list[tuple[str, dict[str, str]]] = []

    def start(status: str, headers: list[tuple[str, str]], *_: object) -> Callable[[bytes], None]:
        heads.append((status, dict(headers)))
        return lambda _: None

    pieces = app({"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "", **environ}, start)
    body = b"".join(pieces)
    if hasattr(pieces, "close"):
        pieces.close()
    return (*heads[-1], body)


def settings(**serving: Any) -> PublishSettings:
    return PublishSettings(
        SiteSettings("https://www.example.org/"),
        robots=RobotsSettings(manage=True),
        serving=ServingSettings(**serving),
    )


def asgi_of(folder: Path) -> Any:
    """An ASGI application that answers with files in two pieces."""

    async def app(scope: Any, _: Any, send: Any) -> None:
        body = (folder / scope["path"].lstrip("/")).read_bytes()
        fields = [(b"content-type", b"text/html"), (b"vary", b"Accept")]
        await send({"type": "http.response.start", "status": 200, "headers": fields})
        await send({"type": "http.response.body", "body": body[:100], "more_body": True})
        await send({"type": "http.response.body", "body": body[100:]})

    return app


def call_asgi(app: Any, path: str, **environ: str) -> Answered:
    """Ask an ASGI application by call."""
    sent: list[Any] = []
    headers = [(key[5:].replace("_", "-").lower().encode(), value.encode()) for key, value in environ.items()]

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        await app({"type": "http", "method": "GET", "path": path, "headers": headers}, None, send)

    asyncio.run(ask())
    fields = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
    names = {"etag": "ETag", "last-modified": "Last-Modified"}
    return (
        {200: "200 OK", 304: "304 Not Modified"}[sent[0]["status"]],
        {names.get(key, key): value for key, value in fields.items()},
        b"".join(one["body"] for one in sent[1:]),
    )


@pytest.mark.parametrize("kind", ["wsgi", "asgi"])
def test_a_reader_with_the_version_of_the_ledger_is_answered_304(site: Site, kind: str) -> None:
    """The application is asked, and what it answers is compared."""
    with site.publisher(settings()) as publisher:
        if kind == "wsgi":
            app: Any = publisher.wsgi(folder_app([site.root]))
            ask: Callable[..., Answered] = call
        else:
            app, ask = publisher.asgi(asgi_of(site.root)), call_asgi
        for number in range(30):
            path = f"/page{number}.html"
            _, headers, _ = ask(app, path)
            for field, name in (("HTTP_IF_NONE_MATCH", "ETag"), ("HTTP_IF_MODIFIED_SINCE", "Last-Modified")):
                status, head, body = ask(app, path, **{field: headers[name]})
                assert (status, body) == ("304 Not Modified", b"")
                assert (head["ETag"], head["Last-Modified"]) == (headers["ETag"], headers["Last-Modified"])
                assert not {"content-type", "Content-Type", "Content-Length"} & head.keys()
        etag = ask(app, "/page3.html")[1]["ETag"]
        html = site.path(3).read_text()
        site.path(3).write_text(html.replace("<body>", "<body><!-- built again -->"))
        assert ask(app, "/page3.html", HTTP_IF_NONE_MATCH=etag)[0] == "304 Not Modified"
        site.path(3).write_text(html.replace("<main>", "<main><a href='/new'>new</a>"))
        status, head, body = ask(app, "/page3.html", HTTP_IF_NONE_MATCH=etag)
        assert (status, body) == ("200 OK", site.path(3).read_bytes())
        assert "ETag" not in head  # not of this content
        assert ask(app, "/page4.html", HTTP_IF_NONE_MATCH='W/"other"')[0] == "200 OK"
        site.path(5).write_bytes(b"<p>" + b"word " * 1_000_000)
        etag = ask(app, "/page5.html")[1]["ETag"]
        _, _, body = ask(app, "/page5.html", HTTP_IF_NONE_MATCH=etag)
        assert body == site.path(5).read_bytes()


@pytest.mark.parametrize("kind", ["wsgi", "asgi"])
def test_a_reader_with_a_version_is_sent_what_is_different(site: Site, kind: str) -> None:
    """Pages of ten days, each a few words different from the last, with the last as a dictionary."""
    with site.publisher(settings(dictionaries=True, observe=0.0)) as publisher:
        if kind == "wsgi":
            app: Any = publisher.wsgi(folder_app([site.root]))
            ask: Callable[..., Answered] = call
        else:
            app, ask = publisher.asgi(asgi_of(site.root)), call_asgi
        stored = b""
        for day in range(10):
            news = f"<p>On day {'abcdefghij'[day]} the harbour was open again, and ships left.</p>"
            html = site.html(3).replace("</main>", f"{news}</main>")
            site.path(3).write_text(html)
            offer = {
                "HTTP_AVAILABLE_DICTIONARY": available(sha256(stored).digest()),
                "HTTP_ACCEPT_ENCODING": "gzip, dcz",
            }
            _, plain, body = ask(app, "/page3.html")
            assert (body.decode(), lower(plain)["use-as-dictionary"]) == (html, 'match="/page3.html"')
            _, head, coded = ask(app, "/page3.html", **offer)
            fields = lower(head)
            assert "accept-encoding, available-dictionary" in fields["vary"]
            assert int(fields["content-length"]) == len(coded)
            if day:
                assert fields["content-encoding"] == "dcz"
                assert len(coded) < 200
                assert read_dcz(coded, stored, 1 << 20) == html.encode()
            else:
                assert coded.decode() == html  # no version that is offered is known
            for withheld in ({"HTTP_ACCEPT_ENCODING": "gzip, dcz;q=0"}, {"HTTP_COOKIE": "session=1"}):
                assert ask(app, "/page3.html", **{**offer, **withheld})[2].decode() == html
            stored = body
            wait_for_version(site, stored)
            etag = plain["ETag"]
        assert ask(app, "/page3.html", HTTP_IF_NONE_MATCH=etag)[0] == "200 OK"  # no scan has seen this version
        kept = publisher.ledger.db.execute("select count(*) from versions").fetchone()[0]
        assert kept == 2


def lower(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def wait_for_version(site: Site, body: bytes) -> None:
    """The thread of the middleware writes versions."""
    ledger = Ledger(site.out / ".periplus-publish" / "ledger.sqlite")
    until = time.monotonic() + 30
    while version_of(ledger, "https://www.example.org/page3.html", sha256(body).digest()) is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    ledger.close()


def test_no_version_is_kept_by_default(site: Site) -> None:
    with site.publisher(settings(observe=0.0)) as publisher:
        _, headers, _ = call(publisher.wsgi(folder_app([site.root])), "/page3.html")
    assert "Use-As-Dictionary" not in headers


def test_trust_ends(site: Site) -> None:
    with site.publisher(settings(trust_for=60.0)) as publisher:
        app = publisher.wsgi(folder_app([site.root]))
        etag = call(app, "/page3.html")[1]["ETag"]
        assert call(app, "/page3.html", HTTP_IF_NONE_MATCH=etag)[0] == "304 Not Modified"
        since = "Wed, 15 Nov 2023 00:00:00 GMT"
        assert call(app, "/page3.html", HTTP_IF_MODIFIED_SINCE=since)[0] == "304 Not Modified"
        publisher.changed("/page3.html")  # seen at once by other connections
        assert call(app, "/page3.html", HTTP_IF_MODIFIED_SINCE=since)[0] == "200 OK"
        site.path(4).write_text("<p>Something else, which no scan has seen.</p>")
        assert call(app, "/page4.html", HTTP_IF_MODIFIED_SINCE=since)[0] == "304 Not Modified"
        site.now += 61
        assert call(app, "/page4.html", HTTP_IF_MODIFIED_SINCE=since)[0] == "200 OK"


def test_visits_of_crawlers_are_verified_and_needless_ones_counted(site: Site) -> None:
    """By minute: a first visit, two more, one after a change; a false claim; a browser does not count."""
    ranges = site.out / ".periplus-publish" / "ranges"
    ranges.mkdir()
    (ranges / "googlebot.json").write_text('{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}')
    claim = {"HTTP_USER_AGENT": "Mozilla/5.0 (compatible; Googlebot/2.1)"}
    google, other = claim | {"REMOTE_ADDR": "192.0.2.7"}, claim | {"REMOTE_ADDR": "198.51.100.1"}
    with site.publisher(settings()) as publisher:
        app = publisher.wsgi(folder_app([site.root]))
        call(app, "/page3.html", **google)
        call(app, "/page3.html", **other)
        call(app, "/page3.html", HTTP_USER_AGENT="Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0")
    site.now += 600
    with site.publisher(settings()) as publisher:
        app = publisher.wsgi(folder_app([site.root]))
        call(app, "/page3.html", **google)
        call(app, "/page4.html", **google)
        call(app, "/page4.html", **google)
    site.now += 600
    with site.publisher(settings()) as publisher:
        publisher.changed("/page3.html")
        site.now += 60
        call(publisher.wsgi(folder_app([site.root])), "/page3.html", **google)
    with site.publisher() as publisher:
        (crawler,) = publisher.status().crawlers
    assert (crawler.name, crawler.visits, crawler.verified) == ("Googlebot", 6, 5)
    assert crawler.needless == 2


@pytest.mark.parametrize("kind", ["Set-Cookie", "Cache-Control", "ETag"])
def test_answers_for_one_visitor_or_with_validators_pass_as_they_are(site: Site, kind: str) -> None:
    added = {"Set-Cookie": "a=b", "Cache-Control": "private", "ETag": '"mine"'}[kind]

    def app(_: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        start("200 OK", [("Content-Type", "text/html"), (kind, added)])
        return [b"<p>another text, which would count as a change of this page</p>"]

    with site.publisher(settings(observe=1.0)) as publisher:
        _, headers, _ = call(publisher.wsgi(app), "/page3.html")
    assert headers == {"Content-Type": "text/html", kind: added}
    with site.publisher() as publisher:
        events = publisher.ledger.db.execute("select count(*) from events where kind = 'changed'").fetchone()[0]
    assert events == (1 if kind == "ETag" else 0)


def test_an_observed_page_without_a_change_moves_no_date(site: Site) -> None:
    site.next_day()
    with site.publisher(settings(observe=1.0)) as publisher:
        app = publisher.wsgi(folder_app([site.root]))
        site.template = "fancy"
        site.write(3)
        call(app, "/page3.html")
    with site.publisher() as publisher:
        row = publisher.ledger.row("https://www.example.org/page3.html")
        assert row is not None
        assert row.lastmod == 1_700_003_000.0


def test_a_page_older_than_the_last_scan_changes_nothing(site: Site) -> None:
    """It was answered before the site was built again, and is looked at after the scan."""
    before, answered_at = site.path(3).read_bytes(), site.now
    site.next_day()
    site.edit(3)
    site.scan()
    url = "https://www.example.org/page3.html"
    with site.publisher() as publisher:
        row = publisher.ledger.row(url)
        assert observe(publisher.ledger, url, before, answered_at) == "outdated"
        assert publisher.ledger.row(url) == row
        assert observe(publisher.ledger, url, before, site.now + 1) == "major"


@pytest.mark.parametrize("kind", ["wsgi", "asgi"])
def test_a_page_is_as_old_as_its_request(site: Site, kind: str) -> None:
    """It is on its way, slowly, while the site is built again and scanned: it moves no date."""
    before = site.path(3).read_bytes() + b"<!-- served -->"

    def rebuild() -> None:
        site.next_day()
        site.edit(3)
        site.scan()
        site.now += 60.0

    def slow(_: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        start("200 OK", [("Content-Type", "text/html")])
        yield before[:100]
        rebuild()
        yield before[100:]

    async def slowly(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": before[:100], "more_body": True})
        rebuild()
        await send({"type": "http.response.body", "body": before[100:]})

    with site.publisher(settings(observe=1.0)) as publisher:
        if kind == "wsgi":
            call(publisher.wsgi(slow), "/page3.html")
        else:
            asyncio.run(_ask(publisher.asgi(slowly), "/page3.html"))
    with site.publisher() as publisher:
        row = publisher.ledger.row("https://www.example.org/page3.html")
    assert row is not None
    assert row.lastmod == site.now - 60.0


def test_new_pages_are_added_only_on_request(site: Site) -> None:
    (site.root / "late.html").write_text(site.html(1).replace("Page 1", "Late"))
    for discover, known in ((False, False), (True, True)):
        with site.publisher(settings(observe=1.0, discover=discover)) as publisher:
            call(publisher.wsgi(folder_app([site.root])), "/late.html")
        with site.publisher() as publisher:
            assert (publisher.ledger.row("https://www.example.org/late.html") is not None) == known


def test_a_broken_ledger_never_reaches_the_visitor(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    publisher = Publisher(site.out, settings())
    wsgi, asgi = publisher.wsgi(folder_app([site.root])), publisher.asgi(_plain)
    publisher.close()
    for file in (site.out / ".periplus-publish").glob("ledger*"):
        file.write_bytes(b"this is not a database, whatever it looks like")
    with caplog.at_level(logging.ERROR, "periplus.publish"):
        for _ in range(3):
            status, headers, body = call(wsgi, "/page3.html")
            assert (status, body) == ("200 OK", site.path(3).read_bytes())
            assert "ETag" not in headers
        assert asyncio.run(_ask(asgi, "/page3.html")) == [200, b"plain"]
    assert len(caplog.records) == 2  # once a minute for each of the two


async def _plain(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    await send({"type": "http.response.body", "body": b"plain"})


async def _ask(app: Any, path: str) -> list[Any]:
    found: list[Any] = []

    async def send(message: Any) -> None:
        found.append(message.get("status", message.get("body")))

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    await app({"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []}, receive, send)
    return found


def test_errors_of_the_application_stay_its_own(site: Site) -> None:
    def app(_: dict[str, Any], __: Callable[..., Any]) -> Iterable[bytes]:
        raise KeyError("the application's own")

    with site.publisher(settings()) as publisher, pytest.raises(KeyError, match="own"):
        call(publisher.wsgi(app), "/page3.html")


def test_sealed_files_are_sent_as_files(site: Site) -> None:
    chosen = site.settings(layout="log", urls_per_file=10)
    site.scan(chosen)
    with site.publisher(chosen) as publisher:
        app = publisher.wsgi(folder_app([site.root]))
        name = next(name for name in publisher.status().files if name.startswith("sitemap-b"))
        status, headers, body = call(app, f"/{name}")
    assert (status, headers["Content-Type"]) == ("200 OK", "application/gzip")
    assert headers["Cache-Control"] == "max-age=86400, immutable"
    assert gzip.decompress(body).startswith(b"<?xml")


def test_a_missing_robots_txt_is_our_block(site: Site) -> None:
    with site.publisher(settings()) as publisher:
        publisher.scan([FolderInventory(site.root, publisher.base_url, skip=publisher.is_own)])
        status, _, body = call(publisher.wsgi(folder_app([site.root])), "/robots.txt")
    assert status == "200 OK"
    assert body.startswith(b"# begin")
