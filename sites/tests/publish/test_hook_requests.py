"""Programs report what they changed over HTTP, with a token, to either kind of middleware."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.each_case import each_case
from tests.published.small_site import BASE, Site

from periplus.model import ConfigError
from periplus_sites.publish import Publisher, PublishSettings
from periplus_sites.publish.hook_requests import LARGEST_REPORT
from periplus_sites.publish.settings import HookSettings, SiteSettings
from periplus_sites.publish.trial_server import folder_app

TOKEN = "a-secret-of-this-test"
PATH = "/.periplus/changes"
Ask = Callable[..., tuple[int, Any]]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path, 4)
    site.scan()
    site.next_day()
    return site


@pytest.fixture
def publisher(site: Site) -> Iterator[Publisher]:
    with site.publisher(PublishSettings(SiteSettings(BASE), hooks=HookSettings(TOKEN))) as publisher:
        yield publisher


@pytest.fixture(params=["wsgi", "asgi"])
def ask(request: pytest.FixtureRequest, site: Site, publisher: Publisher) -> Ask:
    """Post a body to the middleware; the status and the answer."""
    if request.param == "wsgi":
        return _wsgi(publisher.wsgi(folder_app([site.root])))
    return _asgi(publisher.asgi(_missing))


async def _missing(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})


def _wsgi(app: Any) -> Ask:
    def ask(body: bytes, token: str = TOKEN, method: str = "POST", path: str = PATH) -> tuple[int, Any]:
        heads: list[str] = []
        environ = {
            "REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "CONTENT_LENGTH": str(len(body)),
            "HTTP_AUTHORIZATION": f"Bearer {token}", "wsgi.input": io.BytesIO(body),
        }  # fmt: skip
        answer = b"".join(app(environ, lambda status, _headers, *_: heads.append(status)))
        return int(heads[0].split()[0]), json.loads(answer) if answer.startswith(b"{") else answer

    return ask


def _asgi(app: Any) -> Ask:
    def ask(body: bytes, token: str = TOKEN, method: str = "POST", path: str = PATH) -> tuple[int, Any]:
        pieces = [body[: len(body) // 2], body[len(body) // 2 :]]
        sent: list[Any] = []

        async def receive() -> Any:
            piece = pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"authorization", f"Bearer {token}".encode()), (b"content-length", str(len(body)).encode())]
        scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
        asyncio.run(app(scope, receive, send))
        return sent[0]["status"], json.loads(sent[1]["body"])

    return ask


def report(**parts: object) -> bytes:
    return json.dumps(parts).encode()


def test_what_is_reported_is_in_the_ledger_and_then_in_the_files(ask: Ask, site: Site, publisher: Publisher) -> None:
    told = report(
        changed=["/page0.html", {"url": "/new.html", "title": "A new page"}],
        removed=["/page1.html", "/unknown.html"],
        moved=[["/page2.html", "/page9.html"]],
    )
    assert ask(told) == (200, {"changed": 2, "removed": 1, "moved": 1})
    events = publisher.ledger.db.execute("select url, kind, title from events where at = ?", (site.now,)).fetchall()
    assert [(url.removeprefix(BASE), kind, title) for url, kind, title in events] == [
        ("page0.html", "changed", "Page 0"),
        ("new.html", "new", "A new page"),
        ("page1.html", "removed", "Page 1"),
        ("page2.html", "removed", "Page 2"),
        ("page9.html", "new", "Page 2"),
    ]
    publisher.write()
    sitemap = (site.out / "sitemap.xml").read_text()
    assert "new.html" in sitemap
    assert "page1.html" not in sitemap


@each_case(
    ("body", "options", "status"),
    [
        (report(changed=["/page0.html"]), {"token": "not-that-secret-one"}, 401),
        (report(changed=["/page0.html"]), {"token": ""}, 401),
        (b"", {"method": "GET"}, 405),
        (b"not json", {}, 400),
        (report(chnaged=["/page0.html"]), {}, 400),
        (report(changed=["/page0.html", "https://elsewhere.example/"]), {}, 400),
        (report(moved=[["/only-one"]]), {}, 400),
        (b"[" * 100_000, {}, 400),
        (b" " * (LARGEST_REPORT + 1), {}, 413),
        (report(removed=["/x"] * 10_001), {}, 413),
    ],
)
def test_what_is_wrong_changes_nothing(
    ask: Ask, publisher: Publisher, body: bytes, options: dict[str, str], status: int
) -> None:
    before = publisher.ledger.db.execute("select count(*) from events").fetchone()
    answered, told = ask(body, **options)
    assert (answered, set(told)) == (status, {"error"})
    assert publisher.ledger.db.execute("select count(*) from events").fetchone() == before


def test_without_a_token_the_application_is_asked(site: Site) -> None:
    with site.publisher() as publisher:
        assert _wsgi(publisher.wsgi(folder_app([site.root])))(b"{}")[0] == 405


def test_a_token_that_can_be_guessed_is_refused() -> None:
    with pytest.raises(ConfigError, match="16 are the least"):
        HookSettings("short")
