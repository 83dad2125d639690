"""`periplus serve --crawl` runs the crawl that it shows, and ends it when it stops."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.system.typed import running, wait_until
from tests.web.asking import Site
from tests.web.crawled_live import hosts, small_lab

from periplus.assembly.collection import planned
from periplus.assembly.control import SOCKET, is_running
from periplus.lab.web.server import RunningLab, Server

pytest_plugins = ["periplus.lab.pytest_plugin"]


@pytest.fixture
def web(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    return small_lab(start_lab)


def test_the_server_runs_the_crawl_and_ends_it(web: RunningLab, tmp_path: Path) -> None:
    out = tmp_path / "c"
    options = {"wire.proxy": web.base, "politeness.delay": 0.1, "sitemaps.follow": False, "crawl.workers": 1}
    planned(out, typed=[f"http://{host}/" for host in hosts(web)], options=options).save()
    with running("serve", str(out), "--crawl", "--port", "0") as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        while "Serving" not in line:
            line = process.stderr.readline()
        url = re.search(r"http://\S+", line)
        assert url is not None
        wait_until(lambda: web.log.total > 8 and is_running(out), process)
        status = Site(url[0]).ask("GET", "/api/live", {}).json
        assert (status["kind"], status["pid"] == process.pid) == ("crawl", False)
        process.send_signal(signal.SIGINT)
        process.wait(600)
    assert not (out / SOCKET).exists()
    assert not is_running(out)


def test_one_of_both(tmp_path: Path) -> None:
    with running("serve", str(tmp_path), "--crawl", "--watch") as process:
        _, stderr = process.communicate(timeout=600)
    assert process.returncode == 2
    assert "--crawl and --watch exclude each other" in stderr
