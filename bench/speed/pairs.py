"""Two versions of Periplus at the same time on one core, over the same answers.

CPU time depends on what else the machine does, by half and more; the ratio of two runs that share a core for all of
their time does not. Measured on two cores with a load of 13: CPU time from 3.2 to 4.5 s for the same run, the ratio of
a pair within 2 %, the median of three within 1 %.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.crawl.process import anonymous_memory
from bench.speed.reference import has_scanner

PAGES, PAGES_IN_PYTHON = 1600, 250
"""Pages of a run; with the Python scanner a page takes several times as long."""
PAIRS, MOST_PAIRS = 3, 7
_GLANCE = 0.25
"""Seconds between two looks at the memory of a process."""
_LONGEST = 600.0
"""Seconds after which a run counts as hanging."""
COUNTED, UNCOUNTED = 150, 1
"""Pages of the two runs under valgrind whose difference is counted: so the start of Python is left out."""


@dataclass(frozen=True)
class Version:
    """One side of a pair, in the medians of its runs."""

    cpu: float
    """CPU seconds for a page."""
    jobs: float
    """CPU seconds of one run of the jobs, for a page."""
    crawl_memory: int
    """Bytes of anonymous memory (as PSS), at most."""
    jobs_memory: int

    @property
    def memory(self) -> int:
        """Bytes of both together, as in a crawl whose jobs run beside it."""
        return self.crawl_memory + self.jobs_memory


@dataclass(frozen=True)
class Comparison:
    """A new version beside an old one. `ratios` are those of the CPU time a page, one a pair."""

    new: Version
    old: Version
    ratios: tuple[float, ...]
    scanner: str
    pages: tuple[int, int]
    """Pages that each version fetched in a run."""

    @property
    def ratio(self) -> float:
        """The median: above 1 if the new version takes longer."""
        return median(self.ratios)


@dataclass(frozen=True)
class _Crawled:
    """One run of the harness."""

    pages: int
    cpu: float
    memory: int
    scanner: str


def compare(new: Path, old: Path, answers: Path, *, limit: float, unsure: float) -> Comparison:
    """Compare two trees by three pairs; by up to seven while the median is nearer to the limit than `unsure`."""
    trees = (new, old)
    is_native = all(map(has_scanner, trees))
    pages = PAGES if is_native else PAGES_IN_PYTHON
    environment = _environment() | ({} if is_native else {"PERIPLUS_PURE": "1"})
    pairs: list[tuple[_Crawled, _Crawled]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folders = (Path(scratch, "new"), Path(scratch, "old"))
        while len(pairs) < PAIRS or (len(pairs) < MOST_PAIRS and abs(median(_ratios(pairs)) - limit) < unsure):
            pairs.append(_crawl(trees, folders, answers, pages, environment, is_new_first=len(pairs) % 2 == 0))
        jobs = _run_jobs(trees, folders, environment)
    sides = [
        Version(
            median(pair[side].cpu / pair[side].pages for pair in pairs),
            jobs[side][0] / pairs[-1][side].pages,
            max(pair[side].memory for pair in pairs),
            jobs[side][1],
        )
        for side in (0, 1)
    ]
    fetched = (pairs[0][0].pages, pairs[0][1].pages)
    return Comparison(sides[0], sides[1], tuple(_ratios(pairs)), pairs[0][0].scanner, fetched)


def _ratios(pairs: Sequence[tuple[_Crawled, _Crawled]]) -> list[float]:
    return [(new.cpu / new.pages) / (old.cpu / old.pages) for new, old in pairs]


def _environment() -> dict[str, str]:
    """Ours, without what would make two runs differ."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PERIPLUS", "PYTHON"))}
    return kept | {"PYTHONHASHSEED": "0"}


def _crawl(
    trees: tuple[Path, Path],
    folders: tuple[Path, Path],
    answers: Path,
    pages: int,
    environment: dict[str, str],
    *,
    is_new_first: bool,
) -> tuple[_Crawled, _Crawled]:
    """Run both harnesses. They begin together, when both have loaded everything."""
    commands = []
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        commands.append(["-m", "bench.speed.replay", str(answers), str(folder), "--pages", str(pages), "--wait"])
    order = (0, 1) if is_new_first else (1, 0)
    with _started(trees, commands, environment, order) as runs:
        for run in runs:
            assert run.stdout is not None
            if run.stdout.readline() != b"ready\n":
                raise RuntimeError(f"the harness of {run.args!r} failed")
        for side in order:
            stdin = runs[side].stdin
            assert stdin is not None
            stdin.write(b"\n")
            stdin.flush()
        memory, _ = _watch(runs)
        said = [json.loads(run.stdout.read()) for run in runs if run.stdout is not None]
    made = [_Crawled(one["pages"], one["cpu"], most, one["scanner"]) for one, most in zip(said, memory, strict=True)]
    return made[0], made[1]


