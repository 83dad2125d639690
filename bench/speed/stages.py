"""Microseconds of CPU a page by stage of a crawl: at a commit, and now.

    python -m bench.speed.stages [--reference COMMIT] [--pages N]

Each stage is one or more functions; the time of a stage inside another counts for the inner one alone. Both versions
run at the same time on one core, as for the guard.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

from bench.speed import replay
from bench.speed.answers import load, made_in
from bench.speed.reference import CACHE, ROOT, pinned, tree_of

STAGES: Final = {
    "scan": ("content.html:scan",),
    "page from the scan": ("engine.links:read_pages",),
    "decode bodies": ("engine.links:decode_body",),
    "near-duplicates and change": ("engine.pipeline:Deduplicator.judge",),
    "links of a page": ("engine.pipeline:PagePipeline.links",),
    "admission of links": ("engine.router:ShardRouter.deliver",),
    "report": ("engine.frontier.frontier:Frontier.report",),
    "take": ("engine.frontier.frontier:Frontier.take",),
    "learning and judging": (
        "engine.machine:Machine._learn_from", "parts.absence.part:AbsenceJudge.read",
        "parts.cloaking.part:CloakingJudge.read", "parts.forms.part:Forms.passed_on", "parts.forms.part:Forms.lead",
    ),
    "sitemaps": (
        "engine.sitemaps.scheduler:SitemapScheduler.step",
        "engine.sitemaps.scheduler:SitemapScheduler.arrived",
    ),
    "log": ("engine.log:InputLog.append",),
    "WARC": ("store.warc.archive:Archive.write_all", "store.warc.archive:Archive.sync"),
    "tables": (
        "store.tables.writer:Tables.record", "store.tables.writer:Tables.checkpoint",
        "store.tables.writer:Tables.settle",
    ),
    "commit": ("engine.engine:Engine.checkpoint",),
    "the rest of the loop": ("engine.engine:Engine.step",),
}  # fmt: skip
"""The functions of each stage. One that a version does not have is passed over."""


class StageClock:
    """CPU time by stage, each without the stages inside it."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.functions: Counter[str] = Counter()
        self._inside = [0.0]

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time counted for a stage."""

        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            began = time.process_time_ns()
            self._inside.append(0.0)
            try:
                return function(*arguments, **options)
            finally:
                took = (time.process_time_ns() - began) / 1e9
                self.seconds[stage] += took - self._inside.pop()
                self._inside[-1] += took

        self.functions[stage] += 1
        return call

    def attach(self) -> None:
        """Time every function that this version has."""
        done: set[tuple[int, str]] = set()
        for stage, names in STAGES.items():
            for name in names:
                module, _, path = name.partition(":")
                owner, attribute = _owner_of(f"periplus.{module}", path)
                if owner is not None and (id(owner), attribute) not in done:
                    done.add((id(owner), attribute))
                    setattr(owner, attribute, self.timed(stage, getattr(owner, attribute)))


def _owner_of(module: str, path: str) -> tuple[Any, str]:
    """The module or class that has a function, and its name there; `None` if this version has no such function."""
    try:
        owner: Any = importlib.import_module(module)
    except ModuleNotFoundError:
        return None, ""
    *classes, attribute = path.split(".")
    for each in classes:
        owner = getattr(owner, each, None)
    return (owner, attribute) if owner is not None and hasattr(owner, attribute) else (None, "")


def measure(answers: Path, pages: int) -> dict[str, float]:
    """Microseconds a page by stage, and in all."""
    clock = StageClock()
    clock.attach()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder, replay.in_virtual_time():
        found = replay.replay(load(answers), Path(folder) / "collection", pages, lambda: None)
    count, cpu = int(str(found["pages"])), float(str(found["cpu"]))
    each = {stage: clock.seconds[stage] / count * 1e6 for stage in STAGES if clock.functions[stage]}
    return each | {"elsewhere": cpu / count * 1e6 - sum(each.values()), "in all": cpu / count * 1e6}


def main() -> int:
    """Measure both versions, and print a table."""
    ask = argparse.ArgumentParser(prog="python -m bench.speed.stages", description="CPU a page by stage.")
    ask.add_argument("--reference", default=pinned().commit, help="the commit to compare with; default: the pinned one")
    ask.add_argument("--pages", type=int, default=2400)
    ask.add_argument("--answers", type=Path, help="measure this tree alone on these answers, and print JSON")
    asked = ask.parse_args()
    if asked.answers is not None:
        print(json.dumps(measure(asked.answers, asked.pages)))
        return 0
    answers = made_in(CACHE)
    command = [sys.executable, "-m", "bench.speed.stages", "--answers", str(answers), "--pages", str(asked.pages)]
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    runs = [
        subprocess.Popen(
            command,
            cwd=tree,
            env=os.environ | {"PYTHONPATH": str(tree / "src"), "PYTHONHASHSEED": "0"},
            stdout=subprocess.PIPE,
        )
        for tree in (tree_of(asked.reference), ROOT)
    ]
    before, after = (json.loads(run.communicate()[0]) for run in runs)
    print("| stage | before | after |\n|---|---:|---:|")
    for stage in dict.fromkeys([*before, *after]):
        print(f"| {stage} | {before.get(stage, 0.0):,.0f} | {after.get(stage, 0.0):,.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
