"""WebSub with a real hub on loopback: subscriptions, questions, messages, and those who forge them."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.apps.serve.receivers.receiving import Running, collection, crawled, serving, until, waiting
from tests.apps.serve.receivers.websub_hub import HUB, WebWithHub, free_port
from tests.lab.scripted_web import page
from tests.reference.websub_messages import sign

from periplus.apps.serve.receivers import MessageKind, Result
from periplus.collection.collection import CollectionSetup
from periplus.formats import websub
from periplus.formats.websub import SubscriberRequest
from periplus.model import Granularity, Source
from periplus.store import MessageInbox

SITE, FEED = "http://a.test/", "http://a.test/feed.xml"


def feed(*entries: str, hub: str = HUB) -> str:
    """An Atom feed; an entry is a path, perhaps followed by a space and a date."""
    items = ""
    for entry in entries:
        path, _, date = entry.partition(" ")
        items += f'<entry><title>{path}</title><link href="{SITE}{path}"/><updated>{date}</updated></entry>'
    link = f'<link rel="hub" href="{hub}"/>' if hub else ""
    return (
        f'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>a</title>{link}'
        f'<link rel="self" href="{FEED}"/>{items}</feed>'
    )


@contextmanager
def web_with_hub() -> Iterator[WebWithHub]:
    home = f'<link rel=alternate type="application/atom+xml" href="{FEED}">' + page("a")
    with WebWithHub({SITE: home, FEED: feed("old 2026-01-01T00:00:00Z"), f"{SITE}old": page("old")}) as made:
        yield made


@pytest.fixture
def web() -> Iterator[WebWithHub]:
    with web_with_hub() as made:
        yield made


@contextmanager
def subscribing(folder: Path, web: WebWithHub) -> Iterator[tuple[Running, CollectionSetup]]:
    """A collection that was crawled, and a server that subscribes to the hub of its feed."""
    port = free_port()
    options: dict[str, object] = {"receivers.websub": True, "receivers.public_url": f"http://127.0.0.1:{port}"}
    made = collection(folder, [SITE], web.settings | options)
    if not made.layout.shards or not made.layout.tables.exists():
        crawled(made)
    with serving(folder, port=port) as server:
        yield server, made


@pytest.fixture
def subscribed(tmp_path: Path, web: WebWithHub) -> Iterator[tuple[Running, CollectionSetup, SubscriberRequest]]:
    with subscribing(tmp_path / "a", web) as (server, made):
        until(lambda: len(web.answers) == 1)
        yield server, made, web.requests[0]


@pytest.fixture(scope="module")
def lasting(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[WebWithHub, Running, CollectionSetup, SubscriberRequest]]:
    """One subscription for all messages that change nothing."""
    folder = tmp_path_factory.mktemp("lasting") / "a"
    with web_with_hub() as web, subscribing(folder, web) as (server, made):
        until(lambda: len(web.answers) == 1)
        yield web, server, made, web.requests[0]


def test_subscription(subscribed: tuple[Running, CollectionSetup, SubscriberRequest], web: WebWithHub) -> None:
    """The hub of a feed is asked, its question is answered with the challenge, and secrets are kept safe."""
    _, made, request = subscribed
    assert (request.mode, request.topic, request.lease) == ("subscribe", FEED, websub.LEASE)
    assert len(request.secret) == 64
    assert web.answers == [(200, web.challenge.encode())]
    assert len(request.callback.rpartition("/")[2]) == 32
    assert stat.S_IMODE(made.layout.subscriptions.stat().st_mode) == 0o600


def test_message(subscribed: tuple[Running, CollectionSetup, SubscriberRequest], web: WebWithHub) -> None:
    """Entries with a date become pings, entries without one discoveries; others than of this crawl are dropped."""
    server, made, request = subscribed
    entries = feed("new 2026-11-15T10:00:00Z", "plain").replace("</feed>", "")
    body = (entries + '<entry><link href="http://other.test/"/></entry></feed>').encode()
    assert web.send(request, body) == 202
    inbox = MessageInbox(made.layout.inbox)
    pushed = inbox.peek(10)
    inbox.close()
    assert pushed is not None
    new, plain = pushed.discoveries
    assert (new.url, new.source, plain.url, plain.source) == (f"{SITE}new", Source.PING, f"{SITE}plain", Source.FEED)
    assert new.hints.lastmod is not None
    assert (new.hints.lastmod.granularity, plain.hints.lastmod) == (Granularity.SECOND, None)
    assert server.count(MessageKind.WEBSUB, Result.ACCEPTED) == 1
    web.said |= {f"{SITE}new": page("new"), f"{SITE}plain": page("plain")}
    crawled(made)
    assert {f"{SITE}new", f"{SITE}plain"} <= set(web.asked)


@pytest.mark.parametrize(
    "forged",
    [
        "",
        "sha256=" + "0" * 64,
        sign(b"another body", b"secret"),
        "sha256",
        "md5=" + "0" * 32,
        "sha1=" + "0" * 40,
    ],
)
def test_forged_messages(lasting: tuple[WebWithHub, Running, CollectionSetup, SubscriberRequest], forged: str) -> None:
    """A sender without the secret gets the same answer as the hub; its message is counted and ignored."""
    web, server, made, request = lasting
    before = server.count(MessageKind.WEBSUB, Result.BAD_SIGNATURE)
    assert web.send(request, feed("new 2026-11-15T10:00:00Z").encode(), signature=forged) == 202
    assert waiting(made) == []
    assert server.count(MessageKind.WEBSUB, Result.BAD_SIGNATURE) == before + 1
    assert server.count(MessageKind.WEBSUB, Result.ACCEPTED) == 0


def test_sha1_until_the_hub_sends_better(
    subscribed: tuple[Running, CollectionSetup, SubscriberRequest], web: WebWithHub
) -> None:
    """A hub that signs with SHA-1 is accepted; after one longer digest an attacker cannot fall back to it."""
    server, made, request = subscribed
    for number, (method, is_taken) in enumerate([("sha1", True), ("sha512", True), ("sha1", False), ("sha384", True)]):
        before = len(waiting(made))
        assert web.send(request, feed(f"{number} 2026-11-15T10:00:00Z").encode(), method) == 202
        assert len(waiting(made)) - before == is_taken
    assert server.count(MessageKind.WEBSUB, Result.BAD_SIGNATURE) == 1


def test_questions_that_we_did_not_ask_for(
    subscribed: tuple[Running, CollectionSetup, SubscriberRequest], web: WebWithHub
) -> None:
    """Another topic, another token, and the end of a subscription are answered with 404; nonsense with 400."""
    server, _, request = subscribed
    other = SubscriberRequest("subscribe", "http://evil.test/feed", request.callback)
    guessed = SubscriberRequest("subscribe", FEED, request.callback[:-1] + "x")
    assert [web.verify(other)[0], web.verify(guessed)[0], web.verify(request, "unsubscribe")[0]] == [404, 404, 404]
    assert server.get("/websub/x?hub.mode=subscribe").status == 400
    assert web.verify(request)[0] == 200  # the subscription is still there
    assert web.send(guessed, b"<feed/>") == 404
    assert web.verify(request, "denied") == (200, b"Understood.\n")


@pytest.mark.parametrize("body", [b"", b"\x00\xff" * 1000, b"<html><p>not a feed", b"<feed>" * 10_000])
def test_malformed_messages(
    lasting: tuple[WebWithHub, Running, CollectionSetup, SubscriberRequest], body: bytes
) -> None:
    """A message that is not a feed, though it is signed, changes nothing."""
    web, server, made, request = lasting
    before = server.count(MessageKind.WEBSUB, Result.OUT_OF_SCOPE)
    assert web.send(request, body) == 202
    assert (waiting(made), server.count(MessageKind.WEBSUB, Result.OUT_OF_SCOPE)) == ([], before + 1)


def test_oversized_message(lasting: tuple[WebWithHub, Running, CollectionSetup, SubscriberRequest]) -> None:
    """More than 5 MiB are refused before they are read."""
    web, _, made, request = lasting
    assert web.send(request, b" " * (websub.MAX_BYTES + 1)) == 413
    assert waiting(made) == []


def test_restart(tmp_path: Path, web: WebWithHub) -> None:
    """After a restart the hub's messages are accepted without another subscription."""
    with subscribing(tmp_path / "a", web):
        until(lambda: len(web.answers) == 1)
    request = web.requests[0]
    port = int(request.callback.split(":")[2].split("/")[0])
    with serving(tmp_path / "a", port=port) as server:
        assert web.send(request, feed("new 2026-11-15T10:00:00Z").encode()) == 202
        assert server.count(MessageKind.WEBSUB, Result.ACCEPTED) == 1
        assert len(web.requests) == 1


