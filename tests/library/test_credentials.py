"""Passwords, cookies and header fields: sent to their site only, and written nowhere."""

from __future__ import annotations

import gzip
import logging
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pytest

import periplus
from periplus.engine.fetch import Credentials

SECRETS = ("hunter2-password", "tok-4711", "sess-0815")
LOGIN = "Basic " + b64encode(b"ann:hunter2-password").decode()


class Recorder(ThreadingHTTPServer):
    """A proxy for two sites: one links and redirects to the other. It records the fields of every request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, dict[str, str]]] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def sent_to(self, host: str) -> list[dict[str, str]]:
        return [fields for url, fields in self.requests if url.startswith(f"http://{host}/")]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = cast("Recorder", self.server)
        server.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        links = "<a href='/moved'>m</a> <a href='/inside'>i</a> <a href='http://other.test/linked'>l</a>"
        body = f"<title>{self.path}</title>{links}".encode()
        if self.path == "http://private.test/moved":
            self.send_response(302)
            self.send_header("Location", "http://other.test/arrived")
            body = b""
        elif self.path.endswith("robots.txt"):
            self.send_response(404)
            body = b""
        else:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Silence."""


@pytest.fixture
def web() -> Iterator[Recorder]:
    with Recorder() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def options(web: Recorder) -> dict[str, Any]:
    return {"proxy": web.base, "delay": 0, "sitemaps": False, "scope": "any", "limit": 6}


def everything_written(folder: Path) -> bytes:
    """All bytes of all files of a collection, archives decompressed."""
    written = b""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            written += data
            if path.name.endswith(".gz"):
                written += gzip.decompress(data)
    return written


def test_credentials_go_to_their_origin_only(web: Recorder, tmp_path: Path) -> None:
    """Every request to the site has them, robots.txt included; none to another site, linked or redirected to."""
    periplus.crawl(
        "http://private.test/",
        out=tmp_path / "c",
        auth=("ann", SECRETS[0]),
        headers={"X-Token": SECRETS[1], "Accept-Language": "de"},
        cookies={"session": SECRETS[2], "theme": "dark"},
        **options(web),
    ).run()
    assert {url for url, _ in web.requests} >= {"http://private.test/inside", "http://other.test/arrived"}
    for fields in web.sent_to("private.test"):
        assert fields["authorization"] == LOGIN
        assert fields["x-token"] == SECRETS[1]
        assert fields["cookie"] == "session=sess-0815; theme=dark"
        assert fields["accept-language"] == "de"
    assert len(web.sent_to("other.test")) >= 3
    for fields in web.sent_to("other.test"):
        assert not {"authorization", "x-token", "cookie", "accept-language"} & fields.keys()


def test_credentials_are_written_nowhere(
    web: Recorder, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not in settings, state, tables, archive, log or terminal; nor is the encoded form of the password."""
    caplog.set_level(logging.DEBUG)
    crawl = periplus.crawl(
        f"http://ann:{SECRETS[0]}@private.test/",
        out=tmp_path / "c",
        headers={"X-Token": SECRETS[1]},
        cookies={"session": SECRETS[2]},
        **options(web),
    )
    summary = crawl.run()
    assert all(fields["authorization"] == LOGIN for fields in web.sent_to("private.test"))
    written = everything_written(tmp_path / "c")
    assert b"GET /inside HTTP/1.1\r\nHost: private.test\r\n" in written
    said = "".join([caplog.text, *capfd.readouterr(), repr(crawl), repr(summary), str(crawl.progress)])
    for secret in (*SECRETS, LOGIN, LOGIN.split()[1]):
        assert secret.encode() not in written
        assert secret not in said


def test_password_in_a_seed_of_the_command_line(
    web: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`user:password@` is sent to that site, and shown neither in the plan nor while crawling nor at the end."""
    from periplus.cli import main

    seed = f"http://ann:{SECRETS[0]}@private.test/"
    arguments = ["-o", str(tmp_path / "c"), "--limit", "2", "--delay", "0", "--workers", "1", "--proxy", web.base]
    for more in (["--dry-run"], []):
        monkeypatch.setattr("sys.argv", ["periplus", "crawl", seed, *arguments, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
    assert SECRETS[0] not in "".join(capfd.readouterr())
    assert all(fields["authorization"] == LOGIN for fields in web.sent_to("private.test"))
    assert web.sent_to("private.test")
    assert SECRETS[0].encode() not in everything_written(tmp_path / "c")


def test_seed_that_is_not_a_url_is_shown_without_its_password(tmp_path: Path) -> None:
    """An unquoted slash in a password makes no URL, and the error does not repeat it."""
    with pytest.raises(periplus.PeriplusError) as refused:
        periplus.crawl("http://ann:hunter2/password@private.test/", out=tmp_path / "c")
    assert "hunter2" not in str(refused.value) + refused.value.hint


def test_password_in_a_file_of_settings(web: Recorder, tmp_path: Path) -> None:
    """A seed in the user's own settings file is a login, too, and the collection's copy does not have it."""
    settings = tmp_path / "mine.toml"
    settings.write_text(f'[crawl]\nseeds = ["http://ann:{SECRETS[0]}@private.test/"]\n')
    with periplus.crawl(out=tmp_path / "c", config=settings, **options(web)) as crawl:
        for page in crawl:
            assert SECRETS[0].encode() not in everything_written(tmp_path / "c"), page.url
    assert web.sent_to("private.test")[0]["authorization"] == LOGIN


def test_each_site_has_its_own(web: Recorder, tmp_path: Path) -> None:
    """A dict by site gives each site its own, whichever are seeds."""
    periplus.crawl(
        "http://private.test/",
        out=tmp_path / "c",
        auth={"http://other.test": ("ann", SECRETS[0])},
        headers={"http://private.test": {"X-Token": SECRETS[1]}},
        **options(web),
    ).run()
    assert all("authorization" not in fields and "x-token" in fields for fields in web.sent_to("private.test"))
    assert all("authorization" in fields and "x-token" not in fields for fields in web.sent_to("other.test"))


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"headers": {"Host": "x"}}, "'Host' cannot be set"),
        ({"headers": {"X-A": "secret\r\nX-B: c"}}, "the value of X-A cannot be sent"),
        ({"cookies": {"a": "secret; b=c"}}, "the value of a cannot be sent"),
        ({"auth": ("ann:secret", "x")}, "contains a colon"),
        ({"auth": "ann:secret"}, "must be a user name and a password"),
        ({"headers": "secret"}, "must be a dict"),
    ],
)
def test_what_cannot_be_sent(tmp_path: Path, keywords: dict[str, Any], said: str) -> None:
    """It is refused when the crawl is planned, and the error has no value in it."""
    with pytest.raises(periplus.UsageError, match=said) as refused:
        periplus.crawl("http://private.test/", out=tmp_path / "c", **keywords)
    assert "secret" not in str(refused.value) + refused.value.hint


def test_representation_has_no_values() -> None:
    """What a debugger or a traceback shows."""
    held = Credentials({"http://private.test": (("X-Token", SECRETS[1]),)})
    assert SECRETS[1] not in f"{held} {held!r}"
    assert "http://private.test" in repr(held)
