"""Programs that are forked for the tests are like those that a shell starts."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.system.typed import PROGRAM, Program, run_program, running


def test_a_forked_program_says_and_returns_what_an_executed_one_does(tmp_path: Path) -> None:
    """Of arguments, folder, environment and stdin."""
    options: dict[str, Any] = {"cwd": tmp_path, "env": {**os.environ, "COLUMNS": "50"}}
    args, stdin = ("read", "-"), "User-agent: *\nDisallow: /\n"
    executed = subprocess.run([*PROGRAM, *args], input=stdin, capture_output=True, text=True, check=False, **options)
    forked = run_program(*args, stdin=stdin, text=True, **options)
    assert (forked.returncode, forked.stdout) == (executed.returncode, executed.stdout)
    assert forked.stderr == executed.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_it_is_a_child_of_ours_in_a_group_of_its_own(number: signal.Signals, code: int) -> None:
    """It gets our signals, and we get its exit code."""
    with running("lab", "--sites", "2", "--pages", "10", "--json") as process:
        assert process.stdout
        assert process.stdout.readline().startswith("{")
        stat = Path(f"/proc/{process.pid}/stat")
        if stat.exists():
            parent, group, session = map(int, stat.read_text().rpartition(")")[2].split()[1:4])
            assert (parent, group, session) == (os.getpid(), process.pid, os.getsid(0))
        os.killpg(process.pid, number)
        assert process.wait(600) == code


def test_what_only_exec_can_do_is_executed(tmp_path: Path) -> None:
    """A variable that the interpreter reads when it begins."""
    with Program("--version", stdout=subprocess.PIPE, env={**os.environ, "PERIPLUS_PURE": "1"}) as process:
        assert b"python scanner" in process.communicate(timeout=600)[0]
