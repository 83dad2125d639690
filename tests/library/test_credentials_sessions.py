"""Crawls behind a login: by a form, by a token, with a file of cookies; the session is renewed, and written nowhere."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, cast
from urllib.parse import parse_qs

import pytest
from tests.library.test_credentials import everything_written

import periplus
from periplus.model import PeriplusError, UsageError

PASSWORD, CSRF, SESSION, TOKEN = "hunter2-password", "csrf-1234", "sess-0815-", "tok-4711-"
PAGES = 8


class Members(ThreadingHTTPServer):
    """A proxy for a site behind a login, and for another one. A session lasts for `lasts` pages."""

    def __init__(self, lasts: int = 100) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lasts = lasts
        self.logins = 0
        self.left = 0
        self.refused = 0
        self.refusal: tuple[int, str] | None = None
        """What visitors get who are not logged in, in place of a redirect to the login."""
        self.cookies: list[str] = []
        self.elsewhere: list[dict[str, str]] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def begun(self) -> int:
        self.logins += 1
        self.left = self.lasts
        return self.logins


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        web = cast("Members", self.server)
        _, _, host, path = self.path.split("/", 3)
        if host != "members.test":
            web.elsewhere.append({":path": self.path, **{name.lower(): value for name, value in self.headers.items()}})
            self.answer(200, "<title>Elsewhere</title>")
        elif path == "robots.txt":
            self.answer(404)
        elif path.startswith("login"):
            form = f"<form action='/check' method=post><input type=hidden name=csrf value={CSRF}><input name=user>"
            self.answer(200, f"<form action='/find'><input name=q></form>{form}<input name=pass></form>")
        elif not self.is_member(web):
            web.refused += 1
            if web.refusal is not None:
                self.answer(*web.refusal)
                return
            self.answer(302, Location=f"http://members.test/login?next=/{path}")
        else:
            web.left -= 1
            links = "".join(f"<a href='/p{number}'>page {number}</a>" for number in range(PAGES))
            cookie = f"seen={SESSION}seen; Path=/p1"
            self.answer(
                200, f"<title>{path}</title>{links}<a href='http://other.test/'>o</a>", **{"Set-Cookie": cookie}
            )

    def do_POST(self) -> None:
        web = cast("Members", self.server)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path.endswith("/token"):
            assert json.loads(body) == {"user": "ann", "password": PASSWORD}
            self.answer(200, json.dumps({"access_token": f"{TOKEN}{web.begun()}"}))
        elif parse_qs(body) == {"user": ["ann"], "pass": [PASSWORD], "csrf": [CSRF]}:
            self.answer(302, Location="http://members.test/", **{"Set-Cookie": f"sid={SESSION}{web.begun()}; Path=/"})
        else:
            self.answer(302, Location="http://members.test/login?wrong")

    def is_member(self, web: Members) -> bool:
        web.cookies.append(str(self.headers["Cookie"]))
        sent = f"{self.headers['Cookie']} {self.headers['Authorization']}"
        known = any(f"{secret}{web.logins}" in sent for secret in (f"sid={SESSION}", f"Bearer {TOKEN}"))
        return (known and web.left > 0) or "sid=from-a-file" in sent

    def answer(self, status: int, body: str = "", **fields: str) -> None:
        self.send_response(status)
        for name, value in ({"Content-Type": "text/html"} | fields).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Silence."""


@pytest.fixture
def web() -> Iterator[Members]:
    yield from serving()


def serving() -> Iterator[Members]:
    """The members' site, for as long as it is needed."""
    with Members() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def options(web: Members) -> dict[str, Any]:
    return {"proxy": web.base, "delay": 0, "sitemaps": False, "scope": "any"}


FORM = {"url": "http://members.test/login", "form": {"user": "ann", "pass": PASSWORD}}
BEARER = {
    "url": "http://members.test/token",
    "json": {"user": "ann", "password": PASSWORD},
    "header": "Authorization: Bearer {access_token}",
}


