"""`periplus serve --crawl` runs the crawl that it shows, and ends it when it stops."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.apps.serve.asking import Site
from tests.apps.serve.crawled_live import hosts, small_lab
from tests.apps.serve.query_processes import is_there
from tests.system.typed import PROGRAM, running, wait_until

from periplus.apps.serve.running import crawling
from periplus.collection.collection import existing, planned
from periplus.collection.control import ControlClient, is_running
from periplus.collection.readable import SOCKET
from periplus_lab.server import RunningLab, Server

pytest_plugins = ["periplus_lab.pytest_plugin"]


@pytest.fixture
def web(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    return small_lab(start_lab)


@pytest.mark.proof
def test_the_server_runs_the_crawl_and_ends_it(web: RunningLab, tmp_path: Path) -> None:
    out = tmp_path / "c"
    planned_crawl(web, out)
    with running("serve", str(out), "--crawl", "--port", "0", "--set", "politeness.slow_factor=0.5") as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        while "Serving" not in line:
            line = process.stderr.readline()
        url = re.search(r"http://\S+", line)
        assert url is not None
        wait_until(lambda: web.log.total > 8 and is_running(out), process)
        status = Site(url[0]).ask("GET", "/api/live", {}).json
        assert (status["kind"], status["pid"] == process.pid) == ("crawl", False)
        assert existing(out).config.politeness.slow_factor == 0.5
        process.send_signal(signal.SIGINT)
        process.wait(600)
    assert not (out / SOCKET).exists()
    assert not is_running(out)


def planned_crawl(web: RunningLab, out: Path) -> None:
    options = {"wire.proxy": web.base, "politeness.delay": 0.1, "sitemaps.follow": False, "crawl.workers": 1}
    planned(out, typed=[f"http://{host}/" for host in hosts(web)], options=options).save()


@pytest.mark.proof
def test_a_killed_server_leaves_no_crawl(web: RunningLab, tmp_path: Path) -> None:
    """It stops as if the server had stopped: everything is committed, and the collection is free for the next one."""
    out = tmp_path / "c"
    planned_crawl(web, out)
    command = [*PROGRAM, "serve", str(out), "--crawl", "--port", "0"]  # not forked: what it leaves must not be killed
    with (
        (tmp_path / "said").open("w") as said,
        subprocess.Popen(command, text=True, stdout=said, stderr=said) as process,
    ):
        wait_until(lambda: web.log.total > 8 and is_running(out), process)
        with ControlClient(out) as client:
            crawl = client.ask("status")["pid"]
        process.kill()
        ends = time.monotonic() + 120
        while is_there(crawl):
            assert time.monotonic() < ends
            time.sleep(0.05)
    assert "stopped: everything is kept" in (tmp_path / "said").read_text()
    assert not is_running(out)


def test_a_crawl_that_runs_is_named_at_once(web: RunningLab, tmp_path: Path) -> None:
    """Before anything is served."""
    out = tmp_path / "c"
    planned_crawl(web, out)
    with running("crawl", "-o", str(out)) as crawl:
        wait_until(lambda: is_running(out), crawl)
        with running("serve", str(out), "--crawl", "--port", "0") as process:
            _, stderr = process.communicate(timeout=600)
        assert process.returncode == 3
        assert str(crawl.pid) in stderr
        assert "serve without --crawl" in " ".join(stderr.split())
        assert "Serving" not in stderr


def test_a_crawl_that_fails_is_reported(tmp_path: Path) -> None:
    """And the server goes on."""
    said: list[str] = []
    with crawling([], "crawl", said.append):
        pass
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "periplus.toml").write_text("not = [toml")
    with crawling([tmp_path / "c"], "crawl", said.append) as (process,):
        ends = time.monotonic() + 120
        while not said:
            assert time.monotonic() < ends
            time.sleep(0.05)
    assert process.returncode == 2
    assert "ended with exit code 2; the server goes on without it" in said[0]


def test_one_of_both(tmp_path: Path) -> None:
    with running("serve", str(tmp_path), "--crawl", "--watch") as process:
        _, stderr = process.communicate(timeout=600)
    assert process.returncode == 2
    assert "--crawl and --watch exclude each other" in stderr
