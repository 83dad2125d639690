"""What the defences against a hostile web cost: processor time of the crawler for each page, all on and all off.

`python -m bench.defences` crawls the lab's honest sites with budgets, spam counts, DUST rules, absence, traps and
chains on, as they are by default, and at the same time with all of them off, and prints the microseconds a page of each
and the median of the ratios. The lab's own time is not counted. `--only` leaves the others off. `--parts` prints how
long each of them takes, by the time between its calls and their ends. `--manuals` prints what the defences keep from a
crawl of the manuals of the crawl bench instead (`manual_verdicts`).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl
from periplus.collection.seeds import seeds_from
from periplus.engine.frontier.domains import Domains
from periplus.model import PageStatistics
from periplus.parts.absence.part import AbsenceJudge
from periplus.parts.dust.part import DustLearner
from periplus.parts.dust.renames import Renames
from periplus.policy.filters.reasons import ACCEPT
from periplus.policy.filters.traps import Traps
from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock
from periplus_lab.sites import DOMAIN

PARTS = ("budgets", "spam", "dust", "absence", "traps", "chains")
"""The defences, as `--only` names them."""
COUNTS = "periplus.content.html.statistics_of"
CHAINS = "periplus.engine.machine.follow_chains"
SETTINGS: dict[str, tuple[str, object, object]] = {
    "budgets": ("budgets.domain", "trust", "none"),
    "dust": ("dust.enabled", True, False),
    "absence": ("absence.enabled", True, False),
    "spam": ("spam.enabled", True, False),
}
"""The setting of each part that has one, and its values for on and off."""
CALLS: dict[str, tuple[tuple[object, tuple[str, ...]], ...]] = {
    "budgets": ((Domains, ("refusal", "admitted", "granted", "level", "has_place", "flush", "choose", "took")),),
    "dust": (
        (DustLearner, ("learn", "probed")),
        (Renames, ("judge", "reconsider", "wanted_pairs", "renamed", "may_remember", "_looked_for")),
    ),
    "absence": ((AbsenceJudge, ("mark", "page_read", "redirected", "take_probe")),),
    "traps": ((Traps, ("judge", "admit", "observe", "reconsider")),),
}
"""Where each part is called from outside."""


@contextmanager
def without(parts: Collection[str]) -> Iterator[None]:
    """Switch off those of the parts that have no setting."""
    with ExitStack() as patches:
        for part, place, otherwise in (("spam", COUNTS, PageStatistics()), ("chains", CHAINS, None)):
            if part in parts:
                patches.enter_context(patch(place, _constant(otherwise)))
        for name in ("judge", "admit", "reconsider", "observe") if "traps" in parts else ():
            patches.enter_context(patch.object(Traps, name, _constant(ACCEPT)))
        yield


def _constant(value: object) -> Callable[..., object]:
    return lambda *_given: value


def _found(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(import_module(module), name)


@cache
def _world(pages: int) -> World:
    return World(7, 40, pages=2 * pages)


def cost(proxy: str, parts: Collection[str], pages: int) -> float:
    """Microseconds a page of a crawl in this thread, with these parts on."""
    seeds = seeds_from([site.url for site in _world(pages).sites()])
    options = {name: on if part in parts else off for part, (name, on, off) in SETTINGS.items()}
    config = Config().with_options(
        options
        | {"sitemaps.follow": False, "politeness.delay": 0.0, "politeness.slow_factor": 0.0, "crawl.limit": pages}
        | {"scope.kind": "any", "scope.suffixes": (DOMAIN,), "wire.proxy": proxy}
    )
    with tempfile.TemporaryDirectory() as folder, without({*PARTS} - {*parts}):
        begun = time.thread_time()
        open_crawl(config, Path(folder) / "c", seeds, 1).run()
        return (time.thread_time() - begun) / pages * 1e6


def side_by_side(processes: ProcessPoolExecutor, proxy: str, parts: Collection[str], pages: int) -> tuple[float, float]:
    """Microseconds a page with these parts on and off, of two crawls at the same time, each in a process."""
    on, off = processes.submit(cost, proxy, parts, pages), processes.submit(cost, proxy, (), pages)
    return on.result(), off.result()


def pin() -> None:
    """Run on the first processor: two crawls take turns there, and what else the machine does slows both down."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def in_pairs(proxy: str, parts: Collection[str], pages: int, turns: int) -> None:
    """Crawl with and without these parts, and print each pair and the medians."""
    found = []
    with ProcessPoolExecutor(2, get_context("spawn"), pin) as processes:
        for turn in range(turns + 1):
            on, off = side_by_side(processes, proxy, parts, pages)
            if turn:  # the first is for caches
                found.append((on, off))
                print(f"{on:8.0f} on {off:8.0f} off {on / off - 1:+8.1%}", flush=True)
    ratio = median(on / off for on, off in found) - 1
    print(f"medians: {median(on for on, _ in found):.0f} on, {median(off for _, off in found):.0f} off, {ratio:+.1%}")


def by_part(proxy: str, pages: int, turns: int) -> None:
    """Print the microseconds a page between the calls of each part and their ends."""
    found: dict[str, list[float]] = defaultdict(list)
    for turn in range(turns + 1):
        spent: dict[str, int] = dict.fromkeys(PARTS, 0)
        with timed(spent):
            whole = cost(proxy, PARTS, pages)
        if turn:  # the first is for caches
            for part, nanoseconds in spent.items():
                found[part].append(nanoseconds / pages / 1e3)
            found["crawl"].append(whole)
    for part, values in found.items():
        print(f"{part:8} {median(values):8.1f} microseconds a page")


@contextmanager
def timed(spent: dict[str, int]) -> Iterator[None]:
    """Add the nanoseconds of every part to `spent`; of nested calls, those of the outer one."""
    clock = time.thread_time_ns
    own = min(-(clock() - clock()) for _ in range(1000))
    is_inside = [False]

    def around(part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*given: Any, **named: Any) -> Any:
            if is_inside[0]:
                return call(*given, **named)
            is_inside[0] = True
            begun = clock()
            try:
                return call(*given, **named)
            finally:
                spent[part] += clock() - begun - own
                is_inside[0] = False

        return measured

    with ExitStack() as patches:
        for part, places in CALLS.items():
            for owner, names in places:
                for name in names:
                    patches.enter_context(patch.object(owner, name, around(part, getattr(owner, name))))
        for part, place in (("spam", COUNTS), ("chains", CHAINS)):
            patches.enter_context(patch(place, around(part, _found(place))))
        yield


def main() -> None:
    """Measure the ratio, or the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2000, help="pages of a crawl")
    parser.add_argument("--turns", type=int, default=5, help="how often")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="what is on")
    parser.add_argument("--parts", action="store_true", help="how long each part takes")
    parser.add_argument("--manuals", action="store_true", help="what is missing of a crawl of real manuals, and why")
    parser.add_argument("--all", action="store_true", help="with --manuals: the largest ones, too")
    asked = parser.parse_args()
    if asked.manuals:
        from bench.manual_verdicts import manual_verdicts  # needs nginx

        manual_verdicts(has_all=asked.all)
        return
    world = _world(asked.pages)
    with RunningLab(Server(world, SteppedClock(world.epoch))) as lab:
        if asked.parts:
            by_part(lab.base, asked.pages, asked.turns)
        else:
            in_pairs(lab.base, asked.only, asked.pages, asked.turns)


if __name__ == "__main__":
    main()
