"""`periplus serve` and `periplus.serve`: how they start, what they say, how they end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.apps.serve.asking import Site, read_all
from tests.apps.serve.query_processes import is_there, query_workers
from tests.system.typed import Program, run_program

import periplus
from periplus.apps.serve.served import Tokens, read_tokens


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The command, once it says where it listens, and the lines that it said."""
    process = Program("serve", *arguments, "--port", "0", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    lines: list[str] = []
    try:
        while not lines or "http://" not in lines[-1]:
            line = process.stderr.readline()
            assert line, lines
            lines.append(line.strip())
        yield process, lines
    finally:
        process.kill()
        process.communicate(timeout=600)


def url_in(line: str) -> str:
    found = re.search(r"http://\S+", line)
    assert found
    return found[0]


FORM = (
    b"POST /login HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n"
)
"""The beginning of a form."""


@pytest.mark.proof
def test_it_serves_until_it_is_stopped(folder: Path, tmp_path: Path) -> None:
    """The address is on stderr; the first signal lets a form under way arrive, refuses others, and ends with code 0.

    A token is made in a file for its owner only, and not printed, since the output may be a log. Searching needs none
    if everyone may search.
    """
    file = tmp_path / "token"
    with started(str(folder), "--token-file", str(file), "--public-search") as (process, lines):
        assert "small" in lines[-1]
        site = Site(url_in(lines[-1]))
        token = check_token(site, file)
        assert str(file) in lines[0]
        body = f"next=/x&token={token}".encode()
        with site.connect() as connection:
            connection.sendall(FORM + f"Content-Length: {len(body)}\r\n\r\n".encode())
            site.get("/")  # the form has arrived as far as it was sent
            process.send_signal(signal.SIGINT)
            wait_until_refused(site)
            connection.sendall(body)
            assert connection.recv(65536).startswith(b"HTTP/1.1 303")
        out, rest = process.communicate(timeout=600)
        assert process.returncode == 0
        assert out == ""
        assert "GET / 200" in rest
        assert "product" not in rest
        assert token not in "".join((*lines, rest))


def check_token(site: Site, file: Path) -> str:
    """The token that was made."""
    token = file.read_text().strip()
    assert len(token) >= 32
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_tokens(file) == Tokens(token)
    assert site.get("/", q="product").status == 200
    assert site.get("/api/sites/shop.test").status == 401
    assert site.get("/api/sites/shop.test", {"Authorization": f"Bearer {token}"}).status == 200
    return token


def test_a_file_with_two_tokens(tmp_path: Path) -> None:
    """The second is that of viewers."""
    file = tmp_path / "token"
    file.write_text("the-token-of-the-owner\n\nthe-token-of-viewers\n")
    assert read_tokens(file) == Tokens("the-token-of-the-owner", "the-token-of-viewers")


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once(folder: Path) -> None:
    """Whatever is under way."""
    with started(str(folder)) as (process, lines):
        site = Site(url_in(lines[-1]))
        with site.connect() as connection:
            connection.sendall(FORM + b"Content-Length: 9\r\n\r\n")
            site.get("/")
            process.send_signal(signal.SIGTERM)
            wait_until_refused(site)
            process.send_signal(signal.SIGINT)
            assert process.wait(600) == 130


ENDLESS = "/api/collection/sql?table=answer&q=" + quote("select levenshtein(repeat('a',400000),repeat('b',400000))")
"""A query that the database cannot interrupt."""


def begin_endless_query(site: Site, server: int) -> tuple[socket.socket, int]:
    """The connection that waits for the answer, and the process that works on it."""
    assert site.get("/api/collection/sql", q="select 1").status == 200
    (worker,) = query_workers(server)
    connection = site.connect()
    connection.sendall(f"GET {ENDLESS} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    before = processor_time_of(worker)
    while processor_time_of(worker) < before + 0.3:
        time.sleep(0.01)
    return connection, worker


def processor_time_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.proof
def test_a_query_does_not_keep_the_server_from_stopping(folder: Path) -> None:
    """It is ended at once, with an answer, and its process with it."""
    with started(str(folder)) as (process, lines):
        connection, worker = begin_endless_query(Site(url_in(lines[-1])), process.pid)
        with connection:
            process.send_signal(signal.SIGINT)
            reply = read_all(connection)
        assert b"The server is stopping" in reply
        assert process.wait(600) == 0
        assert not is_there(worker)


@pytest.mark.proof
def test_a_killed_server_leaves_no_query(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its process nor its files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with started(str(folder)) as (process, lines):
        connection, worker = begin_endless_query(Site(url_in(lines[-1])), process.pid)
        assert list(tmp_path.glob("periplus-query-*"))
        process.kill()
        connection.close()
        ends = time.monotonic() + 600
        while is_there(worker):
            assert time.monotonic() < ends
            time.sleep(0.05)
    assert not list(tmp_path.glob("periplus-query-*"))


def wait_until_refused(site: Site) -> None:
    """Until the server accepts no more connections."""
    while True:
        try:
            site.connect().close()
        except ConnectionRefusedError:
            return
        time.sleep(0.01)


def test_errors_say_what_to_do(folder: Path) -> None:
    """With exit code 2, one line and the next step."""
    ended = run_program("serve", str(folder), "--host", "0.0.0.0", text=True)
    assert ended.returncode == 2
    assert "--token-file" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_wrong_options_are_refused_before_anything_is_written(folder: Path, tmp_path: Path) -> None:
    """No token is made for a folder that is not a collection; a port in use is an error of ours."""
    with pytest.raises(periplus.UsageError, match="not a collection"):
        periplus.serve(tmp_path / "none", token_file=tmp_path / "t")
    assert not (tmp_path / "t").exists()
    (tmp_path / "short").write_text("short\n")
    with pytest.raises(periplus.UsageError, match="at least 16"):
        periplus.serve(folder, token_file=tmp_path / "short")
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(periplus.UsageError, match="cannot listen"):
        periplus.serve(folder, port=taken.getsockname()[1])


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xff\xfe"])
def test_files_without_a_token(tmp_path: Path, content: bytes) -> None:
    """An empty file must not open the door."""
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(periplus.UsageError):
        read_tokens(tmp_path / "t")


@pytest.mark.slow
def test_without_the_extra_the_message_names_it() -> None:
    """With the line to type, and nothing of the extra imported before."""
    code = (
        "import importlib.util as u, sys\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'starlette' else find(name, *rest)\n"
        "from periplus.cli.serve import serve\n"
        "from periplus.model import UsageError\n"
        "try: serve([])\n"
        "except UsageError as error: print(error, error.hint, 'starlette' in sys.modules)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert ended.stdout == (
        "periplus serve needs starlette, which is not installed Install the extra: pip install 'periplus[web]' False\n"
    )


@pytest.mark.slow
def test_programs_serve_as_the_command_does(folder: Path) -> None:
    """`periplus.open(DIR).serve()` blocks until Ctrl-C and returns."""
    code = (
        "import logging, sys, periplus\n"
        "logging.basicConfig(level=logging.INFO, stream=sys.stderr)\n"
        f"periplus.open({str(folder)!r}).serve(port=0, receive=True)\n"
        f"periplus.serve([{str(folder)!r}], port=0)\n"
        "print('done')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    assert process.stderr
    guard = threading.Timer(600, process.kill)
    guard.start()
    try:
        for receives in (True, False):
            line = process.stderr.readline()
            while "serving at" not in line:
                assert line
                line = process.stderr.readline()
            site = Site(url_in(line))
            assert site.get("/", q="product").status == 200
            assert (site.get("/indexnow").status != 404) is receives
            process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=600)
        assert out == "done\n"
        assert process.returncode == 0
    finally:
        guard.cancel()
        process.kill()
        process.communicate()
