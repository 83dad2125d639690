"""Webhooks to a real receiver on loopback: signatures, retries, kills between queueing and sending, addresses."""

from __future__ import annotations

import hmac
import json
import os
import signal
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.lab.scripted_web import ScriptedWeb
from tests.library.small_web import SEED, shop

import periplus
from periplus.cli.app import app
from periplus.collection.config.settings import Config
from periplus.engine.part import Setup
from periplus.parts.webhooks import delivery
from periplus.parts.webhooks.outbox import MAX_ATTEMPTS, MAX_WAITING, Outbox
from periplus.parts.webhooks.settings import WebhookSettings
from periplus.store.layout import Layout

SECRET = b"a secret that nobody knows"


class Receiver:
    """Takes messages. `answers` are the statuses of the next requests; then 204."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.answers: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                status = receiver.answers.pop(0) if receiver.answers else 204
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}/hook"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, _, body in self.got]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_bytes(b"whsec_" + b64encode(SECRET) + b"\n")
    return path


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    with shop(3) as server:
        yield server


def told(receiver: Receiver, secret_file: Path, *, is_open: bool = True) -> dict[str, object]:
    """Settings of a crawl that tells a receiver on loopback."""
    found: dict[str, object] = {"webhooks.urls": [receiver.url], "webhooks.secret_file": str(secret_file)}
    return found | ({"wire.allow_private": [receiver.host]} if is_open else {})


def settled(web: ScriptedWeb) -> dict[str, Any]:
    return {**web.settings, "sitemaps.follow": False, "churn.instant": 0.0}


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """The site is behind a proxy, the receiver is not."""
    through = delivery.post_of

    def post_of(setup: Setup) -> delivery.Post:
        assert isinstance(setup.settings, Config)
        return through(replace(setup, settings=setup.settings.with_options({"wire.proxy": ""})))

    monkeypatch.setattr(delivery, "post_of", post_of)


def is_signed(fields: dict[str, str], body: bytes) -> bool:
    content = f"{fields['webhook-id']}.{fields['webhook-timestamp']}.".encode() + body
    version, _, signature = fields["webhook-signature"].partition(",")
    return version == "v1" and b64decode(signature) == hmac.digest(SECRET, content, "sha256")


def sent(outbox: Outbox, settings: WebhookSettings, receiver: Receiver, patience: float = 0.0) -> int:
    """Deliver with a plain wire whose guard opens the receiver."""
    config = Config().with_options({"wire.allow_private": [receiver.host]})
    post = delivery.post_of(Setup(config, Layout(Path())))
    return delivery.deliver(outbox, settings, post, patience=patience, sleep=lambda _seconds: None)


def test_messages_are_signed_and_removed(receiver: Receiver, secret_file: Path, tmp_path: Path) -> None:
    """Each with its id, time and signature; one that was accepted is gone from the queue."""
    outbox = Outbox(tmp_path / "webhooks")
    outbox.add(receiver.url, '{"type":"x"}', 1e9)
    settings = WebhookSettings((receiver.url,), str(secret_file))
    assert sent(outbox, settings, receiver) == 1
    [(path, fields, body)] = receiver.got
    assert path == "/hook"
    assert fields["content-type"] == "application/json"
    assert is_signed(fields, body)
    assert list((tmp_path / "webhooks").iterdir()) == []
    outbox.add("http://nobody.test/", "{}", 1e9)  # no longer among the receivers
    assert sent(outbox, settings, receiver) == 0
    assert outbox.due(2e9) == []


def test_failures_are_tried_again_later(receiver: Receiver, secret_file: Path, tmp_path: Path) -> None:
    """With the same id, after longer and longer pauses, a bounded number of times; redirects are not followed."""
    outbox = Outbox(tmp_path / "webhooks")
    outbox.add(receiver.url, "{}", 1e9)
    settings = WebhookSettings((receiver.url,), str(secret_file))
    receiver.answers = [503, 307, 302]
    for _ in range(2):
        assert sent(outbox, settings, receiver) == 0
        [file] = (tmp_path / "webhooks").iterdir()
        file.write_text(json.dumps({**json.loads(file.read_text()), "due_at": 0.0}))
    assert [path for path, _, _ in receiver.got] == ["/hook"] * 2
    assert len({fields["webhook-id"] for _, fields, _ in receiver.got}) == 1
    [message] = outbox.due(0.0)
    times = []
    for _ in range(MAX_ATTEMPTS - message.attempts - 1):
        times.append(outbox.postpone(message, 0.0) or 0.0)
        [message] = outbox.due(times[-1])
    assert times == sorted(times)
    assert outbox.postpone(message, 0.0) is None
    assert outbox.due(1e12) == []


def test_queue_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest message makes room for a new one."""
    assert MAX_WAITING >= 100
    monkeypatch.setattr("periplus.parts.webhooks.outbox.MAX_WAITING", 3)
    outbox = Outbox(tmp_path / "webhooks")
    for number in range(5):
        outbox.add("http://a.test/", str(number), float(number))
    assert [message.body for message in outbox.due(10.0)] == ["2", "3", "4"]


