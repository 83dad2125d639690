"""The process for queries removes its own temporary folder when it ends, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("is_there", [True, False])
def test_only_the_folder_that_was_given_is_removed(tmp_path: Path, *, is_there: bool) -> None:
    """The server has ended; `TMPDIR` and the current folder belong to others, also if the folder is gone already."""
    scratch, others = tmp_path / "scratch", tmp_path / "others"
    if is_there:
        scratch.mkdir()
        (scratch / "spilled").touch()
    others.mkdir()
    (others / "kept").touch()
    command = [sys.executable, "-P", "-m", "periplus.insight.query_worker", str(scratch)]
    environment = {**os.environ, "TMPDIR": str(others)}
    subprocess.run(command, input=b"", check=True, capture_output=True, cwd=others, env=environment)
    assert not scratch.exists()
    assert (others / "kept").exists()
