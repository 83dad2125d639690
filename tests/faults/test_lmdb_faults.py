"""The disk fails inside a commit of LMDB, which writes by itself: its own file is replaced by one that refuses.

`/dev/full` answers every write with ENOSPC, `/proc/self/mem` with EIO where nothing is mapped. LMDB has two open files:
one for pages, and one, written last, for the meta page that makes a commit count.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from periplus.model import CollectionError
from periplus.store import DiskState

REFUSING = {errno.ENOSPC: "/dev/full", errno.EIO: "/proc/self/mem"}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not all(os.access(device, os.R_OK | os.W_OK) for device in REFUSING.values()),
    reason="needs /proc/self/mem and /dev/full",
)


def open_files(path: Path) -> list[int]:
    """The descriptors of this process for a file, in the order in which they were opened."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if link.readlink() == path.resolve():
                found.append(int(link.name))
    return sorted(found)


@contextmanager
def refusing(descriptors: list[int], device: str) -> Iterator[None]:
    """Every write to these descriptors fails meanwhile."""
    kept = [os.dup(descriptor) for descriptor in descriptors]
    refuses = os.open(device, os.O_RDWR)
    try:
        for descriptor in descriptors:
            os.dup2(refuses, descriptor)
        yield
    finally:
        for descriptor, copy in zip(descriptors, kept, strict=True):
            os.dup2(copy, descriptor)
            os.close(copy)
        os.close(refuses)


def begun(folder: Path) -> DiskState:
    state = DiskState(folder, map_size=1 << 26)
    state.mark("first", b"kept")
    state.commit()
    state.mark("second", bytes(20_000))
    return state


def check_kept(state: DiskState, folder: Path) -> None:
    """The commit that failed never was, the one before is whole, and the state goes on."""
    with pytest.raises(CollectionError, match="closed"):
        state.commit()
    state.close()
    again = DiskState(folder, map_size=1 << 26)
    assert again.marked("first") == b"kept"
    assert again.marked("second") is None
    again.environment.verify()
    again.mark("second", b"now")
    again.commit()
    again.close()
    last = DiskState(folder)
    assert last.marked("second") == b"now"
    last.close()


@pytest.mark.parametrize("part", ["pages", "meta", "both"])
def test_a_full_disk_in_a_commit_is_said_and_costs_that_commit(tmp_path: Path, part: str) -> None:
    """With the next step, which is not a repair: nothing is damaged."""
    state = begun(tmp_path)
    files = open_files(tmp_path / "data.mdb")
    assert len(files) == 2
    chosen = {"pages": files[:1], "meta": files[1:], "both": files}[part]
    with refusing(chosen, REFUSING[errno.ENOSPC]), pytest.raises(CollectionError) as caught:
        state.commit()
    assert "no space is left" in str(caught.value)
    assert "repair" not in (caught.value.hint or "")
    check_kept(state, tmp_path)


@pytest.mark.parametrize("part", ["pages", "meta"])
def test_a_failing_disk_in_a_commit_costs_that_commit(tmp_path: Path, part: str) -> None:
    """It is an error, and what was committed before is whole."""
    state = begun(tmp_path)
    files = open_files(tmp_path / "data.mdb")
    chosen = files[:1] if part == "pages" else files[1:]
    with refusing(chosen, REFUSING[errno.EIO]), pytest.raises(CollectionError) as caught:
        state.commit()
    assert "repair" not in (caught.value.hint or "")
    check_kept(state, tmp_path)


def test_a_limit_on_the_size_of_files_is_not_called_damage(tmp_path: Path) -> None:
    """A write falls short at the limit, and the next one is refused (EFBIG): `ulimit -f`, or a quota of a container."""
    state = begun(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = (tmp_path / "data.mdb").stat().st_size
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 6_000, hard))
        with pytest.raises(CollectionError) as caught:
            state.commit()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert "cannot be written" in str(caught.value)
    assert "repair" not in (caught.value.hint or "")
    check_kept(state, tmp_path)


def test_a_state_that_failed_is_not_sealed(tmp_path: Path) -> None:
    """A seal says that the file is what its last writer left in order."""
    state = begun(tmp_path)
    with refusing(open_files(tmp_path / "data.mdb"), REFUSING[errno.ENOSPC]), pytest.raises(CollectionError):
        state.commit()
    state.close()
    assert not (tmp_path / "data.seal").exists()