def test_crawl_refresh_and_end(receiver: Receiver, secret_file: Path, web: ScriptedWeb, tmp_path: Path) -> None:
    """A crawl that ends is reported, and a refresh that found something; the secret is nowhere in the collection."""
    folder = tmp_path / "c"
    settings = settled(web) | told(receiver, secret_file)
    periplus.crawl(SEED, out=folder, settings=settings).run()
    [ended] = receiver.events()
    assert (ended["type"], ended["data"]["ended"], ended["data"]["pages"]) == ("crawl.ended", "complete", 5)
    web.said[f"{SEED}product/0"] = "<title>Product 0</title><p>It is an entirely different thing now, made of gold."
    docs = periplus.open(folder)
    docs.refresh()
    assert receiver.events()[-1]["type"] == "pages.changed"
    assert receiver.events()[-1]["data"]["changed_urls"] == [f"{SEED}product/0"]
    docs.refresh()
    assert len(receiver.got) == 2
    for path in folder.rglob("*"):
        if path.is_file():
            assert SECRET not in path.read_bytes()
            assert b64encode(SECRET) not in path.read_bytes()


def test_private_address_must_be_allowed(
    receiver: Receiver, secret_file: Path, web: ScriptedWeb, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A receiver in a private network is not asked unless a person allows it; the message waits, without retries."""
    settings = settled(web) | told(receiver, secret_file, is_open=False)
    periplus.crawl(SEED, out=tmp_path / "c", settings=settings).run()
    assert receiver.got == []
    assert len(list((tmp_path / "c/webhooks").iterdir())) == 1
    [said] = [line for line in caplog.messages if "webhook" in line]
    assert said.endswith(f"private-address; --allow-private {receiver.host} opens it")


@pytest.mark.proof
def test_killed_between_queueing_and_sending(
    receiver: Receiver, secret_file: Path, web: ScriptedWeb, tmp_path: Path
) -> None:
    """The message is in the collection, and the next run sends it."""
    folder = tmp_path / "c"
    settings = settled(web) | told(receiver, secret_file)
    script = (
        "import json, os, signal, sys, periplus\n"
        "from periplus.parts.webhooks import delivery\n"
        "delivery.deliver = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "periplus.crawl(sys.argv[1], out=sys.argv[2], settings=json.loads(sys.argv[3])).run()\n"
    )
    command = [sys.executable, "-c", script, SEED, str(folder), json.dumps(settings)]
    killed = subprocess.run(command, check=False, timeout=100, env=dict(os.environ))
    assert killed.returncode == -signal.SIGKILL
    assert receiver.got == []
    periplus.crawl(out=folder).run()
    assert [event["type"] for event in receiver.events()] == ["crawl.ended"] * 2


def test_secret_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a file or the environment, and long enough; the error does not show it."""
    monkeypatch.setenv(delivery.SECRET, "x" * 32)
    assert delivery.secret_of(WebhookSettings(("https://a.example/",))) == b"x" * 32
    monkeypatch.setenv(delivery.SECRET, "short")
    with pytest.raises(periplus.ConfigError) as refused:
        delivery.secret_of(WebhookSettings(("https://a.example/",)))
    assert "short" not in str(refused.value)
    with pytest.raises(periplus.ConfigError, match="cannot be read"):
        delivery.secret_of(WebhookSettings(("https://a.example/",), str(tmp_path / "none")))
    for url in ("ftp://a.example/", "https://user:pass@a.example/", "a"):
        with pytest.raises(periplus.ConfigError):
            delivery.check_urls(WebhookSettings((url,)))
    with pytest.raises(periplus.ConfigError, match="need a secret"):
        periplus.crawl(
            "https://a.example/", out=tmp_path / "c", settings={"webhooks.urls": ["https://b.example/"]}
        ).run()


@pytest.mark.proof
def test_new_faults_of_an_audit(receiver: Receiver, secret_file: Path, web: ScriptedWeb, tmp_path: Path) -> None:
    """The first audit of a site reports nothing; the next one what it had not found before."""
    folder = tmp_path / "c"
    settings = settled(web) | told(receiver, secret_file) | {"webhooks.events": ["audit.new_faults"]}
    periplus.crawl(SEED, out=folder, settings=settings).run()
    CliRunner().invoke(app, ["audit", str(folder)])
    assert receiver.got == []
    web.said[f"{SEED}product/0"] = "<h1>Product 0</h1><p>It has no title any more, and is quite another thing now."
    periplus.open(folder).refresh()
    CliRunner().invoke(app, ["audit", str(folder)])
    [event] = receiver.events()
    assert event["type"] == "audit.new_faults"
    assert event["data"]["site"] == "shop.test"
    found = {each["finding"]: each["urls"] for each in event["data"]["findings"]}
    assert found["title-missing"] == [f"{SEED}product/0"]


@pytest.mark.proof
def test_watch_reports_what_it_found(receiver: Receiver, secret_file: Path, web: ScriptedWeb, tmp_path: Path) -> None:
    """At its end, and once a minute."""
    folder = tmp_path / "c"
    soon = {"refresh.shortest": 0.2, "webhooks.events": ["pages.changed"]}
    periplus.crawl(SEED, out=folder, settings=settled(web) | told(receiver, secret_file) | soon).run()
    web.said[f"{SEED}product/0"] = "<title>Product 0</title><p>It is an entirely different thing now, made of gold."
    with periplus.open(folder).watch(budget=100_000_000, for_="60s") as watch:
        assert next(iter(watch)).url == f"{SEED}product/0"
    [event] = receiver.events()
    assert (event["type"], event["data"]["changed"]) == ("pages.changed", 1)
