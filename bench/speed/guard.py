"""`make speed`: a page may not take more than 1.04 times the CPU time that it took at the reference.

    python -m bench.speed.guard                  # this checkout against bench/speed/REFERENCE
    python -m bench.speed.guard --count          # also the instructions of both, by valgrind: minutes more
    python -m bench.speed.guard --reference HEAD # what has not been committed yet

Jobs over the tables and memory are compared with wider limits: they are measured once. The exit code is 1 above a
limit; 0 where the reference is not in the repository, with a line that says so.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from bench.speed import answers
from bench.speed.pairs import Comparison, Version, compare, count_instructions
from bench.speed.reference import CACHE, ROOT, MissingCommitError, pinned, tree_of

LIMIT = 1.04
"""Of CPU time a page, and of instructions."""
JOBS_LIMIT = 1.25
MEMORY_LIMIT = 1.15
UNSURE = 0.012
"""Distance of a median of three from the limit below which more pairs are run: three times its standard deviation."""


def main() -> int:
    """Compare, print and judge."""
    ask = argparse.ArgumentParser(prog="python -m bench.speed.guard", description="Does a page cost more than before?")
    ask.add_argument("--count", action="store_true", help="count instructions, too (needs valgrind)")
    ask.add_argument("--tree", type=Path, default=ROOT, help="the version that is judged; default: this one")
    ask.add_argument("--reference", help="a commit or a folder, in place of the pinned commit")
    asked = ask.parse_args()
    reference = pinned()
    commit = asked.reference or reference.commit
    try:
        old = Path(commit).resolve() if Path(commit).is_dir() else tree_of(commit)
    except MissingCommitError as error:
        print(f"not compared: {error}")
        return 0
    name = f"{commit[:12]} ({reference.why})" if commit == reference.commit else commit
    print(f"this version, against {name}")
    new, recorded = asked.tree.resolve(), answers.made_in(CACHE)
    found = compare(new, old, recorded, limit=LIMIT, unsure=UNSURE)
    print("\n".join(lines(found)))
    slower = excesses(found)
    if asked.count and shutil.which("valgrind") is None:
        print("instructions      not counted: no valgrind here")
    elif asked.count:
        ours, theirs = count_instructions((new, old), recorded)
        print(f"instructions      {ours:,.0f} a page, {theirs:,.0f} before: {ours / theirs:.4f}")
        slower += _excess("instructions", ours, theirs, LIMIT)
    for excess in slower:
        print(f"TOO MUCH {excess}")
    if slower:
        print("Make it faster; or move the reference, in a commit that says why (bench/speed/history.py)")
    else:
        print("ok: no slower")
    return 1 if slower else 0


def excesses(found: Comparison) -> list[str]:
    """What is above its limit."""
    new, old = found.new, found.old
    return [
        *_excess("CPU time", found.ratio, 1.0, LIMIT),
        *_excess("CPU time of jobs", new.jobs, old.jobs, JOBS_LIMIT),
        *_excess("memory", new.memory, old.memory, MEMORY_LIMIT),
    ]


def _excess(what: str, new: float, old: float, limit: float) -> list[str]:
    return [f"{what}: {new / old:.3f} times, at most {limit}"] if old and new / old > limit else []


def lines(found: Comparison) -> list[str]:
    """What was measured, in words."""
    new, old = found.new, found.old
    pairs = " ".join(f"{ratio:.3f}" for ratio in found.ratios)
    said = [
        f"CPU time          {new.cpu * 1e6:,.0f} us a page, {old.cpu * 1e6:,.0f} before: {found.ratio:.3f} "
        f"(pairs: {pairs}; {found.scanner} scanner)",
        f"jobs              {new.jobs * 1e6:,.0f} us a page, {old.jobs * 1e6:,.0f} before: "
        f"{_ratio(new.jobs, old.jobs)}",
        f"anonymous memory  {_memory(new)}; before {_memory(old)}: {_ratio(new.memory, old.memory)}",
    ]
    if found.pages[0] != found.pages[1]:
        said.append(f"pages             {found.pages[0]:,} fetched, {found.pages[1]:,} before")
    return said


def _ratio(new: float, old: float) -> str:
    return f"{new / old:.3f}" if old else "none before"


def _memory(version: Version) -> str:
    crawl, jobs = version.crawl_memory / 1e6, version.jobs_memory / 1e6
    return f"{version.memory / 1e6:,.0f} MB (crawl {crawl:,.0f}, jobs {jobs:,.0f})"


if __name__ == "__main__":
    sys.exit(main())
