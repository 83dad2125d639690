"""A package of ours, replayed by pywb: every page, style and picture comes back byte by byte.

pywb has an environment of its own, since it needs other versions of packages: PERIPLUS_PYWB names the folder with its
commands, or they are on the path. Without it the test is skipped.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
from tests.archives.foreign import Capture, html, write_warc
from tests.archives.test_whole_pages import crawl
from tests.archives.whole_site import whole_site

from periplus.apps.export.exporting import Export, ExportOptions
from periplus.collection.collection import existing
from periplus.collection.importing import import_archives

pytestmark = pytest.mark.slow

PLACE = "http://old.test"
PAGES = 20
STYLE = (("Content-Type", "text/css"),)
PICTURE = (("Content-Type", "image/png"),)


def captures() -> list[Capture]:
    """Twenty pages, each with a style and a picture of its own."""
    found = []
    for number in range(PAGES):
        head = f'<link rel=stylesheet href="/{number}.css"><img src="/{number}.png">'
        parts = [
            (f"{PLACE}/page/{number}", html(f"page {number}", f"/page/{number + 1}", head=head), None),
            (f"{PLACE}/{number}.css", f"body {{ color: #{number:06d} }}".encode() * 50, STYLE),
            (f"{PLACE}/{number}.png", b"\x89PNG\r\n\x1a\n" + bytes([number, 255, 0]) * 500, PICTURE),
        ]
        for place, (url, body, headers) in enumerate(parts):
            at = f"2020-01-01T00:{number:02d}:{place:02d}Z"
            found.append(Capture(url, body, at) if headers is None else Capture(url, body, at, headers=headers))
    return found


@pytest.fixture
def pywb(tmp_path: Path) -> Path:
    """The folder with the commands of pywb."""
    named = os.environ.get("PERIPLUS_PYWB")
    found = shutil.which("wb-manager", path=named)
    if found is None:
        pytest.skip("pywb is not installed: set PERIPLUS_PYWB to the folder with wb-manager and wayback")
    return Path(found).parent


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail("pywb did not start")


@contextmanager
def replaying(pywb: Path, package: Path, home: Path) -> Iterator[int]:
    """pywb with a package as its collection: its port."""
    home.mkdir()
    for words in (("init", "old"), ("add", "old", "--unpack-wacz", str(package))):
        subprocess.run([str(pywb / "wb-manager"), *words], cwd=home, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    server = subprocess.Popen(
        [str(pywb / "wayback"), "--port", str(number), "--bind", "127.0.0.1"],
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(number, server)
        yield number
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture
def port(pywb: Path, tmp_path: Path) -> Iterator[int]:
    """pywb with a package of ours as its collection."""
    archive = write_warc(tmp_path / "foreign.warc.gz", captures())
    import_archives(tmp_path / "old", [archive])
    Export(existing(tmp_path / "old"), ExportOptions("wacz")).to_path(tmp_path / "old.wacz")
    with replaying(pywb, tmp_path / "old.wacz", tmp_path / "pywb") as number:
        yield number


def _replayed(port: int, digits: str, url: str) -> tuple[int, bytes]:
    """Status and body that pywb has for a URL."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", f"/old/{digits}id_/{url}")
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_pages_styles_and_pictures_are_replayed(port: int) -> None:
    """As they were, by their URL and time."""
    for capture in captures():
        digits = "".join(filter(str.isdecimal, capture.date))
        assert _replayed(port, digits, capture.url) == (200, capture.body), capture.url


def test_whole_pages_are_replayed(pywb: Path, tmp_path: Path) -> None:
    """A crawl of a hundred pages with their files: no file of any page is missing, and each is byte-equal."""
    with whole_site() as site:
        crawl(site, tmp_path / "c", 100)
        wanted, sent = site.urls_of(100), site.sent
    package = tmp_path / "c.wacz"
    Export(existing(tmp_path / "c"), ExportOptions("wacz")).to_path(package)
    validating = [str(Path(sys.executable).with_name("wacz")), "validate", "--file", str(package)]
    done = subprocess.run(validating, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with replaying(pywb, package, tmp_path / "pywb") as port:
        for url in wanted:
            status, body = _replayed(port, "2", url)
            assert (status, body) == (302 if url.endswith("/moved.png") and "/i/" not in url else 200, sent[url]), url
    assert len(wanted) == 617
