"""Signed crawls of sites over TLS on this machine: each request is verified by the middleware of the site."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from pathlib import Path
from socketserver import ThreadingMixIn
from threading import Event, Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import pytest
from tests.lab.crawling import crawl, rows

from periplus.apps.identity.verifier import DirectoryAnswer
from periplus.engine.clock import SystemClock
from periplus.formats.web_bot_auth import RequestSigning, SignatureVerdict, read_private_key
from periplus.model import ConfigError, Fetched, FetchTask, Lane, Purpose, Site, Url, UsageError
from periplus.parts.identity.key_files import (
    CACHE_LIFETIME,
    load_key,
    make_key,
    publish,
    published_keys,
    rotate,
    state_of,
)
from periplus.parts.identity.part import Signer
from periplus.parts.identity.settings import IdentitySettings
from periplus.store.warc import read_records
from periplus.store.warc.reading import WarcRecord
from periplus_sites.publish import Publisher, PublishSettings
from periplus_sites.publish.middleware.live import SIGNATURE
from periplus_sites.publish.settings import SignatureSettings, SiteSettings

pytest.importorskip("cryptography.x509", reason="certificates need the extra `lab`")

HOST = "signed.lab.test"
AGENT = "https://signer.lab.test"
PAGES = {
    "/": b'<a href="/a">a</a> <a href="/moved">b</a> <a href="/c?x=1&y=%C3%A9">c</a>',
    "/a": b"<p>One page</p>",
    "/b": b"<p>Another page</p>",
    "/c": b"<p>A third page</p>",
    "/robots.txt": b"User-agent: *\nAllow: /\n",
}


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Not read by these tests."""


