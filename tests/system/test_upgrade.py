"""`periplus cluster restart`: the workers of a crawl that runs are replaced, one by one, by those of the next version.

The next version is a copy of this one with another number and another field in a message, which is installed in an
environment of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb, page
from tests.system.test_cli_resize import HOSTS, Endless, arguments
from tests.system.typed import Run, running, wait_until

import periplus
from periplus.collection.restarting import RestartRequest, request_restart, requested_restart
from periplus.engine.sharding.builds import Build
from periplus.store.layout import Layout
from periplus.store.tables import read

SHARDS = 3
DELAY = 0.05


def next_minor(by: int = 1) -> str:
    major, minor, *_ = periplus.__version__.split(".")
    return f"{major}.{int(minor) + by}.0"


class Installed:
    """A version that is installed beside this one."""

    def __init__(self, folder: Path, version: str) -> None:
        sources = copied(folder / "sources", version)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
        self.python = folder / "venv/bin/python"
        asked = [str(self.python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        packages = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
        Path(packages, "next.pth").write_text(f"{sources}\n{sysconfig.get_path('purelib')}\n")

    def run(self, *typed: str) -> subprocess.CompletedProcess[str]:
        """A command, typed in that environment."""
        command = [str(self.python), "-m", "periplus", *typed]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)

    def workers(self) -> set[str]:
        """The worker processes that run it."""
        found = set()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0] == bytes(self.python) and b"periplus.engine.sharding.joining" in words:
                found.add(process.name)
        return found


def copied(folder: Path, version: str) -> Path:
    """A copy of the sources with another number, and with another field in a message."""
    here = Path(next(iter(periplus.__path__)))
    shutil.copytree(here, folder / "periplus", ignore=shutil.ignore_patterns("__pycache__"))
    _edit(folder / "periplus/__init__.py", f'"{periplus.__version__}"', f'"{version}"')
    messages = folder / "periplus/engine/sharding/messages.py"
    _edit(messages, "    is_quiet: bool = True\n", '    is_quiet: bool = True\n    mood: str = "eager"\n')
    return folder


def _edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert text.count(before) == 1, path
    path.write_text(text.replace(before, after))


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    """Four sites whose pages never end, until they do."""
    with ScriptedWeb(Endless({f"{host}/": page(f"home of {host}", f"{host}/p0") for host in HOSTS})) as web:
        yield web


def crawling(web: ScriptedWeb, folder: Path) -> list[str]:
    """A crawl by three processes that does not end by itself."""
    return [
        *arguments(
            web,
            folder,
            **{
                "politeness.delay": DELAY,
                "politeness.pages_per_visit": 1,
                "crawl.workers": SHARDS,
                "absence.enabled": False,  # its probes are requests of their own, after some hundred pages
            },
        ),
        "--json",
    ]


@pytest.mark.proof
def test_workers_of_the_next_version_replace_those_that_run(web: ScriptedWeb, tmp_path: Path) -> None:
    """Nothing is lost, nothing is fetched twice, every site is left alone as long as before; and then back again."""
    folder, later = tmp_path / "docs", Installed(tmp_path, next_minor())
    endless = web.said
    assert isinstance(endless, Endless)
    with running(*crawling(web, folder)) as crawl:
        wait_until(lambda: len(web.asked) > 20, crawl)
        done = later.run("cluster", "restart", str(folder))
        assert done.returncode == 0, done.stderr
        assert f"all shards run Periplus {next_minor()} now" in done.stdout
        workers = later.workers()
        assert len(workers) == SHARDS
        before = len(web.asked)
        wait_until(lambda: len(web.asked) > before + 20, crawl)
        assert later.workers() == workers, "a worker has died"
        endless.is_finished = True
        said, spoke = crawl.communicate(timeout=600)
    assert crawl.returncode == 0, spoke
    assert f"all shards were restarted, by Periplus {next_minor()}" in spoke
    assert not Layout(folder).restart_request.exists()
    summary = json.loads(said)
    assert (summary["ended"], summary["pages"]) == ("complete", len(web.said))
    pages = Counter(url for url in web.asked if not url.endswith("/robots.txt"))
    assert pages == dict.fromkeys(web.said, 1)
    check_pauses(folder)


def check_pauses(folder: Path) -> None:
    """Between the beginnings of two requests to a host there is its delay, by the clocks of the workers."""
    times: dict[str, list[float]] = defaultdict(list)
    layout = Layout(folder)
    for row in read(layout.tables, "fetches", spooled=layout.spooled, columns=["url", "started_at"]).to_pylist():
        times[row["url"].split("/")[2]].append(row["started_at"].timestamp())
    assert len(times) == len(HOSTS)
    for each in times.values():
        assert min(after - before for before, after in pairwise(sorted(each))) >= DELAY - 1e-4


@pytest.mark.slow
def test_actors_of_the_next_version_replace_those_that_run(
    web: ScriptedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a cluster: what is installed is replaced in its place, and Ray starts each actor again."""
    pytest.importorskip("ray", reason="the cluster is an extra: pip install periplus-ray")
    folder, installed = tmp_path / "docs", tmp_path / "installed"
    installed.symlink_to(next(iter(periplus.__path__)).removesuffix("periplus"))
    later = copied(tmp_path / "later", next_minor())
    monkeypatch.setenv("PYTHONPATH", str(installed))
    endless = web.said
    assert isinstance(endless, Endless)
    with running(*crawling(web, folder), "--cluster", "local") as crawl:
        wait_until(lambda: len(web.asked) > 20, crawl)
        installed.unlink()
        installed.symlink_to(later)
        command = [sys.executable, "-m", "periplus", "cluster", "restart", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        logs = [next(Layout(folder).log(number).glob("*.log")) for number in range(SHARDS)]
        assert all(next_minor().encode() in log.read_bytes()[:100] for log in logs)
        before = len(web.asked)
        wait_until(lambda: len(web.asked) > before + 20, crawl)
        endless.is_finished = True
        said, spoke = crawl.communicate(timeout=600)
    assert crawl.returncode == 0, spoke
    assert "was lost" not in spoke
    summary = json.loads(said)
    assert (summary["ended"], summary["pages"]) == ("complete", len(web.said))
    assert Counter(url for url in web.asked if not url.endswith("/robots.txt")) == dict.fromkeys(web.said, 1)
    check_pauses(folder)


@pytest.mark.proof
def test_a_version_that_is_not_adjacent_is_refused(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """The crawl goes on as it was, and who asks is told why."""
    folder = tmp_path / "docs"
    layout = Layout(folder)
    with running(*crawling(web, folder)) as crawl:
        wait_until(lambda: len(web.asked) > 20, crawl)
        build = Build(next_minor(by=2), Build.own().protocol, Build.own().state_format)
        request_restart(layout, RestartRequest(sys.executable, build))
        wait_until(lambda: (asked := requested_restart(layout)) is not None and bool(asked.refused), crawl)
        refused = requested_restart(layout)
        assert refused is not None
        assert "only adjacent versions run together" in refused.refused
        before = len(web.asked)
        wait_until(lambda: len(web.asked) > before + 5, crawl)
        crawl.kill()


@pytest.mark.proof
def test_a_version_that_does_not_start_leaves_the_crawl_as_it_was(web: ScriptedWeb, tmp_path: Path) -> None:
    """Its installation is broken: the shard that was to be restarted goes on, and who asks is told why."""
    folder = tmp_path / "docs"
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho No module named periplus >&2\nexit 1\n")
    broken.chmod(0o755)
    layout = Layout(folder)
    endless = web.said
    assert isinstance(endless, Endless)
    with running(*crawling(web, folder)) as crawl:
        wait_until(lambda: len(web.asked) > 20, crawl)
        request_restart(layout, RestartRequest(str(broken), Build.own()))
        wait_until(lambda: (asked := requested_restart(layout)) is not None and bool(asked.refused), crawl)
        refused = requested_restart(layout)
        assert refused is not None
        assert refused.refused == f"{broken} cannot run shard 0: its worker ended at its start"
        before = len(web.asked)
        wait_until(lambda: len(web.asked) > before + 20, crawl)
        endless.is_finished = True
        said, spoke = crawl.communicate(timeout=600)
    assert crawl.returncode == 0, spoke
    assert json.loads(said)["pages"] == len(web.said)
    assert Counter(url for url in web.asked if not url.endswith("/robots.txt")) == dict.fromkeys(web.said, 1)
    check_pauses(folder)


def test_without_a_crawl_there_is_nothing_to_restart(run: Run, web: ScriptedWeb, tmp_path: Path) -> None:
    """It says so, and leaves nothing behind."""
    folder = tmp_path / "docs"
    assert run(*crawling(web, folder), "--limit", "5").returncode == 0
    ended = run("cluster", "restart", str(folder))
    assert ended.returncode == 2
    assert "no crawl runs" in ended.stderr
    assert not Layout(folder).restart_request.exists()