def _run_jobs(
    trees: tuple[Path, Path], folders: tuple[Path, Path], environment: dict[str, str]
) -> list[tuple[float, int]]:
    """Run the jobs of both over what the last pair has made: CPU seconds and bytes of anonymous memory."""
    commands = [["-m", "periplus.collection.jobs", str(folder)] for folder in folders]
    with _started(trees, commands, environment, (0, 1)) as runs:
        memory, cpu = _watch(runs)
    return list(zip(cpu, memory, strict=True))


@contextmanager
def _started(
    trees: tuple[Path, Path], commands: Sequence[list[str]], environment: dict[str, str], order: tuple[int, int]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two programs of Python, each of its tree, on one core; killed if the block is left early."""
    runs: dict[int, subprocess.Popen[bytes]] = {}
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {max(cores)})  # what is started from here on inherits it
        for side in order:
            runs[side] = subprocess.Popen(
                [sys.executable, *commands[side]],
                cwd=trees[side],
                env=environment | {"PYTHONPATH": str(trees[side] / "src")},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        os.sched_setaffinity(0, cores)
        yield [runs[0], runs[1]]
    finally:
        os.sched_setaffinity(0, cores)
        for run in runs.values():
            if run.returncode is None:
                run.kill()
                run.wait()
            for pipe in (run.stdin, run.stdout):
                if pipe is not None:
                    pipe.close()


def _watch(runs: list[subprocess.Popen[bytes]]) -> tuple[list[int], list[float]]:
    """Wait until both have ended well: the most anonymous memory of each, and its CPU seconds."""
    memory, cpu = [0, 0], [0.0, 0.0]
    deadline = time.monotonic() + _LONGEST
    while any(run.returncode is None for run in runs):
        if time.monotonic() > deadline:
            raise RuntimeError(f"no end after {_LONGEST:.0f} s")
        for side, run in enumerate(runs):
            if run.returncode is None:
                memory[side] = max(memory[side], anonymous_memory(run.pid))
                pid, code, used = os.wait4(run.pid, os.WNOHANG)
                if pid:
                    run.returncode = os.waitstatus_to_exitcode(code)
                    cpu[side] = used.ru_utime + used.ru_stime
        time.sleep(_GLANCE)
    if any(run.returncode for run in runs):
        raise RuntimeError(f"exit codes {[run.returncode for run in runs]} of {[run.args for run in runs]}")
    return memory, cpu


def count_instructions(trees: tuple[Path, Path], answers: Path) -> list[float]:
    """Instructions for a page of each version, by valgrind; all runs at once: they cannot disturb each other."""
    environment = _environment()
    with tempfile.TemporaryDirectory() as scratch:
        runs = {}
        for side, tree in enumerate(trees):
            for pages in (COUNTED, UNCOUNTED):
                log = Path(scratch, f"log-{side}-{pages}")
                valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
                harness = ["-m", "bench.speed.replay", str(answers), f"{scratch}/{side}-{pages}", "--small-map"]
                runs[log] = subprocess.Popen(
                    [*valgrind, f"--log-file={log}", sys.executable, *harness, "--pages", str(pages)],
                    cwd=tree,
                    env=environment | {"PYTHONPATH": str(tree / "src")},
                    stdout=subprocess.DEVNULL,
                )
        for run in runs.values():
            if run.wait():
                raise RuntimeError(f"exit code {run.returncode} of {run.args!r}")
        counts = [_instructions(log) for log in runs]
    return [(more - less) / (COUNTED - UNCOUNTED) for more, less in (counts[:2], counts[2:])]


def _instructions(log: Path) -> int:
    found = re.search(r"I\s+refs:\s+([\d,]+)", log.read_text())
    assert found is not None, log.read_text()
    return int(found.group(1).replace(",", ""))
