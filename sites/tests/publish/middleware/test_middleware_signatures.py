"""Signed requests at the middleware: what the application and the ledger learn, and what the client does not."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from periplus.apps.identity.verifier import DirectoryAnswer
from periplus.formats.web_bot_auth import RequestSigning, SignatureVerdict, new_key, write_directory
from periplus.model import Url
from periplus_sites.publish import Publisher, PublishSettings
from periplus_sites.publish.middleware.live import MOST_DIRECTORIES_ASKED, SIGNATURE
from periplus_sites.publish.settings import SignatureSettings, SiteSettings

pytest.importorskip("cryptography", reason="signatures need the extra `identity`")

BASE = "https://www.example.org/"
URL = Url(f"{BASE}page?x=1")
AGENT = "https://crawl.googlebot.com"
KEY = new_key()
NAME = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
Ask = Callable[[dict[str, str]], tuple[int, dict[str, str], SignatureVerdict | None]]
"""Sends header fields for the page; the status and fields of the answer, and the verdict that the application saw."""


def signed(url: Url = URL, agent: str = AGENT) -> dict[str, str]:
    return {
        "Host": "www.example.org",
        "User-Agent": NAME,
        **dict(RequestSigning(KEY, agent).fields("GET", url, time.time())),
    }


@pytest.fixture
def publisher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    def fetch(url: str) -> DirectoryAnswer:
        assert url.startswith(AGENT)
        return DirectoryAnswer(200, (), write_directory([KEY]))

    monkeypatch.setattr("periplus.apps.identity.verifier.fetch_directory", fetch)
    settings = PublishSettings(SiteSettings(BASE), signatures=SignatureSettings(verify=True, once=True))
    with Publisher(tmp_path / "published", settings) as made:
        yield made


def asgi(publisher: Publisher) -> Ask:
    seen: list[SignatureVerdict | None] = []

    async def application(scope: Any, _receive: Any, send: Any) -> None:
        seen.append(scope.get(SIGNATURE))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"page"})

    middleware = publisher.asgi(application)

    def ask(fields: dict[str, str]) -> tuple[int, dict[str, str], SignatureVerdict | None]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": "GET", "path": "/page", "raw_path": b"/page", "query_string": b"x=1",
            "headers": [(name.lower().encode(), value.encode()) for name, value in fields.items()],
            "client": ("192.0.2.1", 1),
        }  # fmt: skip
        asyncio.run(middleware(scope, None, send))  # type: ignore[arg-type]
        answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], answered, seen.pop()

    return ask


def wsgi(publisher: Publisher) -> Ask:
    seen: list[SignatureVerdict | None] = []

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        seen.append(environ.get(SIGNATURE))
        start_response("200 OK", [("content-type", "text/html")])
        return [b"page"]

    middleware = publisher.wsgi(application)

    def ask(fields: dict[str, str]) -> tuple[int, dict[str, str], SignatureVerdict | None]:
        heads: list[Any] = []
        environ = {
            "REQUEST_METHOD": "GET", "PATH_INFO": "/page", "QUERY_STRING": "x=1", "REMOTE_ADDR": "192.0.2.1",
            **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in fields.items()},
        }  # fmt: skip
        body = middleware(environ, lambda *head: heads.append(head))
        b"".join(body)
        body.close()  # type: ignore[attr-defined]
        return int(heads[0][0][:3]), dict(heads[0][1]), seen.pop()

    return ask


def until_known(ask: Ask, agent: str = AGENT) -> None:
    """Ask until the keys are there: the first request does not wait for them."""
    _, _, first = ask(signed(agent=agent))
    assert first is not None
    assert (first.outcome, first.reason) == ("unverified", "key-pending")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        _, _, verdict = ask(signed(agent=agent))
        if verdict is not None and verdict.outcome == "verified":
            return
        time.sleep(0.01)
    raise AssertionError("the keys were not learnt")


@pytest.mark.proof
@pytest.mark.parametrize("kind", [asgi, wsgi])
def test_verdicts_reach_the_application_and_the_ledger(publisher: Publisher, kind: Callable[[Publisher], Ask]) -> None:
    """A client that is not believed gets the same answer as any other."""
    ask = kind(publisher)
    until_known(ask)
    time.sleep(1.1)  # signatures without a nonce are of a second
    good = signed()
    status, answered, verdict = ask(good)
    assert verdict is not None
    assert (verdict.outcome, verdict.keyid) == ("verified", KEY.thumbprint)
    assert verdict.agent == f"{AGENT}/.well-known/http-message-signatures-directory"
    for fields, reason in (
        (good, "replayed"),
        (signed(Url(f"{BASE}other")), "bad-signature"),
        ({**signed(), "Host": "other.example.org"}, "other-host"),
        ({**signed(), "Signature": "!"}, "unreadable-signature"),
    ):
        again, said, refused = ask(fields)
        assert (again, said) == (status, answered)
        assert refused is not None
        assert (refused.reason, refused.agent) == (reason, "")
    assert ask({"Host": "www.example.org"})[2] is None
    publisher.close()
    facts = Publisher(publisher.folder, publisher.settings)
    found = {(each.agent, each.outcome, each.reason) for each in facts.status().signed}
    [crawler] = facts.status().crawlers
    facts.close()
    assert (verdict.agent, "verified", "") in found
    assert ("", "invalid", "bad-signature") in found
    assert crawler.name == "Googlebot"
    assert crawler.verified >= 2


def test_keys_elsewhere_on_its_host_do_not_verify_a_crawler(publisher: Publisher) -> None:
    until_known(asgi(publisher), f"{AGENT}/web/2026/https://a.test/jwks.json")
    publisher.close()
    facts = Publisher(publisher.folder, publisher.settings)
    [crawler] = facts.status().crawlers
    facts.close()
    assert (crawler.name, crawler.verified) == ("Googlebot", 0)


def test_a_slow_domain_does_not_keep_other_keys_from_being_learnt(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, is_learnt, slow = threading.Event(), threading.Event(), []

    def fetch(url: str) -> DirectoryAnswer:
        if url.startswith(AGENT):
            is_learnt.set()
        else:
            slow.append(url)
            release.wait(10)
        return DirectoryAnswer(failure="directory-unreachable")

    monkeypatch.setattr("periplus.apps.identity.verifier.fetch_directory", fetch)
    ask = asgi(publisher)
    for number in range(2 * MOST_DIRECTORIES_ASKED):
        ask(signed(agent=f"https://host{number}.slow.example/jwks.json"))
    ask(signed())
    release.set()
    assert is_learnt.wait(10)
    assert len(slow) <= 2


def test_nothing_is_verified_unless_asked_for(tmp_path: Path) -> None:
    with Publisher(tmp_path / "published", PublishSettings(SiteSettings(BASE))) as publisher:
        status, _, verdict = asgi(publisher)(signed())
    assert (status, verdict) == (200, None)
