"""Refreshing: pages reckoned a second, visits given out a second, and what a page costs in memory.

Pages of Gamma rates on sites of fifty, with eight visits kept of each, and signals for one visit in ten. A decision is
a page taken, visited and put to sleep again, and whatever waking and moving up that takes. The long form, `python -m
bench.refresh --pages 1000000`, prints times and memory; with `--signals` it compares policies where signals are noisy,
over five seeds.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np
from numpy.typing import NDArray

from bench.harness import Group
from periplus.lab.simulate.findings import mean_interval
from periplus.lab.simulate.noisy_refresh import POLICIES, QUALITIES, NoisySettings, compare_noisy
from periplus.policy.refresh import (
    PAGE,
    CrawlValue,
    Outlook,
    QueueSettings,
    SiteBeliefs,
    WakeQueue,
    estimate_pages,
    parts,
)
from periplus.policy.refresh.signal_trust import believed, without_signals

DAY = 86_400.0
NOW = 1.7e9
_DAILY = 0.1
"""Visits a day, as a share of the pages."""


def measure(quick: bool) -> list[Group]:
    """Two rates of one kind of web."""
    pages = 50_000 if quick else 200_000
    kept, site = evidence(pages)
    reckoned, _ = _reckon(kept, site)
    decided, queue = _decide(pages, pages // 4)
    return [
        Group(
            title="Refreshing",
            unit="pages/s",
            rates={"estimated": pages / reckoned, "visits decided": decided},
            notes=("CPU time of one process",),
            facts={"pages": f"{pages:,}", "price": f"{queue.price.value:.3g}"},
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


def _reckon(kept: NDArray[np.void], site: NDArray[np.int64]) -> tuple[float, float]:
    """CPU seconds, with signals and without as it takes to judge them; and the mean rate, so that nobody is idle."""
    started, total = time.process_time(), 0.0
    for pages, sites in parts(site):
        own, beliefs, part = site[pages] - sites.start, SiteBeliefs.none(sites.stop - sites.start), kept[pages]
        heard, deaf = (estimate_pages(each, own, NOW, beliefs) for each in (part, without_signals(part)))
        total += float(believed(part, own, heard, deaf).alpha.sum())
    return time.process_time() - started, total / len(site)


def _decide(pages: int, visits: int) -> tuple[float, WakeQueue]:
    """Visits given out in a CPU second, after the queue has settled."""
    random, tables = np.random.default_rng(1), CrawlValue("mixed")
    queue, hosts = WakeQueue(tables, NOW, settings=QueueSettings(new_share=0.0), price=1e9), max(pages // 50, 1)
    for _ in range(hosts):
        queue.add_host()
    alpha = random.gamma(0.7, 0.3, pages) + 1e-3
    kind, rate = tables.outlooks(
        alpha, alpha * random.random(pages), np.repeat(random.uniform(0.1, 4, hosts), 50)[:pages]
    )
    weight = random.lognormal(0.0, 1.0, pages)
    few = [Outlook(int(kind[page]), float(rate[page])) for page in range(min(pages, 5000))]
    outlooks = [few[page % 5000] for page in range(pages)]
    for page in range(pages):
        queue.add(page // 50 % hosts, outlooks[page], weight[page], NOW - 10 * DAY * random.random(), NOW)
    queue.guess_price(pages * _DAILY)
    queue.replan(NOW)
    _run(queue, outlooks, weight, 2 * visits // 3, NOW)
    now = NOW + 2 * visits // 3 / (pages * _DAILY) * DAY
    started = time.process_time()
    made = _run(queue, outlooks, weight, visits, now)
    return made / (time.process_time() - started), queue


def _run(queue: WakeQueue, outlooks: list[Outlook], weight: NDArray[np.float64], visits: int, now: float) -> int:
    random, made, minutes = np.random.default_rng(2), 0, 0
    while made < visits and minutes < 1_000_000:
        minutes += 1
        now += 60.0
        due = int(len(outlooks) * _DAILY / 1440 * minutes) - made
        taken = queue.take(due, now) if due else []
        for page in taken:
            queue.crawled(page, outlooks[page], float(weight[page]), now)
        for page in random.integers(0, len(outlooks), len(taken) // 10).tolist():
            queue.signal(page, 1.0, now)
        made += len(taken)
    return made


def _compare() -> None:
    for quality in QUALITIES:
        found = {
            policy: np.array([told.freshness for told in compare_noisy(NoisySettings(quality=quality), [policy])])
            for policy in POLICIES
        }
        for policy, fresh in found.items():
            print(f"{quality:8} {policy:15} {_interval(fresh)}", flush=True)
        print(f"{quality:8} learned / informed   {_interval(found['learned'] / found['informed'])}")
        print(f"{quality:8} learned / deaf   {_interval(found['learned'] / found['deaf'])}", flush=True)


def _interval(values: NDArray[np.float64]) -> str:
    mean, low, high = mean_interval(values.tolist())
    return f"{mean:.4f}  {low:.4f} to {high:.4f}"


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """The long form."""
    ask = argparse.ArgumentParser(prog="python -m bench.refresh", description=(__doc__ or "").partition("\n")[0])
    ask.add_argument("--pages", type=int, default=1_000_000)
    ask.add_argument("--queue", action="store_true", help="only the queue")
    ask.add_argument(
        "--signals", action="store_true", help="compare policies where signals are noisy, and nothing else"
    )
    asked = ask.parse_args()
    if asked.signals:
        _compare()
        return 0
    before = _peak()
    if not asked.queue:
        kept, site = evidence(asked.pages)
        seconds, mean = _reckon(kept, site)
        print(
            f"{asked.pages:,} pages reckoned in {seconds:.1f} s of CPU, {_peak():,.0f} MB; mean rate {mean:.3f} a day"
        )
        return 0
    rate, queue = _decide(asked.pages, asked.pages // 5)
    print(f"{len(queue):,} pages: {rate:,.0f} visits decided in a CPU second, {_peak() - before:,.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
