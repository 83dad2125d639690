"""Watches on a disk that fails, in virtual time: `make soak` runs more of these seeds."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults.watching import run_watch


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2_000, 2_010))
def test_every_visit_and_change_is_kept_once(tmp_path: Path, seed: int) -> None:
    """Whatever fails, and however the clock jumps. To see one: `python -m tests.faults.soak --watch --seed N`."""
    run_watch(seed, tmp_path)
