"""The simulator: fetch decisions a second for each ordering, on the scheduler that really crawls.

A generated web of 50,000 pages and ten links a page is crawled by 64 connections in virtual time. A decision is a task
lent out, answered and reported, with all links of the page told: everything that a simulated fetch costs. The long
form, `python -m bench.simulate --pages 3000000`, crawls one web with one ordering and prints time and memory.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np

from bench.harness import Group
from periplus.graph import pagerank
from periplus.model import Ordering
from periplus.policy.ordering import ordering, orderings
from periplus_lab.simulate.crawl import SimulatedCrawl
from periplus_lab.simulate.generated import WebSettings, generate
from periplus_lab.simulate.network import NetworkSettings
from periplus_lab.simulate.web import Web


def measure(quick: bool) -> list[Group]:
    """One table: every ordering on the same web."""
    web = generate(WebSettings(pages=10_000 if quick else 50_000, sites=200 if quick else 1000))
    rates: dict[str, float] = {}
    for name in orderings():
        rates[name] = max(_rate(web, name) for _ in range(1 if quick else 3))
    return [
        Group(
            title="Simulated crawls",
            unit="decisions/s",
            rates=rates,
            notes=("CPU time of one process; orderings that learn are told of every link, the others of new ones",),
            facts={"pages": f"{len(web):,}", "links": f"{len(web.targets):,}", "sites": f"{len(web.sites):,}"},
        )
    ]


def _rate(web: Web, name: str) -> float:
    crawl = SimulatedCrawl(web, ordering_for(web, name), NetworkSettings(connections=64, delay=1.0))
    started = time.process_time()
    crawl.run()
    return crawl.decisions / (time.process_time() - started)


def ordering_for(web: Web, name: str) -> Ordering:
    """The ordering of a name; the oracle knows the PageRank of the whole web."""
    if name != "optimal":
        return ordering(name)
    sources, targets = web.edges
    ranks = (pagerank(sources, targets, len(web)) * len(web)).tolist()
    return ordering(name, oracle=dict(zip(web.names(), ranks, strict=True)).__getitem__)


def main() -> int:
    """The long form."""
    ask = argparse.ArgumentParser(prog="python -m bench.simulate", description=(__doc__ or "").partition("\n")[0])
    ask.add_argument("--pages", type=int, default=1_000_000)
    ask.add_argument("--sites", type=int, default=0, help="by default one for 50 pages")
    ask.add_argument("--order", default="breadth_first", help="an ordering")
    ask.add_argument("--connections", type=int, default=1000)
    ask.add_argument("--delay", type=float, default=15.0, help="seconds between two visits of a site")
    asked = ask.parse_args()
    web = generate(WebSettings(pages=asked.pages, sites=asked.sites or asked.pages // 50))
    print(f"{len(web):,} pages, {len(web.targets):,} links, {len(web.sites):,} sites: {_peak():,.0f} MB", flush=True)
    network = NetworkSettings(connections=asked.connections, delay=asked.delay)
    crawl = SimulatedCrawl(web, ordering_for(web, asked.order), network)
    started = time.process_time()
    trace = crawl.run()
    seconds = time.process_time() - started
    print(
        f"{asked.order}: {crawl.decisions:,} decisions in {seconds:,.0f} s of CPU, {crawl.decisions / seconds:,.0f}/s"
    )
    print(f"{len(np.unique(trace.fetched)):,} pages in {trace.ended_at / 86400:,.1f} virtual days; {_peak():,.0f} MB")
    return 0


def _peak() -> float:
    """The largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    sys.exit(main())
