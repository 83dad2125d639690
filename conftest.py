"""What all tests share: where conformance data and temporary folders are, and how deep hypothesis digs."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from multiprocessing.util import Finalize
from pathlib import Path

import pytest
from tests.covering import ROOTS
from tests.hypothesis_depth import load_profile
from tests.system.typed import fork_for_multiprocessing

from periplus.content.scan import Columns

ROOT = Path(__file__).resolve().parent
CORPUS = Path(os.environ.get("PERIPLUS_CORPUS", ROOT.parent / "shared" / "corpus"))

load_profile()

MEMORY = Path("/dev/shm")
RARELY = (100_000, 20, 50)
"""Thresholds of the garbage collector, as a crawl sets them: thousands of tests are many objects and hardly a cycle."""
LEAST_MEMORY = 8 << 30
"""Bytes that must be free in memory for temporary folders to be there: several times what a run holds at once."""


def pytest_configure(config: pytest.Config) -> None:
    """Put temporary folders in memory where there is room: thousands of commits wait for a disk otherwise.

    And let Python keep bytecode: tests start hundreds of programs, and each would compile all sources again. Their
    linear algebra is small: threads for it, which every one of them would start, only take time from the others.
    """
    gc.set_threshold(*RARELY)
    _begin_elsewhere(config)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _keep_the_key_of_the_user()
    fork_for_multiprocessing()
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= LEAST_MEMORY:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
        _keep_temporary_files_in_memory()


def _keep_temporary_files_in_memory() -> None:
    """Put temporary folders of tested programs in memory too. They are removed last, after those of multiprocessing."""
    if "TMPDIR" in os.environ:  # of the user, or of the process that started this worker
        return
    folder = tempfile.mkdtemp(prefix="periplus-tests-", dir=MEMORY)
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    Finalize(None, shutil.rmtree, args=(folder,), kwargs={"ignore_errors": True}, exitpriority=-1000)


def _keep_the_key_of_the_user() -> None:
    """Let collections of tests be signed with a key of their own, which the workers of a run share."""
    if "PERIPLUS_TEST_STATE" not in os.environ:
        folder = tempfile.mkdtemp(prefix="periplus-tests-key-")
        os.environ["PERIPLUS_TEST_STATE"] = os.environ["XDG_STATE_HOME"] = folder
        Finalize(None, shutil.rmtree, args=(folder,), kwargs={"ignore_errors": True}, exitpriority=-1000)


def _begin_elsewhere(config: pytest.Config) -> None:
    """Let each xdist worker collect the folders in another order, so that they share the work of compiling the tests.

    Every worker collects every test. Where no bytecode is cached, workers that begin at the same folder all compile
    the same files at the same time. `pytest_collection_modifyitems` puts the tests in the same order again.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None or [Path(arg).resolve() for arg in config.args] != ROOTS:
        return
    folders = sorted({str(path.parent) for tests in ROOTS for path in tests.glob("*/**/test_*.py")})
    parts = [*folders, *sorted(str(path) for tests in ROOTS for path in tests.glob("test_*.py"))]
    start = int(worker.removeprefix("gw")) * len(parts) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    config.args = parts[start:] + parts[:start]


def pytest_report_header(config: pytest.Config) -> str:
    """Say whether the tests marked `corpus` will run."""
    if CORPUS.is_dir():
        return "corpus: found"
    return "corpus: absent, its tests are skipped (set PERIPLUS_CORPUS to its folder)"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not tested and what that would need: the reasons that concern most tests, in five lines."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple | list)
    )
    for reason, tests in reasons.most_common(4):
        terminalreporter.write_line(f"skipped {tests}: {reason}")
    if others := reasons.total() - sum(tests for _, tests in reasons.most_common(4)):
        terminalreporter.write_line(f"skipped {others} for {len(reasons) - 4} other reasons: pytest -rs names them")


def pytest_collection_finish() -> None:
    """Let the garbage collector look no more at the tests themselves, nor at what they import."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let libraries release what they hold: DuckDB's bindings list everything else as leaked when the process ends."""
    gc.unfreeze()


LONG = (
    "test_cluster.py",
    "test_cluster_namespaces.py",
    "test_executors.py",
    "test_agree.py",
    "test_page_checks.py",
    "test_cli_demo.py",
    "test_kill",
    "test_repair",
    "test_replay",
)
"""Files that take longest: they begin first, so that no worker is still busy with one when the others have ended."""


FIRST = {"system", "serve", "lab", "fetch", "bridges", "conformance", "library", "properties"}
"""Folders whose files take longer than those of other folders."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, then those with a crawl, a lab or a server in most of their tests; otherwise by path."""
    items.sort(key=lambda item: (_rank(item), item.path))


def _rank(item: pytest.Item) -> int:
    if item.path.name.startswith(LONG):
        return 0
    return 1 if FIRST & set(item.path.relative_to(ROOT).parts) else 2


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of public conformance data of other projects; skips where there is none."""
    if not CORPUS.is_dir():
        pytest.skip("no corpus of conformance data here (set PERIPLUS_CORPUS to its folder)")
    return CORPUS


@pytest.fixture(params=["python", "native"])
def scanner(request: pytest.FixtureRequest) -> Callable[..., Columns]:
    """Each of the two page scanners; the native one only where it is built."""
    name = "_native" if request.param == "native" else "python"
    module = pytest.importorskip(f"periplus.content.scan.{name}", reason="the native scanner is not built")

    def scan(
        html: bytes, *, wants_blocks: bool = False, wants_events: bool = False, wants_sections: bool = False
    ) -> Columns:
        columns: Columns = module.scan(html, "http://a.example/dir/page", wants_blocks, wants_events, wants_sections)
        return columns

    return scan