class SignedSite:
    """A site behind the middleware, over TLS or not. What was asked for is kept, with the verdict on it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_secure: bool = True) -> None:
        from periplus_lab.certificates import Authority

        self.key = folder / "keys" / "identity.pem"
        self.verdicts: dict[str, list[SignatureVerdict | None]] = {}
        self.fields: list[dict[str, str]] = []
        self.wants_signatures = False
        self.fetched: list[str] = []
        self.was_fetched = Event()
        make_key(self.key)
        publish(self.key, folder / "agent", AGENT, 0.0, name="Test", contacts=(), token="Test")
        directory = (folder / "agent" / ".well-known" / "http-message-signatures-directory").read_bytes()

        def fetch(url: str) -> DirectoryAnswer:
            self.fetched.append(url)
            self.was_fetched.set()
            return DirectoryAnswer(200, (("Cache-Control", "max-age=60"),), directory)

        monkeypatch.setattr("periplus.apps.identity.verifier.fetch_directory", fetch)
        self.server = _Server(("127.0.0.1", 0), _Handler)
        scheme = "https" if is_secure else "http"
        self.base = f"{scheme}://{HOST}:{self.server.server_port}/"
        settings = PublishSettings(SiteSettings(self.base), signatures=SignatureSettings(verify=True))
        self.publisher = Publisher(folder / "published", settings)
        self.server.set_app(self.publisher.wsgi(self._application))
        authority = folder / "authority"
        authority.mkdir()
        made = Authority(authority)
        if is_secure:
            context = made.context(HOST)
            context.set_alpn_protocols(["http/1.1"])
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        Thread(target=self.server.serve_forever, daemon=True).start()
        self.options: dict[str, object] = {
            "dns.hosts": {HOST: "127.0.0.1"},
            "wire.ca_file": str(made.path),
            "politeness.delay": 0.0,
            "retries.backoff": 0.01,
            "identity.key": str(self.key),
            "identity.agent": AGENT,
        }

    def _application(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        path = environ["PATH_INFO"]
        judged = environ.get(SIGNATURE)
        self.verdicts.setdefault(path, []).append(judged)
        if judged is not None and judged.reason == "key-pending":
            self.was_fetched.wait(10)
            time.sleep(0.1)  # what follows from this answer comes when the keys are known
        self.fields.append({key: str(value) for key, value in environ.items() if key.startswith("HTTP_SIGNATURE")})
        if self.wants_signatures and judged is None:
            asked = [("Accept-Signature", 'sig1=("@authority");tag="web-bot-auth"'), ("Content-Length", "0")]
            start_response("403 Forbidden", asked)
            return [b""]
        if path == "/moved":
            start_response("301 Moved Permanently", [("Location", "/b"), ("Content-Length", "0")])
            return [b""]
        body = PAGES.get(path, b"")
        kind = "text/plain" if path == "/robots.txt" else "text/html"
        start_response(
            "200 OK" if path in PAGES else "404 Not Found",
            [("Content-Type", kind), ("Content-Length", str(len(body)))],
        )
        return [body]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.publisher.close()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SignedSite]:
    running = SignedSite(tmp_path, monkeypatch)
    yield running
    running.close()


def outcomes(site: SignedSite, path: str) -> list[str]:
    return ["none" if each is None else each.outcome.value for each in site.verdicts.get(path, [])]


def test_every_request_of_a_crawl_is_signed_and_verified(site: SignedSite, tmp_path: Path) -> None:
    """Pages, robots.txt and both ends of a redirect; only what came before the keys were known is unverified."""
    crawl(tmp_path / "mine", [site.base], site.options)
    seen = {path: outcomes(site, path) for path in ("/robots.txt", "/", "/a", "/moved", "/b", "/c")}
    assert all(seen.values()), seen
    assert {each for found in seen.values() for each in found} <= {"verified", "unverified"}
    assert seen["/a"] == seen["/b"] == seen["/c"] == ["verified"]
    assert site.fetched == [f"{AGENT}/.well-known/http-message-signatures-directory"]
    assert {each.reason for found in site.verdicts.values() for each in found if each and each.reason} <= {
        "key-pending"
    }
    nonces = [fields["HTTP_SIGNATURE_INPUT"] for fields in site.fields]
    assert len(set(nonces)) == len(nonces)
    key = load_key(site.key).thumbprint
    found = rows(tmp_path / "mine", "select signed, signing_key, count(*) as n from fetches group by 1, 2")
    assert found == [{"signed": True, "signing_key": key[:8], "n": len(site.fields)}]


def test_the_key_is_nowhere_in_a_collection(site: SignedSite, tmp_path: Path) -> None:
    """The archive has the signatures as they were sent; no file has anything of the key."""
    crawl(tmp_path / "mine", [site.base], site.options)
    secrets = [line for line in site.key.read_bytes().splitlines() if not line.startswith(b"-")]
    files = [path for path in (tmp_path / "mine").rglob("*") if path.is_file()]
    assert files
    for path in files:
        body = path.read_bytes()
        assert not any(secret in body for secret in secrets), path
        assert b"PRIVATE KEY" not in body, path
    sent = {fields["HTTP_SIGNATURE"] for fields in site.fields}
    archived = set()
    for path in sorted((tmp_path / "mine" / "warc").glob("*.warc.gz")):
        for record in read_records(path):
            if isinstance(record, WarcRecord) and record.type == "request":
                archived |= set(record.message().headers.all("signature"))
                assert not any(secret in record.block for secret in secrets)
    assert archived == sent


@pytest.mark.parametrize("options", [{"identity.sign": "never"}, {"identity.key": ""}])
def test_nothing_is_signed(site: SignedSite, tmp_path: Path, options: dict[str, object]) -> None:
    crawl(tmp_path / "mine", [site.base], site.options | options)
    assert site.fields
    assert not any(site.fields)
    assert rows(tmp_path / "mine", "select distinct signed, signing_key from fetches") == [
        {"signed": False, "signing_key": None}
    ]


def test_nothing_is_signed_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = SignedSite(tmp_path, monkeypatch, is_secure=False)
    crawl(tmp_path / "mine", [site.base], site.options)
    site.close()
    assert len(site.fields) > 5
    assert not any(site.fields)


def test_a_site_is_signed_for_that_asks(site: SignedSite, tmp_path: Path) -> None:
    """The first request is repeated with a signature; those that follow have one at once."""
    site.wants_signatures = True
    crawl(tmp_path / "mine", [site.base], site.options | {"identity.sign": "asked"})
    assert [bool(fields) for fields in site.fields] == [False, *[True] * (len(site.fields) - 1)]
    assert outcomes(site, "/a") == ["verified"]
    found = rows(tmp_path / "mine", "select url, status, signed from fetches where purpose = 'page'")
    assert {(row["signed"], row["status"] < 400) for row in found} == {(True, True)}


@pytest.mark.parametrize(("status", "is_repeated"), [(401, True), (403, True), (429, False)])
def test_a_site_that_asks_for_a_rest_gets_it(tmp_path: Path, status: int, is_repeated: bool) -> None:
    """Its requests are signed from then on, whether the first is repeated at once or not."""
    url = Url("https://a.test/")
    signing = RequestSigning(make_key(tmp_path / "key.pem"), "https://signer.test", 300)
    signer = Signer(signing, IdentitySettings(sign="asked"), SystemClock())
    asking = (("Accept-Signature", 'sig1=("@authority");tag="web-bot-auth"'),)
    assert not signer.sign("GET", url)
    task = FetchTask(url, Site("a.test"), Purpose.PAGE, Lane.DISCOVERY, 1.0)
    assert signer.is_asked(Fetched(task, status, asking, b"", 0.0, 0.0)) is is_repeated
    assert signer.sign("GET", url)


def test_nobody_is_signed_for_that_does_not_ask(site: SignedSite, tmp_path: Path) -> None:
    crawl(tmp_path / "mine", [site.base], site.options | {"identity.sign": "asked"})
    assert not any(site.fields)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"identity.agent": ""}, "identity.agent"),
        ({"identity.agent": "http://signer.test"}, "bare https origin"),
        ({"identity.agent": "https://signer.test/keys"}, "bare https origin"),
        ({"identity.sign": "sometimes"}, "identity.sign"),
        ({"identity.lifetime": 0}, "identity.lifetime"),
        ({"identity.key": "/nowhere/key.pem"}, "cannot be read"),
    ],
)
def test_wrong_settings_are_said_before_the_crawl(
    site: SignedSite, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        crawl(tmp_path / "mine", [site.base], site.options | options)
    assert not site.fields


def test_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "key.pem"
    key = make_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_key(path).thumbprint == key.thumbprint
    assert key.pem().decode().splitlines()[1] not in repr(key)
    with pytest.raises(UsageError, match="exists"):
        make_key(path)
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="others may read"):
        load_key(path)
    (tmp_path / "periplus.toml").touch()
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="is in the collection"):
        load_key(path)
    for other in (b"", b"no key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"):
        with pytest.raises(ConfigError, match="not an Ed25519 key"):
            read_private_key(other)


def test_a_key_is_replaced_in_three_steps_a_day_apart(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    first = make_key(path).thumbprint
    begun = path.stat().st_mtime
    state, step = rotate(path, begun)
    assert (step, state.key, state.old, state.step) == ("made-next", first, None, "switch")
    second = state.next
    with pytest.raises(UsageError, match="less than a day ago"):
        rotate(path, begun + CACHE_LIFETIME / 2)
    assert [key.thumbprint for key in published_keys(path)] == [first, second]
    state, step = rotate(path, begun + CACHE_LIFETIME + 60)
    assert (step, state.key, state.next, state.old) == ("switched", second, None, first)
    assert [key.thumbprint for key in published_keys(path)] == [second, first]
    with pytest.raises(UsageError, match="less than a day ago"):
        rotate(path, begun + CACHE_LIFETIME + 120)
    state, step = rotate(path, begun + 2 * CACHE_LIFETIME + 120)
    assert (step, state) == ("dropped-old", state_of(path))
    assert (state.key, state.next, state.old, state.step_after) == (second, None, None, None)
