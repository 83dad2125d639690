"""What can go wrong in `periplus crawl`: seeds that lead nowhere, very many of them, a full disk, no name server."""

from __future__ import annotations

import json
import logging
import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
from tests.lab.crawling import crawl, rows, standing
from warcio.archiveiterator import ArchiveIterator

from periplus.cli import main
from periplus_lab import World
from periplus_lab.hostile import DOMAIN
from periplus_lab.server import RunningLab

PROGRAM = [sys.executable, "-c", "from periplus.cli import main; main()"]
SETTINGS = """
[politeness]
delay = 0.0
slow_factor = 0.0
[retries]
backoff = 0.02
max_backoff = 0.05
"""
LARGEST_FILE = 80_000


class Said(NamedTuple):
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


Typed = Callable[..., Said]


@pytest.fixture(scope="module")
def web() -> Iterator[RunningLab]:
    """Five small sites, whose time stands still."""
    with standing(World(28, 5, pages=90)) as lab:
        yield lab


@pytest.fixture
def words(web: RunningLab, tmp_path: Path) -> list[str]:
    """What every crawl of this web begins with."""
    settings = tmp_path / "settings.toml"
    settings.write_text(SETTINGS)
    return ["crawl", "--proxy", web.base, "--config", str(settings), "--workers", "1", "--no-sitemaps"]


@pytest.fixture
def typed(words: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """The program in this process, from arguments to exit code."""

    def type_it(*more: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["periplus", *words, *more])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Said(ended.value.code if isinstance(ended.value.code, int) else 0, *capfd.readouterr())

    return type_it


@pytest.mark.proof
@pytest.mark.parametrize(
    ("seed", "reason"),
    [
        (f"http://endless-sitemap.{DOMAIN}/sitemap.xml", "unwanted-type 1"),
        (f"http://close-before-head.{DOMAIN}/", "closed-early 3"),
        (f"http://robots-5xx.{DOMAIN}/", "robots-unreachable 1"),
        ("http://{host}/nothing/is/here", "404 1"),
        ("http://nobody.lab.test/", "robots-unreachable 1"),
    ],
    ids=["no-page", "no-answer", "no-rules", "no-such-page", "no-such-host"],
)
def test_a_seed_that_leads_nowhere_says_why(
    web: RunningLab, typed: Typed, tmp_path: Path, seed: str, reason: str
) -> None:
    """Exit code 1, the reason in one line, and no traceback."""
    [honest, *_] = [site.host for site in web.world.sites() if site.gone == 404]
    said = typed(seed.format(host=honest), "-o", str(tmp_path / "c"), "--depth", "0")
    assert said.returncode == 1
    [line] = [
        line for line in (said.stdout + said.stderr).splitlines() if line.startswith("nothing could be fetched: ")
    ]
    assert reason in line
    assert "Traceback" not in said.stderr


def test_thousands_of_seeds(web: RunningLab, typed: Typed, tmp_path: Path) -> None:
    """From a file with remarks and repeats; each is known once, and the limit holds."""
    hosts = [site.host for site in web.world.sites()]
    seeds = [f"http://{hosts[number % 5]}/?page={number}" for number in range(2_000)]
    (tmp_path / "seeds").write_text("# many\n\n" + "\n".join(seeds + seeds[:100]) + "\n")
    said = typed("--seeds", str(tmp_path / "seeds"), "-o", str(tmp_path / "c"), "--limit", "50", "--json")
    found = json.loads(said.stdout)
    assert (said.returncode, found["ended"], found["pages"]) == (0, "limit", 50)
    assert found["sources"]["seed"] == 2_000


@pytest.mark.proof
def test_a_full_disk_is_said_and_survived(web: RunningLab, words: list[str], typed: Typed, tmp_path: Path) -> None:
    """Exit code 3, what could not be written, and where to go on; then the crawl ends as if nothing had been."""
    out = tmp_path / "c"

    def no_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))

    first = [site.url for site in web.world.sites()]
    command = [*PROGRAM, *words, *first, "-o", str(out)]
    before = web.log.total
    stopped = subprocess.run(command, capture_output=True, text=True, timeout=600, preexec_fn=no_room, check=False)
    assert stopped.returncode == 3, stopped.stderr
    assert "cannot be written" in stopped.stderr or "cannot write" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    asked = {visit.url for visit in web.log.visits()[before:]}

    done = typed("-o", str(out), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ended"] == "complete"
    pages = [row["url"] for row in rows(out, "select url from pages")]
    assert len(pages) == len(set(pages)) == json.loads(done.stdout)["pages"] > 60
    assert asked < {row["url"] for row in rows(out, "select url from fetches")}
    for path in (out / "warc").glob("*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()


def test_a_folder_that_cannot_be_made(typed: Typed) -> None:
    """Exit code 3, and which folder it is."""
    said = typed("http://a.lab.test/", "-o", "/proc/nowhere/c")
    assert said.returncode == 3
    assert "/proc/nowhere" in said.stderr
    assert "Traceback" not in said.stderr


class _Hub(BaseHTTPRequestHandler):
    """The home page of every site, which links to those of five others."""

    def do_GET(self) -> None:
        port = self.headers["Host"].partition(":")[2]
        links = "".join(f'<a href="http://s{number}.test:{port}/">s</a>' for number in range(1, 6))
        page = f"<!doctype html><title>{self.headers['Host']}</title>{links}"
        body = b"" if self.path == "/robots.txt" else page.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if body else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.mark.proof
def test_a_name_server_that_fails_for_a_while_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The crawl says so when it begins and ends, and then fetches every page; it gives up no site."""
    failing = 25
    looked_up: list[str] = []

    def answer(host: str, *_: object, **_more: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        if host != "s0.test":
            looked_up.append(host)
            if len(looked_up) <= failing:
                raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))]

    monkeypatch.setattr("periplus.engine.fetch.dns.socket.getaddrinfo", answer)
    monkeypatch.setattr("periplus.engine.frontier.reach._FIRST_INTERVAL", 0.05)
    monkeypatch.setattr("periplus.engine.frontier.reach._LONGEST_INTERVAL", 0.1)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as server, caplog.at_level(logging.WARNING, "periplus.engine"):
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        options: dict[str, object] = {
            "scope.kind": "any", "dns.failure_lifetime": 0.0, "politeness.delay": 0.0, "retries.backoff": 0.02,
            "wire.allow_private": [f"s{number}.test:{server.server_port}" for number in range(6)],
        }  # fmt: skip
        [status] = crawl(tmp_path, [f"http://s0.test:{server.server_port}/"], options)
        server.shutdown()
    assert (status.crawl.pages, status.frontier.queued, dict(status.crawl.excluded)) == (6, 0, {})
    assert failing < len(looked_up) < failing + 10
    said = [record.message for record in caplog.records]
    assert re.fullmatch(r"cut off: none of \d sites can be reached \(dns-unavailable\); .*", said[0])
    assert re.fullmatch(r"servers can be reached again after .*; the crawl goes on", said[-1])
