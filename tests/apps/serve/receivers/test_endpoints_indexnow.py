"""IndexNow messages to a real server: statuses, keys that are checked on a real site, bounds, and what is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.apps.serve.receivers.receiving import KEY, Running, collection, crawled, serving, until, waiting
from tests.lab.scripted_web import MovedTo, ScriptedWeb, page

from periplus.apps.serve.receivers import MessageKind, Result
from periplus.apps.serve.receivers.keys import MAX_CLAIMS_OF_HOST
from periplus.collection.collection import CollectionSetup
from periplus.formats import indexnow

SITE = "http://a.test/"
KEY_FILE = f"http://a.test/{KEY}.txt"
LIMITS = {"receivers.urls_per_hour": 5, "receivers.messages_per_second": 4}


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    with ScriptedWeb({SITE: page("a"), KEY_FILE: KEY, f"{SITE}new": page("new"), f"{SITE}shop/k.txt": KEY}) as scripted:
        yield scripted


@pytest.fixture
def made(tmp_path: Path, web: ScriptedWeb) -> CollectionSetup:
    return collection(tmp_path / "a", [SITE], web.settings)


@pytest.fixture
def server(made: CollectionSetup) -> Iterator[Running]:
    with serving(made.folder) as running:
        yield running


def batch(*urls: str, **fields: object) -> bytes:
    return json.dumps({"host": "a.test", "key": KEY, "urlList": urls} | fields).encode()


def submit(server: Running, *urls: str, **fields: object) -> int:
    return server.ask("POST", "/indexnow", batch(*urls, **fields), Content_Type="application/json").status


def is_counted(server: Running, result: Result) -> bool:
    return server.count(MessageKind.INDEXNOW, result) == 1


def test_unknown_key_is_checked(server: Running, made: CollectionSetup, web: ScriptedWeb) -> None:
    """202 and the key file is fetched once; then the URLs wait for the crawl, and further messages get 200."""
    assert server.get(f"/indexnow?{urlencode({'url': SITE + 'new', 'key': KEY})}").status == 202
    until(lambda: waiting(made) == [f"{SITE}new"])
    assert submit(server, f"{SITE}other", f"{SITE}new") == 200
    assert waiting(made) == [f"{SITE}new", f"{SITE}other", f"{SITE}new"]
    assert web.asked == [KEY_FILE]
    assert [server.count(MessageKind.INDEXNOW, each) for each in (Result.HELD, Result.RELEASED, Result.ACCEPTED)] == [
        1,
        1,
        1,
    ]
    metrics = server.get("/metrics").body.decode()
    for result in ("held", "released", "accepted"):
        assert f'periplus_receiver_messages_total{{collection="a",kind="indexnow",result="{result}"}} 1.0' in metrics
    crawled(made)
    assert web.asked.count(f"{SITE}new") == 1
    assert waiting(made) == []


@pytest.mark.parametrize("body", ["something else", "<p>not found</p>", "x" * 10_000 + "\n" + KEY])
def test_wrong_key(server: Running, made: CollectionSetup, web: ScriptedWeb, body: str) -> None:
    """The URLs are dropped, and the next message with this key is refused without another request."""
    web.said[KEY_FILE] = body
    assert submit(server, f"{SITE}new") == 202
    until(lambda: server.count(MessageKind.INDEXNOW, Result.DROPPED) == 1)
    assert submit(server, f"{SITE}new") == 403
    assert (waiting(made), web.asked) == ([], [KEY_FILE])
    assert submit(server, f"{SITE}new", key="another-key-of-them") == 202


def test_missing_and_moved_key_files(server: Running, made: CollectionSetup, web: ScriptedWeb) -> None:
    """A file that is not there proves nothing, nor does one on another host; one elsewhere on the host does."""
    del web.said[KEY_FILE]
    assert submit(server, f"{SITE}new") == 202
    until(lambda: server.count(MessageKind.INDEXNOW, Result.DROPPED) == 1)
    web.said[f"{SITE}moved.txt"] = MovedTo("http://b.test/key.txt")
    web.said["http://b.test/key.txt"] = KEY
    assert submit(server, f"{SITE}new", keyLocation=f"{SITE}moved.txt") == 202
    until(lambda: server.count(MessageKind.INDEXNOW, Result.DROPPED) == 2)
    assert "http://b.test/key.txt" not in web.asked
    web.said[f"{SITE}near.txt"] = MovedTo(f"{SITE}shop/k.txt")
    assert submit(server, f"{SITE}new", keyLocation=f"{SITE}near.txt") == 202
    until(lambda: waiting(made) == [f"{SITE}new"])


def test_key_location_covers_its_directory(server: Running, made: CollectionSetup) -> None:
    """A message with a URL outside is refused; the same key at the root is another proof."""
    place = f"{SITE}shop/k.txt"
    assert submit(server, f"{SITE}shop/x", keyLocation=place) == 202
    assert submit(server, f"{SITE}shop/x", f"{SITE}help", keyLocation=place) == 422
    until(lambda: waiting(made) == [f"{SITE}shop/x"])
    assert submit(server, f"{SITE}new") == 202  # the root is not proved by the file in /shop/


INVALID = [
    (b"", 400),
    (b"{", 400),
    (b"[" * 100_000, 400),
    (b"\xff\xfe\x00", 400),
    (batch(), 400),
    (batch("https://other.test/"), 422),
    (batch(SITE, key="short"), 422),
    (batch(SITE, keyLocation="http://evil.test/key.txt"), 422),
]


def test_invalid_messages(tmp_path: Path, web: ScriptedWeb) -> None:
    """Statuses are those of the protocol; nothing is kept and no request is sent."""
    made = collection(tmp_path / "b", [SITE], web.settings | {"receivers.messages_per_second": 1000})
    with serving(made.folder) as server:
        for number, (body, status) in enumerate(INVALID, 1):
            assert server.ask("POST", "/indexnow", body).status == status, body[:80]
            assert server.count(MessageKind.INDEXNOW, Result.INVALID) == number
    assert (waiting(made), web.asked) == ([], [])


def test_oversized_messages(server: Running) -> None:
    """Refused by their declared length, or when they grow too large."""
    assert server.ask("POST", "/indexnow", b" " * (indexnow.MAX_BYTES + 1)).status == 413
    pieces = (b" " * 1_000_000 for _ in range(20))
    with suppress(BrokenPipeError, ConnectionResetError):  # it may answer and close before all was sent
        assert server.ask("POST", "/indexnow", pieces).status == 413
    assert server.get("/indexnow?" + "x" * 50_000).status == 413


def test_out_of_scope(server: Running, made: CollectionSetup, web: ScriptedWeb) -> None:
    """A message for a host that is not crawled is accepted as the protocol has it, and leads to no request."""
    assert submit(server, "http://elsewhere.test/", host="elsewhere.test") == 202
    assert server.count(MessageKind.INDEXNOW, Result.OUT_OF_SCOPE) == 1
    assert (waiting(made), web.asked) == ([], [])


def test_several_collections(tmp_path: Path, web: ScriptedWeb, made: CollectionSetup) -> None:
    """A message reaches each collection that crawls the host, and no other."""
    same = collection(tmp_path / "same", ["http://a.test/deep/"], web.settings)
    other = collection(tmp_path / "other", ["http://b.test/"], web.settings)
    with serving(made.folder, same.folder, other.folder) as server:
        assert submit(server, f"{SITE}new") == 202
        until(lambda: waiting(made) == waiting(same) == [f"{SITE}new"])
        assert waiting(other) == []


def test_full_inbox(tmp_path: Path, web: ScriptedWeb) -> None:
    """When too many URLs wait, a message is refused for now, before and after its key was checked."""
    made = collection(tmp_path / "b", [SITE], web.settings | {"receivers.max_waiting": 3})
    with serving(made.folder) as server:
        assert submit(server, f"{SITE}1", f"{SITE}2") == 202
        answer = server.ask("POST", "/indexnow", batch(f"{SITE}3", f"{SITE}4"))
        assert (answer.status, int(answer.headers["retry-after"])) == (429, 60)
        until(lambda: len(waiting(made)) == 2)
        assert submit(server, f"{SITE}3", f"{SITE}4") == 429
        assert submit(server, f"{SITE}3") == 200
        assert server.count(MessageKind.INDEXNOW, Result.FULL) == 2


def test_limits_of_a_sender(tmp_path: Path, web: ScriptedWeb) -> None:
    """Too many messages a second, or URLs an hour, are refused for now."""
    made = collection(tmp_path / "b", [SITE], web.settings | LIMITS)
    with serving(made.folder) as server:
        assert submit(server, *(f"{SITE}{number}" for number in range(5))) == 202
        answer = server.ask("POST", "/indexnow", batch(SITE))
        assert answer.status == 429
        assert 600 < int(answer.headers["retry-after"]) <= 720
        statuses = [submit(server, "nonsense") for _ in range(40)]
        assert statuses.count(429) > 20
        assert set(statuses) == {400, 429}


def test_too_many_keys_of_a_host(tmp_path: Path, web: ScriptedWeb) -> None:
    """Messages with invented keys do not become a flood of requests to the host that they name."""
    web.failing.update(f"{SITE}{number:08d}.txt" for number in range(30))
    made = collection(tmp_path / "b", [SITE], web.settings | {"receivers.messages_per_second": 1000})
    with serving(made.folder) as server:
        statuses = [submit(server, SITE, key=f"{number:08d}") for number in range(30)]
    assert statuses == [202] * MAX_CLAIMS_OF_HOST + [429] * (30 - MAX_CLAIMS_OF_HOST)
    assert len(web.asked) <= MAX_CLAIMS_OF_HOST


def test_closed_by_default(made: CollectionSetup, web: ScriptedWeb) -> None:
    """Without --receive and without the setting there are no receivers."""
    with serving(made.folder, receive=False) as server:
        for path in ("/indexnow?url=http://a.test/&key=" + KEY, "/ping?sitemap=http://a.test/s.xml", "/websub/x"):
            assert server.get(path).status == 404
        assert server.ask("POST", "/indexnow", batch(SITE)).status == 404
        assert server.ask("POST", "/api/changed", b"[]", Content_Type="application/json").status == 404
    assert not made.layout.inbox.exists()


def test_enabled_by_the_setting(tmp_path: Path, web: ScriptedWeb) -> None:
    """`[receivers] enabled` is enough, for this collection."""
    made = collection(tmp_path / "b", [SITE], web.settings | {"receivers.enabled": True})
    with serving(made.folder, receive=False) as server:
        assert submit(server, SITE) == 202


def test_private_addresses_are_not_asked(tmp_path: Path, web: ScriptedWeb) -> None:
    """A key on an address of this machine is not fetched, whatever a message says, unless a setting allows it."""
    base = web.base.rstrip("/")
    host = base.removeprefix("http://")
    web.said[f"/{KEY}.txt"] = KEY
    closed = collection(tmp_path / "closed", ["http://a.test/"], {"scope.kind": "any"})
    allowed = collection(tmp_path / "allowed", [SITE], {"scope.kind": "any", "wire.allow_private": [host]})
    for made, is_open in ((closed, False), (allowed, True)):
        with serving(made.folder) as server:
            assert submit(server, f"{base}/secret", host=host) == 202
            result = Result.RELEASED if is_open else Result.DROPPED
            until(partial(is_counted, server, result))
        assert web.asked == ([f"/{KEY}.txt"] if is_open else [])
        assert waiting(made) == ([f"{base}/secret"] if is_open else [])
