"""PageRank over partitions: in this process, in two of this machine, as tasks on two processors of Ray; and in memory.

    python -m bench.partitions [LINKS]

The graph is that of `bench.graph`. Links are written down as a crawl's jobs spill them; what is timed is numbering and
compressing them into partitions, and then PageRank to 1e-10. Rates are links a second of the clock.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.graph import Graph, made_web
from periplus.graph import pagerank
from periplus.insight.executors import ProcessExecutor, SerialExecutor, Workplace
from periplus.insight.links import LinkBatch
from periplus.insight.parted_links import PartedLinks, Spilled, spill
from periplus.model import Executor

LINKS = 10_000_000
PARTS = 8
FILES = 10
ERROR = 1e-10


@contextmanager
def on_ray() -> Iterator[Executor]:
    """Two processors, on loopback."""
    from periplus_ray import RayExecutor
    from periplus_ray.connection import connected

    with connected("local", 2):
        yield RayExecutor()


CONTESTANTS: dict[str, Callable[[], object]] = {
    "partitions, this process": lambda: closing(SerialExecutor()),
    "partitions, 2 processes": lambda: closing(ProcessExecutor(2)),
    "partitions, 2 Ray workers": on_ray,
}


def spilled(graph: Graph, folder: Path) -> Spilled:
    """As `parted_links` has it after its first stage; fingerprints are made up, but in no order."""
    sources, targets, n = graph
    keys = np.random.default_rng(3).permutation(np.arange(n, dtype=np.uint64)) * np.uint64((1 << 64) // n)
    dealt = []
    for number, some in enumerate(np.array_split(np.arange(len(sources)), FILES)):
        ones = np.ones(len(some), np.int64)
        batch = LinkBatch(keys[sources[some]], ones, keys[targets[some]], np.arange(len(some), dtype=np.int32))
        dealt.append(spill(folder / f"spilled-{number}", PARTS, [batch]))
    return Spilled(folder, np.stack([edges for edges, _ in dealt]), np.stack([found for _, found in dealt]))


def measured(graph: Graph, executor: Executor) -> tuple[float, float]:
    """Seconds until there are partitions, and for PageRank."""
    with TemporaryDirectory(prefix="periplus-bench-") as name:
        folder = Path(name)
        where = spilled(graph, folder)
        list(executor.map(_nothing, range(2 * executor.workers), None))  # workers are there
        begun = time.perf_counter()
        links = PartedLinks(folder, Workplace(executor, folder), where)
        parted = time.perf_counter()
        links.pagerank(ERROR)
        return parted - begun, time.perf_counter() - parted


def _nothing(*_: object) -> None:
    """What workers need is loaded."""
    import scipy.sparse  # noqa: F401


def main() -> None:
    """Print a table."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else LINKS
    graph = made_web(wanted)
    links = len(graph[0])
    print(f"{links:,} links, {graph[2]:,} pages, {PARTS} partitions, error {ERROR:g}\n")
    print("| | partitions, links/s | PageRank, links/s |\n|---|---:|---:|")
    begun = time.perf_counter()
    pagerank(*graph, tolerance=ERROR)
    print(f"| in one memory | | {links / (time.perf_counter() - begun):,.0f} |")
    for name, opened in CONTESTANTS.items():
        with opened() as executor:  # type: ignore[attr-defined]
            parting, ranking = measured(graph, executor)
        print(f"| {name} | {links / parting:,.0f} | {links / ranking:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