def test_hub_that_refuses(tmp_path: Path, web: WebWithHub) -> None:
    """It is counted, and asked again later, not at once."""
    web.status = 500
    with subscribing(tmp_path / "a", web) as (server, made):
        until(lambda: server.count(MessageKind.WEBSUB, Result.REFUSED) == 1)
    assert len(web.requests) == 1
    assert b'"attempts":1' in made.layout.subscriptions.read_bytes()


def test_private_hubs_are_not_asked(tmp_path: Path, web: WebWithHub) -> None:
    """A feed that names a hub on this machine does not make us send requests there."""
    web.said[FEED] = feed("old 2026-01-01T00:00:00Z", hub=f"{web.base}hub")
    with subscribing(tmp_path / "a", web) as (server, made):
        until(lambda: server.count(MessageKind.WEBSUB, Result.REFUSED) == 1)
        assert made.layout.subscriptions.exists()
    assert web.requests == []


def test_feeds_without_a_hub(tmp_path: Path, web: WebWithHub) -> None:
    """Nothing is asked for."""
    web.said[FEED] = feed("old 2026-01-01T00:00:00Z", hub="")
    with subscribing(tmp_path / "a", web) as (server, made):
        server.receivers._subscribers[0].look()
        assert server.receivers._subscribers[0].subscriptions.all() == []
    assert not made.layout.subscriptions.exists()
