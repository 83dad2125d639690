"""Every implementation of `State`: each suite of this folder runs on each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from periplus.store import DiskState, MemoryState, State

IMPLEMENTATIONS: dict[str, Callable[[Path], State]] = {
    "memory": lambda folder: MemoryState(),
    "disk": DiskState,
}


@pytest.fixture(params=IMPLEMENTATIONS)
def state(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[State]:
    made = IMPLEMENTATIONS[request.param](tmp_path / "state")
    yield made
    check = getattr(made, "check_invariants", None)
    if check is not None:
        check()
    made.close()