def titles(folder: Path) -> set[str]:
    return {page.title for page in periplus.open(folder).pages() if "members.test" in page.url}


def check_secrets(folder: Path, said: str) -> None:
    """No secret of the session was written or said."""
    written = everything_written(folder)
    assert b"GET /p1 HTTP/1.1\r\nHost: members.test\r\n" in written
    for secret in (PASSWORD, CSRF, SESSION, TOKEN):
        assert secret.encode() not in written
        assert secret not in said


def test_a_form_logs_in_and_the_session_is_renewed(
    web: Members, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every page is fetched, though a session lasts for three; the login page is no page; nothing goes elsewhere."""
    caplog.set_level(logging.DEBUG)
    web.lasts = 3
    crawl = periplus.crawl("http://members.test/", out=tmp_path / "c", login=FORM, **options(web))
    summary = crawl.run()
    assert titles(tmp_path / "c") == {"", *(f"p{number}" for number in range(PAGES))}
    assert 3 <= web.logins <= 5
    assert web.refused == web.logins - 1
    assert web.elsewhere
    assert not any({"cookie", "authorization"} & fields.keys() for fields in web.elsewhere)
    check_secrets(tmp_path / "c", "".join([caplog.text, *capfd.readouterr(), repr(crawl), repr(summary)]))


def test_a_token_logs_in_and_a_crawl_goes_on_with_it_given_again(web: Members, tmp_path: Path) -> None:
    """A crawl that ended at its limit is continued by the same call; nothing of the session was kept."""
    for limit in (3, 50):
        crawl = periplus.crawl("http://members.test/", out=tmp_path / "c", login=BEARER, limit=limit, **options(web))
        crawl.run()
    assert web.logins == 2
    assert web.refused == 0
    assert titles(tmp_path / "c") == {"", *(f"p{number}" for number in range(PAGES))}
    check_secrets(tmp_path / "c", repr(crawl))


def test_a_wrong_password_is_said_once(web: Members, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The login is not repeated for every page, and the password is not in the warning."""
    wrong = {**FORM, "form": {"user": "ann", "pass": "not-the-password"}}
    periplus.crawl("http://members.test/", out=tmp_path / "c", login=wrong, limit=4, **options(web)).run()
    failures = [line for line in caplog.messages if "the login at" in line]
    assert 1 <= len(failures) <= 2
    assert "not-the-password" not in caplog.text


def test_a_file_of_cookies(web: Members, tmp_path: Path) -> None:
    """Domain, path, `Secure` and expiry hold."""
    file = tmp_path / "cookies.txt"
    rows = [
        "members.test\tFALSE\t/\tFALSE\t4102444800\tsid\tfrom-a-file",
        "other.test\tFALSE\t/\tFALSE\t4102444800\tsid\tof-another",
        "members.test\tFALSE\t/\tTRUE\t4102444800\tsafe\tsecure-only",
    ]
    file.write_text("\n".join(["# Netscape HTTP Cookie File", *rows, ""]))
    periplus.crawl("http://members.test/", out=tmp_path / "c", cookies=str(file), limit=4, **options(web)).run()
    assert web.refused == 0
    assert len(titles(tmp_path / "c")) >= 3
    assert not any("cookie" in fields for fields in web.elsewhere)
    assert b"from-a-file" not in everything_written(tmp_path / "c")


@pytest.mark.proof
def test_a_function_logs_in(web: Members, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It returns header fields, cookies among them, and is called again when the session has ended."""

    def log_in() -> dict[str, str]:
        return {"Cookie": f"sid={SESSION}{web.begun()}", "X-Member": "ann"}

    web.lasts = 4
    login = {"url": "http://members.test/login", "call": log_in}
    periplus.crawl("http://members.test/", out=tmp_path / "c", login=login, **options(web)).run()
    assert titles(tmp_path / "c") == {"", *(f"p{number}" for number in range(PAGES))}
    assert web.logins >= 3
    check_secrets(tmp_path / "c", caplog.text)
    made = periplus.crawl("http://members.test/", out=tmp_path / "d", login=log_in, limit=3, **options(web))
    made.run()
    assert titles(tmp_path / "d")


def test_a_function_that_fails_says_nothing_of_its_secrets(
    web: Members, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its error may have a password in its text."""

    def log_in() -> dict[str, str]:
        raise RuntimeError(PASSWORD)

    periplus.crawl("http://members.test/", out=tmp_path / "c", login=log_in, limit=2, **options(web)).run()
    assert "the login failed: the function raised RuntimeError" in caplog.text
    assert PASSWORD not in caplog.text


LOGGED_OUT = [
    ({"logged_out": "please sign in"}, 200),
    ({"logged_out_selector": "form#sign-in input[type=password]"}, 200),
    ({"logged_out_status": [419]}, 419),
]


@pytest.mark.proof
@pytest.mark.parametrize(("declared", "status"), LOGGED_OUT)
def test_pages_for_visitors_show_that_a_session_has_ended(
    web: Members, tmp_path: Path, declared: dict[str, Any], status: int
) -> None:
    """By a text, by a CSS selector, or by a status of their own."""
    web.lasts = 3
    web.refusal = status, "<form id=sign-in>please sign in <input type=password></form>"
    periplus.crawl("http://members.test/", out=tmp_path / "c", login={**FORM, **declared}, **options(web)).run()
    assert titles(tmp_path / "c") == {"", *(f"p{number}" for number in range(PAGES))}
    assert web.refused == web.logins - 1


def test_a_file_declares_a_login_and_the_fields_of_sites(
    web: Members, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets may be in the environment; header fields go to the site that they are for."""
    file = tmp_path / "login.toml"
    file.write_text(
        'url = "http://members.test/login"\n[form]\nuser = "ann"\npass = { env = "MEMBERS_PASSWORD" }\n'
        f'[headers."http://other.test"]\nX-Token = "{TOKEN}"\n'
    )
    with pytest.raises(UsageError, match="MEMBERS_PASSWORD is not set"):
        periplus.crawl("http://members.test/", out=tmp_path / "c", login=file)
    monkeypatch.setenv("MEMBERS_PASSWORD", PASSWORD)
    periplus.crawl("http://members.test/", out=tmp_path / "c", login=str(file), **options(web)).run()
    assert titles(tmp_path / "c") == {"", *(f"p{number}" for number in range(PAGES))}
    sent = {fields[":path"]: fields.get("x-token") for fields in web.elsewhere}
    assert sent["http://other.test/"] == TOKEN
    assert not any(value for path, value in sent.items() if not path.startswith("http://other.test/"))
    check_secrets(tmp_path / "c", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("url = ", "is not TOML"),
        ('url = "http://a.test/"\n[form]\na = "b"\n[json]\na = "b"', "several"),
        ('[form]\na = "b"', "no url"),
        ('url = "http://a.test/"\ncall = "os:nothing"', "cannot be loaded"),
        ('[headers]\nX = "y"', "headers are not those of sites"),
        ('url = "http://a.test/"\nlogged_out_selector = "a[["\n[form]\na = "b"', "not a CSS selector"),
    ],
)
def test_files_that_declare_no_login(tmp_path: Path, text: str, said: str) -> None:
    """The error says what is wrong."""
    file = tmp_path / "login.toml"
    file.write_text(text)
    with pytest.raises(PeriplusError, match=said):
        periplus.crawl("http://a.test/", out=tmp_path / "c", login=file)


@pytest.mark.parametrize(
    "login", [{}, {"url": "http://a.test/"}, {"url": "http://a.test/", "form": {"a": PASSWORD}, "x": 1}]
)
def test_wrong_declarations_are_refused_without_their_values(login: dict[str, Any], tmp_path: Path) -> None:
    """The error says what to write."""
    with pytest.raises(UsageError) as refused:
        periplus.crawl("http://a.test/", out=tmp_path / "c", login=login)
    assert PASSWORD not in str(refused.value)
