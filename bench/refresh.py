"""Revisits: pages whose change rates are estimated in a second, visits decided in a second, and memory.

Pages of Gamma rates on sites of fifty, with eight visits recorded of each, and signals for some of them. The long form,
`python -m bench.refresh --pages 1000000`, prints times and memory; with `--signals` it compares policies where signals
are noisy, over three seeds, also with the published bandit and GREEDY-NCIS; with `--stated` it compares the freshness
that a watch states with the truth, on generated sites and recorded ones; with `--fetches` it counts how many fetches
visits in turn would need to be as fresh.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from bench.harness import Group
from bench.refresh_pages import CHANCE
from bench.sync_bandit import LEARNING_RATES, SyncBandit
from bench.watched_site import STATED_SITES, UNSEEN_FROM, Stated, changing_site, recorded_site, stated_moments
from periplus.engine.frontier import SiteRecords
from periplus.model import BodyReading, ChangeLevel, Digests, Fetched, FetchTask, Lane, Purpose, Queued, Url, UrlRecord
from periplus.parts.revisit.budget import Watching
from periplus.parts.revisit.distrust import believed, without_signals
from periplus.parts.revisit.estimation import SiteBeliefs, estimate_pages, parts
from periplus.parts.revisit.evidence_columns import PAGE
from periplus.parts.revisit.revisits import Revisits
from periplus.store import MemoryState
from periplus_lab.simulate.findings import mean_interval
from periplus_lab.simulate.freshness import budget_for, simulate_freshness
from periplus_lab.simulate.histories import (
    Histories,
    Window,
    generate_histories,
    generated_rates,
    read_histories,
    window,
)
from periplus_lab.simulate.learned_refresh import Informed, RefreshPolicy
from periplus_lab.simulate.refresh import Circumstances, PolicyMaker

DAY = 86_400.0
NOW = 1.7e9
_DAILY = 0.1
"""Visits a day, as a share of the pages."""
_SEEDS = 3
_LEARNED_AT = 0.02, 0.05, 0.1
_IN_TURN = 0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0
"""Budgets, likewise, of the learned policy and of visits in turn on recorded histories."""


def measure(quick: bool) -> list[Group]:
    """Two rates of one kind of web."""
    pages = 50_000 if quick else 200_000
    kept, site = evidence(pages)
    estimated, _ = _estimate(kept, site)
    decided, revisits = _decide(pages // 10, pages // 20)
    return [
        Group(
            title="Refreshing",
            unit="pages/s",
            rates={"estimated": pages / estimated, "visits decided": decided},
            notes=("CPU time of one process",),
            facts={"pages": f"{pages:,}", "price": f"{revisits.price:.3g}"},
        )
    ]


def evidence(pages: int, seed: int = 0) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Pages with eight visits each, by site."""
    random = np.random.default_rng(seed)
    site = np.arange(pages) // 50
    kept = np.zeros(pages, PAGE)
    rate = random.gamma(0.7, 0.3, pages)
    for visit in range(8):
        days = random.exponential(5.0, pages) + 0.1
        signals = np.minimum(random.poisson(0.5 * rate * days), 7).astype(np.uint32)
        is_changed = (signals > 0) & (random.random(pages) < 0.7) | (random.random(pages) < -np.expm1(-rate * days / 2))
        length = np.round(np.log2(days * DAY) * 128).astype(np.uint32)
        kept["ring"][:, visit] = 1 << 31 | signals << 13 | is_changed.astype(np.uint32) << 12 | length
        kept["heard"] += signals
    kept["watched_from"] = int(NOW - 40 * DAY)
    return kept, site


def _estimate(kept: NDArray[np.void], site: NDArray[np.int64]) -> tuple[float, float]:
    """CPU seconds of estimating with signals and without, as judging them takes; and the mean rate."""
    started, total = time.process_time(), 0.0
    for pages, sites in parts(site):
        own, beliefs, part = site[pages] - sites.start, SiteBeliefs.none(sites.stop - sites.start), kept[pages]
        heard, deaf = (estimate_pages(each, own, NOW, beliefs) for each in (part, without_signals(part)))
        total += float(believed(part, own, heard, deaf).alpha.sum())
    return time.process_time() - started, total / len(site)


