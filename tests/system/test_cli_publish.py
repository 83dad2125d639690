"""A folder is scanned, served and audited at the command line, and read by programs of others."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from socket import socket

import pytest
from lxml import etree
from tests.published.receiver import receiving
from tests.system.typed import Program, run_program

PAGES = 25
WORDS = [f"word{number}" for number in range(2_000)]


def periplus(*words: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    return run_program(*words, text=True, timeout=timeout)


def write_page(folder: Path, number: int, base: str, version: int = 0) -> None:
    chosen = random.Random(f"{number}-{version}")
    name = "index.html" if number == 0 else f"page{number}.html"
    links = "".join(
        f'<li><a href="/{f"page{other}.html" if other else ""}">Page number {other}</a></li>' for other in range(PAGES)
    )
    text = " ".join(chosen.choice(WORDS) for _ in range(200))
    (folder / name).write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Page number {number} of the site</title>"
        f'<meta name="description" content="What page {number} tells of {chosen.choice(WORDS)}, in some detail">'
        f'<link rel="canonical" href="{base}{name if number else ""}"></head><body><nav><ul>{links}</ul></nav>'
        f"<main><h1>Page number {number}</h1><p>{text}</p></main></body></html>"
    )
    at = time.time() - 1_000_000 + number * 5_000 if not version else time.time()
    os.utime(folder / name, (at, at))


@contextmanager
def serving(folder: Path, port: int) -> Iterator[None]:
    with Program("publish", "serve", "-o", str(folder), "--port", str(port), stderr=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + 600
            while get(port, "/sitemap.xml") is None:
                assert time.monotonic() < until, "the server did not start"
                time.sleep(0.1)
            yield
        finally:
            server.terminate()


def get(port: int, path: str) -> bytes | None:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.read() if answer.status == 200 else None
    except OSError:
        return None
    finally:
        connection.close()


@pytest.fixture
def port() -> int:
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.proof
def test_a_published_folder_is_faultless_for_auditors_and_other_readers(tmp_path: Path, port: int) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    base = f"http://127.0.0.1:{port}/"
    for number in range(PAGES):
        write_page(folder, number, base)
    done = periplus("publish", "scan", str(folder), "--base-url", base, "-o", str(folder), "--robots", "--json")
    assert json.loads(done.stdout)["scan"]["new"] == PAGES, done.stderr
    write_page(folder, 3, base, version=1)
    periplus("publish", "scan", "-o", str(folder))
    with serving(folder, port):
        options = ("--allow-private", "127.0.0.1", "--delay", "0", "--json")
        audit = json.loads(periplus("audit", base, *options).stdout)
        assert audit["pages"] == PAGES
        assert [found["name"] for found in audit["findings"] if found["severity"] in ("error", "warning")] == []
        read_by_usp = pytest.importorskip("usp.tree").sitemap_tree_for_homepage(base, use_known_paths=False)
        assert len({page.url for page in read_by_usp.all_pages()}) == PAGES
        sitemap, feed = get(port, "/sitemap.xml"), get(port, "/changes.atom")
        assert get(port, "/.periplus-publish/publish.toml") is None
    assert sitemap is not None
    assert feed is not None
    assert len(etree.fromstring(sitemap)) == PAGES
    read = pytest.importorskip("feedparser").parse(feed)
    assert not read.bozo
    assert len(read.entries) == 1


def test_push_sends_once_and_says_what_was_answered(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    base = "https://www.example.org/"
    for number in range(3):
        write_page(folder, number, base)
    with receiving() as receiver:
        periplus("publish", "scan", str(folder), "--base-url", base, "-o", str(folder))
        settings = folder / ".periplus-publish" / "publish.toml"
        settings.write_text(settings.read_text().replace("[push]", f'[push]\nindexnow = ["{receiver.url}/indexnow"]'))
        periplus("publish", "scan", "-o", str(folder))
        write_page(folder, 1, base, version=1)
        periplus("publish", "scan", "-o", str(folder))
        early = periplus("publish", "push", "-o", str(folder))
        assert early.stdout == "1 message waiting\n", early.stderr
        sent = periplus("publish", "push", "--now", "-o", str(folder))
        assert sent.stdout == f"indexnow {receiver.url}/indexnow: 1 message: 200\n0 messages waiting\n"
        assert len(receiver.got) == 1
        write_page(folder, 2, base, version=1)
        periplus("publish", "scan", "-o", str(folder))
        receiver.statuses = [422]
        refused = periplus("publish", "push", "--now", "--json", "-o", str(folder))
        assert refused.returncode == 1
        assert json.loads(refused.stdout)["answer"] == "422: refused, not sent again"
