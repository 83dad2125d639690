"""Receivers as processes of their own: what a kill leaves behind, and the way of a change from a site to the search."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.apps.serve.receivers.receiving import KEY, collection, crawled, serving, waiting
from tests.lab.scripted_web import ScriptedWeb, page
from tests.system.typed import Program

from periplus.collection.collection import CollectionSetup
from periplus.formats import indexnow

SITE, KEY_FILE = "http://a.test/", f"http://a.test/{KEY}.txt"
PATIENCE = 300.0
"""Seconds to wait for another process: on a busy machine one takes ten to start."""


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    with ScriptedWeb({SITE: page("home"), KEY_FILE: KEY}) as scripted:
        yield scripted


@contextmanager
def command(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command of Periplus that runs until the block ends."""
    process = Program(*arguments, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)


@contextmanager
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`periplus serve --receive`, once it listens, and its port."""
    with command("serve", str(folder), "--port", "0", "--receive") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(rb"Serving .* at http://[^/]*:(\d+)", line):
                yield process, int(found[1])
                return
        raise AssertionError("the server ended before it listened")


def ask(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def submit(port: int, *urls: str) -> int:
    [body] = indexnow.write_batches("a.test", urls, KEY)
    return ask(port, "POST", "/indexnow", body)[0]


def report(port: int, url: str) -> int:
    return ask(port, "POST", "/api/changed", json.dumps([url]).encode())[0]


def wait_for(is_so: Callable[[], bool], what: str) -> float:
    """Seconds until something is so."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() < began + PATIENCE, what
        time.sleep(0.05)
    return time.monotonic() - began


def kill(process: subprocess.Popen[bytes]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.proof
def test_killed_server_loses_no_message(tmp_path: Path, web: ScriptedWeb) -> None:
    """Killed right after an answer: messages whose key was not checked yet are checked by the next server."""
    made = collection(tmp_path / "a", [SITE], web.settings)
    urls = [f"{SITE}{number}" for number in range(5)]
    web.failing.add(KEY_FILE)
    with served(made.folder) as (server, port):
        statuses = [submit(port, urls[0]), submit(port, *urls[1:3]), report(port, urls[3])]
        kill(server)
    assert statuses == [202, 202, 200]
    assert waiting(made) == [urls[3]]
    web.failing.clear()
    with serving(made.folder) as server:
        wait_for(lambda: len(waiting(made)) == 4, "the held messages are released")
        assert submit(urlsplit(server.url).port or 0, urls[4]) == 200
    assert sorted(waiting(made)) == urls
    for url in urls:
        web.said[url] = page(url)
    crawled(made)
    assert {url: web.asked.count(url) for url in urls} == dict.fromkeys(urls, 1)
    assert waiting(made) == []


@pytest.mark.slow
def test_killed_crawl_loses_no_url(tmp_path: Path, web: ScriptedWeb) -> None:
    """A watch that is killed while messages arrive: each URL is fetched by it or by the next one."""
    made = crawled_collection(tmp_path, web)
    urls = [f"{SITE}{number}" for number in range(30)]
    for url in urls:
        web.said[url] = page(url)
    with served(made.folder) as (_, port):
        assert submit(port, urls[0]) == 202
        wait_for(lambda: submit(port, urls[0]) == 200, "the key is checked")
        with command("watch", str(made.folder), "--budget", "10000000") as watch:
            assert submit(port, *urls[:20]) == 200
            wait_for(lambda: any(url in web.asked for url in urls), "one of them is fetched")
            assert submit(port, *urls[20:]) == 200
            kill(watch)
        with command("watch", str(made.folder), "--budget", "10000000"):
            wait_for(lambda: set(urls) <= set(web.asked) and not waiting(made), "all are fetched")


def crawled_collection(tmp_path: Path, web: ScriptedWeb, **options: object) -> CollectionSetup:
    made = collection(tmp_path / "a", [SITE], web.settings | options)
    crawled(made)
    return made


@pytest.mark.slow
def test_from_a_message_to_the_search(
    tmp_path: Path, web: ScriptedWeb, record_property: Callable[[str, object], None]
) -> None:
    """A new page and a changed one are pushed, received, fetched and found, within a minute each."""
    pytest.importorskip("tantivy")
    changing = f"{SITE}changing"
    web.said[SITE] = page("home", changing)
    web.said[changing] = page("marigold")
    made = crawled_collection(tmp_path, web, **{"refresh.shortest": 1.0})

    def finds(word: str) -> bool:
        status, body = ask(port, "GET", f"/api/search?q={word}")
        return status == 200 and word in body.decode() and bool(json.loads(body)["results"])

    folder = str(made.folder)
    with (
        command("index", folder, "--follow"),
        command("watch", folder, "--budget", "10000000"),
        served(made.folder) as (_, port),
    ):
        wait_for(lambda: finds("marigold"), "the first index is made")
        web.said[f"{SITE}new"] = page("snapdragon")
        assert submit(port, f"{SITE}new") == 202
        fetched = wait_for(lambda: f"{SITE}new" in web.asked, "the new page is fetched")
        found = fetched + wait_for(lambda: finds("snapdragon"), "the new page is found")
        web.said[changing] = page("delphinium")
        before = web.asked.count(changing)
        assert submit(port, changing) == 200
        again = wait_for(lambda: web.asked.count(changing) > before, "the changed page is fetched")
        refound = again + wait_for(lambda: finds("delphinium"), "the changed page is found")
    record_property("seconds", {"new": (fetched, found), "changed": (again, refound)})