def _decide(pages: int, visits: int) -> tuple[float, Revisits]:
    """Revisits decided in a CPU second by `Revisits`, the class of the crawl, over a state in memory.

    A decision is everything from the calendar to the calendar: a page is due, valued, released, visited, learnt from,
    and scheduled again.
    """
    state = MemoryState()
    kept, site_number = evidence(pages)
    records = [
        UrlRecord(Url(f"https://s{site_number[page]}.test/{page}"), (), fetched_at=NOW, status=200, due_at=NOW)
        for page in range(pages)
    ]
    records = [replace(record, evidence=kept[page].tobytes()) for page, record in enumerate(records)]
    state.records.put(records)
    state.calendar.move([(record.url, None, NOW) for record in records])
    revisits = Revisits(state, SiteRecords(state.sites), watching=Watching(pages * _DAILY), random=Random(1))
    now = _visit(revisits, state, visits // 2, NOW)
    started = time.process_time()
    _visit(revisits, state, visits, now)
    return visits / (time.process_time() - started), revisits


def _visit(revisits: Revisits, state: MemoryState, visits: int, now: float) -> float:
    """Make visits at the rate of the budget; one page in three has changed. Returns the time of the last."""
    sites = SiteRecords(state.sites)
    random, waiting, made = Random(2), deque[Queued](), 0
    while made < visits:
        now += DAY / revisits.visits_per_day
        waiting += [told.entry for told in revisits.told() if not told.is_waiting]
        waiting += revisits.due(now, len(waiting))
        if not waiting:
            revisits.idle(now)
            continue
        entry = waiting.popleft()
        [before] = state.records.get([entry.url])
        assert before is not None
        revisits.granted(before, now, is_revisit=True)
        level = ChangeLevel.MAJOR if random.random() < 1 / 3 else ChangeLevel.SAME
        reading = BodyReading(Digests(made, 0, 0, 0), False, True, level)
        task = FetchTask(entry.url, entry.site, Purpose.PAGE, Lane.REFRESH, math.inf)
        outcome = Fetched(task, 200, (), b"", now, 0.0)
        after = replace(before, fetched_at=now)
        state.records.put([revisits.visited(sites.get(entry.site), before, after, outcome, reading, now)])
        revisits.end_of_input()
        made += 1
    return now


def _compare() -> None:
    """Where signals are of each quality: freshness at a budget of 10 %, and how far it is from one who knows all."""
    for quality in ("good", "mixed", "useless", ""):
        found: dict[str, list[float]] = {}
        for seed in range(_SEEDS):
            settings = replace(CHANCE, seed=seed)
            span, rates = window(generate_histories(settings)), generated_rates(settings)
            for name, policy, known in _compared():
                result = simulate_freshness(
                    span, policy, _DAILY, seed=seed, signals=quality, rates=rates if known else None
                )
                found.setdefault(name, []).append(result.freshness)
        best = np.array(found["informed"])
        for name, fresh in found.items():
            gap = _interval(best - np.array(fresh))
            print(f"{quality or 'none':8} {name:28} {_interval(np.array(fresh))}   behind {gap}", flush=True)


def _compared() -> Iterator[tuple[str, str | PolicyMaker, bool]]:
    """Names and policies; and whether these are given true rates, or if at all those that came true in the window."""
    yield from ((name, name, True) for name in ("informed", "learned", "uniform"))
    yield "informed, in hindsight", "informed", False
    yield "GREEDY-NCIS, all known", lambda given, _: Informed(given.window, given.rates, given.signals, "binary"), True
    for rate in LEARNING_RATES:
        yield f"AsyncMirrorSync at {rate:g}", partial(_bandit, rate), True


def _bandit(learning_rate: float, given: Circumstances, random: np.random.Generator) -> RefreshPolicy:
    return SyncBandit(len(given.window), given.budget, learning_rate, random)


def _compare_fetches(history: Path) -> None:
    """The share of fetches a day with which visits in turn would be as fresh as the learned policy, on each site."""
    for name, span in _windows_of(history):
        turn = np.array([simulate_freshness(span, "uniform", each, seed=0).freshness for each in _IN_TURN])
        for budget in _LEARNED_AT:
            for quality in ("", "mixed", "good"):
                fresh = simulate_freshness(span, "learned", budget, seed=0, signals=quality).freshness
                needed = float(budget_for(fresh, np.array(_IN_TURN), turn))
                print(f"{name:16} {quality or 'none':6} {budget:4.0%} {fresh:.4f}  in turn {needed:6.1%}", flush=True)


def _windows_of(history: Path) -> Iterator[tuple[str, Window]]:
    """The last thousand days of each site of a file of histories."""
    every = read_histories(history)
    for number, name in enumerate(every.sites):
        pages = np.flatnonzero(every.site == number)
        times = [every.of(page) for page in pages.tolist()]
        starts = np.concatenate(([0], np.cumsum([len(each) for each in times])))
        gone = None if every.is_gone is None else every.is_gone[pages]
        yield name, window(
            Histories(
                [name], np.zeros(len(pages), np.int32), None, starts, np.concatenate(times),
                every.begins_at[pages], every.ends_at, gone,
            ),
            1000,
        )  # fmt: skip


def _compare_stated(history: Path | None) -> None:
    """For each site and for all: moments stated, the share that holds the truth, and the widths of the intervals."""
    sets = {"sites like those it was chosen on": [changing_site(number) for number in range(STATED_SITES)]}
    sets["unseen processes"] = [changing_site(UNSEEN_FROM + number) for number in range(16)]
    if history is not None:
        recorded = read_histories(history)
        sets["recorded histories"] = [recorded_site(recorded, number) for number in range(12)]
    for name, sites in sets.items():
        found: list[Stated] = []
        for site in sites:
            moments = [moment for moment in stated_moments(site) if moment.stated.checked]
            found += moments
            print(f"{_held(moments)}  {site.name}", flush=True)
        print(f"{_held(found)}  {name}: all {len(sites)}", flush=True)
        print(f"{_held([moment for moment in found if moment.day <= 1.1])}  {name}: the first day", flush=True)


def _held(moments: list[Stated]) -> str:
    if not moments:
        return "nothing checked yet"
    held = np.mean([moment.is_held for moment in moments])
    width, known = (np.mean([getattr(each, name) for each in moments]) for name in ("width", "known_width"))
    return (
        f"{held:4.0%} of {len(moments):3} held; {100 * width:3.0f} points wide, {100 * known:3.0f} if rates are known"
    )


def _interval(values: NDArray[np.float64]) -> str:
    mean, low, high = mean_interval(values.tolist())
    return f"{mean:7.4f} ±{(high - low) / 2:.4f}"


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """The long form."""
    ask = argparse.ArgumentParser(prog="python -m bench.refresh", description=(__doc__ or "").partition("\n")[0])
    ask.add_argument("--pages", type=int, default=1_000_000)
    ask.add_argument("--queue", action="store_true", help="only the decisions")
    ask.add_argument(
        "--signals", action="store_true", help="compare policies where signals are noisy, and nothing else"
    )
    ask.add_argument("--stated", action="store_true", help="compare stated freshness with the truth, and nothing else")
    ask.add_argument(
        "--fetches", action="store_true", help="compare with visits in turn on --history, and nothing else"
    )
    ask.add_argument("--history", type=Path, help="a file of histories (docs/simulator.md)")
    asked = ask.parse_args()
    if asked.stated:
        _compare_stated(asked.history)
        return 0
    if asked.fetches:
        if asked.history is None:
            ask.error("--fetches needs --history FILE")
        _compare_fetches(asked.history)
        return 0
    if asked.signals:
        _compare()
        return 0
    before = _peak()
    if not asked.queue:
        kept, site = evidence(asked.pages)
        seconds, mean = _estimate(kept, site)
        print(
            f"{asked.pages:,} pages estimated in {seconds:.1f} s of CPU, {_peak():,.0f} MB; mean rate {mean:.3f} a day"
        )
        return 0
    rate, _ = _decide(asked.pages, asked.pages // 5)
    print(f"{asked.pages:,} pages: {rate:,.0f} visits decided in a CPU second, {_peak() - before:,.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
