"""Shows what the guard finds: slow-downs of 5 % planted in a copy of the sources, and none where there is none.

    python -m bench.speed.planted                # five slow-downs; each must be found
    python -m bench.speed.planted --same 10      # the same code ten times beside two busy loops; it must stay green

A slow-down measures the CPU time since it last ran, or since the process began, and burns 5 % of that, in one stage of
the crawl each. So it is 5 % on a busy machine, too.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.speed.reference import ROOT

BUSY_SECONDS: Final = 3600
"""Seconds after which a busy loop ends by itself, should nothing else end it."""

BURN: Final = """

import time as _time

_burnt_at = 0.0


def _burn() -> None:
    global _burnt_at
    now = _time.process_time()
    until = now + 0.05 * (now - _burnt_at)
    while _time.process_time() < until:
        pass
    _burnt_at = _time.process_time()
"""


class SlowDown(Struct, frozen=True):
    """In `path` below `src/periplus`, `_burn()` is called at the beginning of the function with this first line."""

    stage: str
    path: str
    function: str


SLOW_DOWNS: Final = (
    SlowDown("reading a page", "content/html.py", "def _read_group("),
    SlowDown("admission", "engine/frontier/admission.py", "def _admit("),
    SlowDown("tables", "store/tables/writer.py", "def record("),
    SlowDown("WARC", "store/warc/archive.py", "def write_all("),
    SlowDown("frontier: take", "engine/frontier/frontier.py", "def take("),
)


def plant(tree: Path, slow_down: SlowDown) -> None:
    """Change the sources of a tree."""
    file = tree / "src" / "periplus" / slow_down.path
    lines = file.read_text().split("\n")
    starts = [number for number, line in enumerate(lines) if line.lstrip().startswith(slow_down.function)]
    if len(starts) != 1:
        raise SystemExit(f"{slow_down.path} has {len(starts)} functions {slow_down.function!r}: change SLOW_DOWNS")
    indent = len(lines[starts[0]]) - len(lines[starts[0]].lstrip())
    end = next(number for number in range(starts[0], len(lines)) if lines[number].endswith(":"))
    lines.insert(end + 1, f"{' ' * indent}    _burn()")
    file.write_text("\n".join(lines) + BURN)


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of what the harness of this tree needs."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch)
        shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "bench" / "speed", tree / "bench" / "speed")
        shutil.copyfile(ROOT / "bench" / "__init__.py", tree / "bench" / "__init__.py")
        yield tree


def guard(tree: Path) -> int:
    """Judge a tree beside this one: the exit code of the guard."""
    command = [sys.executable, "-m", "bench.speed.guard", "--tree", str(tree), "--reference", str(ROOT)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def find_planted(name: str) -> int:
    """Plant every slow-down whose stage contains this; how many were missed."""
    missed = 0
    for slow_down in SLOW_DOWNS:
        if name not in slow_down.stage:
            continue
        with copied() as tree:
            plant(tree, slow_down)
            is_found = guard(tree) == 1
        print(f"{'found' if is_found else 'MISSED'}: 5 % in {slow_down.stage}\n", flush=True)
        missed += not is_found
    return missed


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Programs that only compute, on any core."""
    code = f"import time\nend = time.monotonic() + {BUSY_SECONDS}\nwhile time.monotonic() < end: sum(range(10000))"
    loops = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def stay_green(runs: int) -> int:
    """Judge a copy without a change; how many times the guard found something."""
    wrong = 0
    with busy_loops(2), copied() as tree:
        for _ in range(runs):
            wrong += guard(tree) != 0
    print(f"{runs - wrong} of {runs} runs of the same code were green")
    return wrong


def main() -> int:
    """Run what was asked for."""
    ask = argparse.ArgumentParser(prog="python -m bench.speed.planted", description="What the guard finds.")
    ask.add_argument("stage", nargs="?", default="", help="only stages whose name contains this")
    ask.add_argument("--same", type=int, metavar="RUNS", help="the same code beside two busy loops")
    asked = ask.parse_args()
    return min(stay_green(asked.same) if asked.same else find_planted(asked.stage), 1)


if __name__ == "__main__":
    sys.exit(main())
