"""A collection that may only be read, on another's disk: reading works, and commands that write report it."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.small_collection import HOME, small_collection
from tests.system.typed import PROGRAM

from periplus.store import DiskState

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Without permission to write."""
    folder = small_collection(tmp_path_factory.mktemp("closed") / "kept")
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    yield folder
    for path in paths:
        path.chmod(path.stat().st_mode | 0o200)


def obedient() -> None:
    """Root may write wherever it likes; a process that has dropped this may not."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def typed(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *args], capture_output=True, text=True, preexec_fn=obedient, check=False)


@pytest.mark.parametrize(
    "verb",
    [
        pytest.param(("info",), marks=pytest.mark.slow),
        ("query", "select url from urls"),
        pytest.param(("changes",), marks=pytest.mark.slow),
        pytest.param(("ulinks",), marks=pytest.mark.slow),
    ],
)
def test_it_can_be_read(collection: Path, verb: tuple[str, ...]) -> None:
    """And says what it holds."""
    name, *rest = verb
    said = typed(name, str(collection), *rest)
    assert said.returncode == 0, said.stderr
    assert "a.test" in said.stdout or "4 pages" in said.stdout


@pytest.mark.proof
def test_it_cannot_be_written(collection: Path) -> None:
    """Exit code 3: which file, and no word of a bug."""
    said = typed("crawl", HOME, "-o", str(collection))
    assert said.returncode == 3, said
    assert "Permission denied" in said.stderr
    assert "bug" not in said.stderr


def test_what_is_being_written_is_not_read(tmp_path: Path) -> None:
    """A reader who cannot be noted would see pages change under its eyes; a writer waits for it likewise."""
    state = DiskState(tmp_path / "shard")
    (tmp_path / "shard" / "lock.mdb").chmod(0o444)
    asking = "from pathlib import Path; from periplus.store import DiskState; DiskState.read_only(Path(%r))"
    command = [PROGRAM[0], "-c", asking % os.fspath(tmp_path / "shard")]
    said = subprocess.run(command, capture_output=True, text=True, preexec_fn=obedient, check=False)
    assert "cannot register as a reader" in said.stderr
    state.close()
    said = subprocess.run(command, capture_output=True, text=True, preexec_fn=obedient, check=False)
    assert said.returncode == 0, said.stderr
