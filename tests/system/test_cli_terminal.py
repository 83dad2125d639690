"""The program between a terminal, a pipe and Ctrl-C: whole lines, quiet ends, and errors that name the next step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.system.small_collection import HOME, small_collection
from tests.system.typed import Run, run_program


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_collection(tmp_path_factory.mktemp("small") / "kept")


@pytest.fixture
def typed(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The program at a very narrow terminal."""
    monkeypatch.setenv("COLUMNS", "12")
    return run


@pytest.mark.parametrize(
    "args",
    [
        ("info",),
        ("query", "select url from urls"),
        *(pytest.param(each, marks=pytest.mark.slow) for each in (("info", "--all"), ("info", "--json"), ("changes",))),
    ],
)
def test_reader_that_ends_early_is_not_an_error(collection: Path, args: tuple[str, ...]) -> None:
    """`periplus info docs | head -0`: code 0 and nothing on stderr."""
    verb, *rest = args
    reading, writing = os.pipe()
    os.close(reading)
    done = run_program(verb, str(collection), *rest, stdout=writing)
    os.close(writing)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"Broken pipe" not in done.stderr


def test_urls_are_whole_in_a_pipe(typed: Run, collection: Path) -> None:
    """However narrow the terminal is said to be, a program gets every URL on one line."""
    urls = [line.split()[0] for line in typed("query", str(collection), "select url from urls").stdout.splitlines()]
    assert f"{HOME}" in urls
    site = HOME.split("/")[2]
    assert any(line.split()[:1] == [site] for line in typed("info", str(collection)).stdout.splitlines())


def test_info_is_short_unless_all_is_wanted(typed: Run, collection: Path) -> None:
    """One table of sites after the totals; every reason has its explanation with `--all`."""
    short, whole = (typed("info", str(collection), *args).stdout for args in ((), ("--all",)))
    assert len(short.splitlines()) <= 20
    assert "1 sites" not in short + whole
    assert "1 seeds" not in short + whole


@pytest.mark.parametrize(("module", "args"), [("periplus.cli.app", ()), ("periplus.collection", ("info", "x"))])
def test_ctrl_c_while_modules_are_imported(module: str, args: tuple[str, ...]) -> None:
    """Exit code 130 and no traceback, even before the option parser is there."""
    code = (
        "import sys\n"
        "class Pressed:\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "from periplus.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, timeout=600, check=False)
    assert done.returncode == 130
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("verb", ["audit", "ulinks"])
@pytest.mark.parametrize("folder", ["/no/such/dir", "./nothing", "no/such/dir"])
def test_missing_folder_is_not_taken_for_a_host(typed: Run, verb: str, folder: str) -> None:
    """Exit code 2; nothing is requested."""
    done = typed(verb, folder)
    assert done.returncode == 2
    assert f"no such folder: {folder}" in done.stderr


@pytest.mark.parametrize("proxy", ["nonsense", "ftp://127.0.0.1:21", "http://", "localhost:port"])
def test_wrong_proxy_is_refused(typed: Run, tmp_path: Path, proxy: str) -> None:
    """Before anything is written, with the value and an example."""
    done = typed("crawl", "http://a.test/", "-o", str(tmp_path / "out"), "--proxy", proxy)
    assert done.returncode == 2
    assert repr(proxy) in done.stderr
    assert "http://127.0.0.1:3128" in done.stderr
    assert not (tmp_path / "out").exists()
