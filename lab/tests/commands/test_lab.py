"""`periplus lab` from outside: up, served from, and ended as a person or a program would."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import msgspec
import pytest
from tests.system.typed import Program

from periplus_lab import World

SMALL = ("--sites", "3", "--pages", "60", "--seed", "11")


@contextmanager
def running(*options: str) -> Iterator[subprocess.Popen[str]]:
    with Program("lab", *SMALL, *options, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def first_line(process: subprocess.Popen[str], wanted: Callable[[str], bool]) -> str:
    assert process.stdout
    return next(line for line in process.stdout if wanted(line))


def get(port: int, host: str, target: str = "/") -> bytes:
    client = HTTPConnection("127.0.0.1", port, timeout=60)
    client.request("GET", target, headers={"Host": host})
    body = client.getresponse().read()
    client.close()
    return body


def test_a_program_learns_where_it_is_and_ends_it(tmp_path: Path) -> None:
    """`--json`: one object, the same web as the library's for the seed, every visit in the file, exit code 0."""
    log = tmp_path / "visits.jsonl"
    with running("--json", "--tls", "--speed", "0", "--log", str(log)) as process:
        said = msgspec.json.decode(first_line(process, lambda line: line.startswith("{")))
        world = World(11, 3, pages=60)
        host = world.hosts[0]
        assert get(said["port"], host) == world.content(f"http://{host}/", world.epoch)
        assert get(said["port"], "127.0.0.1", "/ca.pem").startswith(b"-----BEGIN CERTIFICATE")
        assert said["tls_port"] not in (None, 0, said["port"])
        process.send_signal(signal.SIGINT)
        assert process.wait(600) == 0
    assert [msgspec.json.decode(line)["target"] for line in log.read_text().splitlines()] == ["/", "/ca.pem"]


def test_a_person_is_told_the_sites_and_the_ways_in() -> None:
    """A table of the sites, and lines to copy."""
    with running() as process:
        host = World(11, 3, pages=60).sites()[0].host
        first_line(process, lambda line: host in line)
        line = first_line(process, lambda line: "curl -x" in line)
        assert line.split()[-1] == f"http://{host}/"
        process.send_signal(signal.SIGTERM)
        assert process.wait(600) == 0
        assert process.stderr
        assert "0 requests served" in process.stderr.read()


@pytest.mark.parametrize(("option", "word"), [(("--speed", "inf"), "speed"), (("--port", "99999"), "port")])
def test_nonsense_is_told_in_a_line(option: tuple[str, str], word: str) -> None:
    """Wrong usage ends with code 2 and no traceback."""
    with running(*option) as process:
        assert process.wait(600) == 2
        assert process.stderr
        said = process.stderr.read()
        assert word in said
        assert "Traceback" not in said
