"""`periplus crawl --login --cookies --proxies`: what is behind a login is fetched, and no secret is written or said.

Also after a kill -9 and a continuation, in which everything is given again.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.library.test_credentials_sessions import CSRF, PAGES, PASSWORD, SESSION, TOKEN, Members, serving, titles
from tests.system.typed import run_program

OF_PROXY, OF_FILE = "proxy-4242-password", "cookie-9999-value"
SECRETS = (PASSWORD, CSRF, SESSION, TOKEN, OF_PROXY, OF_FILE)


@pytest.fixture
def web() -> Iterator[Members]:
    yield from serving()


def command(web: Members, folder: Path, *more: str) -> list[str]:
    """A crawl of all members' pages, through two proxies of which one is not there."""
    (folder / "login.toml").write_text(
        f'url = "http://members.test/login"\n[form]\nuser = "ann"\npass = "{PASSWORD}"\n'
        f'[headers."http://other.test"]\nX-Token = "{TOKEN}"\n'
    )
    line = f"members.test\tFALSE\t/\tFALSE\t4102444800\tkept\t{OF_FILE}\n"
    (folder / "cookies.txt").write_text(f"# Netscape HTTP Cookie File\n{line}")
    place = web.base.removeprefix("http://").rstrip("/")
    (folder / "proxies.txt").write_text(f"http://me:{OF_PROXY}@127.0.0.1:9\nhttp://me:{OF_PROXY}@{place}\n")
    given = [f"--{name}={folder / name}.{kind}" for name, kind in (("login", "toml"), ("cookies", "txt"))]
    return [
        sys.executable, "-m", "periplus", "crawl", "http://members.test/", "-o", str(folder / "c"), *given,
        f"--proxies={folder / 'proxies.txt'}", "--no-sitemaps", "--scope", "any", "--workers", "1", *more,
    ]  # fmt: skip


def written(folder: Path) -> bytes:
    """Every byte of a collection; what is compressed, decompressed as well."""
    found = []
    for path in (each for each in folder.rglob("*") if each.is_file()):
        data = path.read_bytes()
        found += [data, gzip.decompress(data)] if path.suffix == ".gz" and data else [data]
    return b"\0".join(found)


def check_secrets(folder: Path, said: bytes) -> None:
    everything = written(folder) + said
    assert b"members.test" in everything
    assert [secret for secret in SECRETS if secret.encode() in everything] == []


@pytest.mark.proof
def test_secrets_are_nowhere_after_a_kill_and_a_continuation(web: Members, tmp_path: Path) -> None:
    """Killed in the middle, looked through, continued, and looked through again."""
    with subprocess.Popen(command(web, tmp_path, "--delay", "300ms"), stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 60
        while web.left > web.lasts - 3 or not web.logins:
            assert time.monotonic() < until
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        _, said = process.communicate()
    assert process.returncode == -signal.SIGKILL
    for path in (tmp_path / "c").rglob("*"):
        data = path.read_bytes() if path.is_file() else b""  # a WARC may end in the middle of a record
        assert [secret for secret in SECRETS if secret.encode() in data + said] == []
    done = subprocess.run(command(web, tmp_path, "--delay", "0s"), capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert titles(tmp_path / "c") == {"", *(f"p{number}" for number in range(PAGES))}
    assert web.logins >= 2
    assert any(OF_FILE in cookie for cookie in web.cookies)
    assert {fields.get("x-token") for fields in web.elsewhere if fields[":path"] == "http://other.test/"} == {TOKEN}
    check_secrets(tmp_path / "c", done.stdout + done.stderr)


@pytest.mark.proof
def test_a_failed_login_is_not_a_success(web: Members, tmp_path: Path) -> None:
    """The summary says so, with the next step and without the password; also where a refresh logs in."""
    login, wrong = tmp_path / "login.toml", "not-the-password"
    program = [sys.executable, "-m", "periplus"]

    def crawl(name: str) -> list[str]:
        folder = str(tmp_path / name)
        given = ["--proxy", web.base, "--delay", "0s", "--no-sitemaps", "--workers", "1", "--login", str(login)]
        return [*program, "crawl", "http://members.test/", "-o", folder, *given]

    def ended(typed: list[str], code: int) -> tuple[str, str]:
        web.left = 0
        done = subprocess.run(typed, capture_output=True, timeout=120, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout.decode(), done.stderr.decode()

    login.write_text(f'url = "http://members.test/login"\n[form]\nuser = "ann"\npass = "{PASSWORD}"\n')
    ended(crawl("good"), 0)
    login.write_text(login.read_text().replace(PASSWORD, wrong))
    said, aside = ended(crawl("bad"), 1)
    assert "the login at http://members.test/login failed: the form was refused; correct --login" in said
    assert wrong not in said + aside
    said, _ = ended([*crawl("worse"), "--json"], 1)
    assert [each["reason"] for each in json.loads(said)["failures"]] == ["login"]
    said, aside = ended([*program, "refresh", str(tmp_path / "good"), "--login", str(login)], 1)
    assert "the form was refused" in aside


def test_the_password_of_a_proxy_is_not_saved(web: Members, tmp_path: Path) -> None:
    """Given with `--proxy`, it holds for this command alone."""
    place = web.base.removeprefix("http://").rstrip("/")
    done = run_program(
        "crawl", "http://other.test/", "-o", str(tmp_path / "c"), "--no-sitemaps",
        "--proxy", f"http://me:{OF_PROXY}@{place}", "--delay", "0s", "--workers", "1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all("proxy-authorization" in fields for fields in web.elsewhere)
    assert f'proxy = "http://{place}"' in (tmp_path / "c" / "periplus.toml").read_text()
    assert OF_PROXY.encode() not in written(tmp_path / "c") + done.stdout + done.stderr


@pytest.mark.proof
@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("--login", f'url = "http://a.test/"\n[form]\nb = "{PASSWORD}"\n[json]\nb = "c"', "several"),
        (
            "--login",
            f'url = 3\n[form]\nb = "{PASSWORD}"',
            "given has a number for url, which must be a text",
        ),
        ("--login", f'urls = "http://a.test/"\n[form]\nb = "{PASSWORD}"', "given has no key urls"),
        ("--cookies", f"not cookies {PASSWORD}", "not a cookies.txt"),
        ("--proxies", f"what {PASSWORD}", "line 1"),
    ],
)
def test_mistakes_in_files_are_said_without_their_secrets(tmp_path: Path, option: str, text: str, said: str) -> None:
    """With exit code 2, before anything is written."""
    (tmp_path / "given").write_text(text)
    typed = [sys.executable, "-m", "periplus", "crawl", "http://a.test/", "-o", str(tmp_path / "c")]
    done = subprocess.run([*typed, option, str(tmp_path / "given")], capture_output=True, timeout=120, check=False)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert PASSWORD not in done.stderr.decode()
    assert not (tmp_path / "c").exists()
